// Package alter changes the schema of an open database, as plans and declarations ask
// for, so that a crash at any point leaves a database that opens.
package alter

import (
	"context"
	"errors"
	"slices"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/query/internal/catalog"
	"github.com/smolwc/smolwc/query/internal/fault"
	"github.com/smolwc/smolwc/query/internal/gc"
	"github.com/smolwc/smolwc/query/internal/state"
	"github.com/smolwc/smolwc/schema"
)

// Apply carries out a plan. New families are created in the store before the
// catalog names them; dropped ones are marked in the catalog first. So a crash
// leaves at most an empty family that nothing names, or a mark that the next open
// handles.
func Apply(ctx context.Context, db *state.DB, plan schema.Plan) error {
	if plan.Empty() {
		return nil
	}
	if err := gc.PrepareLoosening(ctx, db, plan); err != nil {
		return err
	}
	return change(ctx, db, func(old *catalog.Catalog) (*catalog.Catalog, schema.Plan, error) {
		plan := keepingNothing(db, withoutMarks(old, plan))
		next, err := apply(db, old, plan)
		if err == nil {
			err = bound(ctx, db, next)
		}
		return next, plan, err
	})
}

// change puts the catalog in force that next makes of the one that is. The plan says
// which tables it touches.
func change(ctx context.Context, db *state.DB, next func(old *catalog.Catalog) (*catalog.Catalog, schema.Plan, error)) error {
	unlock, err := db.LockSchema(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	old := db.Catalog.Load()
	c, plan, err := next(old)
	if err != nil {
		return err
	}
	streams, err := db.NextStreams(ctx, old, c)
	if err != nil {
		return err
	}
	c.SetStreams(streams)
	c.Follow(old, plan.Touches)
	if err := checkTypes(ctx, db, old, c); err != nil {
		return err
	}
	if err := CreateFamilies(ctx, db, old, c); err != nil {
		return err
	}
	if err := gc.Loosen(ctx, db, old, c); err != nil {
		return err
	}
	if len(streams) > 0 && !db.Store.KeepsChanges() {
		if err := db.KeepChanges(c); err != nil {
			return err
		}
	}
	if len(c.Deleted) > len(old.Deleted) {
		if err := db.Raise(ctx, catalog.FormatOfDeleted); err != nil {
			return err
		}
	}
	dropped := catalog.Missing(old, c)
	err = saveCatalog(ctx, db, old, c, dropped)
	if err != nil && !errors.Is(err, cf.ErrNotAcknowledged) {
		return err
	}
	return errors.Join(enforce(ctx, db, old, c, dropped), err)
}

// enforce puts a catalog in force that is in the store.
func enforce(ctx context.Context, db *state.DB, old, c *catalog.Catalog, dropped []string) error {
	db.Catalog.Store(c)
	if len(old.Streams)+len(c.Streams) > 0 {
		db.Changes.Changed()
		if err := db.KeepChanges(c); err != nil {
			return err
		}
	}
	if err := db.Tune(old, c); err != nil {
		return err
	}
	if db.Shared == nil { // a cluster may be away for long; the marks stay then
		ctx = context.WithoutCancel(ctx)
	}
	return db.DropFamilies(ctx, dropped)
}

// withoutMarks adds to a plan that changes a table the drop of its marks. Without marks, a
// reader of them knows that every row may have changed.
func withoutMarks(old *catalog.Catalog, plan schema.Plan) schema.Plan {
	changes := slices.Clone(plan.Changes)
	for name, t := range old.Tables {
		marks := schema.MarksOf(name)
		if t.Marks != nil && plan.Touches(name) && !plan.Touches(marks) {
			changes = append(changes, schema.Change{Kind: schema.DropTable, Table: marks, Families: old.Tables[marks].Declared.Families})
		}
	}
	return schema.Plan{Changes: changes}
}

// CheckPlan refuses a plan that Apply would refuse now, with the same error.
func CheckPlan(ctx context.Context, db *state.DB, plan schema.Plan) error {
	if err := db.Freshen(ctx); err != nil {
		return err
	}
	old := db.Catalog.Load()
	next, err := apply(db, old, plan)
	if err != nil {
		return err
	}
	if err := checkTypes(ctx, db, old, next); err != nil {
		return err
	}
	_, _, err = familiesToCreate(ctx, db, old, next)
	return err
}

// checkTypes refuses to change the type or the aggregate of a family with cells.
func checkTypes(ctx context.Context, db *state.DB, old, next *catalog.Catalog) error {
	for _, t := range next.Tables {
		was := old.Tables[t.Name]
		if was == nil {
			continue
		}
		for _, f := range t.Families {
			before, err := was.Family(f.Name)
			if err != nil || before.Type == f.Type && before.Aggregate == f.Aggregate {
				continue
			}
			empty, err := isEmpty(ctx, db, f.Store)
			if err != nil {
				return err
			}
			if !empty && before.Aggregate != f.Aggregate {
				return fault.Errorf(fault.FailedPrecondition, "family %s of table %s has data; its aggregate cannot become %s from %s", f.Name, t.Name, f.Aggregate, before.Aggregate)
			}
			if !empty {
				return fault.Errorf(fault.FailedPrecondition, "family %s of table %s has data of type %s; its type cannot become %s", f.Name, t.Name, before.Type, f.Type)
			}
		}
	}
	return nil
}

func isEmpty(ctx context.Context, db *state.DB, family string) (bool, error) {
	snap, err := db.Store.Snapshot(ctx)
	if err != nil {
		return false, err
	}
	defer snap.Close()
	c, err := snap.Scan(ctx, cf.Scan{Family: family, Rows: []cf.Range{{}}, Limit: 1, Hint: 1, Filter: cf.Filter{KeysOnly: true}})
	if err != nil {
		return false, err
	}
	defer c.Close()
	b, err := c.Next(ctx)
	return b == nil, err
}

// CreateFamilies creates the families of next that old lacks.
func CreateFamilies(ctx context.Context, db *state.DB, old, next *catalog.Catalog) error {
	names, marked, err := familiesToCreate(ctx, db, old, next)
	if err != nil {
		return err
	}
	if err := db.DropFamilies(ctx, marked); err != nil {
		return err
	}
	return db.Store.CreateFamily(ctx, names...)
}

// familiesToCreate are the families of next that are neither in old nor in the store. A
// family that is in the store already was left by an interrupted create, and is empty; or
// by an interrupted drop, and is marked: that drop must end before.
func familiesToCreate(ctx context.Context, db *state.DB, old, next *catalog.Catalog) (names, marked []string, err error) {
	missing := catalog.Missing(next, old)
	if len(missing) == 0 {
		return nil, nil, nil
	}
	marks, err := catalog.Entries(ctx, db.Store, catalog.PrefixDrop)
	if err != nil {
		return nil, nil, err
	}
	have := db.Store.Families()
	for _, name := range missing {
		if _, ok := marks[catalog.PrefixDrop+name]; ok {
			names, marked = append(names, name), append(marked, name)
			continue
		}
		if _, ok := slices.BinarySearch(have, name); ok {
			empty, err := isEmpty(ctx, db, name)
			if err != nil {
				return nil, nil, err
			}
			if !empty {
				return nil, nil, fault.Errorf(fault.FailedPrecondition, "the store has a family %s with data that no table declares", name)
			}
			continue
		}
		names = append(names, name)
	}
	return names, marked, nil
}

// saveCatalog writes the tables of next and marks dropped families, in one
// batch.
func saveCatalog(ctx context.Context, db *state.DB, old, next *catalog.Catalog, dropped []string) error {
	moved, err := move(ctx, db, old, next)
	if err != nil {
		return err
	}
	return db.WriteCatalog(ctx, func(b *cf.Batch) error {
		b.RaiseCatalog()
		for i := range next.Schema.Tables {
			t := &next.Schema.Tables[i]
			entry, err := t.MarshalCatalog()
			if err != nil {
				return err
			}
			b.PutMeta(catalog.PrefixTable+t.Name, entry)
		}
		for name := range old.Tables {
			if next.Tables[name] == nil {
				b.DeleteMeta(catalog.PrefixTable + name)
			}
		}
		catalog.PutStores(b, old, next)
		catalog.PutStreams(b, old.Streams, next.Streams)
		for _, name := range dropped {
			b.PutMeta(catalog.PrefixDrop+name, nil)
		}
		moved(b)
		return nil
	})
}

// ForgetLoads removes the records of a table's loads, so that they can be made again.
func ForgetLoads(ctx context.Context, db *state.DB, table string) error {
	loads, err := catalog.Entries(ctx, db.Store, catalog.LoadKey(table, ""))
	if err != nil || len(loads) == 0 {
		return err
	}
	return db.Writing(ctx, func(*catalog.Catalog) error {
		_, err := db.Store.Write(ctx, nil, func(b *cf.Batch) error {
			for key := range loads {
				b.DeleteMeta(key)
			}
			return nil
		})
		return err
	})
}
