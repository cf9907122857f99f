package pebble

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/isolation"
	"github.com/smolwc/smolwc/cf/merge"
	"github.com/smolwc/smolwc/cf/ordered"
)

// A txn implements [cf.Txn]. Pebble's indexed batches read the newest state and not a
// snapshot, so its own changes are in an overlay.
type txn struct {
	*snapshot
	batch cf.Batch
	reads isolation.ReadSet
	start uint64
	ended bool
}

// Begin implements [cf.Store].
func (s *Store) Begin(ctx context.Context) (cf.Txn, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	t := &txn{start: s.history.Begin()}
	snap, err := s.snapshot(ctx, allRows)
	if err != nil {
		s.history.End(t.start)
		return nil, err
	}
	t.snapshot = snap
	return t, nil
}

// Read implements [cf.Txn].
func (t *txn) Read(space string, rows cf.Range) { t.reads.Add(space, rows) }

// Scan implements [cf.Snapshot].
func (t *txn) Scan(ctx context.Context, s cf.Scan) (cf.Cursor, error) {
	t.reads.AddFamily(s.Family)
	return t.snapshot.Scan(ctx, s)
}

// Add implements [cf.Txn].
func (t *txn) Add(b *cf.Batch) error {
	if size, limit := t.batch.Size()+b.Size(), t.store.Limits().Batch; size > limit {
		return fmt.Errorf("transaction of %d bytes is %w; the limit is %d", size, cf.ErrTooLarge, limit)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return cf.ErrClosed
	}
	if t.own == nil {
		t.own = &overlay{cells: map[string][]change{}}
	}
	for i := range b.Ops() {
		op := &b.Ops()[i]
		switch op.Kind {
		case cf.OpNote:
			continue
		case cf.OpPut, cf.OpDelete, cf.OpMerge:
		default:
			return fmt.Errorf("a transaction cannot carry operation %d", op.Kind)
		}
		if _, err := t.families.get(op.Family); err != nil {
			return err
		}
		t.reads.AddFamily(op.Family)
		t.own.add(op.Family, op.Kind, bytes.Clone(b.Key(op)), bytes.Clone(b.Value(op)))
	}
	t.batch.Append(b)
	return nil
}

// Commit implements [cf.Txn].
func (t *txn) Commit(ctx context.Context, last func(*cf.Batch) error) (cf.Position, error) {
	defer t.Close()
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	s := t.store
	if len(t.batch.Ops()) == 0 {
		return 0, nil
	}
	if err := s.gate.letIn(ctx); err != nil {
		return 0, err
	}
	hold := t.reads.Hold(&s.locks, t.batch.Rows())
	if err := s.locks.Lock(ctx, &hold); err != nil {
		return 0, err
	}
	defer s.locks.Unlock(&hold)
	if err := s.caughtUp(ctx); err != nil {
		return 0, err
	}
	if s.history.Changed(t.start, &t.reads) {
		return 0, cf.ErrConflict
	}
	b := t.batch
	if last != nil {
		if err := last(&b); err != nil {
			return 0, err
		}
		if err := hold.Covers(s.locks.SetOf(b.Rows()[len(t.batch.Rows()):])); err != nil {
			return 0, err
		}
	}
	return s.held(ctx, &b)
}

// Close implements [cf.Snapshot].
func (t *txn) Close() {
	if t.ended {
		return
	}
	t.ended = true
	t.store.history.End(t.start)
	t.snapshot.Close()
}

// An overlay is the changes of a transaction by family, sorted by key.
type overlay struct{ cells map[string][]change }

type change struct {
	key, value []byte
	operands   [][]byte
	based      bool // there is a value, or a delete: what is below does not count
	deleted    bool
}

func (o *overlay) add(family string, kind cf.OpKind, key, value []byte) {
	cells := o.cells[family]
	i, found := slices.BinarySearchFunc(cells, key, func(c change, k []byte) int { return bytes.Compare(c.key, k) })
	if !found {
		cells = slices.Insert(cells, i, change{key: key})
		o.cells[family] = cells
	}
	c := &cells[i]
	switch kind {
	case cf.OpPut:
		*c = change{key: key, value: value, based: true}
	case cf.OpDelete:
		*c = change{key: key, based: true, deleted: true}
	case cf.OpMerge:
		c.operands = append(slices.Clip(c.operands), value)
	}
}

// over is an iterator over what is below and the overlay.
func (o *overlay) over(below *iter, f *family) ordered.Iterator {
	cells := o.cells[f.name]
	if len(cells) == 0 {
		return below
	}
	return &merged{below: below, cells: slices.Clone(cells), lower: below.lower[idLen:], upper: below.upper[idLen:]}
}

// A merged is an iterator over two others. Both are at or after its key.
type merged struct {
	below        *iter
	cells        []change
	lower, upper []byte
	at           int  // in cells
	under        bool // below is at a key
	key, value   []byte
}

func (m *merged) find(key []byte) int {
	i, _ := slices.BinarySearchFunc(m.cells, key, func(c change, k []byte) int { return bytes.Compare(c.key, k) })
	return i
}

func (m *merged) Seek(ctx context.Context, key []byte) bool {
	if bytes.Compare(key, m.lower) < 0 {
		key = m.lower
	}
	m.under = m.below.Seek(ctx, key)
	m.at = m.find(key)
	return m.settle(ctx)
}

func (m *merged) SeekBefore(ctx context.Context, key []byte) bool {
	for ctx.Err() == nil {
		under := m.below.SeekBefore(ctx, key)
		at := m.find(key) - 1
		inside := at >= 0 && bytes.Compare(m.cells[at].key, m.lower) >= 0
		var last []byte
		switch {
		case !under && (!inside || m.below.Err() != nil):
			m.under = false
			return false
		case under && (!inside || bytes.Compare(m.below.Key(), m.cells[at].key) > 0):
			last = bytes.Clone(m.below.Key())
		default:
			last = m.cells[at].key
		}
		if m.Seek(ctx, last) && bytes.Equal(m.key, last) {
			return true
		}
		key = last // it is deleted
	}
	m.below.err = ctx.Err()
	return false
}

func (m *merged) Next(ctx context.Context) bool {
	for m.at < len(m.cells) && bytes.Compare(m.cells[m.at].key, m.key) <= 0 {
		m.at++
	}
	if m.under && bytes.Equal(m.below.Key(), m.key) {
		m.under = m.below.Next(ctx)
	}
	return m.settle(ctx)
}

// settle finds the next key that is there.
func (m *merged) settle(ctx context.Context) bool {
	for m.under || m.below.Err() == nil {
		var c *change
		if m.at < len(m.cells) && bytes.Compare(m.cells[m.at].key, m.upper) < 0 {
			c = &m.cells[m.at]
		}
		switch {
		case c == nil && !m.under:
			return false
		case c == nil || m.under && bytes.Compare(m.below.Key(), c.key) < 0:
			m.key, m.value = m.below.Key(), m.below.Value()
			return true
		}
		same := m.under && bytes.Equal(m.below.Key(), c.key)
		if !c.deleted || len(c.operands) > 0 {
			m.key, m.value = c.key, c.over(m.below, same)
			return true
		}
		if same {
			m.under = m.below.Next(ctx)
		}
		m.at++
	}
	return false
}

// over is the value of a change over what is below.
func (c *change) over(below *iter, same bool) []byte {
	if len(c.operands) == 0 {
		return c.value
	}
	var base []byte
	switch {
	case c.based && !c.deleted:
		base = c.value
	case same && !c.based:
		base = below.Value()
	}
	return merge.Full(base, c.operands...)
}

func (m *merged) Key() []byte   { return m.key }
func (m *merged) Value() []byte { return m.value }
func (m *merged) Err() error    { return m.below.Err() }
func (m *merged) Close()        { m.below.Close() }

// Tombstones implements [ordered.Tombstones]. Those of the transaction are not counted.
func (m *merged) Tombstones() int64 { return m.below.Tombstones() }
