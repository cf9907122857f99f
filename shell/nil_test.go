package shell_test

import (
	"context"
	"io"
	"reflect"
	"strings"
	"testing"

	"github.com/smolwc/smolwc/internal/nilcheck"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/schema"
	"github.com/smolwc/smolwc/shell"
)

// TestNil calls everything with nil and with zero values: nothing panics.
func TestNil(t *testing.T) {
	p := nilcheck.Package{
		Funcs: []any{
			shell.ChangeLine, shell.ChangeStatements, shell.CheckFormat, shell.DryRun, shell.ExitCode, shell.ImportNotes, shell.ImportSpec,
			shell.New, shell.ProposedImport, shell.Served, shell.ShownValue, shell.Streams,
		},
		Types: []any{shell.Options{}, shell.Session{}},
		Usable: []any{
			func(t testing.TB) context.Context { return t.Context() },
			func(t testing.TB) io.Reader { return strings.NewReader("tables;") },
			func(t testing.TB) io.Writer { return io.Discard },
			usableDB,
			func(t testing.TB) *shell.Session {
				return shell.New(shell.Options{DB: usableDB(t), In: strings.NewReader("tables;")})
			},
		},
		Judge: func(c nilcheck.Call) string {
			if c.Fails && c.Nil && c.Spoilt == reflect.TypeFor[context.Context]() && query.KindOf(c.Err) != query.KindInvalidArgument {
				return "the error is not one of a wrong argument"
			}
			return ""
		},
		Skip: map[string]string{"Session.Interactive": "it takes the terminal of the process"},
	}
	p.Run(t, ".")
	if err := new(shell.Session).Interactive(t.Context()); query.KindOf(err) != query.KindInvalidArgument {
		t.Errorf("Interactive of a zero session: %v", err)
	}
}

func usableDB(t testing.TB) *query.DB {
	db, err := query.OpenInMemory(query.Options{Schema: &schema.Schema{Tables: []schema.Table{{Name: "t", Families: []schema.Family{{Name: "t"}}}}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}
