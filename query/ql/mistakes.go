package ql

import (
	"slices"
	"strings"

	"github.com/smolwc/smolwc/query/ql/lex"
	"github.com/smolwc/smolwc/schema"
)

// Mistakes from habit, or from text pasted from a document. They are never ignored: a
// statement that deletes would delete more than its text says.

// wordOptions are the options of the statements that change the schema. They are not in
// the table of options.
var wordOptions = []string{"aggregate", "change_stream", "dry-run", "drop", "key_format", "retention", "ttl", "type"}

// dashesError is the error for a -- that does not begin a comment; rest is the text
// after the dashes.
func dashesError(at lex.Pos, rest string) *lex.Error {
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
			return lex.ErrorAt(at, "%s is neither a comment nor an option: options have no dashes%s", lex.QuoteText(lex.Clip("--"+word)), near)
		}
		return lex.ErrorAt(at, "%s is not a comment: a comment is -- and a space; quote a word that begins with --", lex.QuoteText(lex.Clip("--"+word)))
	}
	if after := optionWord(strings.TrimLeft(rest[len(word):], " \t")); o != nil && o.value != "" && !hasValue {
		value, hasValue = after, true
	}
	if hasValue && name == "as" {
		name += " " + value
	} else if hasValue {
		name += "=" + value
	}
	return lex.ErrorAt(at, "options have no dashes; write %s (a comment is -- and a space)", lex.Printable(lex.Clip(name)))
}

// optionWord returns the text up to the next space or semicolon outside quotes.
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
		case strings.IndexByte(" \t\r\n;", c) >= 0:
			return text[:i]
		}
	}
	return text
}

// noOperators are comparisons of other languages, each with a hint.
var noOperators = map[string]string{
	"=~": "regex=/RE/ matches row keys, and values are compared as a whole", "~": "regex=/RE/ matches row keys, and values are compared as a whole",
	"!=~": "regex=/RE/ matches row keys, and values are compared as a whole", "like": "regex=/RE/ matches row keys, and values are compared as a whole",
	"===": "write ==", "!==": "write !=", "=<": "write <=", "=>": "write >=", "<==": "write <=", ">==": "write >=", "=!": "write !=",
	"<=>": "write == or !=", "in": "run a statement for each value", "is": "write COL exists or COL absent", "not": "write != or COL absent", "between": "write COL >= A and COL <= B",
}

// checkOperator refuses the comparisons of other languages.
func (p *parser) checkOperator() error {
	t := p.peek()
	op := t.Keyword()
	for n := 0; op == "" || n > 0; n++ {
		next := p.peekAt(n)
		if n > 0 && !next.Glued || next.Kind == lex.End {
			break
		}
		if strings.HasPrefix(next.BareText(), "~") {
			op += "~"
			break
		}
		if next.Kind != lex.Mark {
			break
		}
		op += next.Text
	}
	if strings.HasPrefix(op, "~") {
		op = "~"
	}
	if hint := noOperators[op]; hint != "" {
		return lex.ErrorAt(t.Pos, "there is no comparison %s; %s", lex.QuoteText(op), hint)
	}
	return nil
}
