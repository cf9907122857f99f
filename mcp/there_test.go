package mcp_test

import (
	"context"
	"net"
	"strings"
	"testing"

	"github.com/smolwc/smolwc/client"
	"github.com/smolwc/smolwc/mcp"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/server"
	"github.com/smolwc/smolwc/sql"
)

// serve is a client of a server of the database.
func serve(t *testing.T, db *query.DB) *client.Client {
	t.Helper()
	return dial(t, served(t, db, server.Options{}), "")
}

func dial(t *testing.T, addr, token string) *client.Client {
	t.Helper()
	c, err := client.Dial(addr, client.Options{Token: token})
	must(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// served is the address of a server of the database.
func served(t *testing.T, db *query.DB, o server.Options) string {
	t.Helper()
	s, err := server.New(db, o)
	must(t, err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, listener) }()
	t.Cleanup(func() { stop(); <-ended })
	return listener.Addr().String()
}

// Over the network the server judges, with the same verdicts.
func TestServersJudgeBudgets(t *testing.T) {
	db := open(t)
	c := serve(t, db)
	agent := connect(t, mcp.Options{Client: c})
	for _, text := range overBudget {
		if got, failed := call(t, agent, "query", q(text)); !failed || !strings.Contains(got, "the budget is 500 rows") {
			t.Errorf("%s: %s", text, got)
		}
	}
	for _, c := range []struct{ tool, args, want string }{
		{"list_tables", `{}`, `{"tables":[{"name":"big","kind":"table","rows":2000,`},
		{"list_tables", `{}`, `{"name":"planes","kind":"logical view","rows":5,"bytes":`},
		{"describe", `{"name":"fleet"}`, `"families":[{"name":"meta","type":"any","keeps":"max_versions=3"},`},
		{"describe", `{"name":"planes"}`, `"columns":[{"name":"plane","type":"BYTES"},`},
		{"query", q("SELECT model, seats FROM planes WHERE seats > 101 ORDER BY seats"), `"rows":[["B727",102],["B737",103]],"cut":false}`},
		{"query", q("SELECT _key FROM big WHERE STARTS_WITH(_key, 'k00') LIMIT 2"), `"rows":[["k0000"],["k0001"]]`},
		{"explain", q("SELECT COUNT(*) FROM big"), `"within_budget":false,"steps":["read all rows of big",`},
		{"read_rows", `{"table":"fleet","key":"plane#1","columns":["n"]}`, `"value":101`},
	} {
		if got, _ := call(t, agent, c.tool, c.args); !strings.Contains(got, c.want) {
			t.Errorf("%s %s:\n%s\nwant in it\n%s", c.tool, c.args, got, c.want)
		}
	}
}

func TestHostileCallsSeeNothingBeyondAServersView(t *testing.T) {
	attack(t, connect(t, mcp.Options{Client: serve(t, open(t)), Names: []string{"planes"}}))
}

// An estimate can be wrong: the server ends the query then.
func TestServersEndQueriesBeyondTheBudget(t *testing.T) {
	c := serve(t, open(t))
	budget := sql.Budget{Rows: 300, Bytes: 1 << 20}
	res, estimate, err := c.QueryWithin(t.Context(), "EXPLAIN ANALYZE SELECT COUNT(*) FROM big", budget) // runs, and is not refused
	if err == nil {
		for _, err = range res.Rows {
			if err != nil {
				break
			}
		}
	}
	if query.KindOf(err) != query.KindResourceExhausted || !strings.Contains(err.Error(), "has read more than its budget of 300 rows") {
		t.Errorf("%v: %v, with the estimate %v", query.KindOf(err), err, estimate)
	}
}
