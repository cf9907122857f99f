package mcp_test

import (
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/smolwc/smolwc/branch"
	"github.com/smolwc/smolwc/mcp"
	"github.com/smolwc/smolwc/query"
)

// branched is an agent with a branch of a new database.
func branched(t *testing.T, o mcp.Options) (agent *sdk.ClientSession, db, theirs *query.DB) {
	t.Helper()
	dir := t.TempDir() + "/data"
	db, err := query.Open(dir, query.Options{Schema: &declared})
	must(t, err)
	t.Cleanup(func() { must(t, db.Close()) })
	fill(t, db)
	d, err := branch.Of(dir)
	must(t, err)
	b, err := d.Create(t.Context(), "refit", db.Checkpoint)
	must(t, err)
	theirs, err = query.Open(b.Dir, query.Options{MustExist: true})
	must(t, err)
	t.Cleanup(func() { must(t, theirs.Close()) })
	o.DB, o.Branch, o.Writes = theirs, &b, true
	return connect(t, o), db, theirs
}

// A write guesses no type.
func TestWritesOfOtherTypesAreRefused(t *testing.T) {
	agent, _, _ := branched(t, mcp.Options{Budget: mcp.DefaultBudget})
	for _, c := range []struct{ change, want string }{
		{`"column":"meta:a","type":"i32","value":"201"`, `value is "201", which is not i32`},
		{`"column":"meta:a","type":"i32","value":201`, `{"written":1}`},
		{`"column":"meta:a","type":"i32","value":2147483648`, `which is not i32`},
		{`"column":"meta:a","type":"byte","value":"7"`, `which is not byte`},
		{`"column":"meta:a","type":"byte","value":256`, `which is not byte`},
		{`"column":"meta:a","type":"byte","value":-1`, `which is not byte`},
		{`"column":"meta:a","type":"bool","value":"true"`, `which is not bool`},
		{`"column":"meta:a","type":"bool","value":1`, `which is not bool`},
		{`"column":"meta:a","type":"f64","value":"1.5"`, `which is not f64`},
		{`"column":"meta:a","type":"f32","value":1e300`, `which is not f32`},
		{`"column":"meta:a","type":"f32","value":1.5`, `{"written":1}`},
		{`"column":"n:a","value":"201"`, `value is "201", which is not i64`},
		{`"column":"n:a","value":9007199254740993`, `integer above 2^53 as a string`}, // JSON's reader makes it …992
		{`"column":"n:a","value":9007199254740991`, `{"written":1}`},
		{`"column":"n:a","value":"9007199254740993"`, `{"written":1}`},
		{`"column":"n:a","value":"9223372036854775808"`, `which is not i64`},
		{`"column":"n:a","value":1e300`, `which is not i64`},
		{`"column":"n:a","value":true`, `which is not i64`},
		{`"column":"n:a","value":null`, `which is not i64`},
		{`"column":"n:a","value":[1]`, `which is not i64`},
		{`"column":"meta:a","value":{"base64":"*"}`, `base64 is not valid`},
		{`"column":"meta:a","value":{"base64":"AA==","x":1}`, `value must be a string`},
		{`"column":"meta:a","type":"string","value":{"base64":"/w=="}`, ``},
		{`"column":"meta:a","type":"nosuch","value":1`, `nosuch`},
	} {
		got, _ := call(t, agent, "write", `{"table":"fleet","changes":[{"key":"w",`+c.change+`}]}`)
		if !strings.Contains(got, c.want) {
			t.Errorf("%s:\n%s\nwant in it %s", c.change, got, c.want)
		}
	}
	if got, _ := call(t, agent, "read_rows", `{"table":"fleet","key":"w"}`); !strings.Contains(got, `"value":"9007199254740993"`) {
		t.Error(got)
	}
	few, _, _ := branched(t, mcp.Options{Names: []string{"fleet"}, Budget: mcp.DefaultBudget})
	if got, failed := call(t, few, "write", `{"table":"payroll","changes":[{"key":"staff#0","column":"salary:euro","value":1}]}`); !failed || !strings.Contains(got, `there is no table or view "payroll"`) {
		t.Error(got)
	}
}
