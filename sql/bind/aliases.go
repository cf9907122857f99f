package bind

import (
	"cmp"
	"maps"
	"strings"

	"github.com/smolwc/smolwc/sql/parse"
)

// aliased puts the expressions of columns in the place of their names.
func aliased(n *parse.Node, columns []parse.Column) *parse.Node { return aliasesOf(columns).replace(n) }

func aliasesOf(columns []parse.Column) *aliases {
	a := &aliases{byName: map[string]*parse.Node{}, seen: map[*parse.Node]*parse.Node{}}
	for _, c := range columns {
		if name := strings.ToLower(c.Name); c.Expr != nil && name != "" && a.byName[name] == nil {
			a.byName[name] = c.Expr
		}
	}
	return a
}

type aliases struct {
	byName map[string]*parse.Node
	seen   map[*parse.Node]*parse.Node
}

func (a *aliases) replace(n *parse.Node) *parse.Node {
	if n.Op == parse.OpName {
		return cmp.Or(a.byName[strings.ToLower(n.Text)], n)
	}
	if done := a.seen[n]; done != nil || len(n.Args) == 0 {
		return cmp.Or(done, n)
	}
	with, of := *n, a
	if n.Op == parse.OpLambda {
		of = a.without(n.Names)
	}
	with.Args = make([]*parse.Node, len(n.Args))
	for i, arg := range n.Args {
		with.Args[i] = of.replace(arg)
	}
	a.seen[n] = &with
	return &with
}

// without are the aliases that the arguments of a lambda do not hide.
func (a *aliases) without(names []string) *aliases {
	other := &aliases{byName: maps.Clone(a.byName), seen: map[*parse.Node]*parse.Node{}}
	for _, name := range names {
		delete(other.byName, strings.ToLower(name))
	}
	return other
}
