package server_test

import (
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/bigtable/admin/apiv2/adminpb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/smolwc/smolwc/api/smolwcpb"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/schema"
	"github.com/smolwc/smolwc/server"
)

// atHome serves a database in whose own instance the tables are.
func atHome(t *testing.T) *rig {
	t.Helper()
	db, err := query.OpenInMemory(query.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return serve(t, db, server.Options{Instance: parent})
}

// Each statement asks for its own right, to the tables that it names.
func TestStatementsAskForRights(t *testing.T) {
	r, tokens := guarded(t)
	r.table("queues", "q")
	r.table("directories", "d")
	secrets := map[server.Right]string{}
	for _, right := range []server.Right{server.Read, server.Write, server.Admin} {
		secrets[right] = newToken(t, tokens, right.String(), time.Time{}, grant(right, "mine"), grant(right, "queues"), grant(right, "directories"))
	}
	everywhere := newToken(t, tokens, "everywhere", time.Time{}, grant(server.Read, "*"))
	api := smolwcpb.NewStatementsClient(r.conn)
	denied := func(secret, text string) bool {
		_, err := api.RunStatement(r.with(secret), &smolwcpb.RunStatementRequest{InstanceName: parent, Text: text})
		return status.Code(err) == codes.PermissionDenied
	}
	for text, needs := range map[string]server.Right{
		"explain scan mine": server.Read, "analyze count mine": server.Read, "count mine approx": server.Read, "stats mine": server.Read,
		"why mine k": server.Admin, "why mine k f:q": server.Admin, "why mine k where f:q exists": server.Read,
		"gc mine": server.Admin, "gc mine dry-run": server.Admin, "compact mine": server.Admin, "flush mine": server.Admin,
		"directories": server.Read, "ls a": server.Read, "mkdir a": server.Write, "mv a b": server.Write, "rm a with mine yes": server.Write,
		"queues": server.Read, "peek a": server.Read, "dead": server.Read, "item a x": server.Read, "schedules": server.Read,
		"requeue a all": server.Write, "cancel a x": server.Write, "drain a yes": server.Write, "pause a": server.Write, "resume a": server.Write,
	} {
		for right, secret := range secrets {
			if got, want := denied(secret, text), right < needs; got != want {
				t.Errorf("%s with the right to %s: denied is %t", text, right, got)
			}
		}
		if elsewhere := strings.NewReplacer(" mine", " other").Replace(text); elsewhere != text && !denied(secrets[server.Admin], elsewhere) {
			t.Errorf("%s is not denied to a token without a right to the table", elsewhere)
		}
	}
	if !denied(secrets[server.Admin], "stats") || denied(everywhere, "stats") {
		t.Error("stats of the database is not for those alone that may read all tables")
	}
}

// The server asks before it removes something, if the client can answer.
func TestStatementsWithQuestions(t *testing.T) {
	r := atHome(t)
	r.table("queues", "q")
	r.table("directories", "d")
	api := smolwcpb.NewStatementsClient(r.conn)
	run := func(text string, answer smolwcpb.RunStatementRequest_Answer) (*smolwcpb.RunStatementResponse, error) {
		return api.RunStatement(r.ctx(), &smolwcpb.RunStatementRequest{InstanceName: parent, Text: text, Answer: answer})
	}
	_, err := run("mkdir a", 0)
	r.must(err)
	for _, c := range []struct {
		text   string
		answer smolwcpb.RunStatementRequest_Answer
		want   string
	}{
		{"rm a", smolwcpb.RunStatementRequest_NO_QUESTIONS, "end the statement with yes: rm a yes"},
		{"rm a", smolwcpb.RunStatementRequest_NO, "1:1: nothing was deleted"},
		{"rm a", smolwcpb.RunStatementRequest_ASK, "remove directory a?"},
		{"rm a", smolwcpb.RunStatementRequest_YES, "removed directory a"},
		{"rm a yes", smolwcpb.RunStatementRequest_ASK, "1:4: unknown directory"},
	} {
		resp, err := run(c.text, c.answer)
		if got := resp.GetQuestion() + resp.GetDone() + status.Convert(err).Message(); !strings.Contains(got, c.want) {
			t.Errorf("%s, answered with %v: %q; want %q", c.text, c.answer, got, c.want)
		}
	}
}

// The figures of the engine come as they are at hand.
func TestStatsOfAServer(t *testing.T) {
	r := atHome(t)
	r.table("t", "f")
	resp, err := smolwcpb.NewStatementsClient(r.conn).RunStatement(r.ctx(), &smolwcpb.RunStatementRequest{InstanceName: parent, Text: "stats as csv"})
	r.must(err)
	s := resp.GetStatistics()
	if s.GetFormat() != "csv" || len(s.GetFamilies().GetLines()) != 1 || s.GetFamilies().GetLines()[0].GetFields()[0].GetText() != "t" {
		t.Errorf("the families are %v", s.GetFamilies())
	}
	if len(s.GetEngine()) < 20 || s.GetEngine()[0].GetName() != "memory" || s.GetEngine()[0].GetValue().GetInteger() <= 0 {
		t.Errorf("the figures are %v", s.GetEngine())
	}
}

// Texts that are no statements for a server are refused, and nothing happens.
func TestStatementsThatAServerRefuses(t *testing.T) {
	r := atHome(t)
	r.table("t", "f")
	api := smolwcpb.NewStatementsClient(r.conn)
	for text, want := range map[string]codes.Code{
		"": codes.InvalidArgument, "scan t": codes.InvalidArgument, "drop table t yes": codes.InvalidArgument, "export t to 'x'": codes.InvalidArgument,
		"backup to 'x'": codes.InvalidArgument, "explain drop table t yes": codes.InvalidArgument, "gc t; gc t": codes.InvalidArgument, "quit": codes.InvalidArgument,
		"import t from 'x' key=a columns=f:x=y": codes.InvalidArgument, "explain scan '\x00'": codes.NotFound, "count t": codes.InvalidArgument,
		"explain scan " + strings.Repeat("x", 1<<16):                         codes.NotFound,
		"explain scan t where f:x in (" + strings.Repeat("1,", 1<<17) + "1)": codes.InvalidArgument,
		"gc none": codes.NotFound, "gc '" + schema.HistoryTable + "'": codes.InvalidArgument,
	} {
		_, err := api.RunStatement(r.ctx(), &smolwcpb.RunStatementRequest{InstanceName: parent, Text: text})
		if code := status.Code(err); code != want {
			t.Errorf("%.40q: %v, want %v", text, err, want)
		}
	}
	if got, err := r.tableAdmin().GetTable(r.ctx(), &adminpb.GetTableRequest{Name: tableT}); err != nil {
		t.Errorf("afterwards: %v, %v", got, err)
	}
}
