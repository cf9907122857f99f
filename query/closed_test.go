package query_test

import (
	"context"
	"reflect"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/filter"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
)

// A call is a method of a database or of its table, with arguments that are right while the database is open.
type call struct {
	name string
	do   func() error
}

// callsOf returns a call of every method of a database and of its table t, without those that return no error.
func callsOf(t testing.TB, db *query.DB) (all []call) {
	family := schema.Family{Name: "u"}
	table := schema.Table{Name: "u", Families: []schema.Family{family}}
	m := write.NewMutation()
	m.Set("t", "t", cells.I64(1))
	rmw := write.NewReadModifyWrite()
	rmw.Increment("t", "n", 1)
	usable := map[reflect.Type]reflect.Value{}
	for _, v := range []any{
		"t", 1, int64(1), time.Hour, t.Context(), m, rmw, write.NewBatch().Add("t", "t", m), []string{"t"}, []*write.Mutation{m}, []byte("t"),
		table, family, &schema.Schema{Tables: []schema.Table{table}}, schema.Plan{}, schema.Change{Kind: schema.DropTable, Table: "t"}, db, db.Table("t"),
		func(context.Context, *query.Row) error { return nil }, func(*query.Tx) error { return nil },
		func(context.Context, int, *query.Row) error { return nil },
	} {
		usable[reflect.TypeOf(v)] = reflect.ValueOf(v)
	}
	usable[reflect.TypeFor[context.Context]()] = reflect.ValueOf(t.Context())
	usable[reflect.TypeFor[read.Option]()] = reflect.ValueOf(read.Limit(1))
	usable[reflect.TypeFor[read.RowSet]()] = reflect.ValueOf(read.Prefix("t"))
	usable[reflect.TypeFor[filter.Filter]()] = reflect.ValueOf(filter.PassAll{})
	for _, of := range []any{db, db.Table("t")} {
		v := reflect.ValueOf(of)
		for method, f := range v.Methods() {
			last := f.Type().NumOut() - 1
			if last < 0 || method.Name == "TrimChanges" { // of the tests
				continue
			}
			in := make([]reflect.Value, f.Type().NumIn())
			if f.Type().IsVariadic() {
				in = in[:len(in)-1]
			}
			for i := range in {
				typ, ok := f.Type().In(i), false
				if in[i], ok = usable[typ]; !ok {
					in[i] = reflect.Zero(typ)
				}
			}
			name := v.Type().Elem().Name() + "." + method.Name
			switch out := f.Type().Out(last); {
			case out == reflect.TypeFor[error]():
				all = append(all, call{name, func() error {
					err, _ := f.Call(in)[last].Interface().(error)
					return err
				}})
			case out.Kind() == reflect.Func && out.CanSeq2():
				all = append(all, call{name, func() (err error) {
					for _, e := range f.Call(in)[last].Seq2() {
						err, _ = e.Interface().(error)
					}
					return err
				}})
			}
		}
	}
	return all
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

// Every call of a closed database says that it is closed, also if it was opened for reading.
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
		for _, c := range callsOf(t, db) {
			if err := c.do(); c.name != "DB.Close" && query.KindOf(err) != query.KindUnavailable {
				t.Errorf("%s: %v; it does not say that the database is closed", c.name, err)
			}
		}
	}
}

// A database is closed while everything is called.
func TestCloseUnderCalls(t *testing.T) {
	t.Chdir(t.TempDir()) // some calls write files
	db := usableDB(t)
	calls := slices.DeleteFunc(callsOf(t, db), func(c call) bool { return c.name == "DB.Close" })
	var all sync.WaitGroup
	begun := make(chan struct{}, 2*len(calls))
	for range 2 {
		for _, c := range calls {
			all.Go(func() {
				begun <- struct{}{}
				_ = c.do()
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

// A missing context, and nil for a needed argument, are errors of a wrong argument.
func TestNilArguments(t *testing.T) {
	var none context.Context
	db := usableDB(t)
	table := db.Table("t")
	m := write.NewMutation()
	m.Set("t", "t", cells.I64(1))
	var noDB *query.DB
	_, noDatabase := noDB.Stats(t.Context())
	_, noContext := table.ReadRow(none, "t")
	_, noOption := table.ReadRow(t.Context(), "t", nil)
	_, noRules := table.ApplyReadModifyWrite(t.Context(), "t", nil)
	_, noStore := query.OpenStore(t.Context(), nil, query.Options{})
	for name, err := range map[string]error{
		"no database": noDatabase, "no context": noContext, "no option": noOption, "no rules": noRules, "no store": noStore,
		"no mutation":             table.Apply(t.Context(), "t", nil),
		"no batch":                db.Apply(t.Context(), nil),
		"no function":             db.Update(t.Context(), nil),
		"write without a context": table.Apply(none, "t", m),
	} {
		if query.KindOf(err) != query.KindInvalidArgument {
			t.Errorf("%s: %v", name, err)
		}
	}
}
