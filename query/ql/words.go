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
func (p *parser) tableName() Name {
	p.wantKind(ExpectTable)
	switch {
	case p.atWord() && (p.env.Table == "" || p.isTable(p.peek())):
		return p.tableNamed()
	case p.env.Table != "":
		p.table = p.env.Table
		return Name{p.env.Table, p.start}
	}
	panic(p.unexpected("a table"))
}

func (p *parser) tableNamed() Name {
	p.wantKind(ExpectTable)
	n := p.name("a table")
	p.table = n.Text
	return n
}

func (p *parser) familyNamed() Name {
	p.wantKind(ExpectFamily)
	return p.name("the family's name")
}

// isTable reports whether the word is a table's name even though a table is in use.
func (p *parser) isTable(t lex.Token) bool {
	if v, _ := findVerb(p.verb); !v.keyed {
		return true
	}
	return p.env.IsTable == nil || p.env.IsTable(lex.Join(t.Parts))
}

// name takes the name of a table or family, which must not be empty.
func (p *parser) name(what string) Name {
	n := p.word(what)
	if n.Text == "" {
		panic(lex.ErrorAt(n.Pos, "expected %s, not an empty name", what))
	}
	return n
}

// word parses any word, including the empty word in quotes.
func (p *parser) word(what string) Name {
	t := p.peek()
	if t.Kind != lex.Word {
		panic(p.unexpected("%s", what))
	}
	p.checkGlue(t) // in a statement with paths
	p.next()
	return Name{lex.Join(t.Parts), t.Pos}
}

// key parses a row key: adjacent bare and quoted parts, or a tuple.
func (p *parser) key() string {
	p.wantKind(ExpectKey)
	t := p.peek()
	var key string
	switch {
	case p.atMark("("):
		key = p.tupleKey()
	case t.Kind != lex.Word || lex.IsReserved(t.Keyword()):
		panic(p.unexpected("a row key"))
	default:
		p.next()
		key = lex.Join(t.Parts)
	}
	if key == "" {
		panic(lex.ErrorAt(t.Pos, "a row key is at least one byte"))
	}
	return key
}

// text parses the value of an option and returns it as written.
func (p *parser) text(what string) string { return p.word(what).Text }

// file parses the name of a file or a directory, or a backup target.
func (p *parser) file(what string) string {
	p.wantKind(ExpectFile)
	return p.text(what)
}

func (p *parser) number(what string, least int) int {
	t := p.peek()
	text := t.BareText()
	if p.foreign && t.Kind == lex.Word { // HBase: '3'
		text = lex.Join(t.Parts)
	}
	n, err := strconv.Atoi(strings.ReplaceAll(text, "_", ""))
	if err != nil || n < least {
		panic(p.unexpected("%s, a whole number from %d", what, least))
	}
	p.next()
	return n
}

// flag parses the =true or =false that may follow a flag.
func (p *parser) flag() bool {
	if !p.equals() {
		return true
	}
	p.foreign = true
	p.wantOneOf(ExpectChoice, "true", "false")
	t := p.peek()
	if w := t.Keyword(); w == "true" || w == "false" {
		p.next()
		return w == "true"
	}
	panic(p.unexpected("true or false"))
}

func (p *parser) oneWord(what string, words ...string) string {
	p.wantOneOf(ExpectChoice, words...)
	t := p.peek()
	word := t.Keyword()
	if slices.Contains(words, word) {
		p.next()
		return word
	}
	instead := schema.DidYouMean(word, words)
	if last := len(words) - 1; instead == "" {
		instead = "; write " + strings.Join(words[:last], ", ") + " or " + words[last]
	}
	panic(lex.ErrorAt(t.Pos, "expected %s, not %s%s", what, t.Describe(), instead))
}

// timeValue takes the value of since= and until=, with or without an @.
func (p *parser) timeValue() *lex.Time {
	t := p.peek()
	if t.Kind != lex.Word {
		panic(p.unexpected("a time, as in 2024-01-25 or now-36h"))
	}
	p.next()
	text := lex.Join(t.Parts)
	if t.Parts[0].Quote == lex.Bare {
		text = strings.TrimPrefix(text, "@")
	}
	return must(lex.ParseTime(t.Pos, text))
}

// literal parses a value: a word, or a call such as i32(42). The time after an @ is nil
// if there is no @.
func (p *parser) literal() (lex.Literal, *lex.Time) {
	t := p.peek()
	if t.Kind != lex.Word {
		panic(p.unexpected("a value"))
	}
	p.next()
	if typ, ok := p.atCall(t); ok {
		return p.call(t, typ)
	}
	lit, at, err := lex.WordLiteral(t)
	return must(lit, err), at
}

// untimed parses a value without a time. what names the value, and why says why it has
// no time.
func (p *parser) untimed(what, why string) lex.Literal {
	if p.peek().Kind != lex.Word {
		panic(p.unexpected("%s", what))
	}
	lit, at := p.literal()
	if at != nil {
		panic(lex.ErrorAt(at.Pos, "%s", why))
	}
	return lit
}

// atCall returns the type that a word names, if its bracket follows: i32(.
func (p *parser) atCall(word lex.Token) (cells.Type, bool) {
	typ, err := cells.ParseType(word.Keyword())
	return typ, err == nil && p.peek().Glued && p.atMark("(")
}

// call parses the rest of i32(42)@ts, from the bracket on.
func (p *parser) call(name lex.Token, typ cells.Type) (lex.Literal, *lex.Time) {
	p.next() // (
	arg := p.peek()
	if arg.Kind != lex.Word {
		panic(p.unexpected("a value in %s(…)", typ))
	}
	p.next()
	if arg.Parts[0].Quote == lex.Binary && typ != cells.TypeBytes {
		panic(lex.ErrorAt(arg.Pos, "value %s is bytes and cannot be made %s", lex.Clip(arg.Text), typ))
	}
	p.expect(")")
	lit := must(lex.TypedLiteral(arg.Pos, lex.Join(arg.Parts), typ))
	lit.Pos = name.Pos
	if at := p.peek(); at.Glued && strings.HasPrefix(at.BareText(), "@") {
		p.next()
		return lit, must(lex.ParseTime(at.Pos, at.BareText()[1:]))
	}
	return lit, nil
}
