package transfer

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"
)

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
// is unquoted.
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
