package query

import (
	"bytes"
	"context"
	"slices"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/query/internal/catalog"
	"github.com/smolwc/smolwc/query/internal/fault"
	"github.com/smolwc/smolwc/schema"
)

// Declare makes the database match a schema, as far as that adds or relaxes: it creates
// missing tables and families, and applies the changes since the schema was last
// declared. It drops and hides nothing. The result is the changes that it left undone
// for that reason: stricter retention, and change streams that are kept for a shorter
// time. [DB.ApplyPlan] makes those changes, and [DB.EstimateHidden] says what they
// cost. Tables and families that the schema lacks are left alone and are not in the
// result; see [schema.Diff].
//
// The catalog keeps the last declaration, to tell a change of the declaration from a
// change of the database: retention that was altered in the database stays until the
// declaration itself changes. A change left undone counts as not declared, and is in
// the result of the next call again.
func (db *DB) Declare(ctx context.Context, declared *schema.Schema) (undone schema.Plan, err error) {
	const op = "declare schema"
	if err := db.ready(ctx); err != nil {
		return undone, fail(op, "", "", err)
	}
	if db.state.ReadOnly {
		return undone, fail(op, "", "", cf.ErrReadOnly)
	}
	if declared == nil {
		return undone, fail(op, "", "", fault.Errorf(fault.InvalidArgument, "no schema is given"))
	}
	if err := declared.Validate(); err != nil {
		return undone, fail(op, "", "", fault.Of(fault.InvalidArgument, err))
	}
	undone, err = db.declare(ctx, declared)
	return undone, fail(op, "", "", err)
}

func (db *DB) declare(ctx context.Context, declared *schema.Schema) (undone schema.Plan, err error) {
	before, entries, err := db.lastDeclared(ctx)
	if err != nil {
		return undone, err
	}
	inForce := db.Schema()
	plan := schema.Diff(inForce, declared).WithoutDrops()
	plan.Changes = slices.DeleteFunc(plan.Changes, func(c schema.Change) bool {
		return declaredAlready(before, c)
	})
	adds, undone := plan.Split(inForce)
	if err := db.alter(ctx, adds); err != nil {
		return schema.Plan{}, err
	}
	reached, err := notYet(undone, before, inForce).Apply(declared)
	if err != nil {
		return schema.Plan{}, err
	}
	return undone, db.saveDeclared(ctx, reached, entries)
}

// notYet removes from a declaration the changes left undone: for these the
// catalog keeps the last declaration, or the schema in force.
func notYet(undone schema.Plan, before, inForce *schema.Schema) (p schema.Plan) {
	for _, c := range undone.Changes {
		was, ok := before.Table(c.Table)
		if ok && c.Kind == schema.SetRetention {
			_, ok = was.Family(c.Family)
		}
		if !ok {
			was, _ = inForce.Table(c.Table)
		}
		c.NewRetention, c.NewChangeStream = was.Retention, was.ChangeStream
		if f, ok := was.Family(c.Family); ok {
			c.New = *f
		}
		p.Changes = append(p.Changes, c)
	}
	return p
}

// declaredAlready reports whether a change is one of retention, of the key format
// or of the change stream, and the last declaration said the same.
func declaredAlready(before *schema.Schema, c schema.Change) bool {
	t, ok := before.Table(c.Table)
	switch {
	case !ok:
		return false
	case c.Kind == schema.SetEnforcement:
		return t.Retention == c.NewRetention
	case c.Kind == schema.SetKeyFormat:
		return t.KeyFormat == c.NewKeyFormat
	case c.Kind == schema.SetChangeStream:
		return t.ChangeStream == c.NewChangeStream
	}
	f, ok := t.Family(c.Family)
	return ok && (c.Kind == schema.SetRetention && f.GC.Equal(c.New.GC) || c.Kind == schema.SetTuning && f.Tuning == c.New.Tuning)
}

func (db *DB) lastDeclared(ctx context.Context) (*schema.Schema, map[string][]byte, error) {
	entries, err := catalog.Entries(ctx, db.state.Store, catalog.PrefixDeclared)
	if err != nil {
		return nil, nil, err
	}
	s, err := catalog.ReadSchema(entries, catalog.PrefixDeclared)
	return s, entries, err
}

func (db *DB) saveDeclared(ctx context.Context, declared *schema.Schema, entries map[string][]byte) error {
	changed := map[string][]byte{}
	for i := range declared.Tables {
		t := &declared.Tables[i]
		entry, err := t.MarshalCatalog()
		if err != nil {
			return err
		}
		if key := catalog.PrefixDeclared + t.Name; !bytes.Equal(entries[key], entry) {
			changed[key] = entry
		}
	}
	if len(changed) == 0 {
		return nil
	}
	return db.state.WriteCatalog(ctx, func(b *cf.Batch) error {
		for key, entry := range changed {
			b.PutMeta(key, entry)
		}
		return nil
	})
}
