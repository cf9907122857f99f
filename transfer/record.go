package transfer

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/smolwc/smolwc/cells"
)

// A record is one line of a file, or several if a quoted field contains line breaks. It
// holds the fields that the spec uses. It is valid until the next one is read; its texts
// stay valid.
type record struct {
	file   string
	line   int // the first line, counted from 1
	lines  int // number of lines
	base   int // the number of the line before the file, in an import of several
	names  []string
	fields []field // in the order of names
}

// A field is the text of one value.
type field struct {
	text  string
	state fieldState
	code  code
}

type fieldState uint8

const (
	absent  fieldState = iota // JSON null, or missing
	present                   // with text
	nested                    // a JSON object or list
	typed                     // with text, from a file that distinguishes null and empty text
	bare                      // a JSON number or boolean
)

func (r *record) decoded(field int) (string, *LineError) {
	f := &r.fields[field]
	text, problem := f.code.decode(f.text)
	if problem != "" {
		return "", r.fault(field, "%s", problem)
	}
	return text, nil
}

func (r *record) field(i int) field { return r.fields[i] }

func (r *record) fault(field int, format string, args ...any) *LineError {
	e := r.wrong(format, args...)
	e.Field = r.names[field]
	return e
}

func (r *record) wrong(format string, args ...any) *LineError {
	return &LineError{File: r.file, Line: r.line, Lines: max(r.lines, 1), Problem: fmt.Sprintf(format, args...)}
}

// A recordReader reads a file record by record.
type recordReader interface {
	// next reads the next record into rec. It returns io.EOF at the end, a *LineError
	// if this record is bad and the next one can be read, and another error if the file
	// cannot be read further.
	next(rec *record) error
	// raw is the text of the last record and of the header, for files of bad lines; nil:
	// the file is not made of lines. It is valid until the next record is read.
	raw() (header, record []byte)
	// close reports mistakes that show only at the end of the file.
	close() error
}

// maxRecord bounds the bytes of one record in memory. It exceeds the largest value,
// even if all of it is escaped in JSON.
const maxRecord = 256 << 20

// fieldOf is a value as a field. An object or a list keeps its text.
func fieldOf(raw string) (f field, problem string) {
	switch {
	case raw == "" || raw == "null":
		return field{}, ""
	case raw[0] == '{' || raw[0] == '[':
		return field{text: raw, state: nested}, ""
	case raw[0] == '"' && !strings.Contains(raw, `\`):
		return field{text: raw[1 : len(raw)-1], state: present}, ""
	case raw[0] == '"':
		text, ok := (&scanner{raw, 0}).str()
		if !ok {
			return f, "has half of a surrogate pair, which is no character"
		}
		return field{text: text, state: present}, ""
	}
	return field{text: raw, state: bare}, ""
}

// naturalType is the type of a JSON value by its form. A whole number that does not fit an
// i64 is text, as an f64 would round it, and so is one that is too large for an f64.
func (f field) naturalType() cells.Type {
	switch {
	case f.state != bare:
		return cells.TypeString
	case f.text == "true" || f.text == "false":
		return cells.TypeBool
	case strings.ContainsAny(f.text, ".eE"):
		if _, err := strconv.ParseFloat(f.text, 64); err != nil {
			return cells.TypeString
		}
		return cells.TypeF64
	}
	if _, err := strconv.ParseInt(f.text, 10, 64); err != nil {
		return cells.TypeString
	}
	return cells.TypeI64
}
