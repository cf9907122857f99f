package query

import (
	"context"
	"time"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/query/internal/catalog"
	"github.com/smolwc/smolwc/query/internal/edit"
	"github.com/smolwc/smolwc/schema"
)

// GCOptions say what [DB.GC] does.
type GCOptions struct {
	// DryRun finds the cells to remove and changes nothing.
	DryRun bool
	// Compact rewrites the table's files in the end, which frees all space at
	// once; otherwise it becomes free as the engine compacts.
	Compact bool
}

// A GCReport is the result of [DB.GC] for a table.
type GCReport struct {
	Table    string
	DryRun   bool
	Families []GCFamily // in the order of their names
}

// A GCFamily is the result of [DB.GC] for one family. The bytes are those of row
// keys, qualifiers, timestamps and values, before compression.
type GCFamily struct {
	Family  string
	Scanned int64 // cells looked at
	// Surplus cells are those beyond the number of versions to keep that are not
	// expired. They are deleted.
	Surplus, SurplusBytes int64
	// Expired cells are too old at any rank. Compactions drop them.
	Expired, ExpiredBytes int64
}

// Cells is how many cells are removed, or would be.
func (r *GCReport) Cells() (n int64) {
	for _, f := range r.families() {
		n += f.Surplus + f.Expired
	}
	return n
}

// Bytes is how many bytes are removed, or would be.
func (r *GCReport) Bytes() (n int64) {
	for _, f := range r.families() {
		n += f.SurplusBytes + f.ExpiredBytes
	}
	return n
}

func (r *GCReport) families() []GCFamily {
	if r == nil {
		return nil
	}
	return r.Families
}

// GC removes the cells that the retention rules of a table have dropped. It reads
// the table and deletes surplus versions a few columns at a time, under their
// rows' locks; it leaves expired cells to compactions. Visible cells do not
// change, except that a table with lazy retention no longer shows its surplus
// versions.
//
// It takes at most half of the time. The context may stop it at any point; the
// report then covers the part that was done. It may miss cells that are written
// meanwhile.
func (db *DB) GC(ctx context.Context, table string, o GCOptions) (GCReport, error) {
	const op = "gc"
	if err := db.ready(ctx); err != nil {
		return GCReport{Table: table}, fail(op, table, "", err)
	}
	if db.state.ReadOnly && !o.DryRun {
		return GCReport{Table: table}, fail(op, table, "", cf.ErrReadOnly)
	}
	r, err := db.gc(ctx, table, gcRun{GCOptions: o, share: 0.5, families: func(*catalog.Family) bool { return true },
		compacts: func(*GCFamily) bool { return o.Compact }})
	return r, fail(op, table, "", err)
}

// A gcRun is the settings of one run of the collection.
type gcRun struct {
	GCOptions
	share    float64                    // the share of the time that it may take
	families func(*catalog.Family) bool // which it looks at
	compacts func(*GCFamily) bool       // which it compacts
}

func (db *DB) gc(ctx context.Context, table string, run gcRun) (GCReport, error) {
	report := GCReport{Table: table, DryRun: run.DryRun}
	info, err := db.state.Catalog.Load().Table(table)
	if err != nil {
		return report, err
	}
	for _, f := range info.Families {
		if !run.families(f) {
			continue
		}
		s := sweep{db: db, table: table, family: f, limits: f.Rule, dryRun: run.DryRun, pace: pace{share: run.share}}
		err := s.run(ctx)
		report.Families = append(report.Families, s.found)
		if err != nil {
			return report, err
		}
		if run.DryRun || !run.compacts(&s.found) {
			continue
		}
		if err := db.state.AllowExpiry(ctx, db.state.Clock.Now()); err != nil {
			return report, err
		}
		if err := db.state.Store.Compact(ctx, f.Store, cf.Range{}); err != nil {
			return report, err
		}
	}
	return report, nil
}

// A sweep finds and deletes, in one family, the tails that limits have dropped.
type sweep struct {
	db        *DB
	table     string
	family    *catalog.Family
	limits    []schema.Limit
	dryRun    bool
	expired   bool // delete expired cells too, instead of leaving them to compactions
	exclusive bool // schemaMu is held exclusively: nobody writes
	pace      pace

	found   GCFamily
	waiting []*tail
	deletes int
}

// The limits of one batch of deletes, which keeps rows locked.
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
	now := s.db.state.Clock.Now()
	find := tailFinder{rules: catalog.RetentionAt(s.limits, now), expiry: s.family.Expiry(now).Before, expired: s.expired, found: &s.found, most: s.db.tailDeletes,
		take: func(t *tail) error { return s.take(ctx, t) }}
	snap, err := s.db.state.Store.Snapshot(ctx)
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

// flush deletes the tails that wait.
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

// deleteFound deletes tails as they were found.
func (s *sweep) deleteFound(ctx context.Context, tails []*tail) error {
	rows := make([]cf.RowID, len(tails))
	for i, t := range tails {
		rows[i] = s.rowID(t)
	}
	stream := s.stream()
	return s.db.state.Update(ctx, rows, stream != nil, func(_ cf.Snapshot, b *cf.Batch) error {
		for i, t := range tails {
			b.Row(rows[i])
			t.delete(b, s.family, stream, t.last)
		}
		return nil
	})
}

// deleteLocked deletes tails under the locks of their rows. Since the scan, cells
// may have been written and deleted, and the rule changed: it finds again the
// last version to be kept.
func (s *sweep) deleteLocked(ctx context.Context, tails []*tail) error {
	if err := s.db.state.SchemaLock.RLock(ctx); err != nil {
		return err
	}
	defer s.db.state.SchemaLock.RUnlock()
	f, ok := s.current()
	if !ok {
		return nil
	}
	rows := make([]cf.RowID, len(tails))
	for i, t := range tails {
		rows[i] = s.rowID(t)
	}
	return s.db.state.Update(ctx, rows, s.stream() != nil, func(snap cf.Snapshot, b *cf.Batch) error {
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

// stream is the table's change stream, nil when it has none. schemaMu is held.
func (s *sweep) stream() *catalog.Stream {
	if t := s.db.state.Catalog.Load().Tables[s.table]; t != nil {
		return t.Stream
	}
	return nil
}

// current is the family in the schema in force. ok is false when the family was
// dropped, or now keeps more than the limits of the sweep. schemaMu is held.
func (s *sweep) current() (*catalog.Family, bool) {
	t, err := s.db.state.Catalog.Load().Table(s.table)
	if err != nil {
		return nil, false
	}
	f, err := t.Family(s.family.Name)
	if err != nil || !schema.Covers(f.Rule, s.limits) {
		return nil, false
	}
	return f, true
}

// deleteInRow deletes tails of one row.
func (s *sweep) deleteInRow(ctx context.Context, snap cf.Snapshot, b *cf.Batch, f *catalog.Family, tails []*tail) error {
	last := map[string]int64{} // of each column, the oldest version that is kept
	wanted := cf.Filter{Retention: catalog.RetentionAt(s.limits, s.db.state.Clock.Now())}
	for _, t := range tails {
		wanted.Qualifiers = append(wanted.Qualifiers, cf.Single(t.qualifier))
	}
	if err := edit.EachCell(ctx, snap, tails[0].row, f, wanted, func(q string, ts int64) { last[q] = ts }); err != nil {
		return err
	}
	b.Row(s.rowID(tails[0]))
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

// A pace bounds the share of the time that background work takes. The zero pace
// has no bound.
type pace struct {
	share float64
	owed  time.Duration
}

// minPause is the shortest pause that is made.
const minPause = 5 * time.Millisecond

// worked counts work, and pauses when a pause is due.
func (p *pace) worked(ctx context.Context, d time.Duration) error {
	if p.share <= 0 || p.share >= 1 {
		return ctx.Err()
	}
	if p.owed += time.Duration(float64(d) * (1/p.share - 1)); p.owed < minPause {
		return ctx.Err()
	}
	pause := time.NewTimer(p.owed)
	defer pause.Stop()
	p.owed = 0
	select {
	case <-pause.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
