package console

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/ql"
	"github.com/smolwc/smolwc/ql/lex"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/schema"
)

func errorf(format string, args ...any) error { return fmt.Errorf(format, args...) }

// A mistake is the error of a page itself, which is not of an operation.
type mistake struct{ err *query.Error }

func (m mistake) Error() string { return m.err.Err.Error() }
func (m mistake) Unwrap() error { return m.err }

func invalid(format string, args ...any) error {
	return mistake{&query.Error{Op: "page", Kind: query.KindInvalidArgument, Err: errorf(format, args...)}}
}

func notFound(format string, args ...any) error {
	return mistake{&query.Error{Op: "page", Kind: query.KindNotFound, Err: errorf(format, args...)}}
}

var statuses = map[query.Kind]int{
	query.KindNotFound: http.StatusNotFound, query.KindAlreadyExists: http.StatusConflict, query.KindInvalidArgument: http.StatusBadRequest,
	query.KindFailedPrecondition: http.StatusBadRequest, query.KindUnavailable: http.StatusServiceUnavailable, query.KindBusy: http.StatusServiceUnavailable,
	query.KindResourceExhausted: http.StatusTooManyRequests,
}

func statusOf(err error) int {
	if _, ok := errors.AsType[*lex.Error](err); ok {
		return http.StatusBadRequest
	}
	if code, ok := statuses[query.KindOf(err)]; ok {
		return code
	}
	return http.StatusInternalServerError
}

func parseCount(text string) (int, error) { return strconv.Atoi(text) }

func parseTimestamp(text string) (cells.Timestamp, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return 0, invalid("%s is not a timestamp; want microseconds since 1970", lex.QuoteText(text))
	}
	return cells.Timestamp(n), nil
}

// keyText is a row key for people: as it is if all characters are printable, else in
// quotes with escapes, or as a tuple.
func keyText(t schema.Table, key string) string {
	if t.KeyFormat == schema.TupleKeys {
		if text, ok := ql.TupleText(key); ok {
			return text
		}
	}
	return nameText(key)
}

func nameText(name string) string {
	if name != "" && lex.IsPrintable(name) && strings.TrimSpace(name) == name {
		return name
	}
	return lex.QuoteText(name)
}

// field is a key or qualifier for a field of a form: as it is if it can be typed, else in
// quotes with escapes.
func field(text string) string {
	if lex.IsPrintable(text) && !strings.HasPrefix(text, `"`) {
		return text
	}
	return lex.QuoteText(text)
}

// unfield is the text of a field.
func unfield(name, text string) (string, error) {
	if !strings.HasPrefix(text, `"`) {
		return text, nil
	}
	toks, err := lex.Tokens(lex.Source{Text: text}, nil)
	if err != nil || len(toks) != 2 || toks[0].Kind != lex.Word {
		return "", invalid("%s begins with a quote and is not a text in quotes, as in \"a\\x00b\"", name)
	}
	return lex.Join(toks[0].Parts), nil
}

// shortValue is how many characters of a value a grid shows.
const shortValue = 80

// short is the beginning of a value's text.
func short(v cells.Value) string {
	return cut(valueText(v, 4*shortValue), shortValue)
}

func cut(text string, most int) string {
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	return string([]rune(text)[:most-1]) + "…"
}

// valueText is a value for people. Texts and bytes are cut after about most bytes.
func valueText(v cells.Value, most int) string {
	switch v.Type() {
	case cells.TypeString:
		s, _ := v.AsString()
		if len(s) > most {
			s = strings.ToValidUTF8(s[:most], "") + "…"
		}
		return printable(s)
	case cells.TypeBytes:
		b, _ := v.AsBytes()
		if text := string(b[:min(len(b), most)]); lex.IsPrintable(text) && text != "" {
			return text
		}
		return "0x" + hex.EncodeToString(b[:min(len(b), most/2)])
	}
	return v.String()
}

// printable shows characters that are not printable as escapes. Lines stay lines.
func printable(s string) string {
	var b strings.Builder
	for _, r := range s {
		if r == '\n' || r == '\t' || strconv.IsPrint(r) {
			b.WriteRune(r)
		} else {
			b.WriteString(strings.Trim(strconv.QuoteRuneToASCII(r), "'"))
		}
	}
	return b.String()
}

// A view is one way to look at a value.
type view struct{ Name, Text string }

// longValue is how many bytes of a value the page of a cell shows. The rest can be
// downloaded.
const longValue = 64 << 10

// views are the ways to look at a value, the usual one first.
func views(v cells.Value) []view {
	all := []view{{v.Type().String(), valueText(v, longValue)}}
	b := bytesOf(v)
	if v.Type() != cells.TypeString && v.Type() != cells.TypeBytes {
		return all
	}
	if text := jsonText(b); text != "" {
		all = append(all, view{"json", text})
	}
	if v.Type() == cells.TypeBytes && utf8.Valid(b) && len(b) > 0 {
		all = append(all, view{"text", printable(string(b[:min(len(b), longValue)]))})
	}
	if len(b) == 8 {
		all = append(all, view{"integer", strconv.FormatInt(int64(binary.BigEndian.Uint64(b)), 10)})
	}
	return append(all, view{"hex", hex.Dump(b[:min(len(b), longValue/8)])})
}

func jsonText(b []byte) string {
	if len(b) > longValue || depth(b) > mostDepth {
		return ""
	}
	var out bytes.Buffer
	trimmed := bytes.TrimSpace(b)
	if len(trimmed) == 0 || !strings.ContainsRune("{[", rune(trimmed[0])) || json.Indent(&out, trimmed, "", "  ") != nil {
		return ""
	}
	return printable(out.String())
}

// mostDepth is how deep JSON may be that a page indents: each line begins with its depth.
const mostDepth = 64

// depth is how many brackets of a text are open at a time, at most.
func depth(b []byte) (deepest int) {
	open := 0
	for _, c := range b {
		switch c {
		case '[', '{':
			open++
			deepest = max(deepest, open)
		case ']', '}':
			open--
		}
	}
	return deepest
}

// bytesOf is the bytes of a text or of bytes, and the text of another value.
func bytesOf(v cells.Value) []byte {
	if b, ok := v.AsBytes(); ok {
		return b
	}
	if s, ok := v.AsString(); ok {
		return []byte(s)
	}
	return []byte(v.String())
}

// length is the length of bytesOf, without a copy of a text.
func length(v cells.Value) int {
	if s, ok := v.AsString(); ok {
		return len(s)
	}
	return len(bytesOf(v))
}

func moment(ts cells.Timestamp) string {
	at, err := timeOf(ts)
	if err != nil {
		return ts.String() + " µs"
	}
	return at.Format("2006-01-02 15:04:05.000000")
}

var errYear = errors.New("the year has more than four digits")

func timeOf(ts cells.Timestamp) (time.Time, error) {
	at := ts.Time().UTC()
	if at.Year() > 9999 || at.Year() < 0 {
		return at, errYear
	}
	return at, nil
}

// ago is the age of a timestamp.
func ago(ts cells.Timestamp, now time.Time) string {
	at, err := timeOf(ts)
	switch {
	case err != nil:
		return ""
	case at.After(now):
		return "in " + spanText(at.Sub(now))
	}
	return spanText(now.Sub(at)) + " ago"
}

func span(d cells.Timestamp) string {
	if d > cells.Timestamp(100*365*24*time.Hour/time.Microsecond) || d < 0 {
		return "over a hundred years"
	}
	return spanText(time.Duration(d) * time.Microsecond)
}

var units = []struct {
	d    time.Duration
	name string
}{{365 * 24 * time.Hour, "years"}, {24 * time.Hour, "days"}, {time.Hour, "hours"}, {time.Minute, "minutes"}, {time.Second, "seconds"}, {time.Millisecond, "ms"}, {time.Microsecond, "µs"}}

// spanText is a duration in the largest unit that gives two or more.
func spanText(d time.Duration) string {
	for _, u := range units {
		if d >= 2*u.d {
			return strconv.FormatInt(int64(d/u.d), 10) + " " + u.name
		}
	}
	return strconv.FormatInt(d.Microseconds(), 10) + " µs"
}

// kept says in words which cells a rule keeps.
func kept(r *schema.Rule) string {
	switch {
	case r == nil:
		return "keeps everything"
	case r.MaxVersions == 1:
		return "keeps the newest version of each column"
	case r.MaxVersions > 1:
		return fmt.Sprintf("keeps the newest %d versions of each column", r.MaxVersions)
	case r.MaxAge > 0:
		return "keeps cells for " + schema.FormatAge(r.MaxAge)
	case r.All != nil:
		return join(r.All, " or what ") // a cell goes when every rule drops it
	}
	return join(r.Any, " and what ")
}

func join(rules []*schema.Rule, word string) string {
	var parts []string
	for _, r := range rules {
		parts = append(parts, kept(r))
	}
	return strings.Join(parts, word)
}

// A change is a piece of a value: of both versions, of the old one or of the new one.
type change struct{ Kind, Text string }

// comparable is the length of texts whose changes are shown.
const comparableText = 4 << 10

// changes is the difference of two values: the common beginning and end, and the pieces
// between them. It is empty for equal values.
func changes(older, newer cells.Value) []change {
	if older.Equal(newer) {
		return []change{{"same", "the same value"}}
	}
	if older.Type() != newer.Type() {
		return []change{{"kind", "was " + older.Type().String()}}
	}
	if before, ok := older.Int(); ok {
		now, _ := newer.Int()
		if by := now - before; (by > 0) == (now > before) {
			return []change{{"kind", fmt.Sprintf("%+d", by)}}
		}
	}
	a, b := []rune(valueText(older, comparableText)), []rune(valueText(newer, comparableText))
	start := 0
	for start < min(len(a), len(b)) && a[start] == b[start] {
		start++
	}
	end := 0
	for end < min(len(a), len(b))-start && a[len(a)-1-end] == b[len(b)-1-end] {
		end++
	}
	const around = 30
	pieces := []change{{"same", edge(a[:start], around, true)}, {"del", cut(string(a[start:len(a)-end]), 4*shortValue)}, {"ins", cut(string(b[start:len(b)-end]), 4*shortValue)}, {"same", edge(a[len(a)-end:], around, false)}}
	return slices.DeleteFunc(pieces, func(c change) bool { return c.Text == "" })
}

// edge is the end or the beginning of a text.
func edge(text []rune, most int, last bool) string {
	switch {
	case len(text) <= most:
		return string(text)
	case last:
		return "…" + string(text[len(text)-most:])
	}
	return string(text[:most]) + "…"
}
