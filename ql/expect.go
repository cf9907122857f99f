package ql

import (
	"slices"
	"strings"

	"github.com/smolwc/smolwc/ql/lex"
)

// An ExpectKind is the kind of an [Expectation].
type ExpectKind uint8

const (
	ExpectVerb      ExpectKind = iota // the verb of a statement, one of Candidates
	ExpectKeyword                     // one of Candidates
	ExpectOption                      // one of Candidates, "limit=" or "reverse"
	ExpectChoice                      // the value of an option, one of Candidates
	ExpectTopic                       // a topic of help, one of Candidates
	ExpectTable                       // an existing table
	ExpectFamily                      // a family of Table, by its bare name
	ExpectColumn                      // a column of Table: an existing family, with its colon
	ExpectQualifier                   // a qualifier of Family in Table
	ExpectKey                         // a row key of Table
	ExpectFile                        // the name of a file
	ExpectPath                        // the path of a directory, in the table Table; "" is the usual one
	ExpectZone                        // a zone of the queue in the table Table; "" is the usual one
	ExpectItem                        // the id of an item of Zone
)

// An Expectation is one thing that may follow at the cursor.
type Expectation struct {
	Kind ExpectKind
	// Table and Family are the names that the statement gives; they need not exist.
	Table, Family string
	// Prefix is the part that is already typed, without quotes; for a qualifier, the
	// part after the colon.
	Prefix string
	// Candidates are all words that the grammar allows here, if it knows them; they
	// include words that do not begin with Prefix.
	Candidates []string
	// Path are the names of a path before the one that is Prefix.
	Path []string
	// Zone is the zone of an item.
	Zone string
	// Alone says that a qualifier is written without its family, which is the family of
	// the preceding column.
	Alone bool
	// MapKey says that a qualifier is written as the key of a map in a query, m['model'];
	// Table may be "", as the query may name it later.
	MapKey bool
}

// An Expected says what may follow at a place in a text.
type Expected struct {
	// Begin is the start of the word before the cursor, in bytes from the start of the
	// text; it is the cursor itself if no word precedes it. A completion replaces the
	// text from Begin to the cursor.
	Begin int
	// Quote is the quote character that is open at the cursor, or 0.
	Quote byte
	// Wants are the things that may follow; it is empty if nothing may follow, or if
	// the text before contains a mistake.
	Wants []Expectation
	// Session marks a session command (.mode), whose words are not part of the
	// language.
	Session bool
}

// Expect says what may follow at the cursor, a byte offset into the text. The text
// after the cursor is ignored. The answer comes from the parser of [Env.Parse].
func (env Env) Expect(text string, cursor int) Expected {
	text = text[:min(max(cursor, 0), len(text))]
	src, ok := lex.LastStatement(text)
	offset := len(text) - len(src.Text)
	if src.Session {
		return Expected{Begin: offset + strings.LastIndexByte(src.Text, ' ') + 1, Session: true}
	}
	if ok && lex.IsQuery(src.Text) {
		return env.expectQuery(src, offset)
	}
	toks, tail, err := lex.PartialTokens(src, dashesError)
	if !ok || err != nil {
		return Expected{Begin: len(text)}
	}
	want := &wanted{}
	p := &parser{env: env, toks: toks, start: toks[0].Pos, wanted: want}
	_, _ = p.parse() // it fails at the cursor, if not before
	exp := Expected{Begin: len(text), Wants: want.list}
	if tail != nil {
		exp.Begin = offset + tail.Off
		exp.Quote = tail.Open
	}
	exp.Wants = narrow(exp.Wants, tail)
	return exp
}

// wanted collects the tokens that the parser accepts at the cursor.
type wanted struct{ list []Expectation }

// want records a permitted next token, if that is the cursor.
func (p *parser) want(e Expectation) {
	if p.wanted == nil || p.i < len(p.toks)-1 {
		return
	}
	if e.Table == "" {
		e.Table = p.table
	}
	list := p.wanted.list
	if n := slices.IndexFunc(list, func(o Expectation) bool {
		return o.Kind == e.Kind && o.Family == e.Family && o.Table == e.Table
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

func (p *parser) wantOneOf(kind ExpectKind, words ...string) {
	p.want(Expectation{Kind: kind, Candidates: words})
}

// wantColumn records a column; before is the family of a word without a colon, or "".
func (p *parser) wantColumn(before string) {
	p.wantKind(ExpectColumn)
	if before != "" {
		p.want(Expectation{Kind: ExpectQualifier, Family: before, Alone: true})
	}
}

// narrow sets the already typed part of the word in the expectations.
func narrow(list []Expectation, tail *lex.Partial) []Expectation {
	if tail == nil {
		return list
	}
	var out []Expectation
	for _, e := range list {
		e.Prefix = tail.Text()
		if e.Kind == ExpectPath {
			e.Path, e.Prefix = tail.Word.PartialPath()
		}
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
