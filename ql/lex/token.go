package lex

import (
	"strings"
)

// A Kind is the kind of a token.
type Kind uint8

const (
	End  Kind = iota // the end of the statement: ;, a newline, or the end of the text
	Word             // bare, quoted, or adjacent parts of both
	Mark             // one of ( ) [ ] { } , = == != <> < <= > >= =>
)

// A Token is one word or mark of a statement.
type Token struct {
	Kind  Kind
	Text  string // as written
	Pos   Pos
	Glued bool // no space before this token
	Parts []Part
}

// A Part is a run of a word: bare characters, or the content of one pair of quotes.
type Part struct {
	Quote Quote
	Text  string // decoded
	Pos   Pos
}

// A Quote is how a part of a word is quoted.
type Quote uint8

const (
	Bare   Quote = iota
	double       // "…"
	Single       // '…'
	Binary       // x'…' and b64'…'
)

// BareText returns the text of a word that is one bare part, else "".
func (t Token) BareText() string {
	if t.Kind == Word && len(t.Parts) == 1 && t.Parts[0].Quote == Bare {
		return t.Parts[0].Text
	}
	return ""
}

// Plain returns the decoded text of a word, or a mark.
func (t Token) Plain() string {
	if t.Kind == Word {
		return Join(t.Parts)
	}
	return t.Text
}

// Keyword returns BareText in lower case: keywords are case-insensitive.
func (t Token) Keyword() string { return strings.ToLower(t.BareText()) }

func equalKeyword(s, keyword string) bool { return strings.EqualFold(s, keyword) }

// Join returns the text of all parts.
func Join(parts []Part) string {
	if len(parts) == 1 {
		return parts[0].Text
	}
	var b strings.Builder
	for _, p := range parts {
		b.WriteString(p.Text)
	}
	return b.String()
}

// Describe names the token in a message.
func (t Token) Describe() string {
	if t.Kind == End {
		return "the end of the statement"
	}
	if t.Kind == Word && t.Parts[0].Quote != Bare {
		return Printable(Clip(t.Text))
	}
	return QuoteText(Clip(t.Text))
}

// Clip shortens long input for a message.
func Clip(s string) string {
	if len(s) <= 64 {
		return s
	}
	return strings.ToValidUTF8(s[:64], "") + "…"
}
