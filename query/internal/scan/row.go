package scan

import (
	"iter"
	"sort"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/cf"
)

// A Row is what package query's Row of the same name describes, with the same methods.
// A nil Row is empty.
type Row struct {
	key    string
	parts  []part
	one    [1]part  // parts of a row in one family
	labels []string // of each cell, nil when all are without
}

// A part is a run of a row's cells in one family. A family's cells may be in
// several parts, one after another.
type part struct {
	family string
	block  *cf.Block
	cells  []cf.CellSpan
}

func (p *part) cell(i int) cells.Cell {
	c := &p.cells[i]
	return cells.Cell{
		Family:    p.family,
		Qualifier: p.block.Qualifier(c),
		Timestamp: cells.Timestamp(c.Timestamp),
		Value:     decodeValue(p.block.Value(c)),
	}
}

// decodeValue decodes a value that the read checked; a stripped cell's is empty.
func decodeValue(b []byte) cells.Value {
	if len(b) == 0 {
		return cells.Bytes(nil)
	}
	return cells.DecodeChecked(b)
}

func (r *Row) Key() string {
	if r == nil {
		return ""
	}
	return r.key
}

// all are the parts; a nil row is empty.
func (r *Row) all() []part {
	if r == nil {
		return nil
	}
	return r.parts
}

func (r *Row) Len() int {
	n := 0
	for _, p := range r.all() {
		n += len(p.cells)
	}
	return n
}

func (r *Row) Cells() iter.Seq[cells.Cell] {
	return func(yield func(cells.Cell) bool) {
		parts := r.all()
		for i := range parts {
			p := &parts[i]
			for j := range p.cells {
				if !yield(p.cell(j)) {
					return
				}
			}
		}
	}
}

func (r *Row) Label(cell int) string {
	if r == nil || cell < 0 || cell >= len(r.labels) {
		return ""
	}
	return r.labels[cell]
}

func (r *Row) Versions(family, qualifier string) iter.Seq[cells.Cell] {
	return func(yield func(cells.Cell) bool) {
		parts := r.all()
		for i := range parts {
			p := &parts[i]
			if p.family != family {
				continue
			}
			for j := p.find(qualifier); j < len(p.cells) && p.block.Qualifier(&p.cells[j]) == qualifier; j++ {
				if !yield(p.cell(j)) {
					return
				}
			}
		}
	}
}

// find is the index of the first cell whose qualifier is not less.
func (p *part) find(qualifier string) int {
	if len(p.cells) <= fewCells {
		i := 0
		for i < len(p.cells) && p.block.Qualifier(&p.cells[i]) < qualifier {
			i++
		}
		return i
	}
	return sort.Search(len(p.cells), func(i int) bool { return p.block.Qualifier(&p.cells[i]) >= qualifier })
}

// newest is the index of the newest cell of a column, -1 without one. It compares whether few
// qualifiers are equal, which is quicker than their order.
func (p *part) newest(qualifier string) int {
	if len(p.cells) <= fewCells {
		for i := range p.cells {
			if p.block.Qualifier(&p.cells[i]) == qualifier {
				return i
			}
		}
		return -1
	}
	if i := p.find(qualifier); i < len(p.cells) && p.block.Qualifier(&p.cells[i]) == qualifier {
		return i
	}
	return -1
}

// fewCells is how many cells are looked at one by one.
const fewCells = 8

func (r *Row) Cell(family, qualifier string) (c cells.Cell, ok bool) {
	parts := r.all()
	for i := range parts {
		p := &parts[i]
		if p.family != family {
			continue
		}
		if j := p.newest(qualifier); j >= 0 {
			return p.cell(j), true
		}
	}
	return cells.Cell{}, false
}

func NewRow(key string, cs []cells.Cell) *Row {
	made := new(struct {
		row   Row
		block cf.Block // of the first family
		cells [1]cf.CellSpan
	})
	r := &made.row
	r.key, r.parts = key, r.one[:0]
	for i, c := range cs {
		switch {
		case i == 0:
			made.block.Data = make([]byte, 0, len(c.Qualifier)+c.Value.EncodedLen())
			r.parts = append(r.parts, part{c.Family, &made.block, made.cells[:0]})
		case c.Family != cs[i-1].Family:
			r.parts = append(r.parts, part{family: c.Family, block: new(cf.Block)})
		}
		p := &r.parts[len(r.parts)-1]
		span := cf.CellSpan{Timestamp: int64(c.Timestamp), Offset: uint32(len(p.block.Data)), QualifierLen: uint32(len(c.Qualifier)), ValueLen: uint32(c.Value.EncodedLen())}
		p.block.Data = cells.AppendValue(append(p.block.Data, c.Qualifier...), c.Value)
		p.cells = append(p.cells, span)
	}
	return r
}
