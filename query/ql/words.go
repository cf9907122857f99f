package ql

import (
	"slices"
	"strconv"
	"strings"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query/ql/lex"
	"github.com/smolwc/smolwc/schema"
)

// tableName parses the statement's table, or returns the table in use if the statement
// omits it.
func (p *parser) tableName() (Name, error) {
	t := p.peek()
	p.wantKind(ExpectTable)
	isWord := t.Kind == lex.Word && !p.atOption(0) && !lex.IsReserved(t.Keyword())
	switch {
	case isWord && (p.env.Table == "" || p.isTable(t)):
		return p.tableNamed()
	case p.env.Table != "":
		p.table = p.env.Table
		return Name{p.env.Table, p.start}, nil
	}
	return Name{}, p.unexpected("a table")
}

// tableNamed takes the name of an existing table.
func (p *parser) tableNamed() (Name, error) {
	p.wantKind(ExpectTable)
	n, err := p.name("a table")
	p.table = n.Text
	return n, err
}

// familyNamed takes the name of an existing family.
func (p *parser) familyNamed() (Name, error) {
	p.wantKind(ExpectFamily)
	return p.name("the family's name")
}

// newName takes a name for something new.
func (p *parser) newName(what string) (Name, error) {
	p.wantText(ExpectName, what)
	return p.name(what)
}

// isTable reports whether the word is a table's name even though a table is in use.
func (p *parser) isTable(t lex.Token) bool {
	if v, _ := findVerb(p.verb); !v.keyed {
		return true
	}
	return p.env.IsTable == nil || p.env.IsTable(lex.Join(t.Parts))
}

// name takes the name of a table or family, which must not be empty.
func (p *parser) name(what string) (Name, error) {
	n, err := p.word(what)
	if err == nil && n.Text == "" {
		err = lex.ErrorAt(n.Pos, "expected %s, not an empty name", what)
	}
	return n, err
}

// word parses any word, including the empty word in quotes.
func (p *parser) word(what string) (Name, error) {
	t := p.peek()
	if t.Kind != lex.Word {
		return Name{}, p.unexpected("%s", what)
	}
	p.next()
	return Name{lex.Join(t.Parts), t.Pos}, nil
}

// key parses a row key: adjacent bare and quoted parts, or a tuple.
func (p *parser) key() (string, error) {
	p.wantKind(ExpectKey)
	t := p.peek()
	var key string
	switch {
	case p.atMark("("):
		var err error
		if key, err = p.tupleKey(); err != nil {
			return "", err
		}
	case t.Kind != lex.Word || lex.IsReserved(t.Keyword()):
		return "", p.unexpected("a row key")
	default:
		p.next()
		key = lex.Join(t.Parts)
	}
	if key == "" {
		return "", lex.ErrorAt(t.Pos, "a row key is at least one byte")
	}
	return key, nil
}

// text parses the value of an option and returns it as written.
func (p *parser) text(what string) (string, error) {
	n, err := p.word(what)
	return n.Text, err
}

// number parses a whole number that is not less than least.
func (p *parser) number(what string, least int) (int, error) {
	p.wantText(ExpectNumber, what)
	t := p.peek()
	text := t.BareText()
	if p.foreign && t.Kind == lex.Word { // HBase: '3'
		text = lex.Join(t.Parts)
	}
	n, err := strconv.Atoi(strings.ReplaceAll(text, "_", ""))
	if err != nil || n < least {
		return 0, p.unexpected("%s, a whole number from %d", what, least)
	}
	p.next()
	return n, nil
}

// flag parses the =true or =false that may follow a flag.
func (p *parser) flag() (bool, error) {
	if !p.equals() {
		return true, nil
	}
	p.foreign = true
	p.wantOneOf(ExpectChoice, "true", "false")
	t := p.peek()
	if w := t.Keyword(); w == "true" || w == "false" {
		p.next()
		return w == "true", nil
	}
	return false, p.unexpected("true or false")
}

// oneWord takes one of the words, in lower case.
func (p *parser) oneWord(what string, words ...string) (string, error) {
	p.wantOneOf(ExpectChoice, words...)
	t := p.peek()
	word := t.Keyword()
	if slices.Contains(words, word) {
		p.next()
		return word, nil
	}
	instead := schema.DidYouMean(word, words)
	if last := len(words) - 1; instead == "" {
		instead = "; write " + strings.Join(words[:last], ", ") + " or " + words[last]
	}
	return "", lex.ErrorAt(t.Pos, "expected %s, not %s%s", what, t.Describe(), instead)
}

// timeValue takes the value of since= and until=, with or without an @.
func (p *parser) timeValue() (*lex.Time, error) {
	p.wantKind(ExpectTime)
	t := p.peek()
	if t.Kind != lex.Word {
		return nil, p.unexpected("a time, as in 2024-01-25 or now-36h")
	}
	p.next()
	text := lex.Join(t.Parts)
	if t.Parts[0].Quote == lex.Bare {
		text = strings.TrimPrefix(text, "@")
	}
	return lex.ParseTime(t.Pos, text)
}

// literal parses a value: a word, or a call such as i32(42). The time after an @ is nil
// if there is no @.
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
	return lex.WordLiteral(t)
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
