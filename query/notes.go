package query

import (
	"context"

	"github.com/smolwc/smolwc/cf"
)

// A note is bytes under a name that a layer above keeps in the catalog. The
// database does not interpret it. A table's notes go when it is dropped.
const (
	prefixNote      = "note/"
	prefixTableNote = "tablenote/"
)

// SetNote keeps value under a name; nil removes it. The change is on disk when it
// returns, unless the database is [DurabilityAsync].
func (db *DB) SetNote(ctx context.Context, name string, value []byte) error {
	return fail("set note", "", "", db.setNote(ctx, prefixNote+name, value))
}

// Notes are the notes whose names start with prefix, by their names.
func (db *DB) Notes(ctx context.Context, prefix string) (map[string][]byte, error) {
	notes, err := db.notes(ctx, prefixNote, prefix)
	return notes, fail("read notes", "", "", err)
}

// SetTableNote keeps the note of a table; nil removes it. Dropping the table also
// removes it.
func (db *DB) SetTableNote(ctx context.Context, table string, value []byte) error {
	if err := db.holdSchema(ctx); err != nil { // the table is not dropped between the check and the write
		return fail("set note", table, "", err)
	}
	defer db.schemaMu.RUnlock()
	if _, err := db.catalog.Load().table(table); err != nil {
		return fail("set note", table, "", err)
	}
	return fail("set note", table, "", db.setNote(ctx, prefixTableNote+table, value))
}

// TableNotes are the notes of all tables, by the tables' names.
func (db *DB) TableNotes(ctx context.Context) (map[string][]byte, error) {
	notes, err := db.notes(ctx, prefixTableNote, "")
	return notes, fail("read notes", "", "", err)
}

func (db *DB) setNote(ctx context.Context, key string, value []byte) error {
	if err := db.ready(ctx); err != nil {
		return err
	}
	return db.writeCatalog(ctx, func(b *cf.Batch) error {
		if value == nil {
			b.DeleteMeta(key)
		} else {
			b.PutMeta(key, value)
		}
		return nil
	})
}

func (db *DB) notes(ctx context.Context, kind, prefix string) (map[string][]byte, error) {
	snap, err := db.snapshot(ctx)
	if err != nil {
		return nil, err
	}
	defer snap.Close()
	entries, err := snap.MetaPrefix(ctx, kind+prefix)
	if err != nil {
		return nil, err
	}
	notes := make(map[string][]byte, len(entries))
	for key, value := range entries {
		notes[key[len(kind):]] = value
	}
	return notes, nil
}
