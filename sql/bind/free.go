package bind

import (
	"slices"
	"strings"

	"github.com/smolwc/smolwc/sql/parse"
)

// A finder finds the names in queries that they do not have themselves, before anything is
// compiled.
type finder struct {
	*whole
	free    map[*parse.Block]*freeNames
	outputs map[*parse.Block]*visible
}

// freeNames are the names that a query takes of those around it.
type freeNames struct {
	nodes  []*parse.Node
	blind  bool // there may be fewer: columns have names that are not known yet
	nested bool // an expression of it has a query
}

// visible are the names that expressions see.
type visible struct {
	sources map[string]bool // in lower case
	columns map[string]bool
	blind   bool
}

func (w *whole) finding() *finder {
	if w.finder == nil {
		w.finder = &finder{w, map[*parse.Block]*freeNames{}, map[*parse.Block]*visible{}}
	}
	return w.finder
}

func (v *visible) with(names ...string) *visible {
	of := &visible{map[string]bool{}, map[string]bool{}, v.blind}
	for name := range v.sources {
		of.sources[name] = true
	}
	for name := range v.columns {
		of.columns[name] = true
	}
	for _, name := range names {
		of.columns[strings.ToLower(name)] = true
	}
	return of
}

// of are the free names of a query.
func (f *finder) of(b *parse.Block) *freeNames {
	if found := f.free[b]; found != nil {
		return found
	}
	found := &freeNames{}
	f.free[b] = found
	v := f.source(&b.From, found)
	for _, s := range b.Stages {
		v = f.stage(s, v, found)
	}
	v.sources = nil
	f.outputs[b] = v
	return found
}

// source walks the source of rows.
func (f *finder) source(from *parse.From, found *freeNames) *visible {
	v := (&visible{}).with()
	if from.Alias != "" {
		v.sources[strings.ToLower(from.Alias)] = true
	}
	inner := func(b *parse.Block) *visible {
		of := f.of(b)
		if !from.Closed() { // names around are seen, those of other sources are not
			found.nodes = append(found.nodes, of.nodes...)
			found.blind = found.blind || of.blind
		}
		found.nested = found.nested || of.nested
		return f.outputs[b]
	}
	take := func(of *visible) {
		for name := range of.columns {
			v.columns[name] = true
		}
		for name := range of.sources {
			v.sources[name] = true
		}
		v.blind = v.blind || of.blind
	}
	switch {
	case from.Of != nil:
		take(inner(from.Of))
	case from.Set != nil:
		for i, b := range from.Set.Blocks {
			if of := inner(b); i == 0 {
				take(of)
			}
		}
	case from.Unpack != nil:
		v.blind = true
	case from.Table != "":
		s := f.query.Sources[from.Table]
		v.columns[parse.RowKey] = true
		if s.View != nil {
			delete(v.columns, parse.RowKey)
			for _, c := range s.View.Columns {
				v.columns[strings.ToLower(c.Name)] = true
			}
		} else {
			for _, family := range s.Table.Families {
				v.columns[strings.ToLower(family.Name)] = true
			}
			for _, name := range s.RowKeys.Names() {
				v.columns[strings.ToLower(name)] = true
			}
		}
	}
	for _, o := range from.Options {
		f.node(o.Value, v, nil, found)
	}
	v = f.unnests(from.Unnests, v, found)
	for i := range from.Joins {
		j := &from.Joins[i]
		with := f.source(&j.With, found)
		v = v.with()
		for name := range with.columns {
			v.columns[name] = true
		}
		for name := range with.sources {
			v.sources[name] = true
		}
		v.blind = v.blind || with.blind
		f.node(j.On, v, nil, found)
		v = f.unnests(j.Unnests, v, found)
	}
	return v
}

func (f *finder) unnests(all []parse.Unnest, v *visible, found *freeNames) *visible {
	if len(all) > 0 {
		v = v.with()
	}
	for _, u := range all {
		f.node(u.Array, v, nil, found)
		alias := strings.ToLower(u.Alias)
		v.columns[alias], v.columns[strings.ToLower(u.Offset)], v.sources[alias] = true, true, true
		v.blind = v.blind || u.Alias == ""
	}
	return v
}

// stage walks a stage. It returns the names that the next one sees.
func (f *finder) stage(s *parse.Stage, v *visible, found *freeNames) *visible {
	own := v
	switch s.Kind {
	case parse.UnnestStage:
		return f.unnests([]parse.Unnest{*s.Unnest}, v, found)
	case parse.DropStage, parse.RenameStage:
		v = v.with()
		v.blind = true
		return v
	case parse.AsStage:
		of := &visible{columns: v.columns, blind: v.blind}
		of = of.with()
		of.sources[strings.ToLower(s.Columns[0].Name)] = true
		return of
	case parse.SelectStage, parse.AggregateStage, parse.ExtendStage:
		out := (&visible{}).with()
		for _, c := range append(slices.Clone(s.Group), s.Columns...) {
			switch {
			case c.Expr == nil || c.Expr.Op == parse.OpFields:
				out.blind = out.blind || v.blind || c.Expr != nil && !isSource(v, c.Expr.Args[0])
				for name := range v.columns {
					out.columns[name] = true
				}
			case c.Name != "":
				out.columns[strings.ToLower(c.Name)] = true
			}
		}
		own = v.with()
		for name := range out.columns {
			own.columns[name] = true
		}
		if s.Kind == parse.ExtendStage {
			defer func() { own.blind = own.blind || out.blind }()
		}
		late := map[*parse.Node]bool{s.Having: true, s.Qualify: true} // they see the names of the result
		for _, o := range s.Order {
			late[o.Expr] = true
		}
		for _, c := range s.Group {
			late[c.Expr] = true
		}
		s.EachNode(func(n *parse.Node) {
			if late[n] {
				f.node(n, own, nil, found)
			} else {
				f.node(n, v, nil, found)
			}
		})
		if s.Kind == parse.ExtendStage {
			return own
		}
		return out
	}
	s.EachNode(func(n *parse.Node) { f.node(n, v, nil, found) })
	return own
}

func isSource(v *visible, n *parse.Node) bool {
	return n.Op == parse.OpName && v.sources[strings.ToLower(n.Text)]
}

// node finds the free names of an expression.
func (f *finder) node(n *parse.Node, v *visible, lambdas []string, found *freeNames) {
	f.visit(n, v, lambdas, found, map[*parse.Node]bool{})
}

// visit visits each expression once, as BETWEEN and IN have their operand twice.
func (f *finder) visit(n *parse.Node, v *visible, lambdas []string, found *freeNames, seen map[*parse.Node]bool) {
	if n == nil || seen[n] {
		return
	}
	if len(n.Args) > 0 {
		seen[n] = true
	}
	free := func(name string) bool {
		lower := strings.ToLower(name)
		if slices.ContainsFunc(lambdas, func(l string) bool { return parse.Same(l, name) }) || v.columns[lower] || v.sources[lower] {
			return false
		}
		found.blind = found.blind || v.blind
		return !f.functions.named(strings.ToUpper(name)).bare
	}
	switch n.Op {
	case parse.OpName:
		if free(n.Text) {
			found.nodes = append(found.nodes, n)
		}
		return
	case parse.OpField:
		if of := n.Args[0]; of.Op == parse.OpName {
			if free(of.Text) {
				found.nodes = append(found.nodes, n)
			}
			return
		}
	case parse.OpLambda:
		lambdas = append(slices.Clip(lambdas), n.Names...)
	}
	if n.Query != nil {
		of := f.of(n.Query)
		found.nested, found.blind = true, found.blind || of.blind
		for _, m := range of.nodes {
			f.visit(m, v, lambdas, found, seen)
		}
	}
	for _, arg := range n.Args {
		f.visit(arg, v, lambdas, found, seen)
	}
}
