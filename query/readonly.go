package query

import (
	"context"

	"github.com/smolwc/smolwc/cf"
)

// OpenReadOnly opens a database for reading, beside a process that writes it if
// there is one. It shows the moment when it was opened, in all tables, until
// [DB.Refresh]. It is Open with [Options.ReadOnly].
func OpenReadOnly(dir string, o Options) (*DB, error) {
	o.ReadOnly = true
	return Open(dir, o)
}

// Refresh shows a database that was opened for reading as it is now: what has
// been acknowledged before the call is seen by every read that begins after it,
// tables and families that came or went included. Reads under way go on with the
// moment that they began with. A database that is open for writing needs no
// Refresh.
//
// It opens the files anew: that takes some milliseconds, and longer the more has
// been written since the writer last flushed its memory to files. When nothing
// has been written it costs next to nothing.
func (db *DB) Refresh(ctx context.Context) error {
	if err := db.ready(ctx); err != nil {
		return fail("refresh", "", "", err)
	}
	r, ok := db.reader.(cf.Refresher)
	if !ok {
		return nil
	}
	// One at a time, so that the catalog in force is never the older one.
	if err := db.schemaMu.Lock(ctx); err != nil {
		return fail("refresh", "", "", err)
	}
	defer db.schemaMu.Unlock()
	var next *catalog
	err := r.Refresh(ctx, func(s cf.Snapshot, families []string) (err error) {
		next, err = db.catalogIn(ctx, s, families)
		return err
	})
	if err == nil && next != nil {
		db.catalog.Store(next)
	}
	return fail("refresh", "", "", err)
}

// catalogIn reads the catalog of a snapshot, which must be of this database.
func (db *DB) catalogIn(ctx context.Context, snap cf.Snapshot, families []string) (*catalog, error) {
	entries, err := snap.MetaPrefix(ctx, "")
	if err != nil {
		return nil, err
	}
	if id := string(entries[keyUUID]); id != db.uuid.String() {
		return nil, faultf(KindFailedPrecondition, "the directory holds another database now, %s in place of %s; open it anew", id, db.uuid)
	}
	if err := db.readFormat(entries); err != nil {
		return nil, err
	}
	if entry, ok := entries[keyClock]; ok {
		last, err := readClock(entry)
		if err != nil {
			return nil, err
		}
		db.clock.follow(last)
	}
	s, err := readSchema(entries, prefixTable)
	if err != nil {
		return nil, err
	}
	return newCatalog(s, nil), checkFamilies(s, families)
}
