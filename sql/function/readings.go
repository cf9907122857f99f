package function

import (
	"strconv"
	"strings"
	"time"

	"github.com/smolwc/smolwc/internal/walltime"
	"github.com/smolwc/smolwc/sql/parse"
	"github.com/smolwc/smolwc/sql/value"
)

// A reading is the part of a time read so far by a format. Fields missing from the
// format are taken from 1970-01-01 00:00:00.
type reading struct {
	text   string // the rest of it
	within bool   // an element that stands for others

	year, month, day             int
	century                      int
	inCentury                    bool // a year of two digits
	centuryRead                  bool // by %C; %y alone chooses one
	hour, minute, second, micros int
	hours12, afternoon           bool
	zone                         *time.Location
	unix                         *int64 // by %s, which decides alone

	// Days that are not read as a month and a day of it.
	isoYear                          *int
	isoWeek, isoDay, week, dayOfYear place
	weekFrom                         time.Weekday // of week
	weekday                          *int         // 0 is Sunday
	elements, yearAt, monthAt, dayAt int          // a later element decides over an earlier one
	calendar                         bool         // with elements of the calendar that is not ISO's
}

// A place is a number, and which element of the format it is of, from 1.
type place struct{ n, at int }

const blanks = " \t\n\v\f\r"

// parsed reads a time by a format. It is in zone unless the text names one. without are
// the elements that the type lacks.
func parsed(format, text string, zone *time.Location, without string) (time.Time, error) {
	if len(format) > longestFormat {
		return time.Time{}, errFormat(format)
	}
	for rest := format; strings.Contains(rest, "%"); {
		var e element
		if e, rest = nextElement(rest[strings.IndexByte(rest, '%'):]); !e.readable() {
			return time.Time{}, parse.Invalid("%.20s in the format %.100q is not an element that times are read by", e.text, format)
		}
		if strings.IndexByte(without, e.name) >= 0 {
			return time.Time{}, parse.Invalid("%.20s in the format %.100q is not an element of a %s", e.text, format, map[bool]string{true: "DATE", false: "DATETIME"}[without == ofTimes])
		}
	}
	r := reading{text: strings.TrimLeft(text, blanks), year: 1970, month: 1, day: 1, zone: zone}
	why := r.follow(format)
	r.skip()
	if why == "" && r.text != "" {
		why = "at its end is " + excerpt(r.text)
	}
	if why == "" {
		if t, ok := r.time(); ok {
			return t, nil
		}
		why = "there is no such time"
	}
	return time.Time{}, parse.Invalid("%.100q is not a time in the format %.100q: %s", text, format, why)
}

func excerpt(s string) string { return strconv.Quote(s[:min(len(s), 20)]) }

// readable reports whether times are read by the element.
func (e element) readable() bool {
	if e.name == 'S' && len(e.modifier) > 1 && e.modifier != "E*" {
		if digits, err := strconv.Atoi(e.modifier[1:]); err != nil || digits > 6 {
			return false
		}
	}
	_, number := numbered[e.name]
	return e.flags == "" && e.width == 0 && e.known() && (number || worded[e.name] != nil || compound[e.name] != "")
}

// follow reads the text by a format, and returns why it cannot.
func (r *reading) follow(format string) (why string) {
	for format != "" {
		switch {
		case strings.IndexByte(blanks, format[0]) >= 0:
			r.skip()
			format = format[1:]
		case format[0] != '%':
			if r.text == "" || r.text[0] != format[0] {
				return "expected " + excerpt(format) + " at " + excerpt(r.text)
			}
			r.text, format = r.text[1:], format[1:]
		default:
			var e element
			e, format = nextElement(format)
			at := r.text
			if r.elements++; !r.read(e, r.within || strings.HasPrefix(format, "%")) {
				return e.text + " does not read " + excerpt(at)
			}
		}
	}
	return ""
}

// skip passes over blanks.
func (r *reading) skip() { r.text = strings.TrimLeft(r.text, blanks) }

// read reads an element. Before another element a year and a century have no more than
// their usual digits.
func (r *reading) read(e element, before bool) (ok bool) {
	if strings.IndexByte("aAnpPtZz%", e.name) < 0 && (r.within || strings.IndexByte("ekuw", e.name) >= 0) {
		r.text = strings.TrimLeft(r.text, " ")
	}
	longer := 1
	if before {
		longer = 0
	}
	switch e.name {
	case '%':
		if ok = strings.HasPrefix(r.text, "%"); ok {
			r.text = r.text[1:]
		}
		return ok
	case 'n', 't':
		r.skip()
		return true
	case 'c', 'D', 'F', 'R', 'r', 'T', 'X', 'x':
		r.within = true
		ok = r.follow(compound[e.name]) == ""
		r.within = false
		return ok
	case 'A', 'a':
		weekday, ok := r.name(7, func(n int) string { return time.Weekday(n).String() })
		if !r.within { // %c does not choose a day of a week
			r.weekday = &weekday
		}
		return ok
	case 'p', 'P':
		return r.half()
	case 'Z':
		name := r.text
		if end := strings.IndexAny(name, blanks); end >= 0 {
			name = name[:end]
		}
		r.text = r.text[len(name):]
		zone, err := value.Zone(name)
		r.zone = zone
		return err == nil
	case 'z':
		return r.offset(e.modifier == "E")
	case 'H', 'k':
		r.hours12 = false
		return r.number(&r.hour, 2, 0, 23)
	case 'I', 'l':
		r.skip()
		ok = r.number(&r.hour, 2, 1, 12)
		r.hour, r.hours12 = r.hour%12, true
		return ok
	case 'M':
		return r.number(&r.minute, 2, 0, 59)
	case 'S':
		return r.number(&r.second, 2, 0, 60) && r.fraction(e.modifier)
	case 'u', 'w':
		first, last := 0, 6
		if e.name == 'u' {
			first, last = 1, 7
		}
		var weekday int
		ok = r.number(&weekday, 1, first, last)
		weekday %= 7
		r.weekday = &weekday
		return ok
	case 'G', 'g':
		var year int
		r.isoYear = &year
		if e.name == 'G' {
			return r.number(&year, 20, 0, 99999)
		}
		ok = r.number(&year, 2, 0, 99)
		year += 100 * centuryOf(year)
		return ok
	case 'V':
		return r.place(&r.isoWeek, 2, 1, 53)
	case 'J':
		return r.place(&r.isoDay, 3, 1, 371)
	}
	r.calendar = true
	switch e.name {
	case 'Y':
		r.yearAt, r.inCentury, r.centuryRead = r.elements, false, false
		if e.modifier == "E4" {
			length := len(r.text)
			return r.number(&r.year, 4, 0, 9999) && length-len(r.text) == 4
		}
		return r.number(&r.year, 4+longer, 0, 9999+longer)
	case 'C':
		if !r.inCentury {
			r.year = 0
		}
		r.yearAt, r.inCentury, r.centuryRead = r.elements, true, true
		return r.number(&r.century, 2+longer, 0, 99+longer)
	case 'y':
		ok = r.number(&r.year, 2, 0, 99)
		if !r.centuryRead {
			r.century = centuryOf(r.year)
		}
		r.yearAt, r.inCentury = r.elements, true
		return ok
	case 'Q':
		ok = r.number(&r.month, 1, 1, 4)
		r.month, r.day, r.monthAt, r.dayAt = r.month*3-2, 1, r.elements, r.elements
		return ok
	case 'm':
		r.monthAt = r.elements
		return r.number(&r.month, 2, 1, 12)
	case 'B', 'b', 'h':
		r.monthAt = r.elements
		n, ok := r.name(12, func(n int) string { return time.Month(n + 1).String() })
		r.month = n + 1
		return ok
	case 'd', 'e':
		r.dayAt = r.elements
		return r.number(&r.day, 2, 1, 31)
	case 'U', 'W':
		r.weekFrom = time.Sunday
		if e.name == 'W' {
			r.weekFrom = time.Monday
		}
		return r.place(&r.week, 2, 0, 53)
	case 'j':
		return r.place(&r.dayOfYear, 3, 1, 366)
	case 's':
		return r.seconds()
	}
	return false
}

// centuryOf is the century of a year of two digits: 1969 to 2068.
func centuryOf(year int) int {
	if year < 69 {
		return 20
	}
	return 19
}

// number reads a number of up to as many digits.
func (r *reading) number(n *int, digits, least, most int) (ok bool) {
	number := r.digits(digits)
	*n, _ = strconv.Atoi(number) // is a large number if there are too many digits
	return number != "" && least <= *n && *n <= most
}

// digits takes up to as many digits.
func (r *reading) digits(most int) string {
	n := 0
	for n < len(r.text) && n < most && '0' <= r.text[n] && r.text[n] <= '9' {
		n++
	}
	digits := r.text[:n]
	r.text = r.text[n:]
	return digits
}

func (r *reading) place(p *place, digits, least, most int) (ok bool) {
	p.at = r.elements
	return r.number(&p.n, digits, least, most)
}

// name reads one of the first n names, in full or its first three letters, and returns its number.
func (r *reading) name(n int, name func(int) string) (which int, ok bool) {
	for i := range n {
		for _, name := range []string{name(i), name(i)[:3]} {
			if len(r.text) >= len(name) && strings.EqualFold(r.text[:len(name)], name) {
				r.text = r.text[len(name):]
				return i, true
			}
		}
	}
	return 0, false
}

// half reads AM or PM.
func (r *reading) half() (ok bool) {
	if len(r.text) < 2 || r.text[1]|0x20 != 'm' {
		return false
	}
	r.afternoon = r.text[0]|0x20 == 'p'
	ok = r.afternoon || r.text[0]|0x20 == 'a'
	r.text = r.text[2:]
	return ok
}

// offset reads +HH or +HHMM, and with E +HH:MM or Z.
func (r *reading) offset(extended bool) (ok bool) {
	if extended && strings.HasPrefix(r.text, "Z") {
		r.text, r.zone = r.text[1:], time.UTC
		return true
	}
	if r.text == "" || r.text[0] != '+' && r.text[0] != '-' {
		return false
	}
	offset := r.text[:1]
	r.text = r.text[1:]
	hours := r.digits(2)
	rest := r.text
	if extended {
		r.text = strings.TrimPrefix(r.text, ":")
	}
	minutes := r.digits(2)
	if len(minutes) != 2 {
		minutes, r.text = "", rest
	}
	zone, err := value.Zone(offset + hours + minutes)
	r.zone = zone
	return len(hours) == 2 && err == nil
}

// fraction reads the fraction of a second that %E*S and %E3S may have. Digits beyond
// microseconds do not count.
func (r *reading) fraction(modifier string) (ok bool) {
	r.micros = 0
	most := len(r.text)
	if modifier != "E*" {
		most, _ = strconv.Atoi(strings.Trim(modifier, "EO"))
	}
	if most == 0 || !strings.HasPrefix(r.text, ".") {
		return true
	}
	r.text = r.text[1:]
	digits := r.digits(most)
	r.micros, _ = strconv.Atoi((digits + "000000")[:6])
	return digits != ""
}

// seconds reads %s, a number of seconds since 1970.
func (r *reading) seconds() (ok bool) {
	r.yearAt, r.monthAt, r.dayAt = r.elements, r.elements, r.elements
	number, digits := "", 12
	if strings.HasPrefix(r.text, "-") {
		number, r.text, digits = "-", r.text[1:], 11
	}
	number += r.digits(digits)
	n, err := strconv.ParseInt(number, 10, 64)
	r.unix = &n
	return err == nil && number != "-0"
}

// time returns the time that was read, if it exists.
func (r *reading) time() (t time.Time, ok bool) {
	if r.unix != nil {
		return time.Unix(*r.unix, 0), true
	}
	year, month, day, ok := r.date()
	hour, micros := r.hour, r.micros
	if r.hours12 && r.afternoon {
		hour += 12
	}
	if r.second == 60 { // no fraction in a leap second
		micros = 0
	}
	wall, valid := value.WallTime(year, month, day, hour, r.minute, r.second, micros)
	if !ok || !valid {
		return t, false
	}
	return walltime.At(wall, r.zone), true
}

// date returns the day that was read, if it exists. A day of the year overrides a week
// if it is later in the format, or if the week comes without a day.
func (r *reading) date() (year, month, day int, ok bool) {
	if year = r.year; r.inCentury {
		year += r.century * 100
	}
	first, week, dayOfYear := time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC), r.week, r.dayOfYear
	iso := r.isoYear != nil && !r.calendar
	if iso {
		first, week, dayOfYear = isoYear(*r.isoYear), r.isoWeek, r.isoDay
	}
	var d time.Time
	at := 0
	switch {
	case dayOfYear.at > 0 && (dayOfYear.at > week.at || r.weekday == nil):
		at, d = dayOfYear.at, first.AddDate(0, 0, dayOfYear.n-1)
	case week.at > 0:
		from := r.weekFrom
		if iso {
			from = time.Monday
		}
		at, d = week.at, first.AddDate(0, 0, int(from-first.Weekday()+7)%7+(week.n-1)*7)
		if d.AddDate(0, 0, 6).Before(first) || d.Year() > first.Year() && !iso {
			return 0, 0, 0, false // no such week in the year
		}
		if r.weekday != nil {
			d = d.AddDate(0, 0, (*r.weekday-int(from)+7)%7)
		}
	case iso:
		d = first
	default:
		return year, r.month, r.day, true
	}
	if iso {
		return d.Year(), int(d.Month()), d.Day(), d.Before(isoYear(*r.isoYear + 1))
	}
	if at == dayOfYear.at && d.Year() != year {
		return 0, 0, 0, false
	}
	month, day = r.month, r.day
	if r.yearAt < at {
		year = d.Year()
	}
	if r.monthAt < at {
		month = int(d.Month())
	}
	if r.dayAt < at {
		day = d.Day()
	}
	return year, month, day, true
}
