package workload

import (
	"context"
	"errors"
	"github.com/smolwc/smolwc/bench/contest"
	"github.com/smolwc/smolwc/query/write"
	"math/rand/v2"
	"path/filepath"
	"time"

	"github.com/smolwc/smolwc/bench/yardstick"
	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/schema"
)

func (e *Env) writes() []contest.Workload {
	return []contest.Workload{
		{Name: "write/fill-sequential", Unit: "cell", Open: e.filling(false, cellsPerRow, query.DurabilityAsync),
			About: "rows of five cells in the order of their keys, a write each, the log not synced"},
		{Name: "write/fill-random", Unit: "cell", Open: e.filling(true, cellsPerRow, query.DurabilityAsync),
			About: "the same in random order"},
		{Name: "write/batch-100", Unit: "cell", Workers: []int{1, 16}, Open: e.filling(true, 100, query.DurabilityAsync),
			About: "random rows, 100 cells a write, the log not synced"},
		{Name: "write/sync", Unit: "cell", Workers: []int{1, 16}, Open: e.filling(true, cellsPerRow, query.DurabilitySync),
			About: "random rows of five cells, a write each, on disk when it returns; fewer of them"},
		{Name: "write/sustained", Unit: "cell", Open: e.openSustained,
			About: "random rows of five cells, each written twice on average, a write each, the log not synced; with the times of single writes, and the bytes on the disk"},
	}
}

// A fill is rows to write.
type fill struct {
	rows         []int
	keys         []string
	cells, bytes yardstick.Slices // keys and values in the store's encoding
	atOnce       int              // cells in one write
	at           func(row int) cells.Timestamp
	timed        bool // single writes
	written      int64
	live         int64
}

const syncShare = 100 // for each synced row, this many rows are written without syncs

func (e *Env) fill(random bool, atOnce int, d query.Durability) *fill {
	n := max(1, e.Writes/cellsPerRow)
	if d == query.DurabilitySync {
		n = max(min(n, 32), n/syncShare)
	}
	f := &fill{atOnce: atOnce, rows: make([]int, n), at: timestamp}
	for i := range f.rows {
		f.rows[i] = i
	}
	if random {
		rand.New(rand.NewPCG(5, 6)).Shuffle(n, func(i, j int) { f.rows[i], f.rows[j] = f.rows[j], f.rows[i] })
	}
	f.encode()
	return f
}

// overwrites returns rows with cells at timestamp 0: half as many rows as writes, so that
// a later write replaces an earlier one.
func (e *Env) overwrites() *fill {
	n := max(1, e.Writes/cellsPerRow)
	f := &fill{atOnce: cellsPerRow, rows: make([]int, n), at: func(int) cells.Timestamp { return 0 }, timed: true}
	rng := rand.New(rand.NewPCG(15, 16))
	seen := map[int]bool{}
	for i := range f.rows {
		f.rows[i] = rng.IntN(max(1, n/2))
		seen[f.rows[i]] = true
	}
	f.encode()
	f.written = int64(len(f.cells.Bytes()) + len(f.bytes.Bytes()))
	f.live = f.written / int64(n) * int64(len(seen)) // all rows have the same size
	return f
}

// encode makes the keys and values of the rows.
func (f *fill) encode() {
	f.keys = rowKeys(f.rows, rowKey)
	for i, row := range f.rows {
		for q, name := range qualifiers {
			f.cells.Append(func(dst []byte) []byte { return cf.AppendCellKey(dst, f.keys[i], name, int64(f.at(row))) })
			f.bytes.Append(func(dst []byte) []byte { return cells.AppendValue(dst, cells.Bytes(value(row*cellsPerRow+q))) })
		}
	}
}

// clock is the time now if single writes are timed.
func (f *fill) clock() (now time.Time) {
	if f.timed {
		now = time.Now()
	}
	return now
}

// times returns room for the times of single writes; nil if they are not taken.
func (f *fill) times() []time.Duration {
	if !f.timed {
		return nil
	}
	return make([]time.Duration, len(f.rows))
}

func (f *fill) done(n int64, err error) (contest.Done, error) {
	return contest.Done{Ops: n, Check: n}, err
}

// share divides the rows among workers, in whole writes.
func (f *fill) share(workers int, do func(from, to int) error) (int64, error) {
	rowsAtOnce := f.atOnce / cellsPerRow
	writes := (len(f.rows) + rowsAtOnce - 1) / rowsAtOnce
	return share(workers, writes, func(_, from, to int) (int64, error) {
		from, to = from*rowsAtOnce, min(to*rowsAtOnce, len(f.rows))
		return int64(to-from) * cellsPerRow, do(from, to)
	})
}

var plainFamily = []schema.Family{{Name: "f"}}

// filling opens a contest of writes into an empty database, a new one for each attempt.
func (e *Env) filling(random bool, atOnce int, d query.Durability) func(context.Context, int) (*contest.Contest, error) {
	return func(_ context.Context, workers int) (*contest.Contest, error) {
		f := e.fill(random, atOnce, d)
		cs := []contest.Contender{
			e.writingC(nameC, plainFamily, d, func(fs []yardstick.Family, _ string) (contest.Done, error) {
				return f.done(f.share(workers, func(from, to int) error {
					return f.c(fs[0], from, to, d == query.DurabilitySync, nil)
				}))
			}),
		}
		cs = append(cs, e.writingSmolwc(nameSmolwc, plainFamily, d, func(ctx context.Context, db *query.DB) (contest.Done, error) {
			return f.done(f.share(workers, func(from, to int) error { return f.smolwc(ctx, db, from, to, nil) }))
		})...)
		for _, p := range e.Peers {
			cs = append(cs, e.writingPeer(p, []string{"f"}, d, func(kvs []KV) (contest.Done, error) {
				return f.done(f.share(workers, func(from, to int) error { return f.kv(kvs[0], from, to, nil) }))
			}))
		}
		return &contest.Contest{Contenders: cs}, nil
	}
}

// openSustained opens a contest of single writes over and over, with their times.
func (e *Env) openSustained(context.Context, int) (*contest.Contest, error) {
	f := e.overwrites()
	timed := func(write func(times []time.Duration) error) (contest.Done, error) {
		times := f.times()
		err := write(times)
		n := int64(f.cells.Len())
		return contest.Done{Ops: n, Check: n, Latencies: times, Written: f.written, Live: f.live}, err
	}
	const d = query.DurabilityAsync
	cs := []contest.Contender{
		e.writingC(nameC, plainFamily, d, func(fs []yardstick.Family, _ string) (contest.Done, error) {
			return timed(func(times []time.Duration) error { return f.c(fs[0], 0, len(f.rows), false, times) })
		}),
	}
	cs = append(cs, e.writingSmolwc(nameSmolwc, plainFamily, d, func(ctx context.Context, db *query.DB) (contest.Done, error) {
		return timed(func(times []time.Duration) error { return f.smolwc(ctx, db, 0, len(f.rows), times) })
	})...)
	for _, p := range e.Peers {
		cs = append(cs, e.writingPeer(p, []string{"f"}, d, func(kvs []KV) (contest.Done, error) {
			return timed(func(times []time.Duration) error { return f.kv(kvs[0], 0, len(f.rows), times) })
		}))
	}
	return &contest.Contest{Contenders: cs}, nil
}

// c writes rows in C.
func (f *fill) c(family yardstick.Family, from, to int, sync bool, times []time.Duration) error {
	from, to = from*cellsPerRow, to*cellsPerRow
	_, err := family.Write(f.cells.Part(from, to), f.bytes.Part(from, to), f.atOnce, sync, times)
	return err
}

// smolwc writes rows through package query: one by one, or many in one batch. times gets
// the times of single rows, unless it is nil.
func (f *fill) smolwc(ctx context.Context, db *query.DB, from, to int, times []time.Duration) error {
	t := db.Table(tableName)
	rowsAtOnce := f.atOnce / cellsPerRow
	for at := from; at < to; at += rowsAtOnce {
		if rowsAtOnce == 1 {
			start := f.clock()
			m := write.NewMutation()
			f.set(m, at)
			if err := t.Apply(ctx, f.keys[at], m); err != nil {
				return err
			}
			if times != nil {
				times[at] = time.Since(start)
			}
			continue
		}
		b := write.NewBatch()
		for i := at; i < min(at+rowsAtOnce, to); i++ {
			m := write.NewMutation()
			f.set(m, i)
			b.Add(tableName, f.keys[i], m)
		}
		if err := db.Apply(ctx, b); err != nil {
			return err
		}
	}
	return nil
}

// set sets the cells of the i-th row. C writes the same values from the same memory;
// otherwise the location of the values would affect the measurement.
func (f *fill) set(m *write.Mutation, i int) {
	ts := f.at(f.rows[i])
	for q, name := range qualifiers {
		const typeLen = 1
		m.SetAt("f", name, ts, cells.Bytes(f.bytes.At(i*cellsPerRow + q)[typeLen:]))
	}
}

func (f *fill) kv(kv KV, from, to int, times []time.Duration) error {
	to *= cellsPerRow
	for at := from * cellsPerRow; at < to; at += f.atOnce {
		n := min(f.atOnce, to-at)
		start := f.clock()
		if err := kv.Write(n, func(i int) ([]byte, []byte) { return f.cells.At(at + i), f.bytes.At(at + i) }); err != nil {
			return err
		}
		if times != nil {
			times[at/f.atOnce] = time.Since(start)
		}
	}
	return nil
}

// writing makes a contender that gets an empty directory for every attempt. open opens
// the database in it and returns the function to measure.
func (e *Env) writing(name string, open func(ctx context.Context, dir string) (do func(context.Context) (contest.Done, error), end func() error, err error)) contest.Contender {
	return contest.Contender{Name: name, Start: func(ctx context.Context, _ int) (contest.Attempt, error) {
		dir, remove, err := e.fresh()
		if err != nil {
			return contest.Attempt{}, err
		}
		do, end, err := open(ctx, filepath.Join(dir, "data"))
		if err != nil {
			return contest.Attempt{}, errors.Join(err, remove())
		}
		return contest.Attempt{
			Do:    do,
			End:   func() error { return errors.Join(end(), remove()) },
			Files: func() (int64, error) { return bytesUnder(dir) },
		}, nil
	}}
}

// writingC writes through C into families of a store.
func (e *Env) writingC(name string, families []schema.Family, d query.Durability, do func(fs []yardstick.Family, dir string) (contest.Done, error)) contest.Contender {
	return e.writing(name, func(ctx context.Context, dir string) (func(context.Context) (contest.Done, error), func() error, error) {
		s, err := e.openStore(ctx, dir, families, d == query.DurabilitySync)
		if err != nil {
			return nil, nil, err
		}
		var fs []yardstick.Family
		for _, f := range families {
			raw, err := s.Raw(storeName(f.Name))
			if err != nil {
				return nil, nil, errors.Join(err, s.Close())
			}
			fs = append(fs, yardstick.Of(raw))
		}
		return func(context.Context) (contest.Done, error) { return do(fs, dir) }, s.Close, nil
	})
}

// writingSmolwc writes through package query, on each engine.
func (e *Env) writingSmolwc(name string, families []schema.Family, d query.Durability, do func(ctx context.Context, db *query.DB) (contest.Done, error)) (cs []contest.Contender) {
	for _, engine := range e.Engines {
		cs = append(cs, e.writing(on(engine, name), func(_ context.Context, dir string) (func(context.Context) (contest.Done, error), func() error, error) {
			db, err := e.openDurable(engine, dir, families, d)
			if err != nil {
				return nil, nil, err
			}
			return func(ctx context.Context) (contest.Done, error) { return do(ctx, db) }, db.Close, nil
		}))
	}
	return cs
}

// writingPeer writes into a peer, with a database for each family.
func (e *Env) writingPeer(p Peer, families []string, d query.Durability, do func(kvs []KV) (contest.Done, error)) contest.Contender {
	return e.writing(p.Name, func(ctx context.Context, dir string) (func(context.Context) (contest.Done, error), func() error, error) {
		kvs, end, err := e.freshPeer(ctx, p, dir, families, d == query.DurabilitySync)
		if err != nil {
			return nil, nil, err
		}
		return func(context.Context) (contest.Done, error) { return do(kvs) }, end, nil
	})
}
