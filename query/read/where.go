package read

import (
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/internal/bytere"
)

// A Condition is a requirement on a row: mostly on the newest visible cell of one
// column, whatever versions and times the read selects. The column need not be selected
// itself. Several conditions must all hold.
//
// A requirement on a cell that is not there is neither true nor false, as with SQL's NULL:
// it does not hold, and its [Not] does not hold either. Only [IsPresent] and [IsAbsent] are
// always one or the other.
type Condition struct {
	Family, Qualifier string // the column, unless the condition is on the row's key
	Kind              ConditionKind
	Op                cells.Op      // for Compares and ComparesColumns
	Value             cells.Value   // for Compares
	On                Subject       // for Compares, IsOneOf and Matches
	Part              int           // of the key, for OnKeyPart: 1 is the first
	Values            []cells.Value // for IsOneOf
	Pattern           string        // for Matches
	Other             ColumnSpec    // for ComparesColumns: one column
	Terms             []Condition   // for AnyOf, AllOf, and Not, which takes one

	compiled *bytere.Regexp // of Pattern, see Prepare
	sorted   []cells.Value  // Values for a search, see Prepare
	kinds    [2]bool        // kindsIn(Values), see Prepare
}

// A ConditionKind is the kind of a [Condition]'s requirement.
type ConditionKind uint8

// The kinds of conditions.
const (
	Compares        ConditionKind = iota // the subject compares as asked with the value
	IsPresent                            // there is a cell
	IsAbsent                             // there is no cell
	IsOneOf                              // the subject is equal to one of the values
	Matches                              // the subject is text or bytes that match the pattern as a whole
	ComparesColumns                      // the value, or with OnTime the timestamp, compares as asked with another column's cell
	AnyOf                                // at least one of the terms holds
	AllOf                                // all terms hold
	Not                                  // the term is false
)

// A Subject is what a [Condition] judges.
type Subject uint8

// The subjects of conditions.
const (
	OnValue   Subject = iota // the value of the column's newest cell
	OnTime                   // its timestamp: an i64, in microseconds
	OnKey                    // the row's key, as bytes
	OnKeyPart                // an element of the row's key: see [WhereKeyPart]
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

// WhereIn reads only rows in which the newest visible cell of a column is equal to one
// of the values, in the sense of [cells.Compare].
func WhereIn(family, qualifier string, values ...cells.Value) Condition {
	return Condition{Family: family, Qualifier: qualifier, Kind: IsOneOf, Values: values}
}

// WhereMatch reads only rows in which the newest visible cell of a column is a string or
// bytes that match a regular expression as a whole. Its syntax is RE2's, for bytes, as
// in package filter.
func WhereMatch(family, qualifier, pattern string) Condition {
	return Condition{Family: family, Qualifier: qualifier, Kind: Matches, Pattern: pattern}
}

// WhereColumns reads only rows in which the newest visible values of two columns compare
// as op says.
func WhereColumns(family, qualifier string, op cells.Op, otherFamily, otherQualifier string) Condition {
	return Condition{Family: family, Qualifier: qualifier, Kind: ComparesColumns, Op: op, Other: Column(otherFamily, otherQualifier)}
}

// WhereTimes reads only rows in which the timestamps of the newest visible cells of two
// columns compare as op says.
func WhereTimes(family, qualifier string, op cells.Op, otherFamily, otherQualifier string) Condition {
	return Condition{Family: family, Qualifier: qualifier, On: OnTime, Kind: ComparesColumns, Op: op, Other: Column(otherFamily, otherQualifier)}
}

// WhereTime reads only rows in which the timestamp of a column's newest visible cell
// compares with at as op says.
func WhereTime(family, qualifier string, op cells.Op, at cells.Timestamp) Condition {
	return Condition{Family: family, Qualifier: qualifier, On: OnTime, Op: op, Value: cells.I64(int64(at))}
}

// WhereKey reads only rows whose key compares with a key as op says, byte by byte. A
// [RowSet] reads a range of keys at less cost.
func WhereKey(op cells.Op, key string) Condition {
	return Condition{On: OnKey, Op: op, Value: cells.Bytes([]byte(key))}
}

// WhereKeyMatch reads only rows whose whole key matches a regular expression.
func WhereKeyMatch(pattern string) Condition {
	return Condition{On: OnKey, Kind: Matches, Pattern: pattern}
}

// WhereKeyPart reads only rows in which an element of the key compares with v as op says.
// Elements are counted from 1. They are the tuple's elements if the key is one that package
// tuple encodes, and otherwise the texts between the characters #, which compare with a
// number as the number that they write. A key without the element, with a tuple's nil, or
// with text that writes no number, is like a cell that is not there.
func WhereKeyPart(part int, op cells.Op, v cells.Value) Condition {
	return Condition{On: OnKeyPart, Part: part, Op: op, Value: v}
}

// Any reads only rows in which at least one of the conditions holds.
func Any(conditions ...Condition) Condition { return Condition{Kind: AnyOf, Terms: conditions} }

// All reads only rows in which all conditions hold.
func All(conditions ...Condition) Condition { return Condition{Kind: AllOf, Terms: conditions} }

// Negate reads only rows in which a condition is false. Rows without the column that it
// needs are not among them.
func Negate(c Condition) Condition { return Condition{Kind: Not, Terms: []Condition{c}} }

// maxTerms is how deep conditions may be within each other.
const maxTerms = 200

// Prepare finds faults of the condition and returns it in a form that is quick to judge.
// declared returns the type that a family declares, TypeAny without one, or the error of
// a family that does not exist; without it every family exists and declares no type.
func (c Condition) Prepare(declared func(family string) (cells.Type, error)) (Condition, error) {
	if declared == nil {
		declared = func(string) (cells.Type, error) { return cells.TypeAny, nil }
	}
	return c.prepare(declared, 0)
}

// maxPatterns bounds the bytes of the patterns of one read.
const maxPatterns = 64 << 10

// CheckPatterns refuses conditions whose patterns are too large together: more than 64 KiB,
// or more than 100,000 steps with their repetitions written out. Each condition by itself
// is checked by [Condition.Prepare].
func CheckPatterns(all []Condition) error {
	patterns := appendPatterns(nil, all, 0)
	bytes := 0
	for _, p := range patterns {
		bytes += len(p)
	}
	if bytes > maxPatterns {
		return fmt.Errorf("the patterns of the conditions have %d bytes together; they may have up to %d", bytes, maxPatterns)
	}
	if err := bytere.CheckSteps(patterns); err != nil {
		return fmt.Errorf("the patterns of the conditions are too large: %w", err)
	}
	return nil
}

func appendPatterns(to []string, all []Condition, depth int) []string {
	for i := range all {
		switch c := &all[i]; {
		case c.Kind == Matches:
			to = append(to, c.Pattern)
		case c.Kind >= AnyOf && depth <= maxTerms:
			to = appendPatterns(to, c.Terms, depth+1)
		}
	}
	return to
}

func (c Condition) prepare(declared func(family string) (cells.Type, error), depth int) (Condition, error) {
	if depth > maxTerms {
		return c, fmt.Errorf("conditions are more than %d deep within each other", maxTerms)
	}
	if c.Kind < AnyOf {
		return c, c.prepareTerm(declared)
	}
	switch {
	case c.Kind > Not:
		return c, fmt.Errorf("unknown kind of condition %d", c.Kind)
	case c.Kind == Not && len(c.Terms) != 1:
		return c, fmt.Errorf("a negation has one condition, not %d", len(c.Terms))
	case len(c.Terms) == 0:
		return c, errors.New("a list of conditions is empty")
	}
	terms := make([]Condition, len(c.Terms))
	for i := range terms {
		var err error
		if terms[i], err = c.Terms[i].prepare(declared, depth+1); err != nil {
			return c, err
		}
	}
	c.Terms = terms
	return c, nil
}

func (c *Condition) prepareTerm(declared func(family string) (cells.Type, error)) error {
	of := cells.TypeAny
	for family := range c.Columns() {
		t, err := declared(family)
		if err != nil {
			return err
		}
		if family == c.Family && c.On == OnValue {
			of = t
		}
	}
	switch {
	case c.On > OnKeyPart:
		return fmt.Errorf("unknown subject of a condition %d", c.On)
	case c.On == OnKeyPart && c.Part < 1:
		return fmt.Errorf("part %d of a key: the first is 1", c.Part)
	case c.On != OnValue && (c.Kind == IsPresent || c.Kind == IsAbsent || c.Kind == ComparesColumns && c.On != OnTime):
		return fmt.Errorf("%s: only a column is present, absent, or compared with another one", c.subject())
	}
	return c.check(of)
}

// check finds a comparison that no value of the declared type can satisfy.
func (c *Condition) check(declared cells.Type) error {
	switch c.On {
	case OnTime:
		declared = cells.TypeI64
	case OnKey:
		declared = cells.TypeBytes
	}
	switch c.Kind {
	case Compares:
		if !c.Op.Valid() {
			return fmt.Errorf("%s: unknown comparison %s", c.subject(), c.Op)
		}
		return c.checkValue(declared, c.Value)
	case IsOneOf:
		if len(c.Values) == 0 {
			return fmt.Errorf("%s is compared with no values", c.subject())
		}
		for _, v := range c.Values {
			if err := c.checkValue(declared, v); err != nil {
				return err
			}
		}
		c.sorted, c.kinds = sortedForSearch(c.Values), kindsIn(c.Values)
	case Matches:
		if declared != cells.TypeAny && declared != cells.TypeString && declared != cells.TypeBytes {
			return fmt.Errorf("%s is declared %s and cannot match a pattern, which is for text", c.subject(), declared)
		}
		var err error
		if c.compiled, err = bytere.Compile(c.Pattern); err != nil {
			return fmt.Errorf("%s: %w", c.subject(), err)
		}
	case ComparesColumns:
		if !c.Op.Valid() {
			return fmt.Errorf("%s: unknown comparison %s", c.subject(), c.Op)
		}
		if c.Other.Kind != OneColumn {
			return fmt.Errorf("%s is compared with one column", c.subject())
		}
	}
	return nil
}

func (c *Condition) checkValue(declared cells.Type, v cells.Value) error {
	t := v.Type()
	switch {
	case !t.Valid():
		return fmt.Errorf("%s is compared with a value of no type", c.subject())
	case declared == cells.TypeAny || declared == t || declared.Numeric() && t.Numeric():
		return nil
	case c.On == OnValue:
		return fmt.Errorf("%s is declared %s and cannot be compared with %s %v", c.subject(), declared, t, v)
	}
	return fmt.Errorf("%s is %s and cannot be compared with %s %v", c.subject(), declared, t, v)
}

func (c *Condition) subject() string {
	switch c.On {
	case OnTime:
		return c.Family + ":" + c.Qualifier + ".ts"
	case OnKey:
		return "key"
	case OnKeyPart:
		return fmt.Sprintf("key-part(%d)", c.Part)
	}
	return c.Family + ":" + c.Qualifier
}

// Columns are the columns that the condition judges, by family and qualifier; a column
// may come twice.
func (c *Condition) Columns() iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		if c != nil {
			c.columns(yield)
		}
	}
}

func (c *Condition) columns(yield func(string, string) bool) bool {
	switch {
	case c.Kind >= AnyOf:
		return !slices.ContainsFunc(c.Terms, func(t Condition) bool { return !t.columns(yield) })
	case c.On == OnKey || c.On == OnKeyPart:
		return true
	}
	return yield(c.Family, c.Qualifier) && (c.Kind != ComparesColumns || yield(c.Other.Family, c.Other.Qualifier))
}
