package lex

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// lookalikes are characters that word processors put in place of characters of the
// language, each with a hint.
var lookalikes = map[string]string{
	"“”„‟«»″‘’‚‛′‹›": `quotes are " and ' here`,
	"‐‑‒–—―−":        "perhaps the - of the keyboard is meant; options have no dashes, and a comment is two of them and a space",
	"…":              "a range has two points, as in meta:[a..n)",
}

// lookalikeError is the error for a character that a bare word cannot have.
func lookalikeError(at Pos, r rune) *Error {
	for these, hint := range lookalikes {
		if strings.ContainsRune(these, r) {
			return ErrorAt(at, "unexpected %s; %s", QuoteText(string(r)), hint)
		}
	}
	if unicode.IsSpace(r) || unicode.In(r, unicode.Zs, unicode.Cf) {
		return ErrorAt(at, "unexpected %s, which looks like a space but is another character; write a space, or quote it", QuoteText(string(r)))
	}
	return ErrorAt(at, "unexpected %s; quote it if it belongs to a name or a value", QuoteText(string(r)))
}

// namedLiterals are the words that a quote may follow: bytes and elements of tuples.
var namedLiterals = []string{"x", "b64", "uuid", "versionstamp", "f32", "f64"}

// CheckGlue refuses a word in which quotes touch a part that does not belong with them;
// otherwise the parts would silently be joined. Quotes may stand after the colon of a
// column, between the slashes of a pattern, at a bound of a range, and after x and the
// like. A time, a * or a colon may follow quotes. [Token.Path] judges the quotes of a
// path.
func (t Token) CheckGlue() error {
	if t.Kind != Word || len(t.Parts) < 2 {
		return nil
	}
	first, last := t.Parts[0], t.Parts[len(t.Parts)-1]
	if first.Quote == Bare && (first.Text[0] == '/' || strings.Contains(first.Text, ":/")) && last.Quote == Bare && strings.HasSuffix(last.Text, "/") {
		return nil // a pattern
	}
	for i := 1; i < len(t.Parts); i++ {
		a, b := t.Parts[i-1], t.Parts[i]
		switch {
		case a.Quote == Bare && (strings.HasSuffix(a.Text, ":") || strings.HasSuffix(a.Text, "..") || strings.HasSuffix(a.Text, ":/") || a.Text == "/" || strings.Contains(a.Text, "@")):
		case a.Quote == Bare && i == 1 && b.Quote == Single && slices.Contains(namedLiterals, strings.ToLower(a.Text)):
		case b.Quote == Bare && (strings.IndexByte("@*:/", b.Text[0]) >= 0 || strings.HasPrefix(b.Text, "..")):
		default:
			return t.glueError(a, b)
		}
	}
	return nil
}

// TimeOf returns a word that ends in .ts after quotes, such as meta:"a b".ts, without that:
// a condition writes the time of a column so.
func (t Token) TimeOf() (column Token, ok bool) {
	last := len(t.Parts) - 1
	if t.Kind != Word || last < 1 || t.Parts[last].Quote != Bare || t.Parts[last].Text != ".ts" || t.Parts[last-1].Quote == Bare {
		return t, false
	}
	t.Parts, t.Text = t.Parts[:last], strings.TrimSuffix(t.Text, ".ts")
	return t, true
}

// glueError returns an error that says what two adjacent parts probably mean.
func (t Token) glueError(a, b Part) *Error {
	tail := strings.ToLower(a.Text[strings.LastIndexByte(a.Text, ':')+1:])
	switch {
	case a.Quote == Bare && b.Quote == double && slices.Contains(namedLiterals, tail):
		return ErrorAt(a.Pos, "%s takes ' quotes, as in %s'00ff'", tail, tail)
	case a.Quote == Bare && tail == "b":
		return ErrorAt(a.Pos, `bytes are written x'00ff', b64'AP8=' or bytes("text")`)
	case a.Quote == Binary || b.Quote == Binary:
		return ErrorAt(t.Pos, `x'…' and b64'…' stand alone; use bytes("…") to mix text and bytes`)
	case t.Parts[0].Quote == Bare && (t.Parts[0].Text[0] == '/' || strings.Contains(t.Parts[0].Text, ":/")):
		return ErrorAt(t.Pos, `a pattern ends with /, as in /"a b"/; quote a name that begins with /, as in meta:"/path"`)
	case a.Quote == double && b.Quote == double:
		return ErrorAt(b.Pos, `a quote within a text is \", as in %s`, QuoteText(Clip(a.Text+`"`+b.Text)))
	}
	return ErrorAt(b.Pos, "quotes stand around a whole word; write %s, or a space between", QuoteText(Clip(Join(t.Parts))))
}

// nearNumbers are words that look like numbers but are not: +5, 1__0, 0b10, 0xg, 12u8.
var nearNumbers = regexp.MustCompile(`^([+-]\+?[0-9.][0-9_.]*([eE][+-]?[0-9]+)?|-?[0-9]+_[0-9_]*|-?0[bBoO][0-9_]+|-?0[xX]\w*|-?[0-9][0-9_.]*[iuf](8|16|32|64|128))$`)

// checkPlainWord refuses a bare word that would silently become text: a number in the
// syntax of another language, or null.
func checkPlainWord(word string) error {
	if equalKeyword(word, "null") || equalKeyword(word, "nil") {
		return fmt.Errorf("there is no %s: leave the cell out, or delete it; quote it if it is text", word)
	}
	if !nearNumbers.MatchString(word) {
		return nil
	}
	if plain := strings.TrimPrefix(word, "+"); IsInteger(plain) || isFloat(plain) {
		return fmt.Errorf("number %s has a +; write %s, or quote it if it is text", Clip(word), Clip(plain))
	}
	return fmt.Errorf("%s looks like a number but is not one; numbers are 42, -7, 1_000, 0x2A, 1.5, 1e9, 42i32; quote it if it is text", QuoteText(Clip(word)))
}
