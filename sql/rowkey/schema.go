// Package rowkey is the fields of structured row keys: a table's row-key schema says how
// a key is made of values. The package decodes keys, and finds the keys whose fields
// have certain values.
package rowkey

import (
	"strings"

	"cloud.google.com/go/bigtable/admin/apiv2/adminpb"

	"github.com/smolwc/smolwc/sql/parse"
	"github.com/smolwc/smolwc/sql/value"
)

// A Schema is the fields of the row keys of a table. It is nil for a table without
// fields. Goroutines may share it.
type Schema struct {
	fields    []field
	layout    layout
	delimiter string
}

// A layout is how the encoded fields are joined.
type layout uint8

const (
	singleton layout = iota
	delimited
	ordered
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

// New reads a schema of the API. A field whose type has no encoding in row keys has the
// type NULL.
func New(s *adminpb.Type_Struct) *Schema {
	if len(s.GetFields()) == 0 {
		return nil
	}
	made := &Schema{}
	switch e := s.GetEncoding().GetEncoding().(type) {
	case *adminpb.Type_Struct_Encoding_DelimitedBytes_:
		made.layout, made.delimiter = delimited, string(e.DelimitedBytes.GetDelimiter())
	case *adminpb.Type_Struct_Encoding_OrderedCodeBytes_:
		made.layout = ordered
	}
	for _, f := range s.GetFields() {
		kind, code := codeOf(f.GetType())
		made.fields = append(made.fields, field{f.GetFieldName(), value.Type{Kind: kind}, code})
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
	case ordered:
		return cutOrdered(rest)
	case singleton:
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
	case s.layout != ordered:
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

// After is the beginning of the keys that begin with base, which has the fields before,
// and whose field i has a value that fits.
func (s *Schema) After(base string, i int, v any) string {
	raw, _ := s.fields[i].code.encode(v)
	if s.layout == ordered {
		return base + s.written(raw) + separator
	}
	return base + raw + s.delimiter
}
