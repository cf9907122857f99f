package queue

import (
	"context"
	"time"

	"github.com/smolwc/smolwc/query"
)

// peekMost is among how many due zones the next ones are chosen.
const peekMost = 100

// due are zones whose pointers are due, those that are due longest first, without those
// to be skipped, and how long it is until the next one is due. Nothing is written.
func (q *Queue) due(ctx context.Context, skip func(zone string) bool) (zones []string, next time.Duration, err error) {
	now, err := q.time(ctx)
	if err != nil {
		return nil, 0, err
	}
	table := q.db.Table(q.at.Table)
	start, err := q.dueStart(ctx, table)
	if err != nil {
		return nil, 0, err
	}
	for row, err := range table.ReadRows(ctx, q.keys.after(start, dueRow)) {
		if err != nil {
			return nil, 0, err
		}
		at := q.keys.place(row.Key(), dueRow, 2)
		due, zone := at.time(), at.str()
		switch {
		case at.err != nil:
			return nil, 0, at.err
		case due > now:
			return zones, time.Duration(due-now) * time.Microsecond, nil
		}
		if skip(zone) {
			continue
		}
		if zones = append(zones, zone); len(zones) == peekMost {
			break
		}
	}
	return zones, time.Hour, nil
}

// dueStart is a time before which no pointer is due. It is read now and then: one that
// is out of date is right too.
func (q *Queue) dueStart(ctx context.Context, table *query.Table) (int64, error) {
	const often = 64
	if q.scans.Add(1)%often != 1 {
		return q.start.Load(), nil
	}
	key := q.keys.row(dueRow)
	row, err := table.ReadRow(ctx, key)
	if err != nil || row == nil {
		return q.start.Load(), err
	}
	value, _ := row.Bytes(q.at.Family, "")
	d := decode(key, string(value))
	if at := d.time(); d.err == nil {
		q.start.Store(at)
	}
	return q.start.Load(), d.err
}
