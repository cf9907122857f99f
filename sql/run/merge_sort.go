package run

import (
	"context"
	"slices"
)

// sortedAtOnce are rows that are sorted between two looks at the context.
const sortedAtOnce = 512

// sortRows sorts rows by a comparison that tells all of them apart. It stops when the context
// ends, and then the rows are in any order; slices.SortFunc cannot be stopped.
func sortRows[T any](ctx context.Context, rows []T, compare func(a, b T) int) {
	for chunk := range slices.Chunk(rows, sortedAtOnce) {
		if ctx.Err() != nil {
			return
		}
		slices.SortFunc(chunk, compare)
	}
	if len(rows) <= sortedAtOnce {
		return
	}
	from, to := rows, make([]T, len(rows))
	for size := sortedAtOnce; size < len(rows); size *= 2 {
		for start := 0; start < len(rows); start += 2 * size {
			mid, end := min(start+size, len(rows)), min(start+2*size, len(rows))
			if !mergeRows(ctx, to[start:end], from[start:mid], from[mid:end], compare) {
				return
			}
		}
		from, to = to, from
	}
	if &from[0] != &rows[0] {
		copy(rows, from)
	}
}

// mergeRows merges sorted rows, unless the context ends.
func mergeRows[T any](ctx context.Context, to, a, b []T, compare func(a, b T) int) bool {
	if len(b) == 0 || compare(a[len(a)-1], b[0]) <= 0 { // they are sorted
		copy(to[copy(to, a):], b)
		return ctx.Err() == nil
	}
	for n := 0; len(a) > 0 && len(b) > 0; n++ {
		if n%sortedAtOnce == 0 && ctx.Err() != nil {
			return false
		}
		if compare(a[0], b[0]) <= 0 {
			to[n], a = a[0], a[1:]
		} else {
			to[n], b = b[0], b[1:]
		}
		if len(a) == 0 {
			copy(to[n+1:], b)
		} else if len(b) == 0 {
			copy(to[n+1:], a)
		}
	}
	return true
}
