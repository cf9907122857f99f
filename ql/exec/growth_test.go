package exec_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/ql/exec"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
)

// longConditions are conditions of n parts that hold for all rows. Those that are looked up
// take no more time for each row of a table if they are longer, so such a table has n rows,
// too. The others are judged one after another, for each of some rows.
var longConditions = map[string]struct {
	lookedUp bool
	where    func(n int) string
}{
	"values":                   {true, func(n int) string { return "f:q in (" + parts(n, ", ", "v%07d") + ")" }},
	"values left out":          {true, func(n int) string { return "f:q not in (" + parts(n, ", ", "w%07d") + ")" }},
	"keys":                     {true, func(n int) string { return "key in (" + parts(n, ", ", "k%07d") + ")" }},
	"parts of keys":            {true, func(n int) string { return "key-part(1) in (" + parts(n, ", ", "k%07d") + ")" }},
	"alternatives of a column": {true, func(n int) string { return parts(n, " or ", "f:q == v%07d") }},
	"alternatives of columns":  {false, func(n int) string { return parts(n, " or ", "f:q%d == w") + " or f:q != w" }},
	"alternatives of keys":     {false, func(n int) string { return parts(n, " or ", "key == k%07d") }},
	"alternatives of pairs":    {false, func(n int) string { return parts(n, " or ", "(f:q == v%07[1]d and g:q == v%07[1]d)") }},
	"bounds of a column":       {false, func(n int) string { return parts(n, " and ", "f:q != w%07d") }},
	"bounds of columns":        {false, func(n int) string { return parts(n, " and ", "f:q%d absent") }},
	"bounds of keys":           {false, func(n int) string { return parts(n, " and ", "key != w%07d") }},
}

func parts(n int, between, format string) string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf(format, i)
	}
	return strings.Join(all, between)
}

// A condition of eight times as many parts takes about eight times as long: 64 times as
// long would not be linear time.
func TestConditionsTakeLinearTime(t *testing.T) {
	const short, long = 150, 1200
	tables := map[int]*exec.Runner{short: withRows(t, short), long: withRows(t, long)}
	for name, c := range longConditions {
		best := func(rounds, n int) time.Duration {
			r, rows := tables[n], n
			if !c.lookedUp {
				r, rows = tables[short], short
			}
			least := time.Hour
			for range rounds {
				began := time.Now()
				if got := len(keysOf(t, r, c.where(n))); got != rows {
					t.Fatalf("%s: %d of %d rows", name, got, rows)
				}
				least = min(least, time.Since(began))
			}
			return max(least, time.Millisecond) // too little to be compared
		}
		for try := 0; ; try++ {
			few, many := best(3, short), best(1+try, long)
			if many < 30*few {
				break
			}
			if try == 4 {
				t.Errorf("%s: %d take %v, 8 times as many %v", name, short, few, many)
				break
			}
		}
	}
}

// withRows has a table t with n rows.
func withRows(t *testing.T, n int) *exec.Runner {
	t.Helper()
	r := &exec.Runner{DB: openMemory(t)}
	if err := r.DB.CreateTable(t.Context(), schema.Table{Name: "t", Families: []schema.Family{{Name: "f"}, {Name: "g"}}}); err != nil {
		t.Fatal(err)
	}
	for i := range n {
		m := write.NewMutation()
		m.Set("f", "q", cells.String(fmt.Sprintf("v%07d", i)))
		m.Set("g", "q", cells.String(fmt.Sprintf("v%07d", i)))
		if err := r.DB.Table("t").Apply(t.Context(), fmt.Sprintf("k%07d", i), m); err != nil {
			t.Fatal(err)
		}
	}
	return r
}
