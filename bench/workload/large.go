package workload

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/smolwc/smolwc/bench/contest"
	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
)

// Large values, in the table files and apart from them, in blob files. smolwc is compared
// with itself: the setting blob_min_size is the user's choice.
func (e *Env) larges() (ws []contest.Workload) {
	for _, l := range []large{{"64KiB", 64 << 10}, {"1MiB", 1 << 20}} {
		ws = append(ws,
			contest.Workload{Name: "write/large-" + l.name, Unit: "value", Open: e.writingLarge(l),
				About: "values of " + l.name + " in random rows, each written twice on average, a KiB for each of -writes, the log not synced; with their times, and the bytes on the disk"},
			contest.Workload{Name: "get/large-" + l.name, Unit: "value", Open: e.gettingLarge(l),
				About: "random rows with one such value, of a KiB for each of -cells"},
			contest.Workload{Name: "scan/large-" + l.name, Unit: "value", Open: e.scanningLarge(l),
				About: "every value of these rows, with lent rows"})
	}
	return ws
}

type large struct {
	name string
	size int
}

// The families of values in table files and in blob files.
const (
	inTables = "t"
	inBlobs  = "b"
)

var largeFamilies = []schema.Family{{Name: inTables}, {Name: inBlobs, Tuning: schema.Tuning{BlobMinSize: 32 << 10}}}

// count is how many of the values take a KiB for each of n.
func (l large) count(n int) int { return max(2, n/(l.size>>10)) }

// source holds each value at a different place.
var source = randomBytes(2 << 20)

func (l large) set(m *write.Mutation, family string, row int) {
	at := row * 4099 % (len(source) - l.size)
	m.SetAt(family, "v", 0, cells.Bytes(source[at:at+l.size])) // a later write replaces it
}

func (e *Env) writingLarge(l large) func(context.Context, int) (*contest.Contest, error) {
	return func(context.Context, int) (*contest.Contest, error) {
		n := l.count(e.Writes)
		rng := rand.New(rand.NewPCG(17, 18))
		rows := make([]int, n)
		seen := map[int]bool{}
		for i := range rows {
			rows[i] = rng.IntN(max(1, n/2))
			seen[rows[i]] = true
		}
		keys := rowKeys(rows, rowKey)
		contender := func(name, family string) []contest.Contender {
			return e.writingSmolwc(name, largeFamilies, query.DurabilityAsync, func(ctx context.Context, db *query.DB) (contest.Done, error) {
				t, times := db.Table(tableName), make([]time.Duration, n)
				for i, row := range rows {
					m := write.NewMutation()
					l.set(m, family, row)
					start := time.Now()
					if err := t.Apply(ctx, keys[i], m); err != nil {
						return contest.Done{}, err
					}
					times[i] = time.Since(start)
				}
				return contest.Done{Ops: int64(n), Check: int64(n), Latencies: times, Written: int64(n * l.size), Live: int64(len(seen) * l.size)}, nil
			})
		}
		return &contest.Contest{Contenders: bothWays(contender)}, nil
	}
}

func bothWays(contenders func(name, family string) []contest.Contender) []contest.Contender {
	return append(contenders("smolwc, in table files", inTables), contenders("smolwc, in blob files", inBlobs)...)
}

// largeRows returns the rows with one large value in each family.
func (e *Env) largeRows(ctx context.Context, l large) (*dataset, error) {
	rows := l.count(e.Cells)
	return e.dataset(ctx, "large-"+l.name, rows, largeFamilies, func(t *query.Table) error {
		for row := range rows {
			m := write.NewMutation()
			l.set(m, inTables, row)
			l.set(m, inBlobs, row)
			if err := t.Apply(ctx, rowKey(row), m); err != nil {
				return err
			}
		}
		return nil
	})
}

// readingLarge opens a contest of reads of both families.
func (e *Env) readingLarge(l large, do func(context.Context, *query.Table, read.Option) (int64, error)) func(context.Context, int) (*contest.Contest, error) {
	return func(ctx context.Context, _ int) (*contest.Contest, error) {
		d, err := e.largeRows(ctx, l)
		if err != nil {
			return nil, err
		}
		var tables []*query.Table
		for _, engine := range e.Engines {
			t, err := d.smolwc(engine)
			if err != nil {
				return nil, joinClose(err, d.close)
			}
			tables = append(tables, t)
		}
		contender := func(name, family string) (cs []contest.Contender) {
			for i, engine := range e.Engines {
				cs = append(cs, contest.Steady(on(engine, name), func(ctx context.Context) (contest.Done, error) {
					n, err := do(ctx, tables[i], read.Family(family))
					return contest.Done{Ops: n, Check: n}, err
				}))
			}
			return cs
		}
		return &contest.Contest{Close: d.close, Contenders: bothWays(contender)}, nil
	}
}

func (e *Env) gettingLarge(l large) func(context.Context, int) (*contest.Contest, error) {
	rng := rand.New(rand.NewPCG(19, 20))
	keys := make([]string, l.count(e.Cells)/2)
	for i := range keys {
		keys[i] = rowKey(rng.IntN(l.count(e.Cells)))
	}
	return e.readingLarge(l, func(ctx context.Context, t *query.Table, family read.Option) (n int64, err error) {
		for _, key := range keys {
			row, err := t.ReadRow(ctx, key, family)
			if err != nil {
				return 0, err
			}
			if row.Len() != 1 {
				return 0, fmt.Errorf("row %s has %d cells", key, row.Len())
			}
			n++
		}
		return n, nil
	})
}

func (e *Env) scanningLarge(l large) func(context.Context, int) (*contest.Contest, error) {
	return e.readingLarge(l, func(ctx context.Context, t *query.Table, family read.Option) (int64, error) {
		return cellsIn(ctx, t, family, read.Lend())
	})
}
