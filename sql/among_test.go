//go:build linux

package sql_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/schema"
	"github.com/smolwc/smolwc/sql"
	"github.com/smolwc/smolwc/sql/value"
)

// conditions on n['i'] and _key with lists of n values.
var withLists = map[string]func(n int) string{
	"in":         func(n int) string { return "n['i'] IN (" + values(n, ",", "%d") + ")" },
	"not in":     func(n int) string { return "n['i'] NOT IN (" + values(n, ",", "%d") + ")" },
	"with NULL":  func(n int) string { return "n['i'] NOT IN (NULL, " + values(n, ",", "%d") + ")" },
	"floats":     func(n int) string { return "n['i'] IN (" + values(n, ",", "%d.5") + ")" },
	"expression": func(n int) string { return "n['i'] + 1 IN (" + values(n, ",", "%d") + ")" },
	"keys":       func(n int) string { return "CAST(_key AS STRING) IN (" + values(n, ",", "'k%d'") + ")" },
	"tuples":     func(n int) string { return "(n['i'], _key) IN (" + values(n, ",", "(%d, 'x')") + ")" },
	"arrays":     func(n int) string { return "[n['i']] IN (" + values(n, ",", "[%d]") + ")" },
	"array":      func(n int) string { return "n['i'] IN UNNEST([" + values(n, ",", "%d") + "])" },
	"split":      func(n int) string { return "CAST(n['i'] AS STRING) IN UNNEST(SPLIT('" + values(n, ",", "%d") + "'))" },
	"of structs": func(n int) string { return "(n['i'], 1) IN UNNEST([" + values(n, ",", "(%d, 1)") + "])" },
	"parameter":  func(int) string { return "n['i'] IN UNNEST(@list)" },
	"includes":   func(n int) string { return "ARRAY_INCLUDES([" + values(n, ",", "%d") + "], n['i'])" },
	"offset":     func(n int) string { return "ARRAY_OFFSET([" + values(n, ",", "%d") + "], n['i']) = 1" },
	"element":    func(n int) string { return "[" + values(n, ",", "%d") + "][OFFSET(1)] = n['i']" },
	"length":     func(n int) string { return "ARRAY_LENGTH([" + values(n, ",", "%d") + "]) = n['i']" },
	"or":         func(n int) string { return values(n, " OR ", "n['i'] = %d") },
	"and":        func(n int) string { return values(n, " AND ", "n['i'] != %d") },
	"case":       func(n int) string { return "CASE n['i'] " + values(n, " ", "WHEN %d THEN 1") + " END = 1" },
	"case of =":  func(n int) string { return "CASE " + values(n, " ", "WHEN n['i'] = %d THEN 1") + " END = 1" },
	"case of keys": func(n int) string {
		return "CASE CAST(_key AS STRING) " + values(n, " ", "WHEN 'k%d' THEN 1") + " ELSE 2 END = 1"
	},
}

func values(n int, between, format string) string {
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteString(between)
		}
		fmt.Fprintf(&b, format, 2*i)
	}
	return b.String()
}

// A condition with a list sixteen times as long takes about the same time for each row.
func TestListsAreSearched(t *testing.T) {
	runtime.LockOSThread() // whose time is taken
	defer runtime.UnlockOSThread()
	table := schema.Table{Name: "t", Families: []schema.Family{{Name: "n", Type: cells.TypeI64}}}
	rows := make([]*query.Row, 100)
	for i := range rows {
		rows[i] = query.NewRow(fmt.Sprintf("k%d", i), []cells.Cell{{Family: "n", Qualifier: "i", Timestamp: 1, Value: cells.I64(int64(2*i + i%2))}})
	}
	for name, text := range withLists {
		cost := func(n int) time.Duration {
			plan := planOf(t, "SELECT _key FROM t WHERE "+text(n), table, n)
			least := time.Hour
			for range 4 { // the first sorts
				began := processorTime(t)
				for range 10 {
					for _, row := range rows {
						if _, err := plan.Wants(context.Background(), row); err != nil {
							t.Fatalf("%s: %v", name, err)
						}
					}
				}
				least = min(least, processorTime(t)-began)
			}
			return least
		}
		for try := 0; ; try++ {
			short, long := cost(500), cost(8000)
			if long < 5*short {
				break
			}
			if try == 4 {
				t.Errorf("%s: 500 values take %v, 8000 take %v", name, short, long)
				break
			}
		}
	}
}

// planOf is a plan in which @list has n values.
func planOf(t *testing.T, text string, table schema.Table, n int) *sql.Plan {
	t.Helper()
	q, err := sql.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	params, err := sql.NewParams(map[string]value.Type{"list": value.ArrayOf(value.Type{Kind: value.TypeInt64})})
	if err != nil {
		t.Fatal(err)
	}
	var list value.Array
	for i := range n {
		list = append(list, int64(2*i))
	}
	bound, err := params.Bind(map[string]any{"list": list})
	if err != nil {
		t.Fatal(err)
	}
	plan, err := q.On(table).Plan(bound)
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

// A search finds what comparing one by one does, with values of all kinds.
func TestListsAreTheOrOfComparisons(t *testing.T) {
	db := openPlanes(t)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	for _, kind := range [][]string{
		{"1", "2", "NULL", "9007199254740993", "9007199254740992", "-1"},
		{"1", "1.0", "2.5", "NULL", "CAST('nan' AS FLOAT64)", "9007199254740993", "9007199254740992.0", "-0.0", "0", "CAST(1.5 AS FLOAT32)", "CAST('inf' AS FLOAT64)"},
		{"'a'", "b'a'", "b'\\xff'", "NULL", "'b'"},
		{"DATE '2024-01-01'", "'2024-01-01'", "NULL", "DATE '2024-01-02'"},
		{"(1, 2)", "(1, NULL)", "(NULL, NULL)", "NULL", "(1, 3)", "(CAST('nan' AS FLOAT64), 2)", "(2, 2)"},
		{"[1]", "[1, 2]", "[]", "[NULL]", "NULL", "[1, NULL]"},
		{"TRUE", "FALSE", "NULL"},
	} {
		for range 60 {
			x := kind[rng.IntN(len(kind))]
			list := make([]string, 2+rng.IntN(12))
			var or, arms []string
			for i := range list {
				list[i] = kind[rng.IntN(len(kind))]
				or = append(or, x+" = "+list[i])
				arms = append(arms, fmt.Sprintf("WHEN %s THEN %d", list[i], i))
			}
			in := fmt.Sprintf("%s IN (%s)", x, strings.Join(list, ", "))
			same(t, db, in, strings.Join(or, " OR "))
			if kind[0] != "[1]" { // there are no arrays of arrays
				same(t, db, fmt.Sprintf("%s IN UNNEST([%s])", x, strings.Join(list, ", ")), strings.Join(or, " OR "))
			}
			same(t, db, fmt.Sprintf("%s NOT IN (%s)", x, strings.Join(list, ", ")), "NOT ("+strings.Join(or, " OR ")+")")
			first := slices.IndexFunc(or, func(equal string) bool { got, _ := db.run("SELECT " + equal); return got == "true" })
			want := fmt.Sprint(first)
			if first < 0 {
				want = "NULL"
			}
			if got, err := db.run(fmt.Sprintf("SELECT CASE %s %s END", x, strings.Join(arms, " "))); err != nil || got != want {
				t.Errorf("CASE %s %s: %s, %v; want %s", x, strings.Join(arms, " "), got, err, want)
			}
		}
	}
}

func same(t *testing.T, db *planes, a, b string) {
	t.Helper()
	got, err := db.run("SELECT " + a)
	want, bad := db.run("SELECT " + b)
	if got != want || err != nil || bad != nil {
		t.Errorf("%s is %s, %v; but %s is %s, %v", a, got, err, b, want, bad)
	}
}
