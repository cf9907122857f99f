package ql

import (
	"strconv"

	"github.com/smolwc/smolwc/query/ql/lex"
)

// filled parses text that must not be empty; name is what its error calls it.
func (p *parser) filled(what, name string) string {
	n := p.word(what)
	if n.Text == "" {
		panic(lex.ErrorAt(n.Pos, "%s is empty", name))
	}
	return n.Text
}

func (p *parser) intoOption(to *target) {
	p.wantKind(ExpectFile)
	to.read.Into = p.filled("a file, as in 'rows.csv'", "the name of the file")
}

// limitOption takes a number of rows; 0 is no limit.
func (p *parser) limitOption(to *target) {
	if to.read.Limit = p.number("a number of rows", 0); to.read.Limit == 0 {
		to.read.Limit = Unlimited
	}
}

// drawn takes a number of bins, points or parts.
func (p *parser) drawn(least int) int { return p.upTo(least, maxDrawn) }

// upTo takes a number within bounds.
func (p *parser) upTo(least, most int) int {
	t := p.peek()
	n := p.number("a number", least)
	if n > most {
		panic(lex.ErrorAt(t.Pos, "expected a number up to %d, not %s", most, t.Describe()))
	}
	return n
}

// maxDrawn bounds the bins or points of a drawing, which are held in memory.
const maxDrawn = 1000

// pageOption parses a page token, or "" for the first page.
func (p *parser) pageOption(to *target) {
	token := p.text(`a token, or "" for the first page`)
	to.read.Page = &token
}

// keyBound parses a prefix or the bound of a range; either may be empty.
func (p *parser) keyBound() string {
	p.wantKind(ExpectKey)
	if p.atMark("(") {
		return p.tupleKey()
	}
	return p.text("a row key")
}

// prefixOption takes a prefix of row keys, by bytes or by the elements of tuples.
func (p *parser) prefixOption(to *target) {
	to.rows.TuplePrefix = p.atMark("(")
	to.rows.Prefix = p.keyBound()
}

func (p *parser) keysOption(to *target) {
	brackets := p.accept("[")
	to.rows.Keys = append(to.rows.Keys, p.key())
	for p.listGoesOn() {
		to.rows.Keys = append(to.rows.Keys, p.key())
	}
	if brackets {
		p.expect("]")
	}
}

// regexOption takes a pattern: between slashes, in quotes, or both.
func (p *parser) regexOption(to *target) { to.read.Regex = p.pattern("regex=") }

// pattern takes a pattern; after is what stands before it.
func (p *parser) pattern(after string) *Pattern {
	t := p.peek()
	if t.Kind != lex.Word {
		panic(p.unexpected("a pattern, as in /plane#.*/"))
	}
	p.next()
	expr, between := cutSlashes(t.Parts)
	switch first := t.Parts[0]; {
	case between || first.Quote != lex.Bare:
	case first.Text[0] == '/':
		panic(lex.ErrorAt(t.Pos, "a pattern ends with /, as in %s/plane#.*/; quote one that begins with a / of its own", after))
	case first.Text[0] == '~' && t.Glued:
		panic(lex.ErrorAt(t.Pos, "a pattern stands after %s, without a ~; write %s/%s/", after, after, lex.Printable(lex.Clip(expr[1:]))))
	}
	return &Pattern{t.Pos, expr}
}

func (p *parser) sampleOption(to *target) {
	f, err := strconv.ParseFloat(p.peek().BareText(), 64)
	if err != nil || !(f > 0 && f < 1) {
		panic(p.unexpected("a share of the rows, more than 0 and less than 1, as in 0.01"))
	}
	to.read.Sample = f
	p.next()
}

func (p *parser) versionsOption(to *target) {
	to.read.Versions = Unlimited
	if !p.acceptWord("all") {
		to.read.Versions = p.number("a number of versions, or all", 1)
	}
}
