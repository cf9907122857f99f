package standby

import (
	"cmp"
	"context"

	"github.com/smolwc/smolwc/cf"
)

// A semiSyncStore waits with each commit until enough standbys have it.
type semiSyncStore struct {
	engine
	q *ackTracker
}

// An engine is what a database may use of a store of this machine.
type engine interface {
	cf.Shipper
	cf.Checker
	cf.DropTeller
	// Seen is the position that a standby must reach to show what was read before.
	Seen() cf.Position
}

var _ engine = semiSyncStore{}

// commit runs fn, which commits, and waits.
func (s semiSyncStore) commit(ctx context.Context, fn func() (cf.Position, error)) (cf.Position, error) {
	if err := s.q.waitForStandby(ctx); err != nil {
		return 0, err
	}
	at, err := fn()
	if err != nil {
		return at, err
	}
	if r, ok := ctx.Value(recordKey{}).(*record); ok {
		r.add(uint64(at))
	}
	return at, s.q.acknowledged(ctx, at)
}

// Read implements [cf.Reader].
func (s semiSyncStore) Read(ctx context.Context, scan *cf.Scan, a *cf.Answer) error {
	if err := s.engine.Read(ctx, scan, a); err != nil {
		return err
	}
	return s.q.confirmed(ctx, s.Seen())
}

// Snapshot implements [cf.Reader].
func (s semiSyncStore) Snapshot(ctx context.Context) (cf.Snapshot, error) {
	snap, err := s.engine.Snapshot(ctx)
	if err != nil {
		return nil, err
	}
	if err := s.q.confirmed(ctx, s.Seen()); err != nil {
		snap.Close()
		return nil, err
	}
	return snap, nil
}

// EndWaits implements [cf.Store].
func (s semiSyncStore) EndWaits() {
	s.q.end(cf.ErrClosed)
	s.engine.EndWaits()
}

// Update implements [cf.Store].
func (s semiSyncStore) Update(ctx context.Context, rows []cf.RowID, fn func(cf.Snapshot, *cf.Batch) error) (cf.Position, error) {
	return s.commit(ctx, func() (cf.Position, error) { return s.engine.Update(ctx, rows, fn) })
}

// Write implements [cf.Store].
func (s semiSyncStore) Write(ctx context.Context, rows []cf.RowID, fn func(*cf.Batch) error) (cf.Position, error) {
	return s.commit(ctx, func() (cf.Position, error) { return s.engine.Write(ctx, rows, fn) })
}

// noting waits until the store may write what is no client's write to a log that standbys
// read.
func (s semiSyncStore) noting(ctx context.Context) error {
	if s.Ships() == "" {
		return nil
	}
	return s.q.waitForStandby(ctx)
}

// CreateFamily implements [cf.Store].
func (s semiSyncStore) CreateFamily(ctx context.Context, names ...string) error {
	if err := s.noting(ctx); err != nil {
		return err
	}
	return s.engine.CreateFamily(ctx, names...)
}

// DropFamily implements [cf.Store].
func (s semiSyncStore) DropFamily(ctx context.Context, names ...string) error {
	if err := s.noting(ctx); err != nil {
		return err
	}
	return s.engine.DropFamily(ctx, names...)
}

// PutMeta implements [cf.Store].
func (s semiSyncStore) PutMeta(ctx context.Context, key string, value []byte) error {
	if err := s.noting(ctx); err != nil {
		return err
	}
	return s.engine.PutMeta(ctx, key, value)
}

// SetExpiry implements [cf.Store]. It waits for nothing.
func (s semiSyncStore) SetExpiry(family string, e cf.Expiry) error {
	if s.Ships() != "" {
		if err := cmp.Or(s.q.checkLease(), s.q.checkSyncStandby()); err != nil {
			return err
		}
	}
	return s.engine.SetExpiry(family, e)
}

// DropRange implements [cf.Store].
func (s semiSyncStore) DropRange(ctx context.Context, families []string, rows cf.Range) error {
	_, err := s.commit(ctx, func() (cf.Position, error) {
		err := s.engine.DropRange(ctx, families, rows)
		return s.Latest(), err
	})
	return err
}

// Begin implements [cf.Reader].
func (s semiSyncStore) Begin(ctx context.Context) (cf.Txn, error) {
	txn, err := s.engine.Begin(ctx)
	if err != nil {
		return nil, err
	}
	if err := s.q.confirmed(ctx, s.Seen()); err != nil {
		txn.Close()
		return nil, err
	}
	return &semiSyncTxn{Txn: txn, store: s}, nil
}

// Ingest implements [cf.Store].
func (s semiSyncStore) Ingest(ctx context.Context) (cf.Ingestion, error) {
	into, err := s.engine.Ingest(ctx)
	if err != nil {
		return nil, err
	}
	return semiSyncIngestion{into, s}, nil
}

type semiSyncTxn struct {
	cf.Txn
	store semiSyncStore
	wrote bool
}

// Add implements [cf.Txn].
func (t *semiSyncTxn) Add(b *cf.Batch) error {
	t.wrote = true
	return t.Txn.Add(b)
}

// Commit implements [cf.Txn].
func (t *semiSyncTxn) Commit(ctx context.Context, last func(*cf.Batch) error) (cf.Position, error) {
	if !t.wrote {
		return t.Txn.Commit(ctx, last)
	}
	return t.store.commit(ctx, func() (cf.Position, error) { return t.Txn.Commit(ctx, last) })
}

type semiSyncIngestion struct {
	cf.Ingestion
	store semiSyncStore
}

// Commit implements [cf.Ingestion].
func (i semiSyncIngestion) Commit(ctx context.Context, rows cf.Range, fn func(cf.Snapshot, *cf.Batch) error) (cf.Position, error) {
	return i.store.commit(ctx, func() (cf.Position, error) { return i.Ingestion.Commit(ctx, rows, fn) })
}
