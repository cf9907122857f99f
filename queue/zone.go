package queue

import (
	"cmp"
	"context"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/query/rowmap"
	"github.com/smolwc/smolwc/tuple"
)

// A ZoneConfig is the configuration of a zone. The zero ZoneConfig applies to zones that
// were never configured.
type ZoneConfig struct {
	// Weight is the zone's share of the workers, relative to the other zones with items;
	// 0 means 1. While not all zones can be served, three items of a zone of weight 3
	// are taken for each item of a zone of weight 1.
	Weight int
	// Limit is how many items of the zone run at the same time at most; 0 is no limit.
	Limit int
	// PerKey is how many items with the same [Item.Key] run at the same time at most;
	// 0 means 1.
	PerKey int
	// Paused keeps the zone's items from being taken.
	Paused bool
}

// maxLimit bounds the limits of a zone: a visit counts leases up to there.
const maxLimit = 10_000

func (c ZoneConfig) check() error {
	for what, n := range map[string]int{"Weight": c.Weight, "Limit": c.Limit, "PerKey": c.PerKey} {
		if n < 0 || n > maxLimit {
			return rowmap.Fault(query.KindInvalidArgument, "%s is %d; it must be from 0 to %d", what, n, maxLimit)
		}
	}
	return nil
}

// A zone is the row of a zone. Every transaction that adds an item to the zone reads
// it. It is written seldom: such a write conflicts with all of them.
type zone struct {
	name   string
	exists bool
	config ZoneConfig
	// floor is a time before which no ready row and no lease row is added.
	floor int64
	// ready holds, for each priority in use, a time before which there is no ready row;
	// it is not after floor. Without it a scan would walk over tombstones.
	ready map[int64]int64
	// leases is a time before which there is no lease row; it is not after floor.
	leases int64
	// quiet counts how often the zone's pointer was put off: see [work.settle].
	quiet int64
}

func (z *zone) encode() string {
	bounds := tuple.Tuple{}
	for _, p := range z.priorities() {
		bounds = append(bounds, p, z.ready[p])
	}
	c := z.config
	return encode(c.Weight, c.Limit, c.PerKey, c.Paused, z.floor, z.leases, z.quiet, bounds)
}

func decodeZone(name, key, value string) (*zone, error) {
	d := decode(key, value)
	z := &zone{name: name, exists: true, ready: map[int64]int64{}}
	z.config = ZoneConfig{Weight: d.limit(), Limit: d.limit(), PerKey: d.limit(), Paused: d.bool()}
	z.floor, z.leases, z.quiet = d.time(), d.time(), d.int()
	bounds := &decoder{key: key, rest: next[tuple.Tuple](d), err: d.err}
	for bounds.err == nil && len(bounds.rest) > 0 {
		priority := bounds.bounded(lastPriority)
		z.ready[priority] = bounds.time()
	}
	return z, cmp.Or(bounds.err, d.end())
}

func (d *decoder) limit() int { return int(d.bounded(maxLimit)) }

// priorities are those in use, in their order.
func (z *zone) priorities() []int64 {
	var all []int64
	for p := range z.ready {
		all = append(all, p)
	}
	slices.Sort(all)
	return all
}

func (z *zone) weight() int { return max(z.config.Weight, 1) }
func (z *zone) perKey() int { return max(z.config.PerKey, 1) }

// zone reads a zone, once in a call. A zone that does not exist is one without a
// configuration.
func (w *work) zone(name string) (*zone, error) {
	if z := w.zones[name]; z != nil {
		return z, nil
	}
	z := &zone{name: name, ready: map[int64]int64{}, floor: w.now, leases: w.now}
	key := w.q.keys.row(zoneRow, name)
	value, found, err := w.Get(key)
	if err != nil {
		return nil, err
	}
	if found {
		if z, err = decodeZone(name, key, value); err != nil {
			return nil, err
		}
	}
	if w.zones == nil {
		w.zones = map[string]*zone{}
	}
	w.zones[name] = z
	return z, nil
}

func (w *work) setZone(z *zone) error {
	z.exists = true
	return w.Set(w.q.keys.row(zoneRow, z.name), z.encode())
}

// enter makes the zone ready for an item of a priority that vests then, and gives the
// vesting time, which is not before the zone's floor.
func (w *work) enter(z *zone, priority, vests int64) (int64, error) {
	if _, used := z.ready[priority]; !used {
		z.ready[priority] = z.floor
		if err := w.setZone(z); err != nil {
			return 0, err
		}
	}
	return max(vests, z.floor), nil
}

// Configure gives a zone a configuration. It takes effect at the next visit of the
// zone; leases that there are stay.
func (q *Queue) Configure(ctx context.Context, tx *query.Tx, zoneName string, c ZoneConfig) error {
	const op = "configure zone"
	err := q.configure(ctx, tx, zoneName, c)
	return fail(op, zoneName, err)
}

func (q *Queue) configure(ctx context.Context, tx *query.Tx, name string, c ZoneConfig) error {
	w, err := q.work(ctx, tx)
	if err := cmp.Or(err, checkName("zone", name), c.check()); err != nil {
		return err
	}
	z, err := w.zone(name)
	if err != nil {
		return err
	}
	more := max(c.PerKey, 1) > z.perKey()
	z.config = c
	if err := cmp.Or(w.setZone(z), w.point(name, w.now)); err != nil || !more {
		return err
	}
	return w.unblock(z, w.q.keys.all(blockedRow, name), MaxDrain)
}

// Config is the configuration of a zone.
func (q *Queue) Config(ctx context.Context, tx *query.Tx, zoneName string) (ZoneConfig, error) {
	const op = "read configuration of zone"
	w, err := q.work(ctx, tx)
	if err := cmp.Or(err, checkName("zone", zoneName)); err != nil {
		return ZoneConfig{}, fail(op, zoneName, err)
	}
	z, err := w.zone(zoneName)
	if err != nil {
		return ZoneConfig{}, fail(op, zoneName, err)
	}
	return z.config, nil
}

// Zones are the names of the zones that begin with a prefix, in their order: zones that
// may have items, besides those that are done, and zones with a configuration. Each name
// takes two seeks, however many items are in the zone. The commit does not depend on
// them. The loop may change them.
func (q *Queue) Zones(ctx context.Context, tx *query.Tx, prefix string) iter.Seq2[string, error] {
	const op = "list zones"
	return func(yield func(string, error) bool) {
		w, err := q.work(ctx, tx)
		if err == nil && prefix != "" {
			err = checkName("prefix", prefix)
		}
		if err != nil {
			yield("", fail(op, prefix, err))
			return
		}
		for name, err := range w.zoneNames(prefix) {
			if !yield(name, fail(op, prefix, err)) || err != nil {
				return
			}
		}
	}
}

// zoneNames finds one name after the other. The row of a zone with only dead letters may
// be removed, so these are looked at too.
func (w *work) zoneNames(prefix string) iter.Seq2[string, error] {
	kinds := []int{zoneRow, deadRow}
	next := make(map[int]string) // of each kind
	return func(yield func(string, error) bool) {
		for _, kind := range kinds {
			if err := w.nextZone(next, kind, strings.TrimSuffix(w.q.keys.row(kind, prefix), "\x00"), prefix); err != nil {
				yield("", err)
				return
			}
		}
		for len(next) > 0 {
			name := slices.Min(slices.Collect(maps.Values(next)))
			if !yield(name, nil) {
				return
			}
			for _, kind := range kinds {
				if at, ok := next[kind]; !ok || at != name {
					continue
				}
				if err := w.nextZone(next, kind, w.q.keys.row(kind, name)+"\xff", prefix); err != nil {
					yield("", err)
					return
				}
			}
		}
	}
}

// nextZone sets the first zone of a kind of rows at or behind a key whose name begins
// with the prefix, or removes the kind if there is no such zone.
func (w *work) nextZone(next map[int]string, kind int, from, prefix string) error {
	delete(next, kind)
	end := strings.TrimSuffix(w.q.keys.row(kind, prefix), "\x00") + "\xff"
	for e, err := range w.PeekAll(read.Range(from, end), 1) {
		if err != nil {
			return err
		}
		n := 1
		if kind == deadRow {
			n = elements[kind]
		}
		at := w.q.keys.place(e.Key, kind, n)
		next[kind] = at.str()
		return at.err
	}
	return nil
}
