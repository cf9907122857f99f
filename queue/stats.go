package queue

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/read"
)

// Stats are the items of one type in one zone.
type Stats struct {
	Zone, Type string
	Ready      int // visible, waiting for a worker
	Delayed    int // not yet visible
	Blocked    int // waiting for their key
	Leased     int
	Expired    int // with an expired lease, waiting for a worker
	Dead       int
	// Oldest is when the oldest ready item became visible; zero without one.
	Oldest time.Time
}

// Stats describes a zone, or all zones if the name is "", by zone and type. The items
// are counted: that takes about a second for a million of them.
func (q *Queue) Stats(ctx context.Context, zone string) ([]Stats, error) {
	const op = "count items"
	if q == nil || q.db == nil {
		return nil, errNil
	}
	if zone != "" {
		if err := checkName("zone", zone); err != nil {
			return nil, fail(op, zone, err)
		}
	}
	now, err := q.time(ctx)
	if err != nil {
		return nil, fail(op, zone, err)
	}
	c := counting{q: q, now: now, by: map[[2]string]*Stats{}}
	for _, kind := range []int{readyRow, blockedRow, leaseRow, deadRow} {
		if err := c.count(ctx, zone, kind); err != nil {
			return nil, fail(op, zone, err)
		}
	}
	all := make([]Stats, 0, len(c.by))
	for _, s := range c.by {
		all = append(all, *s)
	}
	slices.SortFunc(all, func(a, b Stats) int { return cmp.Or(cmp.Compare(a.Zone, b.Zone), cmp.Compare(a.Type, b.Type)) })
	return all, nil
}

type counting struct {
	q   *Queue
	now int64
	by  map[[2]string]*Stats
}

// count counts the rows of a kind.
func (c *counting) count(ctx context.Context, zone string, kind int) error {
	k, at := c.q.keys, c.q.at
	rows := k.all(kind)
	if zone != "" {
		rows = k.all(kind, zone)
	}
	for row, err := range c.q.db.Table(at.Table).ReadRows(ctx, rows, read.Column(at.Family, ""), read.Versions(1)) {
		if err != nil {
			return err
		}
		if err := c.add(row, kind); err != nil {
			return err
		}
	}
	return nil
}

func (c *counting) add(row *query.Row, kind int) error {
	t, err := c.q.keys.parse(row.Key(), kind, elements[kind])
	if err != nil {
		return err
	}
	place := &decoder{key: row.Key(), rest: t}
	value, _ := row.Bytes(c.q.at.Family, "")
	d := decode(row.Key(), string(value))
	zone, name := place.str(), d.str()
	times := t[len(t)-2:]
	at := (&decoder{key: row.Key(), rest: times}).int()
	if err := cmp.Or(place.err, d.err); err != nil {
		return err
	}
	s := c.by[[2]string{zone, name}]
	if s == nil {
		s = &Stats{Zone: zone, Type: name}
		c.by[[2]string{zone, name}] = s
	}
	s.add(kind, at, c.now)
	return nil
}

// add counts a row of a kind with a time.
func (s *Stats) add(kind int, at, now int64) {
	switch {
	case kind == blockedRow:
		s.Blocked++
	case kind == deadRow:
		s.Dead++
	case kind == leaseRow && at <= now:
		s.Expired++
	case kind == leaseRow:
		s.Leased++
	case at > now:
		s.Delayed++
	default:
		s.Ready++
		if t := timeOf(at); s.Oldest.IsZero() || t.Before(s.Oldest) {
			s.Oldest = t
		}
	}
}
