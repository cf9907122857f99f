package ql

import (
	"fmt"
	"slices"
	"strings"

	"github.com/smolwc/smolwc/ql/lex"
	"github.com/smolwc/smolwc/query/read"
)

// A Condition is one term of where, or several joined by and or by or. A term is about
// the newest visible cell of a column, or about the row key.
type Condition struct {
	Pos    lex.Pos
	Not    bool         // the condition must be false
	Op     string       // == != < <= > >=, in, between, like, =~, exists or absent; and, or: of Terms
	Terms  []Condition  // at least two, with and and or
	On     read.Subject // the left-hand side
	Column Column       // unless it is the key, or a part of it
	Part   int          // of the key: 1 is the first

	// The right-hand sides: one value, two with between, any number with in. Values
	// of a column, and of a part of the key, are literals; times and keys have lists of
	// their own.
	Values  []lex.Literal
	Times   []*lex.Time
	Keys    []string
	Other   *Column  // the column that the value names if its family is one of the table, or whose time is compared
	Pattern *Pattern // of like and =~
}

// whereOption parses conditions. They are joined by and, which binds more strongly, and
// by or; not stands before a condition, and brackets group them.
func (p *parser) whereOption(to *target) {
	c := p.disjunction(0)
	if c.Op == "and" && !c.Not {
		to.read.Where = append(to.read.Where, c.Terms...)
	} else {
		to.read.Where = append(to.read.Where, c)
	}
}

// maxNesting is how deep conditions may be within each other.
const maxNesting = 100

func (p *parser) disjunction(depth int) Condition {
	if depth > maxNesting {
		panic(lex.ErrorAt(p.peek().Pos, "conditions are more than %d deep within each other", maxNesting))
	}
	return p.joined("or", "||", func() Condition {
		return p.joined("and", "&&", func() Condition { return p.negation(depth) })
	})
}

// joined parses conditions with a word between them, or with another language's mark.
func (p *parser) joined(word, mark string, one func() Condition) Condition {
	terms := []Condition{one()}
	for {
		if p.accept(mark) {
			p.foreign = true
		} else if !p.acceptWord(word) {
			break
		}
		terms = append(terms, one())
	}
	if len(terms) == 1 {
		return terms[0]
	}
	return Condition{Pos: terms[0].Pos, Op: word, Terms: terms}
}

func (p *parser) negation(depth int) Condition {
	at := p.peek().Pos
	not := false
	for p.acceptWord("not") {
		not = !not
	}
	var c Condition
	if p.accept("(") {
		c = p.disjunction(depth + 1)
		p.expect(")")
	} else {
		c = p.condition()
	}
	c.Not, c.Pos = c.Not != not, at
	return c
}

// operators maps every spelling of a comparison to smolwc's own.
var operators = map[string]string{"=": "==", "==": "==", "!=": "!=", "<>": "!=", "<": "<", "<=": "<=", ">": ">", ">=": ">="}

// condition parses one term.
func (p *parser) condition() Condition {
	p.bound(p.terms, maxConditions, "conditions; in (..) compares with any number of values")
	p.terms++
	c := Condition{Pos: p.peek().Pos}
	p.subject(&c)
	p.wantOneOf(ExpectKeyword, "==", "!=", "<", "<=", ">", ">=", "=~", "in", "between", "like", "not", "exists", "absent")
	if p.peek().Keyword() == "not" && slices.Contains([]string{"in", "between", "like"}, p.peekAt(1).Keyword()) {
		p.next()
		c.Not = true
	}
	t := p.peek()
	switch w := t.Keyword(); {
	case w == "exists" || w == "absent":
		if c.On != read.OnValue {
			panic(lex.ErrorAt(t.Pos, "%s %s means nothing: only a column exists or is absent", c.subject(), w))
		}
		c.Op = w
		p.next()
	case w == "in":
		p.next()
		c.Op = w
		p.valueList(&c)
	case w == "between":
		p.next()
		c.Op = w
		p.value(&c)
		if !p.acceptWord("and") {
			panic(p.unexpected("and, as in between 1 and 9"))
		}
		p.value(&c)
	case w == "like":
		p.next()
		p.matched(&c, w)
		at := p.peek().Pos
		c.Pattern = p.bounded(&Pattern{at, p.text("a pattern, as in 'OS%'")})
	case p.atMatch():
		p.matched(&c, "=~")
		c.Pattern = p.bounded(p.pattern("=~ "))
	default:
		p.comparison(&c)
	}
	return c
}

// subject parses the subject of a condition: a column, the time of a column as COL.ts,
// key, or key-part(N).
func (p *parser) subject(c *Condition) {
	p.wantOneOf(ExpectKeyword, "key", "not")
	t := p.peek()
	if t.Keyword() == "key" {
		p.next()
		c.On = read.OnKey
		return
	}
	if c.Part = p.keyPart(); c.Part > 0 {
		c.On = read.OnKeyPart
		return
	}
	if next := p.peekAt(1); slices.Contains(figures, t.Keyword()) && next.Glued && next.Text == "(" {
		panic(lex.ErrorAt(t.Pos, "a condition is about the newest cell of one column; figures are those of aggregate, as in aggregate fleet cells(meta:*) group by key top 10 by cells(meta:*)"))
	}
	ofTime := false
	if c.Column, ofTime = p.columnOrTime(); ofTime {
		c.On = read.OnTime
	}
}

// columnOrTime parses a column, or the time of a column as COL.ts.
func (p *parser) columnOrTime() (c Column, ofTime bool) {
	t := p.peek()
	if of, ok := t.TimeOf(); ok {
		p.toks[p.i] = of
		return p.exactColumn(), true
	}
	c = p.exactColumn()
	last := t.Parts[len(t.Parts)-1]
	if w := p.peek().Keyword(); last.Quote != lex.Bare || !strings.HasSuffix(last.Text, timeSuffix) || w == "exists" || w == "absent" {
		return c, false
	}
	c.Qualifier = strings.TrimSuffix(c.Qualifier, timeSuffix)
	return c, true
}

// keyPart parses key-part(N); it returns 0 if something else follows.
func (p *parser) keyPart() int {
	t := p.peek()
	if t.Keyword() != "key-part" {
		return 0
	}
	if !p.peekAt(1).Glued || !p.isMark(1, "(") {
		panic(lex.ErrorAt(t.Pos, "the number of the part stands in brackets, as in key-part(2)"))
	}
	p.next()
	p.next()
	n := p.number("the number of a part", 1)
	p.expect(")")
	return n
}

// timeSuffix follows a column for the time of its cell.
const timeSuffix = ".ts"

// subject is the left-hand side, in the language's syntax.
func (c *Condition) subject() string {
	switch c.On {
	case read.OnKey:
		return "key"
	case read.OnKeyPart:
		return fmt.Sprintf("key-part(%d)", c.Part)
	case read.OnTime:
		return c.Column.String() + timeSuffix
	}
	if c.Op == "exists" || c.Op == "absent" {
		return c.Column.String()
	}
	return notTime(c.Column)
}

// notTime is a column where COL.ts would be a time.
func notTime(c Column) string {
	if name := c.String(); !strings.HasSuffix(name, timeSuffix) {
		return name
	}
	return c.Family + ":" + lex.QuoteText(c.Qualifier)
}

func (p *parser) matched(c *Condition, op string) {
	if c.Op = op; c.On == read.OnTime {
		panic(lex.ErrorAt(c.Pos, "a time matches no pattern; compare it, as in %s >= 2024-01-25", c.subject()))
	}
}

// bounded counts the bytes of a pattern, which takes memory in proportion.
func (p *parser) bounded(of *Pattern) *Pattern {
	if p.expr += len(of.Expr); p.expr > maxPatterns {
		panic(lex.ErrorAt(of.Pos, "the patterns of the conditions have more than %d bytes together", maxPatterns))
	}
	return of
}

// atMatch takes =~ before a pattern.
func (p *parser) atMatch() bool {
	if next := p.peekAt(1); p.atMark("=") && next.Glued && next.BareText() == "~" {
		p.next()
		p.next()
		return true
	}
	return false
}

func (p *parser) comparison(c *Condition) {
	p.checkOperator()
	t := p.peek()
	if c.Op = operators[t.Text]; t.Kind != lex.Mark || c.Op == "" {
		panic(p.unexpected("a comparison (== != < <= > >= =~, in, between, like, exists, absent)"))
	}
	p.next()
	if w := p.peek().Keyword(); (w == "null" || w == "nil") && c.On == read.OnValue {
		panic(lex.ErrorAt(p.peek().Pos, "there is no %s; write %s absent or %s exists, or quote the text", w, c.Column, c.Column))
	}
	t = p.peek()
	if _, ok := t.TimeOf(); ok && c.On == read.OnTime {
		column, _ := p.columnOrTime()
		c.Other = &column
		return
	}
	if quoted := t.Kind == lex.Word && len(t.Parts) == 2 && t.Parts[0].Quote == lex.Bare && strings.HasSuffix(t.Parts[0].Text, ":") && t.Parts[1].Quote != lex.Binary; quoted && c.On == read.OnValue {
		c.Other = otherColumn(t)
	}
	if t.BareText() != "" {
		switch other := otherColumn(t); {
		case c.On == read.OnValue:
			c.Other = other
		case c.On == read.OnTime && other != nil && strings.HasSuffix(t.BareText(), timeSuffix):
			column, _ := p.columnOrTime()
			c.Other = &column
			return
		}
	}
	p.value(c)
}

// otherColumn is the column that a word may name, nil if it cannot name one.
func otherColumn(t lex.Token) *Column {
	family, qualifier, ok := cutColumn(t)
	if !ok || family == "" {
		return nil
	}
	return &Column{Pos: t.Pos, Family: family, Qualifier: lex.Join(qualifier)}
}

func (p *parser) valueList(c *Condition) {
	if !p.accept("(") {
		panic(p.unexpected("values in brackets, as in in (1, 2)"))
	}
	for {
		p.value(c)
		if !p.accept(",") {
			break
		}
	}
	p.expect(")")
}

// value parses a right-hand side.
func (p *parser) value(c *Condition) {
	switch c.On {
	case read.OnTime:
		c.Times = append(c.Times, p.timeValue())
	case read.OnKey:
		c.Keys = append(c.Keys, p.key())
	default:
		c.Values = append(c.Values, p.untimed("a value", "a value to compare with has no timestamp; COL.ts is that of a cell, as in loc:dest.ts > 2024-01-25"))
	}
}

// Conditions are the conditions after where, in the language's syntax.
func (r *Read) Conditions() string {
	if r == nil {
		return ""
	}
	if len(r.Where) == 1 {
		return r.Where[0].String()
	}
	return (&Condition{Op: "and", Terms: r.Where}).String()
}

// String returns the condition in the language's syntax.
func (c *Condition) String() string {
	if c == nil {
		return ""
	}
	if c.Op == "and" || c.Op == "or" {
		var terms []string
		for i := range c.Terms {
			terms = append(terms, c.Terms[i].within(c.Op))
		}
		text := strings.Join(terms, " "+c.Op+" ")
		if c.Not {
			return "not (" + text + ")"
		}
		return text
	}
	text := c.subject() + " " + c.Op
	if c.Not {
		text = "not " + text
	}
	switch c.Op {
	case "exists", "absent":
		return text
	case "like":
		return text + " " + lex.QuoteText(c.Pattern.Expr)
	case "=~":
		return text + " " + lex.QuoteText(c.Pattern.Expr)
	case "in":
		return text + " (" + strings.Join(c.operands(), ", ") + ")"
	}
	return text + " " + strings.Join(c.operands(), " and ")
}

// within is the condition as a term of another one.
func (c *Condition) within(op string) string {
	if text := c.String(); c.Op != "or" || op == "or" || c.Not {
		return text
	}
	return "(" + c.String() + ")"
}

func (c *Condition) operands() []string {
	var all []string
	for _, v := range c.Values {
		if c.Other != nil && v.Quoted { // a text names no family
			all = append(all, c.Other.String())
			continue
		}
		all = append(all, v.String())
	}
	for _, t := range c.Times {
		all = append(all, t.String())
	}
	if c.On == read.OnTime && c.Other != nil {
		all = append(all, c.Other.String()+timeSuffix)
	}
	for _, k := range c.Keys {
		all = append(all, lex.QuoteKey(k))
	}
	return all
}

// noOperators are comparisons of other languages, each with a hint.
var noOperators = map[string]string{
	"~": "write =~ and a pattern, as in =~ /S.*/", "!=~": "write not before the column, and =~",
	"===": "write ==", "!==": "write !=", "=<": "write <=", "=>": "write >=", "<==": "write <=", ">==": "write >=", "=!": "write !=",
	"<=>": "write == or !=", "is": "write COL exists or COL absent", "not": "write != or COL absent, or not before the condition",
	"ilike": "write =~ /(?i).*text.*/", "contains": "write like '%text%'", "rlike": "write =~ /.../", "regexp": "write =~ /.../", "=~": "write a space before the pattern, as in =~ /S.*/",
}

// checkOperator refuses the comparisons of other languages.
func (p *parser) checkOperator() {
	t := p.peek()
	op := t.Keyword()
	for n := 0; p.peekAt(n).Kind == lex.Mark && (n == 0 || p.peekAt(n).Glued); n++ {
		op += p.peekAt(n).Text
		if next := p.peekAt(n + 1); next.Glued && strings.HasPrefix(next.BareText(), "~") {
			op += "~"
		}
	}
	if strings.HasPrefix(op, "~") {
		op = "~"
	}
	if hint := noOperators[op]; hint != "" {
		panic(lex.ErrorAt(t.Pos, "there is no comparison %s; %s", lex.QuoteText(op), hint))
	}
}
