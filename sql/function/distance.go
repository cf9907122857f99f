package function

import (
	"context"
	"math"
	"strings"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"

	"github.com/smolwc/smolwc/sql/parse"
	"github.com/smolwc/smolwc/sql/value"
)

// distances are functions of two texts that take more than linear time.
var distances = []long{
	{"EDIT_DISTANCE(STRING, STRING[INT64]) INT64", func(ctx context.Context, v []any) (any, error) {
		return editDistance(ctx, []rune(v[0].(string)), []rune(v[1].(string)), v[2:])
	}},
	{"EDIT_DISTANCE(BYTES, BYTES[INT64]) INT64", func(ctx context.Context, v []any) (any, error) {
		return editDistance(ctx, v[0].([]byte), v[1].([]byte), v[2:])
	}},
}

// maxEdits bounds the steps of EDIT_DISTANCE: about a second.
const maxEdits = 1 << 28

// editDistance is the number of insertions, deletions and replacements that make one text of
// another, but at most the optional maximum, which also bounds the work.
func editDistance[T rune | byte](ctx context.Context, a, b []T, most []any) (any, error) {
	if len(a) < len(b) {
		a, b = b, a
	}
	limit := len(a)
	if len(most) > 0 {
		n := most[0].(int64)
		if n < 0 {
			return nil, parse.Invalid("the max_distance of EDIT_DISTANCE must not be negative")
		}
		limit = int(min(n, int64(limit)))
	}
	if len(a)-len(b) >= limit {
		return int64(limit), nil
	}
	for len(b) > 0 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	for len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	// Only prefixes whose lengths differ by less than the limit can be that near.
	if steps := float64(len(a)) * float64(min(2*limit+1, len(b)+1)); steps > maxEdits {
		return nil, parse.Invalid("EDIT_DISTANCE of texts of %d and %d takes more than %d steps; max_distance makes them fewer", len(a), len(b), maxEdits)
	}
	row := make([]int32, len(b)+1) // the distances of a prefix of a to all of b
	for j := range row {
		row[j] = int32(j)
	}
	const far = math.MaxInt32 / 2
	for i := 1; i <= len(a); i++ {
		if i%64 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		from, to := max(1, i-limit), min(len(b), i+limit)
		before := row[from-1] // of the shorter prefixes of both
		if row[from-1] = far; from == 1 {
			row[0] = int32(i)
		}
		for j := from; j <= to; j++ {
			above := row[j]
			if j == i+limit {
				above = far // it is not in the band
			}
			cost := before
			if a[i-1] != b[j-1] {
				cost = min(before, above, row[j-1]) + 1
			}
			before, row[j] = row[j], cost
		}
	}
	return min(int64(row[len(b)]), int64(limit)), nil
}

// folded is a text as CONTAINS_SUBSTR compares it.
func foldedText(s string) string {
	return norm.NFKC.String(cases.Fold().String(norm.NFKC.String(s)))
}

// Contains reports whether a text is in a value, or in the elements of an array or a struct,
// without regard to case; nil if it is not, and one of them is NULL.
func Contains(v any, text string) (any, error) {
	text = foldedText(text)
	var in func(v any) (any, error)
	all := func(list []any) (result any, err error) {
		result = false
		for _, e := range list {
			switch found, err := in(e); {
			case err != nil || found == true:
				return found, err
			case found == nil:
				result = nil
			}
		}
		return result, nil
	}
	in = func(v any) (any, error) {
		switch v := v.(type) {
		case nil:
			return nil, nil
		case value.Array:
			return all(v)
		case value.Struct:
			return all(v)
		case string:
			return strings.Contains(foldedText(v), text), nil
		}
		s, err := value.Cast(v, value.TypeString)
		if err != nil {
			return nil, err
		}
		return strings.Contains(foldedText(s.(string)), text), nil
	}
	return in(v)
}
