package ql

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// lookalikes are characters of documents, by the one of the language that they
// look like.
var lookalikes = map[string]string{
	"“”„‟«»″‘’‚‛′‹›": `quotes are " and ' here`,
	"‐‑‒–—―−":        "the - of the keyboard is meant, perhaps; options have no dashes, and a comment is two of them and a space",
	"…":              "a range has two points, as in meta:[a..n)",
}

// lookalikeError is the error of a character that no bare word holds.
func lookalikeError(at Pos, r rune) *Error {
	for these, hint := range lookalikes {
		if strings.ContainsRune(these, r) {
			return errorAt(at, "unexpected %s; %s", QuoteText(string(r)), hint)
		}
	}
	if unicode.IsSpace(r) || unicode.In(r, unicode.Zs, unicode.Cf) {
		return errorAt(at, "unexpected %s, which looks like a space and is none; write a space, or quote it", QuoteText(string(r)))
	}
	return errorAt(at, "unexpected %s; quote it if it belongs to a name or a value", QuoteText(string(r)))
}

// namedLiterals are the words that a quote may follow: bytes and elements of tuples.
var namedLiterals = []string{"x", "b64", "uuid", "versionstamp", "f32", "f64"}

// checkGlue refuses a word in which quotes touch what they do not go with: such a
// word would quietly be its parts put together. Quotes stand behind the colon of a
// column, between the slashes of a pattern, at a bound of a range, behind x and the
// like; and a time, a * or a colon may follow them.
func (t token) checkGlue() error {
	first, last := t.parts[0], t.parts[len(t.parts)-1]
	if first.quote == bare && (first.text[0] == '/' || strings.Contains(first.text, ":/")) && last.quote == bare && strings.HasSuffix(last.text, "/") {
		return nil // a pattern
	}
	for i := 1; i < len(t.parts); i++ {
		a, b := t.parts[i-1], t.parts[i]
		switch {
		case a.quote == bare && (strings.HasSuffix(a.text, ":") || strings.HasSuffix(a.text, "..") || strings.HasSuffix(a.text, ":/") || a.text == "/" || strings.Contains(a.text, "@")):
		case a.quote == bare && i == 1 && b.quote == single && slices.Contains(namedLiterals, strings.ToLower(a.text)):
		case b.quote == bare && (strings.IndexByte("@*:/", b.text[0]) >= 0 || strings.HasPrefix(b.text, "..")):
		default:
			return t.glueError(a, b)
		}
	}
	return nil
}

// glueError says what was probably meant by two parts that touch.
func (t token) glueError(a, b part) error {
	tail := strings.ToLower(a.text[strings.LastIndexByte(a.text, ':')+1:])
	switch {
	case a.quote == bare && b.quote == double && slices.Contains(namedLiterals, tail):
		return errorAt(a.pos, "%s takes ' quotes, as in %s'00ff'", tail, tail)
	case a.quote == bare && tail == "b":
		return errorAt(a.pos, `bytes are written x'00ff', b64'AP8=' or bytes("text")`)
	case a.quote == literalX || b.quote == literalX:
		return errorAt(t.pos, `x'…' and b64'…' stand alone; use bytes("…") to mix text and bytes`)
	case t.parts[0].quote == bare && (t.parts[0].text[0] == '/' || strings.Contains(t.parts[0].text, ":/")):
		return errorAt(t.pos, `a pattern ends with /, as in /"a b"/; quote a name that begins with /, as in meta:"/path"`)
	case a.quote == double && b.quote == double:
		return errorAt(b.pos, `a quote within a text is \", as in %s`, QuoteText(clip(a.text+`"`+b.text)))
	}
	return errorAt(b.pos, "quotes stand around a whole word; write %s, or a space between", QuoteText(clip(join(t.parts))))
}

// nearNumbers are words that look like numbers and are none: +5, 1__0, 0b10, 0xg, 12u8.
var nearNumbers = regexp.MustCompile(`^([+-]\+?[0-9.][0-9_.]*([eE][+-]?[0-9]+)?|-?[0-9]+_[0-9_]*|-?0[bBoO][0-9_]+|-?0[xX]\w*|-?[0-9][0-9_.]*[iuf](8|16|32|64|128))$`)

// checkPlainWord refuses a bare word that would quietly be text: a number that is
// written as elsewhere, or null.
func checkPlainWord(word string) error {
	if equalKeyword(word, "null") || equalKeyword(word, "nil") {
		return fmt.Errorf("there is no %s: leave the cell out, or delete it; quote it if it is text", word)
	}
	if !nearNumbers.MatchString(word) {
		return nil
	}
	if plain := strings.TrimPrefix(word, "+"); isInteger(plain) || isFloat(plain) {
		return fmt.Errorf("number %s has a +; write %s, or quote it if it is text", clip(word), clip(plain))
	}
	return fmt.Errorf("%s is no number, though it looks like one; numbers are 42, -7, 1_000, 0x2A, 1.5, 1e9, 42i32; quote it if it is text", QuoteText(clip(word)))
}
