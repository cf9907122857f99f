package schema

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// sizeUnits are the units of a size; no unit means bytes.
var sizeUnits = []struct {
	name string
	size int64
}{
	{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40},
	{"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12},
	{"B", 1}, {"", 1},
}

// ParseSize reads a size in bytes: 64MiB, 512MB, or a plain number.
func ParseSize(s string) (int64, error) {
	digits := len(s) - len(strings.TrimLeft(s, "0123456789"))
	if digits == 0 {
		return 0, fmt.Errorf("%q is not a size; want a whole number and a unit, as in 256MiB", s)
	}
	unit, err := sizeUnit(s[digits:])
	if err != nil {
		return 0, fmt.Errorf("size %q: %w", s, err)
	}
	n, err := strconv.ParseInt(s[:digits], 10, 64)
	if errors.Is(err, strconv.ErrRange) || n > math.MaxInt64/unit {
		return 0, fmt.Errorf("size %q is too large", s)
	}
	return n * unit, err
}

func sizeUnit(name string) (int64, error) {
	var names []string
	for _, u := range sizeUnits {
		if u.name == name {
			return u.size, nil
		}
		if u.name != "" {
			names = append(names, u.name)
		}
	}
	if near := DidYouMean(name, names); near != "" {
		return 0, fmt.Errorf("unknown unit %q%s", name, near)
	}
	return 0, fmt.Errorf("unknown unit %q; the units are %s", name, strings.Join(names, ", "))
}

// FormatSize is the size as [ParseSize] reads it, with the largest binary unit
// that leaves a whole number.
func FormatSize(n int64) string {
	for _, u := range []int{3, 2, 1, 0} {
		if unit := sizeUnits[u]; n != 0 && n%unit.size == 0 {
			return strconv.FormatInt(n/unit.size, 10) + unit.name
		}
	}
	return strconv.FormatInt(n, 10)
}
