package exec

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/smolwc/smolwc/ql"
	"github.com/smolwc/smolwc/ql/lex"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/schema"
	"github.com/smolwc/smolwc/tuple"
)

// A reading is a get, scan, count, histogram or aggregate that is ready to run.
type reading struct {
	table  Table
	schema schema.Table
	opts   []read.Option
	rows   *RowStream // of a get or scan
	count  *ql.Count
	// draw reads the rows of a histogram or an aggregate, and makes its lines.
	draw func(ctx context.Context, opts []read.Option) (*Listing, error)
}

// reading prepares a statement and reads nothing yet.
func (r *Runner) reading(st ql.Statement) (*reading, error) {
	switch st := st.(type) {
	case *ql.Get:
		return r.stream(st, st.Table, ql.Rows{Keys: st.Keys}, st.Read)
	case *ql.Scan:
		return r.stream(st, st.Table, st.Rows, st.Read)
	case *ql.Count:
		t, err := r.table(st.Table)
		if err != nil {
			return nil, err
		}
		want := st.Read
		want.KeysOnly = !st.Cells
		opts, err := r.readOptions(t, st.Rows, want)
		return &reading{table: r.Database().Table(t.Name), schema: t, opts: opts, count: st}, err
	case *ql.Histogram:
		return r.histogramReading(st)
	case *ql.Aggregate:
		return r.aggregateReading(st)
	}
	return nil, fmt.Errorf("%T reads no rows", st)
}

func (r *Runner) stream(st ql.Statement, name ql.Name, rows ql.Rows, want ql.Read) (*reading, error) {
	t, err := r.table(name)
	if err != nil {
		return nil, err
	}
	if want.Versions == 0 {
		want.Versions = max(r.Versions, 1)
		if r.Versions == ql.Unlimited {
			want.Versions = ql.Unlimited
		}
	}
	s := &RowStream{Statement: st, Read: want, Table: t}
	if want.Page != nil {
		want.Limit = 0 // the page's size bounds the rows
		if s.token, s.moment, err = r.page(*want.Page); err != nil {
			return nil, err
		}
		r.moment = s.moment
		defer func() { r.moment = nil }()
	} else if _, isScan := st.(*ql.Scan); isScan && want.Limit == 0 && r.Limit > 0 && want.Into == "" {
		s.limit = r.Limit
		want.Limit = r.Limit + 1 // one more, to learn whether more rows exist
	}
	opts, err := r.readOptions(t, rows, want)
	return &reading{table: r.Database().Table(t.Name), schema: t, opts: opts, rows: s}, err
}

func rows[S ql.Statement](r *Runner, ctx context.Context, st S) (Result, error) {
	reading, err := r.reading(st)
	if err != nil {
		return nil, err
	}
	return r.open(ctx, reading, &reading.rows.cost), nil
}

func (r *Runner) open(ctx context.Context, from *reading, cost *read.Cost) *RowStream {
	s := from.rows
	opts := from.opts
	if s.Stats || r.Remote == nil { // a server makes an effort for it
		opts = append(opts, read.ReportCost(cost))
	}
	if s.Page != nil {
		s.rows = s.readPage(ctx, from.table, opts)
	} else {
		s.rows = from.table.ReadRows(ctx, opts...)
	}
	return s
}

// defaultSample is the number of rows of a sample.
const defaultSample = 10

// sample draws rows: of each n rows that were read, all have the same probability to be
// among the drawn ones.
func (r *Runner) sample(ctx context.Context, st *ql.Sample) (Result, error) {
	t, err := r.table(st.Table)
	if err != nil {
		return nil, err
	}
	want := st.Read
	want.KeysOnly = true
	opts, err := r.readOptions(t, st.Rows, want)
	if err != nil {
		return nil, err
	}
	most, n := cmp.Or(st.Most, defaultSample), 0
	var keys []string
	for row, err := range r.Database().Table(t.Name).ReadRows(ctx, opts...) {
		if err != nil {
			return nil, err
		}
		if n++; len(keys) < most {
			keys = append(keys, strings.Clone(row.Key()))
		} else if at := rand.IntN(n); at < most {
			keys[at] = strings.Clone(row.Key())
		}
	}
	reading, err := r.stream(st, st.Table, ql.Rows{Keys: keys}, st.Read)
	if err != nil {
		return nil, err
	}
	if len(keys) == 0 {
		reading.rows.rows = func(func(*query.Row, error) bool) {}
		return reading.rows, nil
	}
	return r.open(ctx, reading, &reading.rows.cost), nil
}

func (r *Runner) count(ctx context.Context, st *ql.Count) (Result, error) {
	reading, err := r.reading(st)
	if err != nil {
		return nil, err
	}
	if st.Approx {
		return estimateCount(ctx, r.DB.Table(reading.schema.Name), st)
	}
	counted := &Counted{WithCells: st.Cells, Stats: st.Stats}
	opts := append(reading.opts, read.ReportCost(&counted.cost))
	if !st.Stats { // measuring the cost costs something itself
		opts = reading.opts
	}
	counted.Count, err = reading.table.Count(ctx, opts...)
	return counted, err
}

// estimateCount estimates a count from little data. The statement's names have been
// looked up before.
func estimateCount(ctx context.Context, table *query.Table, st *ql.Count) (Result, error) {
	var columns []read.ColumnSpec
	for _, c := range st.Columns {
		if c.Kind == ql.ColumnRegex {
			return nil, lex.ErrorAt(c.Pos, "approx cannot tell how many columns match a pattern; count without it")
		}
		columns = append(columns, columnSpec(c))
	}
	n, exact, err := table.EstimateCount(ctx, rowSet(st.Rows), columns...)
	return &Counted{Count: n, WithCells: st.Cells, About: !exact}, err
}

// readOptions returns a read as options of package query: the rows and all else.
func (r *Runner) readOptions(t schema.Table, rows ql.Rows, want ql.Read) ([]read.Option, error) {
	f, err := filterOf(&want)
	if err != nil {
		return nil, err
	}
	req := &read.Request{
		After: rows.After, Limit: max(0, want.Limit), Offset: want.Offset, Reverse: want.Reverse, // Unlimited is 0 there
		Versions: max(0, want.Versions), CellsPerRow: max(0, want.CellsPerRow), KeysOnly: want.KeysOnly, Filter: f,
	}
	for _, c := range want.Columns {
		if _, err := column(t, c); err != nil {
			return nil, err
		}
		req.Columns = append(req.Columns, columnSpec(c))
	}
	for i := range want.Where {
		condition, err := r.condition(t, &want.Where[i])
		if err != nil {
			return nil, err
		}
		req.Where = append(req.Where, condition)
	}
	if err := read.CheckPatterns(req.Where); err != nil {
		return nil, errorAt(err, want.Where[0].Pos)
	}
	if req.Since, req.Until, err = r.timeRange(want.Since, want.Until); err != nil {
		return nil, err
	}
	opts := []read.Option{req}
	if someRows(rows) {
		opts = append(opts, rowSet(rows))
	}
	return opts, nil
}

// someRows reports whether the statement selects rows by anything other than After.
func someRows(r ql.Rows) bool {
	return len(r.Keys) > 0 || r.TuplePrefix || r.Prefix+r.Start+r.End != ""
}

// rowSet returns the rows that the statement selects, ignoring After.
func rowSet(rows ql.Rows) read.RowSet {
	switch {
	case len(rows.Keys) > 0:
		return read.Key(rows.Keys...)
	case rows.TuplePrefix:
		return tuplePrefix(rows.Prefix)
	case rows.Prefix != "":
		return read.Prefix(rows.Prefix)
	}
	return read.Range(rows.Start, rows.End)
}

// tuplePrefix returns the rows whose keys are tuples that begin with a packed tuple.
func tuplePrefix(packed string) read.RowSet {
	t, err := tuple.Unpack([]byte(packed))
	if err != nil { // a statement that no parser made
		return read.Prefix(packed)
	}
	return read.TuplePrefix(t...)
}

func columnSpec(c ql.Column) read.ColumnSpec {
	switch c.Kind {
	case ql.ColumnFamily, ql.ColumnRegex: // a filter selects the columns
		return read.Family(c.Family)
	case ql.ColumnPrefix:
		return read.ColumnPrefix(c.Family, c.Qualifier)
	case ql.ColumnRange:
		return read.ColumnRange(c.Family, c.Start, c.End)
	}
	return read.Column(c.Family, c.Qualifier)
}
