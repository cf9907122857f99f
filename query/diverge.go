package query

import (
	"cmp"
	"context"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/query/internal/catalog"
	"github.com/smolwc/smolwc/query/internal/fault"
	"github.com/smolwc/smolwc/query/internal/twin"
	"github.com/smolwc/smolwc/query/plumbing"
	"github.com/smolwc/smolwc/schema"
)

func (db plumbed) Diverge(ctx context.Context, table string, others []plumbing.DB, rows []cf.Range, fn func(*plumbing.Column) error) error {
	const op = "compare"
	if err := db.ready(ctx); err != nil {
		return fail(op, table, "", err)
	}
	snap, c, err := db.state.Moment(ctx)
	if err != nil {
		return fail(op, table, "", err)
	}
	defer snap.Close()
	return db.diverge(ctx, twin.Side{Snapshot: snap, Table: c.Tables[table]}, table, others, rows, fn)
}

// Plumbing compares tables as the transaction sees them. It depends on the rows that are
// passed on, and nothing may be written before the comparison ends.
func (tx *Tx) Plumbing() plumbing.Diverging { return txPlumbed{tx} }

type txPlumbed struct{ tx *Tx }

func (t txPlumbed) Diverge(ctx context.Context, table string, others []plumbing.DB, rows []cf.Range, fn func(*plumbing.Column) error) error {
	const op = "compare"
	tx := t.tx
	if err := cmp.Or(tx.ready(ctx), tx.flush(ctx)); err != nil {
		return tx.fail(op, table, "", err)
	}
	tx.tables[table] = true
	side := twin.Side{Snapshot: tx.txn, Table: tx.catalog.Tables[table]}
	return plumbed{tx.db}.diverge(ctx, side, table, others, rows, func(c *plumbing.Column) error {
		tx.txn.Read(table, cf.Single(c.Row))
		return fn(c)
	})
}

// diverge compares a table of the database, as it is in a snapshot.
func (db plumbed) diverge(ctx context.Context, own twin.Side, table string, others []plumbing.DB, rows []cf.Range, fn func(*plumbing.Column) error) error {
	const op = "compare"
	if err := fault.Given("fn", fn != nil); err != nil {
		return fail(op, table, "", err)
	}
	sides, now := []twin.Side{own}, db.state.Clock.Now()
	for _, o := range others {
		p, ok := o.(plumbed)
		if !ok {
			return fail(op, table, "", fault.Given("the other database", false))
		}
		if err := p.ready(ctx); err != nil {
			return fail(op, table, "", err)
		}
		snap, c, err := p.state.Moment(ctx)
		if err != nil {
			return fail(op, table, "", err)
		}
		defer snap.Close()
		sides = append(sides, twin.Side{Snapshot: snap, Table: c.Tables[table]})
		now = max(now, p.state.Clock.Now())
	}
	var failed error
	err := twin.Diverge(ctx, sides, rows, now, func(c *twin.Column) error {
		column, err := columnOf(sides, c)
		if err != nil {
			return err
		}
		failed = fn(column)
		return failed
	})
	if failed != nil {
		return failed
	}
	return fail(op, table, "", err)
}

// columnOf decodes the values of a column, each as its database reads it.
func columnOf(sides []twin.Side, c *twin.Column) (*plumbing.Column, error) {
	column := &plumbing.Column{Row: c.Row, Family: c.Family, Qualifier: c.Qualifier}
	var err error
	if column.Newest, err = decoded(sides, c, c.Newest); err != nil {
		return nil, err
	}
	for _, v := range c.Versions {
		in, err := decoded(sides, c, v.Values)
		if err != nil {
			return nil, err
		}
		column.Versions = append(column.Versions, plumbing.Version{Timestamp: v.Timestamp, In: in})
	}
	return column, nil
}

func decoded(sides []twin.Side, c *twin.Column, values [][]byte) ([]plumbing.Stored, error) {
	all := make([]plumbing.Stored, len(values))
	for i, v := range values {
		if v == nil {
			continue
		}
		f, err := sides[i].Table.Family(c.Family)
		if err == nil {
			all[i], err = storedOf(f, v)
		}
		if err != nil {
			return nil, fault.Errorf(fault.Corruption, "row %.80q, column %s:%.80q: %w", c.Row, c.Family, c.Qualifier, err)
		}
	}
	return all, nil
}

func storedOf(f *catalog.Family, stored []byte) (s plumbing.Stored, err error) {
	if s.State, err = cells.DecodeValue(stored); err != nil {
		return s, err
	}
	s.Value = s.State
	if f.Aggregate == schema.NoAggregate {
		return s, nil
	}
	n, ok := catalog.AggregateOf(f.Aggregate, stored)
	if !ok {
		return s, fault.Errorf(fault.Corruption, "the value is not the state of the aggregate %s", f.Aggregate)
	}
	s.Value = cells.I64(n)
	return s, nil
}
