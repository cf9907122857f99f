package gc

import (
	"context"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/query/internal/catalog"
	"github.com/smolwc/smolwc/query/internal/state"
	"github.com/smolwc/smolwc/schema"
)

// Loosen removes the cells that the rules in force hide and the new ones would
// show again. The schema lock is held exclusively: no write comes between the removal
// and the new rule. After a crash no visible cell is lost.
//
// First it withdraws the store's permission to drop cells that the new rule
// keeps. A compaction that began with the old permission drops only cells that
// expired before now, which are removed here as well.
func Loosen(ctx context.Context, db *state.DB, old, next *catalog.Catalog) error {
	for _, l := range catalog.Loosenings(old, next) {
		if o, n := l.Old.MaxAge(), l.New.MaxAge(); o != 0 && (n == 0 || n > o) {
			if err := db.Store.SetExpiry(l.New.Store, l.New.Expiry(db.Clock.Now())); err != nil {
				return err
			}
		}
		s := sweep{db: db, table: l.Table, family: l.Old, limits: l.Old.Limits, expired: true, exclusive: true}
		if err := s.run(ctx); err != nil {
			return err
		}
		if s.found.Surplus+s.found.Expired > 0 {
			db.Logger.Info("removed what a rule had hidden before it is relaxed", "family", l.Old.Store,
				"cells", s.found.Surplus+s.found.Expired)
		}
	}
	return nil
}

// manyExpired is the number of expired cells from which a compaction removes them
// more cheaply than deletes.
const manyExpired = 1 << 16

// PrepareLoosening does most of the work of Loosen while writes continue. It does no
// harm if the schema changes meanwhile, or if the plan is wrong.
func PrepareLoosening(ctx context.Context, db *state.DB, plan schema.Plan) error {
	old := db.Catalog.Load()
	next, err := plan.Apply(old.Schema)
	if err != nil || next.Validate() != nil {
		return nil // alter.Apply will say so
	}
	for _, l := range catalog.Loosenings(old, old.With(next, old.Streams)) {
		s := sweep{db: db, table: l.Table, family: l.Old, limits: l.Old.Limits}
		if err := s.run(ctx); err != nil {
			return err
		}
		if s.found.Expired < manyExpired {
			continue
		}
		if err := db.AllowExpiry(ctx, db.Clock.Now()); err != nil {
			return err
		}
		if err := db.Store.Compact(ctx, l.Old.Store, cf.Range{}); err != nil {
			return err
		}
	}
	return nil
}
