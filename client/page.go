package client

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/smolwc/smolwc/api/wire"
	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/internal/fields"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/read"
)

// ReadPage reads a page, as [query.Table.ReadPage] does. The client makes the tokens from
// the last row or column of the page, so a token of a local database is refused.
// [read.Limit] and [read.EveryRow] are errors, and so is [read.CellsPerRow] with a page of
// columns.
func (t *Table) ReadPage(ctx context.Context, opts ...read.Option) (*query.Page, error) {
	page, err := t.readPage(ctx, opts)
	if err != nil {
		return nil, clientError("read page", t.name, "", err)
	}
	return page, nil
}

func (t *Table) readPage(ctx context.Context, opts []read.Option) (*query.Page, error) {
	want, err := read.New(opts...)
	if err != nil {
		return nil, wire.Invalid("%v", err)
	}
	size, token := cmp.Or(want.PageSize, read.DefaultPageSize), want.PageToken
	want.PageSize, want.PageToken = 0, ""
	r, err := t.newClientRead(ctx, []read.Option{want}, false)
	if err != nil {
		return nil, err
	}
	if want.Limit != 0 || want.EveryRow {
		return nil, wire.Invalid("Limit and EveryRow cannot be given to a page over the network")
	}
	print := r.fingerprint()
	at, err := parsePosition(token, print)
	if err != nil {
		return nil, err
	}
	ranges := want.RowRanges()
	if len(ranges) == 1 && !want.KeysOnly {
		if key, single := ranges[0].Single(); single {
			return r.t.columnPage(ctx, want, key, size, at, print)
		}
	}
	return r.t.rowPage(ctx, want, size, at, print)
}

func (t *Table) rowPage(ctx context.Context, want *read.Request, size int, at position, print uint64) (*query.Page, error) {
	if at.set {
		want.After, want.Offset = at.row, 0
	}
	want.Limit = size + 1 // one more, to learn whether there is another page
	page := &query.Page{}
	err := t.eachRow(ctx, []read.Option{want}, false, func(_ *clientRead, row *query.Row, _ judgedCells) bool {
		if len(page.Rows) == size {
			page.Next = position{row: page.Rows[size-1].Key()}.token(print)
			return false
		}
		page.Rows = append(page.Rows, row)
		return true
	})
	return page, err
}

// columnPage reads some columns of a row, in the order of families and qualifiers.
func (t *Table) columnPage(ctx context.Context, want *read.Request, key string, size int, at position, print uint64) (*query.Page, error) {
	if want.CellsPerRow != 0 {
		return nil, wire.Invalid("CellsPerRow cannot be given to a page of columns over the network")
	}
	if at.set {
		if want.Columns = t.columnsAfter(want, at); len(want.Columns) == 0 {
			return &query.Page{}, nil
		}
	}
	if want.Versions == 1 && want.Filter == nil { // each cell is a column, and is kept
		want.CellsPerRow = size + 1
	}
	page := &query.Page{}
	err := t.eachRow(ctx, []read.Option{want}, false, func(_ *clientRead, row *query.Row, _ judgedCells) bool {
		var kept []cells.Cell
		columns := 0
		for c := range row.Cells() {
			if n := len(kept); n == 0 || kept[n-1].Family != c.Family || kept[n-1].Qualifier != c.Qualifier {
				if columns == size {
					last := kept[n-1]
					page.Next = position{family: last.Family, qualifier: last.Qualifier}.token(print)
					break
				}
				columns++
			}
			kept = append(kept, c)
		}
		page.Rows = append(page.Rows, query.NewRow(key, kept))
		return true
	})
	return page, err
}

// columnsAfter are the columns of a read that come after a column.
func (t *Table) columnsAfter(want *read.Request, at position) (list []read.ColumnSpec) {
	all := want.ColumnRanges()
	if len(want.Columns) == 0 {
		for _, f := range t.declared.Families {
			all = append(all, read.FamilyColumns{Family: f.Name, Qualifiers: []cf.Range{{}}})
		}
		slices.SortFunc(all, func(a, b read.FamilyColumns) int { return strings.Compare(a.Family, b.Family) })
	}
	for _, f := range all {
		switch order := strings.Compare(f.Family, at.family); {
		case order < 0:
			continue
		case order == 0:
			f.Qualifiers = cf.ClipRanges(f.Qualifiers, cf.Range{Start: at.qualifier + "\x00"})
		}
		for _, q := range f.Qualifiers {
			list = append(list, read.ColumnRange(f.Family, q.Start, q.End))
		}
	}
	return list
}

// fingerprint distinguishes reads: it covers the table and all that selects rows and
// cells.
func (r *clientRead) fingerprint() uint64 {
	h := fnv.New64a()
	filter, _ := proto.MarshalOptions{Deterministic: true}.Marshal(r.msg.GetFilter())
	fmt.Fprintf(h, "%q %x %t %q %q %d %d", r.msg.GetTableName(), filter, r.want.Reverse, r.want.Rows, r.want.After, r.sample, r.want.Offset)
	for i := range r.want.Where {
		fmt.Fprintf(h, " where %s", r.want.Where[i])
	}
	return h.Sum64()
}

// A position is where a page ended: at a row, or at a column of the only row.
type position struct {
	set               bool
	row               string
	family, qualifier string
}

// tokenVersion is the first byte of a token.
const tokenVersion = 'n'

func (p position) token(print uint64) string {
	b := binary.BigEndian.AppendUint64([]byte{tokenVersion}, print)
	b = binary.AppendUvarint(b, uint64(len(p.row)))
	b = append(b, p.row...)
	b = binary.AppendUvarint(b, uint64(len(p.family)))
	return base64.RawURLEncoding.EncodeToString(append(append(b, p.family...), p.qualifier...))
}

func parsePosition(token string, print uint64) (p position, err error) {
	if token == "" {
		return p, nil
	}
	b, err := base64.RawURLEncoding.Strict().DecodeString(token)
	if err != nil || len(b) < 9 {
		return p, wire.Invalid("page token is damaged: it is no token")
	}
	if b[0] != tokenVersion {
		return p, wire.Invalid("the page token is no token of a read over the network")
	}
	if binary.BigEndian.Uint64(b[1:]) != print {
		return p, wire.Invalid("page token belongs to a read of another table or with other options")
	}
	r := fields.Reader{Rest: b[9:]}
	p = position{set: true, row: string(r.Text()), family: string(r.Text())}
	if r.Bad {
		return position{}, wire.Invalid("page token is damaged: it is cut off")
	}
	p.qualifier = string(r.Rest)
	return p, nil
}
