package query

import (
	"slices"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/schema"
)

// A pushdown turns the filters at the head of a chain into what the store
// evaluates. Filters are looked at in their order; the conditions say what may
// still go past the filters before, which stay.
//
// The store applies columns, time range, versions, values and cells per row in this
// order, so a filter can be pushed when no earlier filter or option that stands
// later in that order has taken effect.
type pushdown struct {
	spec     *readSpec // a copy, narrowed
	info     *tableInfo
	residual []Filter

	rows     bool // no cell has left through a sink
	columns  bool // dropping whole columns is the same here as at first
	times    bool // and so is a time range
	versions bool // versions are counted as at first, but for whole columns
	values   bool // dropping cells by their values is the same here as behind the versions
	perRow   bool // what is left is what the store yields, in whole rows
}

// push is the read with its filter pushed down as far as it goes without
// changing the result. What is left is the filter of the result, which takes the
// memory that it is given if it differs.
func (r *readSpec) push(info *tableInfo, spec *readSpec) *readSpec {
	if r.filter == nil || r.unpushed {
		return r
	}
	*spec = *r
	p := pushdown{spec: spec, info: info, rows: true, perRow: true,
		columns: r.cellsPerRow == 0, times: r.cellsPerRow == 0 && r.versions == 0, versions: r.cellsPerRow == 0,
		values: r.cellsPerRow == 0 && len(r.where) == 0}
	for _, f := range flatten(nil, r.filter) {
		if p.columns {
			spec.narrow = spec.narrow.intersect(needs(f, info))
		}
		if !p.take(f) {
			p.residual = append(p.residual, f)
		}
		if p.spec.nothing {
			p.residual = nil
			break
		}
	}
	spec.filter = joined(p.residual)
	if spec.nothing = spec.nothing || spec.narrow.isEmpty(); !spec.nothing {
		return spec
	}
	if r.rejected != nil {
		return r.lastRow()
	}
	spec.rows = nil
	return spec
}

// lastRow is a read that lets nothing through, of the last row alone, for those who
// want to know which one that is.
func (r *readSpec) lastRow() *readSpec {
	return &readSpec{rows: r.rows, columns: r.columns, reverse: !r.reverse, keysOnly: true, nothing: true,
		sample: r.sample, limits: r.limits, hasLimits: r.hasLimits, rejected: r.rejected, cost: r.cost}
}

// flatten appends a filter as the list of filters that the row goes through.
func flatten(all []Filter, f Filter) []Filter {
	chain, ok := f.(chainFilter)
	if !ok {
		return append(all, f)
	}
	all = slices.Grow(all, len(chain))
	for _, sub := range chain {
		all = flatten(all, sub)
	}
	return all
}

func joined(fs []Filter) Filter {
	switch len(fs) {
	case 0:
		return nil
	case 1:
		return fs[0]
	}
	return chainFilter(fs)
}

// take pushes a filter, and reports whether nothing of it is left to do.
func (p *pushdown) take(f Filter) bool {
	switch f := f.(type) {
	case *regexFilter:
		return p.takeRegex(f)
	case *columnRangeFilter:
		return p.takeColumns(f, "qualifiers of "+f.family, true)
	case *timestampRangeFilter:
		return p.takeTimes(f)
	case *valueRangeFilter:
		p.takeValues(f)
		return false
	case *valueCompareFilter, *valueBitmaskFilter:
		p.versions, p.perRow = false, false
		return false
	case countFilter:
		return p.takeCount(f)
	case constantFilter:
		return p.takeConstant(f)
	case sampleFilter, labelFilter:
		return false
	}
	p.close()
	p.rows = p.rows && !contains(f, isSink)
	return false
}

// close says that what follows sees other cells than the store yields.
func (p *pushdown) close() {
	p.columns, p.times, p.versions, p.values, p.perRow = false, false, false, false, false
}

// A pushedFilter is a filter that the store evaluates, and as what.
type pushedFilter struct {
	filter Filter
	as     string
}

func (f pushedFilter) String() string { return f.filter.String() + " as " + f.as }

func (p *pushdown) note(f Filter, as string) {
	p.spec.pushed = append(p.spec.pushed, pushedFilter{f, as})
}

func (p *pushdown) takeRegex(f *regexFilter) bool {
	stems := f.re.stems
	switch f.of {
	case ofRowKey:
		if !p.rows || !stems.bounded() {
			return p.rows && stems.whole // of everything, nothing is left to do
		}
		p.spec.rows = cf.IntersectRanges(p.spec.rows, stems.rows())
		p.note(f, "rows"+again(stems.whole))
		return stems.whole
	case ofFamily:
		return p.takeColumns(f, "families", true)
	case ofQualifier:
		if !stems.bounded() {
			if !stems.whole {
				p.perRow = false
			}
			return stems.whole
		}
		return p.takeColumns(f, "qualifiers", stems.whole)
	}
	p.versions, p.perRow = false, false
	return false
}

func again(whole bool) string {
	if whole {
		return ""
	}
	return ", and tested again"
}

// takeColumns notes a filter of columns, which narrow already has.
func (p *pushdown) takeColumns(f Filter, as string, whole bool) bool {
	if !p.columns {
		p.perRow = false
		return false
	}
	if !whole {
		p.perRow = false
	}
	p.note(f, as+again(whole))
	return whole
}

func (p *pushdown) takeTimes(f *timestampRangeFilter) bool {
	if !p.times {
		p.versions, p.perRow = false, false
		return false
	}
	s := p.spec
	s.since = max(s.since, f.since)
	if f.until != 0 && (s.until == 0 || f.until < s.until) {
		s.until = f.until
	}
	s.nothing = s.nothing || s.until != 0 && s.since >= s.until
	p.note(f, "time range")
	return true
}

// takeValues has the store leave cells out whose values are not in the range. The
// rows of such cells come all the same, for those who want to know them, so that the
// filter stays.
func (p *pushdown) takeValues(f *valueRangeFilter) {
	p.versions, p.perRow = false, false
	if p.values && p.spec.values == nil {
		p.spec.values = &f.span
		p.note(f, "values"+again(false))
	}
}

func (p *pushdown) takeCount(f countFilter) bool {
	switch {
	case f.of == columnLimit && p.versions:
		p.spec.versions = least(p.spec.versions, f.n)
		p.times = false
		p.note(f, "versions")
		return true
	case f.of == columnLimit:
		p.times, p.values, p.perRow = false, false, false
		return false
	case f.of == rowLimit && p.perRow:
		p.spec.cellsPerRow = least(p.spec.cellsPerRow, f.n)
		p.close()
		p.perRow = true
		p.note(f, "cells per row")
		return true
	}
	p.close()
	return false
}

// least is the smaller of two limits, of which the first may be 0 for none.
func least(limit, n int) int {
	if limit == 0 {
		return n
	}
	return min(limit, n)
}

func (p *pushdown) takeConstant(f constantFilter) bool {
	switch f.name {
	case passAll:
		return true
	case blockAll:
		if p.rows {
			p.spec.nothing = true
			p.note(f, "no rows")
			return true
		}
		p.close()
	case sink:
		p.close()
		p.rows = false
	case stripValue:
		p.values = false
	}
	return false
}

// A columnSet is qualifiers of families; nil ranges are all of a family. The nil set
// is all columns.
type columnSet map[*familyInfo][]cf.Range

func (s columnSet) isEmpty() bool { return s != nil && len(s) == 0 }

func (s columnSet) intersect(t columnSet) columnSet {
	if s == nil {
		return t
	}
	if t == nil {
		return s
	}
	both := columnSet{}
	for f, a := range s {
		b, ok := t[f]
		switch {
		case !ok:
		case a == nil:
			both[f] = b
		case b == nil:
			both[f] = a
		default:
			if q := cf.IntersectRanges(a, b); len(q) > 0 {
				both[f] = q
			}
		}
	}
	return both
}

func (s columnSet) union(t columnSet) columnSet {
	if s == nil || t == nil {
		return nil
	}
	either := columnSet{}
	for f, a := range s {
		either[f] = a
	}
	for f, b := range t {
		a, ok := either[f]
		switch {
		case !ok:
			either[f] = b
		case a == nil || b == nil:
			either[f] = nil
		default:
			either[f] = cf.MergeRanges(slices.Concat(a, b))
		}
	}
	return either
}

// needs are the columns without which a filter would do the same: it drops all
// other cells before they have an effect.
func needs(f Filter, info *tableInfo) columnSet {
	switch f := f.(type) {
	case *regexFilter:
		return f.needs(info)
	case *columnRangeFilter:
		return f.needs(info)
	case constantFilter:
		if f.name == blockAll {
			return columnSet{}
		}
	case chainFilter:
		return chainNeeds(f, info)
	case interleaveFilter, *conditionFilter:
		either := columnSet{}
		for _, sub := range f.subs() {
			either = either.union(needs(sub, info))
		}
		return either
	}
	return nil
}

// chainNeeds narrows by each filter up to one after which columns matter that
// are dropped later.
func chainNeeds(f Filter, info *tableInfo) columnSet {
	var all columnSet
	for _, sub := range flatten(nil, f) {
		all = all.intersect(needs(sub, info))
		if !columnwise(sub) {
			break
		}
	}
	return all
}

// columnwise reports whether what a filter does to a column does not depend on
// other columns being there.
func columnwise(f Filter) bool {
	switch f := f.(type) {
	case chainFilter, interleaveFilter, *conditionFilter:
		return false
	case countFilter:
		return f.of == columnLimit
	case constantFilter:
		return f.name != sink
	}
	return true
}

func (f *regexFilter) needs(info *tableInfo) columnSet {
	if f.of != ofFamily && (f.of != ofQualifier || !f.re.stems.bounded()) {
		return nil
	}
	var qualifiers []cf.Range
	if f.of == ofQualifier {
		qualifiers = f.re.stems.qualifiers()
	}
	needed := columnSet{}
	for _, fam := range info.families {
		if f.of == ofQualifier && len(qualifiers) > 0 || f.of == ofFamily && f.re.matches(fam.name) {
			needed[fam] = qualifiers
		}
	}
	return needed
}

func (f *columnRangeFilter) needs(info *tableInfo) columnSet {
	fam, err := info.family(f.family)
	q := f.span.qualifiers()
	if err != nil || q.Empty() {
		return columnSet{}
	}
	return columnSet{fam: {q}}
}

// valuesOf is the values of a family's cells that can pass, as the store has them:
// those of any type whose raw bytes are in the span, and what is no value, which the
// read finds out. What aggregates is not stored as it is read.
func (r *readSpec) valuesOf(f *familyInfo) []cf.Range {
	if r.values == nil || f.aggregate != schema.NoAggregate {
		return nil
	}
	q := r.values.qualifiers()
	tagged := func(t cells.Type, bytes string) string { return string([]byte{byte(t)}) + bytes }
	ranges := []cf.Range{{End: tagged(cells.TypeBytes, "")}}
	for t := cells.TypeBytes; t <= cells.TypeF64; t++ {
		v := cf.Range{Start: tagged(t, q.Start), End: tagged(t, q.End)}
		if q.End == "" {
			v.End = tagged(t+1, "")
		}
		if r.eightBytes && (t == cells.TypeI32 || t == cells.TypeByte) { // they are stored in fewer, and left to the filter
			v = cf.Range{Start: tagged(t, ""), End: tagged(t+1, "")}
		}
		if v.Start < v.End {
			ranges = append(ranges, v)
		}
	}
	return append(ranges, cf.Range{Start: tagged(cells.TypeF64+1, "")})
}

// qualifiers is the span as a range.
func (s span) qualifiers() cf.Range {
	q := cf.Range{Start: s.from.at, End: s.to.at}
	if s.from.open {
		q.Start += "\x00"
	}
	if s.to.set && !s.to.open {
		q.End += "\x00"
	}
	if s.to.set && q.End == "" { // nothing is less
		return cf.Range{Start: "\x00", End: "\x00"}
	}
	return q
}
