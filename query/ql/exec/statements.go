package exec

import (
	"cmp"
	"context"
	"reflect"
	"strings"

	"github.com/smolwc/smolwc/query/ql"
	"github.com/smolwc/smolwc/query/ql/lex"
)

// An entry says how the statements of one type run, and where they are refused.
type entry[S ql.Statement] struct {
	run func(*Runner, context.Context, S) (Result, error)
	// inBatch says why the statement is refused between begin and commit, or that it is
	// allowed.
	inBatch batchRule
	// remote says why a server does not run the statement for its clients; "" if it does.
	remote string
	// remoteOptions says which options of a statement a server refuses; nil if it takes
	// all.
	remoteOptions func(S) string
	// aside says that the statement does not need the list of tables.
	aside bool
}

// A batchRule is a reason to refuse a statement in a batch, or allowed.
type batchRule string

const (
	atOnce   batchRule = "it takes effect at once" // the default
	unseen   batchRule = "it would not see what the batch is to write"
	looks    batchRule = "it looks at the row first, and the batch writes nothing before commit"
	looksAt  batchRule = "it looks for the rows first, and changes them some hundreds at a time"
	ofRange  batchRule = "a range of rows is deleted at once; a batch takes rows by their keys"
	asItGoes batchRule = "it writes as it goes"
	allowed  batchRule = "allowed"
)

const (
	readOnly       = "it cannot run over the network: run it on the server's machine, beside the server with --db and --read-only"
	stopped        = "it cannot run over the network: run it on the server's machine, with --db and the server stopped"
	txReadOnly     = "it needs transactions, which Bigtable's API does not have: run it on the server's machine, beside the server with --db and --read-only"
	txStopped      = "it needs transactions, which Bigtable's API does not have: run it on the server's machine, with --db and the server stopped"
	noRestoreTable = "it cannot run over the network: restore the backup to a directory by smolwc restore, and export and import the table"
	noRestore      = "it cannot run over the network: run smolwc restore BACKUP DIR --from TARGET where the new database is to be; the server may keep running"
)

// statements has an entry for each type of statement; a test compares it with query/ql.
var statements = byType(
	entry[*ql.Get]{run: rows[*ql.Get], inBatch: unseen},
	entry[*ql.Scan]{run: rows[*ql.Scan], inBatch: unseen},
	entry[*ql.Sample]{run: (*Runner).sample, inBatch: unseen},
	entry[*ql.Select]{run: (*Runner).query, inBatch: unseen, aside: true},
	entry[*ql.Count]{run: (*Runner).count, inBatch: unseen, remoteOptions: approx},
	entry[*ql.Histogram]{run: (*Runner).histogram, inBatch: unseen},
	entry[*ql.Aggregate]{run: (*Runner).aggregate, inBatch: unseen},
	entry[*ql.Sparkline]{run: (*Runner).sparkline, inBatch: unseen},
	entry[*ql.Explain]{run: (*Runner).explain, inBatch: allowed, remote: readOnly},
	entry[*ql.Analyze]{run: (*Runner).analyze, inBatch: unseen, remote: readOnly},
	entry[*ql.Stats]{run: (*Runner).stats, inBatch: allowed, remote: readOnly},
	entry[*ql.Calls]{run: (*Runner).calls, inBatch: allowed, aside: true},
	entry[*ql.CancelCall]{run: (*Runner).cancelCall, inBatch: allowed, aside: true},
	entry[*ql.HotKeys]{run: (*Runner).hotKeys, inBatch: allowed},

	entry[*ql.Put]{run: (*Runner).put, inBatch: allowed},
	entry[*ql.Delete]{run: (*Runner).delete, inBatch: allowed},
	entry[*ql.DeleteRange]{run: (*Runner).deleteRange, inBatch: ofRange},
	entry[*ql.PutWhere]{run: (*Runner).putWhere, inBatch: looksAt},
	entry[*ql.DeleteWhere]{run: (*Runner).deleteWhere, inBatch: looksAt},
	entry[*ql.Add]{run: (*Runner).add, inBatch: allowed},
	entry[*ql.Incr]{run: (*Runner).incr, inBatch: looks},
	entry[*ql.Append]{run: (*Runner).append, inBatch: looks},
	entry[*ql.CheckAndPut]{run: (*Runner).checkAndPut, inBatch: looks},
	entry[*ql.Begin]{run: (*Runner).begin, inBatch: allowed},
	entry[*ql.Commit]{run: (*Runner).commit, inBatch: allowed},
	entry[*ql.Abort]{run: (*Runner).abort, inBatch: allowed},

	entry[*ql.CreateTable]{run: (*Runner).createTable},
	entry[*ql.SetTable]{run: (*Runner).setTable, remoteOptions: setOptions},
	entry[*ql.AddFamily]{run: (*Runner).addFamily},
	entry[*ql.SetFamily]{run: (*Runner).setFamily},
	entry[*ql.DropFamily]{run: (*Runner).dropFamily},
	entry[*ql.DropTable]{run: (*Runner).dropTable},
	entry[*ql.Undelete]{run: (*Runner).undelete},
	entry[*ql.Deleted]{run: (*Runner).deleted, inBatch: allowed},
	entry[*ql.Purge]{run: (*Runner).purge},
	entry[*ql.Truncate]{run: (*Runner).truncate, inBatch: ofRange},
	entry[*ql.CopyTable]{run: (*Runner).copyTable},
	entry[*ql.Diff]{run: (*Runner).diff, inBatch: unseen},
	entry[*ql.Watch]{run: (*Runner).watch, inBatch: unseen},
	entry[*ql.Tables]{run: (*Runner).tables, inBatch: allowed},
	entry[*ql.Views]{run: (*Runner).listViews, inBatch: allowed},
	entry[*ql.CreateView]{run: (*Runner).createView},
	entry[*ql.DropView]{run: (*Runner).dropView},
	entry[*ql.Describe]{run: (*Runner).describe, inBatch: allowed},

	entry[*ql.Directories]{run: (*Runner).directories, inBatch: unseen, remote: txReadOnly},
	entry[*ql.ListDirectories]{run: (*Runner).ls, inBatch: unseen, remote: txReadOnly},
	entry[*ql.MakeDirectory]{run: (*Runner).mkdir, remote: txStopped},
	entry[*ql.MoveDirectory]{run: (*Runner).mv, remote: txStopped},
	entry[*ql.RemoveDirectory]{run: (*Runner).rm, remote: txStopped},

	entry[*ql.Queues]{run: (*Runner).queues, inBatch: unseen, remote: txReadOnly},
	entry[*ql.Peek]{run: (*Runner).peek, inBatch: unseen, remote: txReadOnly},
	entry[*ql.DeadLetters]{run: (*Runner).deadLetters, inBatch: unseen, remote: txReadOnly},
	entry[*ql.ShowItem]{run: (*Runner).item, inBatch: unseen, remote: txReadOnly},
	entry[*ql.Requeue]{run: (*Runner).requeue, remote: txStopped},
	entry[*ql.CancelItem]{run: (*Runner).cancel, remote: txStopped},
	entry[*ql.Drain]{run: (*Runner).drain, remote: txStopped},
	entry[*ql.PauseZone]{run: (*Runner).pause, remote: txStopped},
	entry[*ql.ResumeZone]{run: (*Runner).resume, remote: txStopped},
	entry[*ql.Schedules]{run: (*Runner).schedules, inBatch: unseen, remote: txReadOnly},

	entry[*ql.Compact]{run: (*Runner).compact, remote: stopped},
	entry[*ql.Flush]{run: (*Runner).flush, remote: stopped},
	entry[*ql.GC]{run: (*Runner).collect, remote: stopped},
	entry[*ql.Refresh]{run: (*Runner).refreshed, remote: readOnly},

	entry[*ql.Import]{run: (*Runner).importFile, inBatch: asItGoes},
	entry[*ql.Export]{run: (*Runner).export},
	entry[*ql.Backup]{run: outside[*ql.Backup]},
	entry[*ql.Backups]{run: outside[*ql.Backups]},
	entry[*ql.Verify]{run: outside[*ql.Verify]},
	entry[*ql.Checkpoint]{run: outside[*ql.Checkpoint]},
	entry[*ql.Restore]{run: outside[*ql.Restore], remote: noRestore},
	entry[*ql.RestoreTable]{run: (*Runner).restoreTable, remote: noRestoreTable},

	entry[*ql.Help]{run: (*Runner).help, inBatch: allowed, aside: true},
	entry[*ql.Quit]{run: (*Runner).quit, inBatch: allowed, aside: true},
)

func approx(st *ql.Count) string {
	if !st.Approx {
		return ""
	}
	return "approx cannot be asked for over the network"
}

func setOptions(st *ql.SetTable) string {
	if st.KeyFormat == nil && st.Retention == nil {
		return ""
	}
	return "over the network the key format and the retention of a table cannot be set"
}

// A runnable is an entry of any type.
type runnable interface {
	of() reflect.Type
	start(*Runner, context.Context, ql.Statement) (Result, error)
	refuse(*Runner, ql.Statement) error
	needsTables() bool
}

func byType(list ...runnable) map[reflect.Type]runnable {
	entries := map[reflect.Type]runnable{}
	for _, e := range list {
		entries[e.of()] = e
	}
	return entries
}

func (e entry[S]) of() reflect.Type { return reflect.TypeFor[S]() }

func (e entry[S]) needsTables() bool { return !e.aside }

func (e entry[S]) start(r *Runner, ctx context.Context, st ql.Statement) (Result, error) {
	return e.run(r, ctx, st.(S))
}

// refuse returns an error if the statement cannot run in the open batch or over the
// network.
func (e entry[S]) refuse(r *Runner, st ql.Statement) error {
	if r.pending != nil && e.inBatch != allowed {
		return lex.ErrorAt(st.Position(), "%s cannot stand in a batch: %s; the batch begun at %s takes put, add and delete, then commit or abort", verbOf(st), cmp.Or(e.inBatch, atOnce), r.pending.begun)
	}
	if r.Remote == nil {
		return nil
	}
	why := e.remote
	if why == "" && e.remoteOptions != nil {
		why = e.remoteOptions(st.(S))
	}
	if why == "" {
		return nil
	}
	return lex.ErrorAt(st.Position(), "%s: %s", verbOf(st), why)
}

// verbOf is the verb of the statement's canonical text.
func verbOf(st ql.Statement) string {
	verb, _, _ := strings.Cut(ql.Print(st), " ")
	return verb
}
