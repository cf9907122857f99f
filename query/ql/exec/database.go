package exec

import (
	"context"
	"iter"
	"time"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/ql"
	"github.com/smolwc/smolwc/query/ql/lex"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
)

// A Database is what most statements run on: a [query.DB], or one that is
// reached over the network. Methods do what those of query.DB do.
type Database interface {
	Schema() *schema.Schema
	LookupTable(name string) (schema.Table, bool)
	Now() cells.Timestamp
	Table(name string) Table
	CreateTable(ctx context.Context, t schema.Table) error
	DropTable(ctx context.Context, table string) error
	TruncateTable(ctx context.Context, table string) error
	AddFamily(ctx context.Context, table string, f schema.Family) error
	SetFamily(ctx context.Context, table string, f schema.Family) error
	DropFamily(ctx context.Context, table, family string) error
	SetChangeStream(ctx context.Context, table string, keep time.Duration) error
}

// A Table is one of a [Database]. Methods do what those of [query.Table] do.
type Table interface {
	ReadRows(ctx context.Context, opts ...read.Option) iter.Seq2[*query.Row, error]
	ReadCells(ctx context.Context, key string, opts ...read.Option) iter.Seq2[cells.Cell, error]
	Count(ctx context.Context, opts ...read.Option) (query.Count, error)
	Apply(ctx context.Context, key string, m *write.Mutation) error
	ApplyReadModifyWrite(ctx context.Context, key string, m *write.ReadModifyWrite) (*query.Row, error)
	CheckAndMutate(ctx context.Context, key string, predicate read.Option, ifTrue, ifFalse *write.Mutation) (bool, error)
	DeleteRange(ctx context.Context, rows read.RowSet) error
}

// A Remote is a database over the network. Refresh learns what tables there are,
// if that was long ago.
type Remote interface {
	Database
	Refresh(ctx context.Context) error
}

// local is the database of this process.
type local struct{ *query.DB }

func (l local) Table(name string) Table { return l.DB.Table(name) }

// Database is what the runner's statements run on.
func (r *Runner) Database() Database {
	switch {
	case r == nil:
		return local{}
	case r.Remote != nil:
		return r.Remote
	}
	return local{r.DB}
}

// refresh learns what tables there are before a statement that may name one.
func (r *Runner) refresh(ctx context.Context, st ql.Statement) error {
	switch st.(type) {
	case *ql.Help, *ql.Quit:
		return nil
	}
	if r.Remote == nil {
		return nil
	}
	return r.Remote.Refresh(ctx)
}

// refuseRemote refuses what a server does not do for its clients.
func (r *Runner) refuseRemote(st ql.Statement) error {
	if r.Remote == nil {
		return nil
	}
	var why string
	switch st := st.(type) {
	case *ql.Begin, *ql.Commit, *ql.Abort:
		why = "over the network a change of one row is atomic, and there are no batches of several"
	case *ql.Scan:
		if st.Page == nil && !st.Stats {
			return nil
		}
		why = "page= and stats cannot be asked for over the network"
	case *ql.Get:
		if st.Page == nil && !st.Stats {
			return nil
		}
		why = "page= and stats cannot be asked for over the network"
	case *ql.Count:
		if !st.Approx && !st.Stats {
			return nil
		}
		why = "approx and stats cannot be asked for over the network"
	case *ql.SetTable:
		if st.KeyFormat == nil && st.Retention == nil {
			return nil
		}
		why = "over the network the key format and the retention of a table cannot be set"
	case *ql.CreateTable:
		if st.KeyFormat == nil && (st.Retention == nil || *st.Retention == schema.Lazy) {
			return nil
		}
		why = "over the network tables are created with plain keys and lazy retention; leave out key_format= and retention="
	case *ql.Explain, *ql.Analyze, *ql.Stats, *ql.Export, *ql.Refresh:
		why = "it cannot run over the network: run it on the server's machine, beside the server with --db and --read-only"
	case *ql.Restore:
		why = "it cannot run over the network: run smolwc restore BACKUP DIR --from TARGET where the new database is to be; the server may go on"
	case *ql.Compact, *ql.GC, *ql.Flush, *ql.Import:
		why = "it cannot run over the network: run it on the server's machine, with --db and the server stopped"
	default:
		return nil
	}
	return lex.ErrorAt(st.Position(), "%s: %s", verbOf(st), why)
}
