package archive_test

import (
	"context"
	"reflect"
	"slices"
	"testing"

	"github.com/smolwc/smolwc/archive"
	"github.com/smolwc/smolwc/internal/nilcheck"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/schema"
)

// TestNil calls everything with nil and with zero values: nothing panics.
func TestNil(t *testing.T) {
	p := nilcheck.Package{
		Funcs: []any{
			archive.Open, archive.NewSchedule, archive.SumOf, archive.Advice,
		},
		Types: []any{archive.DamageError{}, archive.Places{}, archive.Local{}, archive.Sum{}},
		Usable: []any{
			func(t testing.TB) context.Context { return t.Context() },
			usableDB,
			func(t testing.TB) *archive.Archive {
				a, err := archive.Open(t.Context(), t.TempDir())
				if err == nil {
					_, err = a.Backup(t.Context(), usableDB(t), archive.BackupOptions{})
				}
				if err != nil {
					t.Fatal(err)
				}
				return a
			},
		},
		Skip: map[string]string{"Schedule.Run": "it runs until its context ends; TestScheduleOfNothing calls it"},
		Judge: func(c nilcheck.Call) string {
			if c.Fails && c.Nil && c.Name != "Local.Target" && slices.Contains(needed, c.Spoilt) && query.KindOf(c.Err) != query.KindInvalidArgument {
				return "the error is not one of a wrong argument"
			}
			return ""
		},
	}
	p.Run(t, ".")
}

// needed are the arguments that are always required.
var needed = []reflect.Type{reflect.TypeFor[context.Context](), reflect.TypeFor[*query.DB](), reflect.TypeFor[*archive.Archive]()}

func usableDB(t testing.TB) *query.DB {
	db, err := query.Open(t.TempDir(), query.Options{Schema: &schema.Schema{Tables: []schema.Table{{Name: "t", Families: []schema.Family{{Name: "t"}}}}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}
