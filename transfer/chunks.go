package transfer

import (
	"fmt"
	"io"

	"github.com/smolwc/smolwc/cells"
)

// A wideColumn is a column of the wide form with a definite type.
type wideColumn struct {
	Mapping
	typ  cells.Type
	code code
}

func (c wideColumn) name() string { return c.columnName() + suffixes[c.code] }

// A chunk is a sequence of cells that passes through an export.
type chunk struct {
	keys  []string
	cells []cells.Cell
	size  int
	done  chan struct{} // closed when out or err is set
	out   encoded
	err   error
}

// countRows counts the rows of a chunk of the wide form.
func (c *chunk) countRows() (n int) {
	for i, key := range c.keys {
		if i == 0 || key != c.keys[i-1] {
			n++
		}
	}
	return n
}

// eachRow calls fn for each row of a chunk of the wide form. row holds one cell for
// each of the columns, nil for a missing one.
func (c *chunk) eachRow(columns []wideColumn, fn func(key string, row []*cells.Cell) error) error {
	row := make([]*cells.Cell, len(columns))
	for i := 0; i < len(c.cells); {
		clear(row)
		key := c.keys[i]
		for ; i < len(c.cells) && c.keys[i] == key; i++ {
			cell := &c.cells[i]
			for n := range columns {
				col := &columns[n]
				if col.Family != cell.Family || col.Qualifier != cell.Qualifier {
					continue
				}
				if cell.Value.Type() != col.typ {
					return fmt.Errorf("row %s has %s in %s, and the field is of type %s; write %s:%s=%s:TYPE for another, or leave wide= out, which keeps all types",
						quote(key), cell.Value.Type(), quote(cell.Column()), col.typ, col.Family, col.Qualifier, col.columnName())
				}
				row[n] = cell
			}
		}
		if err := fn(key, row); err != nil {
			return err
		}
	}
	return nil
}

// An encoded chunk is in the form of the file: text, or values for a Parquet writer.
type encoded any

// An encoder encodes chunks in the form of a file.
type encoder interface {
	// begin writes the part before the first chunk.
	begin(w io.Writer) error
	// encode is called by several goroutines concurrently.
	encode(c *chunk) (encoded, error)
	// write is called in the order of the chunks, and end after the last one.
	write(e encoded) error
	end() error
}

// A chunk with more than one cell is at most this many cells and bytes.
const (
	chunkCells = 4096
	chunkBytes = 1 << 20
)

func newChunk() *chunk { return &chunk{done: make(chan struct{})} }
