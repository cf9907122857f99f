package bind

import (
	"cmp"
	"math/bits"
	"slices"
	"strings"

	"github.com/smolwc/smolwc/sql/message"
	"github.com/smolwc/smolwc/sql/parse"
	"github.com/smolwc/smolwc/sql/run"
	"github.com/smolwc/smolwc/sql/value"
)

// A side is one source of a join. A table reads only the columns that the block names: they
// are compiled before the join is, one by one.
type side struct {
	*planner
	alias   string
	pos     int
	isTable bool            // its columns are compiled when they are wanted
	has     map[string]bool // the names of its columns
	listed  []string        // the columns of *, as they are written
	slots   []slotName
	texts   []string        // of the slots: a name, or the column of a family
	at      map[string]int  // the slots of the texts
	alone   *scope          // of this side only, whose slots begin at 0
	twins   map[string]bool // families whose names differ only in case
	pushed  []*parse.Node
	view    *run.ViewPlan // the materialized view that it reads; nil: it reads none
}

// slot adds a column, with its text. Of several with one text, the newest is found.
func (s *side) slot(text string, n slotName) {
	n.slot, n.of = len(s.slots), s.alias
	s.at[text] = n.slot
	s.slots, s.texts = append(s.slots, n), append(s.texts, text)
}

// inOrder puts the columns of * into its order: conditions may have named some of them first.
func (s *side) inOrder() {
	texts, slots, columns, at := s.texts, s.slots, s.columns, s.at
	s.texts, s.slots, s.columns, s.at = nil, nil, nil, map[string]int{}
	add := func(text string) {
		i, compiled := at[text]
		if _, added := s.at[text]; compiled && !added {
			s.slot(text, slots[i])
			s.columns = append(s.columns, columns[i])
		}
	}
	for _, name := range s.listed {
		add(strings.ToLower(name))
	}
	for _, text := range texts {
		add(text)
	}
}

// names keeps the names of a table's columns, which a query may write in any case.
func (s *side) names(columns []string) {
	s.spelling, s.twins = map[string]string{}, map[string]bool{}
	for _, name := range columns {
		lower := strings.ToLower(name)
		s.twins[lower] = s.has[lower]
		s.has[lower], s.spelling[lower] = true, name
	}
}

// A joiner compiles the joins of a block.
type joiner struct {
	*planner
	block *parse.Block
	sides []*side
	joins []parse.Join
	hides map[string]bool // the names of arrays, which are not columns of a side
	blind bool            // an array has fields whose names are not known yet
	ons   [][]*parse.Node // the conditions of the joins
}

// joinSides compiles the sources of a block and joins them. It returns the block with the
// conditions that are still to be judged.
func joinSides(p *planner, b *parse.Block) (*parse.Block, error) {
	j := &joiner{planner: p, block: b, joins: b.From.Joins, hides: map[string]bool{}, ons: make([][]*parse.Node, len(b.From.Joins))}
	if err := j.open(); err != nil {
		return nil, err
	}
	if err := j.columnsOf(); err != nil {
		return nil, err
	}
	rest := j.spread()
	for _, s := range j.sides {
		if s.isTable {
			s.inOrder()
		}
		if n := conjunction(s.pushed); n != nil {
			if s.view != nil {
				keysInView(s.planner, s.view, n)
			}
			if err := compileWhere(s.planner, n); err != nil {
				return nil, err
			}
		}
	}
	p.bundles = joinedBundles(slices.Clone(p.whole.used))
	p.scope = scope{}
	p.scope.add(j.sides[0], 0)
	if len(j.joins) == 0 {
		return p.takeColumns(j.sides[0], rest), nil
	}
	p.plan.From, p.plan.Steps = nil, nil
	for i := range j.joins {
		if err := j.join(i); err != nil {
			return nil, err
		}
	}
	for _, s := range j.sides {
		if s.isTable {
			s.finish()
		}
	}
	return rest, nil
}

// takeColumns makes the plan of the only side of a block, a table whose columns are compiled, the
// plan of the block, and returns the block without its source.
func (p *planner) takeColumns(s *side, b *parse.Block) *parse.Block {
	p.plan, p.table, p.rowKeys, p.where = s.plan, s.table, s.rowKeys, s.where
	p.plan.Steps = append(p.plan.Steps, run.Project(evals(exprsOf(s.columns))))
	return &parse.Block{From: parse.From{Pos: b.From.Pos}, Stages: b.Stages}
}

// open looks all sources up.
func (j *joiner) open() error {
	first := j.block.From
	first.Joins = nil
	all := []parse.From{first}
	for _, join := range j.joins {
		all = append(all, join.With)
		for _, u := range join.Unnests {
			j.blind = j.blind || u.Alias == ""
			j.hides[strings.ToLower(u.Alias)], j.hides[strings.ToLower(u.Offset)] = true, true
		}
	}
	for i := range all {
		s, err := j.side(all[i])
		if err != nil {
			return err
		}
		for _, other := range j.sides {
			if s.alias != "" && parse.Same(other.alias, s.alias) {
				return j.Errorf(s.pos, "two sources of FROM have the name %s; AS gives one another name", s.alias)
			}
		}
		j.sides = append(j.sides, s)
	}
	return nil
}

// side looks one source up.
func (j *joiner) side(from parse.From) (s *side, err error) {
	s = &side{alias: from.Alias, pos: from.Pos, has: map[string]bool{}, at: map[string]int{}}
	if from.Of != nil || from.Set != nil {
		if s.planner, err = j.planner.whole.block(&parse.Block{From: from}); err != nil && from.View != "" {
			return nil, ofView(from.View, err)
		} else if err != nil {
			return nil, err
		}
	} else {
		if s.planner, err = j.planner.whole.planner(from.Pos); err != nil {
			return nil, err
		}
		s.inner = true
		b := &parse.Block{From: from}
		if err := s.from(b); err != nil {
			return nil, err
		}
		if len(from.Unnests) == 0 && from.Table != "" {
			s.view = j.whole.query.Sources[from.Table].View
		}
		for i := range from.Unnests {
			if err := compileUnnest(s.planner, &from.Unnests[i]); err != nil {
				return nil, err
			}
		}
		if s.isTable = s.scope.table; !s.isTable {
			if err := compileStages(s.planner, &parse.Block{From: parse.From{Pos: from.Pos}}); err != nil {
				return nil, err
			}
			s.plan.Plain = true
			s.finish()
		}
	}
	s.scope.strong = true
	if s.isTable {
		s.listed = s.tableColumns()
		s.names(s.listed)
		s.has[parse.RowKey] = true // also where * leaves it out
		for _, n := range s.scope.names {
			s.listed = append(s.listed, n.name)
			s.has[strings.ToLower(n.name)] = true
		}
		return s, nil
	}
	s.scope.alias = s.alias
	for _, o := range s.columns {
		s.has[strings.ToLower(o.name)] = true
		s.slot(strings.ToLower(o.name), slotName{name: o.name, typ: o.expr.typ})
	}
	return s, nil
}

// columnsOf compiles the columns of tables that the block names.
func (j *joiner) columnsOf() error {
	b := j.block
	want := wanter{joiner: j}
	for _, join := range j.joins {
		want.node(join.On)
		for _, name := range join.Using {
			want.name("", name.Text, name.Pos)
		}
		for _, u := range join.Unnests {
			want.node(u.Array)
		}
	}
	projected := false
	for _, s := range b.Stages {
		switch s.Kind {
		case parse.SetStage, parse.RenameStage, parse.DropStage, parse.DistinctStage, parse.AsStage, parse.OrderStage:
			want.all("")
		case parse.SelectStage, parse.AggregateStage:
			projected = true
		}
		for _, c := range s.Columns {
			if c.Expr == nil && s.Kind != parse.DropStage {
				want.all("")
			}
		}
		s.EachNode(want.node)
		if projected {
			break
		}
	}
	if !projected {
		want.all("")
	}
	return want.err
}

// A wanter finds the columns of tables that expressions name.
type wanter struct {
	*joiner
	lambdas []string
	err     error
}

// node wants the columns of an expression.
func (w *wanter) node(n *parse.Node) {
	if n == nil || w.err != nil {
		return
	}
	switch n.Op {
	case parse.OpName:
		if !slices.ContainsFunc(w.lambdas, func(l string) bool { return parse.Same(l, n.Text) }) {
			w.name("", n.Text, n.Pos)
		}
		return
	case parse.OpField:
		if of := n.Args[0]; of.Op == parse.OpName && w.aliased(of.Text) != nil {
			w.name(of.Text, n.Text, n.Pos)
			return
		}
	case parse.OpFields:
		if of := n.Args[0]; of.Op == parse.OpName && w.aliased(of.Text) != nil {
			w.all(of.Text)
			return
		}
	case parse.OpIndex:
		if w.part(n) {
			return
		}
	case parse.OpLambda:
		before := w.lambdas
		w.lambdas = append(slices.Clip(w.lambdas), n.Names...)
		defer func() { w.lambdas = before }()
	}
	for _, arg := range n.Args {
		w.node(arg)
	}
	if n.Query != nil { // which may take them
		for _, free := range w.whole.finding().of(n.Query).nodes {
			w.node(free)
		}
	}
}

// aliased is the side of a name; nil: it is no side's.
func (j *joiner) aliased(name string) *side {
	for _, s := range j.sides {
		if name != "" && parse.Same(s.alias, name) {
			return s
		}
	}
	return nil
}

// name wants a column of the side with an alias, or of all sides.
func (w *wanter) name(alias, name string, pos int) {
	for _, s := range w.sides {
		if (alias == "" || parse.Same(s.alias, alias)) && s.has[strings.ToLower(name)] {
			w.column(s, strings.ToLower(name), &parse.Node{Op: parse.OpName, Pos: pos, Text: s.written(name)}, slices.ContainsFunc(s.listed, func(l string) bool { return parse.Same(l, name) }))
		}
	}
}

// written is a name of a table's column as the table has it.
func (s *side) written(name string) string { return cmp.Or(s.spelling[strings.ToLower(name)], name) }

// all wants all columns of the side with an alias, or of all sides.
func (w *wanter) all(alias string) {
	for _, s := range w.sides {
		if !s.isTable || alias != "" && !parse.Same(s.alias, alias) {
			continue
		}
		for _, name := range s.listed {
			w.column(s, strings.ToLower(name), &parse.Node{Op: parse.OpName, Pos: s.pos, Text: name}, true)
		}
	}
}

// part wants a column of a family, as f['q'] or t.f['q'] names it.
func (w *wanter) part(n *parse.Node) bool {
	text, alias, family := partText(n)
	if text == "" {
		return false
	}
	var found *side
	for _, s := range w.sides {
		if (alias == "" || parse.Same(s.alias, alias)) && s.has[strings.ToLower(family)] {
			if found != nil {
				return false // it is ambiguous
			}
			found = s
		}
	}
	if found == nil || !found.isTable {
		return false
	}
	name := found.written(family)
	if _, ok := found.table.Family(name); !ok {
		return false
	}
	w.column(found, text, &parse.Node{Op: parse.OpIndex, Pos: n.Pos, Args: []*parse.Node{{Op: parse.OpName, Pos: n.Args[0].Pos, Text: name}, n.Args[1]}}, false)
	return true
}

// column compiles a column of a table, unless it is there.
func (w *wanter) column(s *side, text string, n *parse.Node, listed bool) {
	if _, there := s.at[text]; there || w.err != nil || !s.isTable {
		return
	}
	family := n
	if n.Op == parse.OpIndex {
		family = n.Args[0]
	}
	if s.twins[strings.ToLower(family.Text)] {
		w.err = w.Errorf(n.Pos, "in table %s, names of families differ only in case from %s, which joins do not tell apart; give them names in a query: (SELECT … AS … FROM %s)", s.table.Name, family.Text, s.table.Name)
		return
	}
	var e *expr
	if e, w.err = s.compile(n); w.err != nil {
		return
	}
	name := n.Text
	if n.Op == parse.OpIndex {
		name = ""
	}
	s.slot(text, slotName{name: name, typ: e.typ, unlisted: !listed, strict: e.strict})
	s.columns = append(s.columns, output{name: name, expr: e})
}

// add adds the columns of a side. A name that another side has is ambiguous.
func (sc *scope) add(s *side, from int) {
	if s.alias != "" {
		sc.sides = append(sc.sides, s.alias)
	}
	before := len(sc.names)
	for i, n := range s.slots {
		if n.slot += from; n.name == "" && strings.Contains(s.texts[i], "[") {
			sc.part(qualifiedName(s.alias, s.texts[i]), n)
			continue
		}
		sc.ofSide(n, before)
	}
	for name := range s.has {
		if _, there := s.at[name]; !there {
			sc.others = append(sc.others, name)
		}
	}
	slices.Sort(sc.others)
	sc.slots = from + len(s.slots)
}

// ofSide adds a column of a side, whose other columns begin at a number.
func (sc *scope) ofSide(n slotName, before int) {
	if sc.index == nil {
		sc.index = map[string]int{}
	}
	name := strings.ToLower(n.name)
	if at, ok := sc.index[name]; ok && name != "" && at < before {
		if sc.ambiguous == nil {
			sc.ambiguous = map[string][2]string{}
		}
		sc.ambiguous[name] = [2]string{sc.names[at].of, n.of}
	}
	sc.index[name] = len(sc.names)
	if n.of != "" {
		sc.index[qualifiedName(n.of, name)] = len(sc.names)
	}
	sc.names = append(sc.names, n)
}

func (sc *scope) part(text string, n slotName) {
	if sc.parts == nil {
		sc.parts = map[string]slotName{}
	}
	sc.parts[text] = n
}

// joinedBundles finds a bundle in one of several places; nil: there are none.
func joinedBundles(all []Bundles) Bundles {
	if len(all) == 0 {
		return nil
	}
	return func(id string) (b *message.Bundle, ok bool, err error) {
		for _, of := range all {
			if b, ok, err = of(id); ok || err != nil {
				return b, ok, err
			}
		}
		return nil, false, nil
	}
}

// sidesOf are the sides that an expression names, as bits; ok is false if it is not clear.
func (j *joiner) sidesOf(n *parse.Node) (sides uint64, ok bool) {
	return j.sidesIn(n, nil)
}

func (j *joiner) sidesIn(n *parse.Node, lambdas []string) (sides uint64, ok bool) {
	switch n.Op {
	case parse.OpName:
		if slices.ContainsFunc(lambdas, func(l string) bool { return parse.Same(l, n.Text) }) {
			return 0, true
		}
		name := strings.ToLower(n.Text)
		for i, s := range j.sides {
			if s.has[name] {
				sides |= 1 << i
			}
		}
		if sides == 0 && j.outward(n) {
			return 0, !j.blind && !j.hides[name]
		}
		bare := j.functions.named(strings.ToUpper(n.Text)).bare && sides == 0
		return sides, (bare || bits.OnesCount64(sides) == 1) && !j.blind && !j.hides[name] && !j.merges(name)
	case parse.OpField:
		if of := n.Args[0]; of.Op == parse.OpName {
			for i, s := range j.sides {
				if s.alias != "" && parse.Same(s.alias, of.Text) {
					return 1 << i, s.has[strings.ToLower(n.Text)]
				}
			}
			lower := strings.ToLower(of.Text)
			lambda := slices.ContainsFunc(lambdas, func(l string) bool { return parse.Same(l, of.Text) })
			if !lambda && !slices.ContainsFunc(j.sides, func(s *side) bool { return s.has[lower] }) && j.outward(n) {
				return 0, !j.blind && !j.hides[lower]
			}
		}
	case parse.OpLambda:
		lambdas = append(slices.Clip(lambdas), n.Names...)
	case parse.OpOver: // only errors have one
		return 0, false
	case parse.OpCall:
		if j.functions.named(n.Text).unsteady {
			return 0, false
		}
	}
	args := n.Args
	if n.Query != nil {
		free := j.whole.finding().of(n.Query)
		if free.blind {
			return 0, false
		}
		args = append(slices.Clip(args), free.nodes...)
	}
	for _, arg := range args {
		of, clear := j.sidesIn(arg, lambdas)
		if !clear {
			return 0, false
		}
		sides |= of
	}
	return sides, true
}

// merges reports whether USING has a name.
func (j *joiner) merges(name string) bool {
	return slices.ContainsFunc(j.joins, func(of parse.Join) bool {
		return slices.ContainsFunc(of.Using, func(u parse.Name) bool { return parse.Same(u.Text, name) })
	})
}

// stays reports whether the joins from one to another leave the rows of a side as they are:
// none of them adds rows in which the side is NULL.
func (j *joiner) stays(side, to int) bool {
	for i := max(side-1, 0); i <= to; i++ {
		of := parse.RightJoin // which adds rows without those before it
		if i+1 == side {
			of = parse.LeftJoin
		}
		if j.joins[i].Kind&of != 0 {
			return false
		}
	}
	return true
}

// spread gives the conditions of ON and WHERE to the sides and joins that can judge them. It
// returns the block with the rest.
func (j *joiner) spread() *parse.Block {
	for i, join := range j.joins {
		for _, n := range conjuncts(join.On) {
			sides, ok := j.sidesOf(n)
			at := bits.TrailingZeros64(sides)
			switch {
			case !ok || bits.OnesCount64(sides) != 1 || j.functions.hasAggregate(n) || at > i+1:
			case at == i+1 && join.Kind&parse.RightJoin == 0,
				at <= i && join.Kind&parse.LeftJoin == 0 && j.stays(at, i-1):
				j.sides[at].pushed = append(j.sides[at].pushed, n)
				continue
			}
			j.ons[i] = append(j.ons[i], n)
		}
	}
	b := j.block
	if len(b.Stages) == 0 || b.Stages[0].Where == nil {
		return b
	}
	first := *b.Stages[0]
	var rest []*parse.Node
	last := len(j.joins) - 1
	for _, n := range conjuncts(first.Where) {
		sides, ok := j.sidesOf(n)
		if !ok || sides == 0 || j.functions.hasAggregate(n) {
			rest = append(rest, n)
			continue
		}
		at := bits.Len64(sides) - 1
		switch {
		case bits.OnesCount64(sides) == 1 && j.stays(at, last):
			j.sides[at].pushed = append(j.sides[at].pushed, n)
		case bits.OnesCount64(sides) > 1 && j.joins[at-1].Kind == parse.InnerJoin && j.stays(at, last):
			j.ons[at-1] = append(j.ons[at-1], n)
		default:
			rest = append(rest, n)
		}
	}
	first.Where = conjunction(rest)
	other := *b
	other.Stages = append([]*parse.Stage{&first}, b.Stages[1:]...)
	if first.Kind == parse.WhereStage && first.Where == nil {
		other.Stages = other.Stages[1:]
	}
	return &other
}

// join compiles a join of the sides before with the next one.
func (j *joiner) join(i int) error {
	p, join, right := j.planner, j.joins[i], j.sides[i+1]
	of := &run.Join{Kind: join.Kind, Right: right.plan, RowKey: -1, InMemory: p.plan.InMemory}
	if i == 0 {
		of.Left = j.sides[0].plan
	} else {
		of.Left = &run.Plan{From: p.plan.From, Steps: p.plan.Steps, InMemory: p.plan.InMemory, Plain: true}
		for slot := range p.scope.slots {
			of.Left.Columns = append(of.Left.Columns, run.Output{Eval: run.Slot(slot)})
		}
	}
	var on []*parse.Node
	for _, n := range j.ons[i] {
		ok, err := j.key(i, of, n)
		if err != nil {
			return err
		}
		if !ok {
			on = append(on, n)
		}
	}
	merged := make([][2]slotName, len(join.Using))
	seen := map[string]bool{}
	for k, name := range join.Using {
		lower := strings.ToLower(name.Text)
		if seen[lower] {
			return p.Errorf(name.Pos, "USING names the column %s twice", name.Text)
		}
		seen[lower] = true
		var err error
		if merged[k], err = j.using(i, of, name); err != nil {
			return err
		}
	}
	left := p.scope.slots
	p.scope.add(right, left)
	if n := conjunction(on); n != nil {
		if p.functions.hasAggregate(n) {
			return p.Errorf(n.Pos, "ON cannot have an aggregate function")
		}
		e, err := p.condition(n)
		if err != nil {
			return err
		}
		of.On = e.eval
	}
	p.plan.From, p.plan.Steps = of, nil
	for k := range p.scope.names {
		n := &p.scope.names[k]
		n.merged = n.merged || seen[strings.ToLower(n.name)]
	}
	for k := range join.Using {
		j.merge(join.Kind, merged[k][0], merged[k][1], left)
	}
	for k := range join.Unnests {
		if err := compileUnnest(p, &join.Unnests[k]); err != nil {
			return err
		}
	}
	return nil
}

// key makes an equality between both sides a key of the join; ok is false for other conditions.
func (j *joiner) key(i int, of *run.Join, n *parse.Node) (ok bool, err error) {
	if n.Op != parse.OpCompare || n.Text != "=" {
		return false, nil
	}
	x, y := n.Args[0], n.Args[1]
	before, after := uint64(1)<<(i+1)-1, uint64(1)<<(i+1)
	ofX, okX := j.sidesOf(x)
	ofY, okY := j.sidesOf(y)
	if ofX == after {
		x, y, ofX, ofY = y, x, ofY, ofX
	}
	if !okX || !okY || ofX == 0 || ofX&^before != 0 || ofY != after {
		return false, nil
	}
	return j.equal(i, of, n, x, y)
}

// equal adds a key: an expression of each side.
func (j *joiner) equal(i int, of *run.Join, n, x, y *parse.Node) (ok bool, err error) {
	p, right := j.planner, j.sides[i+1]
	a, err := p.compile(x)
	if err != nil {
		return false, err
	}
	before := p.scope
	if right.alone == nil {
		right.alone = &scope{}
		right.alone.add(right, 0)
	}
	p.scope = *right.alone
	b, err := p.compile(y)
	key := p.unqualified(y)
	if y.Op == parse.OpCast && y.Text == "STRING" {
		key = p.unqualified(y.Args[0])
	}
	p.scope = before
	if err != nil {
		return false, err
	}
	if a, b, err = p.comparable(&parse.Node{Op: parse.OpCompare, Text: "=", Pos: n.Pos, Args: []*parse.Node{x, y}}, a, b); err != nil {
		return false, err
	}
	if !a.typ.Comparable() || !b.typ.Comparable() {
		return false, nil
	}
	isKey := right.isTable && key.Op == parse.OpName && key.Text == qualifiedName(right.alias, parse.RowKey)
	if isKey && of.RowKey < 0 && (a.typ.Kind == value.TypeBytes || a.typ.Kind == value.TypeString) && len(right.plan.Steps) == 0 {
		of.RowKey = len(of.Keys)
	}
	of.Keys = append(of.Keys, run.JoinKey{Left: a.eval, Right: b.eval, Float: a.typ.Numeric() && a.typ.Kind != b.typ.Kind})
	// A row whose key is NULL has no partner, so it need not be found where it does not stay.
	j.sides[0].valued = j.sides[0].valued || i == 0 && a.strict && of.Kind&parse.LeftJoin == 0
	right.valued = right.valued || b.strict && of.Kind&parse.RightJoin == 0
	return true, nil
}

// using adds a key of USING. It returns the columns of both sides.
func (j *joiner) using(i int, of *run.Join, name parse.Name) (both [2]slotName, err error) {
	p, right := j.planner, j.sides[i+1]
	refuse := func(where string) error {
		return p.Errorf(name.Pos, "USING names the column %s, which %s does not have", name.Text, where)
	}
	lower := strings.ToLower(name.Text)
	at, ok := p.scope.index[lower]
	if !ok {
		return both, refuse("the left side of the join")
	}
	if two, ambiguous := p.scope.ambiguous[lower]; ambiguous {
		return both, p.ambiguity(name.Pos, name.Text, two)
	}
	number, ok := right.at[lower]
	if !ok {
		return both, refuse(cmp.Or(right.alias, "the query after JOIN"))
	}
	both = [2]slotName{p.scope.names[at], right.slots[number]}
	n := &parse.Node{Op: parse.OpName, Pos: name.Pos, Text: name.Text}
	if ok, err = j.equal(i, of, n, n, n); err != nil {
		return both, err
	}
	if !ok || !both[0].typ.Same(both[1].typ) {
		return both, p.Errorf(name.Pos, "USING takes columns of one type that can be compared; %s is %s and %s", name.Text, both[0].typ, both[1].typ)
	}
	return both, nil
}

// merge makes one column of the columns of USING.
func (j *joiner) merge(kind parse.JoinKind, a, b slotName, left int) {
	p := j.planner
	b.slot += left
	of := slotName{name: a.name, typ: a.typ, slot: a.slot, first: true}
	switch kind {
	case parse.RightJoin:
		of.slot = b.slot
	case parse.FullJoin:
		of.slot = p.scope.slots
		p.scope.slots++
		x, y := run.Slot(a.slot), run.Slot(b.slot)
		p.plan.Steps = append(p.plan.Steps, run.Extend([]run.Eval{func(t *run.Tuple) (any, error) {
			if v, err := x(t); v != nil || err != nil {
				return v, err
			}
			return y(t)
		}}))
	}
	p.scope.named(of)
}
