package ql

import (
	"slices"
	"strings"

	"github.com/smolwc/smolwc/query/ql/lex"
)

// An ExpectKind says what an [Expectation] wants to stand at a place.
type ExpectKind uint8

const (
	ExpectVerb      ExpectKind = iota // a statement's verb, one of Candidates
	ExpectKeyword                     // one of Candidates
	ExpectOption                      // one of Candidates, "limit=" or "reverse"
	ExpectChoice                      // the value of an option, one of Candidates
	ExpectTopic                       // a topic of help, one of Candidates
	ExpectTable                       // an existing table
	ExpectFamily                      // a family of Table, by its name alone
	ExpectColumn                      // a column of Table: an existing family, with its colon
	ExpectQualifier                   // a qualifier of Family in Table
	ExpectKey                         // a row key of Table
	ExpectFile                        // the name of a file
	ExpectName                        // a new name, of Hint
	ExpectValue                       // a value for a cell
	ExpectNumber                      // a number, of Hint
	ExpectTime                        // a time
	ExpectText                        // any other text, of Hint
)

// An Expectation is one thing that may stand at the cursor.
type Expectation struct {
	Kind ExpectKind
	// Table and Family are those that the statement names, as it names them: they need not
	// exist.
	Table, Family string
	// Prefix is the part that is typed already, without quotes; of a qualifier the part
	// after the colon.
	Prefix string
	// Candidates are all words that may stand here, if the grammar knows them; also those
	// that do not begin with Prefix.
	Candidates []string
	// Alone says of a qualifier that it stands without its family, which is
	// that of the column before it.
	Alone bool
	// Hint says in words what is wanted if nothing can be proposed.
	Hint string
}

// An Expected is what may stand at a place in a text.
type Expected struct {
	// Begin is where the word begins that the cursor stands after, in bytes
	// from the start of the text; the cursor itself when it is in no word. What
	// completes the word takes the place of all from there to the cursor.
	Begin int
	// Quote is the quote that is open at the cursor, or 0.
	Quote byte
	// Wants are the things that may stand there; empty if nothing may, or if there is a
	// mistake before.
	Wants []Expectation
	// Session marks a line of the session's commands (.mode), whose words are
	// not of the language.
	Session bool
}

// Expect says what may stand at the cursor, an offset into the text in bytes; the text
// after it does not count. The parser itself says it, so [Env.Parse] takes it.
func (env Env) Expect(text string, cursor int) Expected {
	text = text[:min(max(cursor, 0), len(text))]
	src, ok := lex.LastStatement(text)
	offset := len(text) - len(src.Text)
	if src.Session {
		return Expected{Begin: offset + strings.LastIndexByte(src.Text, ' ') + 1, Session: true}
	}
	toks, tail, err := lex.PartialTokens(src, dashesError)
	if !ok || err != nil {
		return Expected{Begin: len(text)}
	}
	want := &wanted{}
	p := &parser{env: env, toks: toks, start: toks[0].Pos, wanted: want}
	_, _ = p.statement() // it fails at the cursor, if not before
	exp := Expected{Begin: len(text), Wants: want.list}
	if tail != nil {
		exp.Begin = offset + tail.Off
		exp.Quote = tail.Open
	}
	exp.Wants = narrow(exp.Wants, tail)
	return exp
}

// wanted collects what the parser looks for at the cursor.
type wanted struct{ list []Expectation }

// want notes what may stand at the next token, if that is the cursor.
func (p *parser) want(e Expectation) {
	if p.wanted == nil || p.i < len(p.toks)-1 {
		return
	}
	if e.Table == "" {
		e.Table = p.table
	}
	list := p.wanted.list
	if n := slices.IndexFunc(list, func(o Expectation) bool {
		return o.Kind == e.Kind && o.Family == e.Family && o.Table == e.Table && o.Hint == e.Hint
	}); n >= 0 {
		for _, c := range e.Candidates {
			if !slices.Contains(list[n].Candidates, c) {
				list[n].Candidates = append(list[n].Candidates, c)
			}
		}
		return
	}
	e.Candidates = slices.Clone(e.Candidates)
	p.wanted.list = append(list, e)
}

func (p *parser) wantKind(kind ExpectKind) { p.want(Expectation{Kind: kind}) }

// wantOneOf notes a choice of words.
func (p *parser) wantOneOf(kind ExpectKind, words ...string) {
	p.want(Expectation{Kind: kind, Candidates: words})
}

// wantText notes that something is wanted that cannot be proposed.
func (p *parser) wantText(kind ExpectKind, hint string) { p.want(Expectation{Kind: kind, Hint: hint}) }

// wantColumn notes a column; before is the family that a word without a colon
// would belong to.
func (p *parser) wantColumn(before string) {
	p.wantKind(ExpectColumn)
	if before != "" {
		p.want(Expectation{Kind: ExpectQualifier, Family: before, Alone: true})
	}
}

// narrow gives the expectations the part of the word that is typed already.
func narrow(list []Expectation, tail *lex.Partial) []Expectation {
	if tail == nil {
		return list
	}
	var out []Expectation
	for _, e := range list {
		e.Prefix = tail.Text()
		if e.Kind != ExpectColumn && e.Kind != ExpectQualifier {
			out = append(out, e)
			continue
		}
		family, qualifier, colon := cutColumn(tail.Word)
		switch {
		case colon && e.Kind == ExpectColumn:
			out = append(out, Expectation{Kind: ExpectQualifier, Table: e.Table, Family: family, Prefix: lex.Join(qualifier)})
		case !colon:
			out = append(out, e)
		}
	}
	return out
}

// String is the name of the kind.
func (k ExpectKind) String() string { return expectKinds[k] }

var expectKinds = [...]string{
	"verb", "keyword", "option", "choice", "topic", "table", "family", "column", "qualifier",
	"key", "file", "name", "value", "number", "time", "text",
}
