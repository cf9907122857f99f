package cftikv

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/merge"
	"github.com/smolwc/smolwc/tuple"
)

// A program applies a batch in an attempt.
type program struct {
	*attempt
	batch *cf.Batch
	state *state
	edit  *edit // of the families, once the batch dropped a range
}

// apply makes the changes of a batch part of the attempt, in their order.
func (a *attempt) apply(ctx context.Context, b *cf.Batch, st *state) error {
	p := &program{attempt: a, batch: b, state: st}
	for i := range b.Ops() {
		if err := p.do(ctx, &b.Ops()[i]); err != nil {
			return err
		}
	}
	if b.RaisesCatalog() {
		if err := p.beginEdit(ctx); err != nil {
			return err
		}
		p.edit.catalog++
	}
	if p.edit != nil {
		return a.putFamilies(ctx, p.edit)
	}
	return nil
}

func (p *program) do(ctx context.Context, op *cf.Op) error {
	key, value := p.batch.Key(op), p.batch.Value(op)
	switch op.Kind {
	case cf.OpNote:
		return nil
	case cf.OpPutMeta:
		return p.set(ctx, p.store.keys.meta(string(key)), append([]byte{format}, value...))
	case cf.OpDeleteMeta:
		return wrap(ctx, p.kv.Delete(p.store.keys.meta(string(key))))
	}
	f, err := p.state.family(op.Family)
	if err != nil {
		return err
	}
	switch op.Kind {
	case cf.OpPut:
		return p.set(ctx, p.store.keys.cell(f.id, key), appendValue(f.epoch, false, value))
	case cf.OpDelete:
		for _, id := range f.ids(only(key)) {
			if err := p.kv.Delete(p.store.keys.cell(id, key)); err != nil {
				return wrap(ctx, err)
			}
		}
		return nil
	case cf.OpMerge:
		return p.merge(ctx, f, key, value)
	case cf.OpDeleteRange:
		return p.deleteRange(ctx, f, op.Family, span{string(key), string(value)})
	}
	return fmt.Errorf("changes of kind %d: %w", op.Kind, errors.ErrUnsupported)
}

// manyCells is the number of cells that are deleted one by one.
const manyCells = 10_000

// deleteRange deletes the cells of a range. Within one row it reads and deletes them. It
// drops a longer range, or a row of many cells, so that the cost stays bounded.
func (p *program) deleteRange(ctx context.Context, f family, name string, s span) error {
	if inOneRow([]byte(s.start), []byte(s.end)) {
		few, err := p.deleteKeys(ctx, p.kv, f.ids(s), s, manyCells)
		if few || err != nil {
			return err
		}
	}
	if err := p.beginEdit(ctx); err != nil {
		return err
	}
	p.edit.drop(name, s.start, s.end)
	_, err := p.deleteKeys(ctx, p.kv.GetMemBuffer(), []uint32{f.id}, s, math.MaxInt) // cells that the batch itself put before
	return err
}

// deleteKeys deletes the keys of a span under some numbers. It is false, and deletes
// nothing, if there are more than most.
func (p *program) deleteKeys(ctx context.Context, from source, ids []uint32, s span, most int) (bool, error) {
	var found [][]byte
	for _, id := range ids {
		it := newWalk(p.attempt, from, nil, p.store.keys.cell(id, []byte(s.end)))
		for it.Seek(ctx, p.store.keys.cell(id, []byte(s.start))); it.Valid() && len(found) <= most; it.Next(ctx) {
			found = append(found, bytes.Clone(it.Key()))
		}
		err := it.Err()
		it.Close()
		if err != nil || len(found) > most {
			return false, err
		}
	}
	for _, key := range found {
		if err := p.kv.Delete(key); err != nil {
			return false, wrap(ctx, err)
		}
	}
	return true, nil
}

// beginEdit begins to change the families. Nobody else changes them from the start of
// the attempt on: a pessimistic attempt locks them, and an optimistic one would conflict.
func (p *program) beginEdit(ctx context.Context) error {
	if p.edit != nil {
		return nil
	}
	if p.kv.IsPessimistic() {
		if err := p.lock(ctx, p.store.keys.version()); err != nil {
			return err
		}
	}
	st, err := p.store.stateAt(ctx, p.start)
	if err != nil {
		return err
	}
	if p.state != nil && st.version != p.state.version {
		return errAgain
	}
	p.edit = st.edit()
	p.state = &p.edit.state
	return nil
}

// inOneRow reports whether all keys between two keys belong to one row.
func inOneRow(start, end []byte) bool {
	_, rest, err := tuple.DecodeBytes(start)
	return err == nil && bytes.HasPrefix(end, start[:len(start)-len(rest)])
}

// checkBatch refuses a batch that could never be applied.
func (s *Store) checkBatch(b *cf.Batch) error {
	limits := cellLimits(s.Limits())
	if b.Size() > limits.Batch {
		return fmt.Errorf("a batch of %d bytes is %w, at most %d are possible", b.Size(), cf.ErrTooLarge, limits.Batch)
	}
	for i := range b.Ops() {
		op := &b.Ops()[i]
		if op.Kind != cf.OpPut && op.Kind != cf.OpMerge {
			continue
		}
		if err := limits.check(b.Key(op), b.Value(op)); err != nil {
			return err
		}
	}
	return nil
}

// cellLimits are the bounds of cells.
type cellLimits cf.Limits

// check refuses a cell that is beyond the limits. Deletes are not refused.
func (l cellLimits) check(key, value []byte) error {
	if n := len(value); n > l.Value {
		return fmt.Errorf("a value of %d bytes is %w, at most %d are possible", n, cf.ErrTooLarge, l.Value)
	}
	if len(key) <= min(l.RowKey, l.Qualifier) {
		return nil
	}
	row, qualifier, _, err := cf.SplitCellKey(key)
	switch {
	case err != nil:
		return err
	case len(row) > l.RowKey:
		return fmt.Errorf("a row key of %d bytes is %w, at most %d are possible", len(row), cf.ErrTooLarge, l.RowKey)
	case len(qualifier) > l.Qualifier:
		return fmt.Errorf("a qualifier of %d bytes is %w, at most %d are possible", len(qualifier), cf.ErrTooLarge, l.Qualifier)
	}
	return nil
}

// changes reports whether a batch changes anything.
func changes(b *cf.Batch) bool {
	return b.RaisesCatalog() || slices.ContainsFunc(b.Ops(), func(op cf.Op) bool { return op.Kind != cf.OpNote })
}

// merge reads a cell, merges an operand into it, and puts it. No other writer comes in
// between: the row is locked, or its sentinel conflicts with other writes.
func (p *program) merge(ctx context.Context, f family, key, operand []byte) error {
	c, err := p.cell(ctx, &f, key)
	if err != nil {
		return err
	}
	return p.set(ctx, p.store.keys.cell(f.id, key), appendValue(f.epoch, false, merge.Full(c.value, operand)))
}

// cell reads the cells of a family with a key. The value is nil if no cell can be seen.
func (p *program) cell(ctx context.Context, f *family, key []byte) (cell, error) {
	c := cell{of: f, key: key}
	if err := p.addTo(ctx, &c, f.id, nil); err != nil {
		return c, err
	}
	for i := range f.layers {
		if l := &f.layers[i]; l.touches(only(key)) {
			if err := p.addTo(ctx, &c, l.id, l); err != nil {
				return c, err
			}
		}
	}
	return c, nil
}

func (p *program) addTo(ctx context.Context, c *cell, id uint32, l *layer) error {
	stored, err := p.get(ctx, p.store.keys.cell(id, c.key))
	if err == nil && stored != nil {
		_, err = c.add(stored, l)
	}
	return err
}
