// Package rowmap uses a table as an ordered map from row keys to byte strings, in a
// transaction. Layers that keep keys and values of their own are built on it.
//
// Each value is the cell without a qualifier at timestamp 0 of one family. So a write
// depends on nothing that was read, and replaces the value.
package rowmap

import (
	"context"
	"iter"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/query/write"
)

// A Map says where a map is. The table may have other families and other rows.
type Map struct{ Table, Family string }

// A View is a Map in a transaction. It belongs to the goroutine of the transaction.
type View struct {
	Map
	Ctx context.Context
	Tx  *query.Tx
}

// An Entry is a key with its value.
type Entry struct{ Key, Value string }

// Get is the value of a key. The commit depends on it.
func (v *View) Get(key string) (value string, found bool, err error) {
	return v.one(v.Tx.ReadRows, read.Key(key))
}

// Peek is [View.Get] without a dependency.
func (v *View) Peek(key string) (value string, found bool, err error) {
	return v.one(v.Tx.PeekRows, read.Key(key))
}

// First is the first entry in a range. The commit depends on the range up to it.
func (v *View) First(in read.RowSet) (e Entry, found bool, err error) {
	for e, err := range v.entries(v.Tx.ReadRows, in, read.Limit(1)) {
		return e, err == nil, err
	}
	return Entry{}, false, nil
}

// PeekAll are the entries of some rows, at most limit if that is not 0, without a
// dependency. The map must not be read in the loop where it was written in the loop.
func (v *View) PeekAll(in read.RowSet, limit int) iter.Seq2[Entry, error] {
	if limit == 0 {
		return v.entries(v.Tx.PeekRows, in)
	}
	return v.entries(v.Tx.PeekRows, in, read.Limit(limit))
}

// Set writes a value.
func (v *View) Set(key, value string) error {
	m := write.NewMutation()
	m.SetAt(v.Family, "", 0, cells.Bytes([]byte(value)))
	return v.Tx.Apply(v.Ctx, v.Table, key, m)
}

// Delete removes keys. It reads nothing.
func (v *View) Delete(keys ...string) error {
	m := write.NewMutation()
	m.DeleteCell(v.Family, "", 0)
	for _, key := range keys {
		if err := v.Tx.Apply(v.Ctx, v.Table, key, m); err != nil {
			return err
		}
	}
	return nil
}

// A reader is a Tx's ReadRows or PeekRows.
type reader func(ctx context.Context, table string, opts ...read.Option) iter.Seq2[*query.Row, error]

func (v *View) one(rows reader, key read.RowSet) (value string, found bool, err error) {
	for e, err := range v.entries(rows, key) {
		return e.Value, err == nil, err
	}
	return "", false, nil
}

func (v *View) entries(rows reader, opts ...read.Option) iter.Seq2[Entry, error] {
	opts = append(opts, read.Column(v.Family, ""), read.Versions(1))
	return func(yield func(Entry, error) bool) {
		for row, err := range rows(v.Ctx, v.Table, opts...) {
			e, err := v.entry(row, err)
			if !yield(e, err) || err != nil {
				return
			}
		}
	}
}

func (v *View) entry(row *query.Row, err error) (Entry, error) {
	if err != nil {
		return Entry{}, err
	}
	value, ok := row.Bytes(v.Family, "")
	if !ok {
		return Entry{}, Fault(query.KindCorruption, "table %s, row %x: the value is not bytes", v.Table, row.Key())
	}
	return Entry{row.Key(), string(value)}, nil
}
