package ql_test

import (
	"testing"

	"github.com/smolwc/smolwc/internal/nilcheck"
	"github.com/smolwc/smolwc/ql"
)

// TestNil calls everything with nil and with zero values: nothing panics.
func TestNil(t *testing.T) {
	p := nilcheck.Package{
		Funcs: []any{
			ql.CreateStatement, ql.HelpPage, ql.HelpTopics, ql.IsNil, ql.NewReader, ql.NewTypedReader, ql.Parse, ql.Print,
			ql.QuoteKeyOf, ql.QuoteRowKey, ql.QuoteTuple, ql.QuoteWord, ql.SimpleRule, ql.TupleText, ql.Verbs,
		},
		Types: []any{
			ql.Abort{}, ql.Add{}, ql.AddFamily{}, ql.Aggregate{}, ql.Figure{}, ql.GroupKey{}, ql.Analyze{}, ql.Append{}, ql.Assignment{}, ql.Backup{}, ql.Backups{},
			ql.Begin{}, ql.CheckAndPut{}, ql.Checkpoint{}, ql.Commit{}, ql.Compact{}, ql.Condition{}, ql.Count{},
			ql.CreateTable{}, ql.Delete{}, ql.DeleteColumn{}, ql.DeleteRange{}, ql.DeleteWhere{}, ql.PutWhere{}, ql.Selection{}, ql.Sample{}, ql.Describe{}, ql.DropFamily{},
			ql.Deleted{}, ql.Directories{}, ql.Purge{}, ql.Undelete{}, ql.DropTable{}, ql.Env{}, ql.ExpectKind(0), ql.Expectation{}, ql.Expected{}, ql.Explain{}, ql.Export{},
			ql.Family{}, ql.Flush{}, ql.GC{}, ql.Get{}, ql.Help{}, ql.Histogram{}, ql.Incr{}, ql.Pattern{},
			ql.Put{}, ql.ListDirectories{}, ql.MakeDirectory{}, ql.MoveDirectory{}, ql.Path{}, ql.Quit{}, ql.Read{}, ql.Refresh{}, ql.RemoveDirectory{}, ql.Restore{}, ql.RestoreTable{}, ql.Rows{}, ql.Scan{}, ql.Select{}, ql.SetFamily{},
			ql.SetTable{}, ql.Sparkline{}, ql.Stats{}, ql.Calls{}, ql.CancelCall{}, ql.HotKeys{}, ql.TableOptions{}, ql.Tables{}, ql.Travel{}, ql.Truncate{},
			ql.CreateView{}, ql.DropView{}, ql.Views{}, ql.Verify{}, ql.Import{}, ql.Items{}, ql.CancelItem{}, ql.DeadLetters{}, ql.Drain{}, ql.PauseZone{}, ql.Peek{}, ql.Queue{}, ql.Queues{}, ql.Requeue{}, ql.ResumeZone{}, ql.Schedules{}, ql.ShowItem{},
			ql.CopiedColumn{}, ql.CopyTable{}, ql.Diff{}, ql.Watch{}, ql.Name{}, ql.Mapping{}, ql.Column{},
		},
	}
	p.Run(t, ".")
}
