package plan

import (
	"slices"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/internal/bytere"
	"github.com/smolwc/smolwc/query/filter"
	"github.com/smolwc/smolwc/query/internal/catalog"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/schema"
)

// A pushdown turns filters of a chain into a request that the store evaluates. It takes
// the filters in their order; a filter that it cannot push goes to residual. A flag is
// true while a filter of its kind does the same at this place of the chain as in the
// store, and so can be pushed past the residual filters before it.
//
// The store applies columns, time range, versions, values and cells per row in this
// order, so a filter can be pushed only if no filter or option of a later stage was
// applied before.
type pushdown struct {
	spec     *Spec // a copy, narrowed
	info     *catalog.Table
	residual []filter.Filter

	rows     bool // no earlier filter sends cells to the result through a sink
	columns  bool // filters of whole columns
	times    bool // time ranges
	versions bool // limits of versions
	values   bool // ranges of values
	perRow   bool // limits of cells per row: the residual filters drop only whole rows
}

// push returns the read with its filter pushed down as far as possible without changing
// the result. The residual filter is the Filter of the returned Spec, which may share the
// plan's memory.
func (plan *Plan) push(info *catalog.Table, r *Spec) *Spec {
	if r.Filter == nil || r.Unpushed {
		return r
	}
	spec := plan.change(r)
	p := pushdown{spec: spec, info: info, rows: true, perRow: true,
		columns: r.CellsPerRow == 0, times: r.CellsPerRow == 0 && r.Versions == 0, versions: r.CellsPerRow == 0,
		values: r.CellsPerRow == 0 && len(r.Where) == 0}
	for _, f := range flatten(nil, r.Filter) {
		if p.columns {
			spec.narrow = spec.narrow.intersect(needs(f, info))
		}
		if !p.take(f) {
			p.residual = append(p.residual, f)
		}
		if p.spec.Nothing {
			p.residual = nil
			break
		}
	}
	spec.Filter = filter.ChainOf(p.residual...)
	if spec.Nothing = spec.Nothing || spec.narrow.isEmpty(); !spec.Nothing {
		return spec
	}
	if r.Rejected != nil {
		return r.lastRow()
	}
	spec.Ranges = nil
	return spec
}

// lastRow is a read of only the last row that returns nothing, for callers that need
// that row's key.
func (r *Spec) lastRow() *Spec {
	return &Spec{Request: read.Request{Columns: r.Columns, Reverse: !r.Reverse, KeysOnly: true, Rejected: r.Rejected, Cost: r.Cost},
		Ranges: r.Ranges, sample: r.sample, Limits: r.Limits, HasLimits: r.HasLimits, Nothing: true}
}

// flatten appends a filter, with chains replaced by their filters.
func flatten(all []filter.Filter, f filter.Filter) []filter.Filter {
	chain, ok := f.(filter.Chain)
	if !ok {
		return append(all, f)
	}
	all = slices.Grow(all, len(chain))
	for _, sub := range chain {
		all = flatten(all, sub)
	}
	return all
}

// take pushes a filter as far as possible. It returns true if the store evaluates all
// of it.
func (p *pushdown) take(f filter.Filter) bool {
	switch f := f.(type) {
	case filter.PassAll:
		return true
	case filter.BlockAll:
		return p.takeNothing(f)
	case filter.RowKey:
		return p.takeRows(f)
	case filter.Family:
		_, known := familiesOf(f, p.info)
		return p.takeColumns(f, "families", known)
	case filter.Column:
		return p.takeQualifiers(f)
	case filter.ColumnRange:
		return p.takeColumns(f, "qualifiers of "+f.Family, true)
	case filter.TimestampRange:
		return p.takeTimes(f)
	case filter.Latest:
		return p.takeVersions(f)
	case filter.CellsPerRowLimit:
		return p.takeCellsPerRow(f)
	case filter.ValueRange:
		p.takeValues(f)
	case filter.Value, filter.ValueCompare, filter.ValueBitmask:
		p.versions, p.perRow = false, false
	case filter.StripValue:
		p.values = false
	case filter.RowSample, filter.Label:
	default:
		p.close()
		p.rows = p.rows && !filter.Contains(f, isSink)
	}
	return false
}

func isSink(f filter.Filter) bool { _, ok := f.(filter.Sink); return ok }

// close ends the pushdown: the following filters see other cells than the store yields.
func (p *pushdown) close() {
	p.columns, p.times, p.versions, p.values, p.perRow = false, false, false, false, false
}

// A pushedFilter is a filter that the store evaluates, with the form in which the store
// gets it.
type pushedFilter struct {
	filter filter.Filter
	as     string
}

func (f pushedFilter) String() string { return f.filter.String() + " as " + f.as }

func (p *pushdown) note(f filter.Filter, as string) {
	p.spec.Pushed = append(p.spec.Pushed, pushedFilter{f, as})
}

// takeNothing makes the read empty, unless a sink before it sends cells to the result.
func (p *pushdown) takeNothing(f filter.Filter) bool {
	if !p.rows {
		p.close()
		return false
	}
	p.spec.Nothing = true
	p.note(f, "no rows")
	return true
}

func (p *pushdown) takeRows(f filter.RowKey) bool {
	stems := stemsOf(string(f))
	if !p.rows || !stems.Bounded() {
		return p.rows && stems.Whole // matches every key: nothing is left to do
	}
	p.spec.Ranges = cf.IntersectRanges(p.spec.Ranges, rangesOf(stems))
	p.note(f, "rows"+again(stems.Whole))
	return stems.Whole
}

func (p *pushdown) takeQualifiers(f filter.Column) bool {
	stems := stemsOf(string(f))
	if stems.Bounded() {
		return p.takeColumns(f, "qualifiers", stems.Whole)
	}
	if !stems.Whole {
		p.perRow = false
	}
	return stems.Whole
}

// stemsOf are the stems of an expression that filter.Check compiled.
func stemsOf(expr string) bytere.Stems { return bytere.MustCompile(expr).Stems() }

// rangesOf are the ranges of row keys or of qualifiers that begin with the stems.
func rangesOf(s bytere.Stems) []cf.Range {
	var ranges []cf.Range
	for _, e := range s.Exact {
		ranges = append(ranges, cf.Single(e))
	}
	for _, p := range s.Prefixes {
		ranges = append(ranges, cf.Prefix(p))
	}
	return cf.MergeRanges(ranges)
}

func again(whole bool) string {
	if whole {
		return ""
	}
	return ", and tested again"
}

// takeColumns notes a filter of columns, which the read's narrow already applied.
func (p *pushdown) takeColumns(f filter.Filter, as string, whole bool) bool {
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

func (p *pushdown) takeTimes(f filter.TimestampRange) bool {
	if !p.times {
		p.versions, p.perRow = false, false
		return false
	}
	s := p.spec
	s.Since = max(s.Since, f.Since)
	if f.Until != 0 && (s.Until == 0 || f.Until < s.Until) {
		s.Until = f.Until
	}
	s.Nothing = s.Nothing || s.Until != 0 && s.Since >= s.Until
	p.note(f, "time range")
	return true
}

// takeValues makes the store drop cells whose values are not in the range. The store
// still yields the rows of such cells, for callers that need their keys, so the filter
// stays residual.
func (p *pushdown) takeValues(f filter.ValueRange) {
	p.versions, p.perRow = false, false
	if p.values && p.spec.values == nil {
		p.spec.values = &f
		p.note(f, "values"+again(false))
	}
}

func (p *pushdown) takeVersions(f filter.Latest) bool {
	if !p.versions {
		p.times, p.values, p.perRow = false, false, false
		return false
	}
	p.spec.Versions = least(p.spec.Versions, int(f))
	p.times = false
	p.note(f, "versions")
	return true
}

func (p *pushdown) takeCellsPerRow(f filter.CellsPerRowLimit) bool {
	whole := p.perRow
	p.close()
	if !whole {
		return false
	}
	p.spec.CellsPerRow = least(p.spec.CellsPerRow, int(f))
	p.perRow = true
	p.note(f, "cells per row")
	return true
}

// least is the smaller of two limits. The first may be 0, which means no limit.
func least(limit, n int) int {
	if limit == 0 {
		return n
	}
	return min(limit, n)
}

// valuesOf are the ranges of encoded values in a family that can pass: values of any
// type whose raw bytes are in the span, and damaged values, which the read reports. It
// is nil for an aggregate, whose stored form differs from the value that is read.
func (r *Spec) valuesOf(f *catalog.Family) []cf.Range {
	if r.values == nil || f.Aggregate != schema.NoAggregate {
		return nil
	}
	q := spanOf(r.values.From, r.values.To)
	tagged := func(t cells.Type, bytes string) string { return string([]byte{byte(t)}) + bytes }
	ranges := []cf.Range{{End: tagged(cells.TypeBytes, "")}}
	for t := cells.TypeBytes; t <= cells.TypeF64; t++ {
		v := cf.Range{Start: tagged(t, q.Start), End: tagged(t, q.End)}
		if q.End == "" {
			v.End = tagged(t+1, "")
		}
		if r.WideIntegers && (t == cells.TypeI32 || t == cells.TypeByte) { // stored in fewer bytes: all pass, and the filter decides
			v = cf.Range{Start: tagged(t, ""), End: tagged(t+1, "")}
		}
		if v.Start < v.End {
			ranges = append(ranges, v)
		}
	}
	return append(ranges, cf.Range{Start: tagged(cells.TypeF64+1, "")})
}

// spanOf is the range of the strings between two bounds.
func spanOf(from, to filter.Bound) cf.Range {
	r := cf.Range{Start: from.At, End: to.At}
	if from.Open {
		r.Start += "\x00"
	}
	if to.Set && !to.Open {
		r.End += "\x00"
	}
	if to.Set && r.End == "" { // no string is less than ""
		return cf.Range{Start: "\x00", End: "\x00"}
	}
	return r
}
