package exec_test

import (
	"context"
	"testing"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/internal/nilcheck"
	"github.com/smolwc/smolwc/ql/exec"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
)

// TestNil calls everything with nil and with zero values: nothing panics.
func TestNil(t *testing.T) {
	p := nilcheck.Package{
		Funcs: []any{exec.Reads, exec.Served},
		Types: []any{
			exec.Amount{}, exec.Bin{}, exec.Collected{}, exec.Cost{}, exec.Counted{}, exec.Description{}, exec.DirectoryName{}, exec.Done{},
			exec.Estimate{}, exec.Explained{}, exec.Figure{}, exec.HelpText{}, exec.Leave{}, exec.Listing{},
			exec.Matched{}, exec.Modified{}, exec.Queried{}, exec.RowStream{}, exec.Statistics{}, exec.Step{}, exec.TableList{},
			exec.Difference{}, exec.Differences{}, exec.Watched{}, exec.Runner{}, exec.ServedStatement{}, exec.Word(""),
		},
		Usable: []any{
			func(t testing.TB) context.Context { return t.Context() },
			func(t testing.TB) *exec.Runner { return &exec.Runner{DB: usableDB(t)} },
		},
	}
	p.Run(t, ".")
}

// usableDB is a database with a table, a family and a row that are named t.
func usableDB(t testing.TB) *query.DB {
	db, err := query.OpenInMemory(query.Options{Schema: &schema.Schema{Tables: []schema.Table{{Name: "t", Families: []schema.Family{{Name: "t"}}}}}})
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
