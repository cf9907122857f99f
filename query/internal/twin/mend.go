package twin

import (
	"context"
	"slices"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/tally"
	"github.com/smolwc/smolwc/query/internal/catalog"
)

// Mend makes rows of a table equal to those in a snapshot of From: afterwards they have
// the cells that reads of the snapshot see, and no hidden ones.
func (p *Pair) Mend(ctx context.Context, snap cf.Snapshot, from, to *catalog.Table, keys []string) error {
	m := mender{pair: p, snap: snap, from: from, to: to}
	for _, key := range keys {
		if err := m.add(ctx, key); err != nil {
			return err
		}
	}
	return m.flush(ctx)
}

// A mender gathers rows that differ, and writes them together.
type mender struct {
	pair     *Pair
	snap     cf.Snapshot
	from, to *catalog.Table
	keys     []string
	batch    cf.Batch
}

// Rows are mended this many at a time, in batches up to about this many bytes. A row
// that is larger than a batch takes several ones.
const (
	mendRows  = 512
	mendBytes = 4 << 20
)

func (m *mender) add(ctx context.Context, key string) error {
	if n := len(m.keys); n > 0 && m.keys[n-1] == key {
		return nil
	}
	if m.keys = append(m.keys, key); len(m.keys) < mendRows {
		return nil
	}
	return m.flush(ctx)
}

// flush makes the gathered rows equal.
func (m *mender) flush(ctx context.Context) error {
	if len(m.keys) == 0 {
		return nil
	}
	slices.Sort(m.keys)
	rows := make([]cf.Range, 0, len(m.keys))
	for _, key := range slices.Compact(m.keys) {
		rows = append(rows, cf.Single(key))
	}
	m.keys = m.keys[:0]
	written, err := m.pair.To.Store.Snapshot(ctx)
	if err != nil {
		return err
	}
	defer written.Close()
	now := m.pair.Now()
	for i, f := range m.from.Families {
		if err := m.family(ctx, moment{m.snap, written}, f, m.to.Families[i], rows, now); err != nil {
			return err
		}
	}
	return m.write(ctx)
}

// family adds the changes of one family to the batch. Hidden cells of the target are
// removed: they would reappear when a newer version is deleted.
func (m *mender) family(ctx context.Context, at moment, from, to *catalog.Family, rows []cf.Range, now cells.Timestamp) error {
	v := visit{
		from: cf.Scan{Family: from.Store, Rows: rows, Filter: shown(from, now)},
		to:   cf.Scan{Family: to.Store, Rows: rows},
	}
	row := ""
	v.different = func(in Place, w *tally.Walk) error {
		if m.batch.Size() > min(mendBytes, m.pair.To.Store.Limits().Batch/2) {
			if err := m.write(ctx); err != nil {
				return err
			}
			row = ""
		}
		if row != w.Key {
			row = w.Key
			m.batch.Row(cf.RowID{Space: m.to.Name, Row: row})
		}
		if in == InTo {
			m.batch.DeleteCell(to.Store, w.Qualifier, w.Timestamp)
		} else {
			m.batch.Put(to.Store, w.Qualifier, w.Timestamp, w.Value)
		}
		return nil
	}
	return v.run(ctx, at)
}

// write commits the batch.
func (m *mender) write(ctx context.Context) error {
	if len(m.batch.Ops()) == 0 {
		return nil
	}
	err := m.pair.To.Writing(ctx, func(*catalog.Catalog) error {
		_, err := m.pair.To.Store.Write(ctx, nil, func(b *cf.Batch) error {
			b.Append(&m.batch)
			return nil
		})
		return err
	})
	m.batch.Reset()
	return err
}
