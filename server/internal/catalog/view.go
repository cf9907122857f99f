package catalog

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"cloud.google.com/go/bigtable/admin/apiv2/adminpb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/smolwc/smolwc/api/wire"
	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/internal/excerpt"
	"github.com/smolwc/smolwc/query/read"
)

// A View is an authorized view: the part of a table that its users reach. A nil View is
// the whole table. Views are not changed.
type View struct {
	Message *adminpb.AuthorizedView // its name is the id alone, and it carries no etag
	rows    []cf.Range              // sorted and disjoint
	columns map[string][]cf.Range   // by family; sorted and disjoint
}

// NewView is the view of a message, which the caller no longer changes.
func NewView(m *adminpb.AuthorizedView) *View {
	subset := m.GetSubsetView()
	v := &View{Message: m, rows: ranges(nil, subset.GetRowPrefixes()), columns: map[string][]cf.Range{}}
	for family, columns := range subset.GetFamilySubsets() {
		v.columns[family] = ranges(columns.GetQualifiers(), columns.GetQualifierPrefixes())
	}
	return v
}

func ranges(singles, prefixes [][]byte) []cf.Range {
	all := make([]cf.Range, 0, len(singles)+len(prefixes))
	for _, s := range singles {
		all = append(all, cf.Single(string(s)))
	}
	for _, p := range prefixes {
		all = append(all, cf.Prefix(string(p)))
	}
	return cf.MergeRanges(all)
}

// Rows are the ranges of the view's rows, sorted and disjoint.
func (v *View) Rows() []cf.Range {
	if v == nil {
		return []cf.Range{{}}
	}
	return v.rows
}

// CheckRow refuses a row outside of the view.
func (v *View) CheckRow(key string) error {
	if v == nil || cf.InRanges(v.rows, key) {
		return nil
	}
	return v.denied(fmt.Sprintf("row %q", excerpt.Of(key)))
}

// CheckColumn refuses a column outside of the view.
func (v *View) CheckColumn(family, qualifier string) error {
	if v == nil || cf.InRanges(v.columns[family], qualifier) {
		return nil
	}
	return v.denied(fmt.Sprintf("column %s:%q", family, excerpt.Of(qualifier)))
}

// CheckFamily refuses a family unless the view includes all of its columns: a delete of
// the family in a row would reach outside of the view.
func (v *View) CheckFamily(family string) error {
	if v == nil || slices.Equal(v.columns[family], []cf.Range{{}}) {
		return nil
	}
	return v.denied(fmt.Sprintf("every column of family %q", family))
}

func (v *View) denied(what string) error {
	return status.Errorf(codes.PermissionDenied, "authorized view %q does not include %s", v.Message.GetName(), what)
}

// CheckWholeRow refuses a delete of rows unless the table's view includes all columns,
// also in families that another process just added.
func (t *Table) CheckWholeRow(ctx context.Context) error {
	if t.View == nil {
		return nil
	}
	declared, _ := t.catalog.DB.Plumbing().NewestTable(ctx, t.Name.Stored)
	for i := range declared.Families {
		if t.View.CheckFamily(declared.Families[i].Name) != nil {
			return t.View.denied("every column of every family") // and does not say which families there are
		}
	}
	return nil
}

// nothing reads no rows.
var nothing = []read.Option{read.RowSet{Ranges: []read.RowRange{}}}

// Within returns the options that restrict a read of rows to the table's view.
func (t *Table) Within(rows []read.Option) ([]read.Option, error) {
	if t.View == nil {
		return rows, nil
	}
	asked, err := read.New(rows...)
	if err != nil {
		return nil, wire.Invalid("%v", err)
	}
	columns, ok := t.Columns()
	if !ok {
		return nothing, nil
	}
	return append(columns, read.RowSet{Ranges: cf.IntersectRanges(asked.RowRanges(), t.View.rows)}), nil
}

// Columns returns the options that restrict a read to the columns of the table's view,
// nil without a view. For a view without columns ok is false: without options, a read
// would read all columns.
func (t *Table) Columns() (columns []read.Option, ok bool) {
	if t.View == nil {
		return nil, true
	}
	for _, family := range slices.Sorted(maps.Keys(t.View.columns)) {
		if _, exists := t.Declared.Family(family); !exists {
			continue
		}
		for _, r := range t.View.columns[family] {
			columns = append(columns, read.ColumnRange(family, r.Start, r.End))
		}
	}
	return columns, len(columns) > 0
}

// LookUpView finds the table of an authorized view. The table's View is that view.
func (c *Catalog) LookUpView(name string) (*Table, error) {
	t, id, err := c.Own.ParseView(name)
	if err != nil {
		return nil, err
	}
	table, err := c.LookUp(t.String())
	if err != nil {
		return nil, err
	}
	if table.View = c.Note(t.Stored).Views[id]; table.View == nil {
		return nil, ViewNotFound(name)
	}
	return table, nil
}

// ViewNotFound is the error for an authorized view that does not exist.
func ViewNotFound(name string) error {
	return status.Errorf(codes.NotFound, "authorized view %q not found", name)
}
