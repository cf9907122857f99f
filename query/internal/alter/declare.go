package alter

import (
	"bytes"
	"context"
	"errors"
	"slices"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/query/internal/catalog"
	"github.com/smolwc/smolwc/query/internal/state"
	"github.com/smolwc/smolwc/schema"
)

// Declare makes the database match a schema by changes that only add or relax, and returns
// the changes that it left undone. It begins again when another process changed the schema
// meanwhile: perhaps that one declares the same.
func Declare(ctx context.Context, db *state.DB, declared *schema.Schema) (undone schema.Plan, err error) {
	for {
		if err := db.Freshen(ctx); err != nil {
			return undone, err
		}
		before := db.Catalog.Load()
		if undone, err = declare(ctx, db, declared); err == nil || !overtaken(ctx, db, before, err) {
			return undone, err
		}
	}
}

// overtaken reports whether a declaration failed because another process changed the
// schema meanwhile. The declaration itself raised the version, even if it was refused.
func overtaken(ctx context.Context, db *state.DB, before *catalog.Catalog, err error) bool {
	return db.Overtaken(ctx, before) &&
		(errors.Is(err, cf.ErrCatalogChanged) || !schema.Diff(before.Schema, db.Catalog.Load().Schema).Empty())
}

func declare(ctx context.Context, db *state.DB, declared *schema.Schema) (undone schema.Plan, err error) {
	before, entries, err := lastDeclared(ctx, db)
	if err != nil {
		return undone, err
	}
	inForce := db.Catalog.Load().Schema.Clone()
	plan := schema.Diff(inForce, declared).WithoutDrops()
	plan.Changes = slices.DeleteFunc(plan.Changes, func(c schema.Change) bool {
		return declaredAlready(before, c)
	})
	adds, undone := plan.Split(inForce)
	if err := Apply(ctx, db, adds); err != nil {
		return schema.Plan{}, err
	}
	reached, err := notYet(undone, before, inForce).Apply(declared)
	if err != nil {
		return schema.Plan{}, err
	}
	return undone, saveDeclared(ctx, db, reached, entries)
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

// declaredAlready reports whether a change concerns retention, the key format or the
// change stream, and the last declaration had the same value.
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

func lastDeclared(ctx context.Context, db *state.DB) (*schema.Schema, map[string][]byte, error) {
	entries, err := catalog.Entries(ctx, db.Store, catalog.PrefixDeclared)
	if err != nil {
		return nil, nil, err
	}
	s, err := catalog.ReadSchema(entries, catalog.PrefixDeclared)
	return s, entries, err
}

func saveDeclared(ctx context.Context, db *state.DB, declared *schema.Schema, entries map[string][]byte) error {
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
	return db.Writing(ctx, func(*catalog.Catalog) error { return db.PutEntries(ctx, changed) })
}
