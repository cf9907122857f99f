package transfer

import (
	"io"
	"runtime"
	"slices"
	"unsafe"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/zstd"
	"golang.org/x/sync/errgroup"

	"github.com/smolwc/smolwc/cells"
)

// A row group ends when it holds this many rows, or values of this many bytes. This
// bounds the memory of an export and of its file's readers.
const (
	groupRows  = 1 << 20
	groupBytes = 64 << 20
	// If the distinct values of a column exceed this size in a row group, the rest of
	// the column is written without a dictionary.
	dictionaryBytes = 1 << 20
)

// valueTypes are the types of values, in the order of the long form's columns.
var valueTypes = []cells.Type{cells.TypeBytes, cells.TypeString, cells.TypeBool, cells.TypeByte, cells.TypeI32, cells.TypeI64, cells.TypeF32, cells.TypeF64}

func valueColumn(t cells.Type) string { return valueField + "_" + t.String() }

// valueNode returns the Parquet column for values of a type. Other programs see
// equivalent types: a string is text, a byte an unsigned integer of 8 bits.
func valueNode(t cells.Type) parquet.Node {
	switch t {
	case cells.TypeBytes:
		return parquet.Encoded(parquet.Leaf(parquet.ByteArrayType), &parquet.RLEDictionary)
	case cells.TypeString:
		return parquet.Encoded(parquet.String(), &parquet.RLEDictionary)
	case cells.TypeBool:
		return parquet.Leaf(parquet.BooleanType)
	case cells.TypeByte:
		return parquet.Encoded(parquet.Uint(8), &parquet.RLEDictionary)
	case cells.TypeI32:
		return parquet.Encoded(parquet.Int(32), &parquet.RLEDictionary)
	case cells.TypeI64:
		return parquet.Encoded(parquet.Int(64), &parquet.RLEDictionary)
	case cells.TypeF32:
		return parquet.Leaf(parquet.FloatType)
	}
	return parquet.Leaf(parquet.DoubleType)
}

// parquetValue returns a value for a column of valueNode.
func parquetValue(v cells.Value) parquet.Value {
	switch v.Type() {
	case cells.TypeBytes:
		raw, _ := v.AsBytes()
		return parquet.ByteArrayValue(raw)
	case cells.TypeString:
		text, _ := v.AsString()
		return textValue(text)
	case cells.TypeBool:
		b, _ := v.AsBool()
		return parquet.BooleanValue(b)
	case cells.TypeByte, cells.TypeI32:
		n, _ := v.Int()
		return parquet.Int32Value(int32(n))
	case cells.TypeI64:
		n, _ := v.AsI64()
		return parquet.Int64Value(n)
	case cells.TypeF32:
		f, _ := v.AsF32()
		return parquet.FloatValue(f)
	}
	f, _ := v.AsF64()
	return parquet.DoubleValue(f)
}

// textValue returns a text without a copy: the writer only reads it.
func textValue(s string) parquet.Value {
	return parquet.ByteArrayValue(unsafe.Slice(unsafe.StringData(s), len(s)))
}

// ordered is a group of columns in the order of names; parquet.Group would sort them.
type ordered struct {
	parquet.Group
	names []string
}

func (o ordered) Fields() []parquet.Field {
	fields := o.Group.Fields()
	slices.SortFunc(fields, func(a, b parquet.Field) int {
		return slices.Index(o.names, a.Name()) - slices.Index(o.names, b.Name())
	})
	return fields
}

func (o *ordered) add(name string, n parquet.Node) {
	if o.Group == nil {
		o.Group = parquet.Group{}
	}
	o.Group[name] = n
	o.names = append(o.names, name)
}

// A parquetOut writes rows in row groups of bounded size, and several columns
// concurrently.
type parquetOut struct {
	columns ordered
	w       *parquet.GenericWriter[any]
	writers []*parquet.ColumnWriter
	rows    int
	bytes   int
}

// parquetColumns is an encoded chunk: the values of each column, nil for a column with
// only nulls.
type parquetColumns struct {
	values [][]parquet.Value
	rows   int
	bytes  int
}

func (p *parquetOut) begin(w io.Writer) error {
	p.w = parquet.NewGenericWriter[any](w,
		parquet.NewSchema("smolwc", p.columns),
		parquet.Compression(&zstd.Codec{Level: zstd.SpeedDefault}),
		parquet.DataPageStatistics(true),
		parquet.DictionaryMaxBytes(dictionaryBytes),
		parquet.CreatedBy("smolwc", "", ""),
	)
	p.writers = p.w.ColumnWriters()
	return nil
}

func (p *parquetOut) write(e encoded) error {
	c := e.(*parquetColumns)
	err := p.eachColumn(func(i int, w *parquet.ColumnWriter) error {
		if c.values[i] != nil {
			_, err := w.WriteRowValues(c.values[i])
			return err
		}
		for left := c.rows; left > 0; left -= len(nulls) {
			if _, err := w.WriteRowValues(nulls[:min(left, len(nulls))]); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	p.rows += c.rows
	p.bytes += c.bytes
	if p.rows < groupRows && p.bytes < groupBytes {
		return nil
	}
	return p.endGroup()
}

// eachColumn calls fn for the columns, several concurrently: most of the cost of
// writing is dictionaries and compression.
func (p *parquetOut) eachColumn(fn func(i int, w *parquet.ColumnWriter) error) error {
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i, w := range p.writers {
		g.Go(func() error { return fn(i, w) })
	}
	return g.Wait()
}

func (p *parquetOut) endGroup() error {
	p.rows, p.bytes = 0, 0
	if err := p.eachColumn(func(_ int, w *parquet.ColumnWriter) error { return w.Flush() }); err != nil {
		return err
	}
	return p.w.Flush()
}

func (p *parquetOut) end() error {
	if err := p.endGroup(); err != nil {
		return err
	}
	return p.w.Close()
}

// nulls are written for a column with only nulls.
var nulls [chunkCells]parquet.Value

// newParquetColumns returns an empty chunk with a number of columns.
func newParquetColumns(columns int) *parquetColumns {
	return &parquetColumns{values: make([][]parquet.Value, columns)}
}

func (c *parquetColumns) set(column, row, rows int, v cells.Value) {
	if c.values[column] == nil {
		c.values[column] = make([]parquet.Value, rows) // null
	}
	c.values[column][row] = parquetValue(v).Level(0, 1, column)
}

// parquetCells writes the long form: columns for the parts of a cell, and one column
// for each type of value. In each row one of the latter is filled.
type parquetCells struct{ parquetOut }

func newParquetCells() *parquetCells {
	p := &parquetCells{}
	binary := parquet.Encoded(parquet.Leaf(parquet.ByteArrayType), &parquet.RLEDictionary)
	text := parquet.Encoded(parquet.String(), &parquet.RLEDictionary)
	p.columns.add(rowField, binary)
	p.columns.add(familyField, text)
	p.columns.add(qualifierField, binary)
	p.columns.add(timestampField, parquet.Timestamp(parquet.Microsecond))
	p.columns.add(typeField, text)
	for _, t := range valueTypes {
		p.columns.add(valueColumn(t), parquet.Optional(valueNode(t)))
	}
	return p
}

func (p *parquetCells) encode(c *chunk) (encoded, error) {
	const fixed = 5
	out, n := newParquetColumns(len(p.columns.names)), len(c.cells)
	out.rows = n
	arena := make([]parquet.Value, fixed*n)
	for i := range fixed {
		out.values[i] = arena[i*n : (i+1)*n]
	}
	for i := range c.cells {
		cell := &c.cells[i]
		typ := cell.Value.Type()
		out.values[0][i] = textValue(c.keys[i])
		out.values[1][i] = textValue(cell.Family)
		out.values[2][i] = textValue(cell.Qualifier)
		out.values[3][i] = parquet.Int64Value(int64(cell.Timestamp))
		out.values[4][i] = textValue(typ.String())
		out.set(fixed+slices.Index(valueTypes, typ), i, n, cell.Value)
		out.bytes += len(c.keys[i]) + len(cell.Qualifier) + cell.Value.EncodedLen() + 16
	}
	return out, nil
}

// parquetWide writes the wide form: the row key, and each requested column.
type parquetWide struct {
	parquetOut
	wide []wideColumn
}

func newParquetWide(columns []wideColumn) *parquetWide {
	p := &parquetWide{wide: columns}
	p.columns.add(rowField, parquet.Leaf(parquet.ByteArrayType)) // each key occurs once
	for _, c := range columns {
		p.columns.add(c.columnName(), parquet.Optional(valueNode(c.typ)))
	}
	return p
}

func (p *parquetWide) encode(c *chunk) (encoded, error) {
	out, most := newParquetColumns(1+len(p.wide)), c.countRows()
	out.values[0] = make([]parquet.Value, 0, most)
	err := c.eachRow(p.wide, func(key string, cells []*cells.Cell) error {
		out.values[0] = append(out.values[0], textValue(key))
		out.bytes += len(key)
		for i, cell := range cells {
			if cell != nil {
				out.set(1+i, out.rows, most, cell.Value)
				out.bytes += cell.Value.EncodedLen()
			}
		}
		out.rows++
		return nil
	})
	return out, err
}
