package plan

import (
	"cmp"
	"slices"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/query/internal/catalog"
	"github.com/smolwc/smolwc/query/internal/fault"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/schema"
)

// Conjuncts prepares conditions that must all hold. Terms that must all hold become
// conditions of their own, and a negation is of one term.
func Conjuncts(t *catalog.Table, where []read.Condition) ([]read.Condition, error) {
	prepared, err := Prepare(t, where)
	all := make([]read.Condition, 0, len(prepared))
	for _, c := range prepared {
		all = appendConjuncts(all, c, false)
	}
	return all, err
}

// Prepare prepares conditions, and leaves their form as it is.
func Prepare(t *catalog.Table, where []read.Condition) ([]read.Condition, error) {
	if err := read.CheckPatterns(where); err != nil {
		return nil, fault.Of(fault.InvalidArgument, err)
	}
	var missing error
	declared := func(family string) (cells.Type, error) {
		f, err := t.Family(family)
		if err != nil {
			missing = err
			return cells.TypeAny, err
		}
		return f.Type, nil
	}
	all := make([]read.Condition, 0, len(where))
	for i := range where {
		c, err := where[i].Prepare(declared)
		switch {
		case missing != nil:
			return nil, missing
		case err != nil:
			return nil, fault.Of(fault.InvalidArgument, err)
		}
		all = append(all, c)
	}
	return all, nil
}

// ColumnsOf are the columns that conditions judge.
func ColumnsOf(all []read.Condition) []read.ColumnSpec {
	var columns []read.ColumnSpec
	for i := range all {
		for family, qualifier := range all[i].Columns() {
			columns = append(columns, read.Column(family, qualifier))
		}
	}
	return columns
}

func appendConjuncts(all []read.Condition, c read.Condition, not bool) []read.Condition {
	switch {
	case c.Kind == read.Not:
		return appendConjuncts(all, c.Terms[0], !not)
	case c.Kind == read.AllOf && !not, c.Kind == read.AnyOf && not:
		for _, t := range c.Terms {
			all = appendConjuncts(all, t, not)
		}
		return all
	case c.Kind >= read.AnyOf:
		var terms []read.Condition
		for _, t := range c.Terms {
			terms = append(terms, conjunction(appendConjuncts(nil, t, not)))
		}
		return append(all, read.Any(terms...))
	case not && c.Kind == read.IsPresent:
		c.Kind = read.IsAbsent
	case not && c.Kind == read.IsAbsent:
		c.Kind = read.IsPresent
	case not:
		c = read.Negate(c)
	}
	return append(all, c)
}

func conjunction(all []read.Condition) read.Condition {
	if len(all) == 1 {
		return all[0]
	}
	return read.All(all...)
}

// A test is a conjunct as the plan sees it.
type test struct {
	read.Condition
	stored  cf.RowCondition // the condition in terms of the bytes of values
	inStore bool            // stored is the whole condition, in one column
	of      string          // the family of that column

	branches []test // alternatives that the store judges, each in a family of its own; nil if it cannot
	planned  bool   // scans of the plan judge it
}

func testsOf(t *catalog.Table, all []read.Condition) []test {
	tests := make([]test, len(all))
	for i := range all {
		tests[i] = testOf(&all[i])
		if c := &tests[i]; !c.inStore && c.Kind == read.AnyOf {
			c.branches = branchesOf(t, c.Terms)
		}
	}
	return tests
}

func testOf(c *read.Condition) (t test) {
	t.Condition = *c
	t.stored, t.of, t.inStore = inStore(c)
	return t
}

// branchesOf are alternatives that a scan each can judge, nil if they are not.
func branchesOf(t *catalog.Table, terms []read.Condition) []test {
	branches := make([]test, len(terms))
	for i := range terms {
		branches[i] = testOf(&terms[i])
		b := &branches[i]
		if !b.inStore || !needsCell(branches[i:i+1]) || slices.ContainsFunc(branches[:i], func(other test) bool { return other.of == b.of }) {
			return nil
		}
		if f, err := t.Family(b.of); err != nil || f.Aggregate != schema.NoAggregate {
			return nil
		}
	}
	return branches
}

// addBranches adds a scan for each of the alternatives of a condition.
func (p *Plan) addBranches(t *catalog.Table, r *Spec, c *test, now cells.Timestamp) {
	for _, b := range c.branches {
		f, err := t.Family(b.of)
		if err != nil { // the condition was checked
			continue
		}
		s := FamilyScan{Family: f.Name, Of: f, Scan: r.guardScan(f, []cf.Range{cf.Single(b.stored.Qualifier)}, now)}
		s.require([]test{b})
		s.Required, s.OneOf, s.Scan.Filter.KeysOnly = false, true, true
		p.Scans = append(p.Scans, s)
	}
}

// require leaves conditions to the scan, which then yields only rows that
// satisfy them.
func (s *FamilyScan) require(tests []test) {
	s.Required = true
	where := make([]cf.RowCondition, len(tests))
	for i := range tests {
		where[i] = tests[i].stored
	}
	slices.SortStableFunc(where, func(a, b cf.RowCondition) int { return cmp.Compare(a.Qualifier, b.Qualifier) })
	s.Scan.Filter.Where = where
}

// needsCell reports whether only rows that have one of the columns satisfy the
// conditions. If it is false, a scan of these columns may miss a row that
// satisfies them.
func needsCell(tests []test) bool {
	return slices.ContainsFunc(tests, func(t test) bool { return len(witnesses(&t.Condition)) > 0 })
}

// guard decides where the conditions are judged: in the store, if it reads the
// column anyway, or in a scan of their own for families that are not selected.
func (p *Plan) guard(t *catalog.Table, r *Spec, tests []test, now cells.Timestamp) {
	alone := len(p.Scans) == 1
	here, aside := map[string][]test{}, map[string][]test{}
	var rest []test // judged on cells of several columns, or on none
	for _, c := range tests {
		switch {
		case !c.inStore:
			rest = append(rest, c)
		case r.readsNewest() && p.reads(c.of, c.stored.Qualifier):
			here[c.of] = append(here[c.of], c)
		default:
			aside[c.of] = append(aside[c.of], c)
		}
	}
	for _, f := range t.Families {
		switch conditions := here[f.Name]; {
		case len(conditions) == 0:
		case f.Aggregate == schema.NoAggregate && (alone || needsCell(conditions)):
			p.scanOf(f.Name).require(conditions)
		case p.judgesOnRow(r):
			p.judge(true, conditions...)
		default:
			aside[f.Name] = append(aside[f.Name], conditions...)
		}
	}
	more := map[string][]cf.Range{} // columns that the rest is judged on, by family
	selected := len(p.Scans)
	alternatives := slices.ContainsFunc(tests, func(c test) bool { return c.planned })
	for _, c := range rest {
		onRow := p.judgesOnCells(r, c)
		switch {
		case c.planned:
		case onRow || alternatives || len(c.branches) == 0:
			p.judge(onRow, c)
			for family, qualifier := range c.Columns() {
				if !onRow {
					more[family] = append(more[family], cf.Single(qualifier))
				}
			}
		default:
			alternatives = true
			p.addBranches(t, r, &c, now)
			for i := selected; i < len(p.Scans); i++ {
				p.Scans[i].Guard = true
			}
		}
	}
	for _, f := range t.Families {
		if conditions := aside[f.Name]; len(conditions)+len(more[f.Name]) > 0 {
			p.Scans = append(p.Scans, p.guardScan(f, r, conditions, more[f.Name], now))
		}
	}
	for _, c := range rest {
		p.needFamily(&c, r, selected)
	}
}

// needFamily says of a scan that rows which it does not yield are not returned, if a
// condition needs a cell that only this scan can find. selected is the number of scans
// of what the read returns.
func (p *Plan) needFamily(c *test, r *Spec, selected int) {
	columns := witnesses(&c.Condition)
	if len(columns) == 0 || slices.ContainsFunc(columns, func(w read.ColumnSpec) bool { return w.Family != columns[0].Family }) {
		return
	}
	for i := range p.Scans {
		s := &p.Scans[i]
		if s.Family == columns[0].Family && !s.OneOf && (i >= selected || r.readsNewest()) &&
			!slices.ContainsFunc(columns, func(w read.ColumnSpec) bool { return !s.Reads(w.Qualifier) }) {
			s.Required = true
		}
	}
}

// judgesOnCells reports whether a condition on several columns can be judged on the row
// that is returned.
func (p *Plan) judgesOnCells(r *Spec, c test) bool {
	if !p.judgesOnRow(r) || !r.readsNewest() {
		return false
	}
	for family, qualifier := range c.Columns() {
		if !p.reads(family, qualifier) {
			return false
		}
	}
	return true
}

// judgesOnRow reports whether the rows have the values of their cells.
func (p *Plan) judgesOnRow(r *Spec) bool { return p.StripCells || !r.KeysOnly && !r.Counting }

func (p *Plan) guardScan(f *catalog.Family, r *Spec, conditions []test, more []cf.Range, now cells.Timestamp) FamilyScan {
	for i := range conditions {
		more = append(more, cf.Single(conditions[i].stored.Qualifier))
	}
	s := FamilyScan{Family: f.Name, Of: f, Scan: r.guardScan(f, cf.MergeRanges(more), now), Guard: true}
	if f.Aggregate == schema.NoAggregate && needsCell(conditions) {
		s.require(conditions)
	} else {
		p.judge(false, conditions...)
	}
	return s
}

func (p *Plan) judge(onRow bool, tests ...test) {
	for i := range tests {
		p.Guards = append(p.Guards, Guard{tests[i].Condition, onRow})
	}
}

// reads reports whether the scans read a column.
func (p *Plan) reads(family, qualifier string) bool {
	s := p.scanOf(family)
	return s != nil && s.Reads(qualifier)
}

// Reads reports whether the scan reads a column of its family.
func (s *FamilyScan) Reads(qualifier string) bool {
	q := s.Scan.Filter.Qualifiers
	return !s.bare && (q == nil || cf.InRanges(q, qualifier))
}

// conditionColumns are the columns of a family that conditions judge.
func conditionColumns(tests []test, family string) []cf.Range {
	var qualifiers []cf.Range
	for i := range tests {
		for of, qualifier := range tests[i].Columns() {
			if of == family {
				qualifiers = append(qualifiers, cf.Single(qualifier))
			}
		}
	}
	return cf.MergeRanges(qualifiers)
}
