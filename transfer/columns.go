package transfer

import (
	"strings"

	"github.com/smolwc/smolwc/cells"
)

// A column is a mapping with a definite type.
type column struct {
	family, qualifier string // if there is a template, the qualifier is its text
	named             template
	typ               cells.Type
	field             int
	code              code  // if the spec names the field with a suffix
	path              *path // of the field; nil: it is a name
	all               bool  // each member of the field is a column
	comma             bool  // numbers have a decimal comma
	untyped           bool  // neither the spec nor the family names a type
	// Of an untyped column: the texts so far, and the types that take all of them.
	texts int64
	fits  fits
}

// convert makes a value of a field's text.
func (c *column) convert(text string, f field) (v cells.Value, problem string) {
	typ := c.typ
	if typ == cells.TypeAny {
		typ = f.naturalType()
	}
	if c.untyped && typ == cells.TypeString && c.fits.number() {
		of := text
		if c.comma {
			of, _ = withPoint(text)
		}
		c.fits.add(of)
		c.texts++
	}
	if c.comma && (typ.Numeric() || typ == cells.TypeByte) && strings.ContainsAny(text, ",.") {
		plain, ok := withPoint(strings.TrimSpace(text))
		if !ok {
			return v, quote(text) + " is not a number with a decimal comma, as 1234,5 or 1.234,5"
		}
		text = plain
	}
	return convert(text, typ)
}

// notOneValue is the fault of an object or a list where one value is wanted.
func (r *record) notOneValue(c *column) *LineError {
	takes := c.typ.String()
	if c.typ == cells.TypeAny {
		takes = "text, numbers and booleans"
	}
	return r.fault(c.field, "is an object or a list here; %s:%s takes %s", c.family, c.qualifier, takes)
}
