package ql

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/smolwc/smolwc/ql/dialect"
	"github.com/smolwc/smolwc/ql/lex"
	"github.com/smolwc/smolwc/schema"
)

// An Env is the context of a parser. In the zero Env no table is in use.
type Env struct {
	// Table is the table in use; statements may omit their table.
	Table string
	// IsTable reports whether a word names a table. While a table is in use, it decides
	// whether the first word of `get a b` is a table or a key.
	IsTable func(name string) bool
	// Zone is the zone of times that name no zone; nil: UTC.
	Zone *time.Location
}

// Parse parses exactly one statement that names its table.
func Parse(text string) (Statement, error) {
	return Env{}.Parse(lex.Source{Text: text, Pos: lex.Pos{Line: 1, Col: 1}})
}

// Parse parses exactly one statement. Errors are *[lex.Error].
func (env Env) Parse(src lex.Source) (Statement, error) {
	if st, err := parseCreateView(src); st != nil || err != nil {
		return st, err
	}
	if lex.IsQuery(src.Text) {
		return parseQuery(src), nil
	}
	toks, err := lex.Tokens(src, dashesError)
	if err != nil {
		return nil, err
	}
	for len(toks) > 1 && toks[0].Kind == lex.End {
		toks = toks[1:]
	}
	p := &parser{env: env, toks: toks, start: toks[0].Pos}
	return p.parse()
}

// A parser is a recursive-descent parser of the tokens of one statement. Its methods
// report a mistake by a panic with a *lex.Error, which parse recovers.
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
	terms   int    // conditions so far
	expr    int    // bytes of patterns in conditions so far
	wanted  *wanted
}

func (p *parser) parse() (_ Statement, err error) {
	defer lex.Recover(&err)
	st := p.statement()
	for ; p.i < len(p.toks)-1; p.i++ {
		if p.toks[p.i].Kind != lex.End {
			panic(p.unexpected("the end of the statement"))
		}
	}
	n := st.node()
	n.Pos, n.Foreign, n.Tuples = p.start, p.foreign, p.tuples
	return st, nil
}

// must returns v, or panics with an error of package lex or dialect.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func (p *parser) statement() Statement {
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
		panic(p.unexpected("a statement; help lists them"))
	}
	v, ok := findVerb(word)
	if !ok {
		panic(unknownVerb(t))
	}
	if !v.paths && p.wanted == nil {
		conditions := false
		for _, t := range p.toks {
			conditions = conditions || t.Keyword() == "where"
			if conditions {
				t, _ = t.TimeOf()
			}
			p.checkGlue(t)
		}
	}
	p.next()
	p.verb = v.name
	p.foreign = p.foreign || v.name != word
	p.spelt = word
	return v.parse(p)
}

// checkGlue refuses quotes that touch other tokens.
func (p *parser) checkGlue(t lex.Token) {
	if err := t.CheckGlue(); err != nil {
		panic(err)
	}
}

func unknownVerb(t lex.Token) *lex.Error {
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

func (p *parser) expect(mark string) {
	if !p.accept(mark) {
		panic(p.unexpected("%s", lex.QuoteText(mark)))
	}
}

func (p *parser) acceptWord(word string) bool {
	p.wantOneOf(ExpectKeyword, word)
	if p.peek().Keyword() != word {
		return false
	}
	p.next()
	return true
}

// acceptOption takes the name of an option and the = after it.
func (p *parser) acceptOption(name string) bool {
	p.wantOneOf(ExpectOption, name+"=")
	if p.peek().Keyword() != name {
		return false
	}
	p.next()
	p.expect("=")
	return true
}

// unexpected returns the error that something else is expected here.
func (p *parser) unexpected(format string, args ...any) *lex.Error {
	return lex.ErrorAt(p.peek().Pos, "expected %s, not %s", fmt.Sprintf(format, args...), p.peek().Describe())
}

// The bounds of a statement's lists. Keys, values and columns to read have no bound.
const (
	maxConditions = 10_000
	maxPatterns   = 20_000 // bytes, in all conditions together
	maxFigures    = 1000
	maxMappings   = 10_000
)

// bound refuses the next element of a list with n elements if it may hold at most most.
func (p *parser) bound(n, most int, what string) {
	if n >= most {
		panic(lex.ErrorAt(p.peek().Pos, "a statement has at most %d %s", most, what))
	}
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

// Options with dashes are mistakes from habit, or from text pasted from a document. They are
// never ignored: a statement that deletes would delete more than its text says.

// wordOptions are the options of the statements that change the schema. They are not in
// the table of options.
var wordOptions = []string{"aggregate", "change_stream", "dry-run", "drop", "key_format", "max_age", "max_versions", "retention", "ttl", "type"}

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
