package catalog

import (
	"fmt"
	"strings"
	"time"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/query/internal/fault"
)

// A StreamEntry is the catalog's entry of a change stream. No two streams of the
// database have the same number; it is a timestamp of the database's clock, which
// may be ahead of the time.
type StreamEntry struct {
	ID    int64
	Since cells.Timestamp // complete from then on
}

// A Stream is the stream of a table, from the change of the schema that begins
// it to the one that ends it.
type Stream struct {
	StreamEntry
	Keep time.Duration
}

// ReadStreams collects the numbers of the streams by table.
func ReadStreams(entries map[string][]byte) (map[string]StreamEntry, error) {
	streams := map[string]StreamEntry{}
	for key, value := range entries {
		name, ok := strings.CutPrefix(key, prefixStream)
		if !ok {
			continue
		}
		var e StreamEntry
		if _, err := fmt.Sscanf(string(value), "%d %d", &e.ID, &e.Since); err != nil || e.ID < 0 || e.Since.Check() != nil {
			return nil, fault.Errorf(fault.Corruption, "catalog entry %s is %q, not two timestamps", key, value)
		}
		streams[name] = e
	}
	return streams, nil
}

// SetStreams gives the tables with a change stream their streams.
func (c *Catalog) SetStreams(streams map[string]StreamEntry) {
	c.Streams = map[string]StreamEntry{}
	for name, t := range c.Tables {
		if e, ok := streams[name]; ok && t.Declared.ChangeStream != 0 {
			c.Streams[name] = e
			t.Stream = &Stream{e, t.Declared.ChangeStream}
		}
	}
}

// PutStreams adds the differences of two catalogs to a batch.
func PutStreams(b *cf.Batch, old, next map[string]StreamEntry) {
	for name, e := range next {
		if was, ok := old[name]; !ok || was != e {
			b.PutMeta(prefixStream+name, fmt.Appendf(nil, "%d %d", e.ID, e.Since))
		}
	}
	for name := range old {
		if _, ok := next[name]; !ok {
			b.DeleteMeta(prefixStream + name)
		}
	}
}

// RefuseLogged is the error of an operation that would bypass the log.
func (t *Table) RefuseLogged() error {
	switch {
	case t.Marks != nil:
		return fault.Errorf(fault.FailedPrecondition, "table %s has a materialized view, which a bulk load would bypass; write its rows in batches (batch=10000 of an import), or drop the view before", t.Name)
	case t.Stream == nil:
		return nil
	}
	return fault.Errorf(fault.FailedPrecondition, "table %s has a change stream, which a bulk load would bypass; write its rows in batches (batch=10000 of an import), or set change_stream=none before", t.Name)
}
