package function

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/smolwc/smolwc/sql/parse"
)

// An element is a part of a format of times, such as %d, %-e, %10A, %E4Y or %Od.
// https://cloud.google.com/bigquery/docs/reference/standard-sql/format-elements#format_elements_date_time
type element struct {
	text  string // of all of it
	flags string // some of _ - 0 ^ #
	width int
	// modifier is E, O or nothing. With E it includes what chooses a number of digits: E4, E*.
	modifier string
	name     byte // 0 if the format ends before it
}

// longestFormat bounds a format in bytes, and widest the width of an element in it.
const longestFormat, widest = 4096, 100

// nextElement cuts an element, which begins with %, from the beginning of a format.
func nextElement(format string) (e element, rest string) {
	i := 1
	span := func(chars string) string {
		from := i
		for i < len(format) && strings.IndexByte(chars, format[i]) >= 0 {
			i++
		}
		return format[from:i]
	}
	e.flags = span("_-0^#")
	e.width, _ = strconv.Atoi(span("0123456789"))
	if i < len(format) && (format[i] == 'E' || format[i] == 'O') {
		from := i
		if i++; format[from] == 'E' {
			if i < len(format) && format[i] == '*' {
				i++
			} else {
				span("0123456789")
			}
		}
		e.modifier = format[from:i]
	}
	if i < len(format) {
		e.name = format[i]
		i++
	}
	e.text = format[:i]
	return e, format[i:]
}

// modified are the elements that E and O change nothing of.
var modified = map[string]string{"": "", "E": "CcXxYyz", "O": "deHIMmSUuVWwy"}

// known reports whether the element may have its modifier; which elements there are
// without one is for its users to know.
func (e element) known() bool {
	switch names, ok := modified[e.modifier]; {
	case e.modifier == "":
		return true
	case ok:
		return strings.IndexByte(names, e.name) >= 0
	case e.modifier == "E4":
		return e.name == 'Y' || e.name == 'S'
	}
	return e.name == 'S' // of E* and E with digits
}

// ofTimes are the elements that a DATE does not have.
const ofTimes = "cHIklMPpRrSsTXZz"

// compound are the elements that stand for others.
var compound = map[byte]string{
	'c': "%a %b %e %H:%M:%S %Y", 'D': "%m/%d/%y", 'F': "%Y-%m-%d", 'R': "%H:%M", 'r': "%I:%M:%S %p", 'T': "%H:%M:%S", 'X': "%H:%M:%S", 'x': "%m/%d/%y",
}

// numbered are the elements that are numbers: what they are padded with, to how many
// digits, and what they are.
var numbered = map[byte]struct {
	pad   byte
	width int
	of    func(time.Time) int
}{
	'C': {'0', 2, func(t time.Time) int { return t.Year() / 100 }},
	'd': {'0', 2, time.Time.Day},
	'e': {' ', 2, time.Time.Day},
	'G': {'0', 1, func(t time.Time) int { y, _ := t.ISOWeek(); return y }},
	'g': {'0', 2, func(t time.Time) int { y, _ := t.ISOWeek(); return y % 100 }},
	'H': {'0', 2, time.Time.Hour},
	'I': {'0', 2, hour12},
	'J': {'0', 3, isoDay},
	'j': {'0', 3, time.Time.YearDay},
	'k': {' ', 2, time.Time.Hour},
	'l': {' ', 2, hour12},
	'M': {'0', 2, time.Time.Minute},
	'm': {'0', 2, func(t time.Time) int { return int(t.Month()) }},
	'Q': {'0', 1, func(t time.Time) int { return (int(t.Month()) + 2) / 3 }},
	'S': {'0', 2, time.Time.Second},
	's': {'0', 1, func(t time.Time) int { return int(t.Unix()) }},
	'U': {'0', 2, func(t time.Time) int { return week(t, time.Sunday) }},
	'u': {'0', 1, func(t time.Time) int { return (int(t.Weekday())+6)%7 + 1 }},
	'V': {'0', 2, func(t time.Time) int { _, w := t.ISOWeek(); return w }},
	'W': {'0', 2, func(t time.Time) int { return week(t, time.Monday) }},
	'w': {'0', 1, func(t time.Time) int { return int(t.Weekday()) }},
	'Y': {'0', 1, time.Time.Year},
	'y': {'0', 2, func(t time.Time) int { return t.Year() % 100 }},
}

// worded are the other elements.
var worded = map[byte]func(time.Time) string{
	'%': func(time.Time) string { return "%" },
	'A': func(t time.Time) string { return t.Weekday().String() },
	'a': func(t time.Time) string { return t.Weekday().String()[:3] },
	'B': func(t time.Time) string { return t.Month().String() },
	'b': func(t time.Time) string { return t.Month().String()[:3] },
	'h': func(t time.Time) string { return t.Month().String()[:3] },
	'n': func(time.Time) string { return "\n" },
	'P': func(t time.Time) string { return t.Format("pm") },
	'p': func(t time.Time) string { return t.Format("PM") },
	't': func(time.Time) string { return "\t" },
	'Z': zoneText,
	'z': func(t time.Time) string { return t.Format("-0700") },
}

func hour12(t time.Time) int { return (t.Hour()+11)%12 + 1 }

// isoDay counts the days of the ISO year from 1.
func isoDay(t time.Time) int {
	_, week := t.ISOWeek()
	return (week-1)*7 + (int(t.Weekday())+6)%7 + 1
}

// week counts the weeks of a year that begin with a day of the week; days before the
// first are in week 0.
func week(t time.Time, first time.Weekday) int {
	return (t.YearDay() + 6 - int(t.Weekday()-first+7)%7) / 7
}

// zoneText is the offset of a time as %Z writes it, which reads as a time zone: UTC,
// UTC-7, UTC+0530.
func zoneText(t time.Time) string {
	_, offset := t.Zone()
	switch {
	case offset == 0:
		return "UTC"
	case offset%3600 == 0:
		return fmt.Sprintf("UTC%+d", offset/3600)
	}
	return "UTC" + t.Format("-0700")
}

// formatted writes a time by a format. What is not an element stays as it is, also the
// elements that the type does not have.
func formatted(format string, t time.Time, without string) (any, error) {
	if len(format) > longestFormat {
		return nil, errFormat(format)
	}
	var b strings.Builder
	for {
		at := strings.IndexByte(format, '%')
		if at < 0 {
			b.WriteString(format)
			return b.String(), nil
		}
		b.WriteString(format[:at])
		e, rest := nextElement(format[at:])
		if e.width > widest {
			return nil, parse.Invalid("the format has an element with a width of %d; it may have up to %d", e.width, widest)
		}
		if strings.IndexByte(without, e.name) >= 0 || !e.write(&b, t) {
			b.WriteString(e.text)
		}
		format = rest
	}
}

func errFormat(format string) error {
	return parse.Invalid("the format has %d bytes; it may have up to %d", len(format), longestFormat)
}

// write writes an element, if it is one.
func (e element) write(b *strings.Builder, t time.Time) (ok bool) {
	if !e.known() {
		return false
	}
	if n, ok := numbered[e.name]; ok {
		if digits, ok := strings.CutPrefix(e.modifier, "E"); ok && digits != "" {
			b.WriteString(fraction(t, digits, e.name))
			return true
		}
		b.WriteString(e.padded(strconv.Itoa(n.of(t)), n.pad, n.width))
		return true
	}
	var text string
	switch of := worded[e.name]; {
	case e.name == 'z' && e.modifier == "E":
		text = t.Format("-07:00")
	case of != nil:
		text = of(t)
	case compound[e.name] != "":
		all, _ := formatted(compound[e.name], t, "")
		text, _ = all.(string)
	default:
		return false
	}
	switch {
	case strings.Contains(e.flags, "^"):
		text = strings.ToUpper(text)
	case strings.Contains(e.flags, "#") && (e.name == 'p' || e.name == 'Z'):
		text = strings.ToLower(text)
	case strings.Contains(e.flags, "#"):
		text = strings.ToUpper(text)
	}
	b.WriteString(e.padded(text, ' ', 0))
	return true
}

// fraction is %E4Y, or %E#S and %E*S: a second with a number of digits, or with as many as
// it needs.
func fraction(t time.Time, digits string, name byte) string {
	switch {
	case name == 'Y':
		return fmt.Sprintf("%04d", t.Year())
	case digits == "*":
		return t.Format("05.999999")
	}
	const most = 18 // as in GoogleSQL; more are left out
	n, err := strconv.Atoi(digits)
	if n = min(n, most); err != nil {
		n = most
	}
	if n == 0 {
		return t.Format("05")
	}
	return (t.Format("05.000000") + strings.Repeat("0", most))[:3+n]
}

// padded is a text in the width of the element, if given, or in its own.
func (e element) padded(text string, pad byte, width int) string {
	for _, flag := range []byte(e.flags) {
		switch flag {
		case '_':
			pad = ' '
		case '0':
			pad = '0'
		case '-':
			width = 0
		}
	}
	if e.width > 0 {
		width = e.width
	}
	return strings.Repeat(string(pad), max(width-len(text), 0)) + text
}
