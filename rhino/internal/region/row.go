package region

import (
	"context"
	"strings"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/directory"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/rhino"
	"github.com/smolwc/smolwc/tuple"
)

// An operation acts on the row of a key in the directory of a table.
type operation struct {
	creates bool // the directory is created if it does not exist
	run     func(ctx context.Context, key string) (rhino.Message, error)
	absent  rhino.Message // the reply if there is no directory
}

// row does an operation on the row that the columns name, in the shard's region.
func (r *Region) row(ctx context.Context, p rhino.Place, columns rhino.Row, op operation, forward func(*rhino.Place) rhino.Message) (rhino.Message, error) {
	pk, reply, err := r.pk(ctx, p)
	if err != nil || reply != nil {
		return reply, err
	}
	elems, missing := key(pk, columns)
	if missing != "" {
		return rhino.MissingPkValue{Component: missing}, nil
	}
	if reply, err := r.elsewhere(ctx, p, forward); err != nil || reply != nil {
		return reply, err
	}
	dir, err := r.open(ctx, p, op.creates)
	if err != nil || dir == nil {
		return op.absent, err
	}
	k, err := dir.Key(elems...)
	if err != nil {
		return nil, err
	}
	return op.run(ctx, k)
}

// key are the elements of a key, up to the first column without a value.
func key(pk []string, columns rhino.Row) (elems []any, missing string) {
	for _, name := range pk {
		v, ok := columns[name]
		if !ok {
			return elems, name
		}
		elems = append(elems, element(v))
	}
	return elems, ""
}

// element is a value in a key. Integers of all types are one kind there, in the order of
// their numbers.
func element(v rhino.Value) any {
	if n, ok := v.AsI64(); ok && v.Unsigned {
		return uint64(n)
	}
	return v.Any()
}

// The timestamp of a cell tells a U64 from an I64. Each column holds one cell: a write
// of one kind deletes the other.
const (
	signedAt   cells.Timestamp = 0
	unsignedAt cells.Timestamp = 1
)

func (r *Region) set(row rhino.Row) operation {
	return operation{creates: true, run: func(ctx context.Context, key string) (rhino.Message, error) {
		m := write.NewMutation()
		for name, v := range row {
			at, other := signedAt, unsignedAt
			if v.Unsigned {
				at, other = other, at
			}
			m.DeleteCell(family, name, other)
			m.SetAt(family, name, at, v.Value)
		}
		return rhino.SetRowCompleted, r.db.Table(table).Apply(ctx, key, m)
	}}
}

func (r *Region) remove() operation {
	return operation{absent: rhino.DeleteRowCompleted, run: func(ctx context.Context, key string) (rhino.Message, error) {
		m := write.NewMutation()
		m.DeleteRow()
		return rhino.DeleteRowCompleted, r.db.Table(table).Apply(ctx, key, m)
	}}
}

func (r *Region) get() operation {
	return operation{absent: rhino.RowNotFound, run: func(ctx context.Context, key string) (rhino.Message, error) {
		row, err := r.db.Table(table).ReadRow(ctx, key, read.Versions(1))
		if err != nil || row.Len() == 0 {
			return rhino.RowNotFound, err
		}
		return rhino.RowFound{Row: columns(row)}, nil
	}}
}

// columns are the columns of a row.
func columns(row *query.Row) rhino.Row {
	all := make(rhino.Row, row.Len())
	for c := range row.Cells() {
		all[c.Qualifier] = rhino.Value{Value: c.Value, Unsigned: c.Timestamp == unsignedAt && c.Value.Type() == cells.TypeI64}
	}
	return all
}

// maxKnown bounds the directories that a region remembers.
const maxKnown = 10_000

// open is the directory of a tenant's table in a shard, nil if it does not exist.
func (r *Region) open(ctx context.Context, p rhino.Place, create bool) (*directory.Directory, error) {
	path := []string{"tenants", p.TenantID, "table", p.ShardName, p.TableName}
	name := tuple.Key(p.TenantID, p.ShardName, p.TableName)
	if d := r.remembered(name); d != nil {
		return d, nil
	}
	var d *directory.Directory
	err := r.db.Update(ctx, func(tx *query.Tx) (err error) {
		if create {
			d, err = r.dirs.CreateOrOpen(ctx, tx, path, nil)
			return err
		}
		exists, err := r.dirs.Exists(ctx, tx, path)
		if err == nil && exists {
			d, err = r.dirs.Open(ctx, tx, path, nil)
		}
		return err
	})
	if err != nil || d == nil {
		return nil, err
	}
	r.remember(strings.Clone(name), d)
	return d, nil
}

func (r *Region) remembered(name string) *directory.Directory {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.known[name]
}

func (r *Region) remember(name string, d *directory.Directory) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.known) >= maxKnown {
		clear(r.known)
	}
	r.known[name] = d
}
