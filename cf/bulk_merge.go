package cf

import (
	"bytes"
	"container/heap"
	"context"
	"slices"
	"sort"
)

// Sorted are the cells of a load in order.
type Sorted struct {
	arena  *arena
	spills []*spill
	merge  func([][]byte) ([]byte, bool)
	memory int
}

// A SortedPart is a run of rows of a family. Parts may be read by several
// goroutines, one each.
type SortedPart struct {
	Family int
	s      *Sorted
	lo, hi []byte // row prefixes, lo inclusive, hi exclusive; nil is no bound
}

// Parts divides all cells into parts to be worked on by so many goroutines: those
// of one family follow one another. A family without cells has none.
func (s *Sorted) Parts(workers int) []SortedPart {
	var parts []SortedPart
	for family := range s.arena.entries {
		size := s.size(family)
		if size == 0 {
			continue
		}
		n := int(min(int64(workers), 1+size/minPart))
		bounds := s.bounds(family, n)
		for i := 0; i+1 < len(bounds); i++ {
			parts = append(parts, SortedPart{family, s, bounds[i], bounds[i+1]})
		}
	}
	return parts
}

// minPart is from how many bytes on a family is divided: each part makes files.
const minPart = 4 << 20

func (s *Sorted) size(family int) int64 {
	n := int64(s.arena.bytes[family])
	for _, f := range s.spills {
		n += f.runs[family].to - f.runs[family].from
	}
	return n
}

// bounds are the ends of up to n parts of about the same size, nil first and last.
func (s *Sorted) bounds(family, n int) [][]byte {
	var rows []string
	for _, f := range s.spills {
		marks := f.runs[family].index
		for i := 1; i < len(marks); i++ { // the first stands for nothing before it
			rows = append(rows, marks[i].row)
		}
	}
	if es := s.arena.entries[family]; len(es) > 0 {
		step := max(1, len(es)*spillStep/max(1, s.arena.bytes[family]))
		for i := step; i < len(es); i += step {
			rows = append(rows, string(rowAt(s.arena.data, es[i].at)))
		}
	}
	slices.Sort(rows)
	bounds := [][]byte{nil}
	for i := 1; i < n && len(rows) > 0; i++ {
		row := rows[len(rows)*i/n]
		if last := bounds[len(bounds)-1]; last == nil || row > string(last) {
			bounds = append(bounds, []byte(row))
		}
	}
	return append(bounds, nil)
}

// Each calls fn with the part's cells in order, some thousand at a time. They are
// good until fn returns.
func (p *SortedPart) Each(ctx context.Context, fn func(CellGroups) error) error {
	entries := p.entries()
	if len(p.s.spills) == 0 {
		return eachInMemory(ctx, p.s.arena.data, entries, fn)
	}
	m := merger{ctx: ctx, fn: fn, merge: p.s.merge}
	buffer := max(minSpillBuffer, min(1<<20, p.s.memory/len(p.s.spills)))
	for i, f := range p.s.spills {
		src, err := newSpillSource(f, p.Family, p.lo, p.hi, buffer)
		if err != nil {
			return err
		}
		if err := m.add(i, src); err != nil {
			return err
		}
	}
	if err := m.add(len(p.s.spills), &memorySource{data: p.s.arena.data, entries: entries}); err != nil {
		return err
	}
	return m.run()
}

// entries are the part's groups in memory.
func (p *SortedPart) entries() []entry {
	es := p.s.arena.entries[p.Family]
	find := func(row []byte) int {
		return sort.Search(len(es), func(i int) bool { return bytes.Compare(rowAt(p.s.arena.data, es[i].at), row) >= 0 })
	}
	from, to := 0, len(es)
	if p.lo != nil {
		from = find(p.lo)
	}
	if p.hi != nil {
		to = find(p.hi)
	}
	return es[from:to]
}

// blockGroups is how many groups are handed on at once.
const blockGroups = 4096

func eachInMemory(ctx context.Context, data []byte, es []entry, fn func(CellGroups) error) error {
	at := make([]uint32, 0, min(len(es), blockGroups))
	for block := range slices.Chunk(es, blockGroups) {
		if err := ctx.Err(); err != nil {
			return err
		}
		at = at[:0]
		for _, e := range block {
			at = append(at, e.at)
		}
		if err := fn(CellGroups{data, at}); err != nil {
			return err
		}
	}
	return nil
}

// A merger merges sources, later ones over earlier ones.
type merger struct {
	ctx   context.Context
	fn    func(CellGroups) error
	merge func([][]byte) ([]byte, bool)
	heads sourceHeap
	block CellGroups
}

// A head is a source that stands on a group.
type head struct {
	source
	order int
	cell  int // place in the group of the next cell, in a merge of cells
	left  uint32
}

type sourceHeap []*head

func (h sourceHeap) Len() int      { return len(h) }
func (h sourceHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h sourceHeap) Less(i, j int) bool {
	if c := bytes.Compare(h[i].row(), h[j].row()); c != 0 {
		return c < 0
	}
	return h[i].order < h[j].order
}
func (h *sourceHeap) Push(x any) { *h = append(*h, x.(*head)) }
func (h *sourceHeap) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}

func (m *merger) add(order int, s source) error {
	ok, err := s.next()
	if ok {
		heap.Push(&m.heads, &head{source: s, order: order})
	}
	return err
}

func (m *merger) run() error {
	for len(m.heads) > 0 {
		first := m.heads[0]
		if m.tied() {
			if err := m.mergeRow(); err != nil {
				return err
			}
			continue
		}
		m.block.At = append(m.block.At, uint32(len(m.block.Data)))
		m.block.Data = append(m.block.Data, first.group()...)
		if err := m.hand(false); err != nil {
			return err
		}
		ok, err := first.next()
		if err != nil {
			return err
		}
		if ok {
			heap.Fix(&m.heads, 0)
		} else {
			heap.Pop(&m.heads)
		}
	}
	return m.hand(true)
}

// tied reports whether the first row is that of several sources.
func (m *merger) tied() bool {
	row := m.heads[0].row()
	for _, child := range []int{1, 2} {
		if child < len(m.heads) && bytes.Equal(m.heads[child].row(), row) {
			return true
		}
	}
	return false
}

// maxBlock ends a block of large groups, in bytes.
const maxBlock = 1 << 20

// hand hands the block on when it is full, or at the end.
func (m *merger) hand(end bool) error {
	if len(m.block.At) == 0 || !end && len(m.block.At) < blockGroups && len(m.block.Data) < maxBlock {
		return nil
	}
	if err := m.ctx.Err(); err != nil {
		return err
	}
	err := m.fn(m.block)
	m.block.Data, m.block.At = m.block.Data[:0], m.block.At[:0]
	return err
}

// mergeRow merges the first row, which several sources have, cell by cell.
func (m *merger) mergeRow() error {
	row := slices.Clone(m.heads[0].row())
	var tied []*head // in order
	for len(m.heads) > 0 && bytes.Equal(m.heads[0].row(), row) {
		h := heap.Pop(&m.heads).(*head)
		h.open()
		tied = append(tied, h)
	}
	w := groupWriter{row: row, most: maxGroup}
	var same []groupCell
	for len(tied) > 0 {
		least := tied[0].peek()
		for _, h := range tied[1:] {
			if c := h.peek(); bytes.Compare(c.rest, least.rest) < 0 {
				least = c
			}
		}
		same = same[:0]
		for _, h := range tied {
			if c := h.peek(); bytes.Equal(c.rest, least.rest) {
				same = append(same, c)
			}
		}
		for _, c := range settle(same, m.merge) {
			w.add(c)
		}
		rest := slices.Clone(least.rest)
		kept := tied[:0]
		for _, h := range tied {
			on, err := m.advance(h, rest, row)
			if err != nil {
				return err
			}
			if on {
				kept = append(kept, h)
			}
		}
		tied = kept
		if len(w.data) >= maxBlock {
			if err := m.take(&w); err != nil {
				return err
			}
		}
	}
	return m.take(&w)
}

// take moves groups into the block.
func (m *merger) take(w *groupWriter) error {
	w.end()
	for _, at := range w.at {
		m.block.At = append(m.block.At, uint32(len(m.block.Data))+at)
	}
	m.block.Data = append(m.block.Data, w.data...)
	w.data, w.at = w.data[:0], w.at[:0]
	return m.hand(false)
}

func (h *head) open() { h.left, h.cell = cellsAt(h.group(), 0) }

func (h *head) peek() groupCell {
	c, _ := cellAt(h.group(), h.cell)
	return c
}

// advance moves a source past a cell if it stands on it. It is false when the
// source has no more cells of the row; it is back among the heads then, if it has
// any at all.
func (m *merger) advance(h *head, rest, row []byte) (bool, error) {
	c, end := cellAt(h.group(), h.cell)
	if !bytes.Equal(c.rest, rest) {
		return true, nil
	}
	h.cell = end
	if h.left--; h.left > 0 {
		return true, nil
	}
	ok, err := h.next()
	if err != nil || !ok {
		return false, err
	}
	if bytes.Equal(h.row(), row) {
		h.open()
		return true, nil
	}
	heap.Push(&m.heads, h)
	return false, nil
}
