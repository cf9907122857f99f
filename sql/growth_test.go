//go:build linux

package sql_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/schema"
	"github.com/smolwc/smolwc/sql"
	"golang.org/x/sys/unix"
)

// large are queries of about n bytes, each long in another way.
var large = map[string]func(n int) string{
	"columns":          func(n int) string { return "SELECT 1" + strings.Repeat(",1", min(n/2, 9_999)) },
	"too many columns": func(n int) string { return "SELECT 1" + strings.Repeat(",1", n/2) },
	"lines":            func(n int) string { return "SELECT 1" + strings.Repeat("\n,1", min(n/3, 9_999)) },
	"named columns":    func(n int) string { return "SELECT 1" + strings.Repeat(",1 AS a", min(n/7, 9_999)) },
	"cells": func(n int) string {
		return "SELECT _key FROM t WHERE " + many(n, " OR ", func(i int) string { return fmt.Sprintf("f['%d']='%d'", i, i) })
	},
	"keys in a list": func(n int) string {
		return "SELECT _key FROM t WHERE _key IN (" + many(n, ",", func(i int) string { return fmt.Sprintf("'%d'", i) }) + ")"
	},
	"keys left out": func(n int) string {
		return "SELECT _key FROM t WHERE " + many(n, " AND ", func(i int) string { return fmt.Sprintf("(_key<'%d' OR _key>'%d')", i, i) })
	},
	"a list and many bounds": func(n int) string {
		return "SELECT _key FROM t WHERE _key IN (" + many(n/2, ",", func(i int) string { return fmt.Sprintf("'%d'", i) }) + ")" + strings.Repeat(" AND _key>''", n/2/12)
	},
	"a key and a long list": func(n int) string {
		return "SELECT _key FROM t WHERE f['a'] IN (" + strings.Repeat("'x',", n/4) + "'x')"
	},
	"array":      func(n int) string { return "SELECT [1" + strings.Repeat(",1", n/2) + "]" },
	"struct":     func(n int) string { return "SELECT STRUCT(1" + strings.Repeat(",1 AS a", n/7) + ")" },
	"arguments":  func(n int) string { return "SELECT COALESCE(NULL" + strings.Repeat(",NULL", n/5) + ")" },
	"ands":       func(n int) string { return "SELECT TRUE" + strings.Repeat(" AND TRUE", n/9) },
	"string":     func(n int) string { return "SELECT '" + strings.Repeat("x", n) + "'" },
	"escapes":    func(n int) string { return "SELECT '" + strings.Repeat(`\n`, n/2) + "'" },
	"no string":  func(n int) string { return "SELECT " + strings.Repeat("'", n) },
	"name":       func(n int) string { return "SELECT `" + strings.Repeat("x", n) + "`" },
	"number":     func(n int) string { return "SELECT " + strings.Repeat("1", n) },
	"exponents":  func(n int) string { return "SELECT " + strings.Repeat("1e-", n/3) },
	"comment":    func(n int) string { return "SELECT 1 " + strings.Repeat("/**/", n/4) },
	"no comment": func(n int) string { return "SELECT 1 " + strings.Repeat("/*", n/2) },
	"space":      func(n int) string { return "SELECT" + strings.Repeat(" ", n) + "1" },
	"nots":       func(n int) string { return "SELECT " + strings.Repeat("NOT ", n/4) + "TRUE" },
	"minuses":    func(n int) string { return "SELECT " + strings.Repeat("- ", n/2) + "1" },
	"brackets":   func(n int) string { return "SELECT " + strings.Repeat("(", n) },
	"indexes":    func(n int) string { return "SELECT f" + strings.Repeat("[0]", n/3) },
	"fields":     func(n int) string { return "SELECT f" + strings.Repeat(".a", n/2) },
	"options": func(n int) string {
		return "SELECT * FROM t(" + strings.Repeat("latest_n => 1,", n/14) + "latest_n => 1)"
	},
	"pattern": func(n int) string { return "SELECT 'x' LIKE '" + strings.Repeat("%_", n/2) + "'" },
	"group keys": func(n int) string {
		return "SELECT COUNT(*) FROM t GROUP BY f['0']" + many(n, "", func(i int) string { return fmt.Sprintf(",f['%d']", min(i, 9_000)) })
	},
	"orders": func(n int) string { return "SELECT 1 AS a FROM t ORDER BY a" + strings.Repeat(",a", n/2) },
	"pipes": func(n int) string {
		return "SELECT 1" + many(n/2, "", func(i int) string { return fmt.Sprintf(",1 AS a%d", min(i, 9_000)) }) + strings.Repeat("|> DISTINCT", n/100)
	},
	"except": func(n int) string {
		return "SELECT 1" + many(n/2, "", func(i int) string { return fmt.Sprintf(",1 AS a%d", min(i, 9_000)) }) + "|> SELECT * EXCEPT (a0" + many(n/2, "", func(i int) string { return fmt.Sprintf(",a%d", min(i, 9_000)) }) + ")"
	},
	"sums":    func(n int) string { return "SELECT 1" + strings.Repeat(",1+1*1-1", n/10) },
	"cases":   func(n int) string { return "SELECT CASE" + strings.Repeat(" WHEN TRUE THEN 1", n/20) + " END" },
	"arms":    func(n int) string { return "SELECT CASE 1" + strings.Repeat(" WHEN 1 THEN 1", n/14) + " END" },
	"tuples":  func(n int) string { return "SELECT (1, 2) IN ((1, 2)" + strings.Repeat(",(3, 4)", n/7) + ")" },
	"structs": func(n int) string { return "SELECT [STRUCT(1 AS a)" + strings.Repeat(",(2.5, 3)", n/9) + "]" },
	"equals": func(n int) string {
		return "SELECT _key FROM t WHERE f['a'] = 'b'" + strings.Repeat(" OR f['a'] = 'b'", n/16)
	},
	"using": func(n int) string {
		names := many(min(n/2, 60_000), ",", func(i int) string { return fmt.Sprintf("a%d", i) })
		columns := many(min(n/2, 60_000), ",", func(i int) string { return fmt.Sprintf("1 AS a%d", i) })
		return "SELECT 1 FROM (SELECT " + columns + ") AS a FULL JOIN (SELECT " + columns + ") AS b USING (" + names + ")"
	},
	"using twice": func(n int) string {
		return "SELECT 1 FROM (SELECT 1 AS a) AS a JOIN (SELECT 1 AS a) AS b USING (a" + strings.Repeat(",a", n/2) + ")"
	},
	"joined columns": func(n int) string {
		columns := many(min(n/2, 60_000), ",", func(i int) string { return fmt.Sprintf("1 AS a%d", i) })
		return "WITH t AS (SELECT " + columns + ") SELECT 1 FROM t" + many(1000, "", func(i int) string { return fmt.Sprintf(" JOIN t AS b%d USING (a0)", i) })
	},
	"withs": func(n int) string {
		return "WITH " + many(n/2, ",", func(i int) string { return fmt.Sprintf("a%d AS (SELECT 1)", i) }) + " SELECT * FROM a0"
	},
	"unnests": func(n int) string { return "SELECT 1 FROM UNNEST([1])" + strings.Repeat(",UNNEST([1])", n/12) },
	"arrays in a query": func(n int) string {
		return "SELECT (SELECT 1 FROM UNNEST([1]) AS a" + many(n, "", func(i int) string { return fmt.Sprintf(",UNNEST([1]) AS a%d", i) }) + ")"
	},
	"equalities": func(n int) string {
		return "SELECT EXISTS (SELECT 1 FROM t AS u WHERE u._key = t._key" + strings.Repeat(" AND u.f['a'] = t.f['b']", n/24) + ") FROM t"
	},
	"window keys": func(n int) string {
		return "SELECT RANK() OVER (ORDER BY a" + strings.Repeat(",a", n/2) + ") FROM (SELECT 1 AS a)"
	},
	"calls of a named window": func(n int) string {
		return "SELECT 1" + strings.Repeat(",RANK() OVER w", min(n/28, 9_000)) + " FROM (SELECT 1 AS a) WINDOW w AS (ORDER BY a" + strings.Repeat(",a", n/4) + ")"
	},
	"names of the result in a query": func(n int) string {
		columns := many(min(n/2, 60_000), ",", func(i int) string { return fmt.Sprintf("1 AS a%d", i) })
		return "SELECT COUNT(*) AS a, " + columns + " FROM t HAVING (SELECT [a" + strings.Repeat(",a", n/4) + "][OFFSET(0)]) > 1"
	},
	"statements": func(n int) string { return strings.Repeat("SELECT 1;", n/9) },
}

// many joins expressions to about n bytes.
func many(n int, between string, expr func(i int) string) string {
	var b strings.Builder
	for i := 0; b.Len() < n; i++ {
		if i > 0 {
			b.WriteString(between)
		}
		b.WriteString(expr(i))
	}
	return b.String()
}

// A query that is eight times as long, in any dimension, takes about eight times the
// time: 64 times would not be linear time.
func TestQueriesAreReadInLinearTime(t *testing.T) {
	runtime.LockOSThread() // whose time is taken
	defer runtime.UnlockOSThread()
	table := schema.Table{Name: "t", Families: []schema.Family{{Name: "f", Type: cells.TypeString}}}
	for name, text := range large {
		const size = 24 << 10
		best := func(rounds, n int) time.Duration {
			least := time.Hour
			for range rounds {
				text := text(n)
				began := processorTime(t)
				read(text, table)
				least = min(least, processorTime(t)-began)
			}
			return max(least, 100*time.Microsecond) // too little to be compared
		}
		for try := 0; ; try++ {
			short, long := best(3, size), best(1+try, 8*size)
			if long < 30*short {
				break
			}
			if try == 4 {
				t.Errorf("%s: %d bytes take %v, 8 times as many %v", name, size, short, long)
				break
			}
		}
	}
}

// processorTime is the time that this thread has had of a processor. Other work on the
// machine does not count.
func processorTime(t *testing.T) time.Duration {
	t.Helper()
	var at unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &at); err != nil {
		t.Fatal(err)
	}
	return time.Duration(at.Nano())
}

// read does all work before rows are read.
func read(text string, table schema.Table) {
	q, err := sql.Parse(text)
	if err != nil {
		return
	}
	params, err := sql.NewParams(nil)
	if err != nil {
		return
	}
	p, err := q.On(table).Plan(params)
	if err != nil {
		return
	}
	p.Columns()
	p.Reads("", 1)
}

func TestAQueryHasUpTo10000Columns(t *testing.T) {
	if _, err := sql.Parse("SELECT 1" + strings.Repeat(",1", 9_999)); err != nil {
		t.Error(err)
	}
	if _, err := sql.Parse("SELECT 1" + strings.Repeat(",1", 10_000)); err == nil || !strings.Contains(err.Error(), "10000") {
		t.Errorf("10,001 columns: %v", err)
	}
}

// A query that is nested twice as deeply takes about twice the time, although it names an
// operand once and compares it more than once.
func TestNestingDoublesNothing(t *testing.T) {
	db := openPlanes(t)
	for _, q := range []struct{ open, inner, end, want string }{
		{"(", "TRUE", " BETWEEN FALSE AND TRUE)", "true"},
		{"(", "TRUE", " IN (TRUE, FALSE))", "true"},
		{"NULLIF(", "TRUE", ", FALSE)", "true"},
		{"(CASE ", "TRUE", " WHEN TRUE THEN TRUE WHEN FALSE THEN FALSE END)", "true"},
		{"(", "TRUE", " IS NOT DISTINCT FROM TRUE)", "true"},
		{"SAFE.DATE(", "DATE '2024-01-01'", ")", "2024-01-01"},
		{"TIMESTAMP_FROM_UNIX_SECONDS(", "TIMESTAMP_SECONDS(0)", ")", "0"},
	} {
		text := "SELECT " + strings.Repeat(q.open, 45) + q.inner + strings.Repeat(q.end, 45)
		if got, err := db.run(text); err != nil || got != q.want {
			t.Errorf("%.60s…: %s, %v", text, got, err)
		}
	}
}
