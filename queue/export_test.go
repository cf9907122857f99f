package queue

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/tuple"
)

// SetClock replaces the wall clock of a queue that was not used yet.
func (q *Queue) SetClock(wall func() time.Time) {
	q.clock = &clock{wall: wall, seen: wall(), last: wall().UnixMicro()}
}

// NextTime is the first time of a cron expression after a time.
func NextTime(spec string, after time.Time) (time.Time, error) {
	next, err := nextTime(spec, after.UnixMicro())
	return timeOf(next), err
}

// Now is the time of the queue's clock, in microseconds.
func (q *Queue) Now() int64 { return q.clock.now() }

// SetTidyAfter has the bounds of a zone moved after n items.
func (q *Queue) SetTidyAfter(n int) { q.taken.after = n }

// Keep fires schedules and removes expired items once, as workers do now and then.
func (q *Queue) Keep(ctx context.Context) error {
	if err := q.fire(ctx); err != nil {
		return err
	}
	_, err := q.expire(ctx, 0)
	return err
}

// Due are the zones that a worker would visit.
func (q *Queue) Due(ctx context.Context) ([]string, error) {
	zones, _, err := q.due(ctx, func(string) bool { return false })
	return zones, err
}

// A Raw is a row of a queue, decoded.
type Raw struct {
	Key   tuple.Tuple // after the kind
	Value tuple.Tuple // after the version
}

// Raws are all rows of the queue, by kind.
func (q *Queue) Raws(ctx context.Context, tx *query.Tx) (map[string][]Raw, error) {
	w, err := q.work(ctx, tx)
	if err != nil {
		return nil, err
	}
	all := map[string][]Raw{}
	for kind, name := range kindNames {
		begin := q.keys.row(kind)
		for e, err := range w.PeekAll(read.Range(begin, begin+"\xff"), 0) {
			if err != nil {
				return nil, err
			}
			key, err1 := tuple.Unpack([]byte(e.Key[len(q.keys):]))
			value, err2 := tuple.Unpack([]byte(e.Value))
			if err := cmp.Or(err1, err2); err != nil {
				return nil, err
			}
			all[name] = append(all[name], Raw{key[1:], value[1:]})
		}
	}
	return all, nil
}

// DB is the job's database.
func (j *Job) DB() *query.DB { return j.q.db }

// Waiting are the ready and the blocked items of a zone. Nothing depends on them.
func (q *Queue) Waiting(ctx context.Context, tx *query.Tx, zone string) (ids []ID, err error) {
	w, err := q.work(ctx, tx)
	if err != nil {
		return nil, err
	}
	for _, kind := range []int{readyRow, blockedRow} {
		entries, err := collect(w.PeekAll(q.keys.all(kind, zone), 0))
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			id, err := q.keys.idOf(e.Key, kind)
			if err != nil {
				return nil, err
			}
			ids = append(ids, id)
		}
	}
	return ids, nil
}

// KeyOf is the row key of a kind of rows, with these elements.
func (q *Queue) KeyOf(kind string, key tuple.Tuple) string {
	return q.keys.row(slices.Index(kindNames[:], kind), key...)
}

var kindNames = [...]string{
	zoneRow: "zone", pointerRow: "pointer", dueRow: "due", readyRow: "ready", leaseRow: "lease", blockedRow: "blocked",
	keyRow: "key", itemRow: "item", stateRow: "state", resultRow: "result", deadRow: "dead", uniqueRow: "unique",
	expiryRow: "expiry", scheduleRow: "schedule", clockRow: "clock",
}

// Hints is how many zones with new items no worker knows of.
func (q *Queue) Hints() int {
	q.wake.mu.Lock()
	defer q.wake.mu.Unlock()
	return len(q.wake.zones)
}
