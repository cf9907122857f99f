package client

import (
	"context"
	"errors"
	"sync/atomic"

	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/smolwc/smolwc/api/wire"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/filter"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/query/write"
)

const (
	changedAtOnce = 500 // rows that are read before they are changed
	changesAtOnce = 32  // calls under way
)

// ApplyWhere applies a mutation to each row that the options select, and returns how
// many rows it changed. Each row satisfies the conditions of the options when it is
// changed: the server changes it only if the columns of the conditions are as they were
// read, and otherwise the row is read and judged again.
//
// There is one call for each row. When a call fails, rows up to the key last are
// changed, and perhaps some of the next 500.
func (t *Table) ApplyWhere(ctx context.Context, m *write.Mutation, opts ...read.Option) (changed int64, last string, err error) {
	const op = "apply where"
	t, err = t.ready(ctx)
	if err != nil {
		return 0, "", clientError(op, t.name, "", err)
	}
	if m == nil {
		return 0, "", clientError(op, t.name, "", wire.Invalid("the mutation is nil"))
	}
	changes, err := t.mutations(m)
	if err == nil && len(changes) == 0 {
		// A server would refuse it too, but only if a row satisfies the conditions.
		err = wire.Invalid("mutation has no changes")
	}
	if err != nil {
		return 0, "", clientError(op, t.name, "", err)
	}
	c := whereChange{t: t, changes: changes}
	var failed error
	err = t.eachRow(ctx, append([]read.Option{read.KeysOnly()}, opts...), true, func(r *clientRead, row *query.Row, judged judgedCells) bool {
		c.where = r.want.Where
		if c.found = append(c.found, foundRow{row.Key(), judged}); len(c.found) == changedAtOnce {
			failed = c.change(ctx)
		}
		return failed == nil
	})
	if err == nil && failed == nil {
		err = c.change(ctx)
	}
	if failed != nil {
		err = failed
	}
	return c.changed.Load(), c.last, clientError(op, t.name, "", err)
}

// A whereChange is a change of all rows that satisfy conditions.
type whereChange struct {
	t       *Table
	changes []*bigtablepb.Mutation
	where   []read.Condition
	found   []foundRow
	changed atomic.Int64
	last    string // rows up to this one are done
}

// A foundRow is a row that satisfied the conditions, with the cells that they judged.
type foundRow struct {
	key    string
	judged judgedCells
}

// change changes the rows that were found.
func (c *whereChange) change(ctx context.Context) error {
	if len(c.found) == 0 {
		return nil
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(changesAtOnce)
	for _, row := range c.found {
		g.Go(func() error {
			if err := c.changeRow(ctx, row); err != nil {
				return rowError(row.key, err)
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	c.last = c.found[len(c.found)-1].key
	c.found = c.found[:0]
	return nil
}

// rowError is the error of a row, with its code and without gRPC's words for it. The end of
// the context stays as it is.
func rowError(key string, err error) error {
	st := status.Convert(err)
	if _, own := errors.AsType[*query.Error](err); own || st.Code() == codes.Canceled || st.Code() == codes.DeadlineExceeded {
		return err
	}
	return status.Errorf(st.Code(), "row %q: %s", key, st.Message())
}

// changeRow changes a row unless it no longer satisfies the conditions.
func (c *whereChange) changeRow(ctx context.Context, row foundRow) error {
	for {
		unchanged := row.judged.unchanged()
		if err := filter.Check(unchanged); errors.Is(err, filter.ErrTooLarge) {
			return wire.Invalid("the values that the conditions look at are too large to be compared over the network: %v", err)
		}
		as, err := wire.FilterMessage(unchanged)
		if err != nil {
			return err
		}
		resp, err := c.t.client.data.CheckAndMutateRow(ctx, &bigtablepb.CheckAndMutateRowRequest{
			TableName: c.t.client.name(c.t.name), RowKey: []byte(row.key), PredicateFilter: as, TrueMutations: c.changes,
		})
		if err != nil {
			return err
		}
		if resp.GetPredicateMatched() {
			c.changed.Add(1)
			return nil
		}
		found, err := c.again(ctx, &row)
		if err != nil || !found {
			return err
		}
	}
}

// again reads a row that changed since it was read.
func (c *whereChange) again(ctx context.Context, row *foundRow) (found bool, err error) {
	opts := []read.Option{read.KeysOnly(), read.Key(row.key)}
	for _, w := range c.where {
		opts = append(opts, w)
	}
	err = c.t.eachRow(ctx, opts, true, func(_ *clientRead, _ *query.Row, judged judgedCells) bool {
		found, row.judged = true, judged
		return true
	})
	return found, err
}

// unchanged is a filter that gives cells of a row if the newest cells of the columns
// are still these. The filter looks for columns that have changed.
func (j judgedCells) unchanged() filter.Filter {
	if len(j.columns) == 0 {
		return filter.PassAll{}
	}
	var changed []filter.Filter
	for i, column := range j.columns {
		now := newest(column.Family, column.Qualifier)
		if c, there := j.cells[i]; there {
			value := filter.Including(string(wire.AppendValue(nil, c.Value)))
			same := append(now, filter.TimestampRange{Since: c.Timestamp, Until: c.Timestamp.Until()}, filter.ValueRange{From: value, To: value})
			changed = append(changed, filter.Condition{If: same, Then: filter.BlockAll{}, Else: filter.PassAll{}})
		} else {
			changed = append(changed, now)
		}
	}
	return filter.Condition{If: filter.InterleaveOf(changed...), Then: filter.BlockAll{}, Else: filter.PassAll{}}
}
