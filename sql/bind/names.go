package bind

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/schema"
	"github.com/smolwc/smolwc/sql/message"
	"github.com/smolwc/smolwc/sql/parse"
	"github.com/smolwc/smolwc/sql/run"
	"github.com/smolwc/smolwc/sql/value"
)

// lambdaArgument is an argument of a lambda that is compiled; nil for any other name.
func (p *planner) lambdaArgument(n *parse.Node) *expr {
	if n.Op != parse.OpName {
		return nil
	}
	for i, l := range slices.Backward(p.lambdas) {
		if parse.Same(l.name, n.Text) {
			return &expr{typ: l.typ, eval: run.Argument(i)}
		}
	}
	return nil
}

// takesLambdaArgument reports whether an expression names an argument of a lambda that is
// compiled.
func (p *planner) takesLambdaArgument(n *parse.Node) bool {
	return len(p.lambdas) > 0 && n.Find(func(n *parse.Node) bool {
		return n.Op == parse.OpName && p.isLambdaArgument(n.Text)
	}) != nil
}

func (p *planner) isLambdaArgument(name string) bool {
	return slices.ContainsFunc(p.lambdas, func(l slotName) bool { return parse.Same(l.name, name) })
}

// compileFields compiles expression.*: the fields of a struct or a message, or the columns of a
// table by its name.
func compileFields(p *planner, c parse.Column) (all []output, err error) {
	base := c.Expr.Args[0]
	if base.Op == parse.OpName && p.qualifies(base.Text) {
		if p.scope.isSide(base.Text) {
			if all, err = p.starOf(c, base.Text); err != nil {
				return nil, err
			}
			return p.changed(c, all)
		}
		return p.star(parse.Column{Pos: c.Pos, Except: c.Except, Replace: c.Replace})
	}
	of, err := p.compile(base)
	if err != nil {
		return nil, err
	}
	switch of.typ.Kind {
	case value.TypeStruct:
		for i, f := range of.typ.Fields {
			all = append(all, output{name: f.Name, expr: structField(of, i)})
		}
	case value.TypeMessage:
		for _, name := range message.Fields(of.typ) {
			if p.whole.parts++; p.whole.parts > maxParts {
				return nil, p.Errorf(c.Pos, "the query is too large: it comes to more than %d expressions", maxParts)
			}
			e, err := compileMessageField(p, &parse.Node{Op: parse.OpField, Pos: c.Expr.Pos, Text: name}, of)
			if err != nil {
				return nil, err
			}
			all = append(all, output{name: name, expr: e})
		}
	case value.TypeJSON:
		return nil, p.Errorf(c.Expr.Pos, "the members of a JSON are not known before it is read: there is no .* of JSON")
	default:
		return nil, p.Errorf(c.Expr.Pos, "%s has no fields", of.typ)
	}
	if len(all) == 0 {
		return nil, p.Errorf(c.Expr.Pos, "%s has no fields", of.typ)
	}
	return p.changed(c, all)
}

// changed are columns after EXCEPT and REPLACE.
func (p *planner) changed(c parse.Column, all []output) (left []output, err error) {
	named := map[string]bool{}
	for _, o := range all {
		named[strings.ToLower(o.name)] = true
	}
	instead := map[string]*parse.Node{}
	for _, name := range c.Except {
		instead[strings.ToLower(name)] = nil
	}
	for _, r := range c.Replace {
		instead[strings.ToLower(r.Name)] = r.Expr
	}
	for _, name := range slices.Sorted(maps.Keys(instead)) {
		if !named[name] || name == "" {
			return nil, p.Errorf(c.Pos, "EXCEPT and REPLACE name the column %s, and .* has no such column", name)
		}
	}
	for _, o := range all {
		n, ok := instead[strings.ToLower(o.name)]
		switch {
		case ok && n == nil:
			continue
		case ok:
			if o.expr, err = p.compile(n); err != nil {
				return nil, err
			}
		}
		left = append(left, o)
	}
	if len(left) == 0 {
		return nil, p.Errorf(c.Pos, ".* EXCEPT leaves no column")
	}
	return left, nil
}

// tableColumns are the columns of *: _key, or else the fields of a structured row key, beside
// which _key is a column that only its name selects; and all families.
func (p *planner) tableColumns() []string {
	names := p.rowKeys.Names()
	if names == nil {
		names = []string{parse.RowKey}
	}
	keys := len(names)
	for _, f := range p.table.Families {
		names = append(names, f.Name)
	}
	slices.Sort(names[keys:])
	return names
}

// columnOf says how a query names the column of a qualifier, in a table of one family.
func (p *planner) columnOf(qualifier string) string {
	if len(p.table.Families) != 1 {
		return ""
	}
	return "; a column is " + p.table.Families[0].Name + "['" + qualifier + "']"
}

// compileKeyField compiles a field of the row key.
func compileKeyField(p *planner, n *parse.Node) (*expr, bool, error) {
	i, t, ok := p.rowKeys.Field(n.Text)
	if !ok {
		return nil, false, nil
	}
	if t.Kind == value.TypeNull {
		return nil, true, p.Errorf(n.Pos, "the field %s of the row key has a type that queries do not decode; there are STRING, BYTES, INT64 and TIMESTAMP", n.Text)
	}
	return &expr{typ: t, keyField: i + 1, eval: func(r *run.Tuple) (any, error) {
		v, err := p.rowKeys.Decode(r.Row.Key(), i)
		if err != nil {
			return nil, p.Placed(err, n.Pos)
		}
		return v, nil
	}}, true, nil
}

// keyFieldNames lists the fields of row keys in messages.
func (p *planner) keyFieldNames() string {
	if names := p.rowKeys.Names(); len(names) > 0 {
		return ", and the fields of its row key: " + strings.Join(names, ", ")
	}
	return ""
}

// computed looks a name up among the columns of earlier stages. The newest wins.
func (p *planner) computed(name string) (*expr, bool) {
	i, ok := p.scope.index[strings.ToLower(name)]
	if !ok || name == "" {
		return nil, false
	}
	return p.scope.names[i].expr(), true
}

// star is every column of the scope.
func (p *planner) star(c parse.Column) (all []output, err error) {
	if p.scope.groups != nil {
		return nil, p.Errorf(c.Pos, "SELECT * is not possible with GROUP BY or aggregate functions")
	}
	if !p.scope.table && len(p.scope.names) == 0 {
		return nil, p.Errorf(c.Pos, "SELECT * must have a FROM clause")
	}
	unused := map[string]bool{}
	instead := map[string]*parse.Node{} // nil: the column is left out
	for _, name := range c.Except {
		unused[strings.ToLower(name)], instead[strings.ToLower(name)] = true, nil
	}
	for _, r := range c.Replace {
		unused[strings.ToLower(r.Name)], instead[strings.ToLower(r.Name)] = true, r.Expr
	}
	add := func(name string, column func() (*expr, error)) error {
		if n, ok := instead[strings.ToLower(name)]; ok && name != "" {
			delete(unused, strings.ToLower(name))
			if n == nil {
				return nil
			}
			column = func() (*expr, error) { return p.compile(n) }
		}
		e, err := column()
		all = append(all, output{name: name, expr: e})
		return err
	}
	if p.scope.table {
		for _, name := range p.tableColumns() {
			n := &parse.Node{Op: parse.OpName, Pos: c.Pos, Text: name}
			if err := add(name, func() (*expr, error) { return p.compile(n) }); err != nil {
				return nil, err
			}
		}
	}
	for _, s := range p.scope.inStar() { // by their slots: they may have no names, or the same
		if p.whole.parts++; p.whole.parts > maxParts {
			return nil, p.Errorf(c.Pos, "the query is too large: it comes to more than %d expressions", maxParts)
		}
		if err := add(s.name, func() (*expr, error) { return slotExpr(s.typ, s.slot), nil }); err != nil {
			return nil, err
		}
	}
	for name := range unused {
		return nil, p.Errorf(c.Pos, "EXCEPT and REPLACE name the column %s, and * has no such column%s", name, schema.DidYouMean(name, p.names()))
	}
	if len(all) == 0 {
		return nil, p.Errorf(c.Pos, "SELECT * EXCEPT leaves no column")
	}
	return all, nil
}

// starOf is every column of a side of a join.
func (p *planner) starOf(c parse.Column, side string) (all []output, err error) {
	if p.scope.groups != nil {
		return nil, p.Errorf(c.Pos, "SELECT %s.* is not possible with GROUP BY or aggregate functions", side)
	}
	for _, s := range p.scope.names {
		if parse.Same(s.of, side) && !s.unlisted {
			all = append(all, output{name: s.name, expr: slotExpr(s.typ, s.slot)})
		}
	}
	return all, nil
}

// inStar are the names of *.
func (sc *scope) inStar() (names []slotName) {
	for _, first := range []bool{true, false} {
		for _, s := range sc.names {
			if s.first == first && !s.merged && !s.unlisted {
				names = append(names, s)
			}
		}
	}
	return names
}

// outputs compiles columns.
func (p *planner) outputs(columns []parse.Column) (all []output, err error) {
	for _, c := range columns {
		if c.Expr == nil {
			some, err := p.star(c)
			if err != nil {
				return nil, err
			}
			all = append(all, some...)
			continue
		}
		if c.Expr.Op == parse.OpFields {
			some, err := compileFields(p, c)
			if err != nil {
				return nil, err
			}
			all = append(all, some...)
			continue
		}
		e, err := p.compile(c.Expr)
		if err != nil {
			return nil, err
		}
		all = append(all, output{name: c.Name, expr: e, node: c.Expr})
	}
	return all, nil
}

// compileName is _key, or a family.
func compileName(p *planner, n *parse.Node) (*expr, error) {
	if sides, ok := p.scope.ambiguous[strings.ToLower(n.Text)]; ok {
		return nil, p.ambiguity(n.Pos, n.Text, sides)
	}
	if e, ok := p.computed(n.Text); ok {
		return e, nil
	}
	if e, err := compileBareFunction(p, n); e != nil || err != nil {
		return e, err
	}
	if !p.scope.table && (p.table.Name != "" || len(p.scope.names)+len(p.scope.sides) > 0) {
		if p.scope.isSide(n.Text) {
			return nil, p.Errorf(n.Pos, "%s is a source of FROM, and not a column; %s.* is all its columns", n.Text, n.Text)
		}
		side, name, ok := strings.Cut(n.Text, "\x00")
		if !ok {
			name = side
		}
		where := "the stage before has"
		if len(p.scope.sides) > 0 {
			where = "the sources of FROM have"
		}
		return nil, p.Errorf(n.Pos, "Unrecognized name: %s; %s %s%s", shown(n.Text), where, p.scopeNames(), schema.DidYouMean(name, p.names()))
	}
	if n.Text == parse.RowKey && p.table.Name != "" {
		return &expr{typ: value.Type{Kind: value.TypeBytes}, key: true, eval: func(r *run.Tuple) (any, error) { return []byte(r.Row.Key()), nil }}, nil
	}
	if p.table.Name != "" {
		if e, ok, err := compileKeyField(p, n); ok {
			return e, err
		}
	}
	f, ok := p.table.Family(n.Text)
	if p.table.Name == "" {
		return nil, p.Errorf(n.Pos, "Unrecognized name: %s; the query has no FROM clause", n.Text)
	}
	if !ok {
		near := schema.DidYouMean(n.Text, p.names())
		if near == "" {
			near = p.columnOf(n.Text)
		}
		return nil, p.Errorf(n.Pos, "Unrecognized name: %s; table %s has _key and its column families%s%s", n.Text, p.table.Name, p.keyFieldNames(), near)
	}
	p.plan.Cells = true
	p.plan.Reads = append(p.plan.Reads, read.Family(f.Name))
	of := value.FamilyType(f)
	t := value.MapOf(of)
	if p.history {
		t = value.MapOf(value.ArrayOf(value.CellType(of)))
	}
	return &expr{typ: t, eval: func(r *run.Tuple) (any, error) { return wholeFamily(r, f.Name, of.Kind, p.history) }}, nil
}

// compileBareFunction compiles CURRENT_DATE and its like without brackets, unless a column is so
// named; it returns nil for other names.
func compileBareFunction(p *planner, n *parse.Node) (*expr, error) {
	name := strings.ToUpper(n.Text)
	if !p.functions.named(name).bare {
		return nil, nil
	}
	if _, family := p.table.Family(n.Text); family && p.scope.table {
		return nil, nil
	}
	return p.functions.operators[parse.OpCall](p, &parse.Node{Op: parse.OpCall, Pos: n.Pos, Text: name})
}

// names are all that can stand for a column.
func (p *planner) names() []string {
	var names []string
	for _, s := range p.scope.names {
		names = append(names, s.name)
	}
	if p.scope.table {
		names = append(names, p.tableColumns()...)
		if len(p.rowKeys.Names()) > 0 {
			names = append(names, parse.RowKey)
		}
	}
	return append(append(names, p.scope.others...), p.scope.sides...)
}

func wholeFamily(r *run.Tuple, family string, of value.Kind, history bool) (any, error) {
	m := value.Map{}
	for c := range r.Row.Cells() {
		if c.Family != family {
			continue
		}
		v, err := value.OfCell(&c, of)
		if err != nil {
			return nil, err
		}
		last := len(m) - 1
		switch {
		case !history:
			m = append(m, value.Entry{Qualifier: c.Qualifier, Value: v})
		case last >= 0 && m[last].Qualifier == c.Qualifier:
			m[last].Value = append(m[last].Value.(value.Array), value.Struct{c.Timestamp, v})
		default:
			m = append(m, value.Entry{Qualifier: c.Qualifier, Value: value.Array{value.Struct{c.Timestamp, v}}})
		}
	}
	return m, nil
}

// unqualified is a column of the table without the table's name before it.
func (p *planner) unqualified(n *parse.Node) *parse.Node {
	if len(p.scope.sides) > 0 && n.Op == parse.OpName && !p.isLambdaArgument(n.Text) {
		return p.ofOneSide(n)
	}
	text := n.Text
	switch {
	case p.spelling != nil && n.Op == parse.OpName && !p.isLambdaArgument(n.Text):
		if text = p.spelling[strings.ToLower(n.Text)]; text == "" || text == n.Text {
			return n
		}
		return &parse.Node{Op: parse.OpName, Pos: n.Pos, Text: text}
	case n.Op != parse.OpField || n.Args[0].Op != parse.OpName || !p.qualifies(n.Args[0].Text):
		return n
	}
	text = cmp.Or(p.spelling[strings.ToLower(text)], text)
	if p.scope.isSide(n.Args[0].Text) {
		text = qualifiedName(n.Args[0].Text, n.Text)
	}
	return &parse.Node{Op: parse.OpName, Pos: n.Args[0].Pos, Text: text}
}

// ofOneSide is a name with the side of a join that has it, if one has, so that the same
// column is the same expression with and without it.
func (p *planner) ofOneSide(n *parse.Node) *parse.Node {
	name := strings.ToLower(n.Text)
	at, ok := p.scope.index[name]
	if _, two := p.scope.ambiguous[name]; !ok || two || p.scope.names[at].of == "" || strings.Contains(name, "\x00") {
		return n
	}
	return &parse.Node{Op: parse.OpName, Pos: n.Pos, Text: qualifiedName(p.scope.names[at].of, name)}
}

// shown is a name as messages show it.
func shown(name string) string { return strings.TrimPrefix(strings.ReplaceAll(name, "\x00", "."), ".") }

// qualifies reports whether a name stands for the table or the rows, and not for a column.
func (p *planner) qualifies(name string) bool {
	if p.scope.isSide(name) && !p.isLambdaArgument(name) {
		return true
	}
	if p.scope.alias == "" || !parse.Same(name, p.scope.alias) || p.isLambdaArgument(name) {
		return false
	}
	if p.scope.strong {
		return true
	}
	_, column := p.computed(name)
	return !column // a family is a MAP, which has no fields
}

// scopeNames lists columns in messages.
func (p *planner) scopeNames() string {
	names := make([]string, 0, len(p.scope.names))
	for _, s := range p.scope.names {
		if s.name != "" && !slices.Contains(names, s.name) {
			names = append(names, s.name)
		}
	}
	for _, other := range p.scope.others {
		if !slices.Contains(names, other) {
			names = append(names, other)
		}
	}
	if len(names) > 20 {
		names = append(names[:20], "…")
	}
	return strings.Join(names, ", ")
}

// compileIndex is a column of a family, or an element of an array.
func compileIndex(p *planner, n *parse.Node) (*expr, error) {
	if e := p.sidePart(n); e != nil {
		return e, nil
	}
	before := len(p.plan.Reads)
	of, err := p.compile(n.Args[0])
	if err != nil {
		return nil, err
	}
	switch of.typ.Kind {
	case value.TypeMap:
		by, err := p.typed(n.Args[1], value.TypeBytes, "the qualifier of a column")
		if err != nil {
			return nil, err
		}
		f, ok := p.family(n.Args[0])
		if !ok {
			return entryOf(of, by), nil
		}
		if column, ok := p.column(f, by); ok { // read only this one of the family
			p.plan.Reads = append(p.plan.Reads[:before], column)
		}
		return columnExpr(f, by, *of.typ.Of), nil
	case value.TypeArray:
		if e, err := compileEntry(p, n, of); e != nil || err != nil {
			return e, err
		}
		return compileElementAt(p, n, of)
	case value.TypeJSON:
		return compileJSONElement(p, n, of)
	}
	return nil, p.Errorf(n.Pos, "%s has no elements", of.typ)
}

// family is the family of the table in FROM that a node names.
func (p *planner) family(n *parse.Node) (f *schema.Family, ok bool) {
	name := p.unqualified(n)
	if _, computed := p.computed(name.Text); computed || name.Op != parse.OpName || !p.scope.table {
		return nil, false
	}
	return p.table.Family(name.Text)
}

// column is a column of a family, if its qualifier is the same for every row.
func (p *planner) column(f *schema.Family, by *expr) (column read.ColumnSpec, ok bool) {
	if by.literal || by.fixed && p.params.bound() {
		if q, err := by.eval(nil); err == nil && q != nil {
			return read.Column(f.Name, string(q.([]byte))), true
		}
	}
	return column, false
}

// entryOf is the value at a key of a map computed by a stage or a function.
func entryOf(of, by *expr) *expr {
	return combined([]*expr{of, by}, *of.typ.Of, func(v []any) (any, error) {
		qualifier := string(v[1].([]byte))
		for _, entry := range v[0].(value.Map) {
			if entry.Qualifier == qualifier {
				return entry.Value, nil
			}
		}
		return nil, nil
	})
}

func columnExpr(f *schema.Family, by *expr, t value.Type) *expr {
	e := &expr{typ: t, strict: true}
	family, of := f.Name, value.FamilyKind(f)
	latest := func(r *run.Tuple, qualifier string) (any, error) {
		c, ok := r.Row.Cell(family, qualifier)
		if !ok {
			return nil, nil
		}
		return value.OfCell(&c, of)
	}
	history := func(r *run.Tuple, qualifier string) (any, error) {
		var h value.Array
		for c := range r.Row.Versions(family, qualifier) {
			v, err := value.OfCell(&c, of)
			if err != nil {
				return nil, err
			}
			h = append(h, value.Struct{c.Timestamp, v})
		}
		if h == nil {
			return nil, nil
		}
		return h, nil
	}
	get := latest
	if t.Kind == value.TypeArray {
		get = history
	}
	if by.literal {
		if q, err := by.eval(nil); err == nil && q != nil {
			qualifier := string(q.([]byte))
			e.eval = func(r *run.Tuple) (any, error) { return get(r, qualifier) }
			if t.Kind != value.TypeArray {
				e.column = &cellExpr{run.Cell{Family: family, Qualifier: qualifier, Of: of}, f.Type}
			}
			return e
		}
	}
	e.eval = func(r *run.Tuple) (any, error) {
		q, err := by.eval(r)
		if q == nil || err != nil {
			return nil, err
		}
		return get(r, string(q.([]byte)))
	}
	return e
}

// qualifiedName is the name in an index of a scope of a column of a side.
func qualifiedName(alias, name string) string {
	return strings.ToLower(alias) + "\x00" + strings.ToLower(name)
}

// isSide reports whether a name is that of a side of a join.
func (sc *scope) isSide(name string) bool {
	return slices.ContainsFunc(sc.sides, func(s string) bool { return parse.Same(s, name) })
}

// sidePart is a column of a family that a side of a join has read; nil: it has none.
func (p *planner) sidePart(n *parse.Node) *expr {
	if p.scope.parts == nil || p.scope.groups != nil {
		return nil
	}
	text, _, _ := partText(n)
	if text == "" {
		return nil
	}
	alias, _, ok := strings.Cut(p.unqualified(n.Args[0]).Text, "\x00")
	if !ok { // the scope may have columns of a family alone
		for _, s := range p.scope.sides {
			if _, some := p.scope.parts[qualifiedName(s, text)]; some {
				if alias, ok = s, true; p.isLambdaArgument(n.Args[0].Text) {
					return nil
				}
			}
		}
		if _, computed := p.computed(n.Args[0].Text); !ok || computed {
			return nil
		}
	}
	if of, some := p.scope.parts[qualifiedName(alias, text)]; some {
		return of.expr()
	}
	return nil
}

// partText is the text of a column of a family whose qualifier is written, without the alias
// before it; empty for other expressions.
func partText(n *parse.Node) (text, alias, family string) {
	if n.Op != parse.OpIndex || n.Args[1].Op != parse.OpLiteral || n.Args[1].Kind != parse.StringToken && n.Args[1].Kind != parse.BytesToken {
		return "", "", ""
	}
	of := n.Args[0]
	switch {
	case of.Op == parse.OpName:
		family = of.Text
	case of.Op == parse.OpField && of.Args[0].Op == parse.OpName:
		alias, family = of.Args[0].Text, of.Text
	default:
		return "", "", ""
	}
	return strings.ToLower(family) + "[" + n.Args[1].Text, alias, family
}

// ambiguity is the error of a name that two sides of a join have.
func (p *planner) ambiguity(pos int, name string, sides [2]string) error {
	if sides[0] == "" || sides[1] == "" {
		return p.Errorf(pos, "two sources of FROM have the column %s; AS gives a source a name, to stand before it with a point", name)
	}
	return p.Errorf(pos, "column %s is in %s and in %s: write %s.%s or %s.%s", name, sides[0], sides[1], sides[0], name, sides[1], name)
}

// around compiles a name that the query lacks and one around it has, or a column of it; nil for
// other expressions.
func (p *planner) around(n *parse.Node) (*expr, error) {
	switch n.Op {
	case parse.OpName, parse.OpField, parse.OpIndex:
	default:
		return nil, nil
	}
	if p.frame == nil || !p.outward(n) {
		return nil, nil
	}
	f, w := p.frame, p.whole
	inner, size, hidden := w.frame, w.size, f.hidden
	w.frame, w.size = f.outer.frame, f.size
	e, err := f.outer.compile(f.outer.ofResult(n))
	f.size = w.size
	w.frame, w.size, f.hidden = inner, size, hidden
	if err != nil {
		return nil, err
	}
	id := f.number(f.outer, n)
	i, ok := f.slots[id]
	if !ok {
		i = len(f.taken)
		f.slots[id], f.taken = i, append(f.taken, e)
	}
	return &expr{typ: e.typ, fixed: true, eval: run.Around(i, p.places(n.Pos))}, nil
}

// outward reports whether only a query around this one has the name that an expression begins
// with.
func (p *planner) outward(n *parse.Node) bool {
	f := p.frame
	return f != nil && f.outer != nil && f.hidden == 0 && !p.has(n) && (f.outer.shows(n) || f.outer.outward(n))
}

// shows reports whether a query in an expression of the planner sees the name that an expression
// begins with: the planner has it, or a column of the result in a clause that sees these.
func (p *planner) shows(n *parse.Node) bool { return p.has(n) || p.ofResult(n) != n }

// ofResult is an expression of a query in a clause that sees the columns of the result, with their
// expressions in the place of their names.
func (p *planner) ofResult(n *parse.Node) *parse.Node {
	if p.late == nil || n.Find(func(n *parse.Node) bool {
		return n.Op == parse.OpName && p.late.byName[strings.ToLower(n.Text)] != nil
	}) == nil {
		return n
	}
	return p.late.replace(n)
}

// has reports whether the planner itself has the name that an expression begins with.
func (p *planner) has(n *parse.Node) bool {
	switch n.Op {
	case parse.OpName:
		return p.hasName(n.Text)
	case parse.OpField:
		if of := n.Args[0]; of.Op == parse.OpName {
			return p.qualifies(of.Text) || p.hasName(of.Text)
		}
		return p.has(n.Args[0])
	case parse.OpIndex:
		if n.Args[1].Op == parse.OpLiteral {
			return p.has(n.Args[0])
		}
	}
	return true
}

func (p *planner) hasName(name string) bool {
	if p.isLambdaArgument(name) || p.scope.isSide(name) || p.functions.named(strings.ToUpper(name)).bare {
		return true
	}
	if _, two := p.scope.ambiguous[strings.ToLower(name)]; two {
		return true
	}
	if _, ok := p.computed(name); ok {
		return true
	}
	if !p.scope.table {
		return false
	}
	if of, ok := p.spelling[strings.ToLower(name)]; ok {
		name = of
	}
	_, family := p.table.Family(name)
	_, _, field := p.rowKeys.Field(name)
	return name == parse.RowKey || family || field
}

// sealed hides the names around, if on is set, until the result is called.
func (p *planner) sealed(on bool) func() {
	f := p.frame
	if !on || f == nil {
		return func() {}
	}
	f.hidden++
	return func() { f.hidden-- }
}
