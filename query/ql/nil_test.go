package ql_test

import (
	"context"
	"testing"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/internal/nilcheck"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/ql"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
)

// TestNil calls everything with nil and with zero values: nothing panics.
func TestNil(t *testing.T) {
	p := nilcheck.Package{
		Funcs: []any{
			ql.CreateStatement, ql.HelpPage, ql.HelpTopics,
			ql.NewReader, ql.Parse, ql.Print,
			ql.QuoteRowKey, ql.QuoteTuple,
			ql.Verbs,
		},
		Types: []any{
			ql.Abort{}, ql.Add{}, ql.AddFamily{}, ql.Amount{}, ql.Analyze{}, ql.Append{}, ql.Assignment{}, ql.Backup{},
			ql.Backups{}, ql.Begin{}, ql.Bin{}, ql.CheckAndPut{}, ql.Checkpoint{}, ql.Collected{}, ql.Commit{},
			ql.Compact{}, ql.Condition{}, ql.Cost{}, ql.Count{}, ql.Counted{}, ql.CreateTable{}, ql.Delete{},
			ql.DeleteColumn{}, ql.DeleteRange{}, ql.Describe{}, ql.Description{}, ql.Done{}, ql.DropFamily{},
			ql.DropTable{}, ql.Env{}, ql.Estimate{}, ql.ExpectKind(0), ql.Expectation{}, ql.Expected{}, ql.Explain{},
			ql.Explained{}, ql.Export{}, ql.Family{}, ql.Field{}, ql.Figure{}, ql.Flush{}, ql.GC{}, ql.Get{}, ql.Help{},
			ql.HelpText{}, ql.Histogram{}, ql.Incr{}, ql.Leave{}, ql.Listing{}, ql.Matched{},
			ql.Modified{}, ql.Pattern{}, ql.Put{}, ql.Quit{}, ql.Read{}, ql.Refresh{}, ql.Restore{}, ql.RowStream{},
			ql.Rows{}, ql.Scan{}, ql.SetFamily{}, ql.SetTable{}, ql.Sparkline{}, ql.Statistics{}, ql.Stats{}, ql.Step{},
			ql.TableList{}, ql.TableOptions{}, ql.Tables{}, ql.Travel{}, ql.Truncate{}, ql.Verify{},
			ql.Runner{}, ql.Import{}, ql.Name{}, ql.Mapping{}, ql.Column{},
		},
		Usable: []any{
			func(t testing.TB) context.Context { return t.Context() },
			func(t testing.TB) *ql.Runner { return &ql.Runner{DB: usableDB(t)} },
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
