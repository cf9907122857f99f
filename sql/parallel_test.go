package sql_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync"
	"testing"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	reads "github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/schema"
	"github.com/smolwc/smolwc/sql"
)

// parted is a table of numbered rows whose parallel reads have this many parts, all at
// the same time. With none, it fails parallel reads.
type parted struct {
	rows, parts int
}

func (p parted) between(from, to int) iter.Seq2[*query.Row, error] {
	return func(yield func(*query.Row, error) bool) {
		for i := from; i < to; i++ {
			row := query.NewRow(fmt.Sprintf("row %05d", i), []cells.Cell{
				{Family: "n", Qualifier: "i", Timestamp: 1, Value: cells.I64(int64(i))},
				{Family: "n", Qualifier: "kind", Timestamp: 1, Value: cells.I64(int64(i * 7919 % 13))},
			})
			if !yield(row, nil) {
				return
			}
		}
	}
}

func (p parted) ReadRows(context.Context, ...reads.Option) iter.Seq2[*query.Row, error] {
	return p.between(0, p.rows)
}

func (p parted) ReadPartsParallel(ctx context.Context, _ int, fn func(context.Context, int, iter.Seq2[*query.Row, error]) error, _ ...reads.Option) error {
	if p.parts == 0 {
		return errors.New("the query reads in parallel")
	}
	errs := make([]error, p.parts)
	var wait sync.WaitGroup
	for i := range p.parts {
		wait.Go(func() { errs[i] = fn(ctx, i, p.between(i*p.rows/p.parts, (i+1)*p.rows/p.parts)) })
	}
	wait.Wait()
	return errors.Join(errs...)
}

var numbers = schema.Table{Name: "t", Families: []schema.Family{{Name: "n", Type: cells.TypeI64}}}

// resultOn is the result of a query on a table, one row a line.
func resultOn(t testing.TB, table sql.Table, text string) (string, error) {
	t.Helper()
	return resultIn(t.Context(), t, table, text)
}

func resultIn(ctx context.Context, t testing.TB, table sql.Table, text string) (string, error) {
	t.Helper()
	q, err := sql.Parse(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	none, err := sql.Params{}.Bind(nil)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := q.On(numbers).Plan(none)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	var b strings.Builder
	for row, err := range plan.Result(ctx, sql.Only(table)).Rows {
		if err != nil {
			return "", err
		}
		fmt.Fprintln(&b, row...)
	}
	return b.String(), nil
}

// Groups that are computed in parts of the table are those of a single read, in the same
// order.
func TestPartsOfATableAreGroupedAtTheSameTime(t *testing.T) {
	for _, text := range []string{
		"SELECT COUNT(*) FROM t",
		"SELECT COUNT(*) FROM t WHERE n['i'] > 1000000",
		"SELECT SUM(n['i']), MIN(n['i']), MAX(n['i']), COUNTIF(n['i'] > 500), COUNT(n['none']) FROM t",
		"SELECT SUM(n['none']), MIN(n['none']), ANY_VALUE(n['i']), BIT_XOR(n['i']), LOGICAL_OR(n['i'] = 77) FROM t",
		"SELECT n['kind'], COUNT(*), ANY_VALUE(_key), SUM(n['i'] * 9000000000000) FROM t GROUP BY n['kind']",
		"SELECT _key, COUNT(*) FROM t GROUP BY _key HAVING COUNT(*) = 1 LIMIT 3",
		"SELECT n['kind'] AS k, COUNT(*) AS c FROM t GROUP BY k ORDER BY c DESC, k LIMIT 5",
		"FROM t |> WHERE n['i'] < 700 |> EXTEND n['i'] / 2 AS half |> AGGREGATE MAX(half) GROUP BY n['kind']",
		"SELECT x, COUNT(*) FROM t, UNNEST([1, 2, n['kind']]) AS x GROUP BY x",
	} {
		want, err := resultOn(t, parted{1000, 1}, text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if want == "" && !strings.Contains(text, "HAVING") {
			t.Errorf("%s: has no rows", text)
		}
		for _, parts := range []int{2, 7, 1500} {
			if got, err := resultOn(t, parted{1000, parts}, text); got != want || err != nil {
				t.Errorf("%s: in %d parts it is\n%s, %v\nand in one\n%s", text, parts, got, err, want)
			}
		}
		if _, err := resultOn(t, parted{1000, 0}, text); err == nil {
			t.Errorf("%s: does not read in parallel", text)
		}
	}
	for _, text := range []string{
		"SELECT COUNT(DISTINCT n['kind']) FROM t",
		"SELECT STRING_AGG(CAST(n['i'] AS STRING)) FROM t",
		"SELECT SUM(n['i'] / 2) FROM t",
		"SELECT n['i'] FROM t ORDER BY n['kind'] LIMIT 3",
	} {
		if _, err := resultOn(t, parted{1000, 0}, text); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	plan, err := resultOn(t, parted{}, "EXPLAIN SELECT COUNT(*) FROM t")
	if err != nil || !strings.Contains(plan, "parts of the table on all processors") {
		t.Errorf("the plan is\n%s, %v", plan, err)
	}
}

// Runs of one plan at the same time share what is the same for every row, and nothing else.
func TestRunsShareAPlan(t *testing.T) {
	db := openPlanes(t)
	for _, text := range []string{
		"SELECT _key, f['model'] FROM t WHERE f['model'] LIKE CONCAT(b'75', b'%') OR n['i'] IN (1, 2, 3, 4, 5, 6, 7, 1 + 7)",
		"SELECT n['i'] AS i, COUNT(*), STRING_AGG(f['model'], CONCAT(b'-', b'-')) FROM t GROUP BY i ORDER BY i LIMIT 3",
		"SELECT g['even'] AS e, COUNT(DISTINCT f['model']), MAX(n['i']) FROM t WHERE LENGTH(_key) IN (LENGTH('ab'), LENGTH('abc'), 7, 8, 9, 10, 11, 12) GROUP BY e",
		"FROM t |> EXTEND ARRAY_FILTER(GENERATE_ARRAY(1, 10), e -> e > n['i']) AS a |> CROSS JOIN UNNEST(a) AS x |> WHERE x IN UNNEST(GENERATE_ARRAY(1, 5)) |> AGGREGATE SUM(x)",
		"EXPLAIN SELECT _key FROM t WHERE _key > CONCAT(b'a', b'1')",
	} {
		plan, err := db.plan(text)
		if err != nil {
			t.Fatal(err)
		}
		run := func() (string, error) {
			var rows []string
			for values, err := range plan.Result(t.Context(), sql.Only(db.db.Table("t"))).Rows {
				if err != nil {
					return "", err
				}
				rows = append(rows, fmt.Sprint(values))
			}
			return strings.Join(rows, "\n"), nil
		}
		answers := make([]string, 8)
		var all sync.WaitGroup
		for i := range answers {
			all.Go(func() {
				var err error
				if answers[i], err = run(); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		fresh, err := db.plan(text)
		if err != nil {
			t.Fatal(err)
		}
		plan = fresh
		want, err := run()
		if err != nil || want == "" {
			t.Fatalf("%s: %q, %v", text, want, err)
		}
		for _, got := range answers {
			if got != want {
				t.Errorf("%s: a run beside others has\n%s\nand one by itself\n%s", text, got, want)
			}
		}
	}
}
