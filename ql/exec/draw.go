package exec

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/internal/humanize"
	"github.com/smolwc/smolwc/ql"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/schema"
	"github.com/smolwc/smolwc/tuple"
)

// The default numbers of bins and points.
const (
	defaultBins   = 20
	defaultPoints = 60
)

func (r *Runner) histogram(ctx context.Context, st *ql.Histogram) (Result, error) {
	reading, err := r.reading(st)
	if err != nil {
		return nil, err
	}
	return reading.draw(ctx, reading.opts)
}

func (r *Runner) histogramReading(st *ql.Histogram) (*reading, error) {
	t, err := r.table(st.Table)
	if err != nil {
		return nil, err
	}
	want := st.Read
	if st.Column.Family == "" {
		want.KeysOnly = true
	} else {
		want.Columns = []ql.Column{st.Column}
		want.Versions = cmp.Or(want.Versions, 1)
	}
	opts, err := r.readOptions(t, st.Rows, want)
	if err != nil {
		return nil, err
	}
	res := &reading{table: r.Database().Table(t.Name), schema: t, opts: opts}
	res.draw = func(ctx context.Context, opts []read.Option) (*Listing, error) {
		if st.Column.Family == "" {
			return keyHistogram(ctx, res.table, t, st, opts)
		}
		if st.Times {
			return timeHistogram(ctx, res.table, st, opts, r.Zone)
		}
		return columnHistogram(ctx, res.table, st, opts)
	}
	return res, nil
}

func columnHistogram(ctx context.Context, table Table, st *ql.Histogram, opts []read.Option) (*Listing, error) {
	var b decimalBins
	var others valueCounts
	rows := int64(0)
	for row, err := range table.ReadRows(ctx, opts...) {
		if err != nil {
			return nil, err
		}
		rows++
		for c := range row.Cells() {
			if b.add(c.Value); !c.Value.Type().Numeric() {
				others.add(c.Value)
			}
		}
	}
	if b.n == 0 && others.n > 0 {
		return others.listing(st, rows, b.notFinite), nil
	}
	l := &Listing{Columns: []string{"from", "to", "count"}, Format: st.Format, Bars: "count"}
	for _, bin := range b.bins(cmp.Or(st.Bins, defaultBins)) {
		l.Lines = append(l.Lines, []any{b.number(bin.From), b.number(bin.To), bin.Count})
	}
	note := fmt.Sprintf("%s in %s", humanize.Count(b.n, "number"), humanize.Count(rows, "row"))
	if b.n > 0 {
		note += fmt.Sprintf("; least %v, mean %.6g, greatest %v", b.number(b.least), b.sum/float64(b.n), b.number(b.most))
	}
	if b.notFinite > 0 {
		note += fmt.Sprintf("; %d more not finite", b.notFinite)
	}
	if b.notNumerical > 0 {
		note += "; " + humanize.Count(b.notNumerical, "value") + " of other types"
	}
	l.Notes = []string{note}
	return l, nil
}

// valueCounts counts the different values of a column that are not numbers.
type valueCounts struct {
	count map[string]int64 // by encoded value
	bytes int              // of the values
	n     int64            // all values
	past  int64            // values that came when no further ones could be held
}

func (v *valueCounts) add(value cells.Value) {
	v.n++
	key := cells.AppendValue(nil, value)
	if _, known := v.count[string(key)]; !known {
		if len(v.count) >= maxGroups/10 || v.bytes+len(key) > maxGroupBytes/4 {
			v.past++
			return
		}
		if v.count == nil {
			v.count = map[string]int64{}
		}
		v.bytes += len(key)
	}
	v.count[string(key)]++
}

// listing lists the most frequent values, in their order.
func (v *valueCounts) listing(st *ql.Histogram, rows, notFinite int64) *Listing {
	type counted struct {
		value cells.Value
		n     int64
	}
	var all []counted
	for key, n := range v.count {
		if value, err := cells.DecodeValue([]byte(key)); err == nil { // it was encoded before
			all = append(all, counted{value, n})
		}
	}
	byValue := func(a, b counted) int { return cells.Order(a.value, b.value) }
	slices.SortFunc(all, func(a, b counted) int { return cmp.Or(cmp.Compare(b.n, a.n), byValue(a, b)) })
	shown := all[:min(len(all), cmp.Or(st.Bins, defaultBins))]
	slices.SortFunc(shown, byValue)
	l := &Listing{Columns: []string{"value", "count"}, Format: st.Format, Bars: "count"}
	rest := v.n
	for _, c := range shown {
		l.Lines = append(l.Lines, []any{field(c.value), c.n})
		rest -= c.n
	}
	note := fmt.Sprintf("%s in %s, %d of them different", humanize.Count(v.n, "value"), humanize.Count(rows, "row"), len(all))
	if v.past > 0 {
		note = fmt.Sprintf("%s in %s, more than %d of them different", humanize.Count(v.n, "value"), humanize.Count(rows, "row"), len(all))
	}
	if rest > 0 {
		l.Lines = append(l.Lines, []any{nil, rest})
	}
	if notFinite > 0 {
		note += fmt.Sprintf("; %d numbers that are not finite", notFinite)
	}
	l.Notes = []string{note}
	return l
}

// number returns f as an int64 if only whole numbers were counted.
func (b *decimalBins) number(f float64) any {
	if b.whole == b.n && math.Abs(f) < 1<<53 {
		return int64(f)
	}
	return f
}

// A keyGroup is the rows whose keys have one prefix.
type keyGroup struct {
	prefix string
	rows   int64
}

// keyGroups counts rows by the prefixes of their keys. Rows come in key order, so a
// group is complete when the next one begins, and only the largest groups are kept in
// memory.
type keyGroups struct {
	largest []keyGroup
	groups  int   // number of groups found
	rows    int64 // of all groups
}

func (g *keyGroups) add(prefix string, most int) {
	g.rows++
	if n := len(g.largest) - 1; n >= 0 && g.largest[n].prefix == prefix {
		g.largest[n].rows++
		return
	}
	if len(g.largest) >= 4*most {
		g.shrink(most)
	}
	g.groups++
	g.largest = append(g.largest, keyGroup{strings.Clone(prefix), 1})
}

// shrink keeps the largest groups, in key order. Of groups of equal size the first are
// kept.
func (g *keyGroups) shrink(most int) {
	bySize := slices.Clone(g.largest)
	slices.SortStableFunc(bySize, func(a, b keyGroup) int { return cmp.Compare(b.rows, a.rows) })
	small := map[string]bool{}
	for _, group := range bySize[min(most, len(bySize)):] {
		small[group.prefix] = true
	}
	g.largest = slices.DeleteFunc(g.largest, func(group keyGroup) bool { return small[group.prefix] })
}

func keyHistogram(ctx context.Context, table Table, t schema.Table, st *ql.Histogram, opts []read.Option) (*Listing, error) {
	most := cmp.Or(st.Bins, defaultBins)
	part := keyParts(t, st)
	var g keyGroups
	for row, err := range table.ReadRows(ctx, opts...) {
		if err != nil {
			return nil, err
		}
		g.add(part(row.Key()), most)
	}
	g.shrink(most)
	l := &Listing{Columns: []string{"prefix", "rows"}, Format: st.Format, Bars: "rows"}
	others := g.rows
	for _, group := range g.largest {
		l.Lines = append(l.Lines, []any{ql.QuoteRowKey(t, group.prefix), group.rows})
		others -= group.rows
	}
	note := fmt.Sprintf("%s under %s", humanize.Count(g.rows, "row"), humanize.Count(g.groups, "prefix", "prefixes"))
	if small := g.groups - len(g.largest); small > 0 {
		l.Lines = append(l.Lines, []any{nil, others})
		note += "; the last line adds up " + humanize.Count(small, "smaller prefix", "smaller prefixes")
	}
	l.Notes = []string{note}
	return l, nil
}

// keyParts returns a function that returns the prefix of a key by which rows are
// counted: the first parts that end with the separator, or the first elements of a
// tuple.
func keyParts(t schema.Table, st *ql.Histogram) func(key string) string {
	separator := cmp.Or(st.Separator, "#")
	depth := cmp.Or(st.Depth, strings.Count(st.Prefix, separator)+1)
	plain := func(key string) string {
		end := 0
		for range depth {
			n := strings.Index(key[end:], separator)
			if n < 0 {
				return key
			}
			end += n + len(separator)
		}
		return key[:end]
	}
	if t.KeyFormat != schema.TupleKeys || st.Separator != "" {
		return plain
	}
	elements := st.Depth
	if before, err := tuple.Unpack([]byte(st.Prefix)); elements == 0 && err == nil {
		elements = len(before) + 1
	}
	elements = max(elements, 1)
	return func(key string) string {
		parsed, err := tuple.Unpack([]byte(key))
		if err != nil {
			return plain(key)
		}
		packed, err := parsed[:min(elements, len(parsed))].Pack()
		if err != nil {
			return plain(key)
		}
		return string(packed)
	}
}

func (r *Runner) sparkline(ctx context.Context, st *ql.Sparkline) (Result, error) {
	t, err := r.table(st.Table)
	if err != nil {
		return nil, err
	}
	if _, err := column(t, st.Column); err != nil {
		return nil, err
	}
	since, until, err := r.timeRange(st.Since, st.Until)
	if err != nil {
		return nil, err
	}
	opts := []read.Option{columnSpec(st.Column)}
	if since > 0 || until > 0 {
		opts = append(opts, read.TimeRange(since, until))
	}
	s := newSeries(cmp.Or(st.Points, defaultPoints))
	others := 0
	for c, err := range r.Database().Table(t.Name).ReadCells(ctx, st.Key, opts...) {
		if err != nil {
			return nil, err
		}
		if f, ok := number(c.Value); ok {
			s.add(c.Timestamp, f)
		} else {
			others++
		}
	}
	return s.listing(st, others, r.Zone), nil
}

// number returns a value of any type as a number; ok is false if it is not a finite
// number.
func number(v cells.Value) (float64, bool) {
	if n, ok := v.Int(); ok {
		return float64(n), true
	}
	f, ok := v.Float()
	return f, ok && !math.IsNaN(f) && !math.IsInf(f, 0)
}
