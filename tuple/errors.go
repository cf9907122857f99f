package tuple

import (
	"fmt"
	"strconv"
	"strings"
)

// A PackError says which element of a tuple cannot be packed, and why.
type PackError struct {
	// Path leads to the element: its index in the tuple, or, for an element of
	// a nested tuple, the index at every level from the outside in. Never empty.
	Path   []int
	Reason string
}

// Error is a text like "tuple: cannot pack element 2.0: string is not valid UTF-8".
func (e *PackError) Error() string {
	steps := make([]string, len(e.Path))
	for i, index := range e.Path {
		steps[i] = strconv.Itoa(index)
	}
	return "tuple: cannot pack element " + strings.Join(steps, ".") + ": " + e.Reason
}

// A DecodeError says at which byte decoding a packed tuple failed, and why.
type DecodeError struct {
	// Offset is the position of the first byte of the innermost element that
	// cannot be decoded.
	Offset int
	Reason string
}

// Error is a text like "tuple: at byte 10: integer is cut short: 4 bytes wanted, 1
// left".
func (e *DecodeError) Error() string {
	return fmt.Sprintf("tuple: at byte %d: %s", e.Offset, e.Reason)
}
