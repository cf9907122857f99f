package query

import (
	"bytes"
	"context"
	"slices"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/schema"
)

// declare makes the database what a schema declares, without dropping anything.
// The catalog keeps what was declared last, so that a change of the declaration
// can be told from a change of the database: retention that ALTER set stays
// until the declaration itself changes.
func (db *DB) declare(ctx context.Context, declared *schema.Schema) error {
	before, entries, err := db.lastDeclared(ctx)
	if err != nil {
		return err
	}
	plan := schema.Diff(db.Schema(), declared).WithoutDrops()
	plan.Changes = slices.DeleteFunc(plan.Changes, func(c schema.Change) bool {
		return declaredAlready(before, c)
	})
	if err := db.ApplyPlan(ctx, plan); err != nil {
		return err
	}
	return db.saveDeclared(ctx, declared, entries)
}

// declaredAlready reports whether a change is one of retention, of the key
// format or of the change stream, of which the last declaration said the same.
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
	snap, err := db.store.Snapshot(ctx)
	if err != nil {
		return nil, nil, err
	}
	defer snap.Close()
	entries, err := snap.MetaPrefix(ctx, prefixDeclared)
	if err != nil {
		return nil, nil, err
	}
	s, err := readSchema(entries, prefixDeclared)
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
		if key := prefixDeclared + t.Name; !bytes.Equal(entries[key], entry) {
			changed[key] = entry
		}
	}
	if len(changed) == 0 {
		return nil
	}
	return db.writeCatalog(ctx, func(b *cf.Batch) error {
		for key, entry := range changed {
			b.PutMeta(key, entry)
		}
		return nil
	})
}
