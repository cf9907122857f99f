package query_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
)

// logged declares a table that has a change stream and keeps everything.
var logged = &schema.Schema{Tables: []schema.Table{{Name: "t", ChangeStream: 24 * time.Hour, Families: []schema.Family{{Name: "f"}}}}}

func openLogged(t *testing.T) *query.DB { return openMemory(t, logged) }

func change(t *testing.T, db *query.DB, f func(*write.Mutation)) {
	t.Helper()
	m := write.NewMutation()
	f(m)
	if err := db.Table("t").Apply(ctx, "r", m); err != nil {
		t.Fatal(err)
	}
}

// Commits beside it make an answer older, never wrong: without rules no version is removed
// by one, and each stored version has a commit.
func TestWhyBesideWrites(t *testing.T) {
	db := mustOpen(t, t.TempDir(), query.Options{Schema: logged}) // each commit is visible before it is on the disk
	written := make(chan error, 1)
	go func() {
		var err error
		for i := range 400 {
			m := write.NewMutation()
			switch i % 4 {
			case 3:
				m.DeleteCellsInColumn("f", "q")
			default:
				m.SetAt("f", "q", cells.Timestamp(i%4), cells.I64(int64(i)))
			}
			err = errors.Join(err, db.Table("t").Apply(context.Background(), "r", m))
		}
		written <- err
	}()
	for done := false; !done; {
		select {
		case err := <-written:
			if err != nil {
				t.Fatal(err)
			}
			done = true
		default:
		}
		why, err := db.Table("t").Why(ctx, "r")
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range why.Versions {
			if v.State == query.WhyRemoved || v.Written.Position == 0 || v.State >= query.WhyDeleted != (v.Ended.Position > 0) {
				t.Fatalf("%+v", v)
			}
		}
		if done && (len(why.Versions) != 300 || len(why.Deletes) != 0) {
			t.Fatalf("%d versions, %v", len(why.Versions), why.Deletes)
		}
	}
}

// A long value is there with its beginning and its size. Text is cut between characters.
func TestWhyCutsLongValues(t *testing.T) {
	db := openLogged(t)
	text := strings.Repeat("é", query.MaxWhyValue)
	change(t, db, func(m *write.Mutation) {
		m.SetAt("f", "bytes", 1, cells.Bytes(make([]byte, 1<<20)))
		m.SetAt("f", "text", 1, cells.String("x"+text))
	})
	why, err := db.Table("t").Why(ctx, "r")
	if err != nil || len(why.Versions) != 2 {
		t.Fatalf("%+v, %v", why, err)
	}
	if v := why.Versions[0]; v.Size != 1<<20 || v.Value.Len() != query.MaxWhyValue || v.State != query.WhyVisible {
		t.Errorf("bytes: %d of %d", v.Value.Len(), v.Size)
	}
	if v := why.Versions[1]; v.Size != 1+len(text) || !v.Value.Equal(cells.String("x"+text[:query.MaxWhyValue-2])) {
		t.Errorf("text: %d of %d", v.Value.Len(), v.Size)
	}
}

// Of more versions than an answer takes, those that it has are still right.
func TestWhyOfManyVersions(t *testing.T) {
	db := openLogged(t)
	const n = query.MaxWhy + 10
	for range 3 {
		change(t, db, func(m *write.Mutation) {
			for i := range n {
				m.SetAt("f", "q", cells.Timestamp(i), cells.I64(int64(i)))
			}
		})
	}
	why, err := db.Table("t").Why(ctx, "r")
	if err != nil || !why.More || len(why.Versions) > 2*query.MaxWhy {
		t.Fatalf("%d versions, more: %t, %v", len(why.Versions), why.More, err)
	}
	stored := 0
	for _, v := range why.Versions {
		if v.State == query.WhyRemoved {
			t.Fatalf("%+v was not removed", v)
		}
		if v.Stored() {
			stored++
		}
	}
	if stored != query.MaxWhy {
		t.Errorf("%d stored versions", stored)
	}
}

// Without a change stream, and in a database that is open read-only, the answer says that
// there is no log.
func TestWhyWithoutALog(t *testing.T) {
	db := openMemory(t, declare(schema.Family{Name: "f"}))
	change(t, db, func(m *write.Mutation) { m.SetAt("f", "q", 1, cells.I64(1)) })
	why, err := db.Table("t").Why(ctx, "r", read.Column("f", "q"))
	if err != nil || len(why.Versions) != 1 || !errors.Is(why.LogErr, query.ErrNoChangeStream) {
		t.Errorf("%+v, %v", why, err)
	}
	dir := t.TempDir()
	db = mustOpen(t, dir, query.Options{Schema: logged})
	change(t, db, func(m *write.Mutation) { m.SetAt("f", "q", 1, cells.I64(1)) })
	db.Close()
	db = mustOpen(t, dir, query.Options{ReadOnly: true})
	if why, err = db.Table("t").Why(ctx, "r"); err != nil || len(why.Versions) != 1 || query.KindOf(why.LogErr) != query.KindFailedPrecondition {
		t.Errorf("%+v, %v", why, err)
	}
}

func TestWhyRefuses(t *testing.T) {
	db := openLogged(t)
	_, err := db.Table("t").Why(ctx, "")
	wantError(t, err, query.KindInvalidArgument)
	_, err = db.Table("t").Why(ctx, "r", read.Column("g", "q"))
	wantError(t, err, query.KindNotFound, "unknown family")
	_, err = db.Table("T").Why(ctx, "r")
	wantError(t, err, query.KindNotFound, "unknown table")
	_, err = db.Table("t").WhyNot(ctx, "r", read.Exists("g", "q"))
	wantError(t, err, query.KindNotFound, "unknown family")
	change(t, db, func(m *write.Mutation) { m.SetAt("f", "q", 1, cells.I64(1)) })
	ended, cancel := context.WithCancel(ctx)
	cancel()
	_, err = db.Table("t").Why(ended, "r")
	wantError(t, err, query.KindCanceled)
}

// A full holding refuses the memory of an answer, and an answer gives its memory back.
func TestWhyIsCounted(t *testing.T) {
	db := openLogged(t)
	change(t, db, func(m *write.Mutation) {
		for i := range 100 {
			m.SetAt("f", "q", cells.Timestamp(i), cells.I64(1))
		}
	})
	h := &countedHolding{most: 1 << 30}
	if _, err := db.Table("t").Why(cf.WithHolding(ctx, h), "r"); err != nil || h.peak < 100*200 || h.held > h.peak/2 {
		t.Errorf("%v: %d held at most, %d after it", err, h.peak, h.held)
	}
	h = &countedHolding{most: 1000}
	_, err := db.Table("t").Why(cf.WithHolding(ctx, h), "r")
	if !errors.Is(err, errHeld) {
		t.Errorf("error %v", err)
	}
}

var errHeld = errors.New("there is no room")

// A countedHolding has room for some bytes.
type countedHolding struct{ held, peak, most int }

func (h *countedHolding) Hold(n int, _ bool) error {
	if h.held+n > h.most {
		return errHeld
	}
	h.held += n
	h.peak = max(h.peak, h.held)
	return nil
}
func (h *countedHolding) Room() (int, bool) { return h.most - h.held, false }
func (h *countedHolding) Refusal(int) error { return errHeld }
