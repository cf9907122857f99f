// Package humanize writes counts, sizes and durations for people.
package humanize

import (
	"fmt"
	"strconv"
	"time"
)

// Plural is a count of things with its thousands apart, as in "1,200 rows"; many is the
// plural if it is irregular.
func Plural[N int | int64](n N, one string, many ...string) string {
	return Thousands(int64(n)) + " " + Unit(n, one, many...)
}

// Count is a count of things with plain digits, as in "1200 rows".
func Count[N int | int64](n N, one string, many ...string) string {
	return strconv.FormatInt(int64(n), 10) + " " + Unit(n, one, many...)
}

// Unit is the name of the counted things, in the plural unless n is 1.
func Unit[N int | int64](n N, one string, many ...string) string {
	if n == 1 {
		return one
	}
	return append(many, one+"s")[0]
}

// Thousands is a number with commas.
func Thousands(n int64) string {
	text := strconv.FormatInt(n, 10)
	for i := len(text) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// Size is a number of bytes in decimal units with three digits, as in "1.23 MB".
func Size(n int64) string {
	const units = "kMGTPE"
	if n < 1000 {
		return Plural(n, "byte")
	}
	f, unit := float64(n), 0
	for f /= 1000; f >= 999.5 && unit < len(units)-1; f /= 1000 {
		unit++
	}
	return fmt.Sprintf("%.3g %cB", f, units[unit])
}

// Elapsed is a duration in microseconds, milliseconds or seconds.
func Elapsed(d time.Duration) string {
	switch {
	case d < time.Millisecond:
		return fmt.Sprintf("%dus", d.Microseconds())
	case d < time.Second:
		return fmt.Sprintf("%.1fms", float64(d)/float64(time.Millisecond))
	}
	return fmt.Sprintf("%.1fs", d.Seconds())
}
