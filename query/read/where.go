package read

import (
	"fmt"

	"github.com/smolwc/smolwc/cells"
)

// A Condition is a requirement on one column of a row: on its newest visible cell,
// whatever versions and times the read selects. The column need not be selected itself.
// Several conditions must all hold.
type Condition struct {
	Family, Qualifier string
	Kind              ConditionKind
	Op                cells.Op    // for Compares
	Value             cells.Value // for Compares
}

// A ConditionKind is the kind of a [Condition]'s requirement.
type ConditionKind uint8

// The kinds of conditions.
const (
	Compares  ConditionKind = iota // the cell exists and compares as asked with the value
	IsPresent                      // there is a cell
	IsAbsent                       // there is no cell
)

func (c Condition) apply(r *Request) { r.Where = append(r.Where, c) }

// Where reads only rows in which the newest visible cell of a column compares with v
// as op says. If the family declares a type, v must be comparable with it.
func Where(family, qualifier string, op cells.Op, v cells.Value) Condition {
	return Condition{Family: family, Qualifier: qualifier, Op: op, Value: v}
}

// Exists reads only rows that have a visible cell in a column.
func Exists(family, qualifier string) Condition {
	return Condition{Family: family, Qualifier: qualifier, Kind: IsPresent}
}

// Absent reads only rows that have no visible cell in a column.
func Absent(family, qualifier string) Condition {
	return Condition{Family: family, Qualifier: qualifier, Kind: IsAbsent}
}

// Holds judges the newest cell of the column; found says whether there is one.
func (c Condition) Holds(cell cells.Cell, found bool) bool {
	switch c.Kind {
	case IsAbsent:
		return !found
	case IsPresent:
		return found
	}
	return found && c.Op.Holds(cell.Value, c.Value)
}

// Check finds a comparison that no value of the declared type can satisfy.
func (c Condition) Check(declared cells.Type) error {
	t := c.Value.Type()
	switch {
	case c.Kind != Compares:
		return nil
	case !c.Op.Valid():
		return fmt.Errorf("%s:%s: unknown comparison %s", c.Family, c.Qualifier, c.Op)
	case !t.Valid():
		return fmt.Errorf("%s:%s is compared with a value of no type", c.Family, c.Qualifier)
	case declared == cells.TypeAny || declared == t || declared.Numeric() && t.Numeric():
		return nil
	}
	return fmt.Errorf("%s:%s is declared %s and cannot be compared with %s %v", c.Family, c.Qualifier, declared, t, c.Value)
}
