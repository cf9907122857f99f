package transfer

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/smolwc/smolwc/schema"
)

// A csvReader reads RFC 4180: commas, optional double quotes, lines that end in LF or
// CRLF. It skips empty lines. Of TSV it reads what the shell writes: see tabReader.
type csvReader struct {
	file  string
	bound *boundedReader
	csv   interface {
		Read() ([]string, error)
		FieldPos(field int) (line, column int)
	}
	tabs    bool
	header  []string
	columns []int  // for each used field, its index in a line
	codes   []code // the encodings of these fields
	line    int    // the last line read
}

// newCSVReader reads the header.
func newCSVReader(file string, r io.Reader, f format, names *fieldNames) (*csvReader, error) {
	c := &csvReader{file: file, bound: &boundedReader{r: r}, tabs: f.tabs}
	if f.tabs {
		c.csv = &tabReader{in: bufio.NewReaderSize(c.bound, 1<<16)}
	} else {
		in := csv.NewReader(c.bound)
		in.FieldsPerRecord, in.ReuseRecord = -1, true
		c.csv = in
	}
	header, err := c.csv.Read()
	if errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: the file is empty; the first line of a CSV or TSV file names its fields", file)
	}
	if err != nil {
		return nil, c.failure(err)
	}
	c.line, _ = c.lastLine(header)
	c.header = slices.Clone(header)
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
	if c.tabs {
		return first, 1
	}
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

// A tabReader reads lines of fields with tabs between them. Quotes mean nothing. A
// backslash before t, n, r or another backslash is an escape, and so are \xNN, \uNNNN and
// \UNNNNNNNN, as the shell writes them; any other one stands for itself. It skips empty
// lines.
type tabReader struct {
	in   *bufio.Reader
	line int
}

func (t *tabReader) Read() ([]string, error) {
	for {
		text, err := t.in.ReadString('\n')
		if err != nil && (text == "" || !errors.Is(err, io.EOF)) {
			return nil, err
		}
		t.line++
		if text = strings.TrimSuffix(strings.TrimSuffix(text, "\n"), "\r"); text == "" {
			continue
		}
		fields := strings.Split(text, "\t")
		for i, f := range fields {
			fields[i] = untabbed(f)
		}
		return fields, nil
	}
}

// FieldPos is the line of the record.
func (t *tabReader) FieldPos(int) (line, column int) { return t.line, 1 }

// untabbed replaces the escapes of a field of TSV.
func untabbed(s string) string {
	var b strings.Builder
	for {
		n := strings.IndexByte(s, '\\')
		if n < 0 {
			b.WriteString(s)
			return b.String()
		}
		b.WriteString(s[:n])
		if s = s[n:]; len(s) > 1 && strings.IndexByte(`tnr\xuU`, s[1]) >= 0 {
			if r, multibyte, rest, err := strconv.UnquoteChar(s, 0); err == nil {
				if multibyte || r < utf8.RuneSelf {
					b.WriteRune(r)
				} else {
					b.WriteByte(byte(r))
				}
				s = rest
				continue
			}
		}
		b.WriteByte('\\')
		s = s[1:]
	}
}

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
