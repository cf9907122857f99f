package schema

import (
	"fmt"
	"slices"
	"strings"

	"github.com/smolwc/smolwc/internal/excerpt"
)

// Nearest returns the candidate that was probably meant by name: the one with the
// fewest typing errors between them (a byte inserted, dropped, changed, or swapped with
// its neighbour; upper and lower case count as the same). The limit depends on the
// length of the name: one error in up to five bytes, two in up to eight, three in more.
// The first of equally near candidates wins. Names of more than 128 bytes have no
// nearest candidate.
func Nearest(name string, candidates []string) (string, bool) {
	best, most := "", maxTypos(len(name))
	found := false
	folded := strings.ToLower(name)
	for _, c := range candidates {
		if d := typos(folded, strings.ToLower(c), most); d <= most && d < len(name) {
			best, most, found = c, d-1, true
		}
	}
	return best, found
}

// DidYouMean is `; did you mean "x"?` for the [Nearest] candidate x, and empty
// without a candidate: the end of an error message about an unknown name.
func DidYouMean(name string, candidates []string) string {
	if c, ok := Nearest(name, candidates); ok {
		return `; did you mean "` + c + `"?`
	}
	return ""
}

// parseName is the index of a name in all names of its kind.
func parseName[T ~uint8](kind, name string, names []string) (T, error) {
	if i := slices.Index(names, name); i >= 0 {
		return T(i), nil
	}
	return 0, unknownName(kind, name, names)
}

// nameOf is the name of a value, or kind(n) for a value without one.
func nameOf[T ~uint8](kind string, v T, names []string) string {
	if int(v) < len(names) {
		return names[v]
	}
	return fmt.Sprintf("%s(%d)", kind, uint8(v))
}

func unknownName(kind, name string, names []string) error {
	if near := DidYouMean(name, names); near != "" {
		return fmt.Errorf("unknown %s %q%s", kind, excerpt.Of(name), near)
	}
	last := len(names) - 1
	return fmt.Errorf("unknown %s %q; want %s or %s", kind, excerpt.Of(name), strings.Join(names[:last], ", "), names[last])
}

func maxTypos(n int) int {
	switch {
	case n <= 5:
		return 1
	case n <= 8:
		return 2
	}
	return 3
}

// typos is the optimal string alignment distance of a and b, or some number above
// most when the distance is larger than most.
func typos(a, b string, most int) int {
	if abs(len(a)-len(b)) > most || len(a) > 128 {
		return most + 1
	}
	var before []int // the row before prev, for swaps
	prev := make([]int, len(b)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row := make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			d := prev[j-1]
			if a[i-1] != b[j-1] {
				d++
			}
			d = min(d, prev[j]+1, row[j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				d = min(d, before[j-2]+1)
			}
			row[j] = d
		}
		before, prev = prev, row
	}
	return prev[len(b)]
}

func abs(n int) int { return max(n, -n) }
