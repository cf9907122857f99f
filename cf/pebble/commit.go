package pebble

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"

	engine "github.com/cockroachdb/pebble/v2"

	"github.com/smolwc/smolwc/cf"
)

// held is commit, and counts the bytes of Pebble's form of a large batch.
func (s *Store) held(ctx context.Context, b *cf.Batch) (cf.Position, error) {
	if h, ok := cf.HoldingOf(ctx).(cf.WriteHolding); ok && b.Size() >= largeWrite {
		release, err := h.HoldWrite(b.Size() + b.Copied())
		if err != nil {
			return 0, err
		}
		defer release()
	}
	return s.commit(ctx, b, nil)
}

// recycle gives a batch back, unless a commit that stayed behind still uses it.
func recycle(b *cf.Batch, err error) {
	if !errors.Is(err, cf.ErrUnknownOutcome) {
		b.Reset()
		batches.Put(b)
	}
}

// commit writes a batch. The caller holds the locks of its rows. note is called after it, if
// it is not nil.
func (s *Store) commit(ctx context.Context, b *cf.Batch, note func()) (cf.Position, error) {
	if limit := s.Limits().Batch; b.Size() > limit {
		return 0, fmt.Errorf("batch of %d bytes is %w; the limit is %d", b.Size(), cf.ErrTooLarge, limit)
	}
	defer s.mu.Share().RUnlock()
	if err := s.writable(); err != nil {
		return 0, err
	}
	if len(b.Ops()) == b.Notes() {
		return cf.Position(s.acked.Load()), nil
	}
	if err := s.beginWriting(ctx); err != nil {
		return 0, err
	}
	batch := s.newBatch(b.Size() + 16*len(b.Ops()) + 64)
	merges, err := encode(batch, b, *s.families.Load())
	if err != nil {
		s.writing.RUnlock()
		return 0, errors.Join(err, batch.Close())
	}
	flight := s.under.begin(bitsOf(b.Rows()))
	return s.apply(ctx, batch, b.Synced(), func(err error) {
		s.under.end(flight)
		s.writing.RUnlock()
		if err == nil {
			s.history.AddRows(b.Rows())
		}
		if err == nil && merges {
			s.sums.merged(b)
		}
		if err == nil && note != nil {
			note()
		}
	})
}

var batches = sync.Pool{New: func() any { return new(cf.Batch) }}

// encode writes the changes into a batch of Pebble. Its keys come from the cf.Batch and
// are written once. It reports whether there are merges.
func encode(to *engine.Batch, b *cf.Batch, all families) (merges bool, err error) {
	var last *family
	ops := b.Ops()
	for i := range ops {
		op := &ops[i]
		key, value := b.Key(op), b.Value(op)
		switch op.Kind {
		case cf.OpNote:
			_ = to.LogData(append([]byte{logNote}, value...), nil)
			continue
		case cf.OpPutMeta:
			_ = to.Set(append(appendID(nil, spaceMeta), key...), value, nil)
			continue
		case cf.OpDeleteMeta:
			_ = to.Delete(append(appendID(nil, spaceMeta), key...), nil)
			continue
		}
		if last == nil || last.name != op.Family {
			if last, err = all.get(op.Family); err != nil {
				return false, err
			}
		}
		last.wrote(op.Kind)
		switch op.Kind {
		case cf.OpPut:
			extra := 0
			if escaped(value) {
				extra = 1
			}
			d := to.SetDeferred(idLen+len(key), extra+len(value))
			copy(d.Key, last.prefix)
			copy(d.Key[idLen:], key)
			if extra > 0 {
				d.Value[0] = markEscape
			}
			copy(d.Value[extra:], value)
			_ = d.Finish()
		case cf.OpDelete:
			d := to.DeleteDeferred(idLen + len(key))
			copy(d.Key, last.prefix)
			copy(d.Key[idLen:], key)
			_ = d.Finish()
		case cf.OpMerge:
			merges = true
			operand := appendOperand(nil, value)
			d := to.MergeDeferred(idLen+len(key), len(operand))
			copy(d.Key, last.prefix)
			copy(d.Key[idLen:], key)
			copy(d.Value, operand)
			_ = d.Finish()
		case cf.OpDeleteRange:
			d := to.DeleteRangeDeferred(idLen+len(key), idLen+len(value))
			copy(d.Key, last.prefix)
			copy(d.Key[idLen:], key)
			copy(d.Value, last.prefix)
			copy(d.Value[idLen:], value)
			_ = d.Finish()
		default:
			return false, fmt.Errorf("operation %d is unknown", op.Kind)
		}
	}
	return merges, nil
}

// apply writes a batch of Pebble, and closes it. disk says that it must be on the disk.
// ended, if not nil, is called at the end of the write, perhaps in another goroutine after
// apply returns.
func (s *Store) apply(ctx context.Context, batch *engine.Batch, disk bool, ended func(error)) (cf.Position, error) {
	var at cf.Position
	put := func() (err error) {
		at, err = s.put(batch, disk)
		err = cmp.Or(s.lost(), err)
		if ended != nil {
			ended(err)
		}
		return err
	}
	if err := s.do(ctx, put); err != nil {
		return 0, err
	}
	return at, nil
}

// put ends, also in a store that is lost, unless Pebble stalls writes.
func (s *Store) put(batch *engine.Batch, disk bool) (cf.Position, error) {
	defer batch.Close()
	if disk {
		s.fs.must.Add(1)
		defer s.fs.must.Add(-1)
	}
	if err := s.db.Apply(batch, engine.Sync); err != nil {
		return 0, wrap(err)
	}
	count := uint64(batch.Count())
	if batch.Empty() || batch.SeqNum() == 0 { // Pebble takes the contents of a large batch away
		return s.put(s.mark(), disk)
	}
	at := uint64(int64(batch.SeqNum())+s.shift.Load()) + count - 1
	for {
		old := s.acked.Load()
		if at <= old || s.acked.CompareAndSwap(old, at) {
			s.kept.Tell()
			return cf.Position(at), nil
		}
	}
}

// largeWrite is the size of a batch from which its copies are counted.
const largeWrite = 1 << 20
