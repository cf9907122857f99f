package transfer

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/smolwc/smolwc/schema"
)

// A csvReader reads RFC 4180: commas, optional double quotes, lines that end in LF or
// CRLF. It skips empty lines.
type csvReader struct {
	file    string
	bound   *boundedReader
	csv     *csv.Reader
	header  []string
	columns []int  // for each used field, its index in a line
	codes   []code // the encodings of these fields
	line    int    // the last line read
}

// newCSVReader reads the header.
func newCSVReader(file string, r io.Reader, names *fieldNames) (*csvReader, error) {
	c := &csvReader{file: file, bound: &boundedReader{r: r}}
	c.csv = csv.NewReader(c.bound)
	c.csv.FieldsPerRecord = -1
	header, err := c.csv.Read()
	if errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: the file is empty; the first line of a CSV file names its fields", file)
	}
	if err != nil {
		return nil, c.failure(err)
	}
	c.line, _ = c.lastLine(header)
	c.header = header
	c.csv.ReuseRecord = true
	for i, part := range names.parts {
		at, code, err := names.find(i, header)
		if err != nil {
			return nil, specErrorf(part, "%s: %v", file, err)
		}
		c.columns, c.codes = append(c.columns, at), append(c.codes, code)
	}
	return c, nil
}

func findField(header []string, name string) (int, error) {
	at := -1
	for i, h := range header {
		switch {
		case h != name:
		case at >= 0:
			return 0, fmt.Errorf("the header has field %s twice, as fields %d and %d; it is not clear which one is meant", quote(name), at+1, i+1)
		default:
			at = i
		}
	}
	if at < 0 {
		return 0, unknownField(name, header)
	}
	return at, nil
}

// unknownField returns the error for a field that a file does not have.
func unknownField(name string, known []string) error {
	const most = 30
	list := known
	if len(list) > most {
		list = append(list[:most:most], "…")
	}
	return fmt.Errorf("there is no field %s%s (the fields are %s)", quote(name), schema.DidYouMean(name, known), strings.Join(list, ", "))
}

func (c *csvReader) next(rec *record) error {
	c.bound.since = 0
	values, err := c.csv.Read()
	if err != nil {
		return c.failure(err)
	}
	rec.line, _ = c.csv.FieldPos(0)
	c.line, rec.lines = c.lastLine(values)
	if len(values) != len(c.header) {
		return rec.wrong("has %d %s, the header has %d", len(values), plural(len(values), "field"), len(c.header))
	}
	for i, at := range c.columns {
		rec.fields[i] = field{values[at], present, c.codes[i]}
	}
	return nil
}

// lastLine returns the last line of a record: the line of its last field plus the line
// breaks in it, and the number of lines.
func (c *csvReader) lastLine(values []string) (last, lines int) {
	first, _ := c.csv.FieldPos(0)
	last, _ = c.csv.FieldPos(len(values) - 1)
	last += strings.Count(values[len(values)-1], "\n")
	return last, last - first + 1
}

func (c *csvReader) failure(err error) error {
	if errors.Is(err, io.EOF) {
		return io.EOF
	}
	if errors.Is(err, errTooLong) {
		return fmt.Errorf("%s:%d: the record that begins here is longer than %d MiB; is a quote not closed?", c.file, c.line+1, maxRecord>>20)
	}
	pe, ok := errors.AsType[*csv.ParseError](err)
	if !ok || !(errors.Is(pe.Err, csv.ErrQuote) || errors.Is(pe.Err, csv.ErrBareQuote)) {
		return readError(c.file, c.line, err)
	}
	c.line = pe.Line
	bad := &LineError{File: c.file, Line: pe.StartLine, Lines: pe.Line - pe.StartLine + 1}
	switch {
	case errors.Is(pe.Err, csv.ErrBareQuote):
		bad.Problem = fmt.Sprintf("a quote in the middle of a field, at byte %d; a field with quotes is quoted itself, and its quotes are doubled", pe.Column)
	case bad.Lines > 1:
		bad.Problem = fmt.Sprintf("a quote that is opened here is closed wrongly or not at all, up to line %d", pe.Line)
	default:
		bad.Problem = fmt.Sprintf("a quote that is not closed, or text after the closing one, at byte %d; quotes in a field are doubled", pe.Column)
	}
	return bad
}

func (c *csvReader) close() error { return nil }

func plural(n int, noun string) string {
	if n == 1 {
		return noun
	}
	return noun + "s"
}

// errTooLong is the error of a record too large for memory.
var errTooLong = errors.New("record too long")

// A boundedReader fails if a single record exceeds maxRecord bytes.
type boundedReader struct {
	r     io.Reader
	since int // bytes since the last record began
}

func (b *boundedReader) Read(p []byte) (int, error) {
	if b.since > maxRecord {
		return 0, errTooLong
	}
	n, err := b.r.Read(p)
	b.since += n
	return n, err
}
