package query

import (
	"slices"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/cf"
)

// A readPlan is a read in terms of the store: one scan for each family that is
// selected, and one more for each family that only conditions look at, or look
// at differently.
type readPlan struct {
	scans  []familyScan
	guards []guard
}

// A familyScan is one scan of the plan.
type familyScan struct {
	family string
	of     *familyInfo
	scan   cf.Scan
	guard  bool // its cells are for conditions, not for the caller
}

// A guard is a condition, and whether the selected cells are enough to judge it.
type guard struct {
	condition
	onRow bool
}

func newReadPlan(t *tableInfo, r *readSpec, now cells.Timestamp) (*readPlan, error) {
	selected, err := t.selection(r.columns)
	if err != nil {
		return nil, err
	}
	if r.narrow != nil {
		selected = r.narrow.intersect(selected)
	}
	p := new(readPlan)
	for _, f := range t.families {
		if qualifiers, ok := selected[f]; ok {
			p.scans = append(p.scans, familyScan{family: f.name, of: f, scan: r.scan(f, qualifiers, now)})
		}
	}
	guarded := map[*familyInfo][]cf.QualifierRange{}
	for _, c := range r.where {
		f, err := t.family(c.family)
		if err != nil {
			return nil, err
		}
		if err := c.check(f.typ); err != nil {
			return nil, err
		}
		qualifiers, ok := selected[f]
		onRow := ok && r.showsNewest() && (qualifiers == nil || containsQualifier(qualifiers, c.qualifier))
		p.guards = append(p.guards, guard{c, onRow})
		if !onRow {
			guarded[f] = append(guarded[f], cf.SingleQualifier(c.qualifier))
		}
	}
	for _, f := range t.families {
		if qualifiers, ok := guarded[f]; ok {
			p.scans = append(p.scans, familyScan{family: f.name, of: f, scan: r.guardScan(f, mergeQualifiers(qualifiers), now), guard: true})
		}
	}
	return p, nil
}

// showsNewest reports whether the cells that a read selects include the newest
// visible one of each selected column.
func (r *readSpec) showsNewest() bool {
	return !r.keysOnly && !r.counting && r.cellsPerRow == 0 && r.since == 0 && r.until == 0
}

// selection is the qualifiers wanted of each family that is selected; nil
// ranges are all of them.
func (t *tableInfo) selection(columns []ColumnSpec) (map[*familyInfo][]cf.QualifierRange, error) {
	selected := map[*familyInfo][]cf.QualifierRange{}
	whole := map[*familyInfo]bool{}
	for _, c := range columns {
		f, err := t.family(c.Family)
		if err != nil {
			return nil, err
		}
		if len(c.Qualifier) > MaxQualifier {
			return nil, faultf(InvalidArgument, "%s: qualifier of %d bytes is too long; it may have up to %d", c.Family, len(c.Qualifier), MaxQualifier)
		}
		q, bounded := c.qualifiers()
		whole[f] = whole[f] || !bounded
		selected[f] = append(selected[f], q)
	}
	for _, f := range t.families {
		switch {
		case len(columns) == 0 || whole[f]:
			selected[f] = nil
		case selected[f] != nil:
			if selected[f] = mergeQualifiers(selected[f]); len(selected[f]) == 0 {
				delete(selected, f) // nothing but empty ranges
			}
		}
	}
	return selected, nil
}

// scan reads what is selected of a family.
func (r *readSpec) scan(f *familyInfo, qualifiers []cf.QualifierRange, now cells.Timestamp) cf.Scan {
	s := cf.Scan{
		Family:  f.store,
		Rows:    r.rows,
		Reverse: r.reverse,
		Filter: cf.Filter{
			Retention:   f.retention(now),
			Qualifiers:  qualifiers,
			Since:       int64(r.since),
			Until:       int64(r.until),
			Versions:    r.versions,
			CellsPerRow: r.cellsPerRow,
			KeysOnly:    r.keysOnly && r.filter == nil,
			CountOnly:   r.counts(),
		},
		Sample: r.sample,
		Hint:   r.hint(),

		CountTombstones: r.cost != nil,
	}
	if r.returnsAll() && r.limit > 0 {
		s.Limit = r.limit + r.offset // of the first so many rows of all families, each has at most so many
	}
	return s
}

// returnsAll reports whether every row that has a selected cell is returned, but
// for offset and limit.
func (r *readSpec) returnsAll() bool { return len(r.where) == 0 && r.filter == nil }

// guardScan reads the columns that conditions look at.
func (r *readSpec) guardScan(f *familyInfo, qualifiers []cf.QualifierRange, now cells.Timestamp) cf.Scan {
	return cf.Scan{
		Family:  f.store,
		Rows:    r.rows,
		Reverse: r.reverse,
		Sample:  r.sample,
		Filter:  cf.Filter{Retention: f.retention(now), Qualifiers: qualifiers, Versions: 1},
		Hint:    r.hint(),

		CountTombstones: r.cost != nil,
	}
}

// hint guesses the number of cells in a family from the number of rows, when
// that is small: rows have some dozen.
func (r *readSpec) hint() int {
	const cellsPerRow = 16
	if r.returnsAll() && r.limit > 0 {
		return r.limit * cellsPerRow
	}
	single := !slices.ContainsFunc(r.rows, func(rr cf.RowRange) bool { _, ok := rr.Single(); return !ok })
	if single {
		return len(r.rows) * cellsPerRow
	}
	return 0
}
