// Package filter defines the filters of reads as plain values. They are the filters of
// Bigtable's google.bigtable.v2.RowFilter, with the same meaning, and [ValueCompare].
//
// A [Filter] takes the cells of a row, in their order, and passes on some of
// them, perhaps changed:
//
//	filter.Chain{filter.Family("loc|meta"), filter.Latest(1)}
//
// Do not change a filter once it is given to a read. It is then safe for concurrent
// use, and any number of reads may use it. [Check] finds wrong arguments; a read checks
// its filter too.
//
// The raw bytes of a value, which [Value], [ValueRange] and [ValueBitmask] look at, are
// the payload of its encoding: strings and bytes as they are; i32, i64, f32 and f64
// big-endian, in 4 or 8 bytes; bool and byte in one.
//
// Regular expressions have RE2's syntax and match bytes, each byte a character of
// Latin-1. They must match the whole: "a" does not match "ab". The dot matches every
// byte but the newline; \C matches every byte.
package filter

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// A Filter is one of the types of this package; nil is no filter.
type Filter interface {
	// String is the filter as text: the names are Bigtable's. It is part of the tokens
	// of pages and must not change.
	String() string
	// check judges the filter's own arguments.
	check() error
	// size is the number of bytes of the filter as a RowFilter message.
	size() int
}

// A Chain gives the row to its first filter, the result to the second, and so on. There
// are at least two.
type Chain []Filter

func (f Chain) String() string { return "chain" + list(f...) }

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

func (f Chain) size() int { return sizeOf(f) }

// An Interleave gives the row to each of its filters and merges the results, in the
// order of a row. A cell that several filters pass on occurs several times, the copies
// in the order of the filters. There are at least two.
type Interleave []Filter

func (f Interleave) String() string { return "interleave" + list(f...) }
func (f Interleave) check() error   { return checkSeveral("interleave", f) }
func (f Interleave) size() int      { return sizeOf(f) }

// ChainOf is a chain of any number of filters: a single filter is returned as it is,
// and without filters the result is nil.
func ChainOf(fs ...Filter) Filter {
	switch len(fs) {
	case 0:
		return nil
	case 1:
		return fs[0]
	}
	return Chain(fs)
}

// InterleaveOf is an interleave of any number of filters: a single filter is returned
// as it is, and without filters the result is [BlockAll].
func InterleaveOf(fs ...Filter) Filter {
	switch len(fs) {
	case 0:
		return BlockAll{}
	case 1:
		return fs[0]
	}
	return Interleave(fs)
}

// A Condition gives the row to If. When If passes a cell, the row goes through Then,
// otherwise through Else; a nil Then or Else drops every cell. If is required. All
// three see one state of the row.
type Condition struct{ If, Then, Else Filter }

func (f Condition) String() string { return "condition" + list(f.If, f.Then, f.Else) }

func (f Condition) check() error {
	if f.If == nil {
		return errors.New("condition has no predicate")
	}
	if Contains(f, isSink) {
		return errors.New("condition has a sink inside; a sink cannot be in a condition")
	}
	return nil
}

func (f Condition) size() int { return sizeOf(Within(f)) }

func checkSeveral(name string, fs []Filter) error {
	if len(fs) < 2 {
		return fmt.Errorf("%s has %d filters; it must have at least two", name, len(fs))
	}
	if i := slices.Index(fs, nil); i >= 0 {
		return fmt.Errorf("%s: filter %d is nil", name, i+1)
	}
	return nil
}

func list(fs ...Filter) string {
	texts := make([]string, len(fs))
	for i, f := range fs {
		if texts[i] = "nil"; f != nil {
			texts[i] = fmt.Sprint(f) // which tolerates a nil pointer
		}
	}
	return "(" + strings.Join(texts, ", ") + ")"
}

func isLabel(f Filter) bool { _, ok := f.(Label); return ok }
func isSink(f Filter) bool  { _, ok := f.(Sink); return ok }

// Within are the filters directly inside a filter, in their order. The nil filters of a
// [Condition] are left out.
func Within(f Filter) []Filter {
	switch f := f.(type) {
	case Chain:
		return f
	case Interleave:
		return f
	case Condition:
		var subs []Filter
		for _, sub := range []Filter{f.If, f.Then, f.Else} {
			if sub != nil {
				subs = append(subs, sub)
			}
		}
		return subs
	}
	return nil
}

// Contains reports whether a filter, or one inside it, satisfies is. If is is nil, the
// result is false.
func Contains(f Filter, is func(Filter) bool) bool {
	if is == nil {
		return false
	}
	if is(f) {
		return true
	}
	for _, sub := range Within(f) {
		if Contains(sub, is) {
			return true
		}
	}
	return false
}
