package cells

import "fmt"

// An Op is a comparison of one value with another.
type Op uint8

// The comparisons. Values are ordered by [Compare]: numbers by their exact value,
// whatever their types; other values only with values of the same type.
const (
	OpEqual Op = iota
	OpNotEqual
	OpLess
	OpLessOrEqual
	OpGreater
	OpGreaterOrEqual
)

var opNames = [...]string{"==", "!=", "<", "<=", ">", ">="}

// Valid reports whether o is one of the comparisons.
func (o Op) Valid() bool { return int(o) < len(opNames) }

// String is the operator as the language writes it.
func (o Op) String() string {
	if o.Valid() {
		return opNames[o]
	}
	return fmt.Sprintf("op(%d)", int(o))
}

// Holds reports whether the comparison of a with b is true. For values that
// [Compare] cannot order, only OpNotEqual is true.
func (o Op) Holds(a, b Value) bool {
	order, comparable := Compare(a, b)
	if !comparable {
		return o == OpNotEqual
	}
	switch o {
	case OpEqual:
		return order == 0
	case OpNotEqual:
		return order != 0
	case OpLess:
		return order < 0
	case OpLessOrEqual:
		return order <= 0
	case OpGreater:
		return order > 0
	}
	return order >= 0
}
