package exec

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/smolwc/smolwc/ql"
	"github.com/smolwc/smolwc/ql/lex"
	"github.com/smolwc/smolwc/query"
)

// An entry says how the statements of one type run, and where they are refused.
type entry[S ql.Statement] struct {
	run func(*Runner, context.Context, S) (Result, error)
	// inBatch says why the statement is refused between begin and commit, or that it is
	// allowed.
	inBatch batchRule
	// remote says why a server does not run the statement for its clients; "" if it does.
	remote string
	// served says that the server runs the statement for its clients, and servedIf which
	// ones of the type.
	served   bool
	servedIf func(S) bool
	// aside says that the statement does not need the list of tables.
	aside bool
	// reads says that the statement changes no rows and no tables of the database.
	reads bool
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
	noRestore = "it cannot run over the network: run smolwc restore BACKUP DIR --from TARGET where the new database is to be; the server may keep running"
)

// statements lists an entry for each type of statement; a test compares it with ql.
var statements = byType(
	entry[*ql.Get]{run: rows[*ql.Get], inBatch: unseen, reads: true},
	entry[*ql.Scan]{run: rows[*ql.Scan], inBatch: unseen, reads: true},
	entry[*ql.Sample]{run: (*Runner).sample, inBatch: unseen, reads: true},
	entry[*ql.Select]{run: (*Runner).query, inBatch: unseen, aside: true, reads: true},
	entry[*ql.Count]{run: (*Runner).count, inBatch: unseen, servedIf: func(st *ql.Count) bool { return st.Approx }, reads: true},
	entry[*ql.Histogram]{run: (*Runner).histogram, inBatch: unseen, reads: true},
	entry[*ql.Aggregate]{run: (*Runner).aggregate, inBatch: unseen, reads: true},
	entry[*ql.Sparkline]{run: (*Runner).sparkline, inBatch: unseen, reads: true},
	entry[*ql.Why]{run: (*Runner).why, inBatch: unseen, served: true, reads: true},
	entry[*ql.Explain]{run: (*Runner).explain, inBatch: allowed, served: true, reads: true},
	entry[*ql.Analyze]{run: (*Runner).analyze, inBatch: unseen, served: true, reads: true},
	entry[*ql.Stats]{run: (*Runner).stats, inBatch: allowed, served: true, reads: true},
	entry[*ql.Calls]{run: (*Runner).calls, inBatch: allowed, aside: true, reads: true},
	entry[*ql.CancelCall]{run: (*Runner).cancelCall, inBatch: allowed, aside: true, reads: true},
	entry[*ql.HotKeys]{run: (*Runner).hotKeys, inBatch: allowed, reads: true},

	entry[*ql.Put]{run: (*Runner).put, inBatch: allowed},
	entry[*ql.Delete]{run: (*Runner).delete, inBatch: allowed},
	entry[*ql.DeleteRange]{run: (*Runner).deleteRange, inBatch: ofRange},
	entry[*ql.PutWhere]{run: (*Runner).putWhere, inBatch: looksAt},
	entry[*ql.DeleteWhere]{run: (*Runner).deleteWhere, inBatch: looksAt},
	entry[*ql.Add]{run: (*Runner).add, inBatch: allowed},
	entry[*ql.Incr]{run: (*Runner).incr, inBatch: looks},
	entry[*ql.Append]{run: (*Runner).append, inBatch: looks},
	entry[*ql.CheckAndPut]{run: (*Runner).checkAndPut, inBatch: looks},
	entry[*ql.Begin]{run: (*Runner).begin, inBatch: allowed, reads: true},
	entry[*ql.Commit]{run: (*Runner).commit, inBatch: allowed},
	entry[*ql.Abort]{run: (*Runner).abort, inBatch: allowed, reads: true},

	entry[*ql.CreateTable]{run: (*Runner).createTable},
	entry[*ql.SetTable]{run: (*Runner).setTable, servedIf: moreThanChanges},
	entry[*ql.AddFamily]{run: (*Runner).addFamily},
	entry[*ql.SetFamily]{run: (*Runner).setFamily},
	entry[*ql.DropFamily]{run: (*Runner).dropFamily},
	entry[*ql.DropTable]{run: (*Runner).dropTable},
	entry[*ql.Undelete]{run: (*Runner).undelete},
	entry[*ql.Deleted]{run: (*Runner).deleted, inBatch: allowed, reads: true},
	entry[*ql.Purge]{run: (*Runner).purge},
	entry[*ql.Truncate]{run: (*Runner).truncate, inBatch: ofRange},
	entry[*ql.CopyTable]{run: (*Runner).copyTable, served: true},
	entry[*ql.Diff]{run: (*Runner).diff, inBatch: unseen, reads: true},
	entry[*ql.Watch]{run: (*Runner).watch, inBatch: unseen, reads: true},
	entry[*ql.Tables]{run: (*Runner).tables, inBatch: allowed, reads: true},
	entry[*ql.Views]{run: (*Runner).listViews, inBatch: allowed, reads: true},
	entry[*ql.CreateView]{run: (*Runner).createView},
	entry[*ql.DropView]{run: (*Runner).dropView},
	entry[*ql.Describe]{run: (*Runner).describe, inBatch: allowed, reads: true},

	entry[*ql.Directories]{run: (*Runner).directories, inBatch: unseen, served: true, reads: true},
	entry[*ql.ListDirectories]{run: (*Runner).ls, inBatch: unseen, served: true, reads: true},
	entry[*ql.MakeDirectory]{run: (*Runner).mkdir, served: true},
	entry[*ql.MoveDirectory]{run: (*Runner).mv, served: true},
	entry[*ql.RemoveDirectory]{run: (*Runner).rm, served: true},

	entry[*ql.Queues]{run: (*Runner).queues, inBatch: unseen, served: true, reads: true},
	entry[*ql.Peek]{run: (*Runner).peek, inBatch: unseen, served: true, reads: true},
	entry[*ql.DeadLetters]{run: (*Runner).deadLetters, inBatch: unseen, served: true, reads: true},
	entry[*ql.ShowItem]{run: (*Runner).item, inBatch: unseen, served: true, reads: true},
	entry[*ql.Requeue]{run: (*Runner).requeue, served: true},
	entry[*ql.CancelItem]{run: (*Runner).cancel, served: true},
	entry[*ql.Drain]{run: (*Runner).drain, served: true},
	entry[*ql.PauseZone]{run: (*Runner).pause, served: true},
	entry[*ql.ResumeZone]{run: (*Runner).resume, served: true},
	entry[*ql.Schedules]{run: (*Runner).schedules, inBatch: unseen, served: true, reads: true},

	entry[*ql.Compact]{run: (*Runner).compact, served: true},
	entry[*ql.Flush]{run: (*Runner).flush, served: true},
	entry[*ql.GC]{run: (*Runner).collect, served: true},
	entry[*ql.Refresh]{run: (*Runner).refreshed},

	entry[*ql.Import]{run: (*Runner).importFile, inBatch: asItGoes},
	entry[*ql.Export]{run: (*Runner).export, reads: true},
	entry[*ql.Backup]{run: outside[*ql.Backup], reads: true},
	entry[*ql.Backups]{run: outside[*ql.Backups], reads: true},
	entry[*ql.Verify]{run: outside[*ql.Verify], reads: true},
	entry[*ql.Checkpoint]{run: outside[*ql.Checkpoint], reads: true},
	entry[*ql.Restore]{run: outside[*ql.Restore], remote: noRestore, reads: true},
	entry[*ql.RestoreTable]{run: (*Runner).restoreTable},

	entry[*ql.Help]{run: (*Runner).help, inBatch: allowed, aside: true, reads: true},
	entry[*ql.Quit]{run: (*Runner).quit, inBatch: allowed, aside: true, reads: true},
)

// moreThanChanges reports whether a statement sets anything that Bigtable's API cannot.
func moreThanChanges(st *ql.SetTable) bool { return st.KeyFormat != nil || st.Retention != nil }

// A runnable is an entry of any type.
type runnable interface {
	of() reflect.Type
	start(*Runner, context.Context, ql.Statement) (Result, error)
	refuse(*Runner, ql.Statement) error
	needsTables() bool
	onlyReads() bool
	atServer(ql.Statement) bool
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

func (e entry[S]) onlyReads() bool { return e.reads }

// atServer reports whether a server runs the statement for its clients.
func (e entry[S]) atServer(st ql.Statement) bool {
	return e.served || e.servedIf != nil && e.servedIf(st.(S))
}

func (e entry[S]) start(r *Runner, ctx context.Context, st ql.Statement) (Result, error) {
	return e.run(r, ctx, st.(S))
}

// refuse returns an error if the statement cannot run in the open batch or over the
// network.
func (e entry[S]) refuse(r *Runner, st ql.Statement) error {
	if r.pending != nil && e.inBatch != allowed {
		return lex.ErrorAt(st.Position(), "%s cannot stand in a batch: %s; the batch begun at %s takes put, add and delete, then commit or abort", verbOf(st), cmp.Or(e.inBatch, atOnce), r.pending.begun)
	}
	if r.Remote == nil || e.remote == "" {
		return nil
	}
	return lex.ErrorAt(st.Position(), "%s: %s", verbOf(st), e.remote)
}

// verbOf is the verb of the statement's canonical text.
func verbOf(st ql.Statement) string {
	verb, _, _ := strings.Cut(ql.Print(st), " ")
	return verb
}

// Served reports whether a server runs the statement for its clients. They run other
// statements by other calls.
func Served(st ql.Statement) bool {
	if ql.IsNil(st) {
		return false
	}
	entry, ok := statements[reflect.TypeOf(st)]
	return ok && entry.atServer(st)
}

// Reads reports whether a statement changes no rows and no tables of the database.
func Reads(st ql.Statement) bool {
	if ql.IsNil(st) {
		return true
	}
	if load, ok := st.(*ql.Import); ok {
		return load.DryRun
	}
	entry, ok := statements[reflect.TypeOf(st)]
	return ok && entry.onlyReads()
}

// serve makes the server run a statement. The places of its errors refer to the
// statement's text as the user wrote it.
func (r *Runner) serve(ctx context.Context, st ql.Statement) (Result, error) {
	text := ql.Print(st)
	res, err := r.Remote.RunStatement(ctx, ServedStatement{Text: text, Versions: r.Versions, Limit: r.Limit, Confirm: r.Confirm})
	if err != nil {
		return nil, asWritten(st, text, err)
	}
	if e, ok := res.(*Explained); ok {
		switch st := st.(type) {
		case *ql.Explain:
			e.Statement = st.Statement
		case *ql.Analyze:
			e.Statement = st.Statement
		}
	}
	return res, nil
}

// asWritten turns a server's error about the canonical text of a statement into one about
// the statement.
func asWritten(st ql.Statement, text string, err error) error {
	e, ok := errors.AsType[*query.Error](err)
	if !ok {
		return err
	}
	said := e.Err.Error()
	var at lex.Pos
	if n, bad := fmt.Sscanf(said, "%d:%d: ", &at.Line, &at.Col); n != 2 || bad != nil || !strings.HasPrefix(said, at.String()+": ") {
		return err
	}
	place := st.Position()
	if printed, bad := ql.Parse(text); bad == nil {
		was, is := placesIn(reflect.ValueOf(printed), nil), placesIn(reflect.ValueOf(st), nil)
		for i := range min(len(was), len(is)) {
			if was[i] == at {
				place = is[i]
				break
			}
		}
	}
	return &lex.Error{Pos: place, Msg: strings.TrimPrefix(said, at.String()+": "), Err: err}
}

// placesIn adds the places in a statement to a list, in the order of its fields.
func placesIn(v reflect.Value, found []lex.Pos) []lex.Pos {
	if at, ok := reflect.TypeAssert[lex.Pos](v); ok {
		return append(found, at)
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			return placesIn(v.Elem(), found)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				found = placesIn(v.Field(i), found)
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			found = placesIn(v.Index(i), found)
		}
	}
	return found
}
