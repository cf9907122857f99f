package state

import (
	"context"

	"github.com/smolwc/smolwc/cf"
)

// fenced is a store that several processes write. Each of its commits demands the catalog
// in force; the caller holds the schema lock, so that it is the one that the caller knows.
type fenced struct {
	cf.Shared
	db *DB
}

func (s fenced) demand(b *cf.Batch) { b.UnderCatalog(s.db.Catalog.Load().Version) }

// Update implements [cf.Store].
func (s fenced) Update(ctx context.Context, rows []cf.RowID, fn func(cf.Snapshot, *cf.Batch) error) (cf.Position, error) {
	return s.Shared.Update(ctx, rows, func(snap cf.Snapshot, b *cf.Batch) error {
		s.demand(b)
		return fn(snap, b)
	})
}

// Write implements [cf.Store].
func (s fenced) Write(ctx context.Context, rows []cf.RowID, fn func(*cf.Batch) error) (cf.Position, error) {
	return s.Shared.Write(ctx, rows, func(b *cf.Batch) error {
		s.demand(b)
		return fn(b)
	})
}

// SetExpiry implements [cf.Store]. What is expired follows from the catalog in force, so
// the store may drop it under no other one.
func (s fenced) SetExpiry(family string, e cf.Expiry) error {
	e.Catalog = s.db.Catalog.Load().Version
	return s.Shared.SetExpiry(family, e)
}

// Begin implements [cf.Reader].
func (s fenced) Begin(ctx context.Context) (cf.Txn, error) {
	txn, err := s.Shared.Begin(ctx)
	if err != nil {
		return nil, err
	}
	return fencedTxn{txn, s}, nil
}

// Ingest implements [cf.Store].
func (s fenced) Ingest(ctx context.Context) (cf.Ingestion, error) {
	into, err := s.Shared.Ingest(ctx)
	if err != nil {
		return nil, err
	}
	return fencedIngestion{into, s}, nil
}

type fencedTxn struct {
	cf.Txn
	store fenced
}

// CatalogVersion implements [cf.Versioned].
func (t fencedTxn) CatalogVersion(ctx context.Context) (uint64, error) { return versionOf(ctx, t.Txn) }

// Stamp implements [cf.Stamper].
func (t fencedTxn) Stamp(ctx context.Context, row cf.RowID) (int64, error) {
	return t.Txn.(cf.Stamper).Stamp(ctx, row)
}

// Commit implements [cf.Txn].
func (t fencedTxn) Commit(ctx context.Context, last func(*cf.Batch) error) (cf.Position, error) {
	var b cf.Batch
	t.store.demand(&b)
	if err := t.Txn.Add(&b); err != nil {
		return 0, err
	}
	return t.Txn.Commit(ctx, last)
}

type fencedIngestion struct {
	cf.Ingestion
	store fenced
}

// Commit implements [cf.Ingestion].
func (i fencedIngestion) Commit(ctx context.Context, rows cf.Range, fn func(cf.Snapshot, *cf.Batch) error) (cf.Position, error) {
	return i.Ingestion.Commit(ctx, rows, func(snap cf.Snapshot, b *cf.Batch) error {
		i.store.demand(b)
		return fn(snap, b)
	})
}

// demanding reads a store under a version of the catalog: a read fails with
// cf.ErrCatalogChanged if the catalog is at another one.
type demanding struct {
	cf.Reader
	version uint64
}

// Snapshot implements [cf.Reader].
func (d demanding) Snapshot(ctx context.Context) (cf.Snapshot, error) {
	snap, err := d.Reader.Snapshot(ctx)
	if err != nil {
		return nil, err
	}
	version, err := versionOf(ctx, snap)
	if err == nil && version != d.version {
		err = cf.ErrCatalogChanged
	}
	if err != nil {
		snap.Close()
		return nil, err
	}
	return snap, nil
}

// Read implements [cf.Reader].
func (d demanding) Read(ctx context.Context, s *cf.Scan, a *cf.Answer) error {
	demands := *s
	demands.Catalog = d.version
	return d.Reader.Read(ctx, &demands, a)
}

// A moment reads a store as one snapshot shows it, which stays open.
type moment struct {
	cf.Reader
	snap cf.Snapshot
}

// Snapshot implements [cf.Reader].
func (m moment) Snapshot(context.Context) (cf.Snapshot, error) { return kept{m.snap}, nil }

// Read implements [cf.Reader].
func (m moment) Read(ctx context.Context, s *cf.Scan, a *cf.Answer) error {
	c, err := m.snap.Scan(ctx, *s)
	if err != nil {
		return err
	}
	return a.ReadAll(ctx, c)
}

// kept is a snapshot that its user does not close.
type kept struct{ cf.Snapshot }

// Close implements [cf.Snapshot].
func (kept) Close() {}
