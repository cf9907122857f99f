package lex

import (
	"strings"

	"github.com/smolwc/smolwc/cells"
)

// WordLiteral makes a literal of one word. A time begins at the word's first bare @; it
// is nil if there is no @.
func WordLiteral(t Token) (Literal, *Time, error) {
	value, ts, err := CutTime(t)
	if err != nil {
		return Literal{}, nil, err
	}
	lit, err := partsLiteral(t, value)
	return lit, ts, err
}

// PlainLiteral makes a literal of a whole word; an @ in it does not begin a time.
func PlainLiteral(t Token) (Literal, error) { return partsLiteral(t, t.Parts) }

func partsLiteral(t Token, value []Part) (Literal, error) {
	if len(value) == 0 {
		return Literal{}, ErrorAt(t.Pos, "expected a value before @; quote the value if it begins with @")
	}
	if len(value) > 1 {
		for _, p := range value {
			if p.Quote == Binary {
				return Literal{}, ErrorAt(t.Pos, `x'…' and b64'…' stand alone as a value; use bytes("…") to mix text and bytes`)
			}
		}
	}
	switch text := Join(value); {
	case value[0].Quote == Binary:
		return Literal{Pos: t.Pos, Type: cells.TypeBytes, Text: text}, nil
	case len(value) > 1 || value[0].Quote != Bare:
		return Literal{Pos: t.Pos, Text: text, Quoted: true}, nil
	default:
		if number, typ, ok := CutSuffix(text); ok {
			return TypedLiteral(t.Pos, number, typ)
		}
		return Literal{Pos: t.Pos, Text: text}, nil
	}
}

// CutTime splits a word at its first bare @. A time follows the @; it is nil if there
// is no @.
func CutTime(t Token) (before []Part, ts *Time, err error) {
	for i, p := range t.Parts {
		n := strings.IndexByte(p.Text, '@')
		if p.Quote != Bare || n < 0 {
			continue
		}
		before = append(before, t.Parts[:i]...)
		if n > 0 {
			before = append(before, Part{Quote: Bare, Text: p.Text[:n], Pos: p.Pos})
		}
		at := p.Pos.Plus(n + 1)
		if i != len(t.Parts)-1 {
			return nil, nil, ErrorAt(at, "a timestamp is written without quotes; quote the whole value if it holds an @")
		}
		ts, err = ParseTime(at, p.Text[n+1:])
		return before, ts, err
	}
	return t.Parts, nil, nil
}
