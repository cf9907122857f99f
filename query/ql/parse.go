package ql

import (
	"fmt"

	"github.com/smolwc/smolwc/query/ql/dialect"
	"github.com/smolwc/smolwc/query/ql/lex"
	"github.com/smolwc/smolwc/schema"
)

// An Env is the context of a parser. The zero Env has no table in use.
type Env struct {
	// Table is the table in use; statements may omit their table.
	Table string
	// IsTable reports whether a word names a table. While a table is in use, it decides
	// whether the first word of `get a b` is a table or a key.
	IsTable func(name string) bool
}

// Parse parses exactly one statement that names its table.
func Parse(text string) (Statement, error) {
	return Env{}.Parse(lex.Source{Text: text, Pos: lex.Pos{Line: 1, Col: 1}})
}

// Parse parses exactly one statement. Errors are *[lex.Error].
func (env Env) Parse(src lex.Source) (Statement, error) {
	toks, err := lex.Tokens(src, dashesError)
	if err != nil {
		return nil, err
	}
	for len(toks) > 1 && toks[0].Kind == lex.End {
		toks = toks[1:]
	}
	p := &parser{env: env, toks: toks, start: toks[0].Pos}
	st, err := p.statement()
	if err != nil {
		return nil, err
	}
	for ; p.i < len(p.toks)-1; p.i++ {
		if p.toks[p.i].Kind != lex.End {
			return nil, p.unexpected("the end of the statement")
		}
	}
	n := st.node()
	n.Pos, n.Foreign, n.Tuples = p.start, p.foreign, p.tuples
	return st, nil
}

// A parser is a recursive-descent parser of the tokens of one statement.
type parser struct {
	env     Env
	toks    []lex.Token
	i       int
	start   lex.Pos
	verb    string // as listed in verbs
	spelt   string // as written, in lower case
	table   string // the statement's table, once known
	foreign bool   // a spelling of cbt or HBase was used
	tuples  bool   // a key was written as a tuple
	wanted  *wanted
}

// statement parses the verb and calls the verb's parser.
func (p *parser) statement() (Statement, error) {
	t := p.peek()
	p.wantOneOf(ExpectVerb, Verbs()...)
	word := t.Keyword()
	if _, known := findVerb(p.peekAt(1).Keyword()); word == "cbt" && known { // a command line for bash
		p.next()
		p.foreign = true
		t = p.peek()
		word = t.Keyword()
	}
	if word == "" {
		return nil, p.unexpected("a statement; help lists them")
	}
	v, ok := findVerb(word)
	if !ok {
		return nil, unknownVerb(t)
	}
	p.next()
	p.verb = v.name
	p.foreign = p.foreign || v.name != word
	p.spelt = word
	return v.parse(p)
}

func unknownVerb(t lex.Token) error {
	if hint := dialect.InsteadOf(t.Keyword()); hint != "" {
		return lex.ErrorAt(t.Pos, "there is no statement %s; %s", lex.QuoteText(t.Keyword()), hint)
	}
	if near := schema.DidYouMean(t.Keyword(), Verbs()); near != "" {
		return lex.ErrorAt(t.Pos, "there is no statement %s%s", t.Describe(), near)
	}
	return lex.ErrorAt(t.Pos, "there is no statement %s; help lists them", t.Describe())
}

func (p *parser) peek() lex.Token { return p.toks[p.i] }

// peekAt returns the token n ahead; after the last token it returns End.
func (p *parser) peekAt(n int) lex.Token { return p.toks[min(p.i+n, len(p.toks)-1)] }

// next returns the token and moves on; it stays at the end.
func (p *parser) next() lex.Token {
	t := p.toks[p.i]
	if t.Kind != lex.End {
		p.i++
	}
	return t
}

func (p *parser) atEnd() bool { return p.peek().Kind == lex.End }

// atMark reports whether the next token is this mark.
func (p *parser) atMark(mark string) bool { return p.isMark(0, mark) }

func (p *parser) isMark(n int, mark string) bool {
	t := p.peekAt(n)
	return t.Kind == lex.Mark && t.Text == mark
}

func (p *parser) accept(mark string) bool {
	if !p.atMark(mark) {
		return false
	}
	p.next()
	return true
}

func (p *parser) expect(mark string) error {
	if !p.accept(mark) {
		return p.unexpected("%s", lex.QuoteText(mark))
	}
	return nil
}

// acceptWord takes the keyword if it is next.
func (p *parser) acceptWord(word string) bool {
	p.wantOneOf(ExpectKeyword, word)
	if p.peek().Keyword() != word {
		return false
	}
	p.next()
	return true
}

// unexpected returns the error that something else is expected here.
func (p *parser) unexpected(format string, args ...any) error {
	return lex.ErrorAt(p.peek().Pos, "expected %s, not %s", fmt.Sprintf(format, args...), p.peek().Describe())
}

// skipComma skips the comma that HBase writes between arguments.
func (p *parser) skipComma() bool {
	if p.accept(",") {
		p.foreign = true
		return true
	}
	return false
}

// equals accepts the = of an option, or HBase's =>.
func (p *parser) equals() bool {
	if p.accept("=>") {
		p.foreign = true
		return true
	}
	return p.accept("=")
}

// atOption reports whether the next words are NAME= or NAME=>.
func (p *parser) atOption(n int) bool {
	return p.peekAt(n).BareText() != "" && (p.isMark(n+1, "=") || p.isMark(n+1, "=>"))
}

// listGoesOn accepts the comma between two items of a list. A comma before an option,
// or before HBase's } or ], ends the list.
func (p *parser) listGoesOn() bool {
	if !p.atMark(",") || p.isMark(1, "}") || p.isMark(1, "]") || p.atOption(1) && isOption(p.peekAt(1).Keyword()) {
		return false
	}
	p.next()
	return true
}
