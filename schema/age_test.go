package schema_test

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/smolwc/smolwc/schema"
)

func TestParseAge(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"36h":      36 * time.Hour,
		"30d":      30 * day,
		"2w":       14 * day,
		"90m":      90 * time.Minute,
		"1w2d":     9 * day,
		"1h30m15s": 90*time.Minute + 15*time.Second,
		"250ms":    250 * time.Millisecond,
		"7us":      7 * time.Microsecond,
		"0w1d":     day,
		"007d":     7 * day,
		"15250w":   15250 * 7 * day,
	} {
		if got, err := schema.ParseAge(text); err != nil || got != want {
			t.Errorf("%s: got %v, %v; want %v", text, got, err, want)
		}
	}
}

func TestParseAgeRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"":                      `age "": want a number and a unit`,
		"-1d":                   "cannot be negative",
		"+1d":                   `want a whole number at "+1d"`,
		"0d":                    "an age of zero",
		"0w0d0h":                "an age of zero",
		"30":                    "the unit is missing",
		"1d12":                  "the unit is missing",
		"d":                     `want a whole number at "d"`,
		"1.5h":                  `want a unit at ".5h"`,
		"1 d":                   `want a unit at " d"`,
		"1d ":                   `want a whole number at " "`,
		"1y":                    `unknown unit "y"; the units are w, d, h, m, s, ms, us`,
		"1D":                    `unknown unit "D"`,
		"1ns":                   `unknown unit "ns"`,
		"2d1w":                  `"w" occurs twice or after a shorter unit`,
		"1d2d":                  `"d" occurs twice`,
		"15251w":                "too long",
		"15250w53d":             "too long",
		"99999999999999999999d": "too long",
		"1µs":                   `want a unit at "µs"`,
	} {
		got, err := schema.ParseAge(text)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, %v; want an error with %s", text, got, err, want)
		}
	}
}

func TestFormatAge(t *testing.T) {
	for want, d := range map[string]time.Duration{
		"36h":  36 * time.Hour,
		"2w":   14 * day,
		"365d": 365 * day,
		"9d":   9 * day,
		"90m":  90 * time.Minute,
		"25h":  25 * time.Hour,
		"0s":   0,
	} {
		if got := schema.FormatAge(d); got != want {
			t.Errorf("%v: got %s, want %s", d, got, want)
		}
	}
}

func TestAgesRoundTrip(t *testing.T) {
	units := []time.Duration{7 * day, day, time.Hour, time.Minute, time.Second, time.Microsecond}
	rapid.Check(t, func(t *rapid.T) {
		var d time.Duration
		for _, u := range units {
			d += u * time.Duration(rapid.IntRange(0, 70).Draw(t, "n"))
		}
		if d == 0 {
			return
		}
		text := schema.FormatAge(d)
		if got, err := schema.ParseAge(text); err != nil || got != d {
			t.Fatalf("%v is %s, read as %v, %v", d, text, got, err)
		}
	})
}
