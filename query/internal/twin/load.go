package twin

import (
	"context"
	"errors"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/bulk"
	"github.com/smolwc/smolwc/query/internal/catalog"
)

// load fills an empty range of a table with the cells that reads see. All of them become
// visible together. A store that takes no such load returns errors.ErrUnsupported.
func (p *Pair) load(ctx context.Context, snap cf.Snapshot, from, to *catalog.Table, rows cf.Range) (err error) {
	into, err := p.To.Store.Ingest(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, into.Close()) }()
	now, some := p.Now(), false
	for i, f := range from.Families {
		wrote, err := loadFamily(ctx, snap, into, to.Families[i].Store, cf.Scan{Family: f.Store, Rows: []cf.Range{rows}, Filter: shown(f, now)})
		if err != nil {
			return err
		}
		some = some || wrote
	}
	if !some {
		return nil
	}
	if err := p.Loading.Lock(ctx); err != nil {
		return err
	}
	defer p.Loading.Unlock()
	return p.To.Writing(ctx, func(*catalog.Catalog) error {
		_, err := into.Commit(ctx, rows, func(cf.Snapshot, *cf.Batch) error { return nil })
		return err
	})
}

// loadFamily writes the cells of a scan to a run, unless there are no cells.
func loadFamily(ctx context.Context, snap cf.Snapshot, into cf.Ingestion, family string, s cf.Scan) (wrote bool, err error) {
	cursor, err := snap.Scan(ctx, s)
	if err != nil {
		return false, err
	}
	defer cursor.Close()
	b, err := cursor.Next(ctx)
	if b == nil || err != nil {
		return false, err
	}
	run, err := into.Run(ctx, family)
	if err != nil {
		return false, err
	}
	for b != nil && err == nil {
		if err = run.Write(ctx, bulk.GroupsOf(b)); err == nil {
			b, err = cursor.Next(ctx)
		}
	}
	return true, errors.Join(err, run.Close())
}
