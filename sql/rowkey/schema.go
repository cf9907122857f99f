// Package rowkey is the fields of structured row keys: a table's row-key schema says how
// a key is made of values. The package decodes keys, and finds the keys whose fields
// have certain values.
package rowkey

import (
	"strings"

	"github.com/smolwc/smolwc/sql/parse"
	"github.com/smolwc/smolwc/sql/value"
)

// A Schema is the fields of the row keys of a table. It is nil for a table without
// fields. Goroutines may share it.
type Schema struct {
	fields    []field
	layout    Layout
	delimiter string
}

// A Layout is how the encoded fields are joined.
type Layout uint8

const (
	Singleton Layout = iota // one field, which is the key
	Delimited               // with a delimiter between fields
	Ordered                 // so that keys sort as their fields do
)

// Ordered code ends a field with a separator, and writes a zero byte as escapedZero and
// an empty field as emptyField.
const (
	separator   = "\x00\x01"
	escapedZero = "\x00\xff"
	emptyField  = "\x00\x00"
)

type field struct {
	name string
	typ  value.Type
	code code
}

// A Field is a field as it is declared: BYTES, STRING, INT64 or TIMESTAMP. The kind
// [value.TypeNull] is a field that queries cannot read.
type Field struct {
	Name string
	Kind value.Kind
	// OrderedCode says that numbers are in Google's ordered code, in which they have one to
	// ten bytes. Otherwise they have eight, big-endian.
	OrderedCode bool
}

// New is the schema of fields, nil without fields. Only the layout [Delimited] uses the
// delimiter.
func New(layout Layout, delimiter string, fields ...Field) *Schema {
	if len(fields) == 0 {
		return nil
	}
	made := &Schema{layout: layout, delimiter: delimiter}
	for _, f := range fields {
		made.fields = append(made.fields, field{f.Name, value.Type{Kind: f.Kind}, codeOf(f.Kind, f.OrderedCode)})
	}
	return made
}

// Field is the number and the type of the field with a name; ok is false when there is no
// such field.
func (s *Schema) Field(name string) (i int, t value.Type, ok bool) {
	if s != nil {
		for i, f := range s.fields {
			if parse.Same(f.name, name) {
				return i, f.typ, true
			}
		}
	}
	return 0, value.Type{}, false
}

// Names are the names of the fields.
func (s *Schema) Names() (names []string) {
	if s != nil {
		for _, f := range s.fields {
			names = append(names, f.name)
		}
	}
	return names
}

// Decode is the value of a field in a key. A key that the schema cannot have made is an
// error.
func (s *Schema) Decode(key string, i int) (any, error) {
	rest := key
	for at := range s.fields {
		last := at == len(s.fields)-1
		part, after, ok := s.cut(rest, s.fields[at].code, last)
		if !ok {
			break
		}
		if at == i {
			if v, ok := s.fields[i].code.decode(part); ok {
				return v, nil
			}
			break
		}
		rest = after
	}
	return nil, parse.Invalid("the row key %.100q has no %s in the field %s of the table's row-key schema", key, s.fields[i].typ, s.fields[i].name)
}

// cut cuts the encoding of the next field off.
func (s *Schema) cut(rest string, c code, last bool) (part, after string, ok bool) {
	switch s.layout {
	case Ordered:
		return cutOrdered(rest)
	case Singleton:
		return rest, "", true
	}
	switch n := c.length(rest); {
	case last:
		return rest, "", true
	case n > 0:
		after, ok = strings.CutPrefix(rest[min(n, len(rest)):], s.delimiter)
		return rest[:min(n, len(rest))], after, ok
	}
	return strings.Cut(rest, s.delimiter)
}

// cutOrdered cuts at the next separator. Empty fields at the end are not written.
func cutOrdered(rest string) (part, after string, ok bool) {
	part, after, _ = strings.Cut(rest, separator)
	if part == emptyField {
		return "", after, true
	}
	raw := strings.ReplaceAll(part, escapedZero, "\x00")
	return raw, after, escape(raw) == part
}

func escape(raw string) string { return strings.ReplaceAll(raw, "\x00", escapedZero) }

// written is the encoding of a value in a key, without what follows it.
func (s *Schema) written(raw string) string {
	switch {
	case s.layout != Ordered:
		return raw
	case raw == "":
		return emptyField
	}
	return escape(raw)
}

// Fits reports whether a value is of the type of field i, and another field is after it.
func (s *Schema) Fits(i int, v any) bool {
	_, ok := s.fields[i].code.encode(v)
	return ok && i < len(s.fields)-1
}

// After is the beginning of the keys that begin with base, which holds the fields
// before, and whose field i is a value that fits.
func (s *Schema) After(base string, i int, v any) string {
	raw, _ := s.fields[i].code.encode(v)
	if s.layout == Ordered {
		return base + s.written(raw) + separator
	}
	return base + raw + s.delimiter
}
