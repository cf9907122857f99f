package ql

import (
	"strings"

	"github.com/smolwc/smolwc/cells"
)

// literal parses a value: a word, or a call such as i32(42). The time is what
// stands behind an @, nil without one.
func (p *parser) literal() (Literal, *Time, error) {
	p.wantKind(ExpectValue)
	t := p.peek()
	if t.kind != tokenWord {
		return Literal{}, nil, p.unexpected("a value")
	}
	if typ, err := cells.ParseType(t.keyword()); err == nil && p.peekAt(1).glued && p.peekAt(1).text == "(" {
		p.next()
		return p.call(t, typ)
	}
	p.next()
	return wordLiteral(t)
}

// call parses the rest of i32(42)@ts, from the bracket on.
func (p *parser) call(name token, typ cells.Type) (Literal, *Time, error) {
	p.next() // (
	arg := p.peek()
	if arg.kind != tokenWord {
		return Literal{}, nil, p.unexpected("a value in %s(…)", typ)
	}
	p.next()
	if arg.parts[0].quote == literalX && typ != cells.TypeBytes {
		return Literal{}, nil, errorAt(arg.pos, "value %s is bytes and cannot be made %s", clip(arg.text), typ)
	}
	if err := p.expect(")"); err != nil {
		return Literal{}, nil, err
	}
	lit, err := typedLiteral(arg.pos, join(arg.parts), typ)
	if err != nil {
		return Literal{}, nil, err
	}
	lit.Pos = name.pos
	if at := p.peek(); at.glued && strings.HasPrefix(at.bareText(), "@") {
		p.next()
		ts, err := parseTime(at.pos, at.bareText()[1:])
		return lit, ts, err
	}
	return lit, nil, nil
}

// wordLiteral makes a literal of one word, of which a bare @ begins the time.
func wordLiteral(t token) (Literal, *Time, error) {
	value, ts, err := cutTime(t)
	if err != nil {
		return Literal{}, nil, err
	}
	lit, err := partsLiteral(t, value)
	return lit, ts, err
}

func partsLiteral(t token, value []part) (Literal, error) {
	if len(value) == 0 {
		return Literal{}, errorAt(t.pos, "expected a value before @; quote the value if it begins with @")
	}
	if len(value) > 1 {
		for _, p := range value {
			if p.quote == literalX {
				return Literal{}, errorAt(t.pos, `x'…' and b64'…' stand alone as a value; use bytes("…") to mix text and bytes`)
			}
		}
	}
	switch text := join(value); {
	case value[0].quote == literalX:
		return Literal{Pos: t.pos, Type: cells.TypeBytes, Text: text}, nil
	case len(value) > 1 || value[0].quote != bare:
		return Literal{Pos: t.pos, Text: text, Quoted: true}, nil
	default:
		if number, typ, ok := cutSuffix(text); ok {
			return typedLiteral(t.pos, number, typ)
		}
		return Literal{Pos: t.pos, Text: text}, nil
	}
}

// cutTime splits a word at its first bare @ and reads what follows as a time.
func cutTime(t token) (before []part, ts *Time, err error) {
	for i, p := range t.parts {
		n := strings.IndexByte(p.text, '@')
		if p.quote != bare || n < 0 {
			continue
		}
		before = append(before, t.parts[:i]...)
		if n > 0 {
			before = append(before, part{bare, p.text[:n], p.pos})
		}
		at := Pos{p.pos.Line, p.pos.Col + n + 1}
		if i != len(t.parts)-1 {
			return nil, nil, errorAt(at, "a timestamp is written without quotes; quote the whole value if it holds an @")
		}
		ts, err = parseTime(at, p.text[n+1:])
		return before, ts, err
	}
	return t.parts, nil, nil
}
