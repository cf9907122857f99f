package pebble

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	engine "github.com/cockroachdb/pebble/v2"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/isolation"
)

// Write implements [cf.Store].
func (s *Store) Write(ctx context.Context, rows []cf.RowID, fn func(*cf.Batch) error) (pos cf.Position, err error) {
	if err := s.gate.letIn(ctx); err != nil {
		return 0, err
	}
	var hold isolation.Hold
	if rows != nil {
		hold.Writes = s.locks.SetOf(rows)
		if err := s.locks.Lock(ctx, &hold); err != nil {
			return 0, err
		}
		defer s.locks.Unlock(&hold)
	}
	b := batches.Get().(*cf.Batch)
	defer func() { recycle(b, err) }()
	if err := fn(b); err != nil {
		return 0, err
	}
	if rows == nil {
		hold.Writes = s.locks.SetOf(b.Rows())
		if err := s.locks.Lock(ctx, &hold); err != nil {
			return 0, err
		}
		defer s.locks.Unlock(&hold)
	} else if touched := b.Rows(); !slices.Equal(rows, touched) {
		if err := hold.Covers(s.locks.SetOf(touched)); err != nil {
			return 0, err
		}
	}
	return s.held(ctx, b)
}

// Update implements [cf.Store].
func (s *Store) Update(ctx context.Context, rows []cf.RowID, fn func(cf.Snapshot, *cf.Batch) error) (pos cf.Position, err error) {
	if err := s.gate.letIn(ctx); err != nil {
		return 0, err
	}
	hold := isolation.Hold{Updates: s.locks.SetOf(rows)}
	if err := s.locks.Lock(ctx, &hold); err != nil {
		return 0, err
	}
	defer s.locks.Unlock(&hold)
	if err := s.caughtUp(ctx); err != nil {
		return 0, err
	}
	snap, err := s.snapshot(ctx, bitsOf(rows))
	if err != nil {
		return 0, err
	}
	defer snap.Close()
	b := batches.Get().(*cf.Batch)
	defer func() { recycle(b, err) }()
	if err := fn(snap, b); err != nil {
		return 0, err
	}
	if err := isolation.Named(rows, b.Rows()); err != nil {
		return 0, err
	}
	return s.held(ctx, b)
}

// PutMeta implements [cf.Store].
func (s *Store) PutMeta(ctx context.Context, key string, value []byte) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if s.gate.isShut() {
		return stalled(cf.ErrUnavailable)
	}
	var b cf.Batch
	b.PutMeta(key, value)
	_, err := s.commit(ctx, &b, nil)
	return err
}

// DropRange implements [cf.Store].
func (s *Store) DropRange(ctx context.Context, names []string, rows cf.Range) error {
	if err := s.gate.letIn(ctx); err != nil {
		return err
	}
	var b cf.Batch
	for _, name := range names {
		b.DeleteRows(name, rows)
	}
	hold := isolation.Hold{All: true}
	if err := s.locks.Lock(ctx, &hold); err != nil {
		return err
	}
	defer s.locks.Unlock(&hold)
	_, err := s.commit(ctx, &b, func() { s.history.AddRange(names, rows) })
	return err
}

// largeWrite is the size of a batch from which its copies are counted.
const largeWrite = 1 << 20

// held is commit, and counts what Pebble's form of a large batch takes.
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

// recycle gives a batch back, unless a commit that has stayed behind has it.
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
	s.mu.RLock()
	defer s.mu.RUnlock()
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
	if err := encode(batch, b, *s.families.Load()); err != nil {
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
		if err == nil && note != nil {
			note()
		}
	})
}

var batches = sync.Pool{New: func() any { return new(cf.Batch) }}

// encode writes the changes into a batch of Pebble. Its keys come from the cf.Batch and
// are written once.
func encode(to *engine.Batch, b *cf.Batch, all families) error {
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
			f, err := all.get(op.Family)
			if err != nil {
				return err
			}
			last = f
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
			return fmt.Errorf("operation %d is unknown", op.Kind)
		}
	}
	return nil
}

// apply writes a batch of Pebble, and closes it. disk says that it must be on the disk.
// ended is called at the end of the write, if it is not nil, perhaps in another goroutine
// after apply has returned.
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

// CreateFamily implements [cf.Store].
func (s *Store) CreateFamily(ctx context.Context, names ...string) error {
	return s.reshape(ctx, func(all families, b *engine.Batch) {
		for _, name := range names {
			if all[name] != nil {
				continue
			}
			f := s.newFamily(name, s.next)
			s.next++
			all[name] = f
			_ = b.Set(familyKey(name), f.prefix, nil)
			_ = b.Set(append(appendID(nil, spaceSystem), entryNext), appendID(nil, s.next), nil)
		}
	})
}

// DropFamily implements [cf.Store].
func (s *Store) DropFamily(ctx context.Context, names ...string) error {
	return s.reshape(ctx, func(all families, b *engine.Batch) {
		for _, name := range names {
			if f := all[name]; f != nil {
				delete(all, name)
				_ = b.Delete(familyKey(name), nil)
				_ = b.DeleteRange(f.prefix, appendID(nil, f.id+1), nil)
			}
		}
	})
}

func familyKey(name string) []byte {
	return append(append(appendID(nil, spaceSystem), entryFamily), name...)
}

// reshape changes the families, in one batch. A new one is seen once it is on the disk; one
// that goes is gone before, so that no commit writes it after its range is deleted.
func (s *Store) reshape(ctx context.Context, fn func(families, *engine.Batch)) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := s.writable(); err != nil {
		return err
	}
	if err := s.caughtUp(ctx); err != nil {
		return err
	}
	// A change that stays behind is made whole, or not at all.
	return s.do(ctx, func() error { return s.reshapeTo(fn) })
}

func (s *Store) reshapeTo(fn func(families, *engine.Batch)) error {
	s.shaping.Lock()
	defer s.shaping.Unlock()
	if err := s.fenced(); err != nil {
		return err
	}
	before := *s.families.Load()
	all := maps.Clone(before)
	b := s.newBatch(0)
	fn(all, b)
	if b.Count() == 0 {
		return b.Close()
	}
	left := maps.Clone(before)
	maps.DeleteFunc(left, func(name string, _ *family) bool { return all[name] == nil })
	if len(left) < len(before) {
		s.families.Store(&left)
		s.writing.Lock() // the commits that know the others have ended
		//lint:ignore SA2001 nothing is done between
		s.writing.Unlock()
	}
	_, err := s.put(b, !s.options.InMemory) // and not apply: its outcome must be known here
	if err = cmp.Or(s.lost(), err); err != nil {
		s.families.Store(&before)
		return err
	}
	s.families.Store(&all)
	return nil
}

// Families implements [cf.Store].
func (s *Store) Families() (names []string) {
	for name := range *s.families.Load() {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
