package parse

import (
	"cmp"
	"slices"
	"strings"
)

// from reads what follows FROM.
func (p *parser) from(f *From) error {
	if err := p.enter(); err != nil {
		return err
	}
	defer func() { p.depth-- }()
	if err := p.source(f, true); err != nil {
		return err
	}
	for {
		t := p.peek()
		unnests := &f.Unnests
		if last := len(f.Joins) - 1; last >= 0 {
			unnests = &f.Joins[last].Unnests
		}
		from := p.at
		if (p.accept(",") || p.accept("CROSS", "JOIN") || p.accept("INNER", "JOIN") || p.accept("JOIN")) && p.peek().is("UNNEST") {
			u, err := p.unnested()
			if *unnests = append(*unnests, u); err != nil {
				return err
			}
			continue
		}
		p.at = from
		j, ok, err := p.join()
		if err != nil || !ok {
			return err
		}
		if f.Unpack != nil {
			return p.Errorf(t.pos, "UNPACK cannot be joined; put it into a query of its own: (SELECT * FROM UNPACK(…)) AS name")
		}
		if f.Joins = append(f.Joins, j); len(f.Joins) > maxJoins {
			return p.Errorf(t.pos, "the query has too many joins; it may have up to %d", maxJoins)
		}
	}
}

// maxJoins bounds the joins of a FROM.
const maxJoins = 60

// join reads a join, if one stands here, with its right side and its condition.
func (p *parser) join() (j Join, ok bool, err error) {
	t := p.peek()
	j.Pos = t.pos
	cross := false
	switch {
	case p.accept(","), p.accept("CROSS", "JOIN"):
		cross = true
	case p.accept("JOIN"), p.accept("INNER", "JOIN"):
	case p.accept("LEFT"), p.accept("RIGHT"), p.accept("FULL"):
		j.Kind = map[string]JoinKind{"LEFT": LeftJoin, "RIGHT": RightJoin, "FULL": FullJoin}[strings.ToUpper(t.text)]
		p.accept("OUTER")
		if err := p.expect("JOIN"); err != nil {
			return j, false, err
		}
	default:
		return j, false, nil
	}
	what := "JOIN"
	if t.is(",") {
		what = "two tables"
	}
	p.goBeyond(what, t.pos)
	if p.peek().is("UNNEST") {
		return j, false, p.Errorf(p.peek().pos, "UNNEST cannot be joined by %s; CROSS JOIN UNNEST(…) or a comma joins it", j.Kind)
	}
	if err := p.source(&j.With, false); err != nil {
		return j, false, err
	}
	switch on := p.peek(); {
	case cross:
	case p.accept("ON"):
		j.On, err = p.or()
	case p.accept("USING"):
		err = p.using(&j)
	case j.Kind == InnerJoin && !t.is("INNER"):
		err = p.Errorf(on.pos, "Syntax error: expected ON or USING but got %s; CROSS JOIN has no condition", on)
	default:
		err = p.unexpected("ON or USING")
	}
	return j, true, err
}

// using reads the columns of USING, in brackets.
func (p *parser) using(j *Join) error {
	if err := p.expect("("); err != nil {
		return err
	}
	for {
		t, err := p.name("the name of a column")
		if err != nil {
			return err
		}
		if j.Using = append(j.Using, Name{t.text, t.pos}); !p.accept(",") {
			return p.expect(")")
		}
	}
}

// source reads one source of rows. Only the first of FROM may be an array or UNPACK.
func (p *parser) source(f *From, first bool) (err error) {
	f.Pos = p.peek().pos
	switch {
	case first && p.peek().is("UNNEST"):
		u, err := p.unnested()
		f.Unnests = append(f.Unnests, u)
		return err
	case p.accept("UNPACK", "("):
		if !first {
			return p.Errorf(f.Pos, "UNPACK cannot be joined; put it into a query of its own: (SELECT * FROM UNPACK(…)) AS name")
		}
		return p.unpack(f)
	case p.accept("("):
		if !p.startsOperand(p.at) {
			return p.unexpected("a query, which brackets hold here")
		}
		p.goBeyond("a query in FROM", f.Pos)
		if f.Of, err = p.block(); err != nil {
			return err
		}
		if err := p.expect(")"); err != nil {
			return err
		}
		if f.Alias, err = p.alias("an alias"); err != nil {
			return err
		}
		return p.sample(f)
	}
	if err := p.table(f); err != nil {
		return err
	}
	return p.sample(f)
}

func (p *parser) table(f *From) error {
	t, err := p.name("the name of a table")
	if err != nil {
		return err
	}
	f.Table, f.Pos = t.text, t.pos
	if err := p.hints(); err != nil {
		return err
	}
	if p.accept("(") {
		if err := p.options(f); err != nil {
			return err
		}
	} else if of := p.named(t.text); of != nil {
		f.Of, f.Table, f.With = of, "", true
	}
	alias, err := p.alias("an alias")
	f.Alias = cmp.Or(alias, t.text)
	return err
}

// hints reads @{name = value, …}, if it stands here. Bigtable has one hint:
// https://docs.cloud.google.com/bigtable/docs/reads#read-during-initial-population
func (p *parser) hints() error {
	if !p.accept("@{") {
		return nil
	}
	for {
		t, err := p.name("the name of a hint")
		if err != nil {
			return err
		}
		if !strings.EqualFold(t.text, "allow_incomplete_view") {
			return p.Errorf(t.pos, "the hint %s is unknown; allow_incomplete_view is a hint", t.text)
		}
		if err := p.expect("="); err != nil {
			return err
		}
		switch {
		case p.accept("TRUE"):
			p.incomplete = true
		case !p.accept("FALSE"):
			return p.unexpected("TRUE or FALSE")
		}
		if !p.accept(",") {
			return p.expect("}")
		}
	}
}

func (p *parser) options(f *From) error {
	for {
		name, err := p.name("an option of the table")
		if err != nil {
			return err
		}
		if err := p.expect("=>"); err != nil {
			return err
		}
		value, err := p.or()
		if err != nil {
			return err
		}
		f.Options = append(f.Options, Option{strings.ToLower(name.text), name.pos, value})
		if !p.accept(",") {
			return p.expect(")")
		}
	}
}

// unpack reads what follows UNPACK(: a query in brackets.
func (p *parser) unpack(f *From) (err error) {
	u := &Unpack{Pos: f.Pos}
	if err := p.expect("("); err != nil {
		return err
	}
	b, err := p.block()
	switch {
	case err != nil:
		return err
	case b.From.Unpack != nil:
		return p.Errorf(u.Pos, "UNPACK cannot stand in an UNPACK")
	case len(b.From.Joins) > 0 || b.From.Of != nil || b.From.Set != nil:
		return p.Errorf(u.Pos, "UNPACK takes a query of one table")
	}
	*f, u.Stages = b.From, b.Stages
	f.Unpack, u.Unnests, f.Unnests = u, f.Unnests, nil
	if err := p.expect(")", ")"); err != nil {
		return err
	}
	alias, err := p.alias("an alias")
	u.Alias = cmp.Or(alias, f.Alias)
	return err
}

// unnested reads UNNEST(array) [AS alias] [WITH OFFSET [AS alias]].
func (p *parser) unnested() (u Unnest, err error) {
	u.Pos = p.peek().pos
	if err := p.expect("UNNEST", "("); err != nil {
		return u, err
	}
	if u.Array, err = p.or(); err != nil {
		return u, err
	}
	if err := p.expect(")"); err != nil {
		return u, err
	}
	if u.Alias, err = p.alias("an alias"); err != nil || !p.accept("WITH", "OFFSET") {
		return u, err
	}
	alias, err := p.alias("the name of the offset")
	u.Offset = cmp.Or(alias, "offset")
	return u, err
}

// pipe reads an operator after |>.
func (p *parser) pipe() (s *Stage, err error) {
	s = &Stage{Pos: p.peek().pos}
	unnamed := len(p.unnamed)
	defer func() {
		if err == nil {
			err = p.windows(s, unnamed)
		}
	}()
	switch {
	case p.accept("SELECT"):
		if s.Distinct = p.accept("DISTINCT"); !s.Distinct {
			p.accept("ALL")
		}
		s.Columns, err = p.columns()
	case p.accept("WHERE"):
		s.Kind = WhereStage
		s.Where, err = p.or()
	case p.accept("EXTEND"), p.accept("WINDOW"): // which GoogleSQL has for window functions only
		s.Kind = ExtendStage
		s.Columns, err = p.columns()
	case p.accept("SET"), p.accept("RENAME"), p.accept("DROP"):
		s.Kind = map[string]StageKind{"SET": SetStage, "RENAME": RenameStage, "DROP": DropStage}[strings.ToUpper(p.tokens[p.at-1].text)]
		err = p.changed(s)
	case p.accept("AS"):
		s.Kind = AsStage
		t, err := p.name("an alias")
		s.Columns = []Column{{Name: t.text, Pos: t.pos}}
		return s, err
	case p.accept("AGGREGATE"):
		s.Kind, s.Grouped = AggregateStage, true
		if !p.peek().is("GROUP") {
			if s.Columns, err = p.columns(); err != nil {
				return s, err
			}
		}
		if p.accept("GROUP", "BY") {
			err = p.groupBy(s, false)
		}
	case p.peek().is("ORDER"):
		s.Kind = OrderStage
		err = p.order(s)
	case p.peek().is("LIMIT"):
		s.Kind = LimitStage
		err = p.limit(s)
	case p.accept("DISTINCT"):
		s.Kind = DistinctStage
	case p.accept("CROSS", "JOIN"): // with another source block has read it
		s.Kind = UnnestStage
		var u Unnest
		u, err = p.unnested()
		s.Unnest = &u
	default:
		err = p.unexpected("SELECT, WHERE, EXTEND, SET, DROP, RENAME, AS, AGGREGATE, ORDER BY, LIMIT, DISTINCT, JOIN, UNION or CROSS JOIN UNNEST")
	}
	return s, err
}

// changed reads the columns of SET (a = expression), RENAME (a AS b) and DROP (a).
func (p *parser) changed(s *Stage) error {
	for {
		t, err := p.name("the name of a column")
		if err != nil {
			return err
		}
		c := Column{Name: t.text, Pos: t.pos}
		switch s.Kind {
		case SetStage:
			if err := p.expect("="); err != nil {
				return err
			}
			c.Expr, err = p.or()
		case RenameStage:
			p.accept("AS")
			var to token
			to, err = p.name("the new name")
			c.Expr = &Node{Op: OpName, Pos: to.pos, Text: to.text}
		}
		if err != nil {
			return err
		}
		if s.Columns = append(s.Columns, c); !p.accept(",") || p.atEnd() {
			return nil
		}
	}
}

// maxSets bounds the grouping sets of a GROUP BY, for each of which a row counts once, and
// maxSetKeys the keys in them.
const (
	maxSets    = 4096
	maxSetKeys = 62
)

// groupBy reads what follows GROUP BY: keys, ROLLUP, CUBE and GROUPING SETS, whose sets are
// combined each with each, or ALL if all is set.
func (p *parser) groupBy(s *Stage, all bool) error {
	s.Grouped = true
	if t := p.peek(); all && p.accept("ALL") {
		p.goBeyond("GROUP BY ALL", t.pos)
		s.GroupAll = true
		return nil
	}
	sets, plain := [][]int{nil}, true
	for {
		pos := p.peek().pos
		more, key, err := p.groupItem(s)
		if err != nil {
			return err
		}
		plain = plain && key
		if sets, err = p.product(pos, sets, more, plain); err != nil {
			return err
		}
		if !p.accept(",") || p.atEnd() {
			break
		}
	}
	if plain {
		return nil
	}
	if len(s.Group) > maxSetKeys {
		return p.Errorf(s.Pos, "GROUP BY with grouping sets has %d keys; it may have up to %d", len(s.Group), maxSetKeys)
	}
	s.Sets = sets
	return nil
}

// product joins each set with each of others. While there are only keys, there is one set.
func (p *parser) product(pos int, sets, others [][]int, plain bool) ([][]int, error) {
	if plain {
		return [][]int{append(sets[0], others[0]...)}, nil
	}
	if len(sets)*len(others) > maxSets {
		return nil, p.Errorf(pos, "GROUP BY comes to more than %d grouping sets", maxSets)
	}
	var all [][]int
	for _, a := range sets {
		for _, b := range others {
			all = append(all, slices.Concat(a, b))
		}
	}
	return all, nil
}

// groupItem reads a part of GROUP BY, and adds its keys to the stage. key is true if it is a
// key by itself.
func (p *parser) groupItem(s *Stage) (sets [][]int, key bool, err error) {
	t := p.peek()
	var of func([][]int) ([][]int, error)
	switch {
	case p.accept("ROLLUP", "("):
		of = rollup
	case p.accept("CUBE", "("):
		of = func(list [][]int) ([][]int, error) { return p.cube(t.pos, list) }
	case p.accept("GROUPING", "SETS", "("):
		p.goBeyond("GROUPING SETS", t.pos)
		if err := p.enter(); err != nil {
			return nil, false, err
		}
		defer func() { p.depth-- }()
		for {
			more, _, err := p.groupItem(s)
			if err != nil {
				return nil, false, err
			}
			if sets = append(sets, more...); len(sets) > maxSets {
				return nil, false, p.Errorf(t.pos, "GROUP BY comes to more than %d grouping sets", maxSets)
			}
			if !p.accept(",") {
				return sets, false, p.expect(")")
			}
		}
	case p.accept("(", ")"):
		p.goBeyond("grouping sets", t.pos)
		return [][]int{{}}, false, nil
	default:
		set, err := p.groupSet(s)
		return [][]int{set}, true, err
	}
	p.goBeyond(map[bool]string{true: "ROLLUP", false: "CUBE"}[t.is("ROLLUP")], t.pos)
	for {
		set, err := p.groupSet(s)
		if err != nil {
			return nil, false, err
		}
		if sets = append(sets, set); !p.accept(",") {
			break
		}
	}
	if err := p.expect(")"); err != nil {
		return nil, false, err
	}
	sets, err = of(sets)
	return sets, false, err
}

// groupSet reads a key, or several in brackets.
func (p *parser) groupSet(s *Stage) (set []int, err error) {
	t := p.peek()
	c, err := p.column()
	if err != nil {
		return nil, err
	}
	keys := []Column{c}
	if c.Expr != nil && c.Expr.Op == OpStruct && t.is("(") && c.Expr.Pos == t.pos && c.Name == "" {
		keys = nil
		for _, arg := range c.Expr.Args {
			keys = append(keys, Column{Name: NameOf(arg), Expr: arg, Pos: arg.Pos})
		}
	}
	for _, k := range keys {
		set = append(set, len(s.Group))
		if s.Group = append(s.Group, k); len(s.Group) > maxColumns {
			return nil, p.Errorf(c.Pos, "the query has too many columns; it may have up to %d", maxColumns)
		}
	}
	return set, nil
}

// rollup is all elements, all but the last, and so on to none.
func rollup(list [][]int) (sets [][]int, err error) {
	for n := len(list); n >= 0; n-- {
		sets = append(sets, slices.Concat(list[:n]...))
	}
	return sets, nil
}

// cube is each choice of elements.
func (p *parser) cube(pos int, list [][]int) (sets [][]int, err error) {
	if 1<<min(len(list), 30) > maxSets {
		return nil, p.Errorf(pos, "CUBE of %d elements makes more than %d grouping sets", len(list), maxSets)
	}
	for mask := 1<<len(list) - 1; mask >= 0; mask-- {
		var set []int
		for i, element := range list {
			if mask&(1<<(len(list)-1-i)) != 0 {
				set = append(set, element...)
			}
		}
		sets = append(sets, set)
	}
	return sets, nil
}
