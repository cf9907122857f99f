package transfer

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/smolwc/smolwc/schema"
)

// A csvReader reads CSV: what a [Dialect] says, or what the file's beginning shows. Lines
// end in LF, CRLF or CR. It skips empty lines. Of TSV it reads what the shell writes: see
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
	head, whole, err := peek(c.lines.in, f.live)
	if err != nil {
		return nil, readError(file, 0, err)
	}
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

// peek returns the beginning of a text, and whether it is all of it. Of a live stream it is
// what has come, three lines at least.
func peek(in *bufio.Reader, live bool) (head []byte, whole bool, err error) {
	for n := 1; live && n <= sniffed; n = in.Buffered() + 1 {
		head, err = in.Peek(n)
		if head, _ = in.Peek(min(in.Buffered(), sniffed)); err != nil || bytes.Count(head, []byte("\n"))+bytes.Count(head, []byte("\r")) >= 6 {
			break
		}
	}
	if !live {
		head, err = in.Peek(sniffed)
	}
	if whole = errors.Is(err, io.EOF); whole {
		err = nil
	}
	return head, whole, err
}

// sniffFor looks at the beginning of a file that should have certain fields: a line with
// their names is the header.
func sniffFor(head []byte, whole bool, given Dialect, names *fieldNames) sight {
	first := sniff(head, whole, given)
	named, plain := first.Dialect, given
	named.Header, plain.Header = cmp.Or(given.Header, Yes), cmp.Or(given.Header, Yes)
	plain.Separator, plain.Quote, plain.Comment = cmp.Or(given.Separator, ","), cmp.Or(given.Quote, `"`), cmp.Or(given.Comment, None)
	plain.Skip = cmp.Or(given.Skip, -1)
	for _, s := range []func() sight{
		func() sight { return first },
		func() sight { return sniff(head, whole, named) },
		func() sight { return sniff(head, whole, plain) },
	} {
		if s := s(); names.allIn(s.header) {
			return s
		}
	}
	return first
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
		return rec.wrong("has %d %s, the header has %d; ragged lets the others have no value", n, plural(n, "field"), want)
	default:
		return rec.wrong("has %d %s, the header has %d", n, plural(n, "field"), want)
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

func (c *csvReader) text() (header, record []byte) { return c.headerText, c.lines.text }

func (c *csvReader) close() error { return nil }

// textLines reads the lines of a text, which end in LF, CRLF or CR.
type textLines struct {
	in          *bufio.Reader
	first, last int // the lines of the current record, counted from 1
	keep        bool
	text        []byte // with keep, the text of the current record
	long        []byte
}

// begin reads the first line of a record, past empty ones and comments; "" begins none.
func (l *textLines) begin(comment []byte) ([]byte, error) {
	for {
		l.first = l.last + 1
		l.text = l.text[:0]
		line, err := l.next()
		if err != nil || !isLineEnd(line) && (len(comment) == 0 || !bytes.HasPrefix(line, comment)) {
			return line, err
		}
	}
}

// next returns the next line with its end, which the last one may lack. It is valid until
// the next call. The error is io.EOF at the end.
func (l *textLines) next() ([]byte, error) {
	line, err := l.line()
	if l.keep {
		l.text = append(l.text, line...)
	}
	return line, err
}

func (l *textLines) line() ([]byte, error) {
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
// Quotes elsewhere in a field are text.
type csvRecords struct {
	lines     *textLines
	file      string
	separator []byte
	quote     byte // 0: quotes mean nothing
	backslash bool // before a quote within quotes
	comment   []byte
	spaced    bool   // spaces around quotes belong to no field
	text      []byte // of all fields
	ends      []int  // of the fields in text
	opened    int    // fields of the record in quotes
	escaped   int    // quotes after a backslash so far
	fields    []string
}

func newCSVRecords(lines *textLines, file string, d *Dialect) *csvRecords {
	c := &csvRecords{lines: lines, file: file, separator: []byte(d.separator()), quote: d.quoteByte(), backslash: d.backslash, comment: []byte(d.comment())}
	c.spaced = c.separator[0] != ' '
	return c
}

func (c *csvRecords) read() ([]string, error) {
	line, err := c.lines.begin(c.comment)
	if err != nil {
		return nil, err
	}
	c.text, c.ends, c.opened = c.text[:0], c.ends[:0], 0
	rest := line
	for more := true; more; {
		if quoted := c.atQuote(rest); quoted > 0 {
			c.opened++
			line, rest, more, err = c.quoted(line, rest[quoted:])
		} else {
			rest, more = c.bare(rest)
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

// atQuote is the number of bytes up to the end of a quote that opens a field; 0: the field
// has no quotes.
func (c *csvRecords) atQuote(rest []byte) int {
	n := 0
	for c.spaced && n < len(rest) && rest[n] == ' ' {
		n++
	}
	if c.quote != 0 && n < len(rest) && rest[n] == c.quote {
		return n + 1
	}
	return 0
}

// bare reads a field without quotes. more says that a separator follows.
func (c *csvRecords) bare(rest []byte) (after []byte, more bool) {
	field := rest
	if i := bytes.Index(rest, c.separator); i >= 0 {
		field, after, more = rest[:i], rest[i+len(c.separator):], true
	} else if end := lineEnd(rest); end >= 0 {
		field = rest[:end]
	}
	c.text = append(c.text, field...)
	return after, more
}

// quoted reads a field after its opening quote. It returns the line in which the field ends.
func (c *csvRecords) quoted(line, rest []byte) (last, after []byte, more bool, err error) {
	for {
		i := bytes.IndexByte(rest, c.quote)
		if c.backslash {
			i = c.untilQuote(&rest)
		}
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
		if len(rest) > 0 && rest[0] == c.quote {
			c.text, rest = append(c.text, c.quote), rest[1:]
			continue
		}
		for c.spaced && len(rest) > 0 && rest[0] == ' ' {
			rest = rest[1:]
		}
		switch {
		case isLineEnd(rest):
			return line, nil, false, nil
		case bytes.HasPrefix(rest, c.separator):
			return line, rest[len(c.separator):], true, nil
		}
		return nil, nil, false, c.unclosed(len(line) - len(rest))
	}
}

// untilQuote is the index of the next quote that no backslash takes for text. It moves text
// with backslashes out of rest.
func (c *csvRecords) untilQuote(rest *[]byte) int {
	for {
		i := bytes.IndexAny(*rest, string([]byte{c.quote, '\\'}))
		if i < 0 || (*rest)[i] == c.quote {
			return i
		}
		if i+1 < len(*rest) && ((*rest)[i+1] == c.quote || (*rest)[i+1] == '\\') {
			c.text = append(append(c.text, (*rest)[:i]...), (*rest)[i+1])
			if (*rest)[i+1] == c.quote {
				c.escaped++
			}
			*rest = (*rest)[i+2:]
			continue
		}
		c.text = append(c.text, (*rest)[:i+1]...)
		*rest = (*rest)[i+1:]
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
type tabRecords struct {
	lines   *textLines
	comment []byte
}

func (t *tabRecords) read() ([]string, error) {
	line, err := t.lines.begin(t.comment)
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
