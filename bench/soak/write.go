package soak

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/query/write"
)

// A writer writes to a quarter of the groups, whose next versions only it knows, and to
// rows that all writers share.
type writer struct {
	*soak
	id int
}

const writerGroups = groupCount / writerCount

// step makes one write.
func (w *writer) step(ctx context.Context, rng *rand.Rand) error {
	do := w.setGroups
	switch n := rng.IntN(1000); {
	case n < 10:
		do = w.deleteRange
	case n < 80:
		do = w.deleteGroups
	case n < 82:
		do = w.load
	case n < 200:
		do = w.transact
	case n < 300:
		do = w.increment
	case n < 400:
		do = w.add
	case n < 450:
		do = w.swap
	case n < 600:
		do = w.event
	}
	w.counts.writes.Add(1)
	return w.tolerant(func(db *query.DB) error { return do(ctx, db, rng) })
}

// some returns a range of adjacent groups of this writer.
func (w *writer) some(rng *rand.Rand, n int) (from, to int) {
	from = w.id*writerGroups + rng.IntN(writerGroups)
	return from, min(from+n, (w.id+1)*writerGroups)
}

// write announces the next versions of groups, calls do to write them, and records
// that they are acknowledged.
func (w *writer) write(from, to int, deletion bool, do func() error) error {
	for g := from; g < to; g++ {
		of := &w.rows.groups[g]
		if deletion {
			of.deleted.Store(of.tried.Load() + 1)
		}
		of.tried.Add(1)
	}
	if err := do(); err != nil {
		return err
	}
	for g := from; g < to; g++ {
		of := &w.rows.groups[g]
		of.acked.Store(of.tried.Load())
	}
	return nil
}

// eachRow calls f with the next mutation of each row of the groups.
func (w *writer) eachRow(from, to int, f func(key string, m *write.Mutation) error) error {
	for g := from; g < to; g++ {
		version := w.rows.groups[g].tried.Load()
		for i := range rowsPerGroup {
			key, m := groupRow(g, i), write.NewMutation()
			for _, family := range groupFamilies {
				m.Set(family, "q", cells.Bytes(w.rows.content(key+family, version)))
			}
			if err := f(key, m); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *writer) setGroups(ctx context.Context, db *query.DB, rng *rand.Rand) error {
	from, to := w.some(rng, 1+rng.IntN(3))
	return w.write(from, to, false, func() error {
		b := write.NewBatch()
		if err := w.eachRow(from, to, func(key string, m *write.Mutation) error { b.Add("groups", key, m); return nil }); err != nil {
			return err
		}
		return db.Apply(ctx, b)
	})
}

func (w *writer) deleteGroups(ctx context.Context, db *query.DB, rng *rand.Rand) error {
	from, to := w.some(rng, 1+rng.IntN(3))
	return w.write(from, to, true, func() error {
		b := write.NewBatch()
		for g := from; g < to; g++ {
			for i := range rowsPerGroup {
				m := write.NewMutation()
				m.DeleteRow()
				b.Add("groups", groupRow(g, i), m)
			}
		}
		return db.Apply(ctx, b)
	})
}

func (w *writer) deleteRange(ctx context.Context, db *query.DB, rng *rand.Rand) error {
	from, to := w.some(rng, 1+rng.IntN(20))
	return w.write(from, to, true, func() error {
		return db.Table("groups").DeleteRange(ctx, groupRange(from, to))
	})
}

// load writes groups as a bulk load.
func (w *writer) load(ctx context.Context, db *query.DB, rng *rand.Rand) error {
	from, to := w.some(rng, 50)
	return w.write(from, to, false, func() error {
		l, err := db.Table("groups").BulkLoad(ctx, query.BulkOptions{Overlap: true})
		if err != nil {
			return err
		}
		defer l.Close()
		if err := w.eachRow(from, to, l.Apply); err != nil {
			return err
		}
		_, err = l.Commit(ctx)
		return err
	})
}

// transact moves an amount from one account to another.
func (w *writer) transact(ctx context.Context, db *query.DB, rng *rand.Rand) error {
	from, to := account(rng.IntN(accountCount)), account(rng.IntN(accountCount))
	if from == to {
		return nil
	}
	amount := rng.Int64N(deposit)
	err := db.Update(ctx, func(tx *query.Tx) error {
		for _, move := range []struct {
			key    string
			amount int64
		}{{from, -amount}, {to, amount}} {
			row, err := tx.ReadRow(ctx, "numbers", move.key)
			if err != nil {
				return err
			}
			n, _ := row.I64("n", "n")
			m := write.NewMutation()
			m.Set("n", "n", cells.I64(n+move.amount))
			if err := tx.Apply(ctx, "numbers", move.key, m); err != nil {
				return err
			}
		}
		return nil
	})
	if query.KindOf(err) == query.KindConflict {
		return nil // other transactions were faster each time
	}
	return err
}

// increment adds to a counter by reading and writing it.
func (w *writer) increment(ctx context.Context, db *query.DB, rng *rand.Rand) error {
	i, by := rng.IntN(counterCount), 1+rng.Uint64N(9)
	of := &w.rows.counters[i]
	least := of.acked.Load() + by
	of.tried.Add(by)
	n, err := db.Table("numbers").Increment(ctx, counter(i), "n", "n", int64(by))
	if err != nil {
		return err
	}
	of.acked.Add(by)
	return of.explains(fmt.Sprint("counter ", i), uint64(n), least, of.tried.Load())
}

// add adds to a counter of an aggregate, without reading it.
func (w *writer) add(ctx context.Context, db *query.DB, rng *rand.Rand) error {
	i, by := rng.IntN(counterCount), 1+rng.Uint64N(9)
	of := &w.rows.sums[i]
	of.tried.Add(by)
	m := write.NewMutation()
	m.Add("sum", "n", cells.I64(int64(by)))
	if err := db.Table("numbers").Apply(ctx, counter(i), m); err != nil {
		return err
	}
	of.acked.Add(by)
	return nil
}

// swap replaces the writer's own number if it still is the value that was read.
func (w *writer) swap(ctx context.Context, db *query.DB, _ *rand.Rand) error {
	table, key, of := db.Table("numbers"), swapRow(w.id), &w.rows.swaps[w.id]
	row, err := table.ReadRow(ctx, key)
	if err != nil {
		return err
	}
	now, _ := row.I64("n", "n")
	if err := of.explains(key, uint64(now), of.acked.Load(), of.tried.Load()); err != nil {
		return err
	}
	next := of.tried.Add(1)
	m := write.NewMutation()
	m.Set("n", "n", cells.I64(int64(next)))
	if now == 0 {
		err = table.Apply(ctx, key, m)
	} else {
		var made bool
		made, err = table.CheckAndMutate(ctx, key, read.Where("n", "n", cells.OpEqual, cells.I64(now)), m, nil)
		if err == nil && !made {
			return fmt.Errorf("%s is %d, and was not found to be", key, now)
		}
	}
	if err == nil {
		of.acked.Store(next)
	}
	return err
}

// event adds an event to the writer's row.
func (w *writer) event(ctx context.Context, db *query.DB, _ *rand.Rand) error {
	of, key := &w.rows.events[w.id], eventRow(w.id)
	n, ts := of.next(db.Now())
	m := write.NewMutation()
	m.SetAt("e", eventQualifier(n), ts, cells.Bytes(w.rows.content(key, n)))
	if err := db.Table("events").Apply(ctx, key, m); err != nil {
		return err
	}
	of.done(n)
	return nil
}
