package mcp_test

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/bigtable/admin/apiv2/adminpb"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"

	"github.com/smolwc/smolwc/mcp"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/server"
)

// overStdio is an agent's session with a process of smolwc mcp.
func overStdio(t *testing.T, token string, args ...string) *sdk.ClientSession {
	t.Helper()
	c := exec.Command(os.Args[0], append([]string{"mcp", "--max-rows", "500", "--max-bytes", "64KiB"}, args...)...)
	c.Env = append(os.Environ(), beSmolwc+"=1", "SMOLWC_TOKEN="+token)
	var told bytes.Buffer
	c.Stderr = &told
	agent, err := sdk.NewClient(&sdk.Implementation{Name: "agent"}, nil).Connect(t.Context(), &sdk.CommandTransport{Command: c, TerminateDuration: time.Minute}, nil)
	if err != nil {
		t.Fatalf("%v: %s", err, &told)
	}
	t.Cleanup(func() {
		if err := agent.Close(); err != nil || told.Len() > 0 {
			t.Errorf("%v: %s", err, &told)
		}
	})
	return agent
}

// The command shows an agent no more than the package does: of a directory, and of a
// server with the token of a reader.
func TestHostileAgentsOfTheCommand(t *testing.T) {
	dir := t.TempDir()
	db, err := query.Open(dir, query.Options{Schema: &declared})
	must(t, err)
	t.Cleanup(func() { must(t, db.Close()) })
	fill(t, db)
	tokens := server.OpenTokens(t.TempDir())
	addr := served(t, db, server.Options{Tokens: tokens})
	reader, err := tokens.Create("reader", []server.Grant{{Right: server.Read, Tables: "*"}}, time.Time{})
	must(t, err)
	for name, place := range map[string][]string{"at hand": {"--db", dir}, "served": {"--addr", addr}} {
		t.Run(name, func(t *testing.T) {
			attack(t, overStdio(t, reader, append(place, "--view", "planes")...))
			agent := overStdio(t, reader, place...)
			for _, text := range overBudget {
				if got, failed := call(t, agent, "query", q(text)); !failed || !strings.Contains(got, "the budget is 500 rows") {
					t.Errorf("%s: %s", text, got)
				}
			}
		})
	}
}

// With a token an agent reads what the token may read, for as long as it is valid.
func TestTokensHold(t *testing.T) {
	db := open(t)
	tokens := server.OpenTokens(t.TempDir())
	addr := served(t, db, server.Options{Tokens: tokens})
	create := func(name string, expires time.Time, grants ...server.Grant) string {
		secret, err := tokens.Create(name, grants, expires)
		must(t, err)
		return secret
	}
	var never time.Time
	all := create("all", never, server.Grant{Right: server.Admin, Tables: "*"})
	some := create("some", never, server.Grant{Right: server.Read, Tables: "fleet"})
	view := create("view", never, server.Grant{Right: server.Read, Tables: "payroll@names"})
	expired := create("expired", time.Now().Add(-time.Second), server.Grant{Right: server.Admin, Tables: "*"})
	authorized(t, addr, all)

	for _, c := range []struct {
		who, token, tool, args, want string
	}{
		{"some", some, "list_tables", `{}`, `{"tables":[{"name":"fleet","kind":"table","rows":5,`},
		{"some", some, "query", q("SELECT COUNT(*) AS n FROM fleet"), `"rows":[[5]]`},
		{"some", some, "read_rows", `{"table":"fleet","key":"plane#1","columns":["n"]}`, `"value":101`},
		{"some", some, "query", q("SELECT * FROM payroll"), ``},
		{"some", some, "query", q("SELECT f._key FROM fleet AS f JOIN payroll AS p ON TRUE"), ``},
		{"some", some, "query", q("SELECT * FROM earners"), ``},
		{"some", some, "query", q("SELECT (SELECT MAX(euro) FROM earners)"), ``},
		{"some", some, "explain", q("SELECT * FROM payroll"), ``},
		{"some", some, "explain", q("SELECT * FROM earners"), ``},
		{"some", some, "describe", `{"name":"payroll"}`, ``},
		{"some", some, "describe", `{"name":"earners"}`, ``},
		{"some", some, "read_rows", `{"table":"payroll"}`, ``},
		{"view", view, "query", q("SELECT * FROM payroll"), ``},
		{"view", view, "query", q("SELECT * FROM `payroll@names`"), ``},
		{"view", view, "query", q("SELECT * FROM fleet"), ``},
		{"view", view, "read_rows", `{"table":"payroll"}`, ``},
		{"view", view, "read_rows", `{"table":"payroll/authorizedViews/names"}`, ``},
		{"view", view, "list_tables", `{}`, anything},
		{"expired", expired, "list_tables", `{}`, ``},
		{"expired", expired, "query", q("SELECT COUNT(*) AS n FROM fleet"), ``},
		{"nobody", "", "list_tables", `{}`, ``},
		{"nobody", "", "query", q("SELECT 1"), ``},
		{"nobody", "", "read_rows", `{"table":"fleet"}`, ``},
	} {
		agent := connect(t, mcp.Options{Client: dial(t, addr, c.token)})
		got, failed := call(t, agent, c.tool, c.args)
		if c.want == "" && !failed || c.want != anything && !strings.Contains(got, c.want) || strings.Contains(got, "9876") || strings.Contains(got, "staff") {
			t.Errorf("%s: %s %s: %s\nwant %s", c.who, c.tool, c.args, got, c.want)
		}
		if c.tool == "list_tables" && strings.Contains(got, "payroll") {
			t.Errorf("%s: %s", c.who, got)
		}
	}

	agent := connect(t, mcp.Options{Client: dial(t, addr, some)})
	if got, failed := call(t, agent, "query", q("SELECT COUNT(*) AS n FROM fleet")); failed {
		t.Error(got)
	}
	must(t, tokens.Revoke("some"))
	if got, failed := call(t, agent, "query", q("SELECT COUNT(*) AS n FROM fleet")); !failed {
		t.Errorf("with a revoked token: %s", got)
	}
}

// authorized creates the authorized view names of payroll.
func authorized(t *testing.T, addr, token string) {
	t.Helper()
	conn, err := grpc.NewClient(addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	must(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	subset := &adminpb.AuthorizedView_SubsetView{RowPrefixes: [][]byte{[]byte("staff#0")}, FamilySubsets: map[string]*adminpb.AuthorizedView_FamilySubsets{"salary": {QualifierPrefixes: [][]byte{{}}}}}
	_, err = adminpb.NewBigtableTableAdminClient(conn).CreateAuthorizedView(metadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer "+token), &adminpb.CreateAuthorizedViewRequest{
		Parent: "projects/local/instances/local/tables/payroll", AuthorizedViewId: "names",
		AuthorizedView: &adminpb.AuthorizedView{AuthorizedView: &adminpb.AuthorizedView_SubsetView_{SubsetView: subset}},
	})
	must(t, err)
}
