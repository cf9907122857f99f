package sql_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
	"github.com/smolwc/smolwc/sql"
)

// duckdbScript answers each query, a line, by a line: rows of texts as JSON, or an error.
const duckdbScript = `
import json, sys, duckdb
db = duckdb.connect()
db.execute("SET threads = 1")
db.execute("SET enable_progress_bar = false")
def text(v):
    if v is None: return "NULL"
    if v is True: return "true"
    if v is False: return "false"
    if isinstance(v, float): return repr(v)
    return str(v)
for line in sys.stdin:
    try:
        answer = {"Rows": [[text(v) for v in row] for row in db.execute(json.loads(line)).fetchall()]}
    except Exception as e:
        answer = {"Error": str(e)}
    print(json.dumps(answer), flush=True)
`

// A fruit is a row of the table that both engines have. A number of -1 is a missing cell,
// and so is an empty text.
type fruit struct {
	key, name, note          string
	size, cost, big, day, at int64
	weight                   float64
}

func fruits() (all []fruit) {
	names := []string{"apple", "Pear", "fig", "", "apple", "Éclair", "a%b_p", " pea ", "12", "-7"}
	notes := []string{"", "a p", "naïve", "pp", "0", "+5 "}
	bigs := []int64{-1, math.MaxInt64, math.MinInt64, 1 << 62, -1 << 31, 1<<53 + 1, 255}
	for i := range int64(40) {
		all = append(all, fruit{fmt.Sprintf("k%02d", i), names[i%10], notes[i*5%6], i*7%11 - 1, i*i%13 - 1, bigs[i%7],
			i*1789%30000 - 1, i*123456789123%4_000_000_000_000 - 1, float64(i%9)/2 - 0.5})
	}
	return all
}

func openFruits(t *testing.T) (db *planes, duckdb []string) {
	d, err := query.OpenInMemory(query.Options{Schema: &schema.Schema{Tables: []schema.Table{{Name: "t", Families: []schema.Family{
		{Name: "s", Type: cells.TypeString}, {Name: "n", Type: cells.TypeI64}, {Name: "w", Type: cells.TypeF64}}}}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	duckdb = []string{"CREATE TABLE t (key VARCHAR, name VARCHAR, note VARCHAR, size BIGINT, cost BIGINT, big BIGINT, day BIGINT, moment BIGINT, weight DOUBLE)"}
	for _, f := range fruits() {
		m := write.NewMutation()
		values := []string{"'" + f.key + "'"}
		for i, text := range []string{f.name, f.note} {
			if text == "" {
				values = append(values, "NULL")
				continue
			}
			m.SetAt("s", []string{"name", "note"}[i], 1000, cells.String(text))
			values = append(values, "'"+text+"'")
		}
		for i, n := range []int64{f.size, f.cost, f.big, f.day, f.at} {
			if n == -1 {
				values = append(values, "NULL")
				continue
			}
			m.SetAt("n", []string{"size", "cost", "big", "day", "at"}[i], 1000, cells.I64(n))
			values = append(values, fmt.Sprint(n))
		}
		m.SetAt("w", "weight", 1000, cells.F64(f.weight))
		if err := d.Table("t").Apply(context.Background(), f.key, m); err != nil {
			t.Fatal(err)
		}
		duckdb = append(duckdb, "INSERT INTO t VALUES ("+strings.Join(append(values, fmt.Sprint(f.weight)), ", ")+")")
	}
	return &planes{t: t, db: d}, duckdb
}

// known are the errors that an expression of both engines can have.
var known = regexp.MustCompile(`(?i)overflow|division by zero|out of (its )?range|is not a (DATE|TIMESTAMP)|has no DATE|Date out|cannot be cast to`)

// Random queries have the result that DuckDB has, in plain and in pipe syntax. DuckDB is
// Python's module; without it the test is skipped. More queries: -rapid.checks=10000.
func TestQueriesAreThoseOfDuckDB(t *testing.T) {
	db, setup := openFruits(t)
	ask := startDuckDB(t)
	for _, statement := range setup {
		if answer := ask(statement); answer.Error != "" {
			t.Fatalf("DuckDB refuses %s: %s", statement, answer.Error)
		}
	}
	compared, failed := 0, 0
	sql.SortIn(t, 0, 1<<30, t.TempDir())
	rapid.Check(t, func(t *rapid.T) {
		sql.SetMemory(rapid.SampledFrom([]int{1, 500, 2_000, 1 << 20}).Draw(t, "memory")) // beyond it there are files
		q := maker{t}.query()
		got, err := db.run(q.here)
		want := ask(q.duck)
		switch {
		case (err == nil || known.MatchString(err.Error())) && (want.Error == "" || known.MatchString(want.Error)) && (err != nil || want.Error != ""):
			failed++
			return // also in one alone: each may leave out what the result does not need
		case err != nil || want.Error != "":
			t.Fatalf("%s\n%s\nhere   %q, %v\nDuckDB %q, %s", q.here, q.duck, got, err, want.Rows, want.Error)
		}
		compared++
		var lines []string
		for _, row := range want.Rows {
			lines = append(lines, strings.Join(row, " "))
		}
		if !sameLines(strings.Split(got, "\n"), lines, q.ordered) && (got != "" || len(lines) > 0) {
			t.Fatalf("%s\n%s\nhere   %q\nDuckDB %q", q.here, q.duck, got, strings.Join(lines, "\n"))
		}
		if q.pipes == "" {
			return
		}
		if piped, err := db.run(q.pipes); err != nil || !sameLines(strings.Split(piped, "\n"), strings.Split(got, "\n"), q.ordered) {
			t.Fatalf("%s\n%s\nplain %q\npipes %q, %v", q.here, q.pipes, got, piped, err)
		}
	})
	if t.Logf("%d queries have the same result, and %d an error", compared, failed); compared <= failed {
		t.Error("too few queries were compared")
	}
}

// An answer is DuckDB's.
type answer struct {
	Rows  [][]string
	Error string
}

// startDuckDB starts a process that answers queries. It skips the test if there is no DuckDB.
func startDuckDB(t *testing.T) func(string) answer {
	python := cmp.Or(os.Getenv("SMOLWC_TEST_PYTHON"), "python3")
	if err := exec.Command(python, "-c", "import duckdb").Run(); err != nil {
		t.Skipf("%s has no module duckdb, with which queries are compared; SMOLWC_TEST_PYTHON names a Python that has it", python)
	}
	cmd := exec.Command(python, "-c", duckdbScript)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Wait()
	})
	to, from := json.NewEncoder(in), json.NewDecoder(out)
	return func(statement string) (a answer) {
		if err := to.Encode(statement); err != nil {
			t.Fatal(err)
		}
		if err := from.Decode(&a); err != nil {
			t.Fatal(err)
		}
		return a
	}
}

// sameLines compares lines of values; numbers with a fraction are equal within the rounding
// of a sum.
func sameLines(a, b []string, ordered bool) bool {
	a, b = rounded(a), rounded(b)
	if !ordered {
		slices.Sort(a)
		slices.Sort(b)
	}
	return slices.Equal(a, b)
}

func rounded(lines []string) (all []string) {
	for _, line := range lines {
		words := strings.Split(line, " ")
		for i, word := range words {
			if f, err := strconv.ParseFloat(word, 64); err == nil && (len(word) <= 12 || strings.ContainsAny(word, ".e")) {
				words[i] = strconv.FormatFloat(f+0, 'g', 12, 64) // -0 + 0 is 0
			}
		}
		all = append(all, strings.Join(words, " "))
	}
	return all
}
