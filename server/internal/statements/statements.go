// Package statements serves smolwc.v1.Statements: it runs those statements of the shell
// that need the database itself.
package statements

import (
	"context"
	"errors"
	"math"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/smolwc/smolwc/api/smolwcpb"
	"github.com/smolwc/smolwc/api/wire"
	"github.com/smolwc/smolwc/directory"
	"github.com/smolwc/smolwc/ql"
	"github.com/smolwc/smolwc/ql/exec"
	"github.com/smolwc/smolwc/ql/lex"
	"github.com/smolwc/smolwc/queue"
	"github.com/smolwc/smolwc/schema"
	"github.com/smolwc/smolwc/server/internal/access"
	"github.com/smolwc/smolwc/server/internal/account"
	"github.com/smolwc/smolwc/server/internal/catalog"
)

// A service is smolwc.v1.Statements.
type service struct {
	smolwcpb.UnimplementedStatementsServer
	*catalog.Catalog
	replicas func(context.Context) (*smolwcpb.ListReplicasResponse, error)
}

// Register adds the service to a gRPC server. replicas describes the server's
// standbys; nil without any.
func Register(to grpc.ServiceRegistrar, c *catalog.Catalog, replicas func(context.Context) (*smolwcpb.ListReplicasResponse, error)) {
	smolwcpb.RegisterStatementsServer(to, service{Catalog: c, replicas: replicas})
}

// mostText is how long a statement may be. One that is parsed takes some hundred times as
// much memory.
const mostText = 256 << 10

// RunStatement runs a statement.
func (s service) RunStatement(ctx context.Context, req *smolwcpb.RunStatementRequest) (*smolwcpb.RunStatementResponse, error) {
	in, err := wire.ParseInstance(req.GetInstanceName())
	if err != nil {
		return nil, err
	}
	if n := len(req.GetText()); n > mostText {
		return nil, wire.Invalid("the statement has %d bytes; it may have up to %d", n, mostText)
	}
	st, err := ql.Parse(req.GetText())
	if err != nil {
		return nil, wire.Invalid("%v", err)
	}
	if _, about := st.(*ql.Stats); !exec.Served(st) || !about && len(tablesOf(st)) == 0 {
		return nil, wire.Invalid("%s: clients run this statement with other calls", st.Position())
	}
	if err := s.place(ctx, in, st); err != nil {
		return nil, err
	}
	ctx, h := account.Holding(ctx)
	defer h.Release()
	var asked question
	r := exec.Runner{DB: s.DB, Versions: small(req.GetVersions()), Limit: small(req.GetLimit()), Confirm: asked.confirm(req.GetAnswer()), Standbys: s.standbys,
		Shows: func(table string) bool { return access.MayRead(ctx, table) }}
	res, err := r.Run(ctx, st)
	switch {
	case asked.text != "":
		return &smolwcpb.RunStatementResponse{Result: &smolwcpb.RunStatementResponse_Question{Question: asked.text}}, nil
	case err != nil:
		return nil, failure(ctx, err)
	}
	return message(res)
}

func small(n int64) int { return int(max(-1, min(n, math.MaxInt32))) }

// failure is the status of a statement's error. A mistake in the statement carries no
// kind.
func failure(ctx context.Context, err error) error {
	if e, ok := errors.AsType[*lex.Error](err); ok && e.Err == nil {
		return wire.Invalid("%v", err)
	}
	return catalog.Status(ctx, err)
}

// A question is asked by a statement before it removes something.
type question struct{ text string }

var errAsked = errors.New("the statement asks")

// confirm answers for the client.
func (q *question) confirm(answer smolwcpb.RunStatementRequest_Answer) func(string) (bool, error) {
	switch answer {
	case smolwcpb.RunStatementRequest_ASK:
		return func(text string) (bool, error) {
			q.text = text
			return false, errAsked
		}
	case smolwcpb.RunStatementRequest_YES, smolwcpb.RunStatementRequest_NO:
		return func(string) (bool, error) { return answer == smolwcpb.RunStatementRequest_YES, nil }
	}
	return nil
}

// place gives the tables of a statement their names in the database, and checks the
// client's right to them.
func (s service) place(ctx context.Context, in wire.Instance, st ql.Statement) error {
	names := tablesOf(st)
	if len(names) == 0 {
		return access.Require(ctx, access.Read, access.Resource{}) // to all tables
	}
	for _, name := range names {
		t, err := s.Own.ParseTable(in.StoredTable(name.means).String())
		if err != nil {
			return wire.Invalid("%s: %s", name.Pos, wire.StatusText(err))
		}
		if _, exists := s.DB.LookupTable(t.Stored); !exists && name.made {
			name.right = access.Admin
		}
		if err := access.Require(ctx, name.right, access.Resource{Name: t.Stored, Exact: true}); err != nil {
			return err
		}
		if schema.IsDerived(t.Stored) {
			return status.Errorf(codes.NotFound, "%s: unknown table %s", name.Pos, lex.QuoteText(name.means))
		}
		if t.Stored != name.means {
			*name.Name = ql.Name{Text: t.Stored, Pos: name.Pos}
		}
	}
	return nil
}

// A tableName is the name of a table in a statement. Its Text is "" for the usual table.
type tableName struct {
	*ql.Name
	means string
	right access.Right // that the statement needs
	made  bool         // the statement creates the table if it does not exist
}

// tablesOf returns the names of tables in a statement. Without names it is about all
// tables, and reads.
func tablesOf(st ql.Statement) []tableName {
	switch st := st.(type) {
	case *ql.Explain:
		return tablesOf(st.Statement)
	case *ql.Analyze:
		return tablesOf(st.Statement)
	case *ql.Get:
		return named(access.Read, &st.Table)
	case *ql.Scan:
		return named(access.Read, &st.Table)
	case *ql.Count:
		return named(access.Read, &st.Table)
	case *ql.Histogram:
		return named(access.Read, &st.Table)
	case *ql.Stats:
		if st.Table.Text == "" {
			return nil
		}
		return named(access.Read, &st.Table)
	case *ql.Why:
		if len(st.Where) > 0 {
			return named(access.Read, &st.Table)
		}
		return named(access.Admin, &st.Table) // it shows what was deleted
	case *ql.Compact:
		return named(access.Admin, &st.Table)
	case *ql.Flush:
		return named(access.Admin, &st.Table)
	case *ql.GC:
		return named(access.Admin, &st.Table)
	case *ql.SetTable:
		return named(access.Admin, &st.Table)
	case *ql.CopyTable:
		to := tableName{&st.To, st.To.Text, access.Write, true}
		return append(named(access.Read, &st.Table), to)
	}
	return ofDirectories(st)
}

func named(right access.Right, n *ql.Name) []tableName {
	return []tableName{{Name: n, means: n.Text, right: right}}
}

// usual returns the name of a table that a statement need not name.
func usual(right access.Right, st ql.Statement, in *ql.Name, table string) []tableName {
	if in.Text != "" {
		return named(right, in)
	}
	in.Pos = st.Position()
	return []tableName{{Name: in, means: table, right: right}}
}

func ofDirectories(st ql.Statement) []tableName {
	const table = directory.DefaultTable
	switch st := st.(type) {
	case *ql.Directories:
		return usual(access.Read, st, &st.In, table)
	case *ql.ListDirectories:
		return usual(access.Read, st, &st.In, table)
	case *ql.MakeDirectory:
		return usual(access.Write, st, &st.In, table)
	case *ql.MoveDirectory:
		return usual(access.Write, st, &st.In, table)
	case *ql.RemoveDirectory:
		names := usual(access.Write, st, &st.In, table)
		for i := range st.With {
			names = append(names, named(access.Write, &st.With[i])...)
		}
		return names
	}
	return ofQueues(st)
}

func ofQueues(st ql.Statement) []tableName {
	const table = queue.DefaultTable
	switch st := st.(type) {
	case *ql.Queues:
		return usual(access.Read, st, &st.In, table)
	case *ql.Peek:
		return usual(access.Read, st, &st.In, table)
	case *ql.DeadLetters:
		return usual(access.Read, st, &st.In, table)
	case *ql.ShowItem:
		return usual(access.Read, st, &st.In, table)
	case *ql.Schedules:
		return usual(access.Read, st, &st.In, table)
	case *ql.Requeue:
		return usual(access.Write, st, &st.In, table)
	case *ql.CancelItem:
		return usual(access.Write, st, &st.In, table)
	case *ql.Drain:
		return usual(access.Write, st, &st.In, table)
	case *ql.PauseZone:
		return usual(access.Write, st, &st.In, table)
	case *ql.ResumeZone:
		return usual(access.Write, st, &st.In, table)
	}
	return nil
}
