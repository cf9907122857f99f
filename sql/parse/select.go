package parse

import (
	"cmp"
	"strings"
)

// Parse reads a query.
func Parse(text string) (*Query, error) {
	src := Source{text: text}
	if len(text) > maxBytes {
		return nil, src.Errorf(0, "the query has %d bytes; it may have up to %d", len(text), maxBytes)
	}
	tokens, err := tokenize(src)
	if err != nil {
		return nil, err
	}
	p := parser{Source: src, tokens: tokens}
	return p.query()
}

// ViewParameters is Bigtable's function for a value that a client gives beside its query:
// https://cloud.google.com/bigtable/docs/parameterized-views-overview
const ViewParameters = "VIEW_PARAMETERS"

// View parses the query of a logical view. It makes an operator of each call of VIEW_PARAMETERS,
// which other queries cannot write: they see the value only as the view shows it.
func View(text string) (*Query, error) {
	q, err := Parse(text)
	if err != nil {
		return nil, err
	}
	if err := q.WithoutHints(); err != nil {
		return nil, err
	}
	q.view = true
	q.EachNode(func(n *Node) {
		switch {
		case n.Op != OpCall || n.Text != ViewParameters || err != nil:
		case len(n.Args) != 1 || n.Args[0].Op != OpLiteral || n.Args[0].Kind != StringToken || n.Distinct || n.IgnoreNulls || n.RespectNulls || n.Windowed:
			err = q.Errorf(n.Pos, "VIEW_PARAMETERS takes the name of a view parameter, as a STRING literal")
		default:
			*n = Node{Op: OpViewParam, Pos: n.Pos, Text: n.Args[0].Text}
		}
	})
	if err != nil {
		return nil, err
	}
	return q, nil
}

// WithoutHints refuses a query with a hint, which the query of a view cannot have.
func (q *Query) WithoutHints() error {
	if q.Incomplete {
		return q.Errorf(0, "the query of a view has no hints; a query of the view may have them")
	}
	return nil
}

// Again is the query parsed again, so that it can be changed.
func (q *Query) Again() (*Query, error) {
	if q.view {
		return View(q.text)
	}
	return Parse(q.text)
}

func (p *parser) query() (*Query, error) {
	if err := p.hints(); err != nil {
		return nil, err
	}
	q := &Query{Source: p.Source, Explain: p.accept("EXPLAIN")}
	q.Analyze = q.Explain && p.accept("ANALYZE")
	if err := p.hints(); err != nil {
		return nil, err
	}
	b, err := p.block()
	if err != nil {
		return nil, err
	}
	q.Block, q.Beyond, q.Incomplete = *b, p.beyond, p.incomplete
	p.accept(";")
	if p.peek().kind != EndToken {
		return nil, p.unexpected("the end of the query")
	}
	if len(p.unnamed) > 0 {
		return nil, p.lookUp(&Stage{}, 0)
	}
	return q, nil
}

// subquery reads a query after its open bracket, and the bracket after it.
func (p *parser) subquery(n *Node) (_ *Node, err error) {
	what := map[Operator]string{OpQuery: "a query as a value", OpInQuery: "IN with a query", OpExists: "EXISTS"}[n.Op]
	p.goBeyond(what, n.Pos)
	if n.Query, err = p.block(); err != nil {
		return nil, err
	}
	return n, p.expect(")")
}

// block reads a query with WITH before it, and ORDER BY, LIMIT and pipes after it.
func (p *parser) block() (*Block, error) {
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer func(with int) { p.depth, p.with = p.depth-1, p.with[:with] }(len(p.with))
	if t := p.peek(); p.accept("WITH") {
		p.goBeyond("WITH", t.pos)
		if err := p.withs(); err != nil {
			return nil, err
		}
	}
	b, err := p.operands()
	if err != nil {
		return nil, err
	}
	for pipes := 0; p.accept("|>"); pipes++ {
		if pipes == maxStages {
			return nil, p.Errorf(p.peek().pos, "the query has too many pipes; it may have up to %d", maxStages)
		}
		if b, err = p.piped(b); err != nil {
			return nil, err
		}
	}
	return b, nil
}

// withs reads the queries of WITH.
func (p *parser) withs() error {
	if t := p.peek(); t.is("RECURSIVE") {
		return p.Errorf(t.pos, "WITH RECURSIVE does not exist here")
	}
	for names := map[string]bool{}; ; {
		t, err := p.name("the name of a query")
		if err != nil {
			return err
		}
		if lower := strings.ToLower(t.text); names[lower] {
			return p.Errorf(t.pos, "WITH gives the name %s to two queries", t.text)
		} else {
			names[lower] = true
		}
		if err := p.expect("AS", "("); err != nil {
			return err
		}
		of, err := p.block()
		if err != nil {
			return err
		}
		if err := p.expect(")"); err != nil {
			return err
		}
		if p.with = append(p.with, named{t.text, of}); !p.accept(",") {
			return nil
		}
	}
}

// atSet reports whether UNION or its like stands here.
func (p *parser) atSet() bool {
	t := p.peek()
	if t.is("UNION") {
		return true
	}
	after := p.tokens[min(p.at+1, len(p.tokens)-1)] // not in SELECT * EXCEPT (a)
	return (t.is("EXCEPT") || t.is("INTERSECT")) && (after.is("DISTINCT") || after.is("ALL"))
}

// setKind takes UNION ALL or its like.
func (p *parser) setKind() (SetKind, error) {
	t := p.peek()
	p.goBeyond(strings.ToUpper(t.text), t.pos)
	switch {
	case p.accept("UNION", "ALL"):
		return UnionAll, nil
	case p.accept("UNION", "DISTINCT"):
		return UnionDistinct, nil
	case p.accept("EXCEPT", "DISTINCT"):
		return ExceptDistinct, nil
	case p.accept("INTERSECT", "DISTINCT"):
		return IntersectDistinct, nil
	}
	return 0, p.Errorf(t.pos, "Syntax error: there are UNION ALL, UNION DISTINCT, EXCEPT DISTINCT and INTERSECT DISTINCT")
}

// maxOperands bounds the queries of one UNION or its like.
const maxOperands = 60

// operands reads queries with UNION or its like between them, and ORDER BY and LIMIT.
func (p *parser) operands() (*Block, error) {
	pos := p.peek().pos
	b, s, err := p.operand()
	if err != nil {
		return nil, err
	}
	if p.atSet() {
		set := &Set{Pos: p.peek().pos, Blocks: []*Block{b}}
		if set.Kind, err = p.setKind(); err != nil {
			return nil, err
		}
		for kind, first := set.Kind, true; first || p.atSet(); first = false {
			at := p.peek().pos
			if !first {
				if kind, err = p.setKind(); err != nil {
					return nil, err
				}
			}
			if kind != set.Kind {
				return nil, p.Errorf(at, "%s cannot follow %s without brackets", kind, set.Kind)
			}
			if b, _, err = p.operand(); err != nil {
				return nil, err
			}
			if set.Blocks = append(set.Blocks, b); len(set.Blocks) > maxOperands {
				return nil, p.Errorf(at, "%s may have up to %d queries", set.Kind, maxOperands)
			}
		}
		b, s = &Block{From: From{Pos: pos, Set: set}}, nil
	}
	if t := p.peek(); !t.is("ORDER") && !t.is("LIMIT") {
		return b, nil
	}
	if s == nil { // they are of the rows of all operands, or of a query in brackets
		of := &Stage{Kind: OrderStage, Pos: p.peek().pos}
		if err := p.order(of); err != nil {
			return nil, err
		}
		if err := p.limit(of); err != nil {
			return nil, err
		}
		if len(of.Order) > 0 {
			b.Stages = append(b.Stages, of)
		}
		if of.Limit != nil {
			b.Stages = append(b.Stages, &Stage{Kind: LimitStage, Pos: of.Pos, Limit: of.Limit, Offset: of.Offset})
		}
		return b, nil
	}
	unnamed := len(p.unnamed)
	if err := p.order(s); err != nil {
		return nil, err
	}
	if err := p.lookUp(s, unnamed); err != nil {
		return nil, err
	}
	return b, p.limit(s)
}

// operand reads a SELECT up to HAVING, a FROM, or a query in brackets. s is the stage of a
// SELECT, to which ORDER BY and LIMIT belong.
func (p *parser) operand() (b *Block, s *Stage, err error) {
	b = &Block{From: From{Pos: p.peek().pos}}
	switch t := p.peek(); {
	case p.accept("FROM"):
		return b, nil, p.from(&b.From)
	case t.is("(") && p.startsOperand(p.at):
		p.take()
		p.goBeyond("a query in brackets", t.pos)
		if b, err = p.block(); err != nil {
			return nil, nil, err
		}
		return &Block{From: From{Pos: t.pos, Of: b}}, nil, p.expect(")")
	}
	s = &Stage{Pos: p.peek().pos}
	if err := p.expect("SELECT"); err != nil {
		return nil, nil, err
	}
	b.Stages = []*Stage{s}
	return b, s, p.selection(s, &b.From)
}

// piped is the block with the operator after |> too.
func (p *parser) piped(b *Block) (*Block, error) {
	t := p.peek()
	if p.atSet() {
		kind, err := p.setKind()
		if err != nil {
			return nil, err
		}
		set := &Set{Pos: t.pos, Kind: kind, Blocks: []*Block{b}}
		for {
			if err := p.expect("("); err != nil {
				return nil, err
			}
			of, err := p.block()
			if err != nil {
				return nil, err
			}
			if err := p.expect(")"); err != nil {
				return nil, err
			}
			if set.Blocks = append(set.Blocks, of); len(set.Blocks) > maxOperands {
				return nil, p.Errorf(t.pos, "%s may have up to %d queries", set.Kind, maxOperands)
			}
			if !p.accept(",") {
				return &Block{From: From{Pos: t.pos, Set: set}}, nil
			}
		}
	}
	cross := p.peek().is("CROSS") && p.at+2 < len(p.tokens) && p.tokens[p.at+2].is("UNNEST")
	if !cross && t.kind == WordToken {
		j, ok, err := p.join()
		if err != nil {
			return nil, err
		}
		if ok {
			return b.joined(j), nil
		}
	}
	s, err := p.pipe()
	if err != nil {
		return nil, err
	}
	b.Stages = append(b.Stages, s)
	return b, nil
}

// joined is the block with a join after its stages.
func (b *Block) joined(j Join) *Block {
	if len(b.Stages) == 0 && b.From.Unpack == nil && (b.From.Table != "" || b.From.Of != nil) && len(b.From.Joins) < maxJoins {
		b.From.Joins = append(b.From.Joins, j)
		return b
	}
	alias := b.From.Alias
	if len(b.From.Joins) > 0 {
		alias = ""
	}
	for _, s := range b.Stages {
		switch s.Kind {
		case SelectStage, AggregateStage:
			alias = ""
		case AsStage:
			alias = s.Columns[0].Name
		}
	}
	return &Block{From: From{Pos: j.Pos, Of: b, Alias: alias, Joins: []Join{j}}}
}

// selection reads a block from SELECT to HAVING.
func (p *parser) selection(s *Stage, from *From) (err error) {
	unnamed := len(p.unnamed)
	if s.Distinct = p.accept("DISTINCT"); !s.Distinct {
		p.accept("ALL")
	}
	if s.Columns, err = p.columns(); err != nil {
		return err
	}
	if p.accept("FROM") {
		if err := p.from(from); err != nil {
			return err
		}
	} else if t := p.peek(); t.is("WHERE") || t.kind != EndToken && !t.is("ORDER") && !t.is("LIMIT") && !t.is(";") && !t.is("|>") && !t.is(")") && !p.atSet() {
		return p.unexpected("FROM")
	}
	if p.accept("WHERE") {
		if s.Where, err = p.or(); err != nil {
			return err
		}
	}
	if p.accept("GROUP", "BY") {
		if err := p.groupBy(s, true); err != nil {
			return err
		}
	}
	if p.accept("HAVING") {
		if s.Having, err = p.or(); err != nil {
			return err
		}
	}
	if t := p.peek(); p.accept("QUALIFY") {
		p.goBeyond("QUALIFY", t.pos)
		if s.Qualify, err = p.or(); err != nil {
			return err
		}
	}
	return p.windows(s, unnamed)
}

// columns reads expressions with names.
func (p *parser) columns() (all []Column, err error) {
	for {
		c, err := p.column()
		if err != nil {
			return nil, err
		}
		if all = append(all, c); len(all) > maxColumns {
			return nil, p.Errorf(c.Pos, "the query has too many columns; it may have up to %d", maxColumns)
		}
		if !p.accept(",") || p.atEnd() {
			return all, nil
		}
	}
}

func (p *parser) column() (c Column, err error) {
	c.Pos = p.peek().pos
	if p.accept("*") {
		return c, p.star(&c)
	}
	if c.Expr, err = p.or(); err != nil {
		return c, err
	}
	if c.Expr.Op == OpFields {
		return c, p.star(&c)
	}
	alias, err := p.alias("a name")
	c.Name = cmp.Or(alias, NameOf(c.Expr))
	return c, err
}

// star reads EXCEPT and REPLACE after *.
func (p *parser) star(c *Column) (err error) {
	if !p.atSet() && p.accept("EXCEPT") {
		if err := p.expect("("); err != nil {
			return err
		}
		for {
			t, err := p.name("the name of a column")
			if err != nil {
				return err
			}
			if c.Except = append(c.Except, t.text); !p.accept(",") {
				break
			}
		}
		if err := p.expect(")"); err != nil {
			return err
		}
	}
	if p.accept("REPLACE") {
		if err := p.expect("("); err != nil {
			return err
		}
		if c.Replace, err = p.columns(); err != nil {
			return err
		}
		return p.expect(")")
	}
	return nil
}
