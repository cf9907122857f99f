package replay

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"sort"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/merge"
)

// ErrUnfit: the records cannot be applied together. The store is then of no use: take a new copy
// of it, and apply the records one by one.
var ErrUnfit = errors.New("these records of the log cannot be applied together")

// A change is a put, a merge or a delete of a key, or, with a value that is the exclusive end, the
// delete of a range of keys. A later change has a greater seq.
type change struct {
	kind       cf.OpKind
	key, value []byte
	seq        uint64
}

// A fold takes changes ordered by key, and then by when they were made, and gives the rest of them in the same order: at most one deleted range and one
// other change for each key. The ranges delete the cells from before all of the changes, and
// none of the others.
type fold struct {
	ctx    context.Context
	give   func(change) error
	taken  int
	ranges ranges
	covers []byte // the greatest end of the ranges that were given
	same   []change
}

// take takes the next change. Its bytes must stay as they are.
func (f *fold) take(c change) error {
	if f.taken++; f.taken%1024 == 0 { // many may be left out before one is given
		if err := f.ctx.Err(); err != nil {
			return err
		}
	}
	if len(f.same) > 0 && !bytes.Equal(f.same[0].key, c.key) {
		if err := f.end(); err != nil {
			return err
		}
	}
	f.same = append(f.same, c)
	return nil
}

// end takes the end of the changes of a key.
func (f *fold) end() error {
	if len(f.same) == 0 {
		return nil
	}
	key, to := f.same[0].key, []byte(nil)
	for _, c := range f.same {
		if c.kind != cf.OpDeleteRange {
			continue
		}
		if err := f.ranges.add(c.value, c.seq); err != nil {
			return err
		}
		if bytes.Compare(c.value, to) > 0 {
			to = c.value
		}
	}
	if bytes.Compare(to, f.covers) > 0 {
		f.covers = slices.Clone(to)
		if err := f.give(change{kind: cf.OpDeleteRange, key: key, value: to}); err != nil {
			return err
		}
	}
	deleted := f.ranges.at(key)
	left := f.same[:0]
	for _, c := range f.same {
		if c.kind != cf.OpDeleteRange && c.seq >= deleted {
			left = append(left, c)
		}
	}
	c, any, err := settle(left)
	f.same = f.same[:0]
	if err != nil || !any || c.kind == cf.OpDelete && bytes.Compare(key, f.covers) < 0 {
		return err
	}
	return f.give(c)
}

// settle makes one of the changes of a key.
func settle(same []change) (c change, any bool, err error) {
	from := 0
	for i := range same {
		if same[i].kind != cf.OpMerge {
			from = i
		}
	}
	if same = same[from:]; len(same) == 0 {
		return c, false, nil
	}
	if c = same[0]; len(same) == 1 {
		return c, true, nil
	}
	var operands [][]byte
	if c.kind == cf.OpMerge {
		operands = append(operands, c.value)
	}
	for _, m := range same[1:] {
		operands = append(operands, m.value)
	}
	switch c.kind {
	case cf.OpMerge:
		one, ok := merge.Operands(operands...)
		if !ok {
			return c, false, ErrUnfit
		}
		c.value = one
	case cf.OpDelete:
		c.kind, c.value = cf.OpPut, merge.Full(nil, operands...)
	default:
		c.value = merge.Full(c.value, operands...)
	}
	return c, true, nil
}

// ranges are the deleted ranges that may contain the keys still to come. Each ends before the one
// before it, and is later.
type ranges []deletedRange

type deletedRange struct {
	end []byte
	seq uint64
}

// mostRanges bounds the memory of the ranges that lie in one another.
const mostRanges = 1 << 14

func (r *ranges) add(end []byte, seq uint64) error {
	all := *r
	to := sort.Search(len(all), func(i int) bool { return bytes.Compare(all[i].end, end) < 0 })
	from := to
	if to > 0 && bytes.Equal(all[to-1].end, end) {
		from--
	}
	if to > 0 && all[to-1].seq >= seq {
		return nil // that one contains it, and is later
	}
	for to < len(all) && all[to].seq <= seq {
		to++
	}
	if len(all) >= mostRanges {
		return ErrUnfit
	}
	*r = slices.Replace(all, from, to, deletedRange{bytes.Clone(end), seq})
	return nil
}

// at is the seq of the latest range that contains a key, 0 without one. Keys ascend.
func (r *ranges) at(key []byte) uint64 {
	all := *r
	for len(all) > 0 && bytes.Compare(all[len(all)-1].end, key) <= 0 {
		all = all[:len(all)-1]
	}
	if *r = all; len(all) == 0 {
		return 0
	}
	return all[len(all)-1].seq
}
