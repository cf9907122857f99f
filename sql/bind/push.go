package bind

import (
	"slices"
	"strings"

	"github.com/smolwc/smolwc/sql/parse"
)

// A pusher puts conditions into the queries of FROM.
type pusher struct {
	functions *registry
	columnsOf func(table string) []string // of *; nil: it is no table
}

// pushed is the block with conditions of its first WHERE in the queries of its FROM, where they
// choose the rows that are read. A condition goes into the SELECT of a query if all its names are
// columns there that are easily computed again.
func (w *pusher) pushed(b *parse.Block) *parse.Block {
	from := &b.From
	if from.Of == nil && from.Set == nil || len(from.Joins)+len(from.Unnests) > 0 || from.Unpack != nil {
		return b
	}
	var parts []*parse.Node
	if len(b.Stages) > 0 && (b.Stages[0].Kind == parse.SelectStage || b.Stages[0].Kind == parse.WhereStage) {
		parts = conjuncts(b.Stages[0].Where)
	}
	other := *b
	if from.Of != nil {
		into, left := w.into(from.Of, from.Alias, nil, parts)
		into = w.pushed(into)
		if into == from.Of {
			return b
		}
		if other.From.Of = into; len(left) < len(parts) {
			other.Stages = slices.Clone(b.Stages)
			first := *b.Stages[0]
			first.Where = conjunction(left)
			if other.Stages[0] = &first; first.Kind == parse.WhereStage && first.Where == nil {
				other.Stages = other.Stages[1:]
			}
		}
		return &other
	}
	other.From.Set = w.intoSet(from.Set, from.Alias, parts)
	return &other
}

// intoSet is UNION or its like with those conditions on its result that its queries can have, too.
func (w *pusher) intoSet(set *parse.Set, alias string, parts []*parse.Node) *parse.Set {
	parts = slices.DeleteFunc(slices.Clone(parts), func(n *parse.Node) bool { return !ofAnyType(n) })
	names := namesOf(set.Blocks[0])
	if len(parts) == 0 || names == nil {
		return set
	}
	of := *set
	of.Blocks = slices.Clone(set.Blocks)
	for i, b := range of.Blocks {
		of.Blocks[i], _ = w.into(b, alias, names, parts)
	}
	return &of
}

// ofAnyType reports whether a condition means the same if the column gets another type: the
// queries of UNION may have several.
func ofAnyType(n *parse.Node) bool {
	return (n.Op == parse.OpCompare || n.Op == parse.OpLike || n.Op == parse.OpIn || n.Op == parse.OpBetween) &&
		!slices.ContainsFunc(n.Args[1:], func(n *parse.Node) bool {
			return n.Op != parse.OpLiteral || n.Kind != parse.StringToken && n.Kind != parse.BytesToken
		})
}

// namesOf are the names of the columns of a query, in their order; nil if they are not written.
func namesOf(b *parse.Block) []string {
	if len(b.Stages) != 1 {
		return nil
	}
	names := []string{}
	for _, c := range b.Stages[0].Columns {
		if c.Expr == nil || c.Expr.Op == parse.OpFields {
			return nil
		}
		names = append(names, c.Name)
	}
	return names
}

// into is a query with those conditions on its result that it can have; left are the others.
// names are those of the result, by their places; nil: they are those of the columns.
func (w *pusher) into(b *parse.Block, alias string, names []string, parts []*parse.Node) (_ *parse.Block, left []*parse.Node) {
	if len(b.Stages) == 0 && b.From.Set != nil && names == nil && len(parts) > 0 { // which stay, too
		of := *b
		of.From.Set = w.intoSet(b.From.Set, alias, parts)
		return &of, parts
	}
	if len(b.Stages) != 1 || len(parts) == 0 {
		return b, parts
	}
	s := *b.Stages[0]
	if s.Kind != parse.SelectStage || s.Grouped || s.Having != nil || s.Limit != nil || s.Sealed || !ofOneRow(&s) {
		return b, parts
	}
	columns := map[string]*parse.Node{} // nil: it cannot be taken
	star := false
	for i, c := range s.Columns {
		if w.functions.hasAggregate(c.Expr) {
			return b, parts
		}
		name := c.Name
		switch {
		case c.Expr == nil && len(c.Except)+len(c.Replace) == 0 && names == nil:
			star = true
			continue
		case c.Expr == nil || c.Expr.Op == parse.OpFields || names != nil && i >= len(names):
			return b, parts
		case names != nil:
			name = names[i]
		}
		name = strings.ToLower(name)
		if _, two := columns[name]; two || !repeats(c.Expr) {
			columns[name] = nil
		} else {
			columns[name] = c.Expr
		}
	}
	for _, o := range s.Order {
		if w.functions.hasAggregate(o.Expr) {
			return b, parts
		}
	}
	if star {
		w.starColumns(&b.From, columns)
	}
	var mine []*parse.Node
	for _, n := range parts {
		if of := replaced(n, alias, columns); of != nil && w.functions.simple(n) {
			mine = append(mine, of)
		} else {
			left = append(left, n)
		}
	}
	if len(mine) == 0 {
		return b, parts
	}
	s.Where = conjunction(append(conjuncts(s.Where), mine...))
	return &parse.Block{From: b.From, Stages: []*parse.Stage{&s}}, left
}

// starColumns adds the columns of * of a table.
func (w *pusher) starColumns(from *parse.From, columns map[string]*parse.Node) {
	if from.Table == "" || len(from.Joins)+len(from.Unnests) > 0 || from.Unpack != nil {
		return
	}
	for _, name := range w.columnsOf(from.Table) {
		lower := strings.ToLower(name)
		if _, two := columns[lower]; two {
			columns[lower] = nil
		} else {
			columns[lower] = &parse.Node{Op: parse.OpName, Pos: from.Pos, Text: name}
		}
	}
}

// ofOneRow reports whether all expressions of a stage are of one row, or one group: nothing in
// them, such as a window, is of others, whose number a condition changes.
func ofOneRow(s *parse.Stage) bool {
	if s.Sets != nil || s.GroupAll { // whose keys are other expressions, or not all of them
		return false
	}
	return s.Find(func(n *parse.Node) bool {
		switch n.Op {
		case parse.OpLiteral, parse.OpNull, parse.OpBool, parse.OpParam, parse.OpViewParam, parse.OpName, parse.OpIndex, parse.OpField, parse.OpFields,
			parse.OpCall, parse.OpCast, parse.OpSafeCast, parse.OpArray, parse.OpStruct, parse.OpNegate, parse.OpCompare, parse.OpIs,
			parse.OpIn, parse.OpBetween, parse.OpInArray, parse.OpSame, parse.OpLike, parse.OpNot, parse.OpAnd, parse.OpOr,
			parse.OpBinary, parse.OpComplement, parse.OpSwitch, parse.OpCase, parse.OpStar, parse.OpInterval, parse.OpLambda,
			parse.OpQuery, parse.OpInQuery, parse.OpExists:
			return false
		}
		return true
	}) == nil
}

// repeats reports whether an expression is easily computed again: a name or a part of one, and a
// cast of it.
func repeats(n *parse.Node) bool {
	switch n.Op {
	case parse.OpName:
		return true
	case parse.OpField, parse.OpCast:
		return repeats(n.Args[0])
	case parse.OpIndex:
		return n.Args[1].Op == parse.OpLiteral && repeats(n.Args[0])
	}
	return false
}

// replaced is a condition with expressions in the place of columns; nil if it has other names.
func replaced(n *parse.Node, alias string, columns map[string]*parse.Node) *parse.Node {
	name := ""
	switch n.Op {
	case parse.OpName:
		name = n.Text
	case parse.OpField:
		if of := n.Args[0]; of.Op == parse.OpName && alias != "" && parse.Same(of.Text, alias) {
			if _, column := columns[strings.ToLower(alias)]; column {
				return nil
			}
			name = n.Text
		}
	case parse.OpLambda:
		return nil
	}
	if name != "" {
		return columns[strings.ToLower(name)]
	}
	if len(n.Args) == 0 {
		return n
	}
	with := *n
	with.Args = make([]*parse.Node, len(n.Args))
	for i, arg := range n.Args {
		if with.Args[i] = replaced(arg, alias, columns); with.Args[i] == nil {
			return nil
		}
	}
	return &with
}

// conjuncts are the parts of a condition that must all hold.
func conjuncts(n *parse.Node) []*parse.Node {
	if n == nil {
		return nil
	}
	if n.Op != parse.OpAnd {
		return []*parse.Node{n}
	}
	var all []*parse.Node
	for _, part := range n.Args {
		all = append(all, conjuncts(part)...)
	}
	return all
}

// conjunction is the condition that all parts hold; nil without parts.
func conjunction(all []*parse.Node) *parse.Node {
	switch len(all) {
	case 0:
		return nil
	case 1:
		return all[0]
	}
	return &parse.Node{Op: parse.OpAnd, Pos: all[0].Pos, Args: all}
}
