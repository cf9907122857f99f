package query_test

import (
	"context"
	"errors"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/internal/nilcheck"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/filter"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
)

var exported = nilcheck.Package{
	Funcs: []any{
		query.ChangesAfter, query.ChangesIn, query.ChangesSince, query.ChangesUntil, query.Heartbeats, query.KindOf, query.NewRow, query.OnCheckProgress, query.RowInto[struct{}], query.RowsInto[struct{}],
		query.Declare, query.DefaultEngine, query.EngineOf, query.Key, query.MaxVersions, query.NewBatch, query.NewMutation, query.NewTable, query.Prefix, query.Range, query.Where,
		query.Open, query.OpenInMemory, query.OpenReadOnly, query.OpenStore,
	},
	Types: []any{query.ChangeAt{}, query.ChangesRequest{}, query.Error{}, query.LoadedError{}, query.CheckReport{}, query.RowCell{}},
	Usable: []any{
		usableDB,
		func(t testing.TB) *query.Table { return usableDB(t).Table("t") },
		func(t testing.TB) context.Context { return t.Context() },
		func(t testing.TB) *write.Mutation {
			m := write.NewMutation()
			m.Set("t", "t", cells.I64(1))
			return m
		},
		func(t testing.TB) *write.Batch { return write.NewBatch() },
		func(t testing.TB) read.Option { return read.Limit(1) },
		func(t testing.TB) query.ChangesOption { return query.ChangesUntil(time.Now().Add(-time.Minute)) },
		func(t testing.TB) query.CheckOption { return query.OnCheckProgress(func(query.CheckProgress) {}) },
		func(t testing.TB) filter.Filter { return filter.PassAll{} },
		func(t testing.TB) *schema.Schema { return &schema.Schema{Tables: []schema.Table{usableTable}} },
		func(t testing.TB) schema.Table { return usableTable },
		func(t testing.TB) schema.Family { return usableTable.Families[0] },
	},
	Fresh: []any{usableTx, usableLoad},
	Skip:  map[string]string{"RowInto": "it returns the error that it is given"},
	Judge: judgeNil,
}

var usableTable = schema.Table{Name: "u", Families: []schema.Family{{Name: "u"}}}

// needed are the types of the arguments that are always required.
var needed = []reflect.Type{
	reflect.TypeFor[context.Context](), reflect.TypeFor[*query.DB](), reflect.TypeFor[*query.Table](), reflect.TypeFor[*query.Tx](),
}

func judgeNil(c nilcheck.Call) string {
	kind := query.KindOf(c.Err)
	switch {
	case c.Err != nil && kind == query.KindInternal && c.Name != "Error.Unwrap":
		return "the error has no kind"
	case c.Fails && c.Nil && slices.Contains(needed, c.Spoilt) && kind != query.KindInvalidArgument:
		return "the error is not one of a wrong argument"
	}
	return ""
}

// usableDB is a database with a table, a family and a row that are named t.
func usableDB(t testing.TB) *query.DB {
	db, err := query.Open(t.TempDir(), query.Options{Durability: query.DurabilityAsync, Schema: &schema.Schema{Tables: []schema.Table{{
		Name: "t", ChangeStream: schema.MinChangeStream, Families: []schema.Family{{Name: "t"}},
	}}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	m := write.NewMutation()
	m.Set("t", "t", cells.I64(1))
	if err := db.Table("t").Apply(t.Context(), "t", m); err != nil {
		t.Fatal(err)
	}
	return db
}

// usableTx is a transaction that stays open until the test ends.
func usableTx(t testing.TB) *query.Tx {
	began, end, ended := make(chan *query.Tx), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		memory(t).Update(t.Context(), func(tx *query.Tx) error {
			began <- tx
			<-end
			return errors.New("rolled back")
		})
	}()
	t.Cleanup(func() {
		close(end)
		<-ended
	})
	return <-began
}

func usableLoad(t testing.TB) *query.BulkLoad {
	l, err := memory(t).Table("t").BulkLoad(t.Context(), query.BulkOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// TestNil calls everything with nil and zero values. Nothing panics, and a missing
// required argument is an invalid argument.
func TestNil(t *testing.T) { exported.Run(t, ".") }

// TestClosed calls everything of a closed database, also of one that was opened for
// reading.
func TestClosed(t *testing.T) {
	writer := usableDB(t)
	reader, err := query.OpenReadOnly(writer.Dir(), query.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, db := range []*query.DB{reader, writer} {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
		callClosed(t, db)
	}
}

func callClosed(t *testing.T, db *query.DB) {
	p := ofDatabase(db)
	p.Judge = func(c nilcheck.Call) string {
		of, _, _ := strings.Cut(c.Name, ".")
		if c.Fails && (of == "DB" || of == "Table") && c.Name != "DB.Close" && query.KindOf(c.Err) != query.KindUnavailable {
			return "the error does not say that the database is closed"
		}
		return ""
	}
	for _, call := range p.Calls(t) {
		call()
	}
}

// TestCloseUnderCalls closes a database while everything is called.
func TestCloseUnderCalls(t *testing.T) {
	db := usableDB(t)
	p := ofDatabase(db)
	p.Skip = maps.Clone(p.Skip)
	p.Skip["DB.Close"] = "it is the one below"
	calls := p.Calls(t)
	var all sync.WaitGroup
	begun := make(chan struct{}, 2*len(calls))
	for range 2 {
		for _, call := range calls {
			all.Go(func() {
				begun <- struct{}{}
				call()
			})
		}
	}
	for range len(calls) {
		<-begun
	}
	if err := db.Close(); err != nil {
		t.Error(err)
	}
	all.Wait()
}

// ofDatabase is the list of all calls, with this database.
func ofDatabase(db *query.DB) nilcheck.Package {
	p := exported
	p.Usable = append([]any{
		func(testing.TB) *query.DB { return db },
		func(testing.TB) *query.Table { return db.Table("t") },
	}, p.Usable...)
	return p
}

// memory is a database in memory with a table that is named t.
func memory(t testing.TB) *query.DB {
	db, err := inMemory()
	if err != nil {
		t.Fatal(err)
	}
	return db
}

var inMemory = sync.OnceValues(func() (*query.DB, error) {
	return query.OpenInMemory(query.Options{Schema: &schema.Schema{Tables: []schema.Table{{Name: "t", Families: []schema.Family{{Name: "t"}}}}}})
})
