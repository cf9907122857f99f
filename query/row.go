package query

import (
	"iter"
	"sort"
	"strconv"
	"strings"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/cf"
)

// A Row is a row as a read returned it: its key and its cells, ordered by family
// name, then by the bytes of the qualifier, then newest first. It is immutable and
// safe for concurrent use, and stays valid as long as it is kept. It shares its
// memory with the rows read around it, a few hundred KiB; to keep a few rows of a
// large scan, copy the values out. A nil Row has no cells.
type Row struct {
	key    string
	parts  []part
	one    [1]part  // parts of a row in one family
	labels []string // of each cell, nil when none has one
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

// decodeValue decodes a value that the read has checked; a stripped cell has no
// bytes.
func decodeValue(b []byte) cells.Value {
	if len(b) == 0 {
		return cells.Bytes(nil)
	}
	return cells.DecodeChecked(b)
}

// Key is the row key: 1 to 4,096 bytes, any bytes.
func (r *Row) Key() string {
	if r == nil {
		return ""
	}
	return r.key
}

// all are the parts; a nil row has no part.
func (r *Row) all() []part {
	if r == nil {
		return nil
	}
	return r.parts
}

// Len is the number of cells.
func (r *Row) Len() int {
	n := 0
	for _, p := range r.all() {
		n += len(p.cells)
	}
	return n
}

// Cells are the row's cells in order.
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

// Label is the label that a [filter.Label] gave to a cell, counted from 0 in the
// order of [Row.Cells]; "" for a cell without a label.
func (r *Row) Label(cell int) string {
	if r == nil || cell < 0 || cell >= len(r.labels) {
		return ""
	}
	return r.labels[cell]
}

// Versions are the cells of one column, newest first.
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
	return sort.Search(len(p.cells), func(i int) bool { return p.block.Qualifier(&p.cells[i]) >= qualifier })
}

// Cell is the newest cell of a column; ok is false when the row has none.
func (r *Row) Cell(family, qualifier string) (c cells.Cell, ok bool) {
	parts := r.all()
	for i := range parts {
		p := &parts[i]
		if p.family != family {
			continue
		}
		if j := p.find(qualifier); j < len(p.cells) && p.block.Qualifier(&p.cells[j]) == qualifier {
			return p.cell(j), true
		}
	}
	return cells.Cell{}, false
}

// value is the newest value of a column, the zero Value for an absent column. The
// zero Value has no type, so every typed accessor returns false.
func (r *Row) value(family, qualifier string) cells.Value {
	c, _ := r.Cell(family, qualifier)
	return c.Value
}

// I64 is the newest value of a column of type i64; ok is false when the column is
// absent or of another type. The other typed accessors do the same.
func (r *Row) I64(family, qualifier string) (v int64, ok bool) {
	return r.value(family, qualifier).AsI64()
}

// I32 is the newest value of a column of type i32.
func (r *Row) I32(family, qualifier string) (v int32, ok bool) {
	return r.value(family, qualifier).AsI32()
}

// F64 is the newest value of a column of type f64.
func (r *Row) F64(family, qualifier string) (v float64, ok bool) {
	return r.value(family, qualifier).AsF64()
}

// F32 is the newest value of a column of type f32.
func (r *Row) F32(family, qualifier string) (v float32, ok bool) {
	return r.value(family, qualifier).AsF32()
}

// Bool is the newest value of a column of type bool.
func (r *Row) Bool(family, qualifier string) (v, ok bool) {
	return r.value(family, qualifier).AsBool()
}

// Byte is the newest value of a column of type byte.
func (r *Row) Byte(family, qualifier string) (v byte, ok bool) {
	return r.value(family, qualifier).AsByte()
}

// Bytes is the newest value of a column of type bytes. It belongs to the row:
// do not change it.
func (r *Row) Bytes(family, qualifier string) (v []byte, ok bool) {
	return r.value(family, qualifier).AsBytes()
}

// Text is the newest value of a column of type string, "" when the column is absent or
// of another type; [Row.Cell] distinguishes these.
func (r *Row) Text(family, qualifier string) string {
	s, _ := r.value(family, qualifier).AsString()
	return s
}

// String is the row as text, for people: its key, and each cell as
// family:qualifier@timestamp=value.
func (r *Row) String() string {
	var b strings.Builder
	b.WriteString(strconv.Quote(r.Key()))
	for c := range r.Cells() {
		b.WriteByte(' ')
		b.WriteString(c.String())
	}
	return b.String()
}

// NewRow is a row of cells that are in the order of a row: by family, qualifier and
// newest first.
func NewRow(key string, cs []cells.Cell) *Row {
	r := &Row{key: key}
	r.parts = r.one[:0]
	for i, c := range cs {
		if i == 0 || c.Family != cs[i-1].Family {
			r.parts = append(r.parts, part{family: c.Family, block: new(cf.Block)})
		}
		p := &r.parts[len(r.parts)-1]
		span := cf.CellSpan{Timestamp: int64(c.Timestamp), Offset: uint32(len(p.block.Data)), QualifierLen: uint32(len(c.Qualifier)), ValueLen: uint32(c.Value.EncodedLen())}
		p.block.Data = cells.AppendValue(append(p.block.Data, c.Qualifier...), c.Value)
		p.cells = append(p.cells, span)
	}
	return r
}
