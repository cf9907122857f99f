package bulk

import (
	"bytes"
	"container/heap"
	"context"
	"slices"

	"github.com/smolwc/smolwc/cf"
)

// A merger merges sources, later ones over earlier ones.
type merger struct {
	ctx     context.Context
	fn      func(cf.CellGroups) error
	settler *settler
	sources []source
	heads   sourceHeap
	block   cf.CellGroups
}

// A head is a source with a current group.
type head struct {
	source
	order int
	cell  int // the next cell's place in the group, while cells are merged
	left  uint32
}

func (h *head) row() []byte { return rowAt(h.group(), 0) }

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

// add adds a source, which is later than all sources before it.
func (m *merger) add(s source) error {
	m.sources = append(m.sources, s)
	ok, err := s.next()
	if ok {
		heap.Push(&m.heads, &head{source: s, order: len(m.sources)})
	}
	return err
}

func (m *merger) close() {
	for _, s := range m.sources {
		s.close()
	}
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

// tied reports whether several sources are at the first row.
func (m *merger) tied() bool {
	row := m.heads[0].row()
	for _, child := range []int{1, 2} {
		if child < len(m.heads) && bytes.Equal(m.heads[child].row(), row) {
			return true
		}
	}
	return false
}

// maxBlock is the size in bytes at which a block of large groups ends.
const maxBlock = 1 << 20

// hand passes the block to fn when it is full, or at the end.
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
		for _, c := range m.settler.settle(row, same) {
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

// advance moves a source past a cell if that is its next cell. It returns false at
// the end of the row, after putting a source with further rows back among the heads.
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
