package parse

import (
	"slices"
	"strings"
)

// The bounds of a query: the code recurses that deep.
const (
	maxBytes   = 1 << 20
	maxDepth   = 100
	maxColumns = 10_000 // of the result
	maxStages  = 1000
)

type parser struct {
	Source
	tokens []token
	at     int
	depth  int
	with   []named // of the queries around the place
	beyond *Beyond
	// unnamed are the calls whose windows have names that are not looked up yet.
	unnamed []unnamed
	// repeated is how many expressions calls have of windows with names.
	repeated int
	// incomplete is the hint allow_incomplete_view.
	incomplete bool
}

func (p *parser) peek() token { return p.tokens[p.at] }

func (p *parser) take() token {
	t := p.tokens[p.at]
	if t.kind != EndToken {
		p.at++
	}
	return t
}

// accept takes the next tokens when they are these words or signs.
func (p *parser) accept(words ...string) bool {
	for i, w := range words {
		if p.at+i >= len(p.tokens) || !p.tokens[p.at+i].is(w) {
			return false
		}
	}
	p.at += len(words)
	return true
}

func (p *parser) expect(words ...string) error {
	for _, w := range words {
		if !p.accept(w) {
			return p.unexpected(w)
		}
	}
	return nil
}

func (p *parser) unexpected(want string) error {
	return p.Errorf(p.peek().pos, "Syntax error: expected %s but got %s", want, p.peek())
}

// reserved are the words that are names in backquotes only.
var reserved = strings.Fields("ALL AND AS ASC BETWEEN BY CASE CAST CROSS DESC DISTINCT ELSE END EXCEPT EXTRACT FALSE FROM FULL GROUP HAVING IF IN INNER INTERVAL IS JOIN LEFT LIKE LIMIT NOT NULL NULLS OR ORDER RIGHT SELECT THEN TRUE UNION UNNEST WHEN WHERE WINDOW WITH")

// atName reports whether the next token is an identifier.
func (p *parser) atName() bool { return p.peek().names() }

func isReserved(word string) bool { return slices.Contains(reserved, strings.ToUpper(word)) }

// names reports whether the token is an identifier that is not reserved.
func (t token) names() bool {
	return t.kind == QuotedToken || t.kind == WordToken && !isReserved(t.text)
}

func (p *parser) name(what string) (token, error) {
	if !p.atName() {
		return p.peek(), p.unexpected(what)
	}
	return p.take(), nil
}

// part takes a name after a point, which may be a reserved word.
func (p *parser) part(what string) (token, error) {
	if kind := p.peek().kind; kind != WordToken && kind != QuotedToken {
		return p.peek(), p.unexpected(what)
	}
	return p.take(), nil
}

// alias takes a name with or without AS before it; it is empty when there is no name.
func (p *parser) alias(what string) (string, error) {
	t := p.peek()
	if !p.accept("AS") && (!p.atName() || t.is("OFFSET") || t.is("ON") || t.is("USING") || t.is("INTERSECT") || t.is("QUALIFY") || t.is("TABLESAMPLE")) {
		return "", nil
	}
	t, err := p.name(what)
	return t.text, err
}

// goBeyond notes a part of the query that Bigtable does not have.
func (p *parser) goBeyond(what string, pos int) {
	if p.beyond == nil {
		p.beyond = &Beyond{what, pos}
	}
}

// enter counts levels of nesting.
func (p *parser) enter() error {
	if p.depth++; p.depth > maxDepth {
		return p.Errorf(p.peek().pos, "the query is nested too deeply; it may have up to %d levels", maxDepth)
	}
	return nil
}

// expectUnless is expect, unless there already was an error.
func (p *parser) expectUnless(err error, words ...string) error {
	if err != nil {
		return err
	}
	return p.expect(words...)
}

// A named is a query that WITH names.
type named struct {
	name string
	of   *Block
}

// named is the query that WITH gives a name; nil: none has it. A nearer one comes first.
func (p *parser) named(name string) *Block {
	for i := len(p.with) - 1; i >= 0; i-- {
		if Same(p.with[i].name, name) {
			return p.with[i].of
		}
	}
	return nil
}

// startsQuery reports whether a query begins at a token, and not an expression.
func (p *parser) startsQuery(at int) bool {
	t := p.tokens[min(at, len(p.tokens)-1)]
	return t.is("SELECT") || t.is("WITH") || t.is("FROM")
}

// startsOperand is startsQuery where the query may begin with one in brackets.
func (p *parser) startsOperand(at int) bool {
	for at < len(p.tokens) && p.tokens[at].is("(") {
		at++
	}
	return p.startsQuery(at)
}

// atEnd reports whether a list ends here, so that the comma before is one too many, as
// GoogleSQL allows it.
func (p *parser) atEnd() bool {
	switch t := p.peek(); t.kind {
	case EndToken:
		return true
	case SignToken:
		return t.text == "|>" || t.text == ";" || t.text == ")"
	case WordToken:
		return slices.Contains(clauses, strings.ToUpper(t.text))
	}
	return false
}

// clauses are the reserved words that may follow a list of columns.
var clauses = strings.Fields("FROM WHERE GROUP HAVING WINDOW ORDER LIMIT UNION EXCEPT INTERSECT")
