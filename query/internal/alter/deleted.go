package alter

import (
	"context"
	"slices"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/query/internal/catalog"
	"github.com/smolwc/smolwc/query/internal/state"
	"github.com/smolwc/smolwc/schema"
)

// apply is the catalog after a plan.
func apply(db *state.DB, old *catalog.Catalog, plan schema.Plan) (*catalog.Catalog, error) {
	now := db.Clock.Now()
	return old.Apply(plan, now, db.KeepUntil(now))
}

// keepingNothing is the plan of a database that keeps no deleted tables.
func keepingNothing(db *state.DB, plan schema.Plan) schema.Plan {
	if db.KeepDeleted >= 0 {
		return plan
	}
	changes := slices.Clone(plan.Changes)
	for i := range changes {
		if changes[i].Kind == schema.DeleteTable {
			changes[i].Kind = schema.DropTable
		}
	}
	return schema.Plan{Changes: changes}
}

// bound drops the oldest deleted tables beyond the bounds. The last one stays, however
// large it is.
func bound(ctx context.Context, db *state.DB, c *catalog.Catalog) error {
	if len(c.Deleted) < 2 {
		return nil
	}
	var stats cf.Stats
	if db.DeletedBytes > 0 {
		var err error
		if stats, err = db.Store.Stats(ctx); err != nil {
			return err
		}
	}
	families, bytes := 0, int64(0)
	for i, d := range slices.Backward(c.Deleted) {
		families += max(1, len(d.Families))
		bytes += d.Bytes(stats)
		if i < len(c.Deleted)-1 && (families > db.DeletedFamilies || db.DeletedBytes > 0 && bytes > db.DeletedBytes) {
			c.Deleted = c.Deleted[i+1:]
			break
		}
	}
	return nil
}

// PurgeOld removes the deleted tables that have been kept for long enough, and returns
// them.
func PurgeOld(ctx context.Context, db *state.DB) (gone []*catalog.Deleted, err error) {
	now := db.Clock.Now()
	old := func(d *catalog.Deleted) bool { return d.Until <= now }
	if !slices.ContainsFunc(db.Catalog.Load().Deleted, old) {
		return nil, nil
	}
	err = change(ctx, db, func(c *catalog.Catalog) (*catalog.Catalog, schema.Plan, error) {
		next := c.With(c.Schema, nil)
		next.Deleted, gone = nil, nil
		for _, d := range c.Deleted {
			if old(d) {
				gone = append(gone, d)
			} else {
				next.Deleted = append(next.Deleted, d)
			}
		}
		return next, schema.Plan{}, nil
	})
	return gone, err
}

// move adds to a batch the entries of the catalog that tables take along when they are
// deleted or come back, and removes the entries of tables that are gone.
func move(ctx context.Context, db *state.DB, old, next *catalog.Catalog) (func(*cf.Batch), error) {
	puts, deletes := map[string][]byte{}, []string{}
	for _, d := range next.Deleted {
		if slices.ContainsFunc(old.Deleted, func(o *catalog.Deleted) bool { return o.Key() == d.Key() }) {
			continue
		}
		extra, err := entriesOf(ctx, db, d.Name)
		if err != nil {
			return nil, err
		}
		if puts[d.Key()], err = d.Marshal(extra); err != nil {
			return nil, err
		}
	}
	for name := range old.Tables {
		if next.Tables[name] != nil {
			continue
		}
		extra, err := entriesOf(ctx, db, name)
		if err != nil {
			return nil, err
		}
		for key := range extra {
			deletes = append(deletes, key)
		}
	}
	for _, d := range old.Deleted {
		if slices.ContainsFunc(next.Deleted, func(n *catalog.Deleted) bool { return n.Key() == d.Key() }) {
			continue
		}
		deletes = append(deletes, d.Key())
		if t := next.Tables[d.Name]; t == nil || t.Store != d.Store {
			continue
		}
		entries, err := catalog.Entries(ctx, db.Store, d.Key())
		if err != nil {
			return nil, err
		}
		_, extra, err := catalog.ReadDeleted(d.Key(), entries[d.Key()])
		if err != nil {
			return nil, err
		}
		for key, value := range extra {
			puts[key] = value
		}
	}
	return func(b *cf.Batch) {
		for _, key := range deletes {
			b.DeleteMeta(key)
		}
		for key, value := range puts {
			b.PutMeta(key, value)
		}
	}, nil
}

// entriesOf are the entries of a table beside its own: its note, and the records of its
// bulk loads.
func entriesOf(ctx context.Context, db *state.DB, table string) (map[string][]byte, error) {
	extra, err := catalog.Entries(ctx, db.Store, catalog.LoadKey(table, ""))
	if err != nil {
		return nil, err
	}
	note := catalog.PrefixTableNote + table
	notes, err := catalog.Entries(ctx, db.Store, note)
	if value, ok := notes[note]; ok {
		extra[note] = value
	}
	return extra, err
}
