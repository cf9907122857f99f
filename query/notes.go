package query

import (
	"context"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/query/internal/catalog"
)

func (db plumbed) SetNote(ctx context.Context, name string, value []byte) error {
	return fail("set note", "", "", db.setNote(ctx, catalog.PrefixNote+name, value))
}

func (db plumbed) Notes(ctx context.Context, prefix string) (map[string][]byte, error) {
	notes, err := db.notes(ctx, catalog.PrefixNote, prefix)
	return notes, fail("read notes", "", "", err)
}

func (db plumbed) SetTableNote(ctx context.Context, table string, value []byte) error {
	err := db.ready(ctx)
	if err == nil {
		err = db.state.Renew(ctx, func(c *catalog.Catalog) error {
			_, err := c.Table(table)
			return err
		}, putNote(catalog.PrefixTableNote+table, value))
	}
	return fail("set note", table, "", err)
}

func (db plumbed) TableNotes(ctx context.Context) (map[string][]byte, error) {
	notes, err := db.notes(ctx, catalog.PrefixTableNote, "")
	return notes, fail("read notes", "", "", err)
}

func (db *DB) setNote(ctx context.Context, key string, value []byte) error {
	return db.writing(ctx, func(*catalog.Catalog) error { return db.state.WriteCatalog(ctx, putNote(key, value)) })
}

func putNote(key string, value []byte) func(*cf.Batch) error {
	return func(b *cf.Batch) error {
		if value == nil {
			b.DeleteMeta(key)
		} else {
			b.PutMeta(key, value)
		}
		return nil
	}
}

func (db *DB) notes(ctx context.Context, kind, prefix string) (map[string][]byte, error) {
	if err := db.ready(ctx); err != nil {
		return nil, err
	}
	entries, err := catalog.Entries(ctx, db.state.Store, kind+prefix)
	if err != nil {
		return nil, err
	}
	notes := make(map[string][]byte, len(entries))
	for key, value := range entries {
		notes[key[len(kind):]] = value
	}
	return notes, nil
}

func (db plumbed) BackupTarget(ctx context.Context) (string, error) {
	const op = "read backup target"
	if err := db.ready(ctx); err != nil {
		return "", fail(op, "", "", err)
	}
	if db.state.Unnamed() {
		return "", nil
	}
	entries, err := catalog.Entries(ctx, db.state.Store, catalog.KeyBackup)
	return string(entries[catalog.KeyBackup]), fail(op, "", "", err)
}

func (db plumbed) SetBackupTarget(ctx context.Context, target string) error {
	return fail("note backup target", "", "", db.setNote(ctx, catalog.KeyBackup, []byte(target)))
}
