package value

import (
	"bytes"
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/smolwc/smolwc/cells"
)

// Compare orders two values of one type with an order, or two numbers. ok is false if one
// is NaN.
func Compare(a, b any) (order int, ok bool) {
	switch a := a.(type) {
	case []byte:
		return bytes.Compare(a, b.([]byte)), true
	case string:
		return strings.Compare(a, b.(string)), true
	case cells.Timestamp:
		return cmp.Compare(a, b.(cells.Timestamp)), true
	case Datetime:
		return cmp.Compare(a, b.(Datetime)), true
	case Date:
		return cmp.Compare(a, b.(Date)), true
	case Interval:
		return cmp.Compare(a.Total(), b.(Interval).Total()), true
	case Numeric:
		switch b := b.(type) {
		case Numeric:
			return a.Compare(b), true
		case int64:
			return a.Compare(NumericOf(b)), true
		}
	case bool:
		return cmp.Compare(boolInt(a), boolInt(b.(bool))), true
	case int64:
		switch b := b.(type) {
		case int64:
			return cmp.Compare(a, b), true
		case Numeric:
			return NumericOf(a).Compare(b), true
		}
	}
	x, y := ToFloat(a), ToFloat(b)
	if math.IsNaN(x) || math.IsNaN(y) {
		return 0, false
	}
	return cmp.Compare(x, y), true
}

// Order is the order of GROUP BY, ORDER BY and DISTINCT, total over all values: NULL, NaN, then
// the other values. It compares two values of one groupable type, or two numbers. Arrays and
// structs are ordered by their first elements that differ.
// https://cloud.google.com/bigquery/docs/reference/standard-sql/data-types#orderable_data_types
func Order(a, b any) int {
	if a == nil || b == nil {
		return cmp.Compare(boolInt(a != nil), boolInt(b != nil))
	}
	switch a := a.(type) {
	case Array:
		return slices.CompareFunc(a, b.(Array), Order)
	case Struct:
		return slices.CompareFunc(a, b.(Struct), Order)
	}
	if order, ok := Compare(a, b); ok {
		return order
	}
	return cmp.Compare(boolInt(!IsNaN(a)), boolInt(!IsNaN(b)))
}

// Equal is what = makes of two values of a groupable type, or of two numbers: TRUE, FALSE,
// or nil for NULL. Arrays and structs are equal if all their elements are, and NULL if only
// NULLs keep them from being equal.
func Equal(a, b any) any {
	if a == nil || b == nil {
		return nil
	}
	switch a := a.(type) {
	case Array:
		return equalLists(a, b.(Array))
	case Struct:
		return equalLists(a, b.(Struct))
	}
	order, ok := Compare(a, b)
	return ok && order == 0
}

func equalLists(a, b []any) any {
	if len(a) != len(b) {
		return false
	}
	var result any = true
	for i := range a {
		switch equal := Equal(a[i], b[i]); equal {
		case false:
			return false
		case nil:
			result = nil
		}
	}
	return result
}
