package parquetrows

import (
	"errors"
	"io"

	"github.com/parquet-go/parquet-go"
	meta "github.com/parquet-go/parquet-go/format"
)

// A column gives its values one by one, nulls too.
type column struct {
	plainLeaf
	name   string
	leaf   int // its index among the columns of the file
	text   func(parquet.Value) string
	source *pageSource
	pages  *parquet.FilePages // nil: between two row groups
	page   parquet.Page
	values parquet.ValueReader
	buf    []parquet.Value
	ready  []parquet.Value // the values of buf that have not been returned
}

func (c *column) begin(file io.ReaderAt, size int64, chunk *meta.ColumnChunk, rows int64) (err error) {
	if c.source, err = newPageSource(file, size, c.schema, chunk, rows); err != nil {
		return err
	}
	c.pages = c.chunk.PagesFrom(c.source)
	return nil
}

// next returns the next value, good until the one after it; io.EOF is the end of
// the row group.
func (c *column) next() (parquet.Value, error) {
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

func (c *column) nextPage() (err error) {
	parquet.Release(c.page)
	c.page, err = c.pages.ReadPage()
	switch {
	case err == nil:
		c.values = c.page.Values()
		return nil
	case c.source.err != nil: // the cause; the library may have put another error in its place
		return c.source.err
	}
	return noEarlyEnd(err)
}

// end makes sure that the row group has no more values.
func (c *column) end() error {
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

func (c *column) release() {
	if c.pages == nil {
		return
	}
	parquet.Release(c.page)
	_ = c.pages.Close() // it only releases memory
	c.pages, c.page, c.values, c.ready = nil, nil, nil, nil
}

var errTooManyValues = errors.New("it has more values than the row group has rows")
