package query

import (
	"slices"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/query/internal/catalog"
	"github.com/smolwc/smolwc/query/internal/fault"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/schema"
)

// A readPlan is a read in terms of the store: one scan for each family that is
// selected, and one more for each family that only conditions look at, or look
// at differently.
type readPlan struct {
	scans  []familyScan
	guards []guard // the conditions left to judge on the scans' rows
	// exact says that every row that the scans yield is returned, but for
	// offset and limit.
	exact bool

	one    [1]familyScan // scans, when there is one
	column [1]cf.Range   // its qualifiers, when there is one column
	pushed readSpec      // the read, when it has a filter
}

// A familyScan is one scan of the plan.
type familyScan struct {
	family string
	of     *catalog.Family
	scan   cf.Scan
	guard  bool // its cells are for conditions, not for the caller
	// required says that conditions were left to the scan: rows that it does not
	// yield are not wanted.
	required bool
}

// A guard is a condition; it also says whether the selected cells are enough to
// judge it.
type guard struct {
	read.Condition
	onRow bool
}

// set plans a read; the plan is a zero one.
func (p *readPlan) set(t *catalog.Table, r *readSpec, now cells.Timestamp) error {
	p.scans = p.one[:0]
	if err := p.selectFamilies(t, r, now); err != nil {
		return err
	}
	empty := len(p.scans) == 0
	if len(r.Where) > 0 {
		if err := p.guard(t, r, now); err != nil {
			return err
		}
	}
	if empty {
		p.scans = nil // there is nothing to return
	}
	p.exact = r.Filter == nil && !r.nothing && len(p.guards) == 0 && (len(r.Where) == 0 || len(p.scans) == 1)
	for i := range p.scans {
		s := &p.scans[i].scan
		if p.exact && r.Limit > 0 {
			s.Limit = r.Limit + r.Offset // of the first n rows of all families, each family has at most n
		}
		s.Hint = r.hint(p.exact)
	}
	return nil
}

// selectFamilies plans a scan for each family with selected columns. Most reads
// are of a family as a whole or of one column.
func (p *readPlan) selectFamilies(t *catalog.Table, r *readSpec, now cells.Timestamp) error {
	add := func(f *catalog.Family, qualifiers []cf.Range) {
		p.scans = append(p.scans, familyScan{family: f.Name, of: f, scan: r.scan(f, qualifiers, now)})
	}
	switch {
	case r.narrow == nil && len(r.Columns) == 0 && !r.provesRows():
		for _, f := range t.Families {
			add(f, nil)
		}
		return nil
	case r.narrow == nil && len(r.Columns) == 1 && r.Columns[0].Kind == read.OneColumn && len(r.Columns[0].Qualifier) <= cells.MaxQualifier:
		f, err := t.Family(r.Columns[0].Family)
		if err == nil {
			p.column = [1]cf.Range{cf.Single(r.Columns[0].Qualifier)}
			add(f, p.column[:])
		}
		return err
	}
	selected, err := selection(t, r.Columns)
	if err != nil {
		return err
	}
	if r.narrow != nil {
		selected = r.narrow.intersect(selected)
	}
	if f := r.witness(t, selected); f != nil {
		selected = map[*catalog.Family][]cf.Range{f: conditionColumns(r.Where, f)}
	}
	for _, f := range t.Families {
		if qualifiers, ok := selected[f]; ok {
			add(f, qualifiers)
		}
	}
	return nil
}

// provesRows reports whether conditions may decide which rows are returned,
// without the other columns. That is so when only keys are wanted, and when a
// cell that satisfies a condition is also selected by the read if its column is.
func (r *readSpec) provesRows() bool {
	return r.KeysOnly && r.Filter == nil && r.readsNewest() && needsCell(r.Where)
}

// witness is a family that proves every row: each row that satisfies the conditions
// has a selected column in it, so a read of keys needs no other family. nil means
// that there is no such family.
func (r *readSpec) witness(t *catalog.Table, selected map[*catalog.Family][]cf.Range) (found *catalog.Family) {
	if !r.provesRows() {
		return nil
	}
	for _, c := range r.Where {
		f, err := t.Family(c.Family)
		if err != nil {
			return nil // which is the error of the read
		}
		qualifiers, ok := selected[f]
		if c.Kind == read.IsAbsent || !ok || qualifiers != nil && !cf.InRanges(qualifiers, c.Qualifier) {
			continue
		}
		// The store judges the conditions of a family that does not aggregate.
		if found == nil || found.Aggregate != schema.NoAggregate && f.Aggregate == schema.NoAggregate {
			found = f
		}
	}
	return found
}

// conditionColumns are the columns of a family that conditions look at.
func conditionColumns(where []read.Condition, f *catalog.Family) []cf.Range {
	var qualifiers []cf.Range
	for _, c := range where {
		if c.Family == f.Name {
			qualifiers = append(qualifiers, cf.Single(c.Qualifier))
		}
	}
	return cf.MergeRanges(qualifiers)
}

// guard decides where the conditions are judged: in the store, if it reads the
// column anyway, or in a scan of their own for families that are not selected.
func (p *readPlan) guard(t *catalog.Table, r *readSpec, now cells.Timestamp) error {
	alone := len(p.scans) == 1
	here, aside := map[*catalog.Family][]read.Condition{}, map[*catalog.Family][]read.Condition{}
	for _, c := range r.Where {
		f, err := t.Family(c.Family)
		if err != nil {
			return err
		}
		if err := c.Check(f.Type); err != nil {
			return fault.Of(fault.InvalidArgument, err)
		}
		if s := p.scanOf(f); s != nil && r.readsNewest() && s.reads(c.Qualifier) {
			here[f] = append(here[f], c)
		} else {
			aside[f] = append(aside[f], c)
		}
	}
	for _, f := range t.Families {
		switch conditions := here[f]; {
		case len(conditions) == 0:
		case f.Aggregate == schema.NoAggregate && (alone || needsCell(conditions)):
			p.scanOf(f).require(conditions)
		case !r.KeysOnly && !r.counting:
			p.judge(conditions, true)
		default:
			aside[f] = append(aside[f], conditions...)
		}
	}
	for _, f := range t.Families {
		conditions := aside[f]
		if len(conditions) == 0 {
			continue
		}
		s := familyScan{family: f.Name, of: f, scan: r.guardScan(f, conditions, now), guard: true}
		if f.Aggregate == schema.NoAggregate && needsCell(conditions) {
			s.require(conditions)
		} else {
			p.judge(conditions, false)
		}
		p.scans = append(p.scans, s)
	}
	return nil
}

func (p *readPlan) judge(conditions []read.Condition, onRow bool) {
	for _, c := range conditions {
		p.guards = append(p.guards, guard{c, onRow})
	}
}

// scanOf is the scan of a family that is selected, nil when it is not.
func (p *readPlan) scanOf(f *catalog.Family) *familyScan {
	for i := range p.scans {
		if p.scans[i].of == f {
			return &p.scans[i]
		}
	}
	return nil
}

func (s *familyScan) reads(qualifier string) bool {
	q := s.scan.Filter.Qualifiers
	return q == nil || cf.InRanges(q, qualifier)
}

// readsNewest reports whether the read's cells include the newest visible cell of
// each selected column.
func (r *readSpec) readsNewest() bool {
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
func (r *readSpec) retention(f *catalog.Family, now cells.Timestamp) []cf.Retention {
	if r.hasLimits {
		return catalog.RetentionAt(r.limits, now)
	}
	return f.Retention(now)
}

// scan reads the selected columns of a family.
func (r *readSpec) scan(f *catalog.Family, qualifiers []cf.Range, now cells.Timestamp) cf.Scan {
	return cf.Scan{
		Family:  f.Store,
		Rows:    r.rows,
		Reverse: r.Reverse,
		Filter: cf.Filter{
			Retention:   r.retention(f, now),
			Qualifiers:  qualifiers,
			Since:       int64(r.Since),
			Until:       int64(r.Until),
			Versions:    r.Versions,
			Values:      r.valuesOf(f),
			CellsPerRow: r.CellsPerRow,
			KeysOnly:    r.KeysOnly && r.Filter == nil,
			CountOnly:   r.counts(),
		},
		Sample: r.sample,

		CountTombstones: r.Cost != nil,
	}
}

// guardScan reads the columns that conditions look at.
func (r *readSpec) guardScan(f *catalog.Family, conditions []read.Condition, now cells.Timestamp) cf.Scan {
	return cf.Scan{
		Family:  f.Store,
		Rows:    r.rows,
		Reverse: r.Reverse,
		Sample:  r.sample,
		Filter:  cf.Filter{Retention: f.Retention(now), Qualifiers: conditionColumns(conditions, f), Versions: 1},

		CountTombstones: r.Cost != nil,
	}
}

// hint is the number of rows, as far as that is known.
func (r *readSpec) hint(exact bool) int {
	if exact && r.Limit > 0 {
		return r.Limit
	}
	single := !slices.ContainsFunc(r.rows, func(rr cf.Range) bool { _, ok := rr.Single(); return !ok })
	if single {
		return len(r.rows)
	}
	return 0
}

// counts reports whether the store counts cells.
func (r *readSpec) counts() bool { return r.counting && !r.KeysOnly && r.Filter == nil }

// isSmall reports whether the read has at most one row and one scan.
func (p *readPlan) isSmall(spec *readSpec) bool {
	if len(spec.rows) != 1 {
		return false
	}
	_, single := spec.rows[0].Single()
	return single && len(p.scans) == 1 && p.exact && spec.Offset == 0 && !spec.KeysOnly &&
		p.scans[0].of.Aggregate == schema.NoAggregate
}
