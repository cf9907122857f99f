package ql

import (
	"strings"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query/ql/lex"
)

// literal parses a value: a word, or a call such as i32(42). The time is what
// stands behind an @, nil without one.
func (p *parser) literal() (lex.Literal, *lex.Time, error) {
	p.wantKind(ExpectValue)
	t := p.peek()
	if t.Kind != lex.Word {
		return lex.Literal{}, nil, p.unexpected("a value")
	}
	if typ, err := cells.ParseType(t.Keyword()); err == nil && p.peekAt(1).Glued && p.peekAt(1).Text == "(" {
		p.next()
		return p.call(t, typ)
	}
	p.next()
	return wordLiteral(t)
}

// call parses the rest of i32(42)@ts, from the bracket on.
func (p *parser) call(name lex.Token, typ cells.Type) (lex.Literal, *lex.Time, error) {
	p.next() // (
	arg := p.peek()
	if arg.Kind != lex.Word {
		return lex.Literal{}, nil, p.unexpected("a value in %s(…)", typ)
	}
	p.next()
	if arg.Parts[0].Quote == lex.Binary && typ != cells.TypeBytes {
		return lex.Literal{}, nil, lex.ErrorAt(arg.Pos, "value %s is bytes and cannot be made %s", lex.Clip(arg.Text), typ)
	}
	if err := p.expect(")"); err != nil {
		return lex.Literal{}, nil, err
	}
	lit, err := lex.TypedLiteral(arg.Pos, lex.Join(arg.Parts), typ)
	if err != nil {
		return lex.Literal{}, nil, err
	}
	lit.Pos = name.Pos
	if at := p.peek(); at.Glued && strings.HasPrefix(at.BareText(), "@") {
		p.next()
		ts, err := lex.ParseTime(at.Pos, at.BareText()[1:])
		return lit, ts, err
	}
	return lit, nil, nil
}

// wordLiteral makes a literal of one word, of which a bare @ begins the time.
func wordLiteral(t lex.Token) (lex.Literal, *lex.Time, error) {
	value, ts, err := cutTime(t)
	if err != nil {
		return lex.Literal{}, nil, err
	}
	lit, err := partsLiteral(t, value)
	return lit, ts, err
}

func partsLiteral(t lex.Token, value []lex.Part) (lex.Literal, error) {
	if len(value) == 0 {
		return lex.Literal{}, lex.ErrorAt(t.Pos, "expected a value before @; quote the value if it begins with @")
	}
	if len(value) > 1 {
		for _, p := range value {
			if p.Quote == lex.Binary {
				return lex.Literal{}, lex.ErrorAt(t.Pos, `x'…' and b64'…' stand alone as a value; use bytes("…") to mix text and bytes`)
			}
		}
	}
	switch text := lex.Join(value); {
	case value[0].Quote == lex.Binary:
		return lex.Literal{Pos: t.Pos, Type: cells.TypeBytes, Text: text}, nil
	case len(value) > 1 || value[0].Quote != lex.Bare:
		return lex.Literal{Pos: t.Pos, Text: text, Quoted: true}, nil
	default:
		if number, typ, ok := lex.CutSuffix(text); ok {
			return lex.TypedLiteral(t.Pos, number, typ)
		}
		return lex.Literal{Pos: t.Pos, Text: text}, nil
	}
}

// cutTime splits a word at its first bare @ and reads what follows as a time.
func cutTime(t lex.Token) (before []lex.Part, ts *lex.Time, err error) {
	for i, p := range t.Parts {
		n := strings.IndexByte(p.Text, '@')
		if p.Quote != lex.Bare || n < 0 {
			continue
		}
		before = append(before, t.Parts[:i]...)
		if n > 0 {
			before = append(before, lex.Part{Quote: lex.Bare, Text: p.Text[:n], Pos: p.Pos})
		}
		at := p.Pos.Plus(n + 1)
		if i != len(t.Parts)-1 {
			return nil, nil, lex.ErrorAt(at, "a timestamp is written without quotes; quote the whole value if it holds an @")
		}
		ts, err = lex.ParseTime(at, p.Text[n+1:])
		return before, ts, err
	}
	return t.Parts, nil, nil
}
