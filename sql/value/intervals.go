package value

import (
	"math/big"
	"regexp"
	"strconv"
	"strings"

	"github.com/smolwc/smolwc/sql/parse"
)

// An Interval is an amount of time in three parts, each with a sign of its own: a month has no
// fixed number of days, nor a day of hours. [NewInterval] checks their bounds.
// https://github.com/google/googlesql/blob/master/docs/data-types.md#interval_type
type Interval struct {
	Months, Days int32
	Micros       int64
}

// The bounds of the parts of an INTERVAL: 10,000 years, each.
const (
	mostMonths = 10_000 * 12
	mostDays   = 10_000 * 366
	mostMicros = mostDays * microsPerDay
)

const (
	daysPerMonth    = 30 // where months are compared, divided or justified
	microsPerSecond = 1_000_000
	microsPerDay    = secondsPerDay * microsPerSecond
)

// NewInterval is an INTERVAL of parts that are in their bounds.
func NewInterval(months, days, micros int64) (Interval, error) {
	var s IntervalSum
	s.months.SetInt64(months)
	s.days.SetInt64(days)
	s.micros.SetInt64(micros)
	return s.value()
}

// intervalParts are the parts of an INTERVAL: a number of months, days or microseconds.
var intervalParts = map[string]Interval{
	"YEAR": {Months: 12}, "QUARTER": {Months: 3}, "MONTH": {Months: 1}, "WEEK": {Days: 7}, "DAY": {Days: 1},
	"HOUR": {Micros: 3600 * microsPerSecond}, "MINUTE": {Micros: 60 * microsPerSecond}, "SECOND": {Micros: microsPerSecond},
	"MILLISECOND": {Micros: 1000}, "MICROSECOND": {Micros: 1},
}

// IntervalOfPart is a number of a part such as DAY.
func IntervalOfPart(n int64, part string) (Interval, error) {
	unit, ok := intervalParts[part]
	if !ok {
		return Interval{}, parse.Invalid("%.100s is not a part of an INTERVAL; there are YEAR, QUARTER, MONTH, WEEK, DAY, HOUR, MINUTE, SECOND, MILLISECOND and MICROSECOND", part)
	}
	return unit.Times(n)
}

// Total is the INTERVAL in microseconds, with months of 30 days and days of 24 hours, by which
// intervals are compared. It fits: the three parts have up to 10,000 years each.
func (i Interval) Total() int64 {
	return (int64(i.Months)*daysPerMonth+int64(i.Days))*microsPerDay + i.Micros
}

// Plus is the sum by parts.
func (i Interval) Plus(j Interval) (Interval, error) {
	return NewInterval(int64(i.Months)+int64(j.Months), int64(i.Days)+int64(j.Days), i.Micros+j.Micros)
}

// Negated changes all signs.
func (i Interval) Negated() Interval { return Interval{-i.Months, -i.Days, -i.Micros} }

// Times multiplies each part.
func (i Interval) Times(n int64) (Interval, error) {
	var s IntervalSum
	s.add(i, big.NewInt(n))
	return s.value()
}

// Over divides by a number that is not 0: the rest of the months becomes days, and that of the
// days microseconds.
func (i Interval) Over(n int64) (Interval, error) {
	var s IntervalSum
	s.Add(i)
	return s.Over(n)
}

// An IntervalSum adds exactly. The zero value is 0.
type IntervalSum struct{ months, days, micros big.Int }

// Add adds an INTERVAL.
func (s *IntervalSum) Add(i Interval) { s.add(i, big.NewInt(1)) }

// add adds an INTERVAL so many times.
func (s *IntervalSum) add(i Interval, times *big.Int) {
	of := func(sum *big.Int, part int64) {
		p := big.NewInt(part)
		sum.Add(sum, p.Mul(p, times))
	}
	of(&s.months, int64(i.Months))
	of(&s.days, int64(i.Days))
	of(&s.micros, i.Micros)
}

// Merge adds another sum.
func (s *IntervalSum) Merge(of *IntervalSum) {
	s.months.Add(&s.months, &of.months)
	s.days.Add(&s.days, &of.days)
	s.micros.Add(&s.micros, &of.micros)
}

// value is the sum, if its parts are in their bounds.
func (s *IntervalSum) value() (Interval, error) {
	for _, of := range []struct {
		part *big.Int
		most int64
		name string
	}{{&s.months, mostMonths, "months"}, {&s.days, mostDays, "days"}, {&s.micros, mostMicros, "microseconds"}} {
		if of.part.CmpAbs(big.NewInt(of.most)) > 0 {
			return Interval{}, parse.Invalid("an INTERVAL of %s %s is out of range: up to %d are allowed", of.part, of.name, of.most)
		}
	}
	return Interval{int32(s.months.Int64()), int32(s.days.Int64()), s.micros.Int64()}, nil
}

// Over is the sum divided by a number that is not 0, as [Interval.Over] divides.
func (s *IntervalSum) Over(n int64) (Interval, error) {
	var of IntervalSum
	by, rest := big.NewInt(n), new(big.Int)
	carry := func(whole, left *big.Int, part *big.Int, units int64) {
		left.Mul(left, big.NewInt(units)).Add(left, part)
		whole.QuoRem(left, by, left)
	}
	carry(&of.months, rest, &s.months, 1)
	carry(&of.days, rest, &s.days, daysPerMonth)
	carry(&of.micros, rest, &s.micros, microsPerDay)
	return of.value()
}

// Extract is a part of the INTERVAL; ok is false if it has no such part.
func (i Interval) Extract(part string) (n int64, ok bool) {
	switch part {
	case "YEAR":
		return int64(i.Months) / 12, true
	case "MONTH":
		return int64(i.Months) % 12, true
	case "DAY":
		return int64(i.Days), true
	case "HOUR":
		return i.Micros / (3600 * microsPerSecond), true
	case "MINUTE":
		return i.Micros / (60 * microsPerSecond) % 60, true
	case "SECOND":
		return i.Micros / microsPerSecond % 60, true
	case "MILLISECOND":
		return i.Micros % microsPerSecond / 1000, true
	case "MICROSECOND":
		return i.Micros % microsPerSecond, true
	}
	return 0, false
}

// Justified makes days of 24 hours where hours is set, and then months of 30 days where days is.
// A part gets the sign of the larger parts.
func (i Interval) Justified(hours, days bool) (Interval, error) {
	m, d, us := int64(i.Months), int64(i.Days), i.Micros
	if hours {
		d, us = d+us/microsPerDay, us%microsPerDay
	}
	if days {
		m, d = m+d/daysPerMonth, d%daysPerMonth
		switch less := d < 0 || hours && d == 0 && us < 0; {
		case m > 0 && less:
			m, d = m-1, d+daysPerMonth
		case m < 0 && (d > 0 || hours && d == 0 && us > 0):
			m, d = m+1, d-daysPerMonth
		}
	}
	switch {
	case hours && d > 0 && us < 0:
		d, us = d-1, us+microsPerDay
	case hours && d < 0 && us > 0:
		d, us = d+1, us-microsPerDay
	}
	return NewInterval(m, d, us)
}

// String is the INTERVAL as years-months days hours:minutes:seconds, with a fraction of three or
// six digits if it has one.
func (i Interval) String() string {
	var b strings.Builder
	part := func(negative bool, abs int64, end string) {
		if negative {
			b.WriteByte('-')
		}
		b.WriteString(strconv.FormatInt(abs, 10) + end)
	}
	months, micros := max(int64(i.Months), -int64(i.Months)), max(i.Micros, -i.Micros)
	part(i.Months < 0, months/12, "-")
	part(false, months%12, " ")
	part(false, int64(i.Days), " ")
	part(i.Micros < 0, micros/(3600*microsPerSecond), ":")
	part(false, micros/(60*microsPerSecond)%60, ":")
	part(false, micros/microsPerSecond%60, "")
	if left := micros % microsPerSecond; left > 0 {
		b.WriteString("." + strings.TrimSuffix(strconv.FormatInt(microsPerSecond+left, 10)[1:], "000"))
	}
	return b.String()
}

// ISO is the INTERVAL as ISO 8601 writes durations, such as P1Y2M3DT4H5M6.7S.
func (i Interval) ISO() string {
	var b strings.Builder
	b.WriteByte('P')
	part := func(n int64, name string) {
		if n != 0 {
			b.WriteString(strconv.FormatInt(n, 10) + name)
		}
	}
	part(int64(i.Months)/12, "Y")
	part(int64(i.Months)%12, "M")
	part(int64(i.Days), "D")
	if i.Micros != 0 {
		b.WriteByte('T')
	}
	part(i.Micros/(3600*microsPerSecond), "H")
	part(i.Micros/(60*microsPerSecond)%60, "M")
	if left := i.Micros % (60 * microsPerSecond); left%microsPerSecond == 0 {
		part(left/microsPerSecond, "S")
	} else {
		if left < 0 {
			b.WriteByte('-')
			left = -left
		}
		text := strconv.FormatInt(microsPerSecond+left%microsPerSecond, 10)[1:]
		b.WriteString(strconv.FormatInt(left/microsPerSecond, 10) + "." + strings.TrimRight(text, "0") + "S")
	}
	if b.Len() == 1 {
		return "P0Y"
	}
	return b.String()
}

// fieldsOfIntervals are the parts that a text can have, from the largest to the smallest.
var fieldsOfIntervals = []string{"YEAR", "MONTH", "DAY", "HOUR", "MINUTE", "SECOND"}

// intervalForms are the texts of INTERVAL by their first and their last part.
var intervalForms = func() map[[2]int]*regexp.Regexp {
	sign, number := `([-+])?`, `(\d+)`
	forms := map[[2]int]*regexp.Regexp{}
	for first := range fieldsOfIntervals {
		for last := first + 1; last < len(fieldsOfIntervals); last++ {
			text := ""
			for at := first; at <= last; at++ {
				switch { // what stands between parts, and the sign of several
				case at == 1 && first == 0:
					text += "-"
				case at == 2 && first < 2, at == 3 && first < 3:
					text += " "
				case at > 3 && first < at:
					text += ":"
				}
				if at == first || at == 2 || at == 3 {
					text += sign
				}
				text += number
			}
			if last == 5 {
				text += `(?:\.(\d{1,6}))?`
			}
			forms[[2]int{first, last}] = regexp.MustCompile("^" + text + "$")
		}
	}
	return forms
}()

func badInterval(s string) error { return parse.Invalid("%.100q is not a valid INTERVAL", s) }

// ReadIntervalParts reads a text of a part, such as 5 of DAY or 1.5 of SECOND, or of the parts from
// one to another.
func ReadIntervalParts(s, from, to string) (Interval, error) {
	if to == "" && (from != "SECOND" || !strings.Contains(s, ".")) {
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			return Interval{}, badInterval(s)
		}
		return IntervalOfPart(n, from)
	}
	first, last := fieldNumber(from), fieldNumber(to)
	if to == "" { // as minutes and seconds; the fraction may be all
		number := strings.TrimLeft(s, "+-")
		sign := s[:len(s)-len(number)]
		if strings.Contains(number, ":") {
			return Interval{}, badInterval(s)
		}
		if number[0] == '.' {
			number = "0" + number
		}
		return readInterval(s, sign+"0:"+number, 4, 5)
	}
	return readInterval(s, s, first, last)
}

func fieldNumber(name string) int {
	for i, of := range fieldsOfIntervals {
		if of == name {
			return i
		}
	}
	return -1
}

// HasIntervalParts reports whether a text of INTERVAL can have the parts from one to another.
func HasIntervalParts(from, to string) bool {
	return intervalForms[[2]int{fieldNumber(from), fieldNumber(to)}] != nil
}

// readInterval reads a text of the parts from first to last; s is the text in errors.
func readInterval(s, text string, first, last int) (Interval, error) {
	form := intervalForms[[2]int{first, last}]
	const longest = 200 // of all texts of numbers in range
	if form == nil || len(text) > longest {
		return Interval{}, badInterval(s)
	}
	found := form.FindStringSubmatch(text)
	if found == nil {
		return Interval{}, badInterval(s)
	}
	found = found[1:]
	var sum IntervalSum
	sign := ""
	next := func() (text string) {
		text, found = found[0], found[1:]
		return text
	}
	for field := first; field <= last; field++ {
		if field == first || field == 2 || field == 3 {
			sign = strings.Trim(next(), "+")
		}
		sum.read(sign+next(), intervalParts[fieldsOfIntervals[field]])
	}
	if last == 5 {
		sum.readFraction(sign, next())
	}
	return sum.value()
}

// read adds a unit as often as digits say.
func (s *IntervalSum) read(digits string, unit Interval) {
	n, _ := new(big.Int).SetString(digits, 10)
	s.add(unit, n)
}

// readFraction adds the fraction of a second, whose digits may be none.
func (s *IntervalSum) readFraction(sign, digits string) {
	s.read(sign+(digits + "000000")[:6], Interval{Micros: 1})
}

var isoPart = regexp.MustCompile(`^(-?)(\d+)(?:[.,](\d{1,6}))?([YMWDHS])`)

// ReadInterval reads a text in ISO 8601, or in the form of [Interval.String], of which parts can be
// left out where it is clear which there are.
func ReadInterval(s string) (Interval, error) {
	const longest = 200
	if len(s) > longest {
		return Interval{}, badInterval(s)
	}
	if !strings.HasPrefix(s, "P") {
		dashes := 0
		for i := 1; i < len(s); i++ {
			if s[i] == '-' && s[i-1] >= '0' && s[i-1] <= '9' {
				dashes++
			}
		}
		parts, ok := clearForms[[3]int{strings.Count(s, " "), strings.Count(s, ":"), dashes}]
		if !ok {
			return Interval{}, badInterval(s)
		}
		return readInterval(s, s, parts[0], parts[1])
	}
	var sum IntervalSum
	text, units := s[1:], map[string]string{"Y": "YEAR", "M": "MONTH", "W": "WEEK", "D": "DAY"}
	for text != "" {
		if text[0] == 'T' && units["Y"] != "" {
			text, units = text[1:], map[string]string{"H": "HOUR", "M": "MINUTE", "S": "SECOND"}
			continue
		}
		part := isoPart.FindStringSubmatch(text)
		if part == nil || units[part[4]] == "" || part[3] != "" && part[4] != "S" {
			return Interval{}, badInterval(s)
		}
		text = text[len(part[0]):]
		sum.read(part[1]+part[2], intervalParts[units[part[4]]])
		sum.readFraction(part[1], part[3])
	}
	if s == "P" {
		return Interval{}, badInterval(s)
	}
	return sum.value()
}

// clearForms are the first and the last part of a text by its spaces, its colons and the dashes
// after digits.
var clearForms = map[[3]int][2]int{
	{2, 2, 1}: {0, 5}, {2, 1, 1}: {0, 4}, {2, 0, 1}: {0, 3}, {1, 0, 1}: {0, 2}, {0, 0, 1}: {0, 1},
	{2, 0, 0}: {1, 3}, {2, 1, 0}: {1, 4}, {2, 2, 0}: {1, 5}, {1, 1, 0}: {2, 4}, {1, 2, 0}: {2, 5}, {0, 2, 0}: {3, 5},
}
