package query_test

import (
	"context"
	"iter"
	"reflect"
	"testing"

	"github.com/smolwc/smolwc/query"
)

// TestNilArguments calls each method of a database and of a table with nil in place of
// each pointer, function, interface, slice and map at once, lists of options with one
// nil option included: an error may come, and no panic.
func TestNilArguments(t *testing.T) {
	for _, of := range []func(*query.DB) any{
		func(db *query.DB) any { return db },
		func(db *query.DB) any { return db.Table("t") },
	} {
		db := openAt(t, t.TempDir(), query.Options{Schema: pairSchema()})
		for m := range reflect.TypeOf(of(db)).Methods() {
			if m.Name != "Close" {
				db := openAt(t, t.TempDir(), query.Options{Schema: pairSchema()})
				callWithNil(t, m.Name, reflect.ValueOf(of(db)).MethodByName(m.Name))
				db.Close()
			}
		}
	}
}

func callWithNil(t *testing.T, name string, f reflect.Value) {
	t.Helper()
	defer func() {
		if p := recover(); p != nil {
			t.Errorf("%s panics: %v", name, p)
		}
	}()
	var in []reflect.Value
	for i := range f.Type().NumIn() {
		switch typ := f.Type().In(i); {
		case typ == reflect.TypeFor[context.Context]():
			in = append(in, reflect.ValueOf(t.Context()))
		case f.Type().IsVariadic() && i == f.Type().NumIn()-1:
			in = append(in, reflect.Zero(typ.Elem()))
		case typ.Kind() == reflect.String:
			in = append(in, reflect.ValueOf("t"))
		default:
			in = append(in, reflect.Zero(typ))
		}
	}
	for _, out := range f.Call(in) {
		switch seq := out.Interface().(type) {
		case error:
			if query.KindOf(seq) == query.Internal {
				t.Errorf("%s: the error has no kind: %v", name, seq)
			}
		case iter.Seq2[*query.Row, error]:
			for _, err := range seq {
				if query.KindOf(err) != query.InvalidArgument {
					t.Errorf("%s: %v", name, err)
				}
			}
		case iter.Seq2[*query.RowChange, error]:
			for _, err := range seq {
				if err == nil {
					t.Errorf("%s gives a change", name)
				}
			}
		}
	}
}
