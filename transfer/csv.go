package transfer

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/smolwc/smolwc/internal/humanize"
)

// A csvReader reads CSV in the form of a [Dialect], or of the file's beginning. Lines
// end in LF, CRLF or CR. It skips empty lines. Of TSV it reads the shell's form: see
// tabRecords.
type csvReader struct {
	file    string
	bound   *boundedReader
	records interface {
		// read returns the fields of the next record. Their texts stay valid.
		read() ([]string, error)
	}
	lines      textLines
	dialect    Dialect
	header     header
	headerText []byte
	columns    []int  // for each used field, its index in a line
	codes      []code // the encodings of these fields
}

// newCSVReader sees how the file is written, and reads the header.
func newCSVReader(file string, r io.Reader, f format, given Dialect, names *fieldNames) (*csvReader, error) {
	c := &csvReader{file: file, bound: &boundedReader{r: r}}
	c.lines.in, c.lines.keep = bufio.NewReaderSize(c.bound, sniffed), true
	head, whole, in, err := peek(c.lines.in, f.live)
	if err != nil {
		return nil, readError(file, 0, err)
	}
	c.lines.in = in
	plain := f.tabs && given.Separator == "" && given.Quote == ""
	s := sniffFor(head, whole, given.of(f), names)
	c.dialect = s.Dialect
	for range max(c.dialect.Skip, 0) {
		if _, err := c.lines.next(); err != nil {
			break // then the file is empty
		}
	}
	if c.records = newCSVRecords(&c.lines, file, &c.dialect); plain {
		c.records = &tabRecords{&c.lines, []byte(c.dialect.comment())}
	}
	fields := make([]string, len(s.names))
	if c.dialect.Header != No {
		fields, err = c.records.read()
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, c.failure(err)
		}
		c.headerText = slices.Clone(c.lines.text)
	}
	if len(fields) == 0 {
		return nil, fmt.Errorf("%s: the file is empty; the first line of a CSV or TSV file names its fields", file)
	}
	c.header = newHeader(fields)
	for i, part := range names.parts {
		at, code, err := names.find(i, c.header)
		if err != nil {
			return nil, specErrorf(part, "%s: %v", file, err)
		}
		c.columns, c.codes = append(c.columns, at), append(c.codes, code)
	}
	return c, nil
}

func (c *csvReader) next(rec *record) error {
	c.bound.since = 0
	values, err := c.records.read()
	for err == nil && len(values) == 1 && len(c.header.names) > 1 && strings.TrimSpace(values[0]) == "" { // a line of spaces
		values, err = c.records.read()
	}
	if err != nil {
		return c.failure(err)
	}
	rec.line, rec.lines = c.lines.first, c.lines.last-c.lines.first+1
	switch n, want := len(values), len(c.header.names); {
	case n > want && filled(values[want:]) == 0: // separators at the end
	case n < want && c.dialect.Ragged || n == want:
	case n < want:
		return rec.wrong("has %d %s, the header has %d; ragged lets the others have no value", n, humanize.Unit(n, "field"), want)
	default:
		return rec.wrong("has %d %s, the header has %d", n, humanize.Unit(n, "field"), want)
	}
	for i, at := range c.columns {
		rec.fields[i] = field{}
		if at < len(values) {
			rec.fields[i] = field{values[at], present, c.codes[i]}
		}
	}
	return nil
}

func (c *csvReader) failure(err error) error {
	if _, bad := err.(*LineError); bad || errors.Is(err, io.EOF) {
		return err
	}
	if errors.Is(err, errTooLong) {
		return fmt.Errorf("%s:%d: the record that begins here is longer than %d MiB; is a quote not closed?", c.file, c.lines.first, maxRecord>>20)
	}
	return readError(c.file, c.lines.last, err)
}

func (c *csvReader) raw() (header, record []byte) { return c.headerText, c.lines.text }

func (c *csvReader) close() error { return nil }

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
