// Package parquetrows reads the rows of a Parquet file as text: each value in its CSV form,
// which keeps every bit. It reads pages of every codec, encoding and version that other
// programs write, and refuses pages with fewer values than they claim. Of parquet-go it
// takes the structs of the format and their decoder; its pages are trusting, see
// pageSource.
package parquetrows

import (
	"fmt"
	"io"

	"github.com/smolwc/smolwc/cells"
)

// A File is a Parquet file that is read row by row. Columns that are not chosen are
// not read. It belongs to one goroutine.
type File struct {
	in      io.ReaderAt
	size    int64
	float   floats
	groups  []rowGroup // not read yet
	fields  []field
	columns []*column // those that were chosen
	left    int64     // rows of the group that is being read
	row     int
}

// A field is a column of the file, or a list or a group of some.
type field struct {
	name   string
	nested bool
	leaves []leaf
}

// Open opens the file of this size that in reads. The caller keeps the ownership of in.
// float writes an f32 or an f64 as text.
func Open(in io.ReaderAt, size int64, float func(cells.Value) string) (_ *File, err error) {
	defer func() {
		if r := recover(); r != nil { // a damaged file must not end the process
			err = fmt.Errorf("%v", r)
		}
	}()
	meta, err := readFooter(in, size)
	if err != nil {
		return nil, err
	}
	f := &File{in: in, size: size, float: float, groups: meta.RowGroups}
	if f.fields, err = fieldsOf(meta.Schema); err != nil {
		return nil, err
	}
	leaves := 0
	for _, of := range f.fields {
		leaves += len(of.leaves)
	}
	for i := range f.groups {
		if g := &f.groups[i]; g.NumRows < 0 || len(g.Columns) != leaves {
			return nil, fmt.Errorf("%w: row group %d has %d rows and %d columns, and the schema %d", errFooter, i+1, g.NumRows, len(g.Columns), leaves)
		}
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
// false for a list or a group, which is not a value; its columns are then read and checked,
// up to a page of more than 64 MiB.
func (f *File) Choose(field int) (ok bool, err error) {
	of := &f.fields[field]
	for i := range of.leaves {
		c := &column{leaf: &of.leaves[i]} // a field may be chosen twice
		if !of.nested {
			if c.text, err = f.float.textOf(c.SchemaElement); err != nil {
				return false, fmt.Errorf("column %s: %w", quote(of.name), err)
			}
		}
		f.columns = append(f.columns, c)
	}
	return !of.nested, nil
}

// Next reads the next row. It calls value for each field that was chosen and is not
// null; i counts the choices that were ok. io.EOF is the end of the file. Other errors
// name the row before, and the field if they are about one.
func (f *File) Next(use func(i int, text string)) (err error) {
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
	i := 0
	for _, c := range f.columns {
		v, null, err := c.row()
		if err != nil {
			return f.failure(c.Name, err)
		}
		if c.text == nil {
			continue
		}
		if !null {
			text, err := c.text(v)
			if err != nil {
				return f.failure(c.Name, err)
			}
			use(i, text)
		}
		i++
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
			return f.failure(c.Name, err)
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
		if err := c.begin(f.in, f.size, &g.Columns[c.index], g.NumRows); err != nil {
			return f.failure(c.Name, err)
		}
	}
	f.left = g.NumRows
	return nil
}

func (f *File) failure(column string, err error) error {
	err = noEarlyEnd(err)
	if column != "" {
		err = fmt.Errorf("column %s: %w", quote(column), err)
	}
	return fmt.Errorf("the Parquet data cannot be read after row %d: %w", f.row, err)
}

// quote is a name as messages show it: quoted, and cut where it is long.
func quote(s string) string { return fmt.Sprintf("%.60q", s) }
