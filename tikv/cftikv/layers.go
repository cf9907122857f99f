package cftikv

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"sort"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/merge"
	"github.com/smolwc/smolwc/cf/ordered"
)

// A layer is the cells of a load over the cells that its family had then. A cell of a
// layer stands for all older cells with its key, or is an operand that is merged into
// them. The cells that are written later are the family's own. Compact moves the cells of
// layers to them.
type layer struct {
	id    uint32 // of its cells
	epoch uint64 // the epoch that the load began: own cells of this epoch are later
	span         // of its keys
}

// ids are the numbers under which the cells of a family with some keys are.
func (f *family) ids(s span) []uint32 {
	ids := []uint32{f.id}
	for _, l := range f.layers {
		if l.touches(s) {
			ids = append(ids, l.id)
		}
	}
	return ids
}

// everything are all keys of a family.
var everything = span{"", "\xff"}

func only(key []byte) span { return span{string(key), string(key) + "\x00"} }

// A cell is the sum of the cells of a family with one key. They are added from the
// oldest layer on, after the family's own cell.
type cell struct {
	of    *family
	key   []byte
	own   uint64 // the epoch of the family's own cell
	there bool   // otherwise no cell can be seen
	value []byte
}

// add adds the family's own cell, or a layer's. It is false if the cell does not count,
// because it is hidden, or older than the family's own one.
func (c *cell) add(stored []byte, l *layer) (bool, error) {
	epoch, operand, value, err := splitValue(stored)
	if err != nil {
		return false, err
	}
	if l == nil {
		c.own = epoch
	} else if epoch = l.epoch; c.own >= epoch {
		return false, nil
	}
	if epoch < c.of.epoch && c.of.drops.hide(c.key, epoch) {
		return false, nil
	}
	if operand {
		if !c.there {
			c.value = nil
		}
		value = merge.Full(c.value, value)
	}
	c.value, c.there = value, true
	return true, nil
}

// appendValue encodes the value of a cell: the epoch in which it is written, which is 0
// in a load, and the value as it is, or an operand. TiKV would refuse an empty value.
func appendValue(epoch uint64, operand bool, value []byte) []byte {
	head := epoch << 1
	if operand {
		head |= 1
	}
	return append(binary.AppendUvarint(make([]byte, 0, binary.MaxVarintLen64+len(value)), head), value...)
}

// splitValue is the inverse of appendValue.
func splitValue(stored []byte) (epoch uint64, operand bool, value []byte, err error) {
	head, n := binary.Uvarint(stored)
	if n <= 0 {
		return 0, false, nil, fmt.Errorf("the epoch of value %.20x: %w", stored, cf.ErrCorrupt)
	}
	return head >> 1, head&1 != 0, stored[n:], nil
}

// visible is an iterator over the cells of a family that are not dropped, with their
// values as they were put or merged. It reads the family's own cells and the layers side
// by side.
type visible struct {
	runs     []iterator // the own cells, then the layers
	keysOnly bool       // they have no values, and no cell was dropped
	family   family
	name     string
	cell     cell
	back     bool // it went backward
	err      error
}

// An iterator is over the cells under one number.
type iterator interface {
	ordered.Iterator
	Valid() bool
}

// newVisible makes an iterator over a family. open opens the cells under one number.
func newVisible(name string, f family, keysOnly bool, open func(id uint32) iterator) *visible {
	v := &visible{family: f, name: name, keysOnly: keysOnly, runs: []iterator{open(f.id)}}
	v.cell.of = &v.family
	for _, l := range f.layers {
		v.runs = append(v.runs, open(l.id))
	}
	return v
}

func (v *visible) Seek(ctx context.Context, key []byte) bool {
	v.back, v.err = false, nil
	for _, r := range v.runs {
		r.Seek(ctx, key)
	}
	return v.forward(ctx)
}

func (v *visible) Next(ctx context.Context) bool {
	if v.back && len(v.runs) > 1 { // the others are anywhere before
		return v.Seek(ctx, append(bytes.Clone(v.cell.key), 0))
	}
	v.pass(ctx)
	return v.forward(ctx)
}

func (v *visible) SeekBefore(ctx context.Context, key []byte) bool {
	v.back, v.err = true, nil
	for {
		for _, r := range v.runs {
			r.SeekBefore(ctx, key)
		}
		if !v.find(1) || v.show() {
			return v.Valid()
		}
		key = bytes.Clone(v.cell.key)
	}
}

// forward goes on to the first cell that is not dropped.
func (v *visible) forward(ctx context.Context) bool {
	for v.find(-1) && !v.show() {
		v.pass(ctx)
	}
	return v.Valid()
}

// find finds the first key at which a run is, or the last one: order is the sign of the
// wanted key, compared with others. It is false if there is no key, or a run failed.
func (v *visible) find(order int) bool {
	if len(v.runs) == 1 { // nothing to put together
		if v.cell.key, v.cell.there = nil, false; v.runs[0].Valid() {
			v.cell.key = v.runs[0].Key()
		}
		return v.cell.key != nil
	}
	v.cell = cell{of: &v.family}
	for _, r := range v.runs {
		if !r.Valid() {
			if r.Err() != nil {
				v.cell.key = nil
				return false
			}
			continue
		}
		if key := r.Key(); v.cell.key == nil || bytes.Compare(key, v.cell.key) == order {
			v.cell.key = key
		}
	}
	return v.cell.key != nil
}

// show puts the cells at the key together, and reports whether there is anything to show.
// An error is shown too.
func (v *visible) show() bool {
	if v.cell.there = v.keysOnly; v.keysOnly {
		return true
	}
	for i, r := range v.runs {
		if len(v.runs) > 1 && (!r.Valid() || !bytes.Equal(r.Key(), v.cell.key)) {
			continue
		}
		var l *layer
		if i > 0 {
			l = &v.family.layers[i-1]
		}
		if _, err := v.cell.add(r.Value(), l); err != nil {
			v.err = corrupt(v.name, v.cell.key, err)
			return true
		}
	}
	return v.cell.there
}

// pass moves all runs past the key.
func (v *visible) pass(ctx context.Context) {
	if len(v.runs) == 1 {
		v.runs[0].Next(ctx)
		return
	}
	at := make([]iterator, 0, 4)
	for _, r := range v.runs {
		if r.Valid() && bytes.Equal(r.Key(), v.cell.key) {
			at = append(at, r)
		}
	}
	for _, r := range at {
		r.Next(ctx)
	}
}

func (v *visible) Valid() bool   { return v.err == nil && v.cell.key != nil }
func (v *visible) Key() []byte   { return v.cell.key }
func (v *visible) Value() []byte { return v.cell.value }

func (v *visible) Err() error {
	if v.err != nil {
		return v.err
	}
	for _, r := range v.runs {
		if err := r.Err(); err != nil {
			return err
		}
	}
	return nil
}

func (v *visible) Close() {
	for _, r := range v.runs {
		r.Close()
	}
}

// drops hide cells of a family. They are sorted and disjoint.
type drops []drop

// A drop hides the cells from a key, inclusive, to another one, exclusive, that were
// written before an epoch.
type drop struct {
	start, end string
	epoch      uint64
}

// add returns the drops with a further one, whose epoch is the greatest.
func (d drops) add(n drop) drops {
	added := d.without(n.start, n.end)
	at := sort.Search(len(added), func(i int) bool { return added[i].start >= n.start })
	return slices.Insert(added, at, n)
}

// hide reports whether a cell that was written in an epoch is hidden.
func (d drops) hide(key []byte, epoch uint64) bool {
	i := sort.Search(len(d), func(i int) bool { return d[i].end > string(key) })
	return i < len(d) && d[i].start <= string(key) && epoch < d[i].epoch
}

// since reports whether a drop after an epoch touches a range of keys.
func (d drops) since(epoch uint64, s span) bool {
	return slices.ContainsFunc(d, func(d drop) bool { return d.epoch > epoch && s.touches(span{d.start, d.end}) })
}

// without returns the drops without the part between two keys.
func (d drops) without(start, end string) (kept drops) {
	if start >= end {
		return d
	}
	for _, o := range d {
		if left := (drop{o.start, min(o.end, start), o.epoch}); left.start < left.end {
			kept = append(kept, left)
		}
		if right := (drop{max(o.start, end), o.end, o.epoch}); right.start < right.end {
			kept = append(kept, right)
		}
	}
	return kept
}

func (d drops) valid(epoch uint64) bool {
	for i := range d {
		if d[i].start >= d[i].end || d[i].epoch == 0 || d[i].epoch > epoch || i > 0 && d[i-1].end > d[i].start {
			return false
		}
	}
	return true
}

// A span is the keys of a family from start, inclusive, to end, exclusive.
type span struct{ start, end string }

func (s span) touches(o span) bool { return s.start < o.end && o.start < s.end }
