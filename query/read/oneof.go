package read

import (
	"slices"

	"github.com/smolwc/smolwc/cells"
)

// isOneOf reports whether a value is equal to one of c.Values. After Prepare it is found by
// a binary search, since there may be many.
func (c *Condition) isOneOf(v cells.Value) bool {
	if c.sorted == nil {
		return slices.ContainsFunc(c.Values, func(w cells.Value) bool { return cells.OpEqual.Holds(v, w) })
	}
	_, found := slices.BinarySearchFunc(c.sorted, v, cells.Order)
	return found && equalsItself(v)
}

// sortedForSearch returns the values in the order of [cells.Order], without those that
// are equal to nothing.
func sortedForSearch(values []cells.Value) []cells.Value {
	sorted := make([]cells.Value, 0, len(values))
	for _, v := range values {
		if equalsItself(v) {
			sorted = append(sorted, v)
		}
	}
	slices.SortFunc(sorted, cells.Order)
	return sorted
}

// equalsItself is false for a NaN.
func equalsItself(v cells.Value) bool { return cells.OpEqual.Holds(v, v) }
