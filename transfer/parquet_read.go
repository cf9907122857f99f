package transfer

import (
	"errors"
	"fmt"
	"io"
	"math"
	"math/big"
	"os"
	"strconv"
	"time"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/deprecated"
	meta "github.com/parquet-go/parquet-go/format"

	"github.com/smolwc/smolwc/cells"
)

// A parquetReader reads the rows of a Parquet file as records. A value is text
// as a CSV file would have it, from which no bit is lost; null is no value, and
// an empty string is one. Lists and groups are nested fields. A record's line is
// its row, counted from 1.
type parquetReader struct {
	file    string
	rows    parquet.Rows
	groups  []parquet.RowGroup // those that are to come
	columns []leafUse          // by the index of the leaf
	buf     []parquet.Row
	ready   []parquet.Row // of buf, those that are to come
	row     int
}

// A leafUse is what becomes of the values of a leaf column.
type leafUse struct {
	field  int // noField: nothing
	nested bool
	text   func(parquet.Value) string
}

// A countedFile tells how much of a file was read.
type countedFile struct {
	*os.File
	onRead func(n int)
}

func (c *countedFile) ReadAt(p []byte, off int64) (int, error) {
	n, err := c.File.ReadAt(p, off)
	if c.onRead != nil {
		c.onRead(n)
	}
	return n, err
}

func newParquetReader(file string, f *os.File, onRead func(int), names *fieldNames) (_ *parquetReader, err error) {
	defer func() {
		if r := recover(); r != nil { // a damaged file must not end the process
			err = fmt.Errorf("%s: is not a Parquet file, or damaged: %v", file, r)
		}
	}()
	info, err := f.Stat()
	if err != nil {
		return nil, fileError(file, err)
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: a Parquet file is read from its end, which a pipe does not have", file)
	}
	pf, err := parquet.OpenFile(&countedFile{f, onRead}, info.Size(), parquet.SkipBloomFilters(true))
	if err != nil {
		return nil, fmt.Errorf("%s: is not a Parquet file, or damaged: %w", file, err)
	}
	p := &parquetReader{file: file, groups: pf.RowGroups(), buf: make([]parquet.Row, 256)}
	if err := p.choose(pf.Root(), names); err != nil {
		return nil, err
	}
	return p, nil
}

// choose finds the columns of the fields that are used.
func (p *parquetReader) choose(root *parquet.Column, names *fieldNames) error {
	found := make([]bool, len(names.names))
	var known []string
	for _, top := range root.Columns() {
		known = append(known, top.Name())
		field := noField
		for i, name := range names.names {
			if name == top.Name() {
				field, found[i] = i, true
			}
		}
		p.addLeaves(top, field, !top.Leaf() || top.Repeated())
	}
	for i, ok := range found {
		if !ok && names.parts[i] != "" {
			return specErrorf(names.parts[i], "%s: %v", p.file, unknownField(names.names[i], known))
		}
	}
	return nil
}

func (p *parquetReader) addLeaves(c *parquet.Column, field int, nested bool) {
	if !c.Leaf() {
		for _, child := range c.Columns() {
			p.addLeaves(child, field, true)
		}
		return
	}
	p.columns = append(p.columns, leafUse{field: field, nested: nested, text: textOf(c.Type())})
}

func (p *parquetReader) next(rec *record) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%s: the Parquet data is damaged after row %d: %v", p.file, p.row, r)
		}
	}()
	for len(p.ready) == 0 {
		if err := p.fill(); err != nil {
			return err
		}
	}
	row := p.ready[0]
	p.ready = p.ready[1:]
	p.row++
	rec.line, rec.lines = p.row, 1
	clear(rec.fields)
	for _, v := range row {
		c := v.Column()
		if c < 0 || c >= len(p.columns) {
			return fmt.Errorf("%s: row %d has a value in column %d of %d", p.file, p.row, c, len(p.columns))
		}
		use := &p.columns[c]
		switch {
		case use.field == noField:
		case use.nested:
			rec.fields[use.field] = field{state: nested}
		case !v.IsNull():
			rec.fields[use.field] = field{use.text(v), typed}
		}
	}
	return nil
}

// fill reads more rows.
func (p *parquetReader) fill() error {
	if p.rows == nil {
		if len(p.groups) == 0 {
			return io.EOF
		}
		p.rows = p.groups[0].Rows()
		p.groups = p.groups[1:]
	}
	n, err := p.rows.ReadRows(p.buf)
	p.ready = p.buf[:n]
	switch {
	case errors.Is(err, io.EOF) || err == nil && n == 0:
		err = p.rows.Close()
		p.rows = nil
	case err == nil:
		return nil
	}
	if err != nil {
		return fmt.Errorf("%s: the Parquet data cannot be read after row %d: %w", p.file, p.row, err)
	}
	return nil
}

func (p *parquetReader) close() error {
	if p.rows != nil {
		return p.rows.Close()
	}
	return nil
}

// textOf says how the values of a type are written as text. A timestamp is
// microseconds since 1970, a date year-month-day.
func textOf(t parquet.Type) func(parquet.Value) string {
	if t.LogicalType() == nil {
		return plainTextOf(t.Kind())
	}
	switch logical := t.LogicalType().Value.(type) {
	case *meta.TimestampType:
		switch logical.Unit.Value.(type) {
		case *meta.MilliSeconds:
			return func(v parquet.Value) string { return scaled(v.Int64(), 1000) }
		case *meta.NanoSeconds:
			return func(v parquet.Value) string { return strconv.FormatInt(floorDiv(v.Int64(), 1000), 10) }
		}
	case *meta.DateType:
		return func(v parquet.Value) string {
			return time.Unix(int64(v.Int32())*86400, 0).UTC().Format(time.DateOnly)
		}
	case *meta.IntType:
		if !logical.IsSigned {
			return unsignedText(t.Kind())
		}
	case *meta.DecimalType:
		return decimalText(t.Kind(), int(logical.Scale))
	}
	return plainTextOf(t.Kind())
}

func unsignedText(kind parquet.Kind) func(parquet.Value) string {
	if kind == parquet.Int32 {
		return func(v parquet.Value) string { return strconv.FormatUint(uint64(uint32(v.Int32())), 10) }
	}
	return func(v parquet.Value) string { return strconv.FormatUint(uint64(v.Int64()), 10) }
}

func plainTextOf(kind parquet.Kind) func(parquet.Value) string {
	switch kind {
	case parquet.Boolean:
		return func(v parquet.Value) string { return strconv.FormatBool(v.Boolean()) }
	case parquet.Int32:
		return func(v parquet.Value) string { return strconv.FormatInt(int64(v.Int32()), 10) }
	case parquet.Int64:
		return func(v parquet.Value) string { return strconv.FormatInt(v.Int64(), 10) }
	case parquet.Int96:
		return func(v parquet.Value) string { return int96Text(v.Int96()) }
	case parquet.Float:
		return func(v parquet.Value) string { return plainText(cells.F32(v.Float())) }
	case parquet.Double:
		return func(v parquet.Value) string { return plainText(cells.F64(v.Double())) }
	}
	return func(v parquet.Value) string { return string(v.ByteArray()) }
}

// scaled is n times a factor, as text; what does not fit stays too large to be
// taken for something else.
func scaled(n, factor int64) string {
	if n > math.MaxInt64/factor || n < math.MinInt64/factor {
		return strconv.FormatInt(n, 10) + "000"
	}
	return strconv.FormatInt(n*factor, 10)
}

func floorDiv(n, by int64) int64 {
	q := n / by
	if n%by < 0 {
		q--
	}
	return q
}

// int96Text is an old kind of timestamp: nanoseconds of a Julian day.
func int96Text(v deprecated.Int96) string {
	const unixDay = 2440588
	nanos := int64(v[0]) | int64(v[1])<<32
	return strconv.FormatInt((int64(v[2])-unixDay)*86400_000_000+nanos/1000, 10)
}

// decimalText is a number that is stored without its point.
func decimalText(kind parquet.Kind, scale int) func(parquet.Value) string {
	return func(v parquet.Value) string {
		n := new(big.Int)
		switch kind {
		case parquet.Int32:
			n.SetInt64(int64(v.Int32()))
		case parquet.Int64:
			n.SetInt64(v.Int64())
		default: // two's complement, the highest byte first
			b := v.ByteArray()
			n.SetBytes(b)
			if len(b) > 0 && b[0]&0x80 != 0 {
				n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(8*len(b))))
			}
		}
		digits := new(big.Int).Abs(n).String()
		for len(digits) <= scale {
			digits = "0" + digits
		}
		if scale > 0 {
			digits = digits[:len(digits)-scale] + "." + digits[len(digits)-scale:]
		}
		if n.Sign() < 0 {
			return "-" + digits
		}
		return digits
	}
}
