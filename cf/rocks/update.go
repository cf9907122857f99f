package rocks

// #include "write.h"
//
// #cgo noescape smolwc_write
// #cgo nocallback smolwc_write
import "C"

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"unsafe"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/rocks/internal/native"
	"github.com/smolwc/smolwc/cf/rocks/internal/wal"
)

// Update implements cf.Store.
func (s *Store) Update(ctx context.Context, rows []cf.RowID, fn func(cf.Snapshot, *cf.Batch) error) (cf.Position, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	return s.letIn(ctx, func() (cf.Position, int, error) { return s.tryUpdate(ctx, rows, fn) })
}

// tryUpdate makes the update unless the engine turns it away; see letIn.
func (s *Store) tryUpdate(ctx context.Context, rows []cf.RowID, fn func(cf.Snapshot, *cf.Batch) error) (pos cf.Position, size int, err error) {
	set := s.locks.setOf(rows)
	if err := s.locks.lock(ctx, set); err != nil {
		return 0, 0, err
	}
	defer s.locks.unlock(set)
	snap, err := s.snapshot(rows)
	if err != nil {
		return 0, 0, err
	}
	defer snap.Close()
	b := batches.Get().(*cf.Batch)
	defer func() { b.Reset(); batches.Put(b) }()
	if err := fn(snap, b); err != nil {
		return 0, 0, err
	}
	if err := checkRows(rows, b.Rows()); err != nil {
		return 0, 0, err
	}
	pos, err = s.commit(ctx, b)
	return pos, b.Size(), err
}

var (
	batches = sync.Pool{New: func() any { return new(cf.Batch) }}
	reps    = sync.Pool{New: func() any { return new([]byte) }}
)

// checkRows refuses a batch that touches a row whose lock is not held.
func checkRows(locked, touched []cf.RowID) error {
	if slices.Equal(locked, touched) {
		return nil
	}
	held := make(map[cf.RowID]bool, len(locked))
	for _, r := range locked {
		held[r] = true
	}
	for _, r := range touched {
		if !held[r] {
			return fmt.Errorf("update of row %q of %s, which it did not name", r.Row, r.Space)
		}
	}
	return nil
}

// commit writes a batch; the locks of its rows are held. It returns errStalled
// when the engine turns it away.
func (s *Store) commit(ctx context.Context, b *cf.Batch) (pos cf.Position, err error) {
	if limit := s.Limits().Batch; b.Size() > limit {
		return 0, fmt.Errorf("batch of %d bytes is %w; the limit is %d", b.Size(), cf.ErrTooLarge, limit)
	}
	rep := reps.Get().(*[]byte)
	defer reps.Put(rep)
	s.mu.RLock() // no family may be dropped between the lookup and the write
	defer s.mu.RUnlock()
	if err := s.writable(); err != nil {
		return 0, err
	}
	if len(b.Ops()) == b.Notes() {
		return cf.Position(s.db.GetLatestSequenceNumber()), nil
	}
	if *rep, err = appendRep((*rep)[:0], b, *s.families.Load()); err != nil {
		return 0, err
	}
	pos, err = s.queue.write(ctx, *rep, s.put)
	if err != nil {
		return pos, err
	}
	s.history.addRows(b.Rows())
	if b.Synced() && s.options.Async {
		err = s.syncLog()
	}
	return pos, err
}

// syncLog brings what has been written to the disk.
func (s *Store) syncLog() error {
	if s.options.InMemory {
		return nil
	}
	if err := native.Wrap(s.db.FlushWAL(true)); err != nil {
		return fmt.Errorf("%w: %w", cf.ErrUnknownOutcome, err)
	}
	return nil
}

// errStalled: the engine takes no writes now; nothing was written.
var errStalled = errors.New("the store takes no writes now")

func (s *Store) put(rep []byte) (cf.Position, error) {
	var seq C.uint64_t
	msg := C.smolwc_write(s.c.db, s.c.write, (*C.char)(unsafe.Pointer(unsafe.SliceData(rep))), C.size_t(len(rep)), &seq)
	if msg == nil {
		s.taken()
		if s.held.Load() > 0 {
			s.releaseFiles()
		}
		return cf.Position(seq), nil
	}
	defer C.rocksdb_free(unsafe.Pointer(msg))
	text := C.GoString(msg)
	if isStall(text) {
		return 0, errStalled
	}
	err := native.Wrap(errors.New(text))
	if errors.Is(err, cf.ErrUnavailable) && strings.Contains(text, "sync") {
		err = fmt.Errorf("%w: %w", cf.ErrUnknownOutcome, err) // it is in the log, and perhaps on the disk
	}
	s.refused(err)
	return 0, err
}

// isStall reports whether the engine has turned a write away. It says the second when
// it is to be closed.
func isStall(text string) bool {
	return strings.Contains(text, "Write stall") || strings.Contains(text, "Shutdown in progress: stalled writes")
}

// appendRep appends the representation of a batch to dst, in which nothing may
// stand before.
func appendRep(dst []byte, b *cf.Batch, open families) ([]byte, error) {
	dst = append(dst, make([]byte, wal.RepHeader)...)
	binary.LittleEndian.PutUint32(dst[8:], uint32(len(b.Ops())-b.Notes()))
	if b.Notes() > 0 {
		dst = append(dst, wal.RepLogData, 1, wal.FrameBegin)
	}
	var f *family
	for i := range b.Ops() {
		op := &b.Ops()[i]
		switch op.Kind {
		case cf.OpPutMeta:
			dst = appendString(appendString(append(dst, wal.RepPut), b.Key(op)), b.Value(op))
			continue
		case cf.OpDeleteMeta:
			dst = appendString(append(dst, wal.RepDelete), b.Key(op))
			continue
		case cf.OpNote:
			dst = binary.AppendUvarint(append(dst, wal.RepLogData), uint64(1+len(b.Value(op))))
			dst = append(append(dst, wal.FrameNote), b.Value(op)...)
			continue
		}
		if f == nil || f.name != op.Family {
			var err error
			if f, err = open.get(op.Family); err != nil {
				return dst, err
			}
		}
		dst = appendCellOp(dst, f.id, b, op)
	}
	if b.Notes() > 0 {
		dst = append(dst, wal.RepLogData, 1, wal.FrameEnd)
	}
	return dst, nil
}

func appendCellOp(dst []byte, id uint32, b *cf.Batch, op *cf.Op) []byte {
	switch op.Kind {
	case cf.OpPut:
		dst = binary.AppendUvarint(append(dst, wal.RepFamilyPut), uint64(id))
		return appendString(appendString(dst, b.Key(op)), b.Value(op))
	case cf.OpMerge:
		dst = binary.AppendUvarint(append(dst, wal.RepFamilyMerge), uint64(id))
		return appendString(appendString(dst, b.Key(op)), b.Value(op))
	case cf.OpDelete:
		dst = binary.AppendUvarint(append(dst, wal.RepFamilyDelete), uint64(id))
		return appendString(dst, b.Key(op))
	}
	dst = binary.AppendUvarint(append(dst, wal.RepFamilyDelRange), uint64(id))
	return appendString(appendString(dst, b.Key(op)), b.Value(op))
}

func appendString(dst, s []byte) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(s))), s...)
}

// DropRange implements cf.Store: one range tombstone a family, in one batch.
func (s *Store) DropRange(ctx context.Context, names []string, rows cf.Range) error {
	var b cf.Batch
	for _, name := range names {
		b.DeleteRows(name, rows)
	}
	_, err := s.letIn(ctx, func() (cf.Position, int, error) {
		if err := s.locks.rlock(ctx, allStripes); err != nil { // not between an update's read and its write
			return 0, 0, err
		}
		defer s.locks.runlock(allStripes)
		pos, err := s.commit(ctx, &b)
		if err != errStalled {
			s.history.addRange(names, rows)
		}
		return pos, b.Size(), err
	})
	return err
}
