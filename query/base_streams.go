package query

import (
	"context"
	"time"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/query/internal/catalog"
)

// nextStreams are the streams of the next catalog: existing ones continue, and
// new ones begin. No write is under way.
func (db *base) nextStreams(ctx context.Context, old, next *catalog.Catalog) (map[string]catalog.StreamEntry, error) {
	streams := map[string]catalog.StreamEntry{}
	for name, t := range next.Tables {
		if t.Declared.ChangeStream == 0 {
			continue
		}
		if e, ok := old.Streams[name]; ok {
			streams[name] = e
			continue
		}
		now := db.clock.Now()
		var id cells.Timestamp
		err := db.clock.WhenWritable(ctx, func() (err error) { id, err = db.clock.Next(ctx); return err })
		if err != nil {
			return nil, err
		}
		streams[name] = catalog.StreamEntry{ID: int64(id), Since: min(now, id)}
	}
	return streams, nil
}

// openStreams makes the store keep the log for the streams. When the store has not
// kept it, because the database is a copy whose log stayed with the original, the
// streams begin anew.
func (db *base) openStreams(ctx context.Context) error {
	at, err := db.store.Write(ctx, nil, func(*cf.Batch) error { return nil })
	if err != nil {
		return err
	}
	db.changes.Start(at)
	c := db.catalog.Load()
	if len(c.Streams) == 0 || db.store.KeepsChanges() {
		return db.keepChanges(c)
	}
	next := catalog.New(c.Schema, nil)
	streams, err := db.nextStreams(ctx, next, next)
	if err != nil {
		return err
	}
	next.SetStreams(streams)
	if _, err := db.store.Write(ctx, nil, func(b *cf.Batch) error {
		catalog.PutStreams(b, c.Streams, streams)
		return nil
	}); err != nil {
		return err
	}
	db.catalog.Store(next)
	db.logger.Info("change streams begin anew: the log of changes is not there", "tables", len(streams))
	return db.keepChanges(next)
}

// keepChanges has the store keep the log that a catalog's streams need, and no
// more.
func (db *base) keepChanges(c *catalog.Catalog) error {
	var longest time.Duration
	for name := range c.Streams {
		longest = max(longest, c.Tables[name].Stream.Keep)
	}
	if longest == 0 {
		return db.store.KeepChanges(time.Time{})
	}
	return db.store.KeepChanges(db.clock.Wall().Add(-longest))
}

// trimChanges drops changes that have been kept long enough.
func (db *base) trimChanges(ctx context.Context) error {
	if err := db.schemaMu.RLock(ctx); err != nil {
		return err
	}
	defer db.schemaMu.RUnlock()
	return db.keepChanges(db.catalog.Load())
}
