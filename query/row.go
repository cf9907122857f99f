package query

import (
	"iter"
	"strconv"
	"strings"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query/internal/scan"
)

// A Row is a row as a read returned it: its key and its cells, ordered by family name,
// then by the bytes of the qualifier, then newest first. It is immutable and safe for
// concurrent use, and stays valid as long as it is kept. It shares its memory with the
// rows read around it, a few hundred KiB; to keep a few rows of a large scan, copy the
// values out. A nil Row is empty.
type Row scan.Row // a conversion costs nothing, and keeps the reader's fields out of sight

// Key is the row key: 1 to 4,096 bytes, any bytes.
func (r *Row) Key() string { return r.cells().Key() }

func (r *Row) cells() *scan.Row { return (*scan.Row)(r) }

// Len is the number of cells.
func (r *Row) Len() int { return r.cells().Len() }

// Cells are the row's cells in order.
func (r *Row) Cells() iter.Seq[cells.Cell] { return r.cells().Cells() }

// Label is the label that a [filter.Label] gave to a cell, counted from 0 in the
// order of [Row.Cells]; "" for a cell without a label.
func (r *Row) Label(cell int) string { return r.cells().Label(cell) }

// Versions are the cells of one column, newest first.
func (r *Row) Versions(family, qualifier string) iter.Seq[cells.Cell] {
	return r.cells().Versions(family, qualifier)
}

// Cell is the newest cell of a column; ok is false when there is no such cell.
func (r *Row) Cell(family, qualifier string) (c cells.Cell, ok bool) {
	return r.cells().Cell(family, qualifier)
}

// value is the newest value of a column, the zero Value for an absent column. The zero
// Value is of no type, so every typed accessor returns false.
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
func NewRow(key string, cs []cells.Cell) *Row { return (*Row)(scan.NewRow(key, cs)) }
