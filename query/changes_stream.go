package query

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/query/internal/fault"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/query/write"
)

// prefixStream begins the catalog's entries of change streams: + table, the stream's
// number and when it began, in decimal.
const prefixStream = "stream/"

// A streamEntry is the catalog's entry of a change stream. No two streams of the
// database have the same number; it is a timestamp of the database's clock, which
// may be ahead of the time.
type streamEntry struct {
	id    int64
	since cells.Timestamp // it has all changes from then on
}

// A changeStream is the stream of a table, from the change of the schema that begins
// it to the one that ends it.
type changeStream struct {
	streamEntry
	keep time.Duration
}

// readStreams collects the numbers of the streams by table.
func readStreams(entries map[string][]byte) (map[string]streamEntry, error) {
	streams := map[string]streamEntry{}
	for key, value := range entries {
		name, ok := strings.CutPrefix(key, prefixStream)
		if !ok {
			continue
		}
		var e streamEntry
		if _, err := fmt.Sscanf(string(value), "%d %d", &e.id, &e.since); err != nil || e.id < 0 || e.since.Check() != nil {
			return nil, fault.Errorf(fault.Corruption, "catalog entry %s is %q, not two timestamps", key, value)
		}
		streams[name] = e
	}
	return streams, nil
}

// setStreams gives the tables with a change stream their streams.
func (c *catalog) setStreams(streams map[string]streamEntry) {
	c.streams = map[string]streamEntry{}
	for name, t := range c.tables {
		if e, ok := streams[name]; ok && t.declared.ChangeStream != 0 {
			c.streams[name] = e
			t.stream = &changeStream{e, t.declared.ChangeStream}
		}
	}
}

// nextStreams are the streams of the next catalog: existing ones continue, and
// new ones begin. No write is under way.
func (db *DB) nextStreams(ctx context.Context, old, next *catalog) (map[string]streamEntry, error) {
	streams := map[string]streamEntry{}
	for name, t := range next.tables {
		if t.declared.ChangeStream == 0 {
			continue
		}
		if e, ok := old.streams[name]; ok {
			streams[name] = e
			continue
		}
		now := db.clock.now()
		var id cells.Timestamp
		err := db.clock.whenWritable(ctx, func() (err error) { id, err = db.clock.next(ctx); return err })
		if err != nil {
			return nil, err
		}
		streams[name] = streamEntry{int64(id), min(now, id)}
	}
	return streams, nil
}

// putStreams adds the differences of two catalogs to a batch.
func putStreams(b *cf.Batch, old, next map[string]streamEntry) {
	for name, e := range next {
		if was, ok := old[name]; !ok || was != e {
			b.PutMeta(prefixStream+name, fmt.Appendf(nil, "%d %d", e.id, e.since))
		}
	}
	for name := range old {
		if _, ok := next[name]; !ok {
			b.DeleteMeta(prefixStream + name)
		}
	}
}

// openStreams makes the store keep the log for the streams. When the store has not
// kept it, because the database is a copy whose log stayed with the original, the
// streams begin anew.
func (db *DB) openStreams(ctx context.Context) error {
	at, err := db.store.Write(ctx, nil, func(*cf.Batch) error { return nil })
	if err != nil {
		return err
	}
	db.changes.last = at
	c := db.catalog.Load()
	if len(c.streams) == 0 || db.store.KeepsChanges() {
		return db.keepChanges(c)
	}
	next := newCatalog(c.schema, nil)
	streams, err := db.nextStreams(ctx, next, next)
	if err != nil {
		return err
	}
	next.setStreams(streams)
	if _, err := db.store.Write(ctx, nil, func(b *cf.Batch) error {
		putStreams(b, c.streams, streams)
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
func (db *DB) keepChanges(c *catalog) error {
	var longest time.Duration
	for name := range c.streams {
		longest = max(longest, c.tables[name].stream.keep)
	}
	if longest == 0 {
		return db.store.KeepChanges(time.Time{})
	}
	return db.store.KeepChanges(db.clock.wall().Add(-longest))
}

// trimChanges drops changes that have been kept long enough.
func (db *DB) trimChanges(ctx context.Context) error {
	if err := db.schemaMu.RLock(ctx); err != nil {
		return err
	}
	defer db.schemaMu.RUnlock()
	return db.keepChanges(db.catalog.Load())
}

// refuseLogged is the error of an operation that would bypass the log.
func (t *tableInfo) refuseLogged() error {
	if t.stream == nil {
		return nil
	}
	return fault.Errorf(fault.FailedPrecondition, "table %s has a change stream, which a bulk load would go past; write its rows in batches (batch=10000 of an import), or set change_stream=none before", t.name)
}

// deleteLogged deletes rows that a read finds, some at a time, so that the change
// stream has them.
func (t *Table) deleteLogged(ctx context.Context, rows read.RowSet) error {
	const most = 256
	b := write.NewBatch()
	flush := func() error {
		if b.Len() == 0 {
			return nil
		}
		err := t.db.apply(ctx, b.Entries())
		b = write.NewBatch()
		return err
	}
	m := write.NewMutation()
	m.DeleteRow()
	for row, err := range t.ReadRows(ctx, rows, read.KeysOnly()) {
		if err != nil {
			return err
		}
		if b.Add(t.name, row.Key(), m).Len() == most {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	return flush()
}
