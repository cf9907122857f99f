package exec_test

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/ql"
	"github.com/smolwc/smolwc/ql/exec"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/query/write"
)

// The figures of groups are those of a naive sum over the rows, whatever the columns that
// some rows lack.
func TestAggregatesAreThoseOfEachRow(t *testing.T) {
	db := openMemory(t)
	r := &exec.Runner{DB: db}
	runAll(t, r, "create table s family a, family b type=string")
	random := rand.New(rand.NewPCG(1, 2))
	type naive struct{ rows, n, sum int64 }
	want := map[string]*naive{}
	for i := range 500 {
		m := write.NewMutation()
		group := ""
		if g := random.IntN(5); g > 0 {
			group = fmt.Sprint("g", g)
			m.Set("b", "group", cells.String(group))
		}
		w := want[group]
		if w == nil {
			w = new(naive)
			want[group] = w
		}
		m.Set("a", "other", cells.Bool(true))
		w.rows++
		if random.IntN(3) > 0 {
			v := []cells.Value{cells.I64(int64(i)), cells.I32(int32(i)), cells.F64(float64(i)), cells.String("no number")}[random.IntN(4)]
			m.Set("a", "n", v)
			if v.Type().Numeric() {
				w.n++
				w.sum += int64(i)
			}
		}
		if err := db.Table("s").Apply(t.Context(), fmt.Sprintf("k%03d", i), m); err != nil {
			t.Fatal(err)
		}
	}
	for _, top := range []string{"", " top 3 by count"} {
		st, err := ql.Parse("aggregate s count, sum(a:n), avg(a:n), distinct(b:group) group by b:group" + top)
		if err != nil {
			t.Fatal(err)
		}
		res, err := r.Run(t.Context(), st)
		if err != nil {
			t.Fatal(err)
		}
		groups := slices.Sorted(maps.Keys(want))
		if top != "" {
			slices.SortStableFunc(groups, func(a, b string) int { return cmp.Compare(want[b].rows, want[a].rows) })
			groups = groups[:3]
		}
		got := res.(*exec.Listing).Lines
		if len(got) != len(groups) {
			t.Fatalf("%d groups, want %d", len(got), len(groups))
		}
		for i, name := range groups {
			w := want[name]
			named := int64(min(1, len(name)))
			text := fmt.Sprint(got[i][1], got[i][4])
			if f, ok := got[i][2].(float64); ok && int64(f) != w.sum || fmt.Sprintf("%.6f", got[i][3]) != fmt.Sprintf("%.6f", float64(w.sum)/float64(w.n)) || text != fmt.Sprint(w.rows, named) {
				t.Errorf("group %q is %v, want %+v", name, got[i], *w)
			}
		}
	}
}

// The figures of parts of a table, merged, are those of all its rows; sums are exact, and
// only the sum of all rows must fit.
func TestAggregatesOfPartsAreThoseOfAllRows(t *testing.T) {
	db := openMemory(t)
	r := &exec.Runner{DB: db}
	runAll(t, r, "create table s family g type=string, family n type=i64")
	numbers := []int64{math.MinInt64, math.MaxInt64, -1, 0, 1, 2, 1 << 40}
	rapid.Check(t, func(t *rapid.T) {
		if err := db.Table("s").DeleteRange(context.Background(), read.Range("", "")); err != nil {
			t.Fatal(err)
		}
		type naive struct {
			rows, least, most int64
			sum               big.Int
			values            map[int64]bool
		}
		groups := map[string]*naive{}
		for i := range rapid.IntRange(0, 40).Draw(t, "rows") {
			m := write.NewMutation()
			group, n := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "group"), rapid.SampledFrom(numbers).Draw(t, "number")
			m.Set("g", "q", cells.String(group))
			m.Set("n", "q", cells.I64(n))
			if err := db.Table("s").Apply(context.Background(), fmt.Sprintf("row%02d", i), m); err != nil {
				t.Fatal(err)
			}
			w := groups[group]
			if w == nil {
				w = &naive{least: n, most: n, values: map[int64]bool{}}
				groups[group] = w
			}
			w.rows, w.least, w.most = w.rows+1, min(w.least, n), max(w.most, n)
			w.sum.Add(&w.sum, big.NewInt(n))
			w.values[n] = true
		}
		fits, want := true, ""
		for _, name := range slices.Sorted(maps.Keys(groups)) {
			w := groups[name]
			fits = fits && w.sum.IsInt64()
			sum, _ := new(big.Float).SetInt(&w.sum).Float64()
			want += fmt.Sprintln(name, w.rows, w.sum.String(), sum/float64(w.rows), w.least, w.most, len(w.values))
		}
		st, err := ql.Parse("aggregate s count, sum(n:q), avg(n:q), min(n:q), max(n:q), distinct(n:q) group by g:q")
		if err != nil {
			t.Fatal(err)
		}
		res, err := r.Run(context.Background(), st)
		if !fits {
			if err == nil || !strings.Contains(err.Error(), "the sum of n:q does not fit an i64") {
				t.Fatalf("a sum that does not fit: %v", err)
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, line := range res.(*exec.Listing).Lines {
			name, _ := line[0].(cells.Value).AsString()
			got += fmt.Sprintln(append([]any{name}, line[1:]...)...)
		}
		if got != want {
			t.Fatalf("got\n%swant\n%s", got, want)
		}
	})
}

// A condition is about the newest cell, also where a time range hides it: such rows count.
func TestAggregateCountsRowsWhoseConditionIsOutsideOfTheTimes(t *testing.T) {
	r := &exec.Runner{DB: openMemory(t)}
	runAll(t, r, `create table s family a, family b
		put s r1 a:x=1@2020-01-01 a:y=1@2022-01-01
		put s r2 a:x=2@2022-01-01 b:z=3@2022-01-01
		put s r3 a:x=5@2020-01-01`)
	for statement, want := range map[string]string{
		"aggregate s count since=2021-01-01 where a:x > 0":                       "2",
		"aggregate s count, sum(a:x) since=2021-01-01 where a:x > 0":             "2 2",
		"aggregate s count, count(a:x), sum(b:z) since=2021-01-01 where a:x > 0": "2 1 3",
		"aggregate s count, sum(a:x) until=2021-01-01 where a:x > 0":             "2 6",
	} {
		st, err := ql.Parse(statement)
		if err != nil {
			t.Fatal(err)
		}
		res, err := r.Run(t.Context(), st)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Trim(fmt.Sprint(res.(*exec.Listing).Lines[0]), "[]"); got != want {
			t.Errorf("%s is %s, want %s", statement, got, want)
		}
	}
}

// The least and the greatest of numbers are NaN if one of them is, in any order.
func TestExtremesWithNaNDoNotDependOnTheOrder(t *testing.T) {
	for _, order := range []string{"nan 1 0", "1 nan 0", "1 0 nan"} {
		r := &exec.Runner{DB: openMemory(t)}
		runAll(t, r, "create table s family a type=f64")
		for at, v := range strings.Fields(order) {
			runAll(t, r, fmt.Sprintf("put s r%d a:x=%s", at, v))
		}
		st, err := ql.Parse("aggregate s min(a:x), max(a:x)")
		if err != nil {
			t.Fatal(err)
		}
		res, err := r.Run(t.Context(), st)
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(res.(*exec.Listing).Lines[0]); got != "[NaN NaN]" {
			t.Errorf("of %s: %s", order, got)
		}
	}
}

// Groups without a number come last with top, and first in their own order; text is not
// left out in silence.
func TestGroupsWithoutNumbers(t *testing.T) {
	r := &exec.Runner{DB: openMemory(t)}
	runAll(t, r, "create table s family a; put s 1 a:n=-5 a:g=7; put s 2 a:x=1; put s 3 a:n=9 a:g=8; put s 4 a:n='12' a:g=7; put s 5 a:x=1 a:n=x")
	for statement, want := range map[string]string{
		"aggregate s max(a:n) group by key top 2 by max(a:n) where a:n absent or a:n != '12' and a:n != x": "[[3 9] [1 -5]] [3 rows in 3 groups; 1 not shown]",
		"aggregate s sum(a:n) group by key top 3 by sum(a:n)":                                              "[[3 9] [1 -5] [2 <nil>]] [5 rows in 5 groups; 2 not shown sum(a:n) leaves out 2 cells without a number]",
		"aggregate s count group by a:g":                                                                   "[[<nil> 2] [7 2] [8 1]] [5 rows in 3 groups]",
		"aggregate s sum(a:n), avg(a:n)":                                                                   "[[4 2]] [sum(a:n) leaves out 2 cells without a number avg(a:n) leaves out 2 cells without a number]",
		"aggregate s count(a:n) prefix=1":                                                                  "[[1]] []",
		"aggregate s sum(a:n) keys=4 as csv":                                                               "[[<nil>]] [sum(a:n) leaves out 1 cell without a number]",
	} {
		st, err := ql.Parse(statement)
		if err != nil {
			t.Fatal(err)
		}
		res, err := r.Run(t.Context(), st)
		if err != nil {
			t.Fatal(err)
		}
		l := res.(*exec.Listing)
		if got := fmt.Sprint(l.Lines, " ", l.Notes); got != want {
			t.Errorf("%s:\n%s, want\n%s", statement, got, want)
		}
	}
}

// With groups of single rows only the largest are held; the figures of cells count all
// versions.
func TestTheRowsWithMostCells(t *testing.T) {
	db := openMemory(t)
	r := &exec.Runner{DB: db}
	runAll(t, r, "create table s family a versions=9, family b")
	const rows = 3000
	for i := range rows {
		m := write.NewMutation()
		m.Set("b", "n", cells.I64(int64(i*7919%rows)))
		for v := range 1 + i*7919%rows/600 {
			m.SetAt("a", "v", cells.Timestamp(v), cells.Bool(true))
		}
		if err := db.Table("s").Apply(t.Context(), fmt.Sprintf("k%04d", i), m); err != nil {
			t.Fatal(err)
		}
	}
	figuresOf := func(statement string) (lines [][]any, note string) {
		st, err := ql.Parse(statement)
		if err != nil {
			t.Fatal(err)
		}
		res, err := r.Run(t.Context(), st)
		if err != nil {
			t.Fatal(err)
		}
		l := res.(*exec.Listing)
		return l.Lines, strings.Join(l.Notes, "")
	}
	got, note := figuresOf("aggregate s cells, cells(a:v), count(a:v), max(b:n) group by key top 5 by max(b:n)")
	if len(got) != 5 || note != "3000 rows in 3000 groups; 2995 not shown" {
		t.Fatalf("%d lines, %q", len(got), note)
	}
	for i, line := range got {
		n := int64(rows - 1 - i)
		key := ""
		for k := range int64(rows) {
			if k*7919%rows == n {
				key = fmt.Sprintf("k%04d", k)
			}
		}
		if fmt.Sprint(line...) != fmt.Sprint(key, int64(6), int64(5), int64(1), n) {
			t.Errorf("line %d is %v, want row %s with %d", i, line, key, n)
		}
	}
	got, _ = figuresOf("aggregate s cells, cells(a:v), cells(b:n), sum(b:n)")
	if want := fmt.Sprint(int64(rows*4), int64(rows*3), int64(rows), int64(rows*(rows-1)/2)); fmt.Sprint(got[0]...) != want {
		t.Errorf("all rows have %v, want %s", got[0], want)
	}
}

// Values of all types have one order, also NaN and nothing: groups and those of top are the
// same each time.
func TestAggregatesOrderAllValues(t *testing.T) {
	db := openMemory(t)
	r := &exec.Runner{DB: db}
	runAll(t, r, "create table s family f")
	nan := math.NaN()
	values := []cells.Value{{}, cells.F64(nan), cells.F32(float32(-nan)), cells.F64(math.Inf(-1)), cells.F64(math.Copysign(0, -1)), cells.I64(0), cells.F64(1.5), cells.I64(2), cells.F64(math.Inf(1)), cells.String("a"), cells.Bool(true)}
	const rows = 2200 // more than top holds
	of := func(i int) cells.Value { return values[i*7%len(values)] }
	for i := range rows {
		m := write.NewMutation()
		m.Set("f", "other", cells.I64(1))
		if v := of(i); v.Type().Valid() {
			m.Set("f", "v", v)
		}
		if err := db.Table("s").Apply(t.Context(), fmt.Sprintf("%c#%04d", 'a'+i%3, i), m); err != nil {
			t.Fatal(err)
		}
	}
	draw := func(statement string) string {
		st, err := ql.Parse(statement)
		if err != nil {
			t.Fatal(err)
		}
		res, err := r.Run(t.Context(), st)
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(res.(*exec.Listing).Lines)
	}
	for _, q := range []struct{ statement, want string }{
		{"aggregate s count group by f:v", "[[<nil> 200] [NaN 400] [-Inf 200] [0 400] [1.5 200] [2 200] [+Inf 200] [a 200] [true 200]]"},
		{"aggregate s count group by f:v top 3 by count", "[[NaN 400] [0 400] [<nil> 200]]"},
		{"aggregate s min(f:v), max(f:v), distinct(f:v) where f:v < 5", "[[-Inf 2 4]]"},
		{"aggregate s min(f:v), max(f:v)", "[[NaN true]]"},
		{"aggregate s max(f:v) group by f:v top 9 by max(f:v)", "[[true true] [a a] [+Inf +Inf] [2 2] [1.5 1.5] [0 0] [-Inf -Inf] [NaN NaN]]"},
	} {
		for range 5 {
			if got := draw(q.statement); got != q.want {
				t.Fatalf("%s: %s, want %s", q.statement, got, q.want)
			}
		}
	}
	byKey := slices.Collect(func(yield func(int) bool) {
		for i := range rows {
			if of(i).Type().Valid() && !yield(i) {
				return
			}
		}
	})
	key := func(i int) string { return fmt.Sprintf("%c#%04d", 'a'+i%3, i) }
	slices.SortFunc(byKey, func(a, b int) int { return cmp.Or(-cells.Order(of(a), of(b)), cmp.Compare(key(a), key(b))) })
	for _, top := range []int{1, 3, 250, 2000} { // rows without the column are not there
		var want []string
		for _, i := range byKey[:top] {
			want = append(want, key(i))
		}
		st, err := ql.Parse(fmt.Sprintf("aggregate s max(f:v) group by key top %d by max(f:v)", top))
		if err != nil {
			t.Fatal(err)
		}
		res, err := r.Run(t.Context(), st)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, line := range res.(*exec.Listing).Lines {
			got = append(got, strings.Trim(fmt.Sprint(line[0]), `"`))
		}
		if !slices.Equal(got, want) {
			t.Errorf("top %d: %.300q, want %.300q", top, got, want)
		}
	}
}
