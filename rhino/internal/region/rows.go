package region

import (
	"context"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"

	"github.com/smolwc/smolwc/directory"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/rhino"
)

// maxReply is about how many bytes of rows one reply holds, besides the first row.
const maxReply = rhino.MaxMessage / 4

// rows reads rows in the order of their keys.
func (r *Region) rows(ctx context.Context, m rhino.GetRows) (rhino.Message, error) {
	if m.Limit < 0 || m.Limit > rhino.MaxRows {
		return rhino.InvalidRequest{Reason: fmt.Sprintf("limit is %d; want 1 to %d, or 0 for %d", m.Limit, rhino.MaxRows, rhino.DefaultRows)}, nil
	}
	pk, reply, err := r.pk(ctx, m.Place)
	if err != nil || reply != nil {
		return reply, err
	}
	elems, reply := prefix(pk, m.Prefix)
	if reply != nil {
		return reply, nil
	}
	reply, err = r.elsewhere(ctx, m.Place, func(p *rhino.Place) rhino.Message { m.Place = *p; return m })
	if err != nil || reply != nil {
		return reply, err
	}
	dir, err := r.open(ctx, m.Place, false)
	if err != nil || dir == nil {
		return rhino.RowsFound{Rows: []rhino.Row{}}, err
	}
	return r.page(ctx, dir, elems, len(elems) == len(pk), m)
}

// prefix are the elements of the beginning of a key. The reply, if it is not nil, says
// what is wrong.
func prefix(pk []string, columns rhino.Row) (elems []any, reply rhino.Message) {
	for name := range columns {
		if !slices.Contains(pk, name) {
			return nil, rhino.InvalidRequest{Reason: fmt.Sprintf("prefix has the column %q; the key is %s", name, strings.Join(pk, ", "))}
		}
	}
	elems, missing := key(pk, columns)
	if len(elems) < len(columns) {
		return nil, rhino.MissingPkValue{Component: missing}
	}
	return elems, nil
}

// page reads the rows of a directory whose keys begin with the elements, or have them
// alone if they are a whole key.
func (r *Region) page(ctx context.Context, dir *directory.Directory, elems []any, whole bool, m rhino.GetRows) (rhino.Message, error) {
	begin, err := dir.Key(elems...)
	if err != nil {
		return nil, err
	}
	in := read.Range(begin+"\x00", begin+"\xff")
	if whole {
		in = read.Key(begin)
	}
	root, err := dir.Key()
	if err != nil {
		return nil, err
	}
	limit := m.Limit
	if limit == 0 {
		limit = rhino.DefaultRows
	}
	opts := []read.Option{in, read.Versions(1), read.Limit(limit + 1)}
	if m.After != "" {
		after, err := base64.RawURLEncoding.DecodeString(m.After)
		if err != nil || len(after) == 0 {
			return rhino.InvalidRequest{Reason: "after is not from a RowsFound"}, nil
		}
		opts = append(opts, read.StartAfter(root+string(after)))
	}
	return r.collect(ctx, root, limit, opts)
}

func (r *Region) collect(ctx context.Context, root string, limit int, opts []read.Option) (rhino.Message, error) {
	found, size, last := rhino.RowsFound{Rows: []rhino.Row{}}, 0, ""
	for row, err := range r.db.Table(table).ReadRows(ctx, opts...) {
		if err != nil {
			return nil, err
		}
		size += bytesOf(row)
		if n := len(found.Rows); n == limit || n > 0 && size > maxReply {
			found.Next = base64.RawURLEncoding.EncodeToString([]byte(last[len(root):]))
			break
		}
		found.Rows, last = append(found.Rows, columns(row)), strings.Clone(row.Key())
	}
	return found, nil
}

// bytesOf is about how many bytes a row takes in a message.
func bytesOf(row *query.Row) (n int) {
	const around = 32
	for c := range row.Cells() {
		n += 2*(len(c.Qualifier)+c.Value.Len()) + around
	}
	return n
}
