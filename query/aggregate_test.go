package query_test

import (
	"context"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/filter"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
)

const hitsYAML = `
tables:
  - name: hits
    families:
      - {name: pages, aggregate: sum}
      - {name: first, aggregate: min, type: i64}
      - {name: last, aggregate: max}
      - {name: users, aggregate: hll}
      - {name: hourly, aggregate: sum, max_age: 1d}
      - {name: recent, aggregate: sum, max_versions: 2}
      - {name: plain}
`

func openHits(t testing.TB, dir string) *query.DB {
	t.Helper()
	declared, err := schema.Parse([]byte(hitsYAML))
	if err != nil {
		t.Fatal(err)
	}
	o := query.Options{Schema: declared, Durability: query.DurabilityAsync, Memory: 16 << 20}
	var db *query.DB
	if dir == "" {
		db, err = query.OpenInMemory(o)
	} else {
		db, err = query.Open(dir, o)
	}
	if err != nil {
		t.Fatal(err)
	}
	return db
}

// add makes one mutation of adds to the empty qualifier of families.
func add(t testing.TB, db *query.DB, row string, adds ...any) {
	t.Helper()
	m := write.NewMutation()
	for i := 0; i < len(adds); i += 2 {
		m.Add(adds[i].(string), "", adds[i+1].(cells.Value))
	}
	if err := db.Table("hits").Apply(context.Background(), row, m); err != nil {
		t.Fatal(err)
	}
}

// shownRow is a row's cells as text, "absent" for a row without cells.
func shownRow(t testing.TB, db *query.DB, row string, opts ...read.Option) string {
	t.Helper()
	r, err := db.Table("hits").ReadRow(context.Background(), row, opts...)
	if err != nil {
		t.Fatal(err)
	}
	if r == nil {
		return "absent"
	}
	var shown []string
	for c := range r.Cells() {
		shown = append(shown, fmt.Sprintf("%s@%d=%s", c.Column(), c.Timestamp, c.Value))
		if c.Value.Type() != cells.TypeI64 {
			t.Errorf("%s is of type %s", c.Column(), c.Value.Type())
		}
	}
	return strings.Join(shown, " ")
}

func TestAddsAccumulate(t *testing.T) {
	db := openHits(t, "")
	defer db.Close()
	for _, n := range []int64{3, -10, 9} {
		add(t, db, "r", "pages", cells.I64(n), "first", cells.I64(n), "last", cells.I64(n))
	}
	for _, v := range []cells.Value{cells.String("x"), cells.Bytes([]byte("x")), cells.String("x"), cells.Bool(true),
		cells.I64(1), cells.Byte(1), cells.I32(1), cells.F32(1), cells.F64(1), cells.F64(math.Copysign(0, -1)), cells.I64(0), cells.F32(0.5), cells.F64(0.5),
		cells.F64(math.NaN()), cells.F32(float32(math.NaN())), cells.F64(math.Inf(1)), cells.String("")} {
		add(t, db, "r", "users", v) // "x", x, true, 1, 0, 0.5, NaN, Inf, ""
	}
	const want = "first:@0=-10 last:@0=9 pages:@0=2 users:@0=9"
	if got := shownRow(t, db, "r"); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	for _, test := range []struct {
		opt   read.Option
		found bool
	}{
		{read.Where("users", "", cells.OpEqual, cells.I64(9)), true},
		{read.Where("users", "", cells.OpGreater, cells.I64(9)), false},
		{read.Where("pages", "", cells.OpLess, cells.F64(2.5)), true},
		{read.Exists("users", ""), true},
		{read.Filter(filter.Chain{filter.Family("users"), filter.Value(`\x00{7}\x09`)}), true},
		{read.Filter(filter.Chain{filter.Family("users"), filter.StripValue{}}), true},
		{read.KeysOnly(), true},
	} {
		n, err := db.Table("hits").Count(context.Background(), test.opt)
		if err != nil || (n.Rows == 1) != test.found {
			t.Errorf("%v rows, %v; want one: %t", n.Rows, err, test.found)
		}
	}
	_, err := db.Table("hits").Count(context.Background(), read.Where("users", "", cells.OpEqual, cells.String("x")))
	if query.KindOf(err) != query.KindInvalidArgument {
		t.Errorf("a number of users compared with text: %v", err)
	}
}

// A sum of any size is exact, and is shown as the nearest i64.
func TestSumsBeyondI64(t *testing.T) {
	db := openHits(t, "")
	defer db.Close()
	hits, ctx := db.Table("hits"), context.Background()
	for i, step := range []struct{ add, want int64 }{
		{math.MaxInt64, math.MaxInt64}, {math.MaxInt64, math.MaxInt64}, {1, math.MaxInt64}, {-1, math.MaxInt64},
		{math.MinInt64, math.MaxInt64 - 1}, {math.MinInt64, -2}, {math.MinInt64, math.MinInt64}, {math.MaxInt64, -3},
	} {
		add(t, db, "r", "pages", cells.I64(step.add))
		if i%2 == 1 {
			if err := hits.Flush(ctx); err != nil {
				t.Fatal(err)
			}
		}
		row, err := hits.ReadRow(ctx, "r")
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := row.I64("pages", ""); got != step.want {
			t.Errorf("after %d: %d, want %d", step.add, got, step.want)
		}
	}
}

func TestAddsRefused(t *testing.T) {
	db := openHits(t, "")
	defer db.Close()
	hits, ctx := db.Table("hits"), context.Background()
	apply := func(f func(m *write.Mutation)) error {
		m := write.NewMutation()
		f(m)
		return hits.Apply(ctx, "r", m)
	}
	increment := func() error { _, err := hits.Increment(ctx, "r", "pages", "n", 1); return err }
	appending := func() error {
		m := write.NewReadModifyWrite()
		m.AppendValue("users", "n", []byte("x"))
		_, err := hits.ApplyReadModifyWrite(ctx, "r", m)
		return err
	}
	one := cells.I64(1)
	for _, test := range []struct {
		err  error
		want string
	}{
		{apply(func(m *write.Mutation) { m.Add("plain", "n", one) }), "plain:n: family plain has no aggregate and cannot be added to"},
		{apply(func(m *write.Mutation) { m.Set("pages", "n", one) }), "pages:n: family pages has the aggregate sum: it can be added to and not set"},
		{apply(func(m *write.Mutation) { m.SetAt("users", "n", 0, one) }), "users:n: family users has the aggregate hll: it can be added to and not set"},
		{increment(), "pages:n: family pages has the aggregate sum: it can be added to, and you cannot increment it"},
		{appending(), "users:n: family users has the aggregate hll: it can be added to, and you cannot append to it"},
		{apply(func(m *write.Mutation) { m.Add("first", "n", cells.I32(1)) }), "first:n: family first has the min of i64 and cannot take i32 1"},
		{apply(func(m *write.Mutation) { m.Add("users", "n", cells.Value{}) }), "users:n: value has no type"},
		{apply(func(m *write.Mutation) { m.AddAt("users", "n", -1, one) }), "users:n: timestamp -1"},
		{apply(func(m *write.Mutation) { m.Add("hourly", "n", one) }), "hourly:n: family hourly keeps cells for 1d, so a cell at timestamp 0 has expired"},
		{apply(func(m *write.Mutation) { m.Add("pages", "n", one); m.Add("plain", "n", one) }), "plain:n: "},
		{apply(func(m *write.Mutation) { m.MergeAt("pages", "n", 1, []byte("\x01\x00abcdefgh")) }), "pages:n: sketches are merged into families with the aggregate hll; pages has sum"},
		{apply(func(m *write.Mutation) { m.MergeAt("users", "n", 1, []byte("\x01\x00abcdefghabcdefgh")) }), "users:n: the merged value is not a sketch of distinct values: hash 1 is not greater than the one before"},
		{apply(func(m *write.Mutation) { m.MergeAt("users", "n", -1, []byte("\x01\x00abcdefgh")) }), "users:n: timestamp -1"},
	} {
		if query.KindOf(test.err) != query.KindInvalidArgument || !strings.Contains(fmt.Sprint(test.err), test.want) {
			t.Errorf("got %v, want an invalid argument: %s", test.err, test.want)
		}
	}
	if got := shownRow(t, db, "r"); got != "absent" {
		t.Errorf("what was refused left %s", got)
	}
}

// Each timestamp has its own aggregate, and retention drops whole aggregates.
func TestAddsByTimestamp(t *testing.T) {
	db := openHits(t, "")
	defer db.Close()
	hour := cells.Timestamp(time.Hour.Microseconds())
	now := cells.Timestamp(time.Now().UnixMicro()) / hour * hour
	m := write.NewMutation()
	for i := range 60 {
		ts := now - cells.Timestamp(i/2)*hour
		m.AddAt("hourly", "", ts, cells.I64(int64(i)))
		m.AddAt("recent", "", ts, cells.I64(int64(i)))
	}
	if err := db.Table("hits").Apply(context.Background(), "r", m); err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf("recent:@%d=1 recent:@%d=5", now, now-hour)
	if got := shownRow(t, db, "r", read.Family("recent")); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	n, err := db.Table("hits").Count(context.Background(), read.Family("hourly"))
	if err != nil || n.Cells != 24 && n.Cells != 25 { // the hour may change meanwhile
		t.Errorf("%d hours, %v; want 24", n.Cells, err)
	}
}

func TestAddsInTransactionsAndConditions(t *testing.T) {
	db := openHits(t, "")
	defer db.Close()
	ctx := context.Background()
	add(t, db, "r", "pages", cells.I64(5), "users", cells.String("a"))
	err := db.Update(ctx, func(tx *query.Tx) error {
		for i := range int64(3) {
			m := write.NewMutation()
			m.Add("pages", "", cells.I64(10))
			m.Add("users", "", cells.I64(i))
			m.Add("last", "new", cells.I64(i))
			if err := tx.Apply(ctx, "hits", "r", m); err != nil {
				return err
			}
			row, err := tx.ReadRow(ctx, "hits", "r")
			if err != nil {
				return err
			}
			pages, _ := row.I64("pages", "")
			users, _ := row.I64("users", "")
			last, ok := row.I64("last", "new")
			if pages != 15+10*i || users != 2+i || last != i || !ok {
				t.Errorf("in the transaction: %d pages, %d users, last %d", pages, users, last)
			}
		}
		m := write.NewMutation()
		m.DeleteCellsInFamily("users")
		m.Add("users", "", cells.I64(7))
		m.Add("users", "", cells.I64(8))
		return tx.Apply(ctx, "hits", "r", m)
	})
	if err != nil {
		t.Fatal(err)
	}
	m := write.NewMutation()
	m.Add("pages", "", cells.I64(100))
	matched, err := db.Table("hits").CheckAndMutate(ctx, "r", read.Where("users", "", cells.OpEqual, cells.I64(2)), m, nil)
	if err != nil || !matched {
		t.Errorf("matched %t, %v", matched, err)
	}
	const want = "last:new@0=2 pages:@0=135 users:@0=2"
	if got := shownRow(t, db, "r"); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestAggregateCannotChangeOverData(t *testing.T) {
	db := openHits(t, "")
	defer db.Close()
	ctx := context.Background()
	sum := schema.Family{Name: "pages", Aggregate: schema.AggregateSum}
	for _, to := range []schema.Aggregate{schema.AggregateMax, schema.AggregateSum} {
		if err := db.SetFamily(ctx, "hits", schema.Family{Name: "pages", Aggregate: to}); err != nil {
			t.Errorf("an empty family cannot have %s: %v", to, err)
		}
	}
	add(t, db, "r", "pages", cells.I64(1))
	for _, to := range []schema.Aggregate{schema.NoAggregate, schema.AggregateMax} {
		err := db.SetFamily(ctx, "hits", schema.Family{Name: "pages", Aggregate: to})
		if query.KindOf(err) != query.KindFailedPrecondition || !strings.Contains(err.Error(), "its aggregate cannot become "+to.String()+" from sum") {
			t.Errorf("to %s: %v", to, err)
		}
	}
	sum.Type = cells.TypeI64 // it changes nothing
	if err := db.SetFamily(ctx, "hits", sum); err != nil {
		t.Error(err)
	}
}

// Adds of many goroutines, with conditional changes among them: none is lost.
func TestConcurrentAdds(t *testing.T) {
	db := openHits(t, "")
	defer db.Close()
	ctx := context.Background()
	const workers, each = 8, 200
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for i := range each {
				m := write.NewMutation()
				m.Add("pages", "", cells.I64(1))
				m.Add("users", "", cells.I64(int64(w*each/2+i)))
				var err error
				if i%10 == 0 {
					_, err = db.Table("hits").CheckAndMutate(ctx, "r", read.Exists("pages", ""), m, m)
				} else {
					err = db.Table("hits").Apply(ctx, "r", m)
				}
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	want := fmt.Sprintf("pages:@0=%d users:@0=%d", workers*each, (workers+1)*each/2)
	if got := shownRow(t, db, "r"); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// The estimate of distinct values is exact up to 2,048 and within three standard
// errors, 2.4 %, of the truth beyond; the order in which they come, and how often, does
// not matter.
func TestDistinctCounts(t *testing.T) {
	db := openHits(t, "")
	defer db.Close()
	hits, ctx := db.Table("hits"), context.Background()
	const most = 100_000
	checks := map[int]bool{1: true, 1000: true, 2048: true, 2049: true, 5000: true, 20_000: true, 50_000: true, most: true}
	m := write.NewMutation()
	for n := 1; n <= most; n++ {
		v := cells.String(fmt.Sprintf("user-%d", n))
		m.Add("users", "forward", v)
		if n%8 == 0 {
			m.Add("users", "forward", cells.String(fmt.Sprintf("user-%d", n/2)))
		}
		m.Add("users", "backward", cells.String(fmt.Sprintf("user-%d", most+1-n)))
		if n%4 == 0 {
			m.Add("users", []string{"a part", "another"}[n/4%2], v)
		}
		if m.Len() < 4000 && !checks[n] {
			continue
		}
		if err := hits.Apply(ctx, "r", m); err != nil {
			t.Fatal(err)
		}
		m = write.NewMutation()
		if !checks[n] {
			continue
		}
		row, err := hits.ReadRow(ctx, "r", read.Column("users", "forward"))
		if err != nil {
			t.Fatal(err)
		}
		got, _ := row.I64("users", "forward")
		if off := math.Abs(float64(got)/float64(n) - 1); off > 3*1.04/128 || n <= 2048 && got != int64(n) {
			t.Errorf("%d for %d: %.2f %% off", got, n, 100*off)
		}
	}
	if err := hits.Compact(ctx); err != nil {
		t.Fatal(err)
	}
	row, err := hits.ReadRow(ctx, "r")
	if err != nil {
		t.Fatal(err)
	}
	forward, _ := row.I64("users", "forward")
	if backward, _ := row.I64("users", "backward"); backward != forward {
		t.Errorf("%d forward and %d backward", forward, backward)
	}
	a, _ := row.I64("users", "a part")
	b, _ := row.I64("users", "another")
	if off := math.Abs(float64(a+b)/float64(most/4) - 1); off > 3*1.04/128 {
		t.Errorf("parts of %d and %d", a, b)
	}
}
