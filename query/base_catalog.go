package query

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/query/internal/catalog"
	"github.com/smolwc/smolwc/query/internal/clock"
	"github.com/smolwc/smolwc/query/internal/fault"
	"github.com/smolwc/smolwc/schema"
)

// loadCatalog reads the catalog. For a new database it writes one, unless the database
// must exist.
func (db *base) loadCatalog(ctx context.Context, mustExist bool) error {
	entries, err := catalog.Entries(ctx, db.store, "")
	if err != nil {
		return err
	}
	switch empty := len(entries) == 0 && len(db.store.Families()) == 0; {
	case empty && mustExist:
		return fault.Errorf(fault.NotFound, "the store is empty; there is no database in it")
	case empty && !db.readOnly:
		return db.createCatalog(ctx)
	}
	if err := db.readIdentity(entries); err != nil {
		return err
	}
	s, err := catalog.ReadSchema(entries, catalog.PrefixTable)
	if err != nil {
		return err
	}
	if err := db.forgetDropped(ctx, s); err != nil {
		return err
	}
	if err := catalog.CheckFamilies(s, db.store.Families()); err != nil {
		return err
	}
	streams, err := catalog.ReadStreams(entries)
	if err != nil {
		return err
	}
	c := catalog.New(s, streams)
	db.catalog.Store(c)
	if !db.readOnly {
		if err := db.tune(nil, c); err != nil {
			return err
		}
		return db.finishDrops(ctx, entries)
	}
	return nil
}

func (db *base) createCatalog(ctx context.Context) error {
	db.uuid = uuid.New()
	db.format.Store(catalog.FormatOfNew)
	err := db.writeCatalog(ctx, func(b *cf.Batch) error {
		b.PutMeta(catalog.KeyFormat, strconv.AppendInt(nil, catalog.FormatOfNew, 10))
		b.PutMeta(catalog.KeyUUID, []byte(db.uuid.String()))
		return nil
	})
	db.catalog.Store(catalog.New(&schema.Schema{}, nil))
	return err
}

// writeCatalog makes changes of the catalog. They are on the disk when it returns, with
// [DurabilityAsync] too: families are created and dropped on the disk at once, so the
// catalog must be there as well.
func (db *base) writeCatalog(ctx context.Context, fn func(*cf.Batch) error) error {
	_, err := db.store.Write(ctx, nil, func(b *cf.Batch) error {
		b.Sync()
		return fn(b)
	})
	return err
}

func (db *base) readIdentity(entries map[string][]byte) (err error) {
	if err := db.readFormat(entries); err != nil {
		return err
	}
	if db.uuid, err = uuid.Parse(string(entries[catalog.KeyUUID])); err != nil {
		return fault.Errorf(fault.Corruption, "catalog entry %s is %q: %w", catalog.KeyUUID, entries[catalog.KeyUUID], err)
	}
	if entry, ok := entries[catalog.KeyClock]; ok {
		last, err := clock.Read(entry)
		if err != nil {
			return err
		}
		db.clock.Start(last)
	}
	return nil
}

// forgetDropped removes from the tables those families whose drop the catalog
// lost: a smolwc that did not sync the catalog left that state behind when power
// failed. A family that is missing for any other reason is damage.
func (db *base) forgetDropped(ctx context.Context, s *schema.Schema) error {
	store, ok := db.reader.(cf.DropTeller)
	if !ok {
		return nil
	}
	have, dropped := db.store.Families(), store.Dropped()
	changed := map[string][]byte{}
	for i := range s.Tables {
		t := &s.Tables[i]
		var lost []string
		kept := slices.DeleteFunc(slices.Clone(t.Families), func(f schema.Family) bool {
			name := catalog.StoreName(t.Name, f.Name)
			gone := slices.Contains(dropped, name) && !slices.Contains(have, name)
			if gone {
				lost = append(lost, f.Name)
			}
			return gone
		})
		if len(lost) == 0 {
			continue
		}
		db.logger.Warn("families were dropped just before power was lost, which the catalog did not know yet", "table", t.Name, "families", lost)
		t.Families = kept
		entry, err := t.MarshalCatalog()
		if err != nil {
			return err
		}
		changed[catalog.PrefixTable+t.Name] = entry
	}
	if len(changed) == 0 || db.readOnly {
		return nil
	}
	return db.writeCatalog(ctx, func(b *cf.Batch) error {
		for key, entry := range changed {
			b.PutMeta(key, entry)
		}
		return nil
	})
}

// finishDrops drops the families whose drop was begun and interrupted.
func (db *base) finishDrops(ctx context.Context, entries map[string][]byte) error {
	var names []string
	for key := range entries {
		if name, ok := strings.CutPrefix(key, catalog.PrefixDrop); ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	if len(names) > 0 {
		db.logger.Info("finishing an interrupted drop", "families", names)
	}
	return db.dropFamilies(ctx, names)
}

// dropFamilies drops families of the store that are marked for it, then takes
// the marks away.
func (db *base) dropFamilies(ctx context.Context, names []string) error {
	if len(names) == 0 {
		return nil
	}
	if err := db.store.DropFamily(ctx, names...); err != nil {
		return fmt.Errorf("drop families %s: %w", strings.Join(names, ", "), err)
	}
	return db.writeCatalog(ctx, func(b *cf.Batch) error {
		for _, name := range names {
			b.DeleteMeta(catalog.PrefixDrop + name)
		}
		return nil
	})
}

// allowExpiry lets the store drop the cells that are expired at a moment. Reads
// that began before it and have not opened their cursors may miss them.
func (db *base) allowExpiry(ctx context.Context, now cells.Timestamp) error {
	return db.setExpiry(ctx, func(f *catalog.Family) cf.Expiry { return f.Expiry(now) })
}

func (db *base) setExpiry(ctx context.Context, of func(*catalog.Family) cf.Expiry) error {
	if err := db.schemaMu.RLock(ctx); err != nil { // an alter that relaxes a rule is not overtaken
		return err
	}
	defer db.schemaMu.RUnlock()
	for _, t := range db.catalog.Load().Tables {
		for _, f := range t.Families {
			if f.MaxAge() == 0 {
				continue
			}
			if err := db.store.SetExpiry(f.Store, of(f)); err != nil {
				return err
			}
		}
	}
	return nil
}

// tune tells the store how to keep the families of a catalog, where that differs
// from old's, which may be nil.
func (db *base) tune(old, next *catalog.Catalog) error {
	for _, t := range next.Tables {
		for _, f := range t.Families {
			if f.Tuning == old.Tuning(t.Name, f.Name) {
				continue
			}
			if err := db.store.SetTuning(f.Store, f.Tuning); err != nil {
				return err
			}
		}
	}
	return nil
}
