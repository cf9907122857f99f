package exec_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/smolwc/smolwc/ql"
	"github.com/smolwc/smolwc/ql/exec"
	"github.com/smolwc/smolwc/query"
)

// cancelsAfter is a context that ends some time after the first transactions.
type cancelsAfter struct {
	context.Context
	left int
}

func (c *cancelsAfter) Err() error {
	if c.left--; c.left < 0 {
		return context.Canceled
	}
	return c.Context.Err()
}

// A statement that changes many rows says how far it came, and after= goes on there.
func TestAChangeOfManyRowsGoesOnAfterAnInterruption(t *testing.T) {
	db := openMemory(t)
	r := &exec.Runner{DB: db}
	runAll(t, r, "create table many family a, family f")
	const rows = 1700
	putRows(t, db, "many", "row", rows)
	change := "put many a:new=1 where key like 'row%'"
	st, err := ql.Parse(change + " yes")
	if err != nil {
		t.Fatal(err)
	}
	after := ""
	for left := 4; after == ""; left += 1 + left/8 {
		_, err := r.Run(&cancelsAfter{t.Context(), left}, st)
		if err == nil {
			t.Fatal("no interruption came between two transactions")
		}
		if _, rest, ok := strings.Cut(err.Error(), "after="); ok {
			if strings.HasPrefix(rest, `""`) || strings.HasPrefix(rest, " ") {
				t.Fatalf("nothing was changed yet, and the statement would go on after no key: %v", err)
			}
			after, _, _ = strings.Cut(rest, " goes on")
		}
	}
	changed := countWhere(t, db, "count many where a:new exists")
	if changed == 0 || changed >= rows {
		t.Fatalf("%d rows were changed before the interruption", changed)
	}
	if got, want := runAll(t, r, fmt.Sprintf("%s after=%s yes", change, after)), fmt.Sprintf("put 1 cell in each of %d rows of many\n", rows-changed); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if n := countWhere(t, db, "count many where a:new == 1"); n != rows {
		t.Errorf("%d rows were changed", n)
	}
}

// A copy in batches that was interrupted says how it goes on. One that adds to aggregates
// does not: it would add cells twice.
func TestACopyThatAddsDoesNotGoOnAfterAnInterruption(t *testing.T) {
	db := openMemory(t)
	r := &exec.Runner{DB: db}
	runAll(t, r, "create table many family f; create table sums change_stream=1d family n aggregate=sum, family f")
	putRows(t, db, "many", "row", 2500)
	for copied, goesOn := range map[string]bool{"f:*": true, "f:* as n:*": false} {
		st, err := ql.Parse("copy table many to sums columns=" + copied + " overlap")
		if err != nil {
			t.Fatal(err)
		}
		message := ""
		for left := 4; !strings.Contains(message, "rows up to"); left += 1 + left/8 {
			_, err := r.Run(&cancelsAfter{t.Context(), left}, st)
			if err == nil {
				t.Fatal("no interruption came between two batches")
			}
			message = err.Error()
			if begun := strings.Contains(message, "apply bulk"); !goesOn && begun && !strings.Contains(message, "added twice") {
				t.Errorf("%s: %s", copied, message)
			}
		}
		if strings.Contains(message, "goes on") != goesOn || strings.Contains(message, "begin again with a new table") == goesOn {
			t.Errorf("%s: %s", copied, message)
		}
	}
}

func countWhere(t *testing.T, db *query.DB, statement string) int64 {
	t.Helper()
	st, err := ql.Parse(statement)
	if err != nil {
		t.Fatal(err)
	}
	res, err := (&exec.Runner{DB: db}).Run(t.Context(), st)
	if err != nil {
		t.Fatal(err)
	}
	return res.(*exec.Counted).Rows
}

// A sample has as many rows as it is asked for, each once, of those that satisfy the
// conditions, in the order of keys; and every row is drawn at some time.
func TestSamples(t *testing.T) {
	db := openMemory(t)
	r := &exec.Runner{DB: db}
	runAll(t, r, "create table many family a, family f")
	putRows(t, db, "many", "row", 20)
	putRows(t, db, "many", "zz", 5)
	drawn := map[string]bool{}
	draw := func(statement string) (keys []string) {
		st, err := ql.Parse(statement)
		if err != nil {
			t.Fatal(err)
		}
		res, err := r.Run(t.Context(), st)
		if err != nil {
			t.Fatal(err)
		}
		for row, err := range res.(*exec.RowStream).All() {
			if err != nil {
				t.Fatal(err)
			}
			keys = append(keys, row.Key())
		}
		return keys
	}
	for range 200 {
		keys := draw("sample many 7 prefix=row")
		if len(keys) != 7 || !slices.IsSorted(keys) || len(slices.Compact(keys)) != 7 || !strings.HasPrefix(keys[6], "row") {
			t.Fatalf("the sample is %q", keys)
		}
		for _, k := range keys {
			drawn[k] = true
		}
	}
	if len(drawn) != 20 {
		t.Errorf("%d of 20 rows were drawn", len(drawn))
	}
	if n := len(draw("sample many")); n != 10 {
		t.Errorf("%d rows, want 10", n)
	}
	if n := len(draw("sample many 100 where key like 'zz%'")); n != 5 {
		t.Errorf("%d rows, want 5", n)
	}
	if n := len(draw("sample many where f:none exists")); n != 0 {
		t.Errorf("%d rows, want no row", n)
	}
}
