package function

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/smolwc/smolwc/server/sql/parse"
)

// formats are the elements of formats of times that Go's layouts have. Longer elements
// of GoogleSQL are made of shorter ones.
// https://cloud.google.com/bigquery/docs/reference/standard-sql/format-elements#format_elements_date_time
var formats = map[byte]string{
	'A': "Monday", 'a': "Mon", 'B': "January", 'b': "Jan", 'h': "Jan", 'd': "02", 'e': "_2", 'H': "15", 'I': "03", 'j': "002",
	'M': "04", 'm': "01", 'p': "PM", 'P': "pm", 'S': "05", 'y': "06", 'Y': "2006", 'z': "-0700", 'Z': "MST",
}

var longFormats = map[byte]string{
	'c': "%a %b %e %H:%M:%S %Y", 'D': "%m/%d/%y", 'F': "%Y-%m-%d", 'R': "%H:%M", 'T': "%H:%M:%S", 'X': "%H:%M:%S", 'x': "%m/%d/%y", 'n': "\n", 't': "\t",
}

// numberFormats are elements that are only written.
var numberFormats = map[byte]func(time.Time) string{
	'C': func(t time.Time) string { return fmt.Sprintf("%02d", t.Year()/100) },
	'G': func(t time.Time) string { y, _ := t.ISOWeek(); return fmt.Sprintf("%04d", y) },
	'g': func(t time.Time) string { y, _ := t.ISOWeek(); return fmt.Sprintf("%02d", y%100) },
	'J': func(t time.Time) string { return fmt.Sprintf("%03d", isoDay(t)) },
	'k': func(t time.Time) string { return fmt.Sprintf("%2d", t.Hour()) },
	'l': func(t time.Time) string { return fmt.Sprintf("%2d", (t.Hour()+11)%12+1) },
	'Q': func(t time.Time) string { return strconv.Itoa((int(t.Month()) + 2) / 3) },
	's': func(t time.Time) string { return strconv.FormatInt(t.Unix(), 10) },
	'U': func(t time.Time) string { return fmt.Sprintf("%02d", (t.YearDay()+6-int(t.Weekday()))/7) },
	'u': func(t time.Time) string { return strconv.Itoa((int(t.Weekday())+6)%7 + 1) },
	'V': func(t time.Time) string { _, w := t.ISOWeek(); return fmt.Sprintf("%02d", w) },
	'W': func(t time.Time) string { return fmt.Sprintf("%02d", (t.YearDay()+6-(int(t.Weekday())+6)%7)/7) },
	'w': func(t time.Time) string { return strconv.Itoa(int(t.Weekday())) },
}

// isoDay counts the days of the ISO year from 1.
func isoDay(t time.Time) int {
	_, week := t.ISOWeek()
	return (week-1)*7 + (int(t.Weekday())+6)%7 + 1
}

// longestFormat bounds a format in bytes; each element makes a few bytes.
const longestFormat = 4096

// elements passes on the literal texts and the elements of a format.
func elements(format string, literal func(string) error, element func(string) error) error {
	if len(format) > longestFormat {
		return parse.Invalid("the format has %d bytes; it may have up to %d", len(format), longestFormat)
	}
	for format != "" {
		text, rest, found := strings.Cut(format, "%")
		if err := literal(text); err != nil || !found {
			return err
		}
		n := 1
		for _, long := range []string{"E*S", "E4Y", "Ez"} {
			if strings.HasPrefix(rest, long) {
				n = len(long)
			}
		}
		if len(rest) > 2 && rest[0] == 'E' && rest[1] >= '0' && rest[1] <= '6' && rest[2] == 'S' {
			n = 3
		}
		if rest == "" {
			return parse.Invalid("the format %.100q ends with %%", format)
		}
		if long, ok := longFormats[rest[0]]; ok {
			format = long + rest[1:]
			continue
		}
		if err := element(rest[:n]); err != nil {
			return err
		}
		format = rest[n:]
	}
	return nil
}

func formatted(format string, t time.Time) (any, error) {
	var b strings.Builder
	err := elements(format, func(s string) error { b.WriteString(s); return nil }, func(e string) error {
		switch {
		case e == "%":
			b.WriteByte('%')
		case e == "E4Y":
			fmt.Fprintf(&b, "%04d", t.Year())
		case e == "Ez":
			b.WriteString(t.Format("-07:00"))
		case e == "Z" && t.Location() != time.UTC:
			b.WriteString(t.Format("MST"))
		case e == "E*S":
			b.WriteString(t.Format("05.999999"))
		case len(e) == 3:
			b.WriteString(t.Format("05." + "000000"[:e[1]-'0'])[:2+min(int(e[1]-'0'), 1)+int(e[1]-'0')])
		case formats[e[0]] != "":
			b.WriteString(t.Format(formats[e[0]]))
		case numberFormats[e[0]] != nil:
			b.WriteString(numberFormats[e[0]](t))
		default:
			return parse.Invalid("%%%.10s is not an element of a format of times", e)
		}
		return nil
	})
	return b.String(), err
}

// parsed reads a time by a format. What the format does not have is that of
// 1970-01-01 00:00:00.
func parsed(format, text string, zone *time.Location) (time.Time, error) {
	var layout strings.Builder
	seconds := false
	err := elements(format, func(s string) error {
		if strings.ContainsAny(s, "0123456789") || strings.Contains(s, "Jan") || strings.Contains(s, "Mon") || strings.Contains(s, "PM") || strings.Contains(s, "MST") {
			return parse.Invalid("the format %.100q has digits or names outside of elements, which cannot be read", format)
		}
		layout.WriteString(s)
		return nil
	}, func(e string) error {
		switch {
		case e == "%":
			layout.WriteByte('%')
		case e == "E4Y":
			layout.WriteString("2006")
		case e == "Ez":
			layout.WriteString("-07:00")
		case len(e) == 3:
			layout.WriteString("05")
		case e == "s":
			seconds = true
		case parsedFormats[e[0]] != "":
			layout.WriteString(parsedFormats[e[0]])
		default:
			return parse.Invalid("%%%.10s is not an element of a format that times can be read by", e)
		}
		return nil
	})
	if err != nil {
		return time.Time{}, err
	}
	text = strings.TrimSpace(text)
	if seconds {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || layout.Len() > 0 || n > farthest/1_000_000 || n < -farthest/1_000_000 {
			return time.Time{}, parse.Invalid("%.100q is not a number of seconds; %%s stands alone in a format", text)
		}
		return time.Unix(n, 0).UTC(), nil
	}
	t, err := time.ParseInLocation(layout.String(), text, zone)
	if err != nil {
		return t, parse.Invalid("%.100q is not a time in the format %.100q", text, format)
	}
	if t.Year() == 0 {
		t = t.AddDate(1970, 0, 0)
	}
	return t, nil
}

// parsedFormats also take numbers without a zero before them.
var parsedFormats = map[byte]string{
	'A': "Monday", 'a': "Mon", 'B': "January", 'b': "Jan", 'h': "Jan", 'd': "2", 'e': "_2", 'H': "15", 'I': "3", 'j': "002",
	'M': "4", 'm': "1", 'p': "PM", 'P': "pm", 'S': "5", 'y': "06", 'Y': "2006", 'z': "-0700", 'Z': "MST",
}
