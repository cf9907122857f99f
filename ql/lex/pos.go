package lex

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A Pos is a place in a script. Lines and columns count from 1; columns count bytes.
// The zero Pos is no place.
type Pos struct{ Line, Col int }

// IsValid reports whether p is a place.
func (p Pos) IsValid() bool { return p.Line > 0 }

// String is line:col.
func (p Pos) String() string { return fmt.Sprintf("%d:%d", p.Line, p.Col) }

// Plus returns the place n bytes further in the line.
func (p Pos) Plus(n int) Pos { return Pos{p.Line, p.Col + n} }

// An Error is a mistake in a statement, or the failure to run it, with the place of the
// offending word. Its text is "line:col: message" without control characters.
type Error struct {
	Pos
	Msg string
	// Incomplete says that the text ended too early: inside a quote or a bracket, or
	// after a \ that continues the line. More lines may complete it.
	Incomplete bool
	// Err is the error of running the statement; nil for a mistake in the text.
	Err error
}

// Error is "line:col: message", or only the message when the place is not known.
func (e *Error) Error() string {
	if !e.IsValid() {
		return e.Msg
	}
	return e.Pos.String() + ": " + e.Msg
}

// Unwrap returns the error of the database, for errors.Is and query.KindOf.
func (e *Error) Unwrap() error {
	return e.Err
}

// ErrorAt returns an error with a place.
func ErrorAt(p Pos, format string, args ...any) *Error {
	return &Error{Pos: p, Msg: fmt.Sprintf(format, args...)}
}

// Caret returns the line of src with the error and, below it, a caret under the place;
// "" if the place is not in src. start is the place where src begins, Pos{1, 1} for a
// separate text. Each character of the line that cannot be printed is shown as '?'.
func Caret(src string, start Pos, e *Error) string {
	if e == nil {
		return ""
	}
	lines := strings.Split(src, "\n")
	n := e.Line - start.Line
	if n < 0 || n >= len(lines) {
		return ""
	}
	col := e.Col - 1
	if n == 0 {
		col -= start.Col - 1
	}
	line := strings.TrimSuffix(lines[n], "\r")
	if col < 0 || col > len(line)+1 {
		return ""
	}
	before := Printable(line[:min(col, len(line))])
	return Printable(line) + "\n" + strings.Repeat(" ", textWidth(before)) + "^"
}

// Printable replaces each character that cannot be printed, and each byte that is not
// UTF-8, by a ?.
func Printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r == utf8.RuneError || !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, s)
}

// IsPrintable reports whether the text is UTF-8 without control characters and others
// that cannot be printed.
func IsPrintable(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) })
}

// Escape returns the text with escapes in place of unprintable characters.
func Escape(s string) string {
	if IsPrintable(s) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case r == '\n' || r == '\r' || r == '\t':
			b.WriteString(map[rune]string{'\n': `\n`, '\r': `\r`, '\t': `\t`}[r])
		case unicode.IsPrint(r):
			b.WriteString(s[i : i+size])
		case r <= 0xffff:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			fmt.Fprintf(&b, `\U%08x`, r)
		}
		i += size
	}
	return b.String()
}

// textWidth estimates the width of the text in terminal columns, well enough for a
// caret: two for East Asian characters, 0 for combining marks.
func textWidth(s string) int {
	n := 0
	for _, r := range s {
		switch {
		case unicode.Is(unicode.M, r):
		case unicode.In(r, unicode.Han, unicode.Hangul, unicode.Hiragana, unicode.Katakana), r >= 0x1f300 && r < 0x1faff:
			n += 2
		default:
			n++
		}
	}
	return n
}
