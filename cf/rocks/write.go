//go:build cgo && linux && !norocksdb

package rocks

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/isolation"
	"github.com/smolwc/smolwc/cf/rocks/internal/files"
	"github.com/smolwc/smolwc/cf/rocks/internal/gate"
	"github.com/smolwc/smolwc/cf/rocks/internal/native"
)

// Write implements cf.Store. It holds the rows' locks shared from before fn runs.
// Updates hold them exclusively. So a timestamp that fn takes from a clock is in the
// same order with the row's updates as the commit.
func (s *Store) Write(ctx context.Context, rows []cf.RowID, fn func(*cf.Batch) error) (cf.Position, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	return s.letIn(ctx, func(t *turn) (cf.Position, int, error) { return s.tryWrite(ctx, t, rows, fn) })
}

// tryWrite tries the write once: the engine may refuse it, or it may have to wait for its
// turn. See letIn.
func (s *Store) tryWrite(ctx context.Context, t *turn, rows []cf.RowID, fn func(*cf.Batch) error) (pos cf.Position, size int, err error) {
	var hold isolation.Hold
	if rows != nil {
		hold.Writes = s.locks.SetOf(rows)
		if err := s.locks.Lock(ctx, &hold); err != nil {
			return 0, 0, err
		}
		defer s.locks.Unlock(&hold)
	}
	b := batches.Get().(*cf.Batch)
	defer recycle(b)
	if err := fn(b); err != nil {
		return 0, 0, err
	}
	if rows == nil {
		hold.Writes = s.locks.SetOf(b.Rows())
		if err := s.locks.Lock(ctx, &hold); err != nil {
			return 0, 0, err
		}
		defer s.locks.Unlock(&hold)
	} else if touched := b.Rows(); !slices.Equal(rows, touched) {
		if err := hold.Covers(s.locks.SetOf(touched)); err != nil {
			return 0, 0, err
		}
	}
	pos, err = s.commit(ctx, t, b)
	return pos, b.Size(), err
}

// PutMeta implements cf.Store.
func (s *Store) PutMeta(ctx context.Context, key string, value []byte) error {
	var b cf.Batch
	b.PutMeta(key, value)
	_, err := s.commit(ctx, nil, &b)
	if err == gate.ErrStalled {
		return s.gate.Error(err)
	}
	return err
}

// Update implements cf.Store.
func (s *Store) Update(ctx context.Context, rows []cf.RowID, fn func(cf.Snapshot, *cf.Batch) error) (cf.Position, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	return s.letIn(ctx, func(t *turn) (cf.Position, int, error) { return s.tryUpdate(ctx, t, rows, fn) })
}

// tryUpdate is tryWrite for an update.
func (s *Store) tryUpdate(ctx context.Context, t *turn, rows []cf.RowID, fn func(cf.Snapshot, *cf.Batch) error) (pos cf.Position, size int, err error) {
	hold := isolation.Hold{Updates: s.locks.SetOf(rows)}
	if err := s.locks.Lock(ctx, &hold); err != nil {
		return 0, 0, err
	}
	defer s.locks.Unlock(&hold)
	snap, err := s.snapshot(rows)
	if err != nil {
		return 0, 0, err
	}
	defer snap.Close()
	b := batches.Get().(*cf.Batch)
	defer recycle(b)
	if err := fn(snap, b); err != nil {
		return 0, 0, err
	}
	if err := isolation.Named(rows, b.Rows()); err != nil {
		return 0, 0, err
	}
	pos, err = s.commit(ctx, t, b)
	return pos, b.Size(), err
}

var (
	batches = sync.Pool{New: func() any { return new(cf.Batch) }}
	reps    = sync.Pool{New: func() any { return new(rep) }}
)

// mostKept is how many bytes a batch may have that is used again, with its memory.
const mostKept = 1 << 20

func recycle(b *cf.Batch) {
	if b.Copied() <= mostKept {
		b.Reset()
		batches.Put(b)
	}
}

// commit writes a batch. The caller holds the locks of its rows. commit returns
// gate.ErrStalled when the engine refuses the write because it stalls, and errNoTurn when
// the batch is large and must wait for its turn. With a nil turn it never waits for one.
func (s *Store) commit(ctx context.Context, t *turn, b *cf.Batch) (pos cf.Position, err error) {
	if limit := s.Limits().Batch; b.Size() > limit {
		return 0, fmt.Errorf("batch of %d bytes is %w; the limit is %d", b.Size(), cf.ErrTooLarge, limit)
	}
	if err := s.takeTurn(ctx, t, b); err != nil {
		return 0, err
	}
	r := reps.Get().(*rep)
	defer func() {
		if r.parts = nil; cap(r.bytes) <= mostKept {
			reps.Put(r)
		}
	}()
	defer s.mu.Share().RUnlock() // no family may be dropped between the lookup and the write
	if err := s.writable(); err != nil {
		return 0, err
	}
	if len(b.Ops()) == b.Notes() {
		return cf.Position(s.db.GetLatestSequenceNumber()), nil
	}
	if err := r.encode(b, *s.families.Load(), s.changes.now()); err != nil {
		return 0, err
	}
	if len(r.parts) == 0 {
		pos, err = s.queue.Write(ctx, r.bytes, s.put)
	} else {
		pos, err = s.queue.WriteAlone(ctx, func() (cf.Position, error) { return s.putParts(r.bytes, r.parts) })
	}
	if err != nil {
		return pos, err
	}
	s.history.AddRows(b.Rows())
	if b.Synced() && s.options.Async {
		err = s.syncLog()
	}
	return pos, err
}

// syncLog syncs the log to the disk.
func (s *Store) syncLog() error {
	if s.options.InMemory {
		return nil
	}
	if err := native.Wrap(s.db.FlushWAL(true)); err != nil {
		return fmt.Errorf("%w: %w", cf.ErrUnknownOutcome, err)
	}
	return nil
}

func (s *Store) put(rep []byte) (cf.Position, error) { return s.putParts(rep, nil) }

func (s *Store) putParts(rep []byte, parts []files.Part) (cf.Position, error) {
	pos, err := s.tryPut(s.writer, rep, parts)
	if err == nil {
		s.refusal.Taken()
		s.changes.kept.Tell()
		if s.held.Load() > 0 {
			s.releaseFiles()
		}
	}
	return pos, err
}

// tryPut writes a batch in RocksDB's representation, and notes a refusal. It returns
// gate.ErrStalled when the engine turns the batch away.
func (s *Store) tryPut(w files.Writer, rep []byte, parts []files.Part) (cf.Position, error) {
	seq, text := w.Write(rep, parts)
	if text == "" {
		return cf.Position(seq), nil
	}
	if isStall(text) {
		return 0, gate.ErrStalled
	}
	err := native.Wrap(errors.New(text))
	if errors.Is(err, cf.ErrUnavailable) && strings.Contains(text, "sync") {
		err = fmt.Errorf("%w: %w", cf.ErrUnknownOutcome, err) // the batch is in the log, and perhaps on the disk
	}
	s.refusal.Refused(err)
	return 0, err
}

// isStall reports whether the engine refused a write because it stalls. The second text
// comes from an engine that is being closed.
func isStall(text string) bool {
	return strings.Contains(text, "Write stall") || strings.Contains(text, "Shutdown in progress: stalled writes")
}

// DropRange implements cf.Store: one batch with a range tombstone for each family.
func (s *Store) DropRange(ctx context.Context, names []string, rows cf.Range) error {
	var b cf.Batch
	for _, name := range names {
		b.DeleteRows(name, rows)
	}
	_, err := s.gate.LetIn(ctx, func() (cf.Position, int, error) {
		hold := isolation.Hold{All: true} // not between the read and the write of an update
		if err := s.locks.Lock(ctx, &hold); err != nil {
			return 0, 0, err
		}
		defer s.locks.Unlock(&hold)
		pos, err := s.commit(ctx, nil, &b)
		if err != gate.ErrStalled {
			s.history.AddRange(names, rows)
		}
		return pos, b.Size(), err
	})
	return err
}
