package views

import (
	"context"
	"math"
	"slices"
	"strings"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/sql"
)

// A Bounded is a query that reads at most its budget.
type Bounded struct {
	*sql.Result // its rows end with an error of the kind KindResourceExhausted beyond the budget
	Estimate    sql.Amount
	Meter       *sql.Meter
	Plan        *sql.Plan
}

// Bounded is [Views.Query] of a query that was parsed, with an estimate of its reads. If that
// is over the budget, the error is of the kind KindResourceExhausted, and the [Bounded] has no
// Result. The query writes no temporary files.
func (v *Views) Bounded(ctx context.Context, q *sql.Query, b sql.Budget, params ...sql.Param) (*Bounded, error) {
	const op = "query"
	st, plan, err := v.planned(ctx, q, params, true)
	if err != nil {
		return nil, named(op, err)
	}
	bounded := &Bounded{Meter: &sql.Meter{Budget: b}, Plan: plan}
	if bounded.Estimate, err = v.Estimate(ctx, st, plan, b); err == nil {
		err = b.Refuse(bounded.Estimate)
	}
	if err != nil {
		return bounded, named(op, err)
	}
	bounded.Result = v.result(ctx, st, plan, bounded.Meter)
	return bounded, nil
}

// Estimate is about how much a query reads, rather too much than too little. It reads some hundred
// rows of each table; if the figures of the files are over the budget, and the query reads a
// part of a table, it reads that part. All that it reads is little more than the budget.
func (v *Views) Estimate(ctx context.Context, st *Statement, plan *sql.Plan, b sql.Budget) (sql.Amount, error) {
	return v.estimate(ctx, st, plan, &judging{budget: b})
}

// A judging counts the reads of all estimates of a query.
type judging struct {
	budget sql.Budget
	read   sql.Amount
}

// spent reports whether estimates shall read no more than a row of each place.
func (j *judging) spent() bool {
	const samples = 16
	most := sql.Budget{Rows: j.budget.Rows + min(samples*sampledRows, math.MaxInt64-j.budget.Rows), Bytes: j.budget.Bytes + min(samples*sampledBytes, math.MaxInt64-j.budget.Bytes)}
	return most.Over(j.read)
}

func (v *Views) estimate(ctx context.Context, st *Statement, plan *sql.Plan, j *judging) (sql.Amount, error) {
	stored := map[string]string{}
	for _, r := range st.Reads {
		stored[r.Name] = r.Table.Stored
	}
	var stats *query.Stats
	return plan.Estimate(ctx, func(ctx context.Context, table string, opts []read.Option) (sql.Amount, error) {
		r, err := read.New(opts...)
		if err != nil {
			return sql.Amount{}, err
		}
		s := sizing{t: v.db.Table(stored[table]), want: *r, judging: j}
		return s.size(ctx, func() ([]query.FamilyStats, error) {
			if stats == nil {
				if stats, err = v.db.Stats(ctx); err != nil {
					return nil, err
				}
			}
			return stats.Table(stored[table]), nil
		})
	})
}

const (
	sampledRows   = 256
	sampledBytes  = 1 << 20
	sampledPlaces = 4
)

// A sizing estimates a read of a table.
type sizing struct {
	t    *query.Table
	want read.Request
	*judging

	least, most string // the first and the last of the rows that first has read
}

func (s *sizing) size(ctx context.Context, figures func() ([]query.FamilyStats, error)) (sql.Amount, error) {
	a, err := s.first(ctx, sql.Budget{Rows: sampledRows, Bytes: sampledBytes})
	if err != nil || a.Exact {
		return a, err
	}
	families, err := figures()
	if err != nil {
		return a, err
	}
	samples, err := s.t.SampleRowKeys(ctx)
	if err != nil {
		return a, err
	}
	var seen sql.Amount
	var ofSeen int64 // cells
	for place := range sampledPlaces {
		from := s.least
		if place > 0 {
			from = samples[place*(len(samples)-1)/sampledPlaces].Key
		}
		more, cells, err := s.sample(ctx, from)
		if err != nil {
			return a, err
		}
		seen.Rows, seen.Bytes, ofSeen = seen.Rows+more.Rows, seen.Bytes+more.Bytes, ofSeen+cells
	}
	share, whole := shareOf(samples, s.want.RowRanges())
	var cells, bytes float64
	for _, f := range families {
		cells += share * float64(f.Cells())
		if of := func(c read.ColumnSpec) bool { return c.Family == f.Family }; !s.want.KeysOnly && (len(s.want.Columns) == 0 || slices.ContainsFunc(s.want.Columns, of)) {
			bytes += share * float64(f.Bytes())
		}
	}
	if ofSeen > 0 && seen.Rows > 0 {
		a.Rows = max(a.Rows, int64(math.Ceil(cells*float64(seen.Rows)/float64(ofSeen))))
		a.Bytes = int64(math.Ceil(float64(a.Rows) * float64(seen.Bytes) / float64(seen.Rows)))
	}
	a.Bytes = max(a.Bytes, int64(bytes))
	if limit := int64(s.want.Limit); limit > 0 && limit < a.Rows {
		a.Bytes = int64(float64(a.Bytes) * float64(limit) / float64(a.Rows))
		a.Rows = limit
	}
	if s.budget.Over(a) && !whole {
		if found, err := s.first(ctx, s.budget); err != nil || found.Exact {
			return found, err
		}
	}
	return a, nil
}

// sample reads some rows from a key on, and counts all their cells, also of other columns.
func (s *sizing) sample(ctx context.Context, from string) (a sql.Amount, cells int64, err error) {
	ranges := cf.IntersectRanges(s.want.RowRanges(), []cf.Range{{Start: from}})
	if len(ranges) == 0 {
		return a, 0, nil
	}
	part := sizing{t: s.t, want: s.want, judging: s.judging}
	part.want.Rows, part.want.Limit, part.want.Reverse = ranges, 0, false
	if a, err = part.first(ctx, sql.Budget{Rows: sampledRows / sampledPlaces, Bytes: sampledBytes}); err != nil || a.Rows == 0 {
		return a, 0, err
	}
	var cost read.Cost
	these := read.RowSet{Ranges: cf.IntersectRanges(ranges, []cf.Range{{Start: part.least, End: part.most + "\x00"}})}
	_, err = s.t.Count(ctx, these, read.ReportCost(&cost))
	return a, cost.CellsScanned, err
}

// first reads the first rows, up to a bound. The amount is exact if these are all.
func (s *sizing) first(ctx context.Context, bound sql.Budget) (a sql.Amount, err error) {
	limit := bound.Rows + 1
	if s.want.Limit > 0 {
		limit = min(limit, int64(s.want.Limit))
	}
	for row, err := range s.t.ReadRows(ctx, &s.want, read.Limit(int(limit)), read.Lend()) {
		if err != nil {
			return a, err
		}
		key := strings.Clone(row.Key())
		if s.most = max(s.most, key); a.Rows == 0 {
			s.least = key
		}
		s.least = min(s.least, key)
		bytes := sql.RowBytes(row)
		a.Rows, s.read.Rows = a.Rows+1, s.read.Rows+1
		a.Bytes, s.read.Bytes = a.Bytes+bytes, s.read.Bytes+bytes
		if bound.Over(a) || s.spent() {
			return a, nil
		}
	}
	a.Exact = true
	return a, ctx.Err()
}

// shareOf is the share of a table, by bytes, of ranges of rows. A part that a bound cuts
// counts whole. whole says that the ranges are all rows.
func shareOf(samples []query.RowKeySample, ranges []cf.Range) (share float64, whole bool) {
	var within, before float64
	start := ""
	for _, s := range samples {
		size := float64(s.OffsetBytes) - before
		before = float64(s.OffsetBytes)
		part := cf.Range{Start: start, End: s.Key}
		if start = s.Key; len(cf.IntersectRanges(ranges, []cf.Range{part})) > 0 {
			within += size
		}
	}
	whole = len(ranges) == 1 && ranges[0] == cf.Range{}
	if before == 0 {
		return 1, whole
	}
	return within / before, whole
}
