package sql_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/schema"
	"github.com/smolwc/smolwc/server/sql"
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
	"pattern":    func(n int) string { return "SELECT 'x' LIKE '" + strings.Repeat("%_", n/2) + "'" },
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

// A query that is eight times as long takes about eight times as long, however it
// is long: one that takes 64 times is not read in linear time.
func TestQueriesAreReadInLinearTime(t *testing.T) {
	table := schema.Table{Name: "t", Families: []schema.Family{{Name: "f", Type: cells.TypeString}}}
	for name, text := range large {
		const rounds, size = 5, 24 << 10
		best := func(n int) time.Duration {
			least := time.Hour
			for range rounds {
				began := time.Now()
				read(text(n), table)
				least = min(least, time.Since(began))
			}
			return max(least, 100*time.Microsecond) // too little to be compared
		}
		for try := 0; ; try++ {
			short, long := best(size), best(8*size)
			if long < 30*short {
				break
			}
			if try == 3 {
				t.Errorf("%s: %d bytes take %v, 8 times as many %v", name, size, short, long)
				break
			}
		}
	}
}

// read does all that comes before rows are read.
func read(text string, table schema.Table) {
	q, err := sql.Parse(text)
	if err != nil {
		return
	}
	params, err := sql.NewParams(nil)
	if err != nil {
		return
	}
	p, err := q.Plan(table, params)
	if err != nil {
		return
	}
	p.Metadata()
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
