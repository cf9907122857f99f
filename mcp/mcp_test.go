package mcp_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"github.com/smolwc/smolwc/branch"
	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/cli"
	"github.com/smolwc/smolwc/mcp"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
	"github.com/smolwc/smolwc/sql"
	"github.com/smolwc/smolwc/views"
)

// If it is set, the test binary runs as smolwc.
const beSmolwc = "SMOLWC_TEST_BE_SMOLWC"

func TestMain(m *testing.M) {
	if os.Getenv(beSmolwc) != "" {
		os.Exit(cli.Main(nil))
	}
	goleak.VerifyTestMain(m)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

var declared = schema.Schema{Tables: []schema.Table{
	{Name: "fleet", Families: []schema.Family{{Name: "meta", GC: schema.MaxVersions(3)}, {Name: "n", Type: cells.TypeI64}}},
	{Name: "payroll", Families: []schema.Family{{Name: "salary", Type: cells.TypeI64}}},
	{Name: "big", Families: []schema.Family{{Name: "f"}}},
}}

// fill writes 5 planes, the last one hidden by its column public, 5 salaries, and 2,000 rows.
func fill(t *testing.T, db *query.DB) {
	t.Helper()
	ctx := t.Context()
	for i := range 5 {
		m := write.NewMutation()
		m.SetAt("meta", "model", 1e15, cells.String(fmt.Sprint("B7", i, "7")))
		m.SetAt("meta", "public", 1e15, cells.String(map[bool]string{true: "yes", false: "hushhush"}[i < 4]))
		m.SetAt("n", "seats", 1e15, cells.I64(int64(100+i)))
		must(t, db.Table("fleet").Apply(ctx, fmt.Sprint("plane#", i), m))
		m = write.NewMutation()
		m.SetAt("salary", "euro", 1e15, cells.I64(int64(987650+i)))
		must(t, db.Table("payroll").Apply(ctx, fmt.Sprint("staff#", i), m))
	}
	m := write.NewMutation()
	m.SetAt("f", "x", 1e15, cells.Bytes([]byte{0xff, 0xfe}))
	var keys []string
	var ms []*write.Mutation
	for i := range 2000 {
		keys, ms = append(keys, fmt.Sprintf("k%04d", i)), append(ms, m)
	}
	_, err := db.Table("big").ApplyBulk(ctx, keys, ms)
	must(t, err)
	all := views.Of(db)
	must(t, all.Create(ctx, views.View{Name: "planes", SQL: "SELECT _key AS plane, CAST(meta['model'] AS STRING) AS model, CAST(n['seats'] AS INT64) AS seats FROM fleet WHERE meta['public'] = 'yes'"}))
	must(t, all.Create(ctx, views.View{Name: "earners", SQL: "SELECT _key AS who, salary['euro'] AS euro FROM payroll"}))
}

func open(t *testing.T) *query.DB {
	t.Helper()
	db, err := query.OpenInMemory(query.Options{Schema: &declared})
	must(t, err)
	t.Cleanup(func() { must(t, db.Close()) })
	fill(t, db)
	return db
}

var small = sql.Budget{Rows: 500, Bytes: 64 << 10}

// connect is an agent's session with a server.
func connect(t *testing.T, o mcp.Options) *sdk.ClientSession {
	t.Helper()
	if o.Budget == (sql.Budget{}) {
		o.Budget = small
	}
	s, err := mcp.New(t.Context(), o)
	must(t, err)
	there, here := sdk.NewInMemoryTransports()
	served, err := s.Connect(t.Context(), there, nil)
	must(t, err)
	agent, err := sdk.NewClient(&sdk.Implementation{Name: "agent"}, nil).Connect(t.Context(), here, nil)
	must(t, err)
	t.Cleanup(func() { _ = agent.Close(); _ = served.Wait() })
	return agent
}

// call is the answer of a tool, and whether it is an error.
func call(t *testing.T, agent *sdk.ClientSession, tool string, args any) (text string, failed bool) {
	t.Helper()
	if s, ok := args.(string); ok {
		args = json.RawMessage(s)
	}
	res, err := agent.CallTool(t.Context(), &sdk.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		return err.Error(), true
	}
	for _, c := range res.Content {
		text += c.(*sdk.TextContent).Text
	}
	return text, res.IsError
}

func sqlArgs(text string) any { return map[string]any{"sql": text} }

// What an agent sees when it looks around.
func TestTools(t *testing.T) {
	agent := connect(t, mcp.Options{DB: open(t)})
	for _, c := range []struct{ tool, args, want string }{
		{"list_tables", `{}`, `{"tables":[{"name":"big","kind":"table","rows":2000,`},
		{"list_tables", `{}`, `{"name":"planes","kind":"logical view","rows":5,"bytes":`},
		{"describe", `{"name":"fleet"}`, `{"name":"fleet","kind":"table","families":[{"name":"meta","type":"any","keeps":"max_versions=3"},{"name":"n","type":"i64","keeps":"everything"}],"example":{"key":"plane#0","cells":[{"family":"meta","qualifier":"model","type":"string","value":"B707","time":"2001-09-09T01:46:40Z"},`},
		{"describe", `{"name":"planes"}`, `"columns":[{"name":"plane","type":"BYTES"},{"name":"model","type":"STRING"},{"name":"seats","type":"INT64"}],"sql":"SELECT _key AS plane, `},
		{"describe", `{"name":"fleed"}`, `there is no table or view "fleed"; did you mean "fleet"?`},
		{"query", `{"sql":"SELECT model, seats FROM planes WHERE seats > 101 ORDER BY seats"}`, `{"columns":[{"name":"model","type":"STRING"},{"name":"seats","type":"INT64"}],"rows":[["B727",102],["B737",103]],"cut":false,"read":{"rows":5,"bytes":`},
		{"query", `{"sql":"SELECT _key FROM big LIMIT 3","limit":2}`, `"rows":[["k0000"],["k0001"]],"cut":true,"note":"cut after 2 rows: there are more"`},
		{"query", `{"sql":"SELECT f['x'] AS x FROM big LIMIT 1"}`, `"rows":[[{"base64":"//4="}]]`},
		{"query", `{"sql":"SELECT 9007199254740993 AS n, CAST('nan' AS FLOAT64) AS f, [1, NULL] AS a, STRUCT('x' AS s, 2 AS n) AS st, NULL AS z, DATE '2024-02-29' AS d, b'\\xff' AS b"}`,
			`"rows":[["9007199254740993","NaN",[1,null],[{"name":"s","value":"x"},{"name":"n","value":2}],null,"2024-02-29",{"base64":"/w=="}]]`},
		{"explain", `{"sql":"SELECT COUNT(*) FROM big"}`, `"budget":{"rows":500,"bytes":65536},"within_budget":false,"steps":["read all rows of big",`},
		{"explain", `{"sql":"SELECT COUNT(*) FROM fleet"}`, `{"rows":5,"bytes":`},
		{"read_rows", `{"table":"fleet","key":"plane#1","columns":["n"]}`, `{"rows":[{"key":"plane#1","cells":[{"family":"n","qualifier":"seats","type":"i64","value":101,"time":"2001-09-09T01:46:40Z"}]}],"cut":false,"read":{"rows":1,"bytes":`},
		{"read_rows", `{"table":"big","prefix":"k01","limit":1}`, `"cut":true`},
		{"read_rows", `{"table":"big","start":{"base64":"azE5OTk="}}`, `{"rows":[{"key":"k1999",`},
		{"query", `{"sql":"SELECT COUNT(*) FROM big"}`, "the query would read about 2,000 rows and "},
	} {
		if got, _ := call(t, agent, c.tool, c.args); !strings.Contains(got, c.want) {
			t.Errorf("%s %s:\n%s\nwant in it\n%s", c.tool, c.args, got, c.want)
		}
	}
	tools, err := agent.ListTools(t.Context(), nil)
	must(t, err)
	for _, tool := range tools.Tools {
		if tool.Name == "write" || tool.Name == "diff" || !tool.Annotations.ReadOnlyHint {
			t.Errorf("without a branch there is the tool %s", tool.Name)
		}
	}
}

// anything is expected of a call that may be refused or not.
const anything = "*"

// hostile are calls that try for rows outside of the view planes, for more than the budget, or to
// end the server. What an agent is told must not name what it does not see.
var hostile = []struct{ tool, args, want string }{
	// Base tables, other views, and their names.
	{"query", q(`SELECT * FROM fleet`), `Table not found: fleet`},
	{"query", q(`SELECT * FROM payroll`), `Table not found: payroll`},
	{"query", q(`SELECT * FROM nosuch`), `Table not found: nosuch`},
	{"query", q(`SELECT * FROM earners`), `Table not found: earners`},
	{"query", q(`SELECT * FROM earnerz`), `Table not found: earnerz`},
	{"query", q(`SELECT * FROM PAYROLL`), `Table not found: PAYROLL`},
	{"query", q("SELECT * FROM `payroll`"), `Table not found: payroll`},
	{"query", q("SELECT * FROM `local.payroll`"), `Table not found`},
	{"query", q("SELECT * FROM projects.local.payroll"), `[at 1:23]`},
	{"query", q("SELECT * FROM `projects/local/instances/local/tables/payroll`"), `Table not found`},
	{"query", q(`SELECT * FROM planes, payroll`), `Table not found: payroll`},
	{"query", q(`SELECT * FROM planes AS p JOIN payroll AS s ON p.plane = s._key`), `Table not found: payroll`},
	{"query", q(`SELECT model FROM planes UNION ALL SELECT CAST(_key AS STRING) FROM payroll`), `Table not found: payroll`},
	{"query", q(`SELECT model, (SELECT MAX(euro) FROM earners) FROM planes`), `Table not found: earners`},
	{"query", q(`SELECT model FROM planes WHERE EXISTS(SELECT 1 FROM payroll)`), `Table not found: payroll`},
	{"query", q(`SELECT model FROM planes WHERE plane IN (SELECT _key FROM payroll)`), `Table not found: payroll`},
	{"query", q(`SELECT ARRAY(SELECT _key FROM payroll)`), `Table not found: payroll`},
	{"query", q(`WITH planes AS (SELECT * FROM payroll) SELECT * FROM planes`), `Table not found: payroll`},
	{"query", q(`WITH a AS (SELECT 1 AS x), b AS (SELECT * FROM fleet) SELECT x FROM a`), `"rows":[[1]]`}, // nothing reads b,
	{"query", q(`SELECT * FROM (SELECT * FROM (SELECT * FROM payroll))`), `Table not found: payroll`},
	{"query", q(`FROM payroll |> SELECT _key`), `Table not found: payroll`},
	{"query", q(`FROM planes |> CROSS JOIN payroll`), `at 1:`},
	{"query", q(`SELECT * FROM UNPACK(payroll(with_history => TRUE))`), `at 1:`},
	{"query", q(`SELECT * FROM payroll TABLESAMPLE BERNOULLI (50 PERCENT)`), `Table not found: payroll`},
	{"query", q(`SELECT * /* planes */ FROM -- planes` + "\n" + `payroll`), `Table not found: payroll`},
	{"query", q("SELECT * FROM planes -- \u2028 \n, payroll"), `Table not found: payroll`},
	{"query", q(`SELECT * FROM INFORMATION_SCHEMA.TABLES`), ``},
	{"query", q("SELECT * FROM `INFORMATION_SCHEMA.COLUMNS`"), `Table not found`},
	{"query", q(`SELECT table_name FROM local.INFORMATION_SCHEMA.TABLES`), ``},
	{"query", q(`SELECT * FROM __TABLES__`), `Table not found: __TABLES__`},
	{"query", q(`WITH payroll AS (SELECT * FROM payroll) SELECT * FROM payroll`), `Table not found: payroll`},
	{"query", q(`WITH RECURSIVE a AS (SELECT 1 AS x UNION ALL SELECT 2 FROM payroll) SELECT * FROM a`), ``},
	{"query", q(`SELECT a.x FROM (WITH payroll AS (SELECT 1 AS x) SELECT x FROM payroll) AS a CROSS JOIN payroll`), ``},
	{"query", q(`SELECT (WITH payroll AS (SELECT 1 AS x) SELECT x FROM payroll) AS a, (SELECT COUNT(*) FROM payroll) AS b`), ``},
	{"query", q(`SELECT COUNT(*) FROM planes AS payroll CROSS JOIN payroll`), ``},
	{"query", q(`SELECT model FROM planes AS p LEFT JOIN UNNEST([1]) AS x ON EXISTS(SELECT 1 FROM payroll)`), ``},
	{"query", q(`SELECT * FROM planes EXCEPT DISTINCT SELECT * FROM payroll`), ``},
	{"query", q(`SELECT * EXCEPT (meta) FROM fleet`), `Table not found: fleet`},
	{"query", q(`SELECT JSON_VALUE('{"a":1}', (SELECT MAX(CAST(_key AS STRING)) FROM payroll))`), `Table not found: payroll`},
	{"query", q(`@{allow_incomplete_view=true} SELECT * FROM payroll`), ``},
	{"query", q(`FROM payroll`), ``},
	{"query", q(`TABLE payroll`), `Syntax error`},
	{"query", q(`SELECT * FROM @payroll`), ``},
	{"query", q(`SELECT @payroll`), ``},
	// Columns and rows that the view leaves out.
	{"query", q(`SELECT TO_JSON_STRING(p) FROM planes AS p`), anything},
	{"query", q(`SELECT JSON_QUERY(TO_JSON(p), '$') FROM planes AS p`), anything},
	{"query", q(`SELECT ARRAY_AGG(STRUCT(plane, model, seats)) AS a FROM planes`), anything},
	{"query", q(`SELECT MAX(plane) OVER () AS m, COUNT(*) OVER () AS n FROM planes`), anything},
	{"query", q(`SELECT * FROM planes FOR SYSTEM_TIME AS OF TIMESTAMP '2001-01-01'`), anything},
	{"query", q(`SELECT * FROM planes TABLESAMPLE SYSTEM (100 PERCENT)`), anything},
	{"query", q(`SELECT p.* FROM planes AS p, p.meta`), ``},
	{"query", q(`SELECT CLUSTER_ATTRIBUTE('payroll')`), anything},
	{"query", q(`SELECT SESSION_USER()`), anything},
	{"query", q(`SELECT @@version`), anything},
	{"query", q(`WITH a AS (SELECT * FROM planes) SELECT COUNT(*) AS n FROM a AS x JOIN a AS y ON x.plane = y.plane`), `"rows":[[4]]`},
	{"query", q(`SELECT meta FROM planes`), `Unrecognized name: meta`},
	{"query", q(`SELECT planes.meta['public'] FROM planes`), `meta`},
	{"query", q(`SELECT publik FROM planes`), `Unrecognized name: publik`},
	{"query", q(`SELECT _key FROM planes`), `Unrecognized name: _key`},
	{"query", q(`SELECT model FROM planes WHERE model = 'B747'`), `"rows":[]`},
	{"query", q(`SELECT COUNT(*) AS n FROM planes`), `"rows":[[4]]`},
	{"query", q(`SELECT model FROM planes WHERE seats / (seats - 104) < 1000`), `"cut":false`}, // of the hidden row it would fail
	{"query", q(`SELECT IF(seats = 104, CAST(model AS INT64), seats) AS n FROM planes`), `"rows":[[100],[101],[102],[103]]`},
	{"query", q(`SELECT ERROR(model) FROM planes WHERE seats = 104`), ``},
	{"query", q(`SELECT plane FROM planes RIGHT JOIN (SELECT 1 AS x) ON seats = 104`), `"rows":[[null]]`},
	{"query", q(`SELECT model FROM planes WHERE CAST(SUBSTR(REPLACE(model, CONCAT('B7', '47'), 'xx'), 2) AS INT64) > 0 AND TRUE`), `"rows":[["B707"],["B717"],["B727"],["B737"]]`},
	{"query", q(`SELECT seats FROM planes JOIN (SELECT 104 AS s) AS x ON s = seats`), `"rows":[]`},
	{"query", q(`SELECT fleet.meta FROM planes`), `Unrecognized name: fleet`},
	{"query", q(`SELECT fleet FROM planes`), `Unrecognized name: fleet`},
	{"query", q(`SELECT * FROM planes(with_history => TRUE)`), `planes is a view`},
	{"query", q(`SELECT * FROM planes(as_of => TIMESTAMP '2001-01-01')`), `planes is a view`},
	{"query", q(`SELECT * FROM planes TABLESAMPLE BERNOULLI (100 PERCENT)`), `"rows":[["plane#0"`},
	{"query", q(`SELECT * FROM UNPACK((SELECT salary FROM payroll(with_history => TRUE)))`), `Table not found: payroll`},
	{"query", q(`SELECT ARRAY_FILTER([1], x -> EXISTS(SELECT 1 FROM payroll))`), ``},
	{"query", q(`SELECT model FROM planes ORDER BY (SELECT MAX(euro) FROM earners)`), `Table not found: earners`},
	{"query", q(`SELECT SUM(seats) OVER (ORDER BY (SELECT MAX(euro) FROM earners)) FROM planes`), `Table not found: earners`},
	{"query", q(`SELECT MAX(seats) FROM planes GROUP BY model HAVING EXISTS(SELECT 1 FROM payroll)`), `Table not found: payroll`},
	{"query", q(`FROM planes |> WHERE EXISTS(SELECT 1 FROM payroll)`), `Table not found: payroll`},
	{"query", q(`SELECT VIEW_PARAMETERS('x') FROM planes`), `at 1:`},
	{"query", q(`WITH fleet AS (SELECT 'x' AS _key) SELECT COUNT(*) AS n FROM planes, fleet`), `"rows":[[4]]`},
	// Statements that are no queries.
	{"query", q(`SELECT 1; SELECT * FROM payroll`), `Syntax error`},
	{"query", q(`SELECT 1; DROP TABLE fleet`), `Syntax error`},
	{"query", q(`DELETE FROM planes WHERE TRUE`), `Syntax error`},
	{"query", q(`INSERT INTO planes VALUES (1)`), `Syntax error`},
	{"query", q(`CREATE VIEW x AS SELECT * FROM payroll`), `Syntax error`},
	{"query", q(`put payroll staff#0 salary:euro=1`), `Syntax error`},
	{"query", q(`EXPLAIN SELECT * FROM planes`), `EXPLAIN is the tool explain`},
	{"query", q(`EXPLAIN ANALYZE SELECT * FROM planes`), `EXPLAIN is the tool explain`},
	{"explain", q(`EXPLAIN ANALYZE SELECT * FROM planes`), `EXPLAIN is the tool explain`},
	{"query", q(`/* a query */ EXPLAIN ANALYZE SELECT * FROM planes`), `EXPLAIN is the tool explain`},
	{"query", q(`EXPLAIN ANALYZE SELECT * FROM payroll`), ``},
	{"query", q(`EXPLAIN (ANALYZE) SELECT * FROM payroll`), ``},
	{"explain", q(`ANALYZE SELECT * FROM planes`), `Syntax error`},
	{"explain", q(`SELECT * FROM payroll`), `Table not found: payroll`},
	{"explain", q(`SELECT * FROM planes`), `"within_budget":true}`}, // without steps, which name fleet
	{"query", q(``), `Syntax error`},
	{"query", q(`-- nothing`), `Syntax error`},
	// Other tools.
	{"list_tables", `{}`, `{"tables":[{"name":"planes","kind":"logical view","rows":5,`},
	{"describe", `{"name":"planes"}`, `"kind":"logical view","columns":[`},
	{"describe", `{"name":"payroll"}`, `there is no table or view "payroll"`},
	{"describe", `{"name":"earner"}`, `there is no table or view "earner"`},
	{"describe", `{"name":"planes\u0000"}`, `there is no table or view`},
	{"describe", "{\"name\":\"planes` UNION ALL SELECT * FROM `payroll\"}", `there is no table or view`},
	{"read_rows", `{"table":"fleet"}`, `there is no table or view "fleet"`},
	{"read_rows", `{"table":"payroll","key":"staff#0"}`, `there is no table or view "payroll"`},
	{"read_rows", `{"table":"planes"}`, `planes is a logical view; the tool query reads it`},
	{"write", `{"table":"planes","changes":[{"key":"a","column":"f:q","value":1}]}`, `unknown tool "write"`},
	{"diff", `{}`, `unknown tool "diff"`},
	{"drop_table", `{"table":"fleet"}`, `unknown tool "drop_table"`},
	{"../query", `{}`, `unknown tool`},
	// Wrong arguments.
	{"query", `{"sql":"SELECT 1","limit":0}`, `limit is 0`},
	{"query", `{"sql":"SELECT 1","limit":-1}`, `limit is -1`},
	{"query", `{"sql":"SELECT 1","limit":9223372036854775807}`, `overflows`},
	{"query", `{"sql":"SELECT 1","limit":1e300}`, ``},
	{"query", `{"sql":"SELECT 1","limit":1.5}`, ``},
	{"query", `{"sql":"SELECT 1","limit":"1000"}`, ``},
	{"query", `{"sql":"SELECT 1","max_rows":1000000000}`, `max_rows`},
	{"query", `{"SQL":"SELECT 1"}`, ``},
	{"query", `{"sql":["SELECT 1"]}`, ``},
	{"query", `{"sql":null}`, ``},
	{"query", `[]`, ``},
	{"query", `{}`, ``},
	{"read_rows", `{"table":"planes","key":{"base64":"*"}}`, `base64 is not valid`},
	{"read_rows", `{"table":"planes","key":7}`, `key must be a string`},
	{"read_rows", `{"table":"planes","key":"a","prefix":"b"}`, `one of key, prefix and start`},
	{"query", `{"sql":"SELECT 1","x":` + strings.Repeat("[", 900) + strings.Repeat("]", 900) + `}`, `x`},
	{"query", q(`SELECT ` + strings.Repeat("(", 30_000) + "1" + strings.Repeat(")", 30_000)), `at 1:`},
	{"query", q(`SELECT 1 ` + strings.Repeat("-- a comment\n", 100_000)), `the query has 1300009 bytes; it can have 65536`},
	{"query", q("SELECT '" + strings.Repeat("\\u0000", 20_000)), `bytes`},
}

func q(text string) string {
	b, err := json.Marshal(sqlArgs(text))
	if err != nil {
		panic(err)
	}
	return string(b)
}

// secrets are in no answer to an agent that sees the view planes, unless its call has them.
var secrets = []string{"payroll", "earners", "fleet", "salary", "9876", "hushhush", "B747", "staff", "public", "plane#4", "big"}

func TestHostileCallsSeeNothingBeyondTheView(t *testing.T) {
	attack(t, connect(t, mcp.Options{DB: open(t), Names: []string{"planes"}}))
}

func attack(t *testing.T, agent *sdk.ClientSession) {
	t.Helper()
	for _, c := range hostile {
		got, failed := call(t, agent, c.tool, c.args)
		shown := fmt.Sprintf("%s %.200s: %.500s", c.tool, c.args, got)
		if c.want != anything && !strings.Contains(got, c.want) {
			t.Errorf("%s\nwant in it %s", shown, c.want)
		}
		for _, s := range secrets {
			if strings.Contains(strings.ToLower(got), strings.ToLower(s)) && !strings.Contains(strings.ToLower(c.args), strings.ToLower(s)) {
				t.Errorf("%s\nit shows %s", shown, s)
			}
		}
		if c.want == "" && !failed && !strings.Contains(got, `"rows":[]`) {
			t.Errorf("%s\nit is not refused", shown)
		}
	}
	if got, _ := call(t, agent, "query", q(`SELECT COUNT(*) AS n FROM planes`)); !strings.Contains(got, `"rows":[[4]]`) {
		t.Errorf("after all that: %s", got)
	}
}

// A table that exists is refused in the words for one that does not.
func TestHiddenAndMissingNamesLookTheSame(t *testing.T) {
	agent := connect(t, mcp.Options{DB: open(t), Names: []string{"planes"}})
	for _, form := range []struct{ tool, args string }{
		{"query", q("SELECT * FROM NAME")}, {"explain", q("SELECT NAME FROM NAME")}, {"query", q("SELECT NAME FROM planes")},
		{"query", q("SELECT planes.NAME FROM planes")}, {"describe", `{"name":"NAME"}`}, {"read_rows", `{"table":"NAME"}`},
	} {
		of := func(name string) string {
			got, _ := call(t, agent, form.tool, strings.ReplaceAll(form.args, "NAME", name))
			return strings.ReplaceAll(got, name, "NAME")
		}
		if hidden, missing := of("payroll"), of("pxyroll"); hidden != missing {
			t.Errorf("%s %s: a hidden name\n%s\na missing one\n%s", form.tool, form.args, hidden, missing)
		}
	}
}

// A view whose table was dropped says nothing of it.
func TestBrokenViewDoesNotNameItsTable(t *testing.T) {
	db := open(t)
	agent := connect(t, mcp.Options{DB: db, Names: []string{"planes"}})
	must(t, db.DropFamily(t.Context(), "fleet", "meta"))
	for _, c := range []struct{ tool, args string }{{"query", q("SELECT * FROM planes")}, {"describe", `{"name":"planes"}`}, {"explain", q("SELECT seats FROM planes")}} {
		got, failed := call(t, agent, c.tool, c.args)
		if !failed || strings.Contains(got, "fleet") || strings.Contains(got, "meta") {
			t.Errorf("%s: %s", c.tool, got)
		}
	}
	must(t, db.DropTable(t.Context(), "fleet"))
	if got, failed := call(t, agent, "query", q("SELECT * FROM planes")); !failed || strings.Contains(got, "fleet") {
		t.Error(got)
	}
}

// overBudget are queries that read more than 500 rows, and do not run.
var overBudget = []string{
	`SELECT COUNT(*) FROM big`,
	`SELECT _key FROM big WHERE f['x'] = 'no such value'`,
	`SELECT _key FROM big WHERE f['nosuch'] = 'x' LIMIT 1`,
	`SELECT _key FROM big ORDER BY f['x'] DESC LIMIT 1`,
	`SELECT _key FROM big LIMIT 501`,
	`SELECT _key FROM big LIMIT 1 OFFSET 1000`,
	`SELECT _key FROM big WHERE _key > 'k1'`,
	`SELECT _key FROM big WHERE STARTS_WITH(_key, '')`,
	`SELECT _key FROM big WHERE _key LIKE '%9'`,
	`SELECT _key FROM big WHERE _key IN (SELECT _key FROM big)`,
	`SELECT f.model FROM planes AS f CROSS JOIN big`,
	`SELECT COUNT(*) FROM big AS a, big AS b, big AS c, big AS d`,
	`SELECT COUNT(*) FROM planes AS a RIGHT JOIN big AS b ON a.plane = b._key`,
	`SELECT COUNT(*) FROM fleet AS a FULL JOIN big AS b ON a._key = b._key`,
	`SELECT _key, ROW_NUMBER() OVER (ORDER BY f['x']) FROM big`,
	`SELECT SUM(COUNT(*)) OVER () FROM big GROUP BY f['x']`,
	`WITH b AS (SELECT _key FROM big) SELECT 1 FROM b LIMIT 1`,
	`SELECT model, (SELECT COUNT(*) FROM big WHERE _key > p.plane) FROM planes AS p`,
	`SELECT _key FROM planes JOIN big ON TRUE WHERE seats = 100`,
	`SELECT _key FROM big UNION ALL SELECT _key FROM fleet LIMIT 1`,
	`SELECT DISTINCT f['x'] FROM big`,
	`SELECT _key FROM big TABLESAMPLE BERNOULLI (0.1 PERCENT)`,
	`SELECT * FROM UNPACK((SELECT f FROM big(with_history => TRUE)))`,
	`FROM big |> AGGREGATE COUNT(*)`,
	`SELECT (SELECT COUNT(*) FROM big) AS n`,
	`SELECT model FROM planes WHERE EXISTS(SELECT 1 FROM big WHERE f['x'] = 'none')`,
	`WITH b AS (SELECT _key FROM big) SELECT COUNT(*) FROM b AS x CROSS JOIN b AS y`,
}

func TestQueriesOverBudgetDoNotRun(t *testing.T) {
	agent := connect(t, mcp.Options{DB: open(t)})
	for _, text := range overBudget {
		if got, failed := call(t, agent, "query", q(text)); !failed || !strings.Contains(got, "the budget is 500 rows") {
			t.Errorf("%s: %s", text, got)
		}
	}
}

// heavy are queries that read little and compute much: they end with the time of a call, or
// at a limit of the queries, and the server goes on.
var heavy = []string{
	`SELECT COUNT(*) FROM UNNEST(GENERATE_ARRAY(1, 1000000)) AS a CROSS JOIN (SELECT b FROM UNNEST(GENERATE_ARRAY(1, 1000000)) AS b) AS c`,
	`SELECT REPEAT(REPEAT('x', 1000000), 1000000)`,
	`SELECT LENGTH(REPEAT('x', 1000000000))`,
	`SELECT COUNT(*) FROM fleet AS a, fleet AS b, fleet AS c, fleet AS d, fleet AS e, fleet AS f, fleet AS g, fleet AS h, fleet AS i, fleet AS j, fleet AS k, fleet AS l, fleet AS m, fleet AS n`,
	`SELECT ARRAY(SELECT x FROM UNNEST(GENERATE_ARRAY(1, 1000000)) AS x CROSS JOIN (SELECT y FROM UNNEST(GENERATE_ARRAY(1, 1000000)) AS y))`,
}

func TestHeavyQueriesEnd(t *testing.T) {
	agent := connect(t, mcp.Options{DB: open(t), Timeout: 100 * time.Millisecond})
	for _, text := range heavy {
		if got, failed := call(t, agent, "query", q(text)); !failed {
			t.Errorf("%s: %.300s", text, got)
		}
	}
}

// A cancelled call ends, and gives its place to others: here all places are taken by calls that
// would go on for an hour.
func TestCancelledCallsEnd(t *testing.T) {
	agent := connect(t, mcp.Options{DB: open(t), Timeout: time.Hour})
	ctx, cancel := context.WithCancel(t.Context())
	var calls sync.WaitGroup
	for range 20 {
		calls.Go(func() {
			_, err := agent.CallTool(ctx, &sdk.CallToolParams{Name: "query", Arguments: sqlArgs(heavy[0])})
			if !errors.Is(err, context.Canceled) {
				t.Errorf("%v", err)
			}
		})
	}
	cancel()
	calls.Wait()
	if got, failed := call(t, agent, "query", q("SELECT COUNT(*) AS n FROM planes")); failed {
		t.Error(got)
	}
}

// A server that is stopped ends the calls under way.
func TestStopEndsCalls(t *testing.T) {
	db := open(t)
	ctx, stop := context.WithCancel(t.Context())
	in, agent := io.Pipe()
	answers, out := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- mcp.Serve(ctx, in, out, mcp.Options{DB: db, Budget: small, Timeout: time.Hour})
	}()
	lines := json.NewDecoder(answers)
	send := func(text string) {
		_, err := io.WriteString(agent, text+"\n")
		must(t, err)
	}
	send(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"a","version":"1"}}}`)
	var first map[string]any
	must(t, lines.Decode(&first))
	send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	send(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"query","arguments":` + q(heavy[0]) + `}}`)
	go func() { _, _ = io.Copy(io.Discard, answers) }()
	stop()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	_ = agent.Close()
	_ = answers.Close()
}

// Calls at once do not disturb each other, and together hold bounded memory.
func TestCallsAtOnce(t *testing.T) {
	agent := connect(t, mcp.Options{DB: open(t)})
	var calls sync.WaitGroup
	for i := range 40 {
		calls.Go(func() {
			res, err := agent.CallTool(t.Context(), &sdk.CallToolParams{Name: "query", Arguments: sqlArgs(fmt.Sprintf("SELECT seats, %d AS i FROM planes WHERE seats = 101", i))})
			if err != nil {
				t.Error(err)
				return
			}
			if got := res.Content[0].(*sdk.TextContent).Text; !strings.Contains(got, fmt.Sprintf(`"rows":[[101,%d]]`, i)) {
				t.Error(got)
			}
		})
	}
	calls.Wait()
}

// A message that is too long ends the session, and what is nested too deep is refused, before
// either takes much memory or stack.
func TestMessagesAreBounded(t *testing.T) {
	db := open(t)
	first := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"a","version":"1"}}}` + "\n"
	for name, message := range map[string]string{
		"16 MiB": `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"query","arguments":{"sql":"` + strings.Repeat("x", 16<<20) + `"}}}`,
		"deep":   `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"query","arguments":` + strings.Repeat("[", 1<<20) + `}}`,
		"closed": `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"query","arguments":{"sql":` + strings.Repeat(`{"a":`, 100_000) + "1" + strings.Repeat("}", 100_000) + `}}}`,
		"none":   `SELECT 1`,
		"array":  `[1,2,3]`,
	} {
		var out strings.Builder
		err := mcp.Serve(t.Context(), io.NopCloser(strings.NewReader(first+message+"\n")), writer{&out}, mcp.Options{DB: db, Budget: small})
		if err == nil && !strings.Contains(out.String(), `"error"`) || len(out.String()) > 64<<10 {
			t.Errorf("%s: %v, %.300s", name, err, out.String())
		}
	}
}

type writer struct{ io.Writer }

func (writer) Close() error { return nil }

// A result is cut where it is large, and a value that is too large for one is not sent.
func TestLargeResultsAreCut(t *testing.T) {
	db := open(t)
	for _, key := range []string{"l1", "l2", "l3"} {
		m := write.NewMutation()
		m.Set("f", "x", cells.String(strings.Repeat("long ", 30_000)))
		must(t, db.Table("big").Apply(t.Context(), key, m))
	}
	agent := connect(t, mcp.Options{DB: db, Budget: mcp.DefaultBudget})
	for _, c := range []struct{ tool, args string }{{"query", q("SELECT f['x'] FROM big WHERE STARTS_WITH(_key, 'l')")}, {"read_rows", `{"table":"big","prefix":"l"}`}} {
		got, failed := call(t, agent, c.tool, c.args)
		if failed || len(got) > 300<<10 || !strings.Contains(got, `"cut":true,"note":"cut after 1 rows: the result is larger than 256KiB`) {
			t.Errorf("%s: %d bytes, …%s", c.tool, len(got), got[max(0, len(got)-200):])
		}
	}
	agent = connect(t, mcp.Options{DB: db, Budget: sql.Budget{Rows: 500, Bytes: 200_000}})
	if got, _ := call(t, agent, "read_rows", `{"table":"big","prefix":"l"}`); !strings.Contains(got, "cut: the rest is beyond the budget") {
		t.Errorf("…%s", got[max(0, len(got)-200):])
	}
}

// An agent writes its branch, and the database stays as it was.
func TestWritesAreInTheBranch(t *testing.T) {
	dir := t.TempDir() + "/data"
	db, err := query.Open(dir, query.Options{Schema: &declared})
	must(t, err)
	fill(t, db)
	d, err := branch.Of(dir)
	must(t, err)
	b, err := d.Create(t.Context(), "refit", db.Checkpoint)
	must(t, err)
	theirs, err := query.Open(b.Dir, query.Options{MustExist: true})
	must(t, err)
	t.Cleanup(func() { must(t, theirs.Close()); must(t, db.Close()) })
	agent := connect(t, mcp.Options{DB: theirs, Branch: &b, Writes: true, Budget: mcp.DefaultBudget})
	for _, c := range []struct{ tool, args, want string }{
		{"write", `{"table":"fleet","changes":[{"key":"plane#0","column":"n:seats","value":240},{"key":"plane#9","column":"meta:model","value":"A350"},{"key":{"base64":"/w=="},"column":"meta:raw","value":{"base64":"AP8="}},{"key":"plane#1","delete":true}]}`, `{"written":4}`},
		{"write", `{"table":"fleet","changes":[{"key":"plane#2","column":"n:seats","value":1},{"key":"plane#2","column":"n:seats","value":"many"}]}`, `change 2: value is "many", which is not i64`},
		{"write", `{"table":"fleet","changes":[{"key":"plane#2","column":"n:seats","value":1.5}]}`, `value is 1.5, which is not i64`},
		{"write", `{"table":"fleet","changes":[{"key":"plane#2","column":"m:seats","value":1}]}`, `there is no family "m" in fleet`},
		{"write", `{"table":"fleet","changes":[{"key":"plane#2","column":"n:seats","value":1,"type":"string"}]}`, `type is string, and family n is declared i64`},
		{"write", `{"table":"fleet","changes":[{"key":"plane#2","column":"n","value":1}]}`, `want family:qualifier`},
		{"write", `{"table":"fleet","changes":[{"key":"","column":"n:seats","value":1}]}`, `key`},
		{"write", `{"table":"planes","changes":[{"key":"a","column":"n:seats","value":1}]}`, `planes is a logical view; only tables are written`},
		{"write", `{"table":"fleet","changes":[]}`, `1 to 1000 changes`},
		{"query", q("SELECT n['seats'] AS s FROM fleet WHERE _key = 'plane#0'"), `"rows":[[240]]`},
		{"diff", `{}`, `"table":"fleet","key":"plane#0","family":"n","qualifier":"seats"`},
		{"diff", `{"limit":1}`, `"cut":true`},
	} {
		if got, _ := call(t, agent, c.tool, c.args); !strings.Contains(got, c.want) {
			t.Errorf("%s %s:\n%s\nwant in it\n%s", c.tool, c.args, got, c.want)
		}
	}
	if row, err := db.Table("fleet").ReadRow(t.Context(), "plane#0"); err != nil {
		t.Error(err)
	} else if n, _ := row.I64("n", "seats"); n != 100 {
		t.Errorf("the database has %d", n)
	}
	agent = connect(t, mcp.Options{DB: theirs, Branch: &b, Writes: true, Budget: sql.Budget{Rows: 100, Bytes: 1 << 20}})
	if got, failed := call(t, agent, "diff", `{}`); !failed || !strings.Contains(got, "smolwc branch diff refit lists the differences") {
		t.Error(got)
	}
	agent = connect(t, mcp.Options{DB: theirs, Branch: &b, Writes: true, Names: []string{"payroll"}, Budget: mcp.DefaultBudget})
	if got, _ := call(t, agent, "diff", `{}`); got != `{"cells":[],"cut":false}` {
		t.Error(got)
	}
}

// Without a branch no tool writes, whatever is called: the database has the same bytes of rows.
func TestNothingIsWritten(t *testing.T) {
	db := open(t)
	before := dump(t, db)
	agent := connect(t, mcp.Options{DB: db})
	for _, c := range hostile {
		if c.want == "Syntax error" || strings.HasPrefix(c.want, "unknown tool") {
			if got, failed := call(t, agent, c.tool, c.args); !failed {
				t.Errorf("%s %s: %s", c.tool, c.args, got)
			}
		}
	}
	if after := dump(t, db); after != before {
		t.Error("rows have changed")
	}
}

func dump(t *testing.T, db *query.DB) string {
	var b strings.Builder
	for _, table := range []string{"fleet", "payroll", "big"} {
		for row, err := range db.Table(table).ReadRows(t.Context()) {
			must(t, err)
			b.WriteString(base64.StdEncoding.EncodeToString([]byte(row.String())) + "\n")
		}
	}
	return b.String()
}

func TestOptions(t *testing.T) {
	db := open(t)
	for want, o := range map[string]mcp.Options{
		"one of DB and Client":               {Budget: small},
		"both must be positive":              {DB: db},
		`there is no table or view "nosuch"`: {DB: db, Budget: small, Names: []string{"nosuch"}},
	} {
		if _, err := mcp.New(t.Context(), o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
