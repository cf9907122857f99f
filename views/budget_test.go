package views_test

import (
	"fmt"
	"testing"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/sql"
	"github.com/smolwc/smolwc/views"
)

// within runs a query within a budget, and is what it was expected to read and what it has read.
func within(t *testing.T, v *views.Views, text string, b sql.Budget) (estimate, spent sql.Amount, err error) {
	t.Helper()
	q, err := sql.Parse(text)
	must(t, err)
	res, err := v.Bounded(t.Context(), q, b)
	if err != nil {
		if res == nil {
			t.Fatalf("%s: %v", text, err)
		}
		return res.Estimate, res.Meter.Spent(), err
	}
	for _, err := range res.Rows {
		if err != nil {
			return res.Estimate, res.Meter.Spent(), err
		}
	}
	return res.Estimate, res.Meter.Spent(), nil
}

// Whatever the shape of a query, the estimate is at least what it reads, a budget of what it
// reads lets it run, and one of a row less ends it, before it runs or while.
func TestEstimatesAreNotBelowWhatIsRead(t *testing.T) {
	db := openTable(t, "")
	v := views.Of(db)
	for i := range 300 {
		put(t, db, fmt.Sprintf("a%04d", i))
	}
	put(t, db, "b1", "b2", "b3")
	must(t, v.Create(t.Context(), views.View{Name: "bs", SQL: "SELECT _key, f['x'] AS x FROM t WHERE STARTS_WITH(_key, 'b')"}))
	for _, test := range []struct {
		text string
		rows int64 // read
	}{
		{"SELECT 1", 0},
		{"SELECT _key FROM t", 303},
		{"SELECT COUNT(*) FROM t", 303},
		{"SELECT _key FROM t LIMIT 7", 7},
		{"SELECT _key FROM t LIMIT 7 OFFSET 3", 10},
		{"SELECT _key FROM t WHERE _key = 'a0007'", 1},
		{"SELECT _key FROM t WHERE STARTS_WITH(_key, 'a00')", 100},
		{"SELECT _key FROM t WHERE f['x'] = 'no'", 303}, // the engine would leave all out
		{"SELECT _key FROM t WHERE f['no'] = 'x'", 303},
		{"SELECT f['x'], COUNT(*) FROM t GROUP BY 1", 303},
		{"SELECT _key, ROW_NUMBER() OVER (ORDER BY _key DESC) FROM t", 303},
		{"SELECT COUNT(*) FROM bs", 3},
		{"SELECT a._key FROM bs AS a CROSS JOIN bs AS b", 6},
		{"SELECT a._key FROM bs AS a JOIN t AS b ON a._key = b._key", 6},
		{"SELECT a._key FROM t AS a JOIN t AS b ON a.f['x'] = b.f['x'] WHERE a._key = 'b1'", 304},
		{"SELECT _key FROM bs UNION ALL SELECT _key FROM t", 306},
		{"SELECT _key FROM bs WHERE _key IN (SELECT _key FROM t)", 306},
		{"SELECT _key, (SELECT COUNT(*) FROM t AS i WHERE i._key < o._key) FROM bs AS o", 906},
		{"SELECT _key, EXISTS(SELECT 1 FROM t AS i WHERE i.f['x'] = o.x) FROM bs AS o", 306},
		{"WITH w AS (SELECT _key FROM t) SELECT COUNT(*) FROM w AS a JOIN w AS b USING (_key)", 606},
	} {
		estimate, spent, err := within(t, v, test.text, sql.Budget{Rows: 1 << 40, Bytes: 1 << 50})
		if err != nil || spent.Rows != test.rows {
			t.Errorf("%s: %d rows were read, want %d; %v", test.text, spent.Rows, test.rows, err)
		}
		if estimate.Rows < spent.Rows || estimate.Bytes < spent.Bytes {
			t.Errorf("%s: the estimate is %+v, and %+v was read", test.text, estimate, spent)
		}
		if _, _, err := within(t, v, test.text, sql.Budget{Rows: max(estimate.Rows, 1), Bytes: max(estimate.Bytes, 1)}); err != nil {
			t.Errorf("%s: within its estimate: %v", test.text, err)
		}
		if spent.Rows > 1 {
			_, less, err := within(t, v, test.text, sql.Budget{Rows: spent.Rows - 1, Bytes: 1 << 50})
			if query.KindOf(err) != query.KindResourceExhausted || less.Rows > 0 && estimate.Exact {
				t.Errorf("%s: with a row less it reads %d, %v", test.text, less.Rows, err)
			}
			if _, _, err = within(t, v, test.text, sql.Budget{Rows: 1 << 40, Bytes: spent.Bytes - 1}); query.KindOf(err) != query.KindResourceExhausted {
				t.Errorf("%s: with a byte less: %v", test.text, err)
			}
		}
	}
}

// A part of a table is counted where the figures of the files are too coarse to tell it from the
// rows around; the whole of it is refused by them alone.
func TestPartOfALargeTableIsWithinABudget(t *testing.T) {
	db := openTable(t, "")
	v := views.Of(db)
	var keys []string
	m := write.NewMutation()
	m.Set("f", "x", cells.String("value"))
	var ms []*write.Mutation
	for i := range 20_000 {
		keys, ms = append(keys, fmt.Sprintf("k%05d", i)), append(ms, m)
	}
	_, err := db.Table("t").ApplyBulk(t.Context(), keys, ms)
	must(t, err)
	budget := sql.Budget{Rows: 1000, Bytes: 1 << 20}
	estimate, spent, err := within(t, v, "SELECT _key FROM t", budget)
	if query.KindOf(err) != query.KindResourceExhausted || spent.Rows != 0 || estimate.Rows < 10_000 || estimate.Rows > 40_000 {
		t.Errorf("the whole table: %+v, %v", estimate, err)
	}
	if _, spent, err = within(t, v, "SELECT _key FROM t WHERE STARTS_WITH(_key, 'k01')", budget); err != nil || spent.Rows != 1000 {
		t.Errorf("a part within the budget: %d rows, %v", spent.Rows, err)
	}
	if _, spent, err = within(t, v, "SELECT _key FROM t WHERE _key BETWEEN 'k01' AND 'k021'", budget); query.KindOf(err) != query.KindResourceExhausted || spent.Rows != 0 {
		t.Errorf("a part beyond the budget: %d rows, %v", spent.Rows, err)
	}
}
