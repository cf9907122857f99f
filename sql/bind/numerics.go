package bind

import (
	"github.com/smolwc/smolwc/sql/parse"
	"github.com/smolwc/smolwc/sql/value"
)

var numeric = value.Type{Kind: value.TypeNumeric}

// decimals makes a NUMERIC of the integers and of the literals beside one, unless there is a
// FLOAT64 that is not a literal: all are FLOAT64 then.
func (p *planner) decimals(nodes []*parse.Node, all []*expr) error {
	some := false
	for _, e := range all {
		if isFloat(e.typ) && !e.literal {
			return nil
		}
		some = some || e.typ.Kind == value.TypeNumeric
	}
	for i, e := range all {
		if !some || !e.typ.Numeric() {
			continue
		}
		var err error
		if all[i], err = p.converted(nodes[i], e, numeric); err != nil {
			return err
		}
	}
	return nil
}

// widened is the type of numbers that two types have together.
func widened(a, b value.Kind) value.Type {
	if a != value.TypeNumeric {
		a, b = b, a
	}
	if a == value.TypeNumeric && (b == value.TypeInt64 || b == value.TypeNumeric) {
		return numeric
	}
	return value.Type{Kind: value.TypeFloat64}
}

// widens reports whether numbers become another kind of number where one is required: of integers
// any, and of literals.
func widensTo(e *expr, want value.Kind) bool {
	return want == value.TypeFloat64 || want == value.TypeNumeric && (e.typ.Kind == value.TypeInt64 || e.literal)
}

// isNumeric reports whether one of two expressions is a NUMERIC, which is compared with others of
// its type only.
func isNumeric(a, b value.Type) bool {
	return a.Kind == value.TypeNumeric || b.Kind == value.TypeNumeric
}
