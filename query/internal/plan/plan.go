// Package plan says how a read is carried out: its request and the schema in force
// become scans of the store, and the work that is left on the rows they yield. It also
// makes the tokens of pages, which say where a read continues.
package plan

import (
	"math"
	"slices"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/query/internal/catalog"
	"github.com/smolwc/smolwc/query/internal/fault"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/schema"
)

// A Plan is a read in terms of the store: one scan for each family that is
// selected, and one more for each family that only conditions look at, or look
// at differently.
type Plan struct {
	Scans  []FamilyScan
	Guards []Guard // the conditions left to judge on the scans' rows
	// Exact says that every row that the scans yield is returned, except for offset and
	// limit.
	Exact bool
	// StripCells says that the rows have cells for the conditions, where the read
	// returns only keys.
	StripCells bool

	one     [1]FamilyScan // scans, when there is one
	column  [1]cf.Range   // its qualifiers, when there is one column
	changed *Spec         // memory for a read with a filter or conditions on keys
	changes bool          // it is in use
}

// Clear makes the plan a zero one, which keeps its memory.
func (p *Plan) Clear() {
	spec := p.changed
	if p.changes {
		*spec = Spec{}
	}
	*p = Plan{changed: spec}
}

// change is a copy of a read, to be changed. It reuses the memory of the copy before.
func (p *Plan) change(r *Spec) *Spec {
	if p.changed == nil {
		p.changed = new(Spec)
	}
	p.changes = true
	*p.changed = *r
	return p.changed
}

// A FamilyScan is one scan of the plan.
type FamilyScan struct {
	Family string
	Of     *catalog.Family
	Scan   cf.Scan
	Guard  bool // its cells are for conditions, not for the caller
	// Required says that the scan judges conditions: rows that it does not yield are
	// not returned.
	Required bool
	// OneOf says that the scan judges one of several alternatives: rows that no such
	// scan yields are not returned.
	OneOf bool
	bare  bool // of a read of every row: it yields no cells, also for conditions
}

// A Guard is a condition; it also says whether the selected cells are enough to
// judge it.
type Guard struct {
	read.Condition
	OnRow bool
}

// Make plans a read; the plan is a zero one. It returns the read with its filter
// pushed down, which may share the plan's memory.
func (p *Plan) Make(t *catalog.Table, r *Spec, now cells.Timestamp) (*Spec, error) {
	r = p.push(t, r)
	var tests []test
	if len(r.Where) > 0 {
		all, err := Conjuncts(t, r.Where)
		if err != nil {
			return r, err
		}
		r, tests = p.narrowKeys(r, testsOf(t, all))
	}
	return r, p.set(t, r, tests, now)
}

func (p *Plan) set(t *catalog.Table, r *Spec, tests []test, now cells.Timestamp) error {
	p.Scans = p.one[:0]
	if err := p.selectFamilies(t, r, tests, now); err != nil {
		return err
	}
	empty := len(p.Scans) == 0
	if len(tests) > 0 {
		p.guard(t, r, tests, now)
	}
	if empty {
		p.Scans = nil // there is nothing to return
	}
	p.Exact = r.Filter == nil && !r.Nothing && len(p.Guards) == 0 && (len(tests) == 0 || len(p.Scans) == 1)
	for i := range p.Scans {
		s := &p.Scans[i].Scan
		if p.Exact && r.Limit > 0 && r.Limit <= math.MaxInt-r.Offset {
			s.Limit = r.Limit + r.Offset // of the first n rows of all families, each family holds at most n
		}
		s.Hint = r.hint(p.Exact)
	}
	return nil
}

// selectFamilies plans a scan for each family with selected columns. Most reads
// are of a family as a whole or of one column.
func (p *Plan) selectFamilies(t *catalog.Table, r *Spec, tests []test, now cells.Timestamp) error {
	add := func(f *catalog.Family, qualifiers []cf.Range) {
		p.Scans = append(p.Scans, FamilyScan{Family: f.Name, Of: f})
		r.scan(&p.Scans[len(p.Scans)-1], qualifiers, now)
	}
	switch {
	case r.narrow == nil && len(r.Columns) == 0 && !r.provesRows(tests):
		for _, f := range t.Families {
			add(f, nil)
		}
		return nil
	case r.EveryRow && len(r.Columns) > 0:
		return p.selectEveryRow(t, r, tests, add)
	case r.narrow == nil && len(r.Columns) == 1 && r.Columns[0].Kind == read.OneColumn && len(r.Columns[0].Qualifier) <= cells.MaxQualifier:
		f, err := t.Family(r.Columns[0].Family)
		if err == nil {
			p.column = [1]cf.Range{cf.Single(r.Columns[0].Qualifier)}
			add(f, p.column[:])
		}
		return err
	}
	selected := r.narrow
	if len(r.Columns) > 0 || selected == nil {
		chosen, err := selection(t, r.Columns)
		if err != nil {
			return err
		}
		selected = selected.intersect(chosen)
	}
	if witness := r.witness(t, selected, tests); witness != nil {
		if len(witness.branches) > 0 {
			witness.planned = true
			p.addBranches(t, r, witness, now)
			return nil
		}
		p.StripCells = !witness.inStore
		selected = columnSet{}
		for _, c := range witnesses(&witness.Condition) {
			f, err := t.Family(c.Family)
			if err != nil {
				return err
			}
			selected[f] = conditionColumns(tests, f.Name)
		}
	}
	for _, f := range t.Families {
		if qualifiers, ok := selected[f]; ok {
			add(f, qualifiers)
		}
	}
	if p.StripCells {
		for i := range p.Scans {
			f := &p.Scans[i].Scan.Filter
			f.KeysOnly, f.Versions = false, 1
		}
	}
	return nil
}

// selectEveryRow plans a read of all rows: of families that it does not name only which
// rows they have cells in. It also selects the columns of conditions, so that they are
// judged where the family is read anyway.
func (p *Plan) selectEveryRow(t *catalog.Table, r *Spec, tests []test, add func(*catalog.Family, []cf.Range)) error {
	selected, err := selection(t, r.Columns)
	if err != nil {
		return err
	}
	for _, f := range t.Families {
		qualifiers, ok := selected[f]
		if qualifiers != nil {
			qualifiers = cf.MergeRanges(append(qualifiers, conditionColumns(tests, f.Name)...))
		}
		if r.KeysOnly {
			qualifiers = nil
		}
		add(f, qualifiers)
		only := &p.Scans[len(p.Scans)-1]
		only.Scan.Filter.EveryRow = qualifiers != nil
		if !ok {
			only.bare, only.Scan.Filter.KeysOnly = true, true
		}
	}
	return nil
}

// provesRows reports whether conditions may decide which rows are returned, without the
// other columns. This is the case when only keys are read, and when a cell that
// satisfies a condition is also selected by the read if its column is.
func (r *Spec) provesRows(tests []test) bool {
	return r.KeysOnly && r.Filter == nil && r.readsNewest() && needsCell(tests)
}

// witness is a condition that proves every row: each row that satisfies it contains one
// of its columns, and these are selected, so a read of keys needs no other column. nil
// means that there is no such condition.
func (r *Spec) witness(t *catalog.Table, selected columnSet, tests []test) (found *test) {
	if !r.provesRows(tests) {
		return nil
	}
	best := 0
	for i := range tests {
		if cost := proof(t, selected, &tests[i]); cost > 0 && (found == nil || cost < best) {
			found, best = &tests[i], cost
		}
	}
	return found
}

// proof is how much it costs to read only the columns of a condition, in units that have
// an order only; 0 if they do not prove the rows.
func proof(t *catalog.Table, selected columnSet, c *test) (cost int) {
	columns := witnesses(&c.Condition)
	if len(columns) == 0 {
		return 0
	}
	families := map[string]bool{}
	for _, w := range columns {
		f, err := t.Family(w.Family)
		if err != nil {
			return 0
		}
		qualifiers, ok := selected[f]
		if !ok || qualifiers != nil && !cf.InRanges(qualifiers, w.Qualifier) {
			return 0
		}
		families[w.Family] = true
		if f.Aggregate != schema.NoAggregate { // the store does not judge its values
			cost++
		}
	}
	if !c.inStore {
		cost += 2 * len(families)
	}
	return cost + 1
}

func (p *Plan) scanOf(family string) *FamilyScan {
	for i := range p.Scans {
		if p.Scans[i].Family == family && !p.Scans[i].OneOf {
			return &p.Scans[i]
		}
	}
	return nil
}

// readsNewest reports whether the read's cells include the newest visible cell of
// each selected column.
func (r *Spec) readsNewest() bool {
	return r.CellsPerRow == 0 && r.Since == 0 && r.Until == 0
}

// selection is the qualifiers wanted of each family that is selected; nil
// ranges are all of them.
func selection(t *catalog.Table, columns []read.ColumnSpec) (map[*catalog.Family][]cf.Range, error) {
	selected := map[*catalog.Family][]cf.Range{}
	whole := map[*catalog.Family]bool{}
	for _, c := range columns {
		f, err := t.Family(c.Family)
		if err != nil {
			return nil, err
		}
		if len(c.Qualifier) > cells.MaxQualifier {
			return nil, fault.Errorf(fault.InvalidArgument, "%s: qualifier of %d bytes is too long; it may have up to %d", c.Family, len(c.Qualifier), cells.MaxQualifier)
		}
		whole[f] = whole[f] || c.Whole()
		selected[f] = append(selected[f], c.Qualifiers())
	}
	for _, f := range t.Families {
		switch {
		case len(columns) == 0 || whole[f]:
			selected[f] = nil
		case selected[f] != nil:
			if selected[f] = cf.MergeRanges(selected[f]); len(selected[f]) == 0 {
				delete(selected, f) // nothing but empty ranges
			}
		}
	}
	return selected, nil
}

// retention is the part of a family that the read hides.
func (r *Spec) retention(f *catalog.Family, now cells.Timestamp) []cf.Retention {
	if r.HasLimits {
		return catalog.RetentionAt(r.Limits, now)
	}
	return f.Retention(now)
}

// scan completes a zero scan. It is filled in its place, because it is large.
func (r *Spec) scan(of *FamilyScan, qualifiers []cf.Range, now cells.Timestamp) {
	s, f := &of.Scan, &of.Scan.Filter
	s.Family, s.Rows, s.Reverse, s.Sample, s.CountTombstones = of.Of.Store, r.Ranges, r.Reverse, r.sample, r.Cost != nil
	f.Retention, f.Qualifiers, f.Values = r.retention(of.Of, now), qualifiers, r.valuesOf(of.Of)
	f.Since, f.Until, f.Versions, f.CellsPerRow = int64(r.Since), int64(r.Until), r.Versions, r.CellsPerRow
	f.KeysOnly, f.CountOnly = r.KeysOnly && r.Filter == nil, r.Counts()
}

func (r *Spec) guardScan(f *catalog.Family, qualifiers []cf.Range, now cells.Timestamp) cf.Scan {
	return cf.Scan{
		Family:  f.Store,
		Rows:    r.Ranges,
		Reverse: r.Reverse,
		Sample:  r.sample,
		Filter:  cf.Filter{Retention: f.Retention(now), Qualifiers: qualifiers, Versions: 1},

		CountTombstones: r.Cost != nil,
	}
}

// hint is the number of rows, as far as that is known.
func (r *Spec) hint(exact bool) int {
	if exact && r.Limit > 0 {
		return r.Limit
	}
	single := !slices.ContainsFunc(r.Ranges, func(rr cf.Range) bool { _, ok := rr.Single(); return !ok })
	if single {
		return len(r.Ranges)
	}
	return 0
}

// Counts reports whether the store counts cells.
func (r *Spec) Counts() bool { return r.Counting && !r.KeysOnly && r.Filter == nil }

// IsSmall reports whether the read is of at most one row and one scan.
func (p *Plan) IsSmall(spec *Spec) bool {
	if len(spec.Ranges) != 1 {
		return false
	}
	_, single := spec.Ranges[0].Single()
	return single && len(p.Scans) == 1 && p.Exact && spec.Offset == 0 && !spec.KeysOnly &&
		p.Scans[0].Of.Aggregate == schema.NoAggregate
}
