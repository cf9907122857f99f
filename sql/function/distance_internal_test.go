package function

import (
	"context"
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// The end of the context ends a comparison of long texts, which takes quadratic time.
func TestEditDistanceEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := editDistance(ctx, []byte(strings.Repeat("a", 10_000)), []byte(strings.Repeat("b", 10_000)), nil)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// The band of a largest distance gives the distances of the whole table.
func TestEditDistanceIsThatOfTheWholeTable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.SliceOfN(rapid.SampledFrom([]byte("abc")), 0, 12)
		a, b, most := text.Draw(t, "a"), text.Draw(t, "b"), rapid.Int64Range(0, 14).Draw(t, "most")
		table := make([][]int64, len(a)+1)
		for i := range table {
			table[i] = make([]int64, len(b)+1)
			for j := range table[i] {
				switch {
				case i == 0 || j == 0:
					table[i][j] = int64(i + j)
				case a[i-1] == b[j-1]:
					table[i][j] = table[i-1][j-1]
				default:
					table[i][j] = min(table[i-1][j-1], table[i-1][j], table[i][j-1]) + 1
				}
			}
		}
		whole := table[len(a)][len(b)]
		if got, err := editDistance(t.Context(), a, b, nil); got != whole || err != nil {
			t.Fatalf("%q and %q: %v, %v; want %d", a, b, got, err, whole)
		}
		if got, err := editDistance(t.Context(), a, b, []any{most}); got != min(whole, most) || err != nil {
			t.Fatalf("%q and %q, at most %d: %v, %v; want %d", a, b, most, got, err, min(whole, most))
		}
	})
}
