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

// The bounds of a filter: Bigtable's. MaxSize is the size of the RowFilter message in
// bytes, and MaxDepth the number of filters that may enclose a filter; both are
// inclusive.
const (
	MaxSize  = 20480
	MaxDepth = 20
)

// ErrTooLarge is the error of [Check] for a filter of more than MaxSize bytes.
var ErrTooLarge = fmt.Errorf("it may have up to %d", MaxSize)

// Check checks a whole filter; a nil filter is valid. Its error names the wrong filter
// and the filters around it.
func Check(f Filter) error {
	if f == nil {
		return nil
	}
	// The depth is checked first, because all other checks recurse.
	if tooDeep(f, MaxDepth) {
		return fmt.Errorf("row filter is nested too deeply; up to %d filters may be around one", MaxDepth)
	}
	if Contains(f, isPointer) {
		return errors.New("row filter: a filter is a value of package filter, not a pointer to one")
	}
	if n := f.size(); n > MaxSize {
		return fmt.Errorf("row filter has %d bytes; %w", n, ErrTooLarge)
	}
	if exprs := appendExpressions(nil, f); len(exprs) > 1 {
		if err := bytere.CheckSteps(exprs); err != nil {
			return fmt.Errorf("row filter: its expressions are too large: %w", err)
		}
	}
	if err := checkTree(f); err != nil {
		return fmt.Errorf("row filter: %w", err)
	}
	return nil
}

// appendExpressions appends the regular expressions in a filter.
func appendExpressions(to []string, f Filter) []string {
	switch f := f.(type) {
	case RowKey:
		return append(to, string(f))
	case Family:
		return append(to, string(f))
	case Column:
		return append(to, string(f))
	case Value:
		return append(to, string(f))
	}
	for _, sub := range Within(f) {
		to = appendExpressions(to, sub)
	}
	return to
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

// name is a filter without its inner filters.
func name(f Filter) string {
	text, _, _ := strings.Cut(f.String(), "(")
	return text
}

// varint is the number of bytes that protobuf takes for n.
func varint(n int) int { return max(1, (bits.Len64(uint64(n))+6)/7) }

// field is the number of bytes of a field that holds n bytes, with a tag of tag bytes:
// one up to field number 15, two from 16 on.
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
