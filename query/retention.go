package query

import (
	"context"
	"time"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/schema"
)

// retentionAt is the cells that limits drop at a moment, in the form that the
// store applies. In each column these are a tail: all versions from one on.
func retentionAt(limits []schema.Limit, now cells.Timestamp) []cf.Retention {
	if len(limits) == 0 {
		return nil
	}
	rs := make([]cf.Retention, len(limits))
	for i, l := range limits {
		rs[i] = cf.Retention{Versions: l.Versions, UpTo: int64(cells.MaxTimestamp)}
		if l.Age > 0 { // expired iff now > timestamp + age
			rs[i].UpTo = int64(now) - l.Age.Microseconds() - 1
		}
	}
	return rs
}

// counts reports whether some limit depends on the number of versions.
func counts(limits []schema.Limit) bool {
	return len(limits) > 0 && limits[len(limits)-1].Versions > 0 // they are sorted
}

// maxAge is the age beyond which the family's cells are dropped at any rank; 0
// means that there is no such age.
func (f *familyInfo) maxAge() time.Duration {
	if len(f.rule) > 0 && f.rule[0].Versions == 0 {
		return f.rule[0].Age
	}
	return 0
}

// expiry is the cells of the family that the store may drop by itself.
func (f *familyInfo) expiry(now cells.Timestamp) cf.Expiry {
	age := f.maxAge()
	if age == 0 {
		return cf.Expiry{}
	}
	return cf.Expiry{
		Before: max(0, int64(now)-age.Microseconds()),
		// By then all data is expired that was written in order.
		Period: min(max(age, minPeriod), maxPeriod),
	}
}

// Cold files are rewritten to drop expired cells, at intervals between these.
const (
	minPeriod = 24 * time.Hour
	maxPeriod = 30 * 24 * time.Hour
)

// allowExpiry lets the store drop the cells that are expired at a moment. Reads
// that began before it and have not opened their cursors may miss them.
func (db *DB) allowExpiry(ctx context.Context, now cells.Timestamp) error {
	return db.setExpiry(ctx, func(f *familyInfo) cf.Expiry { return f.expiry(now) })
}

func (db *DB) setExpiry(ctx context.Context, of func(*familyInfo) cf.Expiry) error {
	if err := db.schemaMu.RLock(ctx); err != nil { // an alter that relaxes a rule is not overtaken
		return err
	}
	defer db.schemaMu.RUnlock()
	for _, t := range db.catalog.Load().tables {
		for _, f := range t.families {
			if f.maxAge() == 0 {
				continue
			}
			if err := db.store.SetExpiry(f.store, of(f)); err != nil {
				return err
			}
		}
	}
	return nil
}

// A loosening is a family whose reads are about to hide less than they did.
type loosening struct {
	table    string
	old, new *familyInfo
}

func loosenings(old, next *catalog) (ls []loosening) {
	for _, t := range next.tables {
		was := old.tables[t.name]
		if was == nil {
			continue
		}
		for _, f := range t.families {
			if o, err := was.family(f.name); err == nil && !schema.Covers(f.limits, o.limits) {
				ls = append(ls, loosening{t.name, o, f})
			}
		}
	}
	return ls
}

// loosen removes the cells that the rules in force hide and the new ones would
// show again. schemaMu is held exclusively: no write comes between the removal
// and the new rule. After a crash no visible cell is lost.
//
// First it withdraws the store's permission to drop cells that the new rule
// keeps. A compaction that began with the old permission drops only cells that
// expired before now, which are removed here as well.
func (db *DB) loosen(ctx context.Context, old, next *catalog) error {
	for _, l := range loosenings(old, next) {
		if o, n := l.old.maxAge(), l.new.maxAge(); o != 0 && (n == 0 || n > o) {
			if err := db.store.SetExpiry(l.new.store, l.new.expiry(db.clock.now())); err != nil {
				return err
			}
		}
		s := sweep{db: db, table: l.table, family: l.old, limits: l.old.limits, expired: true, exclusive: true}
		if err := s.run(ctx); err != nil {
			return err
		}
		if s.found.Surplus+s.found.Expired > 0 {
			db.logger.Info("removed what a rule had hidden before it is relaxed", "family", l.old.store,
				"cells", s.found.Surplus+s.found.Expired)
		}
	}
	return nil
}

// manyExpired is the number of expired cells from which a compaction removes them
// more cheaply than deletes.
const manyExpired = 1 << 16

// prepareLoosening does most of the work of loosen while writes go on. It does
// not matter if the schema changes meanwhile, nor if the plan is wrong.
func (db *DB) prepareLoosening(ctx context.Context, plan schema.Plan) error {
	old := db.catalog.Load()
	next, err := plan.Apply(old.schema)
	if err != nil || next.Validate() != nil {
		return nil // alter will say so
	}
	for _, l := range loosenings(old, newCatalog(next, old.streams)) {
		s := sweep{db: db, table: l.table, family: l.old, limits: l.old.limits}
		if err := s.run(ctx); err != nil {
			return err
		}
		if s.found.Expired < manyExpired {
			continue
		}
		if err := db.allowExpiry(ctx, db.clock.now()); err != nil {
			return err
		}
		if err := db.store.Compact(ctx, l.old.store, cf.Range{}); err != nil {
			return err
		}
	}
	return nil
}
