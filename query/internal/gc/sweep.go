// Package gc removes the cells that retention dropped.
package gc

import (
	"cmp"
	"context"
	"time"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/query/internal/catalog"
	"github.com/smolwc/smolwc/query/internal/edit"
	"github.com/smolwc/smolwc/query/internal/state"
	"github.com/smolwc/smolwc/schema"
)

// Found are the cells that a sweep found, as package query describes them.
type Found struct {
	Family                string
	Scanned               int64
	Surplus, SurplusBytes int64
	Expired, ExpiredBytes int64
}

// A sweep finds and deletes, in one family, the tails that limits have dropped.
type sweep struct {
	db        *state.DB
	table     string
	family    *catalog.Family
	limits    []schema.Limit
	dryRun    bool
	expired   bool // delete expired cells too, instead of leaving them to compactions
	exclusive bool // the schema lock is held exclusively: no write is under way
	pace      pace

	found   Found
	waiting []*tail
	deletes int
}

// The limits of one batch of deletes, during which its rows are locked.
const (
	sweepTails   = 64
	sweepDeletes = 1024
)

// run reads a snapshot of the family and deletes as it goes.
func (s *sweep) run(ctx context.Context) error {
	s.found.Family = s.family.Name
	if len(s.limits) == 0 {
		return nil
	}
	now := s.db.Clock.Now()
	find := tailFinder{rules: catalog.RetentionAt(s.limits, now), expiry: s.family.Expiry(now).Before, expired: s.expired, found: &s.found, most: cmp.Or(s.db.TailDeletes, edit.PointDeletes),
		take: func(t *tail) error { return s.take(ctx, t) }}
	snap, err := s.db.Store.Snapshot(ctx)
	if err != nil {
		return err
	}
	defer snap.Close()
	c, err := snap.Scan(ctx, cf.Scan{Family: s.family.Store, Rows: []cf.Range{{}}})
	if err != nil {
		return err
	}
	defer c.Close()
	for {
		began := time.Now()
		b, err := c.Next(ctx)
		if err != nil {
			return err
		}
		if b == nil {
			break
		}
		if err := find.block(b); err != nil {
			return err
		}
		if err := s.pace.worked(ctx, time.Since(began)); err != nil {
			return err
		}
	}
	if err := find.end(); err != nil {
		return err
	}
	return s.flush(ctx)
}

func (s *sweep) take(ctx context.Context, t *tail) error {
	if s.dryRun {
		return nil
	}
	s.waiting = append(s.waiting, t)
	s.deletes += max(1, len(t.timestamps))
	if len(s.waiting) < sweepTails && s.deletes < sweepDeletes {
		return nil
	}
	return s.flush(ctx)
}

func (s *sweep) flush(ctx context.Context) error {
	tails := s.waiting
	s.waiting, s.deletes = s.waiting[:0], 0
	switch {
	case len(tails) == 0:
		return nil
	case s.exclusive:
		return s.deleteFound(ctx, tails)
	}
	return s.deleteLocked(ctx, tails)
}

func (s *sweep) deleteFound(ctx context.Context, tails []*tail) error {
	rows := make([]cf.RowID, len(tails))
	for i, t := range tails {
		rows[i] = s.rowID(t)
	}
	stream := s.stream()
	return s.db.Update(ctx, rows, stream != nil, func(_ cf.Snapshot, b *cf.Batch) error {
		for i, t := range tails {
			b.Row(rows[i])
			t.delete(b, s.family, stream, t.last)
		}
		return nil
	})
}

// deleteLocked deletes tails under the locks of their rows. Since the scan, cells may
// have been written and deleted, and the rule may have changed, so it looks again for
// the last version to keep.
func (s *sweep) deleteLocked(ctx context.Context, tails []*tail) error {
	return s.db.Writing(ctx, func(*catalog.Catalog) error { return s.deleteUnder(ctx, tails) })
}

func (s *sweep) deleteUnder(ctx context.Context, tails []*tail) error {
	f, ok := s.current()
	if !ok {
		return nil
	}
	rows := make([]cf.RowID, len(tails))
	for i, t := range tails {
		rows[i] = s.rowID(t)
	}
	defer func() {
		if t := s.marked(); t != nil {
			for _, row := range rows {
				s.db.Marked.Add(t, row.Row)
			}
		}
	}()
	return s.db.Update(ctx, rows, s.stream() != nil, func(snap cf.Snapshot, b *cf.Batch) error {
		for rest := tails; len(rest) > 0; {
			n := 1
			for n < len(rest) && rest[n].row == rest[0].row {
				n++
			}
			if err := s.deleteInRow(ctx, snap, b, f, rest[:n]); err != nil {
				return err
			}
			rest = rest[n:]
		}
		return nil
	})
}

// stream is the table's change stream, or nil. The schema lock is held.
func (s *sweep) stream() *catalog.Stream {
	if t := s.db.Catalog.Load().Tables[s.table]; t != nil {
		return t.Stream
	}
	return nil
}

// marked is the table if its rows are marked and reads see what the sweep removes:
// with lazy retention, surplus versions.
func (s *sweep) marked() *catalog.Table {
	if t := s.db.Catalog.Load().Tables[s.table]; t != nil && t.Marks != nil && t.Declared.Retention == schema.Lazy {
		return t
	}
	return nil
}

// current is the family in the schema in force. ok is false when the family was
// dropped, or now keeps more than the limits of the sweep. The schema lock is held.
func (s *sweep) current() (*catalog.Family, bool) {
	t, err := s.db.Catalog.Load().Table(s.table)
	if err != nil {
		return nil, false
	}
	f, err := t.Family(s.family.Name)
	if err != nil || !schema.Covers(f.Rule, s.limits) {
		return nil, false
	}
	return f, true
}

func (s *sweep) deleteInRow(ctx context.Context, snap cf.Snapshot, b *cf.Batch, f *catalog.Family, tails []*tail) error {
	last := map[string]int64{} // of each column, the oldest version that is kept
	wanted := cf.Filter{Retention: catalog.RetentionAt(s.limits, s.db.Clock.Now())}
	for _, t := range tails {
		wanted.Qualifiers = append(wanted.Qualifiers, cf.Single(t.qualifier))
	}
	if err := edit.EachCell(ctx, snap, tails[0].row, f, wanted, func(q string, ts int64) { last[q] = ts }); err != nil {
		return err
	}
	b.Row(s.rowID(tails[0]))
	if t := s.marked(); t != nil {
		edit.Mark(b, t)
	}
	for _, t := range tails {
		at, ok := last[t.qualifier]
		if !ok {
			at = -1
		}
		t.delete(b, f, s.stream(), at)
	}
	return nil
}

func (s *sweep) rowID(t *tail) cf.RowID { return cf.RowID{Space: s.table, Row: t.row} }

// Collect removes the cells of a family that its rule dropped. It works for this
// share of the time and rests for the remainder; a dry run only finds the cells.
func Collect(ctx context.Context, db *state.DB, table string, f *catalog.Family, share float64, dryRun bool) (Found, error) {
	s := sweep{db: db, table: table, family: f, limits: f.Rule, dryRun: dryRun, pace: pace{share: share}}
	err := s.run(ctx)
	return s.found, err
}
