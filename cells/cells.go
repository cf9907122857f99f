// Package cells holds the parts of a cell: a typed [Value], a [Timestamp]
// in microseconds, and the [Cell] that joins them to a family and a qualifier;
// and the binary encoding of values, one tag byte and a payload.
//
// Everything here is a plain value: safe to copy and to share between
// goroutines as long as nobody writes to bytes that a Value was made from.
package cells

import (
	"strconv"
	"strings"
)

// A Cell is one version of one column of a row.
type Cell struct {
	// Family is the declared column family.
	Family string
	// Qualifier names the column within the family: 0 to 16,384 bytes, any bytes.
	Qualifier string
	// Timestamp is the version; newer cells of a column come first.
	Timestamp Timestamp
	Value     Value
}

// Column returns the cell's column as family:qualifier, for messages. It is not
// quoted; the shell's printer gives text that can be typed back.
func (c Cell) Column() string { return c.Family + ":" + c.Qualifier }

// String is the cell in one line, for people: family:qualifier@timestamp=value, with
// text and unprintable bytes in quotes.
func (c Cell) String() string {
	text := c.Value.String()
	if c.Value.Type() == TypeString {
		text = strconv.Quote(text)
	}
	column := c.Column()
	if strings.ContainsFunc(column, func(r rune) bool { return !strconv.IsPrint(r) || r == ' ' || r == '"' }) {
		column = strconv.Quote(column)
	}
	return column + "@" + strconv.FormatInt(int64(c.Timestamp), 10) + "=" + text
}
