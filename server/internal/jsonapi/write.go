package jsonapi

import (
	"errors"
	"net/http"
	"strconv"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
)

// write carries out POST /v1/table/{table}/write: all cells of the request, or none.
func (a *API) write(c *call) error {
	b, err := c.tableBody()
	if err != nil {
		return err
	}
	w := writer{body: b, call: c, batch: write.NewBatch()}
	if err := w.read(); err != nil {
		return err
	}
	if w.rows == 0 {
		return &problem{status: http.StatusBadRequest, message: "Items array should not be empty"}
	}
	if w.batch.Len() > 0 {
		err := c.ofTable(a.Catalog.DB.Apply(c.ctx, w.batch))
		if c.table.Wrote(c.ctx, err, int(w.cells), w.keys...); err != nil {
			return err
		}
	}
	each := c.micros() / max(1, w.cells)
	c.answer("Data ingestion successful").put(`{"items":{"row_count":`).int(w.rows).put(`,"cell_count":`).int(w.cells)
	c.put(`},"micros_per_cell":`).int(each).put(`,"micros_per_item":`).int(each).put("}") // its pages and its server differ in the name
	return nil
}

// A writer turns the body of a write into a batch.
type writer struct {
	*body
	call  *call
	batch *write.Batch
	keys  []string       // of its rows
	last  *schema.Family // the family looked up last
	rows  int64
	cells int64
	held  int // bytes that the batch takes
}

func (w *writer) read() error {
	given := false
	err := w.fields("items", func(name string) (bool, error) {
		if name != "items" {
			return false, nil
		}
		given = true
		return true, w.elements(w.item)
	})
	if err == nil && !given {
		err = wrongAt("", "the field items is missing")
	}
	if err == nil {
		err = w.end()
	}
	return err
}

// item reads the cells of one row.
func (w *writer) item() error {
	key, m := "", write.NewMutation()
	err := w.fields("row_key, row_key_bytes, cells", func(name string) (bool, error) {
		switch name {
		case "row_key":
			return true, w.text(&key)
		case "row_key_bytes":
			return true, w.bytes(&key)
		case "cells":
			return true, w.elements(func() error { return w.cell(m) })
		}
		return false, nil
	})
	if err != nil {
		return err
	}
	if err := cells.CheckRowKey(key); err != nil {
		return w.wrongField("row_key", "%v", err)
	}
	w.rows++
	if m.Len() > 0 {
		w.batch.Add(w.call.name, key, m)
		w.keys = append(w.keys, key)
	}
	return w.holds(len(key))
}

// holds counts the bytes of a row or cell.
func (w *writer) holds(n int) error {
	const fixed = 320 // of a change, its place in the batch, and the batch of the store
	w.held += n + fixed
	return w.call.takes(w.held)
}

func (w *writer) cell(m *write.Mutation) error {
	var column, kind string
	var value, at scalar
	err := w.fields("column_key, column_key_bytes, type, value, time", func(name string) (bool, error) {
		switch name {
		case "column_key":
			return true, w.text(&column)
		case "column_key_bytes":
			return true, w.bytes(&column)
		case "type":
			return true, w.text(&kind)
		case "value":
			return true, w.scalar(&value)
		case "time":
			return true, w.optional(func() error { return w.scalar(&at) })
		}
		return false, nil
	})
	if err != nil {
		return err
	}
	t, ok := typeNames[kind]
	if !ok {
		return w.wrongField("type", "there is no type %q; the types are %s", short(kind), allTypes)
	}
	family, qualifier, err := w.column(column)
	if err != nil {
		return err
	}
	switch {
	case family.Aggregate != schema.NoAggregate:
		return w.wrongField("column_key", "family %s has the aggregate %s: this API cannot add to its cells", family.Name, family.Aggregate)
	case family.Type != cells.TypeAny && family.Type != t:
		return w.wrongField("type", "family %s has the type %s, not %s", family.Name, typeName(family.Type), kind)
	}
	v, err := value.value(t)
	if err != nil {
		return w.wrongField("value", "%v", err)
	}
	w.cells++
	if at.kind == 0 {
		m.Set(family.Name, qualifier, v)
		return w.holds(len(column) + len(value.text))
	}
	ts, err := timeOf(at)
	if err == nil && ts == 0 && expires(family) {
		err = errors.New("0 would never expire, but the cells of family " + family.Name + " do; leave time out, or declare a family without ttl_secs")
	}
	if err != nil {
		return w.wrongField("time", "%v", err)
	}
	m.SetAt(family.Name, qualifier, ts, v)
	return w.holds(len(column) + len(value.text))
}

// column finds the family of a column key.
func (w *writer) column(key string) (*schema.Family, string, error) {
	family, qualifier, err := cutColumn(key)
	if err == nil && len(qualifier) > cells.MaxQualifier {
		err = errors.New("the qualifier is too long; it has up to 16384 bytes")
	}
	if err != nil {
		return nil, "", w.wrongField("column_key", "%v", err)
	}
	if w.last == nil || w.last.Name != family {
		f, ok := w.call.declared.Family(family)
		if !ok { // another process may have just added it
			w.call.declared, _ = w.call.api.Catalog.DB.Plumbing().NewestTable(w.call.ctx, w.call.name)
			f, ok = w.call.declared.Family(family)
		}
		if !ok {
			return nil, "", &problem{http.StatusBadRequest, "Column family does not exist", w.where() + ".column_key: table " + w.call.name + " has no family " + strconv.Quote(short(family))}
		}
		w.last = f
	}
	return w.last, qualifier, nil
}

// expires reports whether cells of a family are dropped for their age alone.
func expires(f *schema.Family) bool {
	for _, l := range f.GC.Limits() {
		if l.Versions == 0 && l.Age > 0 {
			return true
		}
	}
	return false
}

// deleteRow carries out DELETE /v1/table/{table}/row: a row, or columns of it.
func (a *API) deleteRow(c *call) error {
	b, err := c.tableBody()
	if err != nil {
		return err
	}
	key, sel, err := b.deletion(&c.declared)
	if err != nil {
		return err
	}
	deleted := int64(0)
	if !sel.empty() {
		if deleted, err = c.delete(key, sel); err != nil {
			return c.ofTable(err)
		}
	}
	c.answer("Deletion completed successfully").put(`{"micros_per_item":`).int(c.micros() / max(1, deleted)).put(`,"deleted_cells_count":`).int(deleted).put("}")
	return nil
}

func (b *body) deletion(of *schema.Table) (key string, sel *selection, err error) {
	sel = newSelection()
	err = b.fields("row_key, row_key_bytes, column_filter", func(name string) (bool, error) {
		switch name {
		case "row_key":
			return true, b.text(&key)
		case "row_key_bytes":
			return true, b.bytes(&key)
		case "column_filter":
			return true, b.optional(func() error {
				return b.fields(filterNames, func(name string) (bool, error) { return b.filter(sel, of, name) })
			})
		}
		return false, nil
	})
	if err == nil {
		err = b.end()
	}
	if err == nil {
		if wrong := cells.CheckRowKey(key); wrong != nil {
			err = wrongAt("row_key", "%v", wrong)
		}
	}
	return key, sel, err
}

// delete deletes the selected columns of a row in one write, and returns the number of
// cells that they had.
func (c *call) delete(key string, sel *selection) (int64, error) {
	n, err := c.table.Count(c.ctx, append(sel.options(), read.Key(key))...)
	if err != nil {
		return 0, err
	}
	m := write.NewMutation()
	if sel.all {
		m.DeleteRow()
	}
	for _, spec := range sel.specs {
		switch spec.Kind {
		case read.OneColumn:
			m.DeleteCellsInColumn(spec.Family, spec.Qualifier)
		case read.AllColumns:
			m.DeleteCellsInFamily(spec.Family)
		default:
			held := 0
			for cell, err := range c.table.ReadCells(c.ctx, key, spec, read.Versions(1)) {
				if err != nil {
					return 0, err
				}
				held += 160 + len(cell.Qualifier)
				if err := c.takes(held); err != nil {
					return 0, err
				}
				m.DeleteCellsInColumn(spec.Family, cell.Qualifier)
			}
		}
	}
	if m.Len() == 0 { // no column matches the prefix
		return 0, nil
	}
	return n.Cells, c.table.Apply(c.ctx, key, m)
}
