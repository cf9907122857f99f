package filter

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/internal/bytere"
	"github.com/smolwc/smolwc/internal/excerpt"
)

// A new filter is a type here, its evaluation in query/internal/scan/evaluator.go, and its message
// in api/wire/filter.go. If the store can evaluate a part of it, that part goes
// into query/internal/plan/push.go.

// A constant is a filter without arguments.
type constant struct{}

func (constant) check() error { return nil }
func (constant) size() int    { return 3 }

// PassAll passes every cell.
type PassAll struct{ constant }

func (PassAll) String() string { return "pass_all" }

// BlockAll drops every cell.
type BlockAll struct{ constant }

func (BlockAll) String() string { return "block_all" }

// Sink gives every cell, unchanged, to the result of the read, past all filters that
// would follow, and no cell to the next filter: use an interleave to keep copies for
// the next filter. It cannot be inside a condition. Sunk cells precede other copies of
// the same cell.
type Sink struct{ constant }

func (Sink) String() string { return "sink" }

// StripValue passes every cell and replaces its value with the empty value of type
// bytes.
type StripValue struct{ constant }

func (StripValue) String() string { return "strip_value" }

// A Label passes every cell and labels it; a row returns the labels of its cells. A
// label is 1 to 15 lower-case letters, digits and hyphens. A cell can have one: only
// one filter of a chain may contain labels.
type Label string

func (f Label) String() string { return quoted("label", string(f)) }

func (f Label) check() error {
	const allowed = "abcdefghijklmnopqrstuvwxyz0123456789-"
	strange := strings.ContainsFunc(string(f), func(c rune) bool { return !strings.ContainsRune(allowed, c) })
	if len(f) < 1 || len(f) > 15 || strange {
		return fmt.Errorf("%s: a label is 1 to 15 lower-case letters, digits and hyphens", f)
	}
	return nil
}

func (f Label) size() int { return field(2, len(f)) }

// RowKey passes the rows whose keys match a regular expression, which is not empty.
type RowKey string

func (f RowKey) String() string { return quoted("row_key_regex", string(f)) }
func (f RowKey) check() error   { return checkNotEmpty("row_key_regex", string(f)) }
func (f RowKey) size() int      { return field(1, len(f)) }

// Family passes the cells in families whose names match a regular expression, which
// is not empty and contains no colon.
type Family string

func (f Family) String() string { return quoted("family_name_regex", string(f)) }

func (f Family) check() error {
	if err := checkNotEmpty("family_name_regex", string(f)); err != nil {
		return err
	}
	if strings.Contains(string(f), ":") {
		return fmt.Errorf("%s: the expression contains a colon", f)
	}
	return nil
}

func (f Family) size() int { return field(1, len(f)) }

// Column passes the cells whose qualifiers match a regular expression. An empty one matches
// only the empty qualifier.
type Column string

func (f Column) String() string { return quoted("column_qualifier_regex", string(f)) }
func (f Column) check() error   { return checkExpression("column_qualifier_regex", string(f)) }
func (f Column) size() int      { return field(1, len(f)) }

// Value passes the cells whose raw bytes match a regular expression. An empty one matches
// only empty values.
type Value string

func (f Value) String() string { return quoted("value_regex", string(f)) }
func (f Value) check() error   { return checkExpression("value_regex", string(f)) }
func (f Value) size() int      { return field(1, len(f)) }

// RowSample passes each row with this probability, which is more than 0 and less than
// 1. Each read chooses anew; read.SampleByKey makes a choice that repeats.
type RowSample float64

func (f RowSample) String() string {
	return "row_sample(" + strconv.FormatFloat(float64(f), 'g', -1, 64) + ")"
}

func (f RowSample) check() error {
	if !(f > 0 && f < 1) { // a NaN is neither
		return fmt.Errorf("%s: the probability must be more than 0 and less than 1", f)
	}
	return nil
}

func (f RowSample) size() int { return 1 + 8 }

// A ColumnRange passes the cells of one family whose qualifiers are between two bounds.
// It drops every cell when there is no such family.
type ColumnRange struct {
	Family   string
	From, To Bound
}

func (f ColumnRange) String() string {
	return "column_range(" + strconv.Quote(f.Family) + ", " + rangeText(f.From, f.To) + ")"
}

func (f ColumnRange) check() error {
	if f.Family == "" {
		return errors.New("column_range has no family")
	}
	if err := checkRange(f.From, f.To); err != nil {
		return fmt.Errorf("column_range: %w", err)
	}
	return nil
}

func (f ColumnRange) size() int { return field(1, field(1, len(f.Family))+rangeSize(f.From, f.To)) }

// Contains reports whether a qualifier is in the range.
func (f ColumnRange) Contains(qualifier string) bool { return between(f.From, f.To, qualifier) }

// A ValueRange passes the cells whose raw bytes are between two bounds.
type ValueRange struct{ From, To Bound }

func (f ValueRange) String() string { return "value_range(" + rangeText(f.From, f.To) + ")" }

func (f ValueRange) check() error {
	if err := checkRange(f.From, f.To); err != nil {
		return fmt.Errorf("value_range: %w", err)
	}
	return nil
}

func (f ValueRange) size() int { return field(1, rangeSize(f.From, f.To)) }

// Contains reports whether raw bytes are in the range.
func (f ValueRange) Contains(raw string) bool { return between(f.From, f.To, raw) }

// A ValueBitmask passes the cells whose raw bytes have the length of the mask and have
// every bit set that is set in the mask.
type ValueBitmask string

func (f ValueBitmask) String() string { return quoted("value_bitmask", string(f)) }

func (f ValueBitmask) check() error {
	if f == "" {
		return errors.New("value_bitmask has no mask")
	}
	return nil
}

func (f ValueBitmask) size() int { return field(2, field(1, len(f))) }

// A ValueCompare passes the cells whose comparison with Value is true: numbers by their
// exact value, whatever their types, other values within one type. Values that cannot be
// compared pass only for [cells.OpNotEqual]. Bigtable does not have it.
type ValueCompare struct {
	Op    cells.Op
	Value cells.Value
}

func (f ValueCompare) String() string {
	text := f.Value.String()
	if f.Value.Type() == cells.TypeString {
		text = strconv.Quote(text)
	}
	return fmt.Sprintf("value %s %s %s", f.Op, f.Value.Type(), text)
}

func (f ValueCompare) check() error {
	switch {
	case !f.Op.Valid():
		return fmt.Errorf("value is compared with unknown comparison %s", f.Op)
	case !f.Value.Type().Valid():
		return errors.New("value is compared with a value of no type")
	}
	return nil
}

func (f ValueCompare) size() int { return field(2, 2+f.Value.Len()) }

// A TimestampRange passes the cells with timestamps from Since, inclusive, to Until,
// exclusive; an Until of 0 is no bound.
type TimestampRange struct{ Since, Until cells.Timestamp }

func (f TimestampRange) String() string {
	return fmt.Sprintf("timestamp_range(%d, %d)", f.Since, f.Until)
}

func (f TimestampRange) check() error {
	if err := f.Since.Check(); err != nil {
		return fmt.Errorf("%s: start: %w", f, err)
	}
	if err := f.Until.Check(); err != nil {
		return fmt.Errorf("%s: end: %w", f, err)
	}
	if f.Until != 0 && f.Since > f.Until {
		return fmt.Errorf("%s: start is after end", f)
	}
	return nil
}

func (f TimestampRange) size() int { return field(1, 2+varint(int(f.Since))+varint(int(f.Until))) }

// CellsPerRowOffset drops the first n cells of the row; copies count.
type CellsPerRowOffset int

func (f CellsPerRowOffset) String() string { return counted("cells_per_row_offset", int(f)) }
func (f CellsPerRowOffset) check() error   { return checkCount(f, int(f), 0) }
func (f CellsPerRowOffset) size() int      { return 1 + varint(int(f)) }

// CellsPerRowLimit passes the first n cells of the row, n at least 1; copies count.
type CellsPerRowLimit int

func (f CellsPerRowLimit) String() string { return counted("cells_per_row_limit", int(f)) }
func (f CellsPerRowLimit) check() error   { return checkCount(f, int(f), 1) }
func (f CellsPerRowLimit) size() int      { return 1 + varint(int(f)) }

// Latest passes the newest n cells of each column, n at least 1; copies count.
// Bigtable's name is cells_per_column_limit.
type Latest int

func (f Latest) String() string { return counted("cells_per_column_limit", int(f)) }
func (f Latest) check() error   { return checkCount(f, int(f), 1) }
func (f Latest) size() int      { return 1 + varint(int(f)) }

func quoted(name, arg string) string { return name + "(" + strconv.Quote(arg) + ")" }

func counted(name string, n int) string { return name + "(" + strconv.Itoa(n) + ")" }

// checkNotEmpty is for keys and names, which are not empty.
func checkNotEmpty(name, expr string) error {
	if expr == "" {
		return fmt.Errorf(`%s(""): the expression is empty`, name)
	}
	return checkExpression(name, expr)
}

func checkExpression(name, expr string) error {
	if _, err := bytere.Compile(expr); err != nil {
		return fmt.Errorf("%s(%q): %w", name, excerpt.Of(expr), err)
	}
	return nil
}

func checkCount(f Filter, n, least int) error {
	if n < least {
		return fmt.Errorf("%s: it must be at least %d", f, least)
	}
	return nil
}
