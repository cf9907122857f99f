package query

import (
	"context"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/query/internal/catalog"
	"github.com/smolwc/smolwc/query/internal/clock"
	"github.com/smolwc/smolwc/query/internal/fault"
)

// Refresh brings a database that was opened for reading up to date: every read
// that begins after it sees all writes acknowledged before the call, and the
// changes of tables and families. Reads under way keep their moment. A database
// that is open for writing needs no Refresh.
//
// It opens the files again: that takes some milliseconds, and longer the more
// data the writer has not yet flushed to files. Without new writes it costs next
// to nothing.
func (db *DB) Refresh(ctx context.Context) error {
	if err := db.ready(ctx); err != nil {
		return fail("refresh", "", "", err)
	}
	r, ok := db.state.Reader.(cf.Refresher)
	if !ok {
		return nil
	}
	// One at a time, so that the catalog in force is never replaced by an older
	// one.
	if err := db.state.SchemaLock.Lock(ctx); err != nil {
		return fail("refresh", "", "", err)
	}
	defer db.state.SchemaLock.Unlock()
	var next *catalog.Catalog
	err := r.Refresh(ctx, func(s cf.Snapshot, families []string) (err error) {
		next, err = db.catalogIn(ctx, s, families)
		return err
	})
	if err == nil && next != nil {
		db.state.Catalog.Store(next)
	}
	return fail("refresh", "", "", err)
}

// catalogIn reads the catalog of a snapshot, which must be of this database.
func (db *DB) catalogIn(ctx context.Context, snap cf.Snapshot, families []string) (*catalog.Catalog, error) {
	entries, err := snap.MetaPrefix(ctx, "")
	if err != nil {
		return nil, err
	}
	if id := string(entries[catalog.KeyUUID]); id != db.state.UUID.String() {
		return nil, fault.Errorf(fault.FailedPrecondition, "the directory holds another database now, %s in place of %s; open it anew", id, db.state.UUID)
	}
	if err := db.state.ReadFormat(entries); err != nil {
		return nil, err
	}
	if entry, ok := entries[catalog.KeyClock]; ok {
		last, err := clock.Read(entry)
		if err != nil {
			return nil, err
		}
		db.state.Clock.Follow(last)
	}
	s, err := catalog.ReadSchema(entries, catalog.PrefixTable)
	if err != nil {
		return nil, err
	}
	return catalog.New(s, nil), catalog.CheckFamilies(s, families)
}
