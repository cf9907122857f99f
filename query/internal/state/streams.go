package state

import (
	"context"
	"time"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/query/internal/catalog"
)

// NextStreams are the streams of the next catalog: existing ones continue, and
// new ones begin. No write is under way.
func (db *DB) NextStreams(ctx context.Context, old, next *catalog.Catalog) (map[string]catalog.StreamEntry, error) {
	streams := map[string]catalog.StreamEntry{}
	for name, t := range next.Tables {
		if t.Declared.ChangeStream == 0 {
			continue
		}
		if e, ok := old.Streams[name]; ok {
			streams[name] = e
			continue
		}
		now := db.Clock.Now()
		var id cells.Timestamp
		err := db.Clock.WhenWritable(ctx, func() (err error) { id, err = db.Clock.Next(ctx); return err })
		if err != nil {
			return nil, err
		}
		streams[name] = catalog.StreamEntry{ID: int64(id), Since: min(now, id)}
	}
	return streams, nil
}

// openStreams makes the store keep the log for the streams. When the store did not
// keep it, because the database is a copy whose log stayed with the original, the
// streams begin anew.
func (db *DB) openStreams(ctx context.Context) error {
	var at cf.Position
	if err := db.Writing(ctx, func(*catalog.Catalog) (err error) {
		at, err = db.Store.Write(ctx, nil, func(*cf.Batch) error { return nil })
		return err
	}); err != nil {
		return err
	}
	db.Changes.Start(at)
	c := db.Catalog.Load()
	if len(c.Streams) == 0 || db.Store.KeepsChanges() {
		return db.KeepChanges(c)
	}
	unlock, err := db.LockSchema(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	c = db.Catalog.Load()
	next := c.With(c.Schema, nil)
	streams, err := db.NextStreams(ctx, next, next)
	if err != nil {
		return err
	}
	next.SetStreams(streams)
	next.Version, next.Altering = c.Version+1, c.Altering
	if _, err := db.Store.Write(ctx, nil, func(b *cf.Batch) error {
		b.RaiseCatalog()
		catalog.PutStreams(b, c.Streams, streams)
		return nil
	}); err != nil {
		return err
	}
	db.Catalog.Store(next)
	db.Logger.Info("change streams begin anew: the log of changes is not there", "tables", len(streams))
	return db.KeepChanges(next)
}

// KeepChanges makes the store keep the part of the log that a catalog's streams need,
// and no more.
func (db *DB) KeepChanges(c *catalog.Catalog) error {
	var longest time.Duration
	for name := range c.Streams {
		longest = max(longest, c.Tables[name].Stream.Keep)
	}
	if longest == 0 {
		return db.Store.KeepChanges(time.Time{})
	}
	return db.Store.KeepChanges(db.Clock.Wall().Add(-longest))
}

// TrimChanges drops changes that have been kept long enough.
func (db *DB) TrimChanges(ctx context.Context) error {
	if err := db.Freshen(ctx); err != nil {
		return err
	}
	if err := db.SchemaLock.RLock(ctx); err != nil {
		return err
	}
	defer db.SchemaLock.RUnlock()
	return db.KeepChanges(db.Catalog.Load())
}
