package exec

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"math"
	"math/big"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/internal/humanize"
	"github.com/smolwc/smolwc/ql"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/schema"
)

func (r *Runner) aggregate(ctx context.Context, st *ql.Aggregate) (Result, error) {
	of, err := r.aggregateReading(st)
	if err != nil {
		return nil, err
	}
	return of.draw(ctx, of.opts)
}

func (r *Runner) aggregateReading(st *ql.Aggregate) (*reading, error) {
	t, err := r.table(st.Table)
	if err != nil {
		return nil, err
	}
	want, every, err := aggregated(t, st)
	if err != nil {
		return nil, err
	}
	opts, err := r.readOptions(t, st.Rows, want)
	if err != nil {
		return nil, err
	}
	opts = append(opts, read.Lend())
	if every {
		opts = append(opts, read.EveryRow())
	}
	inParts := r.DB != nil && addsExactly(t, st) && want.Limit == 0 && want.Offset == 0
	return &reading{table: r.Database().Table(t.Name), schema: t, opts: opts, draw: func(ctx context.Context, opts []read.Option) (*Listing, error) {
		return r.group(ctx, t, st, inParts, opts)
	}}, nil
}

// group reads the rows and groups them, in parts of the table if the figures allow that and
// there is memory for it.
func (r *Runner) group(ctx context.Context, t schema.Table, st *ql.Aggregate, inParts bool, opts []read.Option) (*Listing, error) {
	if inParts {
		g, err := groupParts(ctx, r.DB.Table(t.Name), newGrouping(st, t), opts)
		if err == nil {
			return g.listing()
		}
		if query.KindOf(err) != query.KindResourceExhausted {
			return nil, err
		}
	}
	g := newGrouping(st, t)
	if err := g.addAll(r.Database().Table(t.Name).ReadRows(ctx, opts...)); err != nil {
		return nil, err
	}
	return g.listing()
}

// addsExactly reports whether the figures do not depend on the order in which rows are
// added: sums of floating-point numbers do.
func addsExactly(t schema.Table, st *ql.Aggregate) bool {
	return !slices.ContainsFunc(st.Of, func(f ql.Figure) bool {
		of, _ := t.Family(f.Column.Family)
		return (f.Func == "sum" || f.Func == "avg") && of.Type != cells.TypeI64 && of.Type != cells.TypeI32 && of.Type != cells.TypeByte
	})
}

// groupParts groups parts of the table on all processors, and merges their groups into g
// in key order. Several parts may have the same group: they may need more memory than one
// grouping of all rows.
func groupParts(ctx context.Context, t *query.Table, g *grouping, opts []read.Option) (*grouping, error) {
	var mu sync.Mutex
	parts := map[int]*grouping{}
	err := t.ReadPartsParallel(ctx, 0, func(_ context.Context, part int, rows iter.Seq2[*query.Row, error]) error {
		own := newGrouping(g.st, g.table)
		own.held = g.held
		if err := own.addAll(rows); err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		parts[part] = own
		return nil
	}, opts...)
	for _, part := range slices.Sorted(maps.Keys(parts)) {
		g.merge(parts[part])
	}
	return g, err
}

// aggregated selects the columns of the figures and groups. every says that rows
// without the columns count too.
func aggregated(t schema.Table, st *ql.Aggregate) (want ql.Read, every bool, err error) {
	want = st.Read
	want.Versions = 1
	whole := false // all cells of a row count
	for _, f := range st.Of {
		every = every || f.Column.Family == ""
		if f.Func == "cells" {
			want.Versions = ql.Unlimited
			whole = whole || f.Column.Family == ""
		}
		want.Columns = appendColumn(want.Columns, f.Column)
	}
	for _, k := range st.By {
		every = every || k.Part != 0
		want.Columns = appendColumn(want.Columns, k.Column)
	}
	for _, c := range want.Columns {
		if _, err := column(t, c); err != nil {
			return want, every, err
		}
	}
	switch {
	case whole:
		want.Columns = nil
	case len(want.Columns) == 0:
		want.KeysOnly = true
	case every && (st.Regex != nil || st.Sample != 0): // a filter sees whole rows
		want.Columns = nil
	case every && !slices.ContainsFunc(want.Columns, func(c ql.Column) bool { return needs(&want, c) }):
		return want, true, nil
	}
	return want, false, nil
}

// needs reports whether only rows with the column satisfy the conditions. Conditions are
// about the newest cell, which a time range may hide.
func needs(want *ql.Read, c ql.Column) bool {
	return want.Since == nil && want.Until == nil && c.Kind == ql.ColumnExact && slices.ContainsFunc(want.Where, func(w ql.Condition) bool {
		return w.Op != "and" && w.Op != "or" && w.Op != "absent" && !(w.Not && w.Op == "exists") &&
			w.Column.Family == c.Family && w.Column.Qualifier == c.Qualifier
	})
}

func appendColumn(columns []ql.Column, c ql.Column) []ql.Column {
	if c.Family == "" || slices.ContainsFunc(columns, func(o ql.Column) bool { return columnSpec(o) == columnSpec(c) }) {
		return columns
	}
	return append(columns, c)
}

// A grouping computes the figures of groups, by their rows' keys.
type grouping struct {
	st     *ql.Aggregate
	table  schema.Table
	groups map[string]*group
	let    int    // groups that are not among the largest, and are no longer held
	key    []byte // scratch
	rows   int64
	others []int64 // of each sum and avg, the cells that are not numbers
	held   *held   // by all parts of a table
}

// A held counts the memory of groupings.
type held struct {
	groups, bytes atomic.Int64 // bytes of keys and distinct values
}

func newGrouping(st *ql.Aggregate, t schema.Table) *grouping {
	return &grouping{st: st, table: t, groups: map[string]*group{}, others: make([]int64, len(st.Of)), held: new(held)}
}

// A group is the figures of some rows.
type group struct {
	by   []cells.Value // the zero value for nothing
	sums []figure
}

// The bounds of a grouping's memory.
const (
	maxGroups     = 1_000_000
	maxGroupBytes = 256 << 20
	groupBytes    = 128 // about, of a group or a distinct value besides its bytes
)

// hold counts more groups and bytes.
func (g *grouping) hold(groups, bytes int) error {
	if g.held.groups.Add(int64(groups)) > maxGroups || g.held.bytes.Add(int64(bytes)) > maxGroupBytes {
		return &query.Error{Op: "aggregate", Table: g.st.Table.Text, Kind: query.KindResourceExhausted,
			Err: fmt.Errorf("more than %d groups, or %d MiB of them and of distinct values; narrow the rows, or group by less", maxGroups, maxGroupBytes>>20)}
	}
	return nil
}

func (g *grouping) addAll(rows iter.Seq2[*query.Row, error]) error {
	for row, err := range rows {
		if err == nil {
			err = g.add(row)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// merge takes the groups of the rows that come next.
func (g *grouping) merge(part *grouping) {
	g.rows += part.rows
	g.let += part.let
	for i, n := range part.others {
		g.others[i] += n
	}
	for name, of := range part.groups {
		in := g.groups[name]
		if in == nil {
			g.letGo()
			g.groups[name] = of
			continue
		}
		for i := range in.sums {
			in.sums[i].merge(&of.sums[i], g.st.Of[i])
		}
	}
}

func (g *grouping) add(row *query.Row) error {
	g.rows++
	g.key = g.key[:0]
	for _, k := range g.st.By {
		g.key = appendField(g.key, groupValue(row, k))
	}
	in := g.groups[string(g.key)]
	if in == nil {
		in = &group{sums: make([]figure, len(g.st.Of))}
		for _, k := range g.st.By {
			in.by = append(in.by, kept(groupValue(row, k)))
		}
		name := string(g.key)
		g.letGo()
		g.groups[name] = in
		if err := g.hold(1, len(name)+len(in.sums)*groupBytes); err != nil {
			return err
		}
	}
	for i, f := range g.st.Of {
		switch {
		case f.Func == "cells":
			in.sums[i].n += countCells(row, f.Column)
			continue
		case f.Column.Family == "":
			in.sums[i].n++
			continue
		}
		if c, ok := row.Cell(f.Column.Family, f.Column.Qualifier); ok {
			if (f.Func == "sum" || f.Func == "avg") && !c.Value.Type().Numeric() {
				g.others[i]++
				continue
			}
			if err := g.count(&in.sums[i], f, c.Value); err != nil {
				return err
			}
		}
	}
	return nil
}

// countCells counts the cells of a column of a row, of several columns of a family, or all
// of them.
func countCells(row *query.Row, c ql.Column) (n int64) {
	if c.Family == "" {
		return int64(row.Len())
	}
	if c.Kind == ql.ColumnExact {
		for range row.Versions(c.Family, c.Qualifier) {
			n++
		}
		return n
	}
	of := columnSpec(c).Qualifiers()
	for cell := range row.Cells() {
		if cell.Family == c.Family && of.Contains(cell.Qualifier) {
			n++
		}
	}
	return n
}

// letGo forgets groups that are complete and are not among those that top shows: each
// row is a group where rows are grouped by their keys.
func (g *grouping) letGo() {
	if g.st.Top == 0 || len(g.groups) < 4*g.st.Top+1000 || !slices.ContainsFunc(g.st.By, func(k ql.GroupKey) bool { return k.Part == ql.WholeKey }) {
		return
	}
	all := g.sorted()
	g.let += len(all) - g.st.Top
	for _, in := range all[g.st.Top:] {
		g.key = g.key[:0]
		for _, v := range in.by {
			g.key = appendField(g.key, v)
		}
		delete(g.groups, string(g.key))
		_ = g.hold(-1, -len(g.key)-len(in.sums)*groupBytes) // giving back never fails
	}
}

// groupValue is a row's value for grouping; the zero Value if there is nothing.
func groupValue(row *query.Row, k ql.GroupKey) cells.Value {
	switch {
	case k.Part == ql.WholeKey:
		return cells.Bytes([]byte(row.Key()))
	case k.Part > 0:
		v, _ := read.KeyPart(row.Key(), k.Part)
		return v
	}
	c, _ := row.Cell(k.Column.Family, k.Column.Qualifier)
	return c.Value
}

// appendField appends a value so that equal numbers of any type are equal bytes.
func appendField(b []byte, v cells.Value) []byte {
	if !v.Type().Valid() {
		return append(b, 0)
	}
	v = plainNumber(v)
	at := len(b)
	b = append(b, 0, 0, 0, 0)
	b = cells.AppendValue(b, v)
	n := len(b) - at - 4
	b[at], b[at+1], b[at+2], b[at+3] = byte(n>>24), byte(n>>16), byte(n>>8), byte(n)
	return b
}

// plainNumber is a number as an i64 if it is whole, else as an f64.
func plainNumber(v cells.Value) cells.Value {
	if n, ok := v.Int(); ok {
		return cells.I64(n)
	}
	f, ok := v.Float()
	switch {
	case !ok:
		return v
	case f == math.Trunc(f) && math.Abs(f) < 1<<63:
		return cells.I64(int64(f))
	case f != f:
		return cells.F64(math.NaN())
	}
	return cells.F64(f)
}

// kept is a value that does not share the memory of a row.
func kept(v cells.Value) cells.Value {
	if !v.Type().Valid() {
		return v
	}
	copied, err := cells.DecodeValue(cells.AppendValue(nil, v))
	if err != nil { // a value of a row is right
		return v
	}
	return copied
}

// A figure is a sum under way.
type figure struct {
	n           int64 // rows, or cells that count
	whole, high int64 // the sum of integers, of 128 bits
	real        float64
	isReal      bool
	extreme     cells.Value
	distinct    map[string]struct{}
}

// merge takes the figure of the rows that come next.
func (f *figure) merge(next *figure, of ql.Figure) {
	switch {
	case next.n == 0:
		return
	case of.Func == "min" || of.Func == "max":
		f.bound(of, next.extreme)
	}
	f.n += next.n
	f.addWhole(next.whole)
	f.high += next.high
	f.real, f.isReal = f.real+next.real, f.isReal || next.isReal
	if f.distinct == nil {
		f.distinct = next.distinct
	} else {
		maps.Copy(f.distinct, next.distinct)
		f.n = int64(len(f.distinct))
	}
}

// bound keeps a value if it is the extreme. The extreme of numbers is NaN if one of them
// is: it must not depend on their order.
func (f *figure) bound(of ql.Figure, v cells.Value) {
	order := cells.Order(v, f.extreme)
	numbers := v.Type().Numeric() && f.extreme.Type().Numeric()
	if of.Func == "max" && !(numbers && isNaN(v) != isNaN(f.extreme)) { // a NaN is less than every other number
		order = -order
	}
	if f.n == 0 || order < 0 {
		f.extreme = kept(v)
	}
}

func isNaN(v cells.Value) bool {
	f, ok := v.Float()
	return ok && f != f
}

// addWhole adds an integer. The sum of all is exact.
func (f *figure) addWhole(n int64) {
	sum := f.whole + n
	if n >= 0 && sum < f.whole {
		f.high++
	} else if n < 0 && sum > f.whole {
		f.high--
	}
	f.whole = sum
}

// sum is the sum of all numbers.
func (f *figure) sum() float64 {
	if f.high == 0 {
		return f.real + float64(f.whole)
	}
	exact := new(big.Int).Lsh(big.NewInt(f.high), 64)
	whole, _ := new(big.Float).SetInt(exact.Add(exact, big.NewInt(f.whole))).Float64()
	return f.real + whole
}

func (g *grouping) count(f *figure, of ql.Figure, v cells.Value) error {
	switch of.Func {
	case "sum", "avg":
		f.add(v)
		return nil
	case "min", "max":
		f.bound(of, v)
	case "distinct":
		g.key = appendField(g.key[:0], v)
		if _, known := f.distinct[string(g.key)]; known {
			return nil
		}
		if f.distinct == nil {
			f.distinct = map[string]struct{}{}
		}
		f.distinct[string(g.key)] = struct{}{}
		if err := g.hold(0, len(g.key)+groupBytes/2); err != nil {
			return err
		}
	}
	f.n++
	return nil
}

func (f *figure) add(v cells.Value) {
	if n, ok := v.Int(); ok {
		f.n++
		f.addWhole(n)
	} else if x, ok := v.Float(); ok {
		f.n, f.isReal = f.n+1, true
		f.real += x
	}
}

// result is the figure as a field of a listing.
func (f *figure) result(of ql.Figure) any {
	switch of.Func {
	case "count", "cells", "distinct":
		return f.n
	case "min", "max":
		return field(f.extreme)
	}
	switch {
	case f.n == 0:
		return nil
	case of.Func == "avg":
		return f.sum() / float64(f.n)
	case f.isReal:
		return f.sum()
	}
	return f.whole
}

// field is a value as a field of a listing.
func field(v cells.Value) any {
	if !v.Type().Valid() {
		return nil
	}
	if n, ok := v.Int(); ok {
		return n
	}
	if x, ok := v.Float(); ok {
		return x
	}
	if b, ok := v.AsBool(); ok {
		return Word(fmt.Sprint(b))
	}
	return v
}

func (g *grouping) listing() (*Listing, error) {
	st := g.st
	l := &Listing{Format: st.Format}
	for _, k := range st.By {
		l.Columns = append(l.Columns, k.String())
	}
	for _, f := range st.Of {
		l.Columns = append(l.Columns, f.String())
	}
	if len(st.By) == 0 && len(g.groups) == 0 {
		g.groups[""] = &group{sums: make([]figure, len(st.Of))}
	}
	if err := g.check(); err != nil {
		return nil, err
	}
	all := g.sorted()
	shown := all
	if st.Top > 0 {
		shown = all[:min(st.Top, len(all))]
	}
	for _, in := range shown {
		var line []any
		for i, v := range in.by {
			if key, ok := v.AsBytes(); ok && st.By[i].Part == ql.WholeKey {
				line = append(line, ql.QuoteRowKey(g.table, string(key)))
			} else {
				line = append(line, field(v))
			}
		}
		for i, f := range st.Of {
			line = append(line, in.sums[i].result(f))
		}
		l.Lines = append(l.Lines, line)
	}
	if len(st.By) > 0 {
		note := fmt.Sprintf("%s in %s", humanize.Count(g.rows, "row"), humanize.Count(len(all)+g.let, "group"))
		if hidden := len(all) + g.let - len(shown); hidden > 0 {
			note += fmt.Sprintf("; %d not shown", hidden)
		}
		l.Notes = []string{note}
	}
	for i, of := range st.Of {
		if n := g.others[i]; n > 0 {
			l.Notes = append(l.Notes, fmt.Sprintf("%s leaves out %s without a number", of, humanize.Count(n, "cell")))
		}
	}
	return l, nil
}

// check finds sums that are too large.
func (g *grouping) check() error {
	for i, of := range g.st.Of {
		for _, in := range g.groups {
			if f := &in.sums[i]; of.Func == "sum" && f.high != 0 && !f.isReal {
				return errorAt(fmt.Errorf("the sum of %s does not fit an i64", of.Column), of.Column.Pos)
			}
		}
	}
	return nil
}

// sorted returns the groups in the order in which they are shown.
func (g *grouping) sorted() []*group {
	st := g.st
	all := make([]*group, 0, len(g.groups))
	for _, in := range g.groups {
		all = append(all, in)
	}
	slices.SortFunc(all, func(a, b *group) int {
		if st.Top > 0 {
			if order := compareFields(b.sums[st.TopBy].result(st.Of[st.TopBy]), a.sums[st.TopBy].result(st.Of[st.TopBy])); order != 0 {
				return order
			}
		}
		return slices.CompareFunc(a.by, b.by, cells.Order)
	})
	return all
}

// compareFields orders the fields of one figure; an empty one is the least.
func compareFields(a, b any) int { return cells.Order(fieldValue(a), fieldValue(b)) }

func fieldValue(f any) cells.Value {
	switch f := f.(type) {
	case int64:
		return cells.I64(f)
	case float64:
		return cells.F64(f)
	case Word:
		return cells.Bool(f == "true")
	case cells.Value:
		return f
	}
	return cells.Value{}
}
