package ql

import (
	"slices"
	"strings"
	"unicode"

	"github.com/smolwc/smolwc/schema"
)

// What people write from habit, or paste from a document, and what they mean.
// None of it may be passed over: a statement that deletes would delete more than
// its text says.

// wordOptions are the options of statements that are not in the table of
// options: those that change the schema, and import.
var wordOptions = []string{
	"aggregate", "again", "bad-lines", "batch", "change_stream", "dry-run", "drop", "key", "key_format",
	"na", "overlap", "retention", "ts", "ttl", "type",
}

// dashesError is the error of a -- that is no comment; rest is the text behind
// the dashes.
func dashesError(at Pos, rest string) *Error {
	word := optionWord(rest)
	name, value, hasValue := strings.Cut(word, "=")
	name = strings.ToLower(name)
	if name == "format" {
		name = "as"
	}
	o := findOption(name)
	switch {
	case o != nil:
		name = o.name
	case slices.Contains(wordOptions, name):
	default:
		if near := schema.DidYouMean(name, append(optionNames(^optionSet(0)), wordOptions...)); near != "" && name != "" {
			return errorAt(at, "%s is no comment and no option: options have no dashes%s", QuoteText(clip("--"+word)), near)
		}
		return errorAt(at, "%s is no comment: a comment is -- and a space; quote what begins with --", QuoteText(clip("--"+word)))
	}
	if after := optionWord(strings.TrimLeft(rest[len(word):], " \t")); o != nil && o.value != "" && !hasValue {
		value, hasValue = after, true
	}
	if hasValue && name == "as" {
		name += " " + value
	} else if hasValue {
		name += "=" + value
	}
	return errorAt(at, "options have no dashes; write %s (a comment is -- and a space)", printable(clip(name)))
}

// optionWord is the text up to the next space or semicolon outside of quotes.
func optionWord(text string) string {
	var quote byte
	for i := range len(text) {
		switch c := text[i]; {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case isSpace(c) || c == ';':
			return text[:i]
		}
	}
	return text
}

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
