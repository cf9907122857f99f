package schema

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/smolwc/smolwc/internal/excerpt"
)

// ageUnits are the units of an age, longest first.
var ageUnits = [...]struct {
	name string
	size time.Duration
}{
	{"w", 7 * 24 * time.Hour},
	{"d", 24 * time.Hour},
	{"h", time.Hour},
	{"m", time.Minute},
	{"s", time.Second},
	{"ms", time.Millisecond},
	{"us", time.Microsecond},
}

// ParseAge reads an age as YAML and the language write it: whole numbers, each with its
// unit, the longest unit first and each unit once: 36h, 30d, 2w, 90m, 1w2d. The units are
// w, d (24 hours), h, m (minutes), s, ms and us. Ages are positive; the longest is the
// longest [time.Duration], some 292 years. Signs, fractions and spaces are errors.
func ParseAge(s string) (time.Duration, error) {
	age, err := parseAge(s)
	if err != nil {
		return 0, fmt.Errorf("age %q: %w", excerpt.Of(s), err)
	}
	return age, nil
}

func parseAge(s string) (time.Duration, error) {
	if s == "" {
		return 0, errors.New("want a number and a unit, as in 30d")
	}
	if s[0] == '-' {
		return 0, errors.New("an age cannot be negative")
	}
	var age time.Duration
	units := ageUnits[:] // units that may still follow
	for s != "" {
		n, unit, rest, err := nextAge(s)
		if err != nil {
			return 0, err
		}
		i := 0
		for i < len(units) && units[i].name != unit {
			i++
		}
		if i == len(units) {
			return 0, unitError(unit)
		}
		if n > uint64((math.MaxInt64-age)/units[i].size) {
			return 0, errors.New("too long; the longest age is some 292 years (15250w)")
		}
		age += time.Duration(n) * units[i].size
		s, units = rest, units[i+1:]
	}
	if age == 0 {
		return 0, errors.New("an age of zero would drop every cell at once; leave the rule out to keep everything")
	}
	return age, nil
}

// nextAge cuts the first number and its unit off s. A number that does not fit 64
// bits becomes the largest that does.
func nextAge(s string) (n uint64, unit, rest string, err error) {
	digits := len(s) - len(strings.TrimLeft(s, "0123456789"))
	if digits == 0 {
		return 0, "", "", fmt.Errorf("want a whole number at %q, as in 30d", excerpt.Of(s))
	}
	n, _ = strconv.ParseUint(s[:digits], 10, 64)
	rest = strings.TrimLeft(s[digits:], "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
	unit = s[digits : len(s)-len(rest)]
	if unit == "" && rest == "" {
		return 0, "", "", fmt.Errorf("the unit is missing; want one of %s, as in 30d", unitNames())
	}
	if unit == "" {
		return 0, "", "", fmt.Errorf("want a unit at %q, one of %s", excerpt.Of(rest), unitNames())
	}
	return n, unit, rest, nil
}

func unitError(unit string) error {
	for _, u := range ageUnits {
		if u.name == unit {
			return fmt.Errorf("%q occurs twice or after a shorter unit; write the longest unit first, as in 1w2d", unit)
		}
	}
	return fmt.Errorf("unknown unit %q; the units are %s", excerpt.Of(unit), unitNames())
}

func unitNames() string {
	var names []string
	for _, u := range ageUnits {
		names = append(names, u.name)
	}
	return strings.Join(names, ", ")
}

// FormatAge is a text that [ParseAge] reads as d, which must be positive: a number of the
// longest unit that leaves no rest, as in 2w and 36h. A fraction of a microsecond is cut
// off.
func FormatAge(d time.Duration) string {
	d = d.Truncate(time.Microsecond)
	for _, u := range ageUnits {
		if d > 0 && d%u.size == 0 {
			return strconv.FormatInt(int64(d/u.size), 10) + u.name
		}
	}
	return d.String()
}
