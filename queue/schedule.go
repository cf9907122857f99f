package queue

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"time"

	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/rowmap"
)

// A Schedule enqueues an item again and again.
type Schedule struct {
	Name string
	// Cron is when: five fields of cron, or @hourly, @daily, @weekly, @monthly,
	// @yearly, or @every with a duration of whole seconds. CRON_TZ=Asia/Tokyo before the
	// fields gives another time zone than UTC. Where the zone's clocks skip a time, it is
	// the moment of the change, and a time that comes twice is its first one. Schedules of
	// every hour, or of a minute such as */15, follow the hours as they come.
	Cron string
	Zone string
	// Item is enqueued each time. Its At must be zero.
	Item Item
	// Next is when an item is enqueued next. SetSchedule ignores it.
	Next time.Time
}

// SetSchedule creates the schedule with the name, or replaces it. A schedule that is set
// again with the same Cron keeps its next time, so a program can set its schedules
// whenever it starts. Workers keep it:
// each time of the schedule gives one item, however many workers there are. Times that
// pass while there is no worker give one item together, when there is one again.
func (q *Queue) SetSchedule(ctx context.Context, tx *query.Tx, s Schedule) error {
	const op = "set schedule"
	w, err := q.work(ctx, tx)
	if err := cmp.Or(err, checkName("name", s.Name), checkName("zone", s.Zone), checkName("cron expression", s.Cron), s.Item.check()); err != nil {
		return fail(op, s.Name, err)
	}
	if !s.Item.At.IsZero() {
		return fail(op, s.Name, rowmap.Fault(query.KindInvalidArgument, "the item of a schedule has no time of its own"))
	}
	next, err := nextTime(s.Cron, w.now)
	if err != nil {
		return fail(op, s.Name, err)
	}
	old, found, err := w.schedule(w.q.keys.row(scheduleRow, s.Name))
	if err != nil {
		return fail(op, s.Name, err)
	}
	if found && old.Cron == s.Cron {
		next = old.Next.UnixMicro()
	}
	return fail(op, s.Name, w.setSchedule(&s, next))
}

// schedule reads a schedule. The commit depends on it.
func (w *work) schedule(key string) (s Schedule, found bool, err error) {
	value, found, err := w.Get(key)
	if err != nil || !found {
		return s, false, err
	}
	s, err = w.decodeSchedule(key, value)
	return s, err == nil, err
}

// RemoveSchedule removes a schedule. Items that it enqueued stay. If there is no such
// schedule, the error is [ErrNotFound].
func (q *Queue) RemoveSchedule(ctx context.Context, tx *query.Tx, name string) error {
	const op = "remove schedule"
	w, err := q.work(ctx, tx)
	if err := cmp.Or(err, checkName("name", name)); err != nil {
		return fail(op, name, err)
	}
	key := w.q.keys.row(scheduleRow, name)
	_, found, err := w.Get(key)
	if err == nil && !found {
		err = ErrNotFound
	}
	if err != nil {
		return fail(op, name, err)
	}
	return fail(op, name, w.Delete(key))
}

// Schedules are all schedules, by name.
func (q *Queue) Schedules(ctx context.Context, tx *query.Tx) iter.Seq2[Schedule, error] {
	const op = "list schedules"
	return func(yield func(Schedule, error) bool) {
		w, err := q.work(ctx, tx)
		if err != nil {
			yield(Schedule{}, fail(op, "", err))
			return
		}
		for e, err := range w.PeekAll(w.q.keys.all(scheduleRow), 0) {
			var s Schedule
			if err == nil {
				s, err = w.decodeSchedule(e.Key, e.Value)
			}
			if !yield(s, fail(op, "", err)) || err != nil {
				return
			}
		}
	}
}

func (w *work) setSchedule(s *Schedule, next int64) error {
	i := s.Item
	return w.Set(w.q.keys.row(scheduleRow, s.Name), encode(next, s.Cron, s.Zone,
		i.Type, i.Payload, i.Priority, micros(i.Delay), i.Unique, micros(i.UniqueFor), i.Key, i.MaxAttempts, micros(i.KeepResult)))
}

func (w *work) decodeSchedule(key, value string) (Schedule, error) {
	at := w.q.keys.place(key, scheduleRow, 1)
	d := decode(key, value)
	span := func() time.Duration { return time.Duration(d.bounded(longest)) * time.Microsecond }
	s := Schedule{Name: at.str(), Next: timeOf(d.time()), Cron: d.str(), Zone: d.str()}
	s.Item = Item{
		Type: d.str(), Payload: d.bytes(), Priority: int(d.bounded(lastPriority)), Delay: span(), Unique: d.str(), UniqueFor: span(),
		Key: d.str(), MaxAttempts: int(d.count()), KeepResult: span(),
	}
	return s, cmp.Or(at.err, d.end())
}

// fire enqueues the items of due schedules. A schedule that fails does not hold up the
// others.
func (q *Queue) fire(ctx context.Context) error {
	due, err := q.dueSchedules(ctx)
	for _, key := range due {
		err = errors.Join(err, q.update(ctx, func(tx *query.Tx) error {
			w, err := q.work(ctx, tx)
			if err != nil {
				return err
			}
			return w.fire(key)
		}))
	}
	return err
}

// dueSchedules are the keys of due schedules, and the first error.
func (q *Queue) dueSchedules(ctx context.Context) (due []string, damaged error) {
	err := q.update(ctx, func(tx *query.Tx) error {
		due, damaged = nil, nil
		w, err := q.work(ctx, tx)
		if err != nil {
			return err
		}
		for e, err := range w.PeekAll(w.q.keys.all(scheduleRow), 0) {
			if err != nil {
				return err
			}
			s, err := w.decodeSchedule(e.Key, e.Value)
			damaged = cmp.Or(damaged, err)
			if err == nil && s.Next.UnixMicro() <= w.now {
				due = append(due, e.Key)
			}
		}
		return nil
	})
	return due, cmp.Or(err, damaged)
}

// fire enqueues the item of a schedule, unless another worker did so.
func (w *work) fire(key string) error {
	s, found, err := w.schedule(key)
	if err != nil || !found || s.Next.UnixMicro() > w.now {
		return err
	}
	next, err := nextTime(s.Cron, w.now)
	if err != nil {
		return err
	}
	if _, err := w.enqueue(s.Zone, s.Item); err != nil && err != ErrDuplicate {
		return err
	}
	return w.setSchedule(&s, next)
}
