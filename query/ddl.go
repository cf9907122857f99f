package query

import (
	"context"
	"slices"
	"time"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/query/internal/catalog"
	"github.com/smolwc/smolwc/query/internal/fault"
	"github.com/smolwc/smolwc/query/internal/gc"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/schema"
)

// ApplyPlan makes all changes of a plan, those that drop data included, or
// none: the schema changes at once. A family's type and aggregate can change
// only while it has no cell.
func (db *DB) ApplyPlan(ctx context.Context, plan schema.Plan) error {
	return fail("apply schema", "", "", db.alter(ctx, plan))
}

// CheckPlan refuses a plan that [DB.ApplyPlan] would refuse now, with the same error,
// and changes nothing.
func (db *DB) CheckPlan(ctx context.Context, plan schema.Plan) error {
	const op = "check schema"
	if err := db.ready(ctx); err != nil {
		return fail(op, "", "", err)
	}
	old := db.state.Catalog.Load()
	next, err := old.Apply(plan)
	if err != nil {
		return fail(op, "", "", err)
	}
	if err := db.checkTypes(ctx, old, next); err != nil {
		return fail(op, "", "", err)
	}
	_, err = db.familiesToCreate(ctx, old, next)
	return fail(op, "", "", err)
}

// CreateTable creates a table with its families.
func (db *DB) CreateTable(ctx context.Context, t schema.Table) error {
	return db.change("create table", t.Name, ctx, schema.Change{Kind: schema.CreateTable, Table: t.Name, Families: t.Families, NewRetention: t.Retention, NewKeyFormat: t.KeyFormat, NewChangeStream: t.ChangeStream})
}

// DropTable drops a table and its data.
func (db *DB) DropTable(ctx context.Context, table string) error {
	c := schema.Change{Kind: schema.DropTable, Table: table}
	if t, ok := db.inForce().Schema.Table(table); ok {
		c.Families = t.Families
	}
	return db.change("drop table", table, ctx, c)
}

// AddFamily adds a family to a table.
func (db *DB) AddFamily(ctx context.Context, table string, f schema.Family) error {
	return db.change("add family", table, ctx, schema.Change{Kind: schema.AddFamily, Table: table, Family: f.Name, New: f})
}

// SetFamily sets the type, the aggregate and the retention of an existing family.
// The type and the aggregate can change only while the family has no cell.
// Relaxing retention does not bring hidden cells back: the cells that the
// family's rule has dropped so far are removed first. That reads the family once;
// writes wait during the last pass.
func (db *DB) SetFamily(ctx context.Context, table string, f schema.Family) error {
	return db.change("set family", table, ctx,
		schema.Change{Kind: schema.SetType, Table: table, Family: f.Name, New: f},
		schema.Change{Kind: schema.SetAggregate, Table: table, Family: f.Name, New: f},
		schema.Change{Kind: schema.SetRetention, Table: table, Family: f.Name, New: f})
}

// SetKeyFormat sets how the row keys of a table are shown.
func (db *DB) SetKeyFormat(ctx context.Context, table string, k schema.KeyFormat) error {
	return db.change("set key format", table, ctx, schema.Change{Kind: schema.SetKeyFormat, Table: table, NewKeyFormat: k})
}

// SetChangeStream sets how long the changes of a table are kept, from now on: see
// [Table.Changes]. It is 24 hours to 7 days; 0 drops the kept changes.
func (db *DB) SetChangeStream(ctx context.Context, table string, keep time.Duration) error {
	return db.change("set change stream", table, ctx, schema.Change{Kind: schema.SetChangeStream, Table: table, NewChangeStream: keep})
}

// DropFamily drops a family of a table and its data.
func (db *DB) DropFamily(ctx context.Context, table, family string) error {
	return db.change("drop family", table, ctx, schema.Change{Kind: schema.DropFamily, Table: table, Family: family})
}

// TruncateTable removes all rows of a table, and the names of its bulk loads.
func (db *DB) TruncateTable(ctx context.Context, table string) error {
	if err := db.Table(table).DeleteRange(ctx, read.Prefix("")); err != nil {
		return err
	}
	return fail("truncate table", table, "", db.forgetLoads(ctx, table))
}

func (db *DB) change(op, table string, ctx context.Context, changes ...schema.Change) error {
	return fail(op, table, "", db.alter(ctx, schema.Plan{Changes: changes}))
}

// alter carries out a plan. New families are created in the store before the
// catalog names them; dropped ones are marked in the catalog first. So a crash
// leaves at most an empty family that nothing names, or a mark that the next open
// handles.
func (db *DB) alter(ctx context.Context, plan schema.Plan) error {
	if err := db.ready(ctx); err != nil || plan.Empty() {
		return err
	}
	if err := gc.PrepareLoosening(ctx, db.state, plan); err != nil {
		return err
	}
	if err := db.state.SchemaLock.Lock(ctx); err != nil {
		return err
	}
	defer db.state.SchemaLock.Unlock()
	old := db.state.Catalog.Load()
	c, err := old.Apply(plan)
	if err != nil {
		return err
	}
	streams, err := db.state.NextStreams(ctx, old, c)
	if err != nil {
		return err
	}
	c.SetStreams(streams)
	c.Keep(old, plan.Touches)
	if err := db.checkTypes(ctx, old, c); err != nil {
		return err
	}
	if err := db.createFamilies(ctx, old, c); err != nil {
		return err
	}
	if err := gc.Loosen(ctx, db.state, old, c); err != nil {
		return err
	}
	if len(streams) > 0 && !db.state.Store.KeepsChanges() {
		if err := db.state.KeepChanges(c); err != nil {
			return err
		}
	}
	dropped := catalog.Missing(old, c)
	if err := db.saveCatalog(ctx, old, c, dropped); err != nil {
		return err
	}
	db.state.Catalog.Store(c)
	if len(old.Streams)+len(streams) > 0 {
		db.state.Changes.Changed()
		if err := db.state.KeepChanges(c); err != nil {
			return err
		}
	}
	if err := db.state.Tune(old, c); err != nil {
		return err
	}
	return db.state.DropFamilies(ctx, dropped)
}

// checkTypes refuses to change the type or the aggregate of a family that has cells.
func (db *DB) checkTypes(ctx context.Context, old, next *catalog.Catalog) error {
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
			empty, err := db.isEmpty(ctx, f.Store)
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

func (db *DB) isEmpty(ctx context.Context, family string) (bool, error) {
	snap, err := db.state.Store.Snapshot(ctx)
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

// createFamilies creates the families of next that old lacks.
func (db *DB) createFamilies(ctx context.Context, old, next *catalog.Catalog) error {
	names, err := db.familiesToCreate(ctx, old, next)
	if err != nil {
		return err
	}
	return db.state.Store.CreateFamily(ctx, names...)
}

// familiesToCreate are the families of next that neither old nor the store has. A
// family that is in the store already was left by an interrupted create, and is
// empty.
func (db *DB) familiesToCreate(ctx context.Context, old, next *catalog.Catalog) (names []string, err error) {
	have := db.state.Store.Families()
	for _, name := range catalog.Missing(next, old) {
		if _, ok := slices.BinarySearch(have, name); ok {
			empty, err := db.isEmpty(ctx, name)
			if err != nil {
				return nil, err
			}
			if !empty {
				return nil, fault.Errorf(fault.FailedPrecondition, "the store has a family %s with data that no table declares", name)
			}
			continue
		}
		names = append(names, name)
	}
	return names, nil
}

// saveCatalog writes the tables of next and marks dropped families, in one
// batch.
func (db *DB) saveCatalog(ctx context.Context, old, next *catalog.Catalog, dropped []string) error {
	var loads []string // of tables that go
	for name := range old.Tables {
		if next.Tables[name] != nil {
			continue
		}
		keys, err := db.loadKeys(ctx, name)
		if err != nil {
			return err
		}
		loads = append(loads, keys...)
	}
	return db.state.WriteCatalog(ctx, func(b *cf.Batch) error {
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
				b.DeleteMeta(catalog.PrefixTableNote + name)
			}
		}
		catalog.PutStreams(b, old.Streams, next.Streams)
		for _, name := range dropped {
			b.PutMeta(catalog.PrefixDrop+name, nil)
		}
		for _, key := range loads {
			b.DeleteMeta(key)
		}
		return nil
	})
}
