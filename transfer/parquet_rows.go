package transfer

import (
	"io"
	"iter"
	"strconv"

	"github.com/parquet-go/parquet-go"

	"github.com/smolwc/smolwc/cells"
)

// A ParquetColumn is a column of [WriteParquet].
type ParquetColumn struct {
	// Name is made different from those before it by a number, as in name_2.
	Name string
	Type cells.Type
	// Moment says that an i64 is in microseconds since 1970, and Day that an i32 is in days
	// since then; other programs see a timestamp and a date.
	Moment, Day bool
}

// node is the column in the file.
func (c ParquetColumn) node() parquet.Node {
	switch {
	case c.Moment && c.Type == cells.TypeI64:
		return parquet.Timestamp(parquet.Microsecond)
	case c.Day && c.Type == cells.TypeI32:
		return parquet.Date()
	}
	return valueNode(c.Type)
}

// WriteParquet writes rows of values as a Parquet file, as those of a query. A row has a value of
// the column's type for each column, or the zero Value for NULL. The values may be reused when
// the next row is asked for, and their bytes may not. A row group is bounded as in an export.
func WriteParquet(w io.Writer, columns []ParquetColumn, rows iter.Seq2[[]cells.Value, error]) error {
	if w == nil || rows == nil || len(columns) == 0 {
		return specErrorf("", "a Parquet file needs a writer, rows, and at least one column")
	}
	out := &parquetOut{}
	for _, c := range columns {
		if !c.Type.Valid() {
			return specErrorf("", "the column %s has no type", quote(c.Name))
		}
		out.columns.add(free(out.columns.Group, c.Name), parquet.Optional(c.node()))
	}
	if err := out.begin(w); err != nil {
		return err
	}
	var held []cells.Value
	size := 0
	flush := func() error {
		n := len(held) / len(columns)
		part := newParquetColumns(len(columns))
		part.rows, part.bytes = n, size
		for i, v := range held {
			if v.Type() == columns[i%len(columns)].Type {
				part.set(i%len(columns), i/len(columns), n, v)
			}
		}
		held, size = nil, 0
		return out.write(part)
	}
	for row, err := range rows {
		if err != nil {
			return err
		}
		if len(row) != len(columns) {
			return specErrorf("", "a row has %d values for %d columns", len(row), len(columns))
		}
		held = append(held, row...)
		for _, v := range row {
			size += v.EncodedLen()
		}
		if len(held)/len(columns) == chunkCells || size >= chunkBytes {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	if len(held) > 0 {
		if err := flush(); err != nil {
			return err
		}
	}
	return out.end()
}

// free is a name that no column has.
func free(taken parquet.Group, name string) string {
	is := name
	for n := 2; taken[is] != nil; n++ {
		is = name + "_" + strconv.Itoa(n)
	}
	return is
}
