package lex

import (
	"strings"

	"github.com/smolwc/smolwc/cells"
)

// OneLine returns the text of statements on one line, with the same meaning: semicolons
// separate statements, newlines in quotes are escaped, and comments are left out. In a
// text with a mistake, spaces replace the newlines.
func OneLine(text string) string {
	if !strings.Contains(text, "\n") {
		return text
	}
	if IsQuery(text) {
		return strings.ReplaceAll(text, "\n", " ")
	}
	toks, err := Tokens(Source{Text: text, Pos: Pos{1, 1}}, nil)
	if err != nil {
		return strings.NewReplacer("\\\r\n", " ", "\\\n", " ", "\n", " ").Replace(text)
	}
	var b strings.Builder
	ended := false
	for _, t := range toks {
		switch {
		case t.Kind == End:
			ended = b.Len() > 0
			continue
		case ended:
			b.WriteString("; ")
		case b.Len() > 0 && !t.Glued:
			b.WriteByte(' ')
		}
		ended = false
		b.WriteString(t.oneLine())
	}
	return b.String()
}

// oneLine returns the token's text without newlines.
func (t Token) oneLine() string {
	if !strings.Contains(t.Text, "\n") {
		return t.Text
	}
	text := ""
	for _, p := range t.Parts {
		switch p.Quote {
		case Bare:
			text += p.Text
		case Binary:
			text += QuoteValue(cells.Bytes([]byte(p.Text)))
		default:
			text += QuoteText(p.Text)
		}
	}
	return text
}
