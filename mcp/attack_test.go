package mcp_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/mcp"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/sql"
	"github.com/smolwc/smolwc/views"
)

// eachWay runs a test with a database at hand and with one over the network.
func eachWay(t *testing.T, test func(t *testing.T, db *query.DB, o mcp.Options)) {
	t.Run("at hand", func(t *testing.T) {
		db := open(t)
		test(t, db, mcp.Options{DB: db})
	})
	t.Run("served", func(t *testing.T) {
		db := open(t)
		test(t, db, mcp.Options{Client: serve(t, db)})
	})
}

// Rows that have none of the columns are read too.
func TestReadRowsCountsRowsWithoutTheColumns(t *testing.T) {
	eachWay(t, func(t *testing.T, db *query.DB, o mcp.Options) {
		m := write.NewMutation()
		m.SetAt("f", "late", 1e15, cells.String("at last"))
		must(t, db.Table("big").Apply(t.Context(), "k0400", m))
		agent := connect(t, o)
		got, _ := call(t, agent, "read_rows", `{"table":"big","columns":["f:late"]}`)
		if !strings.Contains(got, `"key":"k0400"`) || !strings.Contains(got, `"cut":true,"note":"cut: the rest is beyond the budget"`) || !strings.Contains(got, `"read":{"rows":501,`) {
			t.Errorf("%.400s", got)
		}
		if got, _ = call(t, agent, "read_rows", `{"table":"big","prefix":"k040","columns":["f:late"],"limit":1}`); !strings.Contains(got, `"value":"at last"`) || !strings.Contains(got, `"cut":false`) {
			t.Errorf("%.400s", got)
		}
		if got, _ = call(t, agent, "read_rows", `{"table":"fleet","columns":["meta:model","n"],"limit":2}`); strings.Count(got, `"family":"meta"`) != 2 || strings.Count(got, `"family":"n"`) != 2 || !strings.Contains(got, `"cut":true`) {
			t.Errorf("%.400s", got)
		}
	})
}

// A view fails at a row that it would have left out: the error has no value of that row.
func TestErrorsOfRowsShowNoValuesBehindAView(t *testing.T) {
	eachWay(t, func(t *testing.T, db *query.DB, o mcp.Options) {
		must(t, views.Of(db).Create(t.Context(), views.View{Name: "ages", SQL: "SELECT _key AS plane FROM fleet WHERE _key = 'plane#4' AND CAST(CAST(meta['public'] AS STRING) AS INT64) > 0"}))
		o.Names = []string{"ages"}
		agent := connect(t, o)
		for _, tool := range []struct{ name, args string }{{"query", q("SELECT * FROM ages")}, {"query", q("SELECT COUNT(*) FROM ages")}, {"describe", `{"name":"ages"}`}} {
			if got, failed := call(t, agent, tool.name, tool.args); !failed || strings.Contains(got, "hush") {
				t.Errorf("%s: %s", tool.name, got)
			}
		}
	})
}

// A query that makes the text of a name itself does not learn whether something has it.
func TestMadeNamesLookTheSame(t *testing.T) {
	eachWay(t, func(t *testing.T, _ *query.DB, o mcp.Options) {
		o.Names = []string{"planes"}
		agent := connect(t, o)
		for _, form := range []string{
			"SELECT CAST(CONCAT('p_y', 'roll') AS INT64) FROM planes",
			"SELECT CAST(CONCAT('p_y', 'roll') AS INT64)",
			"SELECT CAST(CONCAT('p_y', SUBSTR(model, 9), 'roll') AS INT64) FROM planes",
			"SELECT model FROM planes WHERE seats = CAST(CONCAT('p_y', 'roll') AS INT64)",
			"SELECT model FROM planes LIMIT CAST(CONCAT('p_y', 'roll') AS INT64)",
			"SELECT JSON_VALUE(CONCAT('{', model), CONCAT('p_y', 'roll')) FROM planes",
			"SELECT REGEXP_CONTAINS(model, CONCAT('(p_y', 'roll')) FROM planes",
		} {
			of := func(name string) string {
				got, _ := call(t, agent, "query", q(strings.ReplaceAll(form, "p_y", name)))
				return strings.NewReplacer("pxy", "p_y", "pay", "p_y").Replace(got)
			}
			if hidden, missing := of("pay"), of("pxy"); hidden != missing {
				t.Errorf("%s: a hidden name\n%s\na missing one\n%s", form, hidden, missing)
			}
		}
	})
}

// How much a query reads of a key would tell whether a row has it that the view leaves out.
func TestFiguresTellNoKeysBehindAView(t *testing.T) {
	eachWay(t, func(t *testing.T, _ *query.DB, o mcp.Options) {
		o.Names, o.Budget = []string{"planes"}, sql.Budget{Rows: 5, Bytes: 1 << 20}
		agent := connect(t, o)
		for _, form := range []struct{ tool, sql string }{
			{"query", "SELECT model FROM planes WHERE plane = b'plane#K'"},
			{"query", "SELECT COUNT(*) FROM planes WHERE STARTS_WITH(plane, b'plane#K')"},
			{"explain", "SELECT model FROM planes WHERE plane = b'plane#K'"},
			{"query", "SELECT model FROM planes UNION ALL SELECT model FROM planes UNION ALL SELECT model FROM planes WHERE plane = b'plane#K'"},
		} {
			of := func(key string) string {
				got, _ := call(t, agent, form.tool, q(strings.ReplaceAll(form.sql, "K", key)))
				return got
			}
			if hidden, missing := of("4"), of("5"); hidden != missing {
				t.Errorf("%s %s: of a hidden row\n%s\nof none\n%s", form.tool, form.sql, hidden, missing)
			}
		}
	})
}

// A caller of some tables is not told how much is in others.
func TestOtherTablesAreNotCounted(t *testing.T) {
	agent, _, _ := branched(t, mcp.Options{Names: []string{"fleet"}, Budget: sql.Budget{Rows: 100, Bytes: 1 << 20}})
	if got, failed := call(t, agent, "diff", `{}`); !failed || strings.Contains(got, "2,0") || !strings.Contains(got, "smolwc branch diff refit") {
		t.Error(got)
	}
}

// A row that is larger than a result is not made text first.
func TestRowsLargerThanAResultTakeLittleMemory(t *testing.T) {
	agent := connect(t, mcp.Options{DB: open(t)})
	text := q(`SELECT ARRAY(SELECT REPEAT(CODE_POINTS_TO_STRING([1]), 1000000) FROM UNNEST(GENERATE_ARRAY(1, 40)))`)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	got, _ := call(t, agent, "query", text)
	runtime.ReadMemStats(&after)
	if !strings.Contains(got, `"cut":true`) {
		t.Errorf("%.300s", got)
	}
	if mib := (after.TotalAlloc - before.TotalAlloc) >> 20; mib > 300 {
		t.Errorf("it takes %d MiB", mib)
	}
}

// With a materialized view whose groups have gone, and with rows that conditions leave out, a
// budget changes no result.
func TestBudgetsChangeNoResults(t *testing.T) {
	db := open(t)
	v := views.Of(db)
	must(t, v.Create(t.Context(), views.View{Name: "models", Materialized: true, SQL: "SELECT CAST(meta['public'] AS STRING) AS public, COUNT(*) AS n FROM fleet GROUP BY public"}))
	if _, err := rowsOf(v.Query(t.Context(), "SELECT * FROM models")); err != nil {
		t.Fatal(err)
	}
	m := write.NewMutation()
	m.DeleteRow()
	must(t, db.Table("fleet").Apply(t.Context(), "plane#4", m)) // the only one of its group
	m = write.NewMutation()
	m.SetAt("n", "seats", 1e15, cells.I64(7))
	must(t, db.Table("fleet").Apply(t.Context(), "bare", m))
	for _, text := range []string{
		"SELECT * FROM models", "SELECT COUNT(*) FROM models", "SELECT n FROM models WHERE public = 'yes'", "SELECT SUM(n) FROM models",
		"SELECT * FROM models AS a JOIN models AS b USING (public)",
		"SELECT _key, meta FROM fleet", "SELECT _key FROM fleet WHERE meta['model'] = 'B717'", "SELECT _key FROM fleet WHERE meta['model'] IS NULL",
		"SELECT _key FROM fleet WHERE meta['model'] = 'B717' OR n['seats'] = 7", "SELECT SUM(n['seats']), COUNT(meta['model']), COUNT(*) FROM fleet", "SELECT SUM(n['seats']) FROM fleet WHERE meta['public'] = 'yes'",
		"SELECT MAX(CAST(meta['model'] AS STRING)) FROM fleet", "SELECT AVG(n['nosuch']) FROM fleet", "SELECT _key FROM fleet WHERE n['seats'] > 102 ORDER BY _key DESC LIMIT 1",
		"SELECT _key FROM fleet(with_history => TRUE) WHERE meta['model'] IS NOT NULL", "SELECT _key FROM fleet(as_of => TIMESTAMP '2001-01-01') WHERE meta['model'] IS NOT NULL",
		"SELECT _key, meta FROM fleet(as_of => TIMESTAMP '2001-01-01')",
		"SELECT _key FROM fleet LIMIT 2 OFFSET 1", "SELECT f['x'], COUNT(*) FROM big GROUP BY 1", "SELECT a._key FROM fleet AS a JOIN fleet AS b ON a.meta['model'] = b.meta['model']",
		"SELECT _key FROM fleet WHERE meta['model'] IN (SELECT meta['model'] FROM fleet WHERE n['seats'] > 101)", "SELECT plane FROM planes WHERE seats = 101",
		"SELECT COUNT(DISTINCT meta['public']) FROM fleet", "SELECT MAP_KEYS(meta) FROM fleet WHERE MAP_CONTAINS_KEY(meta, 'model')", "SELECT _key FROM fleet WHERE ARRAY_LENGTH(MAP_KEYS(meta)) > 0",
	} {
		want, err := rowsOf(v.Query(t.Context(), text))
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		parsed, err := sql.Parse(text)
		must(t, err)
		b, err := v.Bounded(t.Context(), parsed, mcp.DefaultBudget)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got, err := rowsOf(b.Result, nil); err != nil || got != want {
			t.Errorf("%s: %v\n%s\nwithout a budget\n%s", text, err, got, want)
		}
	}
}

func rowsOf(res *sql.Result, err error) (string, error) {
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for row, err := range res.Rows {
		if err != nil {
			return "", err
		}
		fmt.Fprintln(&b, row)
	}
	return b.String(), nil
}
