package transfer

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/parquet-go/parquet-go"
	meta "github.com/parquet-go/parquet-go/format"
)

// A parquetReader reads the rows of a Parquet file as records. A value is text
// as a CSV file would have it, from which no bit is lost; null is no value, and
// an empty string is one. Lists and groups are nested fields. A record's line is
// its row, counted from 1. Columns of no field that is used are not read.
type parquetReader struct {
	file    string
	in      io.ReaderAt
	size    int64
	groups  []meta.RowGroup // those that are to come
	columns []*parquetColumn
	nested  []int // the fields that are lists or groups
	left    int64 // rows of the group that is being read
	row     int
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
	in := &countedFile{f, onRead}
	if err := checkFooter(f, info.Size()); err != nil {
		return nil, fmt.Errorf("%s: is not a Parquet file, or damaged: %w", file, err)
	}
	pf, err := parquet.OpenFile(in, info.Size(), parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
	if err != nil {
		return nil, fmt.Errorf("%s: is not a Parquet file, or damaged: %w", file, err)
	}
	p := &parquetReader{file: file, in: in, size: info.Size(), groups: pf.Metadata().RowGroups}
	leaves, err := plainLeaves(pf.Metadata().Schema)
	if err != nil {
		return nil, fmt.Errorf("%s: is not a Parquet file, or damaged: %w", file, err)
	}
	if err := p.choose(pf.Root(), leaves, names); err != nil {
		return nil, err
	}
	return p, nil
}

// choose finds the columns of the fields that are used.
func (p *parquetReader) choose(root *parquet.Column, leaves []plainLeaf, names *fieldNames) error {
	var known []string
	columns := root.Columns()
	for _, top := range columns {
		known = append(known, top.Name())
	}
	for field, name := range names.names {
		at, _, err := names.find(field, known)
		switch {
		case at < 0 && names.parts[field] == "": // it need not be there
		case err != nil:
			return specErrorf(names.parts[field], "%s: %v", p.file, err)
		case !columns[at].Leaf() || columns[at].Repeated():
			p.nested = append(p.nested, field)
		default:
			i := columns[at].Index()
			p.columns = append(p.columns, &parquetColumn{
				plainLeaf: leaves[i], name: name, field: field, leaf: i,
				text: textOf(columns[at].Type(), leaves[i].schema), buf: make([]parquet.Value, 256),
			})
		}
	}
	return nil
}

func (p *parquetReader) next(rec *record) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = p.failure("", fmt.Errorf("%v", r))
		}
	}()
	for p.left == 0 {
		if err := p.nextGroup(); err != nil {
			return err
		}
	}
	clear(rec.fields)
	for _, c := range p.columns {
		v, err := c.next()
		if err != nil {
			return p.failure(c.name, noEarlyEnd(err))
		}
		if !v.IsNull() {
			rec.fields[c.field] = field{text: c.text(v), state: typed}
		}
	}
	for _, f := range p.nested {
		rec.fields[f] = field{state: nested}
	}
	p.left--
	p.row++
	rec.line, rec.lines = p.row, 1
	return nil
}

// nextGroup begins the next row group; the error is io.EOF after the last.
func (p *parquetReader) nextGroup() error {
	for _, c := range p.columns {
		if err := c.end(); err != nil {
			return p.failure(c.name, err)
		}
	}
	if len(p.groups) == 0 {
		return io.EOF
	}
	g := &p.groups[0]
	p.groups = p.groups[1:]
	if g.NumRows == 0 { // some writers keep columns without a page
		return nil
	}
	for _, c := range p.columns {
		if err := c.begin(p.in, p.size, &g.Columns[c.leaf], g.NumRows); err != nil {
			return p.failure(c.name, err)
		}
	}
	p.left = g.NumRows
	return nil
}

// failure says where the file could not be read any further.
func (p *parquetReader) failure(column string, err error) error {
	if column != "" {
		err = fmt.Errorf("column %s: %w", quote(column), err)
	}
	return fmt.Errorf("%s: the Parquet data cannot be read after row %d: %w", p.file, p.row, err)
}

func (p *parquetReader) close() error {
	for _, c := range p.columns {
		c.release()
	}
	return nil
}

// A parquetColumn gives the values of a column one by one, nulls too.
type parquetColumn struct {
	plainLeaf
	name   string
	field  int
	leaf   int // its index among the columns of the file
	text   func(parquet.Value) string
	source *pageSource
	pages  *parquet.FilePages // nil: between two row groups
	page   parquet.Page
	values parquet.ValueReader
	buf    []parquet.Value
	ready  []parquet.Value // of buf, those that are to come
}

func (c *parquetColumn) begin(file io.ReaderAt, size int64, chunk *meta.ColumnChunk, rows int64) (err error) {
	if c.source, err = newPageSource(file, size, c.schema, chunk, rows); err != nil {
		return err
	}
	c.pages = c.chunk.PagesFrom(c.source)
	return nil
}

// next returns the next value, good until the one after it; io.EOF is the end of
// the row group.
func (c *parquetColumn) next() (parquet.Value, error) {
	for len(c.ready) == 0 {
		if c.values == nil {
			if err := c.nextPage(); err != nil {
				return parquet.Value{}, err
			}
		}
		n, err := c.values.ReadValues(c.buf)
		c.ready = c.buf[:n]
		switch {
		case errors.Is(err, io.EOF):
			c.values = nil
		case err != nil:
			return parquet.Value{}, err
		}
	}
	v := c.ready[0]
	c.ready = c.ready[1:]
	return v, nil
}

func (c *parquetColumn) nextPage() (err error) {
	parquet.Release(c.page)
	c.page, err = c.pages.ReadPage()
	switch {
	case err == nil:
		c.values = c.page.Values()
		return nil
	case c.source.err != nil: // the cause, of which the library may have made something else
		return c.source.err
	}
	return noEarlyEnd(err)
}

// end makes sure that the row group has no more values.
func (c *parquetColumn) end() error {
	if c.pages == nil {
		return nil
	}
	if _, err := c.next(); err == nil {
		return errTooManyValues
	} else if err != io.EOF {
		return err
	}
	c.release()
	return nil
}

func (c *parquetColumn) release() {
	if c.pages == nil {
		return
	}
	parquet.Release(c.page)
	_ = c.pages.Close() // which only gives memory back
	c.pages, c.page, c.values, c.ready = nil, nil, nil, nil
}

var errTooManyValues = errors.New("it has more values than the row group has rows")

// noEarlyEnd is an error that is not taken for the end of the file.
func noEarlyEnd(err error) error {
	if errors.Is(err, io.EOF) {
		return errors.New("its values end before the row group does")
	}
	return err
}
