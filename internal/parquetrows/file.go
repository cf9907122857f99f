// Package parquetrows reads the rows of a Parquet file as text: each value has its
// form in CSV, which keeps every bit. It reads pages of every codec, encoding and
// version that other programs write, also those that the underlying library cannot
// read.
package parquetrows

import (
	"errors"
	"fmt"
	"io"

	"github.com/parquet-go/parquet-go"
	meta "github.com/parquet-go/parquet-go/format"

	"github.com/smolwc/smolwc/cells"
)

// A File is a Parquet file that is read row by row. Columns that are not chosen are
// not read. It belongs to one goroutine.
type File struct {
	in      io.ReaderAt
	size    int64
	groups  []meta.RowGroup // not read yet
	fields  []field
	columns []*column // those that were chosen
	left    int64     // rows of the group that is being read
	row     int
}

// A field is a column of the file, or a list or a group of some.
type field struct {
	name   string
	column *column // nil: it is a list or a group
}

// Open opens the file of this size that in reads. The caller keeps the ownership of in.
// float writes an f32 or an f64 as text.
func Open(in io.ReaderAt, size int64, float func(cells.Value) string) (_ *File, err error) {
	defer func() {
		if r := recover(); r != nil { // a damaged file must not end the process
			err = fmt.Errorf("%v", r)
		}
	}()
	if err := checkFooter(in, size); err != nil {
		return nil, err
	}
	pf, err := parquet.OpenFile(in, size, parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
	if err != nil {
		return nil, err
	}
	leaves, err := plainLeaves(pf.Metadata().Schema)
	if err != nil {
		return nil, err
	}
	f := &File{in: in, size: size, groups: pf.Metadata().RowGroups}
	for _, top := range pf.Root().Columns() {
		of := field{name: top.Name()}
		if top.Leaf() && !top.Repeated() {
			leaf := leaves[top.Index()]
			of.column = &column{plainLeaf: leaf, name: of.name, leaf: top.Index(), text: floats(float).textOf(top.Type(), leaf.schema)}
		}
		f.fields = append(f.fields, of)
	}
	return f, nil
}

// Fields are the names of the file's fields.
func (f *File) Fields() (names []string) {
	for _, of := range f.fields {
		names = append(names, of.name)
	}
	return names
}

// Choose makes Next return the values of a field, by its index among Fields. It reports
// false for a list or a group, which has none.
func (f *File) Choose(field int) (ok bool) {
	if f.fields[field].column == nil {
		return false
	}
	c := *f.fields[field].column // a field may be chosen twice
	c.buf = make([]parquet.Value, 256)
	f.columns = append(f.columns, &c)
	return true
}

// Next reads the next row. It calls value for each field that was chosen and is not
// null; i counts the choices that were ok. io.EOF is the end of the file. Other errors
// name the row before, and the field if they are about one.
func (f *File) Next(value func(i int, text string)) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = f.failure("", fmt.Errorf("%v", r))
		}
	}()
	for f.left == 0 {
		if err := f.nextGroup(); err != nil {
			return err
		}
	}
	for i, c := range f.columns {
		v, err := c.next()
		if err != nil {
			return f.failure(c.name, noEarlyEnd(err))
		}
		if !v.IsNull() {
			value(i, c.text(v))
		}
	}
	f.left--
	f.row++
	return nil
}

// Row is how many rows were read.
func (f *File) Row() int { return f.row }

// nextGroup begins the next row group; the error is io.EOF after the last.
func (f *File) nextGroup() error {
	for _, c := range f.columns {
		if err := c.end(); err != nil {
			return f.failure(c.name, err)
		}
	}
	if len(f.groups) == 0 {
		return io.EOF
	}
	g := &f.groups[0]
	f.groups = f.groups[1:]
	if g.NumRows == 0 { // some writers keep columns without a page
		return nil
	}
	for _, c := range f.columns {
		if err := c.begin(f.in, f.size, &g.Columns[c.leaf], g.NumRows); err != nil {
			return f.failure(c.name, err)
		}
	}
	f.left = g.NumRows
	return nil
}

func (f *File) failure(column string, err error) error {
	if column != "" {
		err = fmt.Errorf("column %s: %w", quote(column), err)
	}
	return fmt.Errorf("the Parquet data cannot be read after row %d: %w", f.row, err)
}

// Close releases memory.
func (f *File) Close() {
	for _, c := range f.columns {
		c.release()
	}
}

// quote is a name as messages show it: quoted, and cut where it is long.
func quote(s string) string { return fmt.Sprintf("%.60q", s) }

// noEarlyEnd returns an error that callers do not mistake for the end of the file.
func noEarlyEnd(err error) error {
	if errors.Is(err, io.EOF) {
		return errors.New("its values end before the row group does")
	}
	return err
}
