package lex

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A Pos is a place in a script. Lines and columns count from 1; a column is a
// byte of its line, as compilers count them. The zero Pos is no place.
type Pos struct{ Line, Col int }

// IsValid reports whether p is a place.
func (p Pos) IsValid() bool { return p.Line > 0 }

// String is line:col.
func (p Pos) String() string { return fmt.Sprintf("%d:%d", p.Line, p.Col) }

// Plus is the place n bytes further on in the line.
func (p Pos) Plus(n int) Pos { return Pos{p.Line, p.Col + n} }

// An Error is a fault in a statement, or the failure to run it, with the place
// of the offending word. Its text is "line:col: message" and holds no control
// characters.
type Error struct {
	Pos
	Msg string
	// Incomplete says that the text ended too early: inside a quote or a
	// bracket, or after a \ that continues the line. More lines may mend it.
	Incomplete bool
	// Err is what running the statement returned; nil for faults of the text.
	Err error
}

// Error is "line:col: message", or the message alone when the place is not known.
func (e *Error) Error() string {
	if e == nil {
		return "<nil>"
	}
	if !e.IsValid() {
		return e.Msg
	}
	return e.Pos.String() + ": " + e.Msg
}

// Unwrap returns the error of the database, for errors.Is and query.KindOf.
func (e *Error) Unwrap() error {
	if e == nil {
		return nil
	}
	return e.Err
}

// ErrorAt is an error with its place.
func ErrorAt(p Pos, format string, args ...any) *Error {
	return &Error{Pos: p, Msg: fmt.Sprintf(format, args...)}
}

// Caret returns the line of src that the error stands on and, below it, a
// caret under the place; empty when the place is not in src. start is where
// src begins, Pos{1, 1} for a text of its own. What cannot be printed in the
// line is shown as one '?' for each character.
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

// Printable replaces what must not reach a terminal, one ? for each character (or each byte
// that is not part of one).
func Printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r == utf8.RuneError || !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, s)
}

// textWidth is how many columns a terminal gives to the text, near enough for a caret: two
// for East Asian characters, 0 for marks.
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
