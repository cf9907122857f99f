package exec

import (
	"cmp"
	"context"
	"iter"
	"strings"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/ql"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/schema"
)

// Differences are the cells in which two tables differ.
type Differences struct {
	Tables [2]schema.Table
	Cells  []Difference // the first ones, in the order of rows and columns
	Count  int64        // all differences
	Rows   int64        // the rows that have them
	Format string       // the format that the statement asks for; "" if it names no format
}

// A Difference is a cell that the tables do not have in common. With values alone
// compared, it is a column, and the cells may have different times.
type Difference struct {
	Key               string
	Family, Qualifier string
	In                [2]*cells.Cell // nil: the table does not have it
}

// shownDifferences is how many differences a diff without limit= shows.
const shownDifferences = 100

// diff reads both tables once, side by side, each as of one moment.
func (r *Runner) diff(ctx context.Context, st *ql.Diff) (Result, error) {
	d := &differing{st: st, limit: cmp.Or(st.Limit, shownDifferences)}
	var sides [2]side
	for i, n := range []ql.Name{st.Table, st.With} {
		t, err := r.table(n)
		if err != nil {
			return nil, err
		}
		d.found.Tables[i] = t
		want := st.Read
		want.Limit = 0
		switch {
		case st.Values:
			want.Versions = 1
		case want.Versions == 0:
			want.Versions = ql.Unlimited
		}
		opts, err := r.readOptions(t, st.Rows, want)
		if err != nil {
			return nil, err
		}
		sides[i].open(ctx, r.Database().Table(t.Name), opts)
		defer sides[i].stop()
	}
	d.found.Format = st.Format
	if err := d.run(&sides); err != nil {
		return nil, err
	}
	return &d.found, nil
}

// A side is the rows of one of the tables.
type side struct {
	next func() (*query.Row, error, bool)
	stop func()
	row  *query.Row // nil: there are no more
}

func (s *side) open(ctx context.Context, t Table, opts []read.Option) {
	s.next, s.stop = iter.Pull2(t.ReadRows(ctx, opts...))
}

func (s *side) step() error {
	row, err, ok := s.next()
	if s.row = row; !ok {
		s.row = nil
	}
	return err
}

// A differing is a diff under way.
type differing struct {
	st    *ql.Diff
	limit int // negative: no limit
	found Differences
}

func (d *differing) run(sides *[2]side) error {
	a, b := &sides[0], &sides[1]
	if err := cmp.Or(a.step(), b.step()); err != nil {
		return err
	}
	for a.row != nil || b.row != nil {
		order := 0
		switch {
		case b.row == nil:
			order = -1
		case a.row == nil:
			order = 1
		default:
			order = strings.Compare(a.row.Key(), b.row.Key())
		}
		before := d.found.Count
		switch {
		case order < 0:
			d.cells(a.row.Key(), a.row, nil)
		case order > 0:
			d.cells(b.row.Key(), nil, b.row)
		default:
			d.cells(a.row.Key(), a.row, b.row)
		}
		if d.found.Count > before {
			d.found.Rows++
		}
		var err error
		if order <= 0 {
			err = a.step()
		}
		if order >= 0 && err == nil {
			err = b.step()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// cells compares the cells of two rows of one key; nil is no row.
func (d *differing) cells(key string, a, b *query.Row) {
	as, bs := cellsOf(a), cellsOf(b)
	for len(as) > 0 || len(bs) > 0 {
		order := 0
		switch {
		case len(bs) == 0:
			order = -1
		case len(as) == 0:
			order = 1
		default:
			order = d.order(as[0], bs[0])
		}
		switch {
		case order < 0:
			d.add(key, &as[0], nil)
		case order > 0:
			d.add(key, nil, &bs[0])
		case !same(as[0].Value, bs[0].Value):
			d.add(key, &as[0], &bs[0])
		}
		if order <= 0 {
			as = as[1:]
		}
		if order >= 0 {
			bs = bs[1:]
		}
	}
}

func cellsOf(row *query.Row) (list []cells.Cell) {
	if row == nil {
		return nil
	}
	for c := range row.Cells() {
		list = append(list, c)
	}
	return list
}

// order compares cells as they are ordered in a row, the newest of a column first.
func (d *differing) order(a, b cells.Cell) int {
	order := cmp.Or(strings.Compare(a.Family, b.Family), strings.Compare(a.Qualifier, b.Qualifier))
	if order != 0 || d.st.Values {
		return order
	}
	return cmp.Compare(b.Timestamp, a.Timestamp)
}

// same reports whether two values have the same type and the same bits.
func same(a, b cells.Value) bool {
	return string(cells.AppendValue(nil, a)) == string(cells.AppendValue(nil, b))
}

// add counts a difference, and keeps it if it is one of the first.
func (d *differing) add(key string, a, b *cells.Cell) {
	d.found.Count++
	if d.limit >= 0 && len(d.found.Cells) >= d.limit {
		return
	}
	diff := Difference{Key: strings.Clone(key)}
	for i, c := range []*cells.Cell{a, b} {
		if c == nil {
			continue
		}
		copied := cells.Cell{Family: strings.Clone(c.Family), Qualifier: strings.Clone(c.Qualifier), Timestamp: c.Timestamp, Value: kept(c.Value)}
		diff.Family, diff.Qualifier, diff.In[i] = copied.Family, copied.Qualifier, &copied
	}
	d.found.Cells = append(d.found.Cells, diff)
}
