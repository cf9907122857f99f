package queue_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/queue"
)

// FuzzRows puts any value into each row of a small queue in turn, or any key beside it,
// and calls everything. Nothing panics, and errors have kinds: a caller is told before
// it commits.
func FuzzRows(f *testing.F) {
	db, err := query.Open(f.TempDir(), query.Options{Schema: withQueues, Durability: query.DurabilityAsync})
	must(f, err)
	f.Cleanup(func() { db.Close() })
	fill := rowsToDamage(f, db)
	f.Add(uint8(0), false, []byte("rust"))
	for n, row := range fill {
		f.Add(uint8(n), false, []byte(nil))
		f.Add(uint8(n), false, row.value[:len(row.value)-1])
		f.Add(uint8(n), false, append([]byte{0x15, 2}, row.value[2:]...)) // another version
		f.Add(uint8(n), true, []byte(row.key[:len(row.key)-1]))
		f.Add(uint8(n), false, fill[(n+1)%len(fill)].value)
	}
	f.Fuzz(func(t *testing.T, n uint8, key bool, b []byte) {
		must(t, db.Table("queues").DeleteRange(ctx, everything))
		must(t, db.Update(ctx, func(tx *query.Tx) error {
			for _, r := range fill {
				if err := tx.Apply(ctx, "queues", r.key, valued(r.value)); err != nil {
					return err
				}
			}
			return nil
		}))
		row := fill[int(n)%len(fill)]
		switch {
		case key && len(b) > 0 && len(b) <= 4096:
			put(t, db, string(b), row.value)
		case key:
			return
		default:
			put(t, db, row.key, b)
		}
		useAll(t, db)
	})
}

type rawRow struct {
	key   string
	value []byte
}

func valued(value []byte) *write.Mutation {
	m := write.NewMutation()
	m.SetAt("q", "", 0, cells.Bytes(value))
	return m
}

func put(t judge, db *query.DB, key string, value []byte) {
	must(t, db.Table("queues").Apply(ctx, key, valued(value)))
}

// fuzzTime is when the rows that are damaged were written.
var fuzzTime = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// rowsToDamage are the rows of a queue with an item in each state.
func rowsToDamage(t testing.TB, db *query.DB) (all []rawRow) {
	f := &fixture{t, &watch{at: fuzzTime}, db, nil}
	f.q = f.another()
	must(t, f.schedule(nightly))
	for range 3 {
		f.enqueue("a", queue.Item{Key: "k"})
	}
	f.enqueue("a", queue.Item{KeepResult: time.Hour})
	f.enqueue("a", queue.Item{Unique: "u", UniqueFor: time.Minute, MaxAttempts: 1})
	jobs := f.take("a", 10, time.Minute)
	must(t, f.complete(jobs[1]))
	f.do(func(tx *query.Tx) error { return jobs[2].Bury(ctx, tx, errors.New("x")) })
	f.enqueue("a", queue.Item{Delay: time.Second})
	f.enqueue("b", queue.Item{Unique: "u"})
	for row, err := range db.Table("queues").ReadRows(ctx) {
		must(t, err)
		value, _ := row.Bytes("q", "")
		all = append(all, rawRow{row.Key(), value})
	}
	return all
}

// useAll calls all methods in transactions of their own, now and two days later.
func useAll(t *testing.T, db *query.DB) {
	f := &fixture{t, &watch{at: fuzzTime}, db, nil}
	for range 2 {
		f.q = f.another()
		f.q.SetTidyAfter(0)
		var ids []queue.ID
		var jobs []*queue.Job
		try := func(fn func(tx *query.Tx) error) {
			err := db.Update(ctx, fn)
			if kind := query.KindOf(err); err != nil && (kind == query.KindInternal || kind == query.KindConflict) {
				t.Errorf("%v: %v", kind, err)
			}
		}
		for _, zone := range []string{"a", "b"} {
			try(func(tx *query.Tx) error {
				_, err := f.q.Enqueue(ctx, tx, zone, queue.Item{Type: "mail", Key: "k", Unique: "u", Priority: 3})
				if errors.Is(err, queue.ErrDuplicate) {
					return nil
				}
				return err
			})
			try(func(tx *query.Tx) error {
				all, err := f.q.Peek(ctx, tx, zone, 10)
				for _, i := range all {
					ids = append(ids, i.ID)
				}
				return err
			})
			try(func(tx *query.Tx) error {
				for i, err := range f.q.Dead(ctx, tx, zone) {
					if err != nil {
						return err
					}
					ids = append(ids, i.ID)
				}
				return nil
			})
			try(func(tx *query.Tx) (err error) {
				jobs, err = f.q.Dequeue(ctx, tx, zone, 3, time.Minute)
				return err
			})
			for _, j := range jobs {
				j.Extend(ctx, time.Hour)
			}
			for n, j := range jobs {
				try(func(tx *query.Tx) error {
					switch n {
					case 0:
						return j.Complete(ctx, tx, nil)
					case 1:
						return j.Return(ctx, tx, time.Second, nil)
					}
					return j.Release(ctx, tx)
				})
			}
			for _, id := range ids {
				for _, fn := range []func(context.Context, *query.Tx, string, queue.ID) error{f.q.Hurry, f.q.Replay, f.q.Cancel} {
					try(func(tx *query.Tx) error {
						if err := fn(ctx, tx, zone, id); query.KindOf(err) != query.KindNotFound {
							return err
						}
						return nil
					})
				}
			}
			try(func(tx *query.Tx) error { return f.q.Configure(ctx, tx, zone, queue.ZoneConfig{PerKey: 2, Limit: 3}) })
			try(func(tx *query.Tx) error { _, err := f.q.Drain(ctx, tx, zone); return err })
		}
		f.q.Keep(ctx)
		f.q.Due(ctx)
		f.q.Stats(ctx, "")
		try(func(tx *query.Tx) error {
			for _, err := range f.q.Schedules(ctx, tx) {
				if err != nil {
					return err
				}
			}
			return nil
		})
		f.pass(48 * time.Hour)
	}
}
