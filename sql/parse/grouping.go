package parse

import "slices"

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
