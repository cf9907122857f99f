package pebble

import (
	"bytes"
	"context"
	"slices"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/merge"
	"github.com/smolwc/smolwc/cf/ordered"
)

// An overlay is the changes of a transaction by family, sorted by key.
type overlay struct{ cells map[string][]change }

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

// over is an iterator over the base and the overlay.
func (o *overlay) over(below *iter, f *family) ordered.Iterator {
	cells := o.cells[f.name]
	if len(cells) == 0 {
		return below
	}
	return &merged{below: below, cells: slices.Clone(cells), lower: below.lower[idLen:], upper: below.upper[idLen:]}
}

type change struct {
	key, value []byte
	operands   [][]byte
	based      bool // there is a value, or a delete: the base does not count
	deleted    bool
}

// over is the value of a change over the base.
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

func (m *merged) Key() []byte { return m.key }

func (m *merged) Value() []byte { return m.value }

func (m *merged) Err() error { return m.below.Err() }

func (m *merged) Close() { m.below.Close() }

// Tombstones implements [ordered.Tombstones]. It leaves out the transaction's own.
func (m *merged) Tombstones() int64 { return m.below.Tombstones() }
