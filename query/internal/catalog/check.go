package catalog

import (
	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/internal/excerpt"
	"github.com/smolwc/smolwc/internal/sketch"
	"github.com/smolwc/smolwc/query/internal/fault"
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
		err = f.checkSet(c)
	case write.AddChange:
		err = f.checkAdd(c)
	case write.MergeChange:
		err = f.checkMerge(c)
	case write.DeleteVersionsChange:
		err = checkTimeRange(c)
	}
	if err == nil {
		return nil
	}
	return fault.Errorf(fault.KindOf(err), "%s:%s: %w", c.Family, excerpt.Of(c.Qualifier), err)
}

// wrong is a fault of a change, whose column CheckChange adds.
func wrong(format string, args ...any) error {
	return fault.Errorf(fault.InvalidArgument, format, args...)
}

func (f *Family) checkSet(c *write.Change) error {
	if f.Aggregate != schema.NoAggregate {
		return wrong("family %s has the aggregate %s: it can be added to and not set", f.Name, f.Aggregate)
	}
	if err := c.Value.Check(); err != nil {
		return wrong("%w", err)
	}
	if f.Type != cells.TypeAny && c.Value.Type() != f.Type {
		return wrong("family %s is declared %s and cannot hold %s %v", f.Name, f.Type, c.Value.Type(), excerpt.Of(c.Value.String()))
	}
	if n := c.Value.Len(); n > cells.MaxValue {
		return fault.Errorf(fault.ResourceExhausted, "value of %d bytes is too large; it may have up to %d", n, cells.MaxValue)
	}
	if err := c.Since.Check(); err != nil && !c.ServerTime {
		return wrong("%w", err)
	}
	return nil
}

func checkTimeRange(c *write.Change) error {
	if err := c.Since.Check(); err != nil {
		return wrong("%w", err)
	}
	if c.Until < 0 || c.Until != 0 && c.Until < c.Since {
		return wrong("time range [%d, %d) ends before it starts", c.Since, c.Until)
	}
	return nil
}

func (f *Family) checkAdd(c *write.Change) error {
	if f.Aggregate == schema.NoAggregate {
		return wrong("family %s has no aggregate and cannot be added to", f.Name)
	}
	if err := c.Value.Check(); err != nil {
		return wrong("%w", err)
	}
	if f.Aggregate != schema.AggregateHLL && c.Value.Type() != cells.TypeI64 {
		return wrong("family %s has the %s of i64 and cannot take %s %v", f.Name, f.Aggregate, c.Value.Type(), excerpt.Of(c.Value.String()))
	}
	return f.checkAggregateTime(c)
}

// checkMerge is checkAdd for a sketch.
func (f *Family) checkMerge(c *write.Change) error {
	if f.Aggregate != schema.AggregateHLL {
		return wrong("sketches are merged into families with the aggregate hll; %s has %s", f.Name, f.Aggregate)
	}
	if err := sketch.Check(cells.AppendValue(nil, c.Value)); err != nil {
		return wrong("the merged value is not a sketch of distinct values: %w", err)
	}
	return f.checkAggregateTime(c)
}

// checkAggregateTime judges the timestamp of an added value.
func (f *Family) checkAggregateTime(c *write.Change) error {
	if err := c.Since.Check(); err != nil {
		return wrong("%w", err)
	}
	if c.Since == 0 && f.MaxAge() > 0 {
		return wrong("family %s keeps cells for %s, so a cell at timestamp 0 has expired; add at a timestamp", f.Name, schema.FormatAge(f.MaxAge()))
	}
	return nil
}

// CheckRowKey refuses a key that no row can have.
func CheckRowKey(key string) error {
	if err := cells.CheckRowKey(key); err != nil {
		return fault.Of(fault.InvalidArgument, err)
	}
	return nil
}
