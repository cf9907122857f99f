package catalog

import (
	"fmt"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/internal/excerpt"
	"github.com/smolwc/smolwc/query/internal/fault"
	"github.com/smolwc/smolwc/query/internal/sketch"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
)

// CheckChange finds everything that can be wrong with a change of a row.
func (t *Table) CheckChange(c *write.Change) error {
	if c.Kind == write.DeleteRowChange {
		return nil
	}
	f, err := t.Family(c.Family)
	if err != nil {
		return err
	}
	if len(c.Qualifier) > cells.MaxQualifier {
		return fault.Errorf(fault.InvalidArgument, "%s: qualifier of %d bytes starting %q is too long; it may have up to %d", c.Family, len(c.Qualifier), c.Qualifier[:40], cells.MaxQualifier)
	}
	switch c.Kind {
	case write.SetChange:
		return f.checkSet(c)
	case write.AddChange:
		return f.checkAdd(c)
	case write.MergeChange:
		return f.checkMerge(c)
	case write.DeleteVersionsChange:
		return checkTimeRange(c)
	}
	return nil
}

func (f *Family) checkSet(c *write.Change) error {
	column := func() string { return fmt.Sprintf("%s:%s", c.Family, excerpt.Of(c.Qualifier)) }
	if err := f.RefuseAggregate(c.Qualifier, "set"); err != nil {
		return err
	}
	if err := c.Value.Check(); err != nil {
		return fault.Errorf(fault.InvalidArgument, "%s: %w", column(), err)
	}
	if f.Type != cells.TypeAny && c.Value.Type() != f.Type {
		return fault.Errorf(fault.InvalidArgument, "%s: family %s is declared %s and cannot hold %s %v", column(), f.Name, f.Type, c.Value.Type(), excerpt.Of(c.Value.String()))
	}
	if n := c.Value.Len(); n > cells.MaxValue {
		return fault.Errorf(fault.ResourceExhausted, "%s: value of %d bytes is too large; it may have up to %d", column(), n, cells.MaxValue)
	}
	if c.ServerTime {
		return nil
	}
	if err := c.Since.Check(); err != nil {
		return fault.Errorf(fault.InvalidArgument, "%s: %w", column(), err)
	}
	return nil
}

func checkTimeRange(c *write.Change) error {
	if err := c.Since.Check(); err != nil {
		return fault.Errorf(fault.InvalidArgument, "%s:%s: %w", c.Family, excerpt.Of(c.Qualifier), err)
	}
	if c.Until < 0 || c.Until != 0 && c.Until < c.Since {
		return fault.Errorf(fault.InvalidArgument, "%s:%s: time range [%d, %d) is not one", c.Family, excerpt.Of(c.Qualifier), c.Since, c.Until)
	}
	return nil
}

func (f *Family) checkAdd(c *write.Change) error {
	column := fmt.Sprintf("%s:%s", c.Family, excerpt.Of(c.Qualifier))
	if f.Aggregate == schema.NoAggregate {
		return fault.Errorf(fault.InvalidArgument, "%s: family %s has no aggregate and cannot be added to", column, f.Name)
	}
	if err := c.Value.Check(); err != nil {
		return fault.Errorf(fault.InvalidArgument, "%s: %w", column, err)
	}
	if f.Aggregate != schema.AggregateHLL && c.Value.Type() != cells.TypeI64 {
		return fault.Errorf(fault.InvalidArgument, "%s: family %s has the %s of i64 and cannot take %s %v", column, f.Name, f.Aggregate, c.Value.Type(), excerpt.Of(c.Value.String()))
	}
	return f.checkAggregateTime(c)
}

// checkMerge is checkAdd for a sketch.
func (f *Family) checkMerge(c *write.Change) error {
	column := fmt.Sprintf("%s:%s", c.Family, excerpt.Of(c.Qualifier))
	if f.Aggregate != schema.AggregateHLL {
		return fault.Errorf(fault.InvalidArgument, "%s: sketches are merged into families with the aggregate hll; %s has %s", column, f.Name, f.Aggregate)
	}
	if err := sketch.Check(cells.AppendValue(nil, c.Value)); err != nil {
		return fault.Errorf(fault.InvalidArgument, "%s: what is merged is no sketch of distinct values: %w", column, err)
	}
	return f.checkAggregateTime(c)
}

// checkAggregateTime judges the timestamp of an added value.
func (f *Family) checkAggregateTime(c *write.Change) error {
	column := fmt.Sprintf("%s:%s", c.Family, excerpt.Of(c.Qualifier))
	if err := c.Since.Check(); err != nil {
		return fault.Errorf(fault.InvalidArgument, "%s: %w", column, err)
	}
	if c.Since == 0 && f.MaxAge() > 0 {
		return fault.Errorf(fault.InvalidArgument, "%s: family %s keeps cells for %s, so that one at timestamp 0 has expired; add at a timestamp", column, f.Name, schema.FormatAge(f.MaxAge()))
	}
	return nil
}

// RefuseAggregate is the error of a change that an aggregate does not permit.
func (f *Family) RefuseAggregate(qualifier, verb string) error {
	if f.Aggregate == schema.NoAggregate {
		return nil
	}
	return fault.Errorf(fault.InvalidArgument, "%s:%s: family %s has the aggregate %s: it can be added to and not %s", f.Name, excerpt.Of(qualifier), f.Name, f.Aggregate, verb)
}

// CheckRowKey refuses a key that no row can have.
func CheckRowKey(key string) error {
	if err := cells.CheckRowKey(key); err != nil {
		return fault.Of(fault.InvalidArgument, err)
	}
	return nil
}
