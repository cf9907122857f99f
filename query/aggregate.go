package query

import (
	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query/internal/catalog"
	"github.com/smolwc/smolwc/query/internal/sketch"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
)

func (e *encoder) add(edit *rowEditor, t *catalog.Table, c *write.Change) error {
	f, err := t.Family(c.Family)
	if err != nil {
		return err
	}
	if e.snap != nil {
		edit.set(column{f, c.Qualifier}, int64(c.Since))
	}
	var buf [16]byte
	value := buf[:0]
	if c.Kind == write.AddChange && f.Aggregate == schema.AggregateHLL {
		value = sketch.AppendOf(value, c.Value)
	} else {
		value = cells.AppendValue(value, c.Value)
	}
	e.batch.Merge(f.Store, c.Qualifier, int64(c.Since), catalog.MergeKinds[f.Aggregate], value)
	return nil
}
