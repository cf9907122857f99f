package lex

import (
	"strings"
	"unicode/utf8"
)

// EndsPath reports whether the word, in lower case, cannot be a bare path: the parser
// reads it as the clause after one.
func EndsPath(word string) bool { return IsReserved(word) || word == "in" || word == "with" }

// Path returns the names of the path of a directory. Slashes outside quotes separate
// them; one may stand at the beginning and at the end. The path / is empty.
func (t Token) Path() (names []string, err error) {
	parts := t.pathNames()
	if last := len(parts) - 1; last >= 0 && parts[last].isMissing() {
		parts = parts[:last]
	}
	for _, n := range parts {
		switch {
		case n.isMissing():
			return nil, ErrorAt(n.pos, `there is no name between two slashes; write "" for the empty name`)
		case n.parts > 1:
			return nil, ErrorAt(n.pos, "quotes stand around a whole name; write %s", QuoteText(Clip(n.text)))
		case !utf8.ValidString(n.text):
			return nil, ErrorAt(n.pos, "the name %s is not UTF-8", QuoteText(Clip(n.text)))
		}
		names = append(names, n.text)
	}
	return names, nil
}

// PartialPath returns the names of a path that is being typed, and the last one apart,
// as far as it is typed.
func (t Token) PartialPath() (names []string, last string) {
	parts := t.pathNames()
	for _, n := range parts[:len(parts)-1] {
		names = append(names, n.text)
	}
	return names, parts[len(parts)-1].text
}

// A pathName is the text between two slashes of a path.
type pathName struct {
	text  string
	parts int // of the word
	pos   Pos
}

func (n pathName) isMissing() bool { return n.parts == 0 }

// pathNames cuts a word at its slashes. Text before a slash at the beginning is left
// out.
func (t Token) pathNames() []pathName {
	names := []pathName{{pos: t.Pos}}
	for _, p := range t.Parts {
		pieces := []string{p.Text}
		if p.Quote == Bare {
			pieces = strings.Split(p.Text, "/")
		}
		at := p.Pos
		for i, piece := range pieces {
			if i > 0 {
				at = at.Plus(1)
				names = append(names, pathName{pos: at})
			}
			if n := &names[len(names)-1]; piece != "" || p.Quote != Bare {
				n.text += piece
				n.parts++
			}
			at = at.Plus(len(piece))
		}
	}
	if len(names) > 1 && names[0].isMissing() {
		return names[1:]
	}
	return names
}

// QuotePath returns the path of a directory as a word of the language. Each name is
// bare if possible, else in double quotes.
func QuotePath(names []string) string {
	words := make([]string, len(names))
	for i, name := range names {
		words[i] = name
		if !isBareWord(name) || strings.Contains(name, "/") {
			words[i] = QuoteText(name)
		}
	}
	switch {
	case len(names) == 0:
		return "/"
	case len(names) == 1 && EndsPath(strings.ToLower(names[0])):
		return QuoteText(names[0])
	}
	return strings.Join(words, "/")
}
