package directory

import (
	"context"
	"iter"

	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/query/rowmap"
	"github.com/smolwc/smolwc/query/write"
)

// A store is the table of the directories as an ordered map.
type store struct{ Options }

// A work is one call's view of the store, in its transaction.
type work struct {
	store
	ctx context.Context
	tx  *query.Tx
}

// get is the value of a key.
func (w *work) get(key string) (value string, found bool, err error) { return w.view().Get(key) }

// set writes a value.
func (w *work) set(key, value string) error { return w.view().Set(key, value) }

func (w *work) view() *rowmap.View {
	return &rowmap.View{Map: rowmap.Map{Table: w.table(), Family: w.family()}, Ctx: w.ctx, Tx: w.tx}
}

// cell are the options that read the values of rows.
func (s *store) cell(rows read.Option) []read.Option {
	return []read.Option{rows, read.Column(s.family(), ""), read.Versions(1)}
}

func (s *store) value(row *query.Row) (string, error) {
	value, ok := row.Bytes(s.family(), "")
	if !ok {
		return "", rowmap.Fault(query.KindCorruption, "table %s, row %x: the value of a directory is not bytes", s.table(), row.Key())
	}
	return string(value), nil
}

// clear deletes rows of a table.
func (w *work) clear(table string, rows read.RowSet) error {
	keys, err := keysOf(w.tx.ReadRows(w.ctx, table, rows, read.KeysOnly()))
	if err != nil {
		return err
	}
	return w.delete(table, keys...)
}

func (w *work) delete(table string, keys ...string) error {
	m := write.NewMutation()
	m.DeleteRow()
	for _, key := range keys {
		if err := w.tx.Apply(w.ctx, table, key, m); err != nil {
			return err
		}
	}
	return nil
}

// keysOf are the keys of rows. It reads all of them, so the caller may then change the
// rows.
func keysOf(rows iter.Seq2[*query.Row, error]) (keys []string, err error) {
	for row, err := range rows {
		if err != nil {
			return nil, err
		}
		keys = append(keys, row.Key())
	}
	return keys, nil
}

// within are the rows of all tuples that extend the one with the key.
func within(key string) read.RowSet { return read.Range(key+"\x00", key+"\xff") }

// any reports whether any of the rows exists.
func (w *work) any(table string, rows read.RowSet) (bool, error) {
	for _, err := range w.tx.ReadRows(w.ctx, table, rows, read.KeysOnly(), read.Limit(1)) {
		return err == nil, err
	}
	return false, nil
}
