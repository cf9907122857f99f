package state

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/internal/history"
	"github.com/smolwc/smolwc/query/internal/catalog"
	"github.com/smolwc/smolwc/query/internal/clock"
	"github.com/smolwc/smolwc/query/internal/fault"
	"github.com/smolwc/smolwc/schema"
)

// loadCatalog reads the catalog. For a new database it writes one, unless the database
// must exist.
func (db *DB) loadCatalog(ctx context.Context, o Options) error {
	families := db.Store.Families() // before the entries: another process may create the database now
	entries, version, err := db.entries(ctx)
	if err != nil {
		return err
	}
	switch empty := len(entries) == 0 && len(families) == 0; {
	case empty && o.MustExist:
		return fault.Errorf(fault.NotFound, "the store is empty; there is no database in it")
	case empty && !db.ReadOnly:
		return db.createCatalog(ctx, version, cmp.Or(o.Format, catalog.FormatOfNew))
	}
	if o.Identity != "" && db.ReadOnly {
		db.origin = string(entries[catalog.KeyUUID])
		entries[catalog.KeyUUID] = []byte(o.Identity)
	}
	if err := db.ReadIdentity(entries); err != nil {
		return err
	}
	if err := db.forgetDropped(ctx, entries); err != nil {
		return err
	}
	c, err := catalog.Read(entries)
	if err != nil {
		return err
	}
	if err := c.CheckFamilies(db.Store.Families()); err != nil {
		return err
	}
	c.Version, c.Altering = version, string(entries[catalog.KeyAltering])
	db.Catalog.Store(c)
	if db.ReadOnly {
		return nil
	}
	if err := db.Tune(nil, c); err != nil {
		return err
	}
	if len(marked(entries)) == 0 {
		return nil
	}
	unlock, err := db.LockSchema(ctx) // another process may be dropping the families now
	if err != nil {
		return err
	}
	defer unlock()
	return db.finishDrops(ctx)
}

// entries are the entries of the catalog, and its version if several processes write the
// store.
func (db *DB) entries(ctx context.Context) (map[string][]byte, uint64, error) {
	snap, err := db.Store.Snapshot(ctx)
	if err != nil {
		return nil, 0, err
	}
	defer snap.Close()
	entries, err := snap.MetaPrefix(ctx, "")
	if err != nil || db.Shared == nil {
		return entries, 0, err
	}
	version, err := versionOf(ctx, snap)
	return entries, version, err
}

// createCatalog writes the catalog of a new database. If another process does the same,
// one of them loads the other's.
func (db *DB) createCatalog(ctx context.Context, version uint64, format int) error {
	db.UUID = uuid.New()
	db.Format.Store(int32(format))
	c := catalog.New(&schema.Schema{}, nil)
	c.Version = version
	db.Catalog.Store(c)
	err := db.WriteCatalog(ctx, func(b *cf.Batch) error {
		b.RaiseCatalog()
		b.PutMeta(catalog.KeyFormat, strconv.AppendInt(nil, int64(format), 10))
		b.PutMeta(catalog.KeyUUID, []byte(db.UUID.String()))
		return nil
	})
	if errors.Is(err, cf.ErrCatalogChanged) {
		return db.loadCatalog(ctx, Options{MustExist: true})
	}
	created := catalog.New(&schema.Schema{}, nil)
	created.Version = version + 1
	db.Catalog.Store(created)
	return err
}

// WriteCatalog makes changes of the catalog. They are on the disk when it returns, with
// [DurabilityAsync] too: families are created and dropped on the disk at once, so the
// catalog must be there as well.
func (db *DB) WriteCatalog(ctx context.Context, fn func(*cf.Batch) error) error {
	_, err := db.Store.Write(ctx, nil, func(b *cf.Batch) error {
		b.Sync()
		return fn(b)
	})
	return err
}

// PutEntries writes entries of the catalog.
func (db *DB) PutEntries(ctx context.Context, entries map[string][]byte) error {
	if len(entries) == 0 {
		return nil
	}
	return db.WriteCatalog(ctx, func(b *cf.Batch) error {
		for key, entry := range entries {
			b.PutMeta(key, entry)
		}
		return nil
	})
}

// ReadIdentity takes the format, the identity and the clock from the catalog's entries.
func (db *DB) ReadIdentity(entries map[string][]byte) (err error) {
	if err := db.ReadFormat(entries); err != nil {
		return err
	}
	if db.UUID, err = uuid.Parse(string(entries[catalog.KeyUUID])); err != nil {
		return fault.Errorf(fault.Corruption, "catalog entry %s is %q: %w", catalog.KeyUUID, entries[catalog.KeyUUID], err)
	}
	if entry, ok := entries[catalog.KeyClock]; ok {
		last, err := clock.Read(entry)
		if err != nil {
			return err
		}
		db.Clock.Start(last)
	}
	return nil
}

// forgetDropped removes from the entries of tables those families whose drop the catalog
// lost: a smolwc that did not sync the catalog left that state behind when power
// failed. A family that is missing for any other reason is damage.
func (db *DB) forgetDropped(ctx context.Context, entries map[string][]byte) error {
	store, ok := db.Reader.(cf.DropTeller)
	if !ok {
		return nil
	}
	c, err := catalog.Read(entries)
	if err != nil {
		return err
	}
	have, dropped := db.Store.Families(), store.Dropped()
	changed := map[string][]byte{}
	for _, t := range c.Tables {
		declared := *t.Declared
		var lost []string
		declared.Families = slices.DeleteFunc(slices.Clone(declared.Families), func(f schema.Family) bool {
			name := catalog.StoreName(t.Store, f.Name)
			gone := slices.Contains(dropped, name) && !slices.Contains(have, name)
			if gone {
				lost = append(lost, f.Name)
			}
			return gone
		})
		if len(lost) == 0 {
			continue
		}
		db.Logger.Warn("families were dropped just before power was lost, which the catalog did not know yet", "table", t.Name, "families", lost)
		entry, err := declared.MarshalCatalog()
		if err != nil {
			return err
		}
		changed[catalog.PrefixTable+t.Name] = entry
	}
	maps.Copy(entries, changed)
	if db.ReadOnly {
		return nil
	}
	return db.PutEntries(ctx, changed)
}

// KeepUntil is the time until which a table is kept that is deleted now.
func (db *DB) KeepUntil(now cells.Timestamp) cells.Timestamp {
	return now + cells.Timestamp(db.KeepDeleted.Microseconds())
}

// marked are the families whose drop was begun, by the entries of the catalog.
func marked(entries map[string][]byte) (names []string) {
	for key := range entries {
		if name, ok := strings.CutPrefix(key, catalog.PrefixDrop); ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// finishDrops drops the families whose drop was begun and interrupted. A family that was
// declared again afterwards stays: an older smolwc left its mark. The schema is locked.
func (db *DB) finishDrops(ctx context.Context) error {
	entries, err := catalog.Entries(ctx, db.Store, catalog.PrefixDrop)
	if err != nil {
		return err
	}
	names := marked(entries)
	c, again := db.Catalog.Load(), []string{}
	names = slices.DeleteFunc(names, func(name string) bool {
		has := c.HasFamily(name)
		if has {
			again = append(again, name)
		}
		return has
	})
	if len(names) > 0 {
		db.Logger.Info("finishing an interrupted drop", "families", names)
	}
	return errors.Join(db.unmark(ctx, again), db.DropFamilies(ctx, names))
}

// DropFamilies drops families of the store that are marked for it, then takes
// the marks away.
func (db *DB) DropFamilies(ctx context.Context, names []string) error {
	if len(names) == 0 {
		return nil
	}
	if err := db.Store.DropFamily(ctx, names...); err != nil {
		return fmt.Errorf("drop families %s: %w", strings.Join(names, ", "), err)
	}
	return db.unmark(ctx, names)
}

// unmark takes the marks of families away. No standby need have that.
func (db *DB) unmark(ctx context.Context, names []string) error {
	if len(names) == 0 {
		return nil
	}
	return db.WriteCatalog(cf.Async(ctx), func(b *cf.Batch) error {
		for _, name := range names {
			b.DeleteMeta(catalog.PrefixDrop + name)
		}
		return nil
	})
}

// AllowExpiry lets the store drop the cells that are expired at a moment. Reads
// that began before it and have not opened their cursors may miss them.
func (db *DB) AllowExpiry(ctx context.Context, now cells.Timestamp) error {
	return db.SetExpiry(ctx, func(f *catalog.Family) cf.Expiry { return f.Expiry(now) })
}

// SetExpiry tells the store which cells of each family it may drop.
func (db *DB) SetExpiry(ctx context.Context, of func(*catalog.Family) cf.Expiry) error {
	if err := db.Freshen(ctx); err != nil {
		return err
	}
	if err := db.SchemaLock.RLock(ctx); err != nil { // an alter that relaxes a rule is not overtaken
		return err
	}
	defer db.SchemaLock.RUnlock()
	for _, t := range db.Catalog.Load().Tables {
		for _, f := range t.Families {
			if f.MaxAge() == 0 {
				continue
			}
			if err := db.Store.SetExpiry(f.Store, of(f)); err != nil {
				return err
			}
		}
	}
	return nil
}

// Tune gives the store the tuning of the families of next, where it differs from old's.
// old may be nil.
func (db *DB) Tune(old, next *catalog.Catalog) error {
	for _, t := range next.Tables {
		for _, f := range t.Families {
			if f.Tuning == old.Tuning(t.Name, f.Name) {
				continue
			}
			if err := db.Store.SetTuning(f.Store, f.Tuning); err != nil {
				return err
			}
		}
	}
	return nil
}

// Is reports whether entries of the catalog are this database's.
func (db *DB) Is(entries map[string][]byte) bool {
	id := string(entries[catalog.KeyUUID])
	return id == db.UUID.String() || id != "" && id == db.origin
}

// Unnamed reports whether the database was not opened for writing since it was copied from
// another one: its standbys and backups are the other one's.
func (db *DB) Unnamed() bool { return db.origin != "" }

// IdentityOf reads the identity of the database of a store.
func IdentityOf(ctx context.Context, store cf.Reader) (string, error) {
	entries, err := catalog.Entries(ctx, store, catalog.KeyUUID)
	if err != nil {
		return "", err
	}
	id := string(entries[catalog.KeyUUID])
	if _, err := uuid.Parse(id); err != nil {
		return "", fault.Errorf(fault.Corruption, "catalog entry %s is %q: %w", catalog.KeyUUID, id, err)
	}
	return id, nil
}

// Identify gives the database of a store another identity. It forgets its standbys, and
// where its backups are.
func Identify(ctx context.Context, store cf.Store, identity string) error {
	if _, err := uuid.Parse(identity); err != nil {
		return fault.Errorf(fault.Corruption, "the identity %.50q that the file SMOLWC names: %w", identity, err)
	}
	_, err := store.Write(ctx, nil, func(b *cf.Batch) error {
		b.Sync()
		b.PutMeta(catalog.KeyUUID, []byte(identity))
		b.DeleteMeta(history.Key)
		b.DeleteMeta(catalog.KeyBackup)
		return nil
	})
	return err
}
