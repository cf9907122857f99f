package transfer

import (
	"io"
	"slices"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/zstd"

	"github.com/smolwc/smolwc/cells"
)

// A row group is written when it has so many rows, or its values so many bytes:
// that bounds the memory of an export and of those who read it.
const (
	groupRows  = 1 << 20
	groupBytes = 64 << 20
	// A column whose distinct values take more than this in a row group is
	// written without a dictionary from there on.
	dictionaryBytes = 1 << 20
)

// valueTypes are the types of values, in the order of the long form's columns.
var valueTypes = []cells.Type{cells.TypeBytes, cells.TypeString, cells.TypeBool, cells.TypeByte, cells.TypeI32, cells.TypeI64, cells.TypeF32, cells.TypeF64}

// valueColumn is the column of the long form that holds values of a type.
func valueColumn(t cells.Type) string { return valueField + "_" + t.String() }

// valueNode is a Parquet column of values of a type. Other programs see types
// of their own in them: a string is text, a byte an unsigned integer of 8 bits.
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

// parquetValue is a value for such a column.
func parquetValue(v cells.Value) parquet.Value {
	switch v.Type() {
	case cells.TypeBytes, cells.TypeString:
		raw, _ := rawText(v)
		return parquet.ByteArrayValue([]byte(raw))
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

// ordered is a group of columns in the order of names; parquet.Group sorts.
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

// A parquetOut writes rows in row groups of bounded size.
type parquetOut struct {
	columns ordered
	w       *parquet.Writer
	rows    int
	bytes   int
}

// parquetRows is an encoded chunk.
type parquetRows struct {
	rows  []parquet.Row
	bytes int
}

func (p *parquetOut) begin(w io.Writer) error {
	p.w = parquet.NewWriter(w,
		parquet.NewSchema("smolwc", p.columns),
		parquet.Compression(&zstd.Codec{Level: zstd.SpeedDefault}),
		parquet.DataPageStatistics(true),
		parquet.DictionaryMaxBytes(dictionaryBytes),
		parquet.CreatedBy("smolwc", "", ""),
	)
	return nil
}

func (p *parquetOut) write(e encoded) error {
	c := e.(parquetRows)
	if _, err := p.w.WriteRows(c.rows); err != nil {
		return err
	}
	p.rows += len(c.rows)
	p.bytes += c.bytes
	if p.rows < groupRows && p.bytes < groupBytes {
		return nil
	}
	p.rows, p.bytes = 0, 0
	return p.w.Flush()
}

func (p *parquetOut) end() error { return p.w.Close() }

// A rowMaker makes rows of values without an allocation for each.
type rowMaker struct {
	columns int
	arena   []parquet.Value
	out     parquetRows
}

func newRowMaker(columns, rows int) *rowMaker {
	return &rowMaker{columns: columns, arena: make([]parquet.Value, 0, columns*rows), out: parquetRows{rows: make([]parquet.Row, 0, rows)}}
}

// next is a row in which every column is null.
func (m *rowMaker) next() parquet.Row {
	start := len(m.arena)
	for i := range m.columns {
		m.arena = append(m.arena, parquet.NullValue().Level(0, 0, i))
	}
	row := parquet.Row(m.arena[start:len(m.arena):len(m.arena)])
	m.out.rows = append(m.out.rows, row)
	return row
}

// parquetCells writes the long form: columns for the parts of a cell, and one
// for each type of values, of which a row has one.
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
	m := newRowMaker(len(p.columns.names), len(c.cells))
	for i := range c.cells {
		cell := &c.cells[i]
		row := m.next()
		row[0] = parquet.ByteArrayValue([]byte(c.keys[i])).Level(0, 0, 0)
		row[1] = parquet.ByteArrayValue([]byte(cell.Family)).Level(0, 0, 1)
		row[2] = parquet.ByteArrayValue([]byte(cell.Qualifier)).Level(0, 0, 2)
		row[3] = parquet.Int64Value(int64(cell.Timestamp)).Level(0, 0, 3)
		row[4] = parquet.ByteArrayValue([]byte(cell.Value.Type().String())).Level(0, 0, 4)
		at := fixed + slices.Index(valueTypes, cell.Value.Type())
		row[at] = parquetValue(cell.Value).Level(0, 1, at)
		m.out.bytes += len(c.keys[i]) + len(cell.Qualifier) + cell.Value.EncodedLen() + 16
	}
	return m.out, nil
}

// parquetWide writes the wide form: the row key, and a column for each that was
// asked for.
type parquetWide struct {
	parquetOut
	wide []wideColumn
}

func newParquetWide(columns []wideColumn) *parquetWide {
	p := &parquetWide{wide: columns}
	p.columns.add(rowField, parquet.Leaf(parquet.ByteArrayType)) // each key is there once
	for _, c := range columns {
		p.columns.add(c.columnName(), parquet.Optional(valueNode(c.typ)))
	}
	return p
}

func (p *parquetWide) encode(c *chunk) (encoded, error) {
	m := newRowMaker(1+len(p.wide), len(c.cells))
	err := c.eachRow(p.wide, func(key string, cells []*cells.Cell) error {
		row := m.next()
		row[0] = parquet.ByteArrayValue([]byte(key)).Level(0, 0, 0)
		m.out.bytes += len(key)
		for i, cell := range cells {
			if cell != nil {
				row[1+i] = parquetValue(cell.Value).Level(0, 1, 1+i)
				m.out.bytes += cell.Value.EncodedLen()
			}
		}
		return nil
	})
	return m.out, err
}
