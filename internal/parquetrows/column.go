package parquetrows

import (
	"errors"
	"fmt"
	"io"
)

// A column gives the values of its rows.
type column struct {
	*leaf
	text   func(value) (string, error) // nil: its values are only checked
	source *pageSource                 // nil: between two row groups, or it is no longer checked
	page   *page
	rep    uint64 // the repetition level of the next entry, if peeked
	peeked bool
}

func (c *column) begin(file io.ReaderAt, size int64, chunk *columnChunk, rows int64) (err error) {
	c.page, c.peeked = &page{}, false
	c.source, err = newPageSource(file, size, c.leaf, chunk, rows)
	if err == nil && c.text == nil {
		c.source.mostChecked = 64 << 20
	}
	return err
}

// row reads the entries of a row: one, unless the column is in a list. It returns the value
// if the last of them is not null.
func (c *column) row() (v value, null bool, err error) {
	switch err := c.peek(); {
	case err == errUnchecked:
		return v, true, nil
	case err != nil:
		return v, false, err
	}
	if c.rep != 0 {
		return v, false, errors.New("a row begins inside of a list: its repetition levels are damaged")
	}
	for first := true; first || c.peeked && c.rep > 0; first = false {
		c.peeked = false
		if v, null, err = c.entry(); err != nil {
			return v, false, err
		}
		if c.maxRep == 0 {
			break
		}
		if err := c.peek(); err != nil && err != io.EOF && err != errUnchecked {
			return v, false, err
		}
	}
	return v, null, nil
}

// peek reads the repetition level of the next entry; io.EOF is the end of the row group.
func (c *column) peek() (err error) {
	if c.peeked {
		return nil
	}
	for c.page.left == 0 {
		if c.source == nil {
			return errUnchecked
		}
		if c.page, err = c.source.next(); err != nil {
			c.page = &page{}
			if err == errUnchecked {
				c.source = nil
			}
			return err
		}
	}
	c.rep = 0
	if c.page.rep != nil {
		level, err := c.page.rep.next()
		if err != nil {
			return fmt.Errorf("its repetition levels: %w", err)
		}
		if c.rep = level.bits; c.rep > uint64(c.maxRep) {
			return fmt.Errorf("its repetition levels are damaged: %d is above %d", c.rep, c.maxRep)
		}
	}
	c.page.left--
	c.peeked = true
	return nil
}

// entry reads the entry that peek found.
func (c *column) entry() (v value, null bool, err error) {
	if c.page.def != nil {
		level, err := c.page.def.next()
		if err != nil {
			return v, false, err
		}
		if level.bits > uint64(c.maxDef) {
			return v, false, fmt.Errorf("its definition levels are damaged: %d is above %d", level.bits, c.maxDef)
		}
		if level.bits < uint64(c.maxDef) {
			return v, true, nil
		}
	}
	v, err = c.page.values.next()
	return v, false, err
}

// end makes sure that the row group ends here.
func (c *column) end() error {
	if c.source == nil {
		return nil
	}
	switch err := c.peek(); err {
	case nil:
		return errTooManyValues
	case io.EOF, errUnchecked:
		c.source = nil
		return nil
	default:
		return err
	}
}

// errUnchecked is where the check of a column ends whose values nobody wants.
var errUnchecked = errors.New("not checked")

var errTooManyValues = errors.New("it has more values than the row group has rows")

// noEarlyEnd returns an error that callers do not mistake for the end of the file.
func noEarlyEnd(err error) error {
	if errors.Is(err, io.EOF) {
		return errors.New("its values end before the row group does")
	}
	return err
}
