package filter

import (
	"fmt"
	"strconv"

	"github.com/smolwc/smolwc/internal/excerpt"
)

// A Bound is one end of a range of bytes. The zero Bound is no bound.
type Bound struct {
	At  string
	Set bool // there is a bound
	// Open says that At itself is not in the range.
	Open bool
}

// Including is the bound of a range that contains at.
func Including(at string) Bound { return Bound{At: at, Set: true} }

// Excluding is the bound of a range that goes up to at and does not contain it.
func Excluding(at string) Bound { return Bound{At: at, Set: true, Open: true} }

func between(from, to Bound, b string) bool {
	if from.Set && (b < from.At || from.Open && b == from.At) {
		return false
	}
	return !to.Set || b < to.At || !to.Open && b == to.At
}

func rangeText(from, to Bound) string {
	left, right := "[", "]"
	if from.Open {
		left = "("
	}
	if to.Open || !to.Set {
		right = ")"
	}
	end := "∞"
	if to.Set {
		end = strconv.Quote(to.At)
	}
	return left + strconv.Quote(from.At) + ", " + end + right
}

func checkRange(from, to Bound) error {
	if from.Set && to.Set && from.At > to.At {
		return fmt.Errorf("start %q is after end %q", excerpt.Of(from.At), excerpt.Of(to.At))
	}
	return nil
}

func rangeSize(from, to Bound) int {
	n := 0
	for _, b := range []Bound{from, to} {
		if b.Set {
			n += field(1, len(b.At))
		}
	}
	return n
}
