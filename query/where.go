package query

import (
	"fmt"

	"github.com/smolwc/smolwc/cells"
)

// An Op compares a cell's value with another.
type Op int

// The comparisons. Values are ordered by [cells.Compare]: numbers by their
// exact value whatever their types, others only within one type.
const (
	EQ Op = iota // equal
	NE           // not equal; the column must be there
	LT           // less
	LE           // less or equal
	GT           // greater
	GE           // greater or equal
)

var opNames = [...]string{"==", "!=", "<", "<=", ">", ">="}

// String is the operator as the language writes it.
func (o Op) String() string {
	if o >= 0 && int(o) < len(opNames) {
		return opNames[o]
	}
	return fmt.Sprintf("op(%d)", int(o))
}

func (o Op) holds(order int, comparable bool) bool {
	if !comparable {
		return o == NE
	}
	switch o {
	case EQ:
		return order == 0
	case NE:
		return order != 0
	case LT:
		return order < 0
	case LE:
		return order <= 0
	case GT:
		return order > 0
	}
	return order >= 0
}

// Where reads only rows in which the newest visible cell of a column compares
// so with v: the newest whatever versions and time range the read selects. The
// column need not be selected itself. Several conditions must all hold. Where a
// family declares a type, v must be comparable with it.
func Where(family, qualifier string, op Op, v cells.Value) ReadOption {
	return addCondition(condition{family: family, qualifier: qualifier, op: op, value: v})
}

// Exists reads only rows that have a visible cell in a column.
func Exists(family, qualifier string) ReadOption {
	return addCondition(condition{family: family, qualifier: qualifier, presence: mustExist})
}

// Absent reads only rows that have no visible cell in a column.
func Absent(family, qualifier string) ReadOption {
	return addCondition(condition{family: family, qualifier: qualifier, presence: mustBeAbsent})
}

func addCondition(c condition) ReadOption {
	return optionFunc(func(r *readSpec) { r.where = append(r.where, c) })
}

type presence uint8

const (
	mustCompare presence = iota
	mustExist
	mustBeAbsent
)

// A condition is what one column of a row must satisfy.
type condition struct {
	family, qualifier string
	presence          presence
	op                Op
	value             cells.Value
}

// holds judges the row that the condition's column was read into.
func (c *condition) holds(r *Row) bool {
	cell, ok := r.Cell(c.family, c.qualifier)
	switch {
	case c.presence == mustBeAbsent:
		return !ok
	case !ok:
		return false
	case c.presence == mustExist:
		return true
	}
	return c.op.holds(cells.Compare(cell.Value, c.value))
}

// check finds a comparison that no value of the declared type can satisfy.
func (c *condition) check(declared cells.Type) error {
	t := c.value.Type()
	switch {
	case c.presence != mustCompare:
		return nil
	case c.op < EQ || c.op > GE:
		return faultf(InvalidArgument, "%s:%s: unknown comparison %s", c.family, c.qualifier, c.op)
	case !t.Valid():
		return faultf(InvalidArgument, "%s:%s is compared with a value of no type", c.family, c.qualifier)
	case declared == cells.TypeAny || declared == t || declared.Numeric() && t.Numeric():
		return nil
	}
	return faultf(InvalidArgument, "%s:%s is declared %s and cannot be compared with %s %v", c.family, c.qualifier, declared, t, c.value)
}
