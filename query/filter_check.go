package query

import (
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"strings"
)

// The bounds of a filter: Bigtable's, for the size of the RowFilter message in
// bytes and for the number of filters around one.
const (
	maxFilterSize  = 20480
	maxFilterDepth = 20
)

// checkFilter judges a whole filter.
func checkFilter(f Filter) error {
	if f == nil {
		return nil
	}
	// The depth comes first: what follows recurses that far.
	if tooDeep(f, maxFilterDepth) {
		return faultf(InvalidArgument, "row filter is nested too deep: up to %d filters may be around one", maxFilterDepth)
	}
	if n := f.size(); n > maxFilterSize {
		return faultf(InvalidArgument, "row filter has %d bytes; it may have up to %d", n, maxFilterSize)
	}
	if err := checkTree(f); err != nil {
		return faultf(InvalidArgument, "row filter: %w", err)
	}
	return nil
}

func tooDeep(f Filter, levels int) bool {
	return f != nil && (levels < 0 || slices.ContainsFunc(f.subs(), func(sub Filter) bool { return tooDeep(sub, levels-1) }))
}

// checkTree names the place of a faulty filter, from the outside in.
func checkTree(f Filter) error {
	if err := f.check(); err != nil {
		return err
	}
	for i, sub := range f.subs() {
		if err := checkTree(sub); err != nil {
			return fmt.Errorf("%s, filter %d: %w", filterName(f), i+1, err)
		}
	}
	return nil
}

// filterName is a filter without what is in it.
func filterName(f Filter) string {
	text, _, _ := strings.Cut(f.String(), "(")
	return text
}

// contains reports whether a filter or one inside it satisfies is.
func contains(f Filter, is func(Filter) bool) bool {
	return is(f) || slices.ContainsFunc(f.subs(), func(sub Filter) bool { return contains(sub, is) })
}

func isSink(f Filter) bool { return f == SinkFilter() }

func isLabel(f Filter) bool { _, ok := f.(labelFilter); return ok }

func checkSeveral(name string, fs []Filter) error {
	if len(fs) < 2 {
		return fmt.Errorf("%s has %d filters; it must have at least two", name, len(fs))
	}
	if i := slices.Index(fs, nil); i >= 0 {
		return fmt.Errorf("%s: filter %d is nil", name, i+1)
	}
	return nil
}

func (f chainFilter) check() error {
	if err := checkSeveral("chain", f); err != nil {
		return err
	}
	labelled := 0
	for _, sub := range f {
		if contains(sub, isLabel) {
			labelled++
		}
	}
	if labelled > 1 {
		return errors.New("chain has labels in more than one of its filters; a cell can have one label")
	}
	return nil
}

func (f interleaveFilter) check() error { return checkSeveral("interleave", f) }

func (f *conditionFilter) check() error {
	if f.predicate == nil {
		return errors.New("condition has no predicate")
	}
	if contains(f, isSink) {
		return errors.New("condition has a sink inside; a sink cannot be in a condition")
	}
	return nil
}

func (constantFilter) check() error { return nil }

func (f labelFilter) check() error {
	const allowed = "abcdefghijklmnopqrstuvwxyz0123456789-"
	strange := strings.ContainsFunc(f.label, func(c rune) bool { return !strings.ContainsRune(allowed, c) })
	if len(f.label) < 1 || len(f.label) > 15 || strange {
		return fmt.Errorf("%s: a label is 1 to 15 lower-case letters, digits and hyphens", f)
	}
	return nil
}

func (f *regexFilter) check() error {
	if f.err != nil {
		return fmt.Errorf("%s(%q): %w", f.of, shorten(f.expr), f.err)
	}
	if f.of == ofFamily && strings.Contains(f.expr, ":") {
		return fmt.Errorf("%s: the expression contains a colon", f)
	}
	return nil
}

func (f sampleFilter) check() error {
	if !(f.p > 0 && f.p < 1) { // a NaN is neither
		return fmt.Errorf("%s: the probability must be more than 0 and less than 1", f)
	}
	return nil
}

func (s span) check() error {
	if s.from.set && s.to.set && s.from.at > s.to.at {
		return fmt.Errorf("start %q is after end %q", shorten(s.from.at), shorten(s.to.at))
	}
	return nil
}

func (f *columnRangeFilter) check() error {
	if f.family == "" {
		return errors.New("column_range has no family")
	}
	if err := f.span.check(); err != nil {
		return fmt.Errorf("column_range: %w", err)
	}
	return nil
}

func (f *valueRangeFilter) check() error {
	if err := f.span.check(); err != nil {
		return fmt.Errorf("value_range: %w", err)
	}
	return nil
}

func (f *valueBitmaskFilter) check() error {
	if f.mask == "" {
		return errors.New("value_bitmask has no mask")
	}
	return nil
}

func (f *valueCompareFilter) check() error {
	switch {
	case f.op < EQ || f.op > GE:
		return fmt.Errorf("value is compared with unknown comparison %s", f.op)
	case !f.value.Type().Valid():
		return errors.New("value is compared with a value of no type")
	}
	return nil
}

func (f *timestampRangeFilter) check() error {
	if err := f.since.Check(); err != nil {
		return fmt.Errorf("%s: start: %w", f, err)
	}
	if err := f.until.Check(); err != nil {
		return fmt.Errorf("%s: end: %w", f, err)
	}
	if f.until != 0 && f.since > f.until {
		return fmt.Errorf("%s: start is after end", f)
	}
	return nil
}

func (f countFilter) check() error {
	least := 1
	if f.of == rowOffset {
		least = 0
	}
	if f.n < least {
		return fmt.Errorf("%s: it must be at least %d", f, least)
	}
	return nil
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

func (f chainFilter) size() int         { return sizeOf(f) }
func (f interleaveFilter) size() int    { return sizeOf(f) }
func (f *conditionFilter) size() int    { return sizeOf(f.subs()) }
func (f constantFilter) size() int      { return 3 }
func (f labelFilter) size() int         { return field(2, len(f.label)) }
func (f *regexFilter) size() int        { return field(1, len(f.expr)) }
func (f sampleFilter) size() int        { return 1 + 8 }
func (f *columnRangeFilter) size() int  { return field(1, field(1, len(f.family))+f.span.size()) }
func (f *valueRangeFilter) size() int   { return field(1, f.span.size()) }
func (f *valueBitmaskFilter) size() int { return field(2, field(1, len(f.mask))) }
func (f *valueCompareFilter) size() int { return field(2, 2+f.value.Len()) }
func (f *timestampRangeFilter) size() int {
	return field(1, 2+varint(int(f.since))+varint(int(f.until)))
}
func (f countFilter) size() int { return 1 + varint(f.n) }

func (s span) size() int {
	n := 0
	for _, b := range []Bound{s.from, s.to} {
		if b.set {
			n += field(1, len(b.at))
		}
	}
	return n
}
