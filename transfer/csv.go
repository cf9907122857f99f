package transfer

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/smolwc/smolwc/schema"
)

// A csvReader reads RFC 4180: commas, optional double quotes, lines that end in LF, CRLF or
// CR. It skips empty lines. Of TSV it reads what the shell writes: see tabRecords.
type csvReader struct {
	file    string
	bound   *boundedReader
	records interface {
		// read returns the fields of the next record. Their texts stay valid.
		read() ([]string, error)
	}
	lines   textLines
	header  header
	columns []int  // for each used field, its index in a line
	codes   []code // the encodings of these fields
}

// newCSVReader reads the header.
func newCSVReader(file string, r io.Reader, f format, names *fieldNames) (*csvReader, error) {
	c := &csvReader{file: file, bound: &boundedReader{r: r}}
	c.lines.in = bufio.NewReaderSize(c.bound, 1<<16)
	if c.records = (&csvRecords{lines: &c.lines, file: file}); f.tabs {
		c.records = &tabRecords{&c.lines}
	}
	fields, err := c.records.read()
	if errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: the file is empty; the first line of a CSV or TSV file names its fields", file)
	}
	if err != nil {
		return nil, c.failure(err)
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
	values, err := c.records.read()
	if err != nil {
		return c.failure(err)
	}
	rec.line, rec.lines = c.lines.first, c.lines.last-c.lines.first+1
	if len(values) != len(c.header.names) {
		return rec.wrong("has %d %s, the header has %d", len(values), plural(len(values), "field"), len(c.header.names))
	}
	for i, at := range c.columns {
		rec.fields[i] = field{values[at], present, c.codes[i]}
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

func (c *csvReader) close() error { return nil }

// textLines reads the lines of a text, which end in LF, CRLF or CR.
type textLines struct {
	in          *bufio.Reader
	first, last int // the lines of the current record, counted from 1
	long        []byte
}

// begin reads the first line of a record, past empty ones.
func (l *textLines) begin() ([]byte, error) {
	for {
		l.first = l.last + 1
		if line, err := l.next(); err != nil || !isLineEnd(line) {
			return line, err
		}
	}
}

// next returns the next line with its end, which the last one may lack. It is valid until
// the next call. The error is io.EOF at the end.
func (l *textLines) next() ([]byte, error) {
	l.long = l.long[:0]
	for {
		if _, err := l.in.Peek(1); err != nil {
			if !errors.Is(err, io.EOF) || len(l.long) == 0 {
				return nil, err
			}
			l.last++
			return l.long, nil
		}
		part, _ := l.in.Peek(l.in.Buffered())
		end := lineEnd(part)
		if end < 0 {
			l.long = append(l.long, part...)
			l.discard(len(part))
			continue
		}
		if part[end] == '\r' && end+1 == len(part) { // its LF may be in the next buffer
			l.long = append(l.long, part...)
			l.discard(len(part))
			if lf, _ := l.in.Peek(1); len(lf) == 1 && lf[0] == '\n' {
				l.long = append(l.long, '\n')
				l.discard(1)
			}
			l.last++
			return l.long, nil
		}
		if end++; part[end-1] == '\r' && part[end] == '\n' {
			end++
		}
		l.last++
		l.discard(end)
		if len(l.long) == 0 {
			return part[:end], nil
		}
		l.long = append(l.long, part[:end]...)
		return l.long, nil
	}
}

func (l *textLines) discard(n int) { _, _ = l.in.Discard(n) } // they are in its buffer

// lineEnd is the index of the first LF or CR; -1: b has neither.
func lineEnd(b []byte) int {
	lf := bytes.IndexByte(b, '\n')
	if lf >= 0 {
		b = b[:lf]
	}
	if cr := bytes.IndexByte(b, '\r'); cr >= 0 {
		return cr
	}
	return lf
}

// isLineEnd reports whether nothing but the end of a line is left of it.
func isLineEnd(b []byte) bool { return len(b) == 0 || b[0] == '\n' || b[0] == '\r' }

// csvRecords reads the records of CSV. A field in quotes keeps its line ends as they are.
type csvRecords struct {
	lines  *textLines
	file   string
	text   []byte // of all fields
	ends   []int  // of the fields in text
	fields []string
}

func (c *csvRecords) read() ([]string, error) {
	line, err := c.lines.begin()
	if err != nil {
		return nil, err
	}
	c.text, c.ends = c.text[:0], c.ends[:0]
	rest := line
	for more := true; more; {
		if len(rest) > 0 && rest[0] == '"' {
			line, rest, more, err = c.quoted(line, rest)
		} else {
			rest, more, err = c.bare(line, rest)
		}
		if err != nil {
			return nil, err
		}
		c.ends = append(c.ends, len(c.text))
	}
	all := string(c.text)
	c.fields = c.fields[:0]
	from := 0
	for _, end := range c.ends {
		c.fields = append(c.fields, all[from:end])
		from = end
	}
	return c.fields, nil
}

// bare reads a field without quotes. more says that a comma follows.
func (c *csvRecords) bare(line, rest []byte) (after []byte, more bool, err error) {
	field := rest
	if i := bytes.IndexByte(rest, ','); i >= 0 {
		field, after, more = rest[:i], rest[i+1:], true
	} else if end := lineEnd(rest); end >= 0 {
		field = rest[:end]
	}
	if i := bytes.IndexByte(field, '"'); i >= 0 {
		return nil, false, c.bad("a quote in the middle of a field, at byte %d; a field with quotes is quoted itself, and its quotes are doubled", len(line)-len(rest)+i+1)
	}
	c.text = append(c.text, field...)
	return after, more, nil
}

// quoted reads a field in quotes. It returns the line in which the field ends.
func (c *csvRecords) quoted(line, rest []byte) (last, after []byte, more bool, err error) {
	for rest = rest[1:]; ; {
		i := bytes.IndexByte(rest, '"')
		if i < 0 {
			c.text = append(c.text, rest...)
			if line, err = c.lines.next(); errors.Is(err, io.EOF) {
				err = c.unclosed(len(line))
			}
			if err != nil {
				return nil, nil, false, err
			}
			rest = line
			continue
		}
		c.text, rest = append(c.text, rest[:i]...), rest[i+1:]
		switch {
		case isLineEnd(rest):
			return line, nil, false, nil
		case rest[0] == ',':
			return line, rest[1:], true, nil
		case rest[0] != '"':
			return nil, nil, false, c.unclosed(len(line) - len(rest))
		}
		c.text, rest = append(c.text, '"'), rest[1:]
	}
}

func (c *csvRecords) unclosed(at int) error {
	if c.lines.last > c.lines.first {
		return c.bad("a quote that is opened here is closed wrongly or not at all, up to line %d", c.lines.last)
	}
	return c.bad("a quote that is not closed, or text after the closing one, at byte %d; quotes in a field are doubled", at)
}

func (c *csvRecords) bad(format string, args ...any) error {
	return &LineError{File: c.file, Line: c.lines.first, Lines: c.lines.last - c.lines.first + 1, Problem: fmt.Sprintf(format, args...)}
}

// tabRecords reads lines of fields with tabs between them. Quotes mean nothing. A
// backslash before t, n, r or another backslash is an escape, and so are \xNN, \uNNNN and
// \UNNNNNNNN, as the shell writes them; any other one stands for itself. It skips empty
// lines.
type tabRecords struct{ lines *textLines }

func (t *tabRecords) read() ([]string, error) {
	line, err := t.lines.begin()
	if err != nil {
		return nil, err
	}
	if end := lineEnd(line); end >= 0 {
		line = line[:end]
	}
	fields := strings.Split(string(line), "\t")
	for i, f := range fields {
		fields[i] = untabbed(f)
	}
	return fields, nil
}

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
