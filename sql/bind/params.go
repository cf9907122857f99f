package bind

import (
	"unicode/utf8"

	"github.com/smolwc/smolwc/sql/parse"
	"github.com/smolwc/smolwc/sql/value"
)

// Params are the parameters of a query: their types and, once they are bound, their
// values. The zero Params is empty.
type Params struct {
	types  map[string]value.Type
	values map[string]any // nil until they are bound
	view   map[string]string
}

// WithView returns the parameters with values for VIEW_PARAMETERS, by name, in the queries of
// logical views. The caller no longer changes them. Each that a view names needs one; others
// are ignored.
func (ps Params) WithView(values map[string]string) (Params, error) {
	for name, v := range values {
		if !utf8.ValidString(v) {
			return Params{}, parse.Invalid("view parameter %q: a STRING must be UTF-8", name)
		}
	}
	ps.view = values
	return ps, nil
}

// NewParams are parameters of these types, by name: scalar types, and arrays of them.
func NewParams(types map[string]value.Type) (Params, error) {
	for name, t := range types {
		if t.Kind == value.TypeArray {
			t = *t.Of
		}
		if (t.Kind < value.TypeBytes || t.Kind > value.TypeDate) && t.Kind != value.TypeJSON {
			return Params{}, parse.Invalid("parameter @%s: its type is not one of %s, or an ARRAY of one", name, value.ScalarNames)
		}
	}
	return Params{types: types}, nil
}

// Types are the types of the parameters, by name. The caller does not change them.
func (ps Params) Types() map[string]value.Type { return ps.types }

// Bind returns the parameters with values in the form of package value. Each parameter
// needs one, of its type or nil for NULL. The caller no longer changes them.
func (ps Params) Bind(values map[string]any) (Params, error) {
	bound := Params{types: ps.types, view: ps.view, values: make(map[string]any, len(ps.types))}
	for name, t := range ps.types {
		v, ok := values[name]
		switch {
		case !ok:
			return Params{}, parse.Invalid("parameter @%s has no value", name)
		case !t.Fits(v):
			return Params{}, parse.Invalid("parameter @%s: the value is not a valid %s", name, t)
		}
		bound.values[name] = v
	}
	for name := range values {
		if _, ok := ps.types[name]; !ok {
			return Params{}, parse.Invalid("the query has no parameter @%s", name)
		}
	}
	return bound, nil
}

func (ps Params) bound() bool { return ps.values != nil }
