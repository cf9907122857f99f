package ql

import (
	"context"
	"fmt"

	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/schema"
	"github.com/smolwc/smolwc/tuple"
)

// A reading is a get, scan or count, made ready to run.
type reading struct {
	table  Table
	schema schema.Table
	opts   []query.ReadOption
	rows   *RowStream // of a get or scan
	count  *Count
	// draw reads for a histogram.
	draw func(ctx context.Context, opts []query.ReadOption) (*Listing, error)
}

// reading makes a statement ready; nothing is read yet.
func (r *Runner) reading(st Statement) (*reading, error) {
	switch st := st.(type) {
	case *Get:
		return r.stream(st, st.Table, Rows{Keys: st.Keys}, st.Read)
	case *Scan:
		return r.stream(st, st.Table, st.Rows, st.Read)
	case *Count:
		t, err := r.table(st.Table)
		if err != nil {
			return nil, err
		}
		read := st.Read
		read.KeysOnly = !st.Cells
		opts, err := r.readOptions(t, st.Rows, read)
		return &reading{table: r.Database().Table(t.Name), schema: t, opts: opts, count: st}, err
	}
	if st, ok := st.(*Histogram); ok {
		return r.histogramReading(st)
	}
	return nil, fmt.Errorf("%T reads no rows", st)
}

// stream prepares the rows of a get or scan.
func (r *Runner) stream(st Statement, name Name, rows Rows, read Read) (*reading, error) {
	t, err := r.table(name)
	if err != nil {
		return nil, err
	}
	if read.Versions == 0 {
		read.Versions = max(r.Versions, 1)
		if r.Versions == Unlimited {
			read.Versions = Unlimited
		}
	}
	s := &RowStream{Statement: st, Read: read, Table: t}
	if read.Page != nil {
		read.Limit = 0 // how many rows the page has
	} else if _, isScan := st.(*Scan); isScan && read.Limit == 0 && r.Limit > 0 && read.Into == "" {
		s.limit = r.Limit
		read.Limit = r.Limit + 1 // one more, to know whether there are more
	}
	opts, err := r.readOptions(t, rows, read)
	return &reading{table: r.Database().Table(t.Name), schema: t, opts: opts, rows: s}, err
}

// read runs a get or scan.
func (r *Runner) read(ctx context.Context, st Statement) (Result, error) {
	read, err := r.reading(st)
	if err != nil {
		return nil, err
	}
	s := read.rows
	opts := append(read.opts, query.ReportCost(&s.cost))
	if s.Page != nil {
		s.rows = s.readPage(ctx, r.DB.Table(read.schema.Name), opts)
	} else {
		s.rows = read.table.ReadRows(ctx, opts...)
	}
	return s, nil
}

func (r *Runner) count(ctx context.Context, st *Count) (Result, error) {
	read, err := r.reading(st)
	if err != nil {
		return nil, err
	}
	if st.Approx {
		return estimateCount(ctx, r.DB.Table(read.schema.Name), st)
	}
	counted := &Counted{WithCells: st.Cells, Stats: st.Stats}
	opts := append(read.opts, query.ReportCost(&counted.cost))
	if !st.Stats { // finding out what it costs costs something
		opts = read.opts
	}
	counted.Count, err = read.table.Count(ctx, opts...)
	return counted, err
}

// estimateCount counts without reading much; the names have been looked up.
func estimateCount(ctx context.Context, table *query.Table, st *Count) (Result, error) {
	var columns []query.ColumnSpec
	for _, c := range st.Columns {
		if c.Kind == ColumnRegex {
			return nil, errorAt(c.Pos, "approx cannot tell how many columns match a pattern; count without it")
		}
		columns = append(columns, columnSpec(c))
	}
	n, exact, err := table.EstimateCount(ctx, rowSet(st.Rows), columns...)
	return &Counted{Count: n, WithCells: st.Cells, About: !exact}, err
}

// readOptions are the options of package query for a read.
func (r *Runner) readOptions(t schema.Table, rows Rows, read Read) ([]query.ReadOption, error) {
	opts := rowOptions(rows)
	for _, c := range read.Columns {
		if _, err := column(t, c); err != nil {
			return nil, err
		}
		opts = append(opts, query.Select(columnSpec(c)))
	}
	filter, err := r.filter(t, &read)
	if err != nil {
		return nil, err
	}
	if filter != nil {
		opts = append(opts, query.RowFilter(filter))
	}
	for _, c := range read.Where {
		o, err := whereOption(t, c)
		if err != nil {
			return nil, err
		}
		opts = append(opts, o)
	}
	since, until, err := r.timeRange(read.Since, read.Until)
	if err != nil {
		return nil, err
	}
	if since > 0 || until > 0 {
		opts = append(opts, query.TimeRange(since, until))
	}
	return append(opts, numberOptions(read)...), nil
}

// rowSet is the rows but for After.
func rowSet(rows Rows) query.RowSet {
	switch {
	case len(rows.Keys) > 0:
		return query.Key(rows.Keys...)
	case rows.TuplePrefix:
		return tuplePrefix(rows.Prefix)
	case rows.Prefix != "":
		return query.Prefix(rows.Prefix)
	}
	return query.Range(rows.Start, rows.End)
}

func rowOptions(rows Rows) (opts []query.ReadOption) {
	if len(rows.Keys) > 0 || rows.TuplePrefix || rows.Prefix+rows.Start+rows.End != "" {
		opts = append(opts, rowSet(rows))
	}
	if rows.After != "" {
		opts = append(opts, query.StartAfter(rows.After))
	}
	return opts
}

// tuplePrefix is the rows whose keys are tuples that begin with a packed one.
func tuplePrefix(packed string) query.RowSet {
	t, err := tuple.Unpack([]byte(packed))
	if err != nil { // a statement that was not parsed
		return query.Prefix(packed)
	}
	return query.TuplePrefix(t...)
}

func numberOptions(read Read) (opts []query.ReadOption) {
	if read.Versions > 0 {
		opts = append(opts, query.Versions(read.Versions))
	}
	if read.CellsPerRow > 0 {
		opts = append(opts, query.CellsPerRow(read.CellsPerRow))
	}
	if read.Limit > 0 {
		opts = append(opts, query.Limit(read.Limit))
	}
	if read.Offset > 0 {
		opts = append(opts, query.Offset(read.Offset))
	}
	if read.Reverse {
		opts = append(opts, query.Reverse())
	}
	if read.KeysOnly {
		opts = append(opts, query.KeysOnly())
	}
	return opts
}

func columnSpec(c Column) query.ColumnSpec {
	switch c.Kind {
	case ColumnFamily, ColumnRegex: // a filter chooses among the columns
		return query.Family(c.Family)
	case ColumnPrefix:
		return query.ColumnPrefixOf(c.Family, c.Qualifier)
	case ColumnRange:
		return query.ColumnsBetween(c.Family, c.Start, c.End)
	}
	return query.Column(c.Family, c.Qualifier)
}

var comparisons = map[string]query.Op{"==": query.EQ, "!=": query.NE, "<": query.LT, "<=": query.LE, ">": query.GT, ">=": query.GE}

func whereOption(t schema.Table, c Condition) (query.ReadOption, error) {
	f, err := column(t, c.Column)
	if err != nil {
		return nil, err
	}
	switch c.Op {
	case "exists":
		return query.Exists(c.Column.Family, c.Column.Qualifier), nil
	case "absent":
		return query.Absent(c.Column.Family, c.Column.Qualifier), nil
	}
	v, err := valueFor(f, c.Value, c.Value.OperandFor)
	if err != nil {
		return nil, err
	}
	return query.Where(c.Column.Family, c.Column.Qualifier, comparisons[c.Op], v), nil
}
