package dialect

import (
	"math"
	"regexp"
	"strings"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/ql/lex"
)

// maxMillis is the last millisecond of the year 9999. A larger number is probably in
// microseconds, which HBase's statements do not use.
const maxMillis = 253_402_300_799_999

// ParseMillis reads a time as HBase writes it: milliseconds since 1970. It also reads
// smolwc's own spellings of times, except now.
func ParseMillis(at lex.Pos, text string) (*lex.Time, error) {
	if !lex.IsInteger(text) {
		ts, err := lex.ParseTime(at, strings.TrimPrefix(text, "@"))
		if err == nil && ts.Now {
			err = lex.ErrorAt(at, "expected a time in milliseconds, not %s", lex.QuoteText(lex.Clip(text)))
		}
		return ts.In(nil), err
	}
	n, err := lex.ParseInteger(text)
	if err != nil || n < 0 || n > maxMillis {
		return nil, lex.ErrorAt(at, "HBase's times are milliseconds from 0 to %d, and not %s; smolwc's own statements take microseconds", int64(maxMillis), lex.Clip(text))
	}
	return &lex.Time{Pos: at, At: cells.Timestamp(n * 1000)}, nil
}

// NextMilli returns t plus one millisecond. To HBase a time is a whole millisecond.
func NextMilli(t *lex.Time) *lex.Time {
	if t == nil {
		return nil
	}
	return &lex.Time{Pos: t.Pos, At: t.At + 1000}
}

// IsLastTime reports whether the text is the largest time of HBase, which means
// that there is no bound.
func IsLastTime(text string) bool {
	n, err := lex.ParseInteger(text)
	return lex.IsInteger(text) && err == nil && n == math.MaxInt64
}

// converter matches the suffix of a qualifier by which HBase's shell chooses how values
// are shown.
var converter = regexp.MustCompile(`:(to[A-Z]\w*|c\(.*\)(\.\w+)?)$`)

// CutConverter returns the qualifier without HBase's value converter; ok is false
// without a converter.
func CutConverter(qualifier string) (plain string, ok bool) {
	plain = converter.ReplaceAllString(qualifier, "")
	return plain, plain != qualifier
}

// AsText returns an untyped literal as text: cbt and HBase store every value as text.
// If the family declares a type, the literal is still converted to that type.
func AsText(l lex.Literal) lex.Literal {
	if l.Type == cells.TypeAny {
		l.Quoted, l.Loose = true, true
	}
	return l
}

// plainNumber is a number that HBase's shell writes as it was typed.
var plainNumber = regexp.MustCompile(`^-?(0|[1-9][0-9]{0,14})(\.([0-9]{0,8}[1-9]|0))?$`)

// HBaseText is AsText for a value of HBase's shell. That shell parses unquoted numbers
// and stores the text that it prints for them. If that text differs from the literal,
// HBaseText returns an error.
func HBaseText(l lex.Literal) (lex.Literal, error) {
	if l.Type == cells.TypeAny && !l.Quoted && lex.Spelling(l.Text).Numeric() && !plainNumber.MatchString(l.Text) {
		return l, lex.ErrorAt(l.Pos, "HBase's shell stores another text than %s; quote it", lex.Clip(l.Text))
	}
	return AsText(l), nil
}
