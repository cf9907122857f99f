package transfer_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"github.com/smolwc/smolwc/internal/nilcheck"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/schema"
	"github.com/smolwc/smolwc/transfer"
)

// TestNil calls everything with nil and with zero values: nothing panics.
func TestNil(t *testing.T) {
	p := nilcheck.Package{
		Funcs: []any{
			transfer.Export, transfer.ExportFrom, transfer.Import, transfer.ImportInto, transfer.WriteParquet,
		},
		Types: []any{transfer.Error{}, transfer.LineError{}, transfer.SpecError{}, transfer.FieldReport{}, transfer.FormError{}, transfer.Proposal{}},
		Usable: []any{
			func(t testing.TB) context.Context { return t.Context() },
			usableDB,
			func(t testing.TB) transfer.Table { return usableDB(t).Table("t") },
			func(t testing.TB) schema.Table {
				return schema.Table{Name: "t", Families: []schema.Family{{Name: "t"}}}
			},
			func(t testing.TB) transfer.Spec {
				file := filepath.Join(t.TempDir(), "t.csv")
				if err := os.WriteFile(file, []byte("k,v\na,1\n"), 0o600); err != nil {
					t.Fatal(err)
				}
				return transfer.Spec{Path: file, Key: "{k}", Columns: []transfer.Mapping{{Family: "t", Qualifier: "v", Field: "v"}}}
			},
			func(t testing.TB) transfer.ExportSpec { return transfer.ExportSpec{Path: "-", Out: io.Discard} },
		},
		Judge: func(c nilcheck.Call) string {
			_, ok := errors.AsType[*transfer.SpecError](c.Err)
			if c.Fails && c.Nil && slices.Contains(needed, c.Spoilt) && !ok {
				return "the error is not one of the arguments"
			}
			return ""
		},
	}
	p.Run(t, ".")
}

// needed are the types of the arguments that are always required.
var needed = []reflect.Type{reflect.TypeFor[context.Context](), reflect.TypeFor[*query.DB](), reflect.TypeFor[transfer.Table]()}

func usableDB(t testing.TB) *query.DB {
	db, err := query.OpenInMemory(query.Options{Schema: &schema.Schema{Tables: []schema.Table{{Name: "t", Families: []schema.Family{{Name: "t"}}}}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}
