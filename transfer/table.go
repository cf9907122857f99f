package transfer

import (
	"context"
	"iter"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
)

// A Table is a table that files are moved to and from: a [query.Table], or one over the
// network.
type Table interface {
	ReadRows(ctx context.Context, opts ...read.Option) iter.Seq2[*query.Row, error]
	ApplyBulk(ctx context.Context, keys []string, ms []*write.Mutation) ([]error, error)
}

func usable(ctx context.Context, t Table) error {
	switch {
	case t == nil:
		return specErrorf("", "there is no table")
	case ctx == nil:
		return specErrorf("", "the context is nil; context.Background gives one")
	}
	return nil
}

func tableOf(ctx context.Context, db *query.DB, name string) (*schema.Table, error) {
	switch {
	case db == nil:
		return nil, specErrorf("", "there is no database; query.Open gives one")
	case ctx == nil:
		return nil, specErrorf("", "the context is nil; context.Background gives one")
	}
	declared := db.Schema()
	if t, ok := declared.Table(name); ok {
		return t, nil
	}
	var known []string
	for _, t := range declared.Tables {
		known = append(known, t.Name)
	}
	return nil, specErrorf("", "unknown table %s%s", quote(name), schema.DidYouMean(name, known))
}

// tableSink writes to a table.
type tableSink struct {
	table Table
	plan  *plan
	keys  []string
	ms    []*write.Mutation
}

func (s *tableSink) write(ctx context.Context, rows []row) ([]error, error) {
	s.keys, s.ms = s.keys[:0], s.ms[:0]
	for _, r := range rows {
		m := write.NewMutation()
		s.plan.fill(m, r)
		s.keys, s.ms = append(s.keys, r.key), append(s.ms, m)
	}
	return s.table.ApplyBulk(ctx, s.keys, s.ms)
}

func (s *tableSink) timesOf(ctx context.Context, r row) (times []cells.Timestamp, err error) {
	c := r.cells[s.plan.untimedCell(r)]
	for written, err := range s.table.ReadRows(ctx, read.Key(r.key), read.Column(c.Family, c.Qualifier), read.Versions(mostTimes)) {
		if err != nil {
			return nil, err
		}
		for v := range written.Versions(c.Family, c.Qualifier) {
			if v.Value.Equal(c.Value) {
				times = append(times, v.Timestamp)
			}
		}
	}
	return times, nil
}

// mostTimes bounds the versions among which the cell of an import is looked for.
const mostTimes = 1000
