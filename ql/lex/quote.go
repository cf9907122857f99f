package lex

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/smolwc/smolwc/cells"
)

// reserved are the words that cannot be a bare key or table, because the parser reads
// them as flags or clauses.
var reserved = map[string]bool{
	"as": true, "and": true, "where": true, "reverse": true, "reversed": true, "keys-only": true,
	"cells": true, "yes": true, "to": true, "from": true, "if": true, "put": true, "else": true,
	"approx": true, "stats": true, "into": true, "absent": true, "exists": true,
	"table": true, "family": true,
}

// IsReserved reports whether the word, in lower case, cannot be a bare key or table.
func IsReserved(word string) bool { return reserved[word] }

// QuoteKey returns the row key as a word of the language: bare if possible, else in
// double quotes.
func QuoteKey(key string) string {
	if isBareWord(key) && !IsReserved(strings.ToLower(key)) {
		return key
	}
	return QuoteText(key)
}

// QuoteName returns the name of a table or family as a word of the language.
func QuoteName(name string) string { return QuoteKey(name) }

// QuoteQualifier returns the qualifier as written after the colon of a column: bare if
// possible, else in double quotes. The empty qualifier is the empty text.
func QuoteQualifier(q string) string {
	if q == "" || isBareWord(q) && !strings.ContainsAny(q, "*@") && !strings.Contains(q, "..") && q[0] != '/' && !strings.ContainsAny(q[len(q)-1:], "+-~^%:") {
		return q
	}
	return QuoteText(q)
}

// QuoteColumn returns the column family:qualifier as a word of the language.
func QuoteColumn(family, qualifier string) string {
	if !isBareWord(family) || strings.ContainsAny(family, ":@*/") {
		return QuoteText(family) + ":" + QuoteQualifier(qualifier)
	}
	return family + ":" + QuoteQualifier(qualifier)
}

// isBareWord reports whether s, without quotes, parses as one bare word with the text s
// and does not begin a comment.
func isBareWord(s string) bool {
	if s == "" || s[0] == '#' || strings.HasPrefix(s, "--") {
		return false
	}
	if first, _ := utf8.DecodeRuneInString(s); unicode.Is(unicode.M, first) {
		return false // a combining mark would join the character before it on the screen
	}
	for _, r := range s {
		if r == utf8.RuneError || !isBareRune(r) || !unicode.IsPrint(r) {
			return false
		}
	}
	return true
}

// QuoteText returns any bytes in double quotes. Control and format characters
// (bidirectional overrides among them), bytes that are not UTF-8, and spaces
// other than the ASCII one are escaped.
func QuoteText(s string) string {
	b := make([]byte, 0, len(s)+2)
	b = append(b, '"')
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		b = appendRune(b, s[i:i+size], r)
		i += size
	}
	return string(append(b, '"'))
}

func appendRune(b []byte, s string, r rune) []byte {
	if n := strings.IndexByte(escapeBytes, s[0]); n >= 0 {
		return append(b, '\\', escapeNames[n])
	}
	switch {
	case r == utf8.RuneError && len(s) == 1, r < ' ', r == 0x7f:
		return fmt.Appendf(b, `\x%02x`, s[0])
	case unicode.IsPrint(r):
		return append(b, s...)
	case r <= 0xffff:
		return fmt.Appendf(b, `\u%04x`, r)
	}
	for i := range len(s) {
		b = fmt.Appendf(b, `\x%02x`, s[i])
	}
	return b
}

// QuoteValue returns the value as a literal that parses to the same value of the same
// type in a column without a declared type: "text", 42, 42i32, 7byte, 1.5, 1.5f32,
// true, x'00ff', bytes("text"). Only the payload of a NaN is lost.
func QuoteValue(v cells.Value) string { return QuoteValueAs(v, cells.TypeAny) }

// QuoteValueAs is [QuoteValue] for a column with this declared type: the literal need
// not name the type.
func QuoteValueAs(v cells.Value, declared cells.Type) string {
	switch v.Type() {
	case cells.TypeString:
		text, _ := v.AsString()
		return QuoteText(text)
	case cells.TypeBytes:
		return quoteBytes(v, declared)
	case cells.TypeBool:
		return v.String()
	}
	text := numberText(v)
	if v.Type() == declared || declared == cells.TypeAny && isOwnType(v.Type()) {
		return text
	}
	return typedNumber(text, v.Type())
}

// typedNumber writes a number that names its type: 42i32, f32(nan).
func typedNumber(text string, t cells.Type) string {
	if strings.HasSuffix(text, "n") || strings.HasSuffix(text, "f") { // nan, inf
		return t.String() + "(" + text + ")"
	}
	return text + t.String()
}

// isOwnType reports whether numbers of the type are written without a suffix.
func isOwnType(t cells.Type) bool { return t == cells.TypeI64 || t == cells.TypeF64 }

// numberText returns the number without its type. An f64 gets a point or an exponent,
// or is nan or inf, so that it does not parse as an i64.
func numberText(v cells.Value) string {
	f, isFloat := v.Float()
	if !isFloat {
		return v.String()
	}
	text := strings.ToLower(strings.TrimPrefix(v.String(), "+")) // NaN, +Inf
	if !strings.ContainsAny(text, ".en") && f == f {
		text += ".0"
	}
	return text
}

// quoteBytes writes bytes as text if they are text, else in hexadecimal.
func quoteBytes(v cells.Value, declared cells.Type) string {
	b, _ := v.AsBytes()
	if !isText(b) {
		return fmt.Sprintf("x'%x'", b)
	}
	if declared == cells.TypeBytes {
		return QuoteText(string(b))
	}
	return "bytes(" + QuoteText(string(b)) + ")"
}

func isText(b []byte) bool {
	for len(b) > 0 {
		r, size := utf8.DecodeRune(b)
		if r == utf8.RuneError && size == 1 || !unicode.IsPrint(r) && !strings.ContainsRune("\n\r\t", r) {
			return false
		}
		b = b[size:]
	}
	return true
}
