package filter

import (
	"errors"
	"fmt"
	"math/bits"
	"reflect"
	"slices"
	"strings"

	"github.com/smolwc/smolwc/internal/bytere"
)

// The bounds of a filter: Bigtable's, for the size of the RowFilter message in bytes
// and for the number of filters around one.
const (
	MaxSize  = 20480
	MaxDepth = 20
)

// Check judges a whole filter; nil is right. Its error names the filter that is wrong
// and the filters around it.
func Check(f Filter) error {
	if f == nil {
		return nil
	}
	// The depth comes first: all else recurses that far.
	if tooDeep(f, MaxDepth) {
		return fmt.Errorf("row filter is nested too deep: up to %d filters may be around one", MaxDepth)
	}
	if Contains(f, isPointer) {
		return errors.New("row filter: a filter is a value of package filter, not a pointer to one")
	}
	if n := f.size(); n > MaxSize {
		return fmt.Errorf("row filter has %d bytes; it may have up to %d", n, MaxSize)
	}
	if err := checkTree(f); err != nil {
		return fmt.Errorf("row filter: %w", err)
	}
	return nil
}

func tooDeep(f Filter, levels int) bool {
	return levels < 0 || slices.ContainsFunc(Within(f), func(sub Filter) bool { return tooDeep(sub, levels-1) })
}

func isPointer(f Filter) bool { return f != nil && reflect.TypeOf(f).Kind() == reflect.Pointer }

// checkTree names the place of a faulty filter, from the outside in.
func checkTree(f Filter) error {
	if err := f.check(); err != nil {
		return err
	}
	for i, sub := range Within(f) {
		if err := checkTree(sub); err != nil {
			return fmt.Errorf("%s, filter %d: %w", name(f), i+1, err)
		}
	}
	return nil
}

// name is a filter without what is in it.
func name(f Filter) string {
	text, _, _ := strings.Cut(f.String(), "(")
	return text
}

func checkSeveral(name string, fs []Filter) error {
	if len(fs) < 2 {
		return fmt.Errorf("%s has %d filters; it must have at least two", name, len(fs))
	}
	if i := slices.Index(fs, nil); i >= 0 {
		return fmt.Errorf("%s: filter %d is nil", name, i+1)
	}
	return nil
}

func (f Chain) check() error {
	if err := checkSeveral("chain", f); err != nil {
		return err
	}
	labelled := 0
	for _, sub := range f {
		if Contains(sub, isLabel) {
			labelled++
		}
	}
	if labelled > 1 {
		return errors.New("chain has labels in more than one of its filters; a cell can have one label")
	}
	return nil
}

func isLabel(f Filter) bool { _, ok := f.(Label); return ok }
func isSink(f Filter) bool  { _, ok := f.(Sink); return ok }

func (f Interleave) check() error { return checkSeveral("interleave", f) }

func (f Condition) check() error {
	if f.If == nil {
		return errors.New("condition has no predicate")
	}
	if Contains(f, isSink) {
		return errors.New("condition has a sink inside; a sink cannot be in a condition")
	}
	return nil
}

func (PassAll) check() error    { return nil }
func (BlockAll) check() error   { return nil }
func (Sink) check() error       { return nil }
func (StripValue) check() error { return nil }

func (f Label) check() error {
	const allowed = "abcdefghijklmnopqrstuvwxyz0123456789-"
	strange := strings.ContainsFunc(string(f), func(c rune) bool { return !strings.ContainsRune(allowed, c) })
	if len(f) < 1 || len(f) > 15 || strange {
		return fmt.Errorf("%s: a label is 1 to 15 lower-case letters, digits and hyphens", f)
	}
	return nil
}

func (f RowKey) check() error { return checkExpression("row_key_regex", string(f)) }
func (f Column) check() error { return checkExpression("column_qualifier_regex", string(f)) }
func (f Value) check() error  { return checkExpression("value_regex", string(f)) }

func (f Family) check() error {
	if err := checkExpression("family_name_regex", string(f)); err != nil {
		return err
	}
	if strings.Contains(string(f), ":") {
		return fmt.Errorf("%s: the expression contains a colon", f)
	}
	return nil
}

func checkExpression(name, expr string) error {
	if _, err := bytere.Compile(expr); err != nil {
		return fmt.Errorf("%s(%q): %w", name, shorten(expr), err)
	}
	return nil
}

func (f RowSample) check() error {
	if !(f > 0 && f < 1) { // a NaN is neither
		return fmt.Errorf("%s: the probability must be more than 0 and less than 1", f)
	}
	return nil
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

func (f ValueRange) check() error {
	if err := checkRange(f.From, f.To); err != nil {
		return fmt.Errorf("value_range: %w", err)
	}
	return nil
}

func (f ValueBitmask) check() error {
	if f == "" {
		return errors.New("value_bitmask has no mask")
	}
	return nil
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

func (f CellsPerRowOffset) check() error { return checkCount(f, int(f), 0) }
func (f CellsPerRowLimit) check() error  { return checkCount(f, int(f), 1) }
func (f Latest) check() error            { return checkCount(f, int(f), 1) }

func checkCount(f Filter, n, least int) error {
	if n < least {
		return fmt.Errorf("%s: it must be at least %d", f, least)
	}
	return nil
}

// shorten keeps an error of a long expression readable.
func shorten(s string) string {
	const most = 80
	if len(s) <= most {
		return s
	}
	return s[:most] + fmt.Sprintf("… (%d bytes)", len(s))
}

// varint is the number of bytes that protobuf takes for n.
func varint(n int) int { return max(1, (bits.Len64(uint64(n))+6)/7) }

// field is the number of bytes of a field that holds n bytes.
func field(tag, n int) int { return tag + varint(n) + n }

func sizeOf(fs []Filter) int {
	n := 0
	for _, f := range fs {
		if f != nil {
			n += field(1, f.size())
		}
	}
	return field(1, n)
}

// Fields up to number 15 have a tag of one byte, those from 16 on of two.

func (f Chain) size() int             { return sizeOf(f) }
func (f Interleave) size() int        { return sizeOf(f) }
func (f Condition) size() int         { return sizeOf(Within(f)) }
func (PassAll) size() int             { return 3 }
func (BlockAll) size() int            { return 3 }
func (Sink) size() int                { return 3 }
func (StripValue) size() int          { return 3 }
func (f Label) size() int             { return field(2, len(f)) }
func (f RowKey) size() int            { return field(1, len(f)) }
func (f Family) size() int            { return field(1, len(f)) }
func (f Column) size() int            { return field(1, len(f)) }
func (f Value) size() int             { return field(1, len(f)) }
func (f RowSample) size() int         { return 1 + 8 }
func (f ColumnRange) size() int       { return field(1, field(1, len(f.Family))+rangeSize(f.From, f.To)) }
func (f ValueRange) size() int        { return field(1, rangeSize(f.From, f.To)) }
func (f ValueBitmask) size() int      { return field(2, field(1, len(f))) }
func (f ValueCompare) size() int      { return field(2, 2+f.Value.Len()) }
func (f TimestampRange) size() int    { return field(1, 2+varint(int(f.Since))+varint(int(f.Until))) }
func (f CellsPerRowOffset) size() int { return 1 + varint(int(f)) }
func (f CellsPerRowLimit) size() int  { return 1 + varint(int(f)) }
func (f Latest) size() int            { return 1 + varint(int(f)) }
