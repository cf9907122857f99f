package cftikv

import (
	"context"
	"fmt"
	"slices"

	"github.com/tikv/client-go/v2/tikv"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/isolation"
)

// A txn implements [cf.Txn]. Its own changes are in a transaction of TiKV that never
// commits, which its scans read. Commit applies them once more, in an attempt.
type txn struct {
	*snapshot
	own     *attempt
	changes cf.Batch
	reads   readSet
	stamps  stamps // that it took
}

// Begin implements [cf.Store].
func (s *Store) Begin(ctx context.Context) (cf.Txn, error) {
	snap, err := s.snapshot(ctx)
	if err != nil {
		return nil, err
	}
	kv, err := s.client.Begin(tikv.WithStartTS(snap.ts))
	if err != nil {
		snap.Close()
		return nil, wrap(ctx, err)
	}
	return &txn{snapshot: snap, own: &attempt{store: s, ctx: ctx, kv: kv, start: snap.ts}, stamps: newStamps(s.keys, snap.ts)}, nil
}

// Read implements [cf.Txn].
func (t *txn) Read(space string, rows cf.Range) { t.reads.add(space, rows) }

// Add implements [cf.Txn]. A merge reads the cell.
func (t *txn) Add(b *cf.Batch) error {
	ctx := t.own.ctx
	if err := t.ready(ctx); err != nil {
		return err
	}
	if size, limit := t.changes.Size()+b.Size(), t.store.Limits().Batch; size > limit {
		return fmt.Errorf("a transaction of %d bytes is %w, at most %d are possible", size, cf.ErrTooLarge, limit)
	}
	for _, op := range b.Ops() {
		switch op.Kind {
		case cf.OpPut, cf.OpDelete, cf.OpMerge:
			if _, err := t.family(ctx, op.Family); err != nil {
				return err
			}
		case cf.OpNote:
		default:
			return fmt.Errorf("a transaction cannot carry operation %d", op.Kind)
		}
	}
	if len(b.Ops()) > 0 && t.state != nil {
		if err := t.own.apply(ctx, b, t.state); err != nil {
			return err
		}
		t.snapshot.own = t.own
	}
	t.changes.Append(b)
	return nil
}

// Stamp implements [cf.Stamper].
func (t *txn) Stamp(ctx context.Context, row cf.RowID) (int64, error) {
	if err := t.ready(ctx); err != nil {
		return 0, err
	}
	key := t.store.keys.sentinel(row)
	if !t.stamps.knows(key) {
		before, err := get(ctx, t.store.client.GetSnapshot(t.ts), key)
		if err != nil {
			return 0, err
		}
		t.stamps.found(string(key), before)
	}
	return t.stamps.next(row), nil
}

// Commit implements [cf.Txn]. It locks the rows that were written, and the single rows
// that were read. Ranges that were read are looked at when the transaction commits;
// other writers of their rows need not wait while last runs.
func (t *txn) Commit(ctx context.Context, last func(*cf.Batch) error) (cf.Position, error) {
	defer t.Close()
	if err := t.ready(ctx); err != nil {
		return 0, err
	}
	if !changes(&t.changes) {
		return cf.Position(t.ts), nil // all reads are of one moment
	}
	rows := slices.Concat(t.changes.Rows(), t.reads.rows)
	return bounded(ctx, t.store, func(ctx context.Context) (cf.Position, error) {
		release, err := t.store.rows.Lock(ctx, rows)
		if err != nil {
			return 0, err
		}
		defer release()
		return again(ctx, func() (cf.Position, error) { return t.try(ctx, rows, last) })
	})
}

func (t *txn) try(ctx context.Context, rows []cf.RowID, last func(*cf.Batch) error) (cf.Position, error) {
	a, err := t.store.begin(ctx, t.store.sentinels(rows)...)
	if err != nil {
		return 0, err
	}
	defer a.end()
	if err := t.unchanged(ctx, a, a.start); err != nil {
		return 0, err
	}
	a.stamps.take(&t.stamps)
	var b cf.Batch
	b.Append(&t.changes)
	if last != nil {
		if err := last(&b); err != nil {
			return 0, err
		}
		if err := isolation.Named(t.changes.Rows(), b.Rows()); err != nil {
			return 0, err
		}
	}
	a.checks = append(a.checks, func(ctx context.Context, commit uint64) error { return t.unchanged(ctx, a, commit) })
	return a.write(ctx, &b, nil)
}

// Close implements [cf.Snapshot].
func (t *txn) Close() {
	t.own.end()
	t.snapshot.Close()
}
