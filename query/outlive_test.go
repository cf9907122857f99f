package query_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"testing"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
)

// manyRows is a database whose table t has more rows than a read holds at once.
func manyRows(t *testing.T) *query.DB {
	t.Helper()
	db, err := query.OpenInMemory(query.Options{Schema: &schema.Schema{Tables: []schema.Table{{Name: "t", Families: []schema.Family{{Name: "f"}}}}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	const n = 20_000
	keys, ms := make([]string, n), make([]*write.Mutation, n)
	for i := range keys {
		keys[i], ms[i] = fmt.Sprintf("%05d", i), write.NewMutation()
		ms[i].Set("f", "q", cells.I64(int64(i)))
	}
	if errs, err := db.Table("t").ApplyBulk(t.Context(), keys, ms); errs != nil || err != nil {
		t.Fatal(errs, err)
	}
	return db
}

// drain reads to the end, and returns the error.
func drain(next func() (*query.Row, error, bool)) error {
	for {
		if _, err, ok := next(); !ok || err != nil {
			return err
		}
	}
}

// TestAReadThatOutlivesItsDatabase continues a read after Close.
func TestAReadThatOutlivesItsDatabase(t *testing.T) {
	db := manyRows(t)
	next, stop := iter.Pull2(db.Table("t").ReadRows(t.Context()))
	defer stop()
	if row, err, ok := next(); !ok || err != nil || row.Key() != "00000" {
		t.Fatal(row, err, ok)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if err := drain(next); query.KindOf(err) != query.KindUnavailable {
		t.Errorf("behind Close: %v", err)
	}
}

// TestWhatOutlivesItsTransaction uses a transaction, and a read in it, after its end.
func TestWhatOutlivesItsTransaction(t *testing.T) {
	db := manyRows(t)
	for _, end := range []error{nil, errors.New("rolled back")} {
		var kept *query.Tx
		var next func() (*query.Row, error, bool)
		var stop func()
		err := db.Update(t.Context(), func(tx *query.Tx) error {
			kept = tx
			next, stop = iter.Pull2(tx.ReadRows(context.WithoutCancel(t.Context()), "t"))
			_, err, _ := next()
			return errors.Join(err, end)
		})
		if (err == nil) != (end == nil) {
			t.Errorf("%v, want %v", err, end)
		}
		if err := drain(next); query.KindOf(err) != query.KindInvalidArgument {
			t.Errorf("a read behind the end: %v", err)
		}
		stop()
		if _, err := kept.ReadRow(t.Context(), "t", "00000"); query.KindOf(err) != query.KindInvalidArgument {
			t.Errorf("ReadRow: %v", err)
		}
		m := write.NewMutation()
		m.DeleteRow()
		if err := kept.Apply(t.Context(), "t", "00000", m); query.KindOf(err) != query.KindInvalidArgument {
			t.Errorf("Apply: %v", err)
		}
	}
	if n, err := db.Table("t").Count(t.Context()); err != nil || n.Rows != 20_000 {
		t.Errorf("%+v, %v", n, err)
	}
}
