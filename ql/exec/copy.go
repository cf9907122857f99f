package exec

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/internal/humanize"
	"github.com/smolwc/smolwc/ql"
	"github.com/smolwc/smolwc/ql/lex"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
)

// A copying is a copy of cells of a table to another one, or to other columns.
type copying struct {
	*Runner
	st       *ql.CopyTable
	from, to schema.Table
	renamed  []ql.CopiedColumn // every column with its new name
	created  bool
	adds     map[string]bool // the families of the target that aggregate

	rows, cells int64
	last        string // the key of the last row that was written
	tried       bool   // a write of rows was begun
}

func (r *Runner) copyTable(ctx context.Context, st *ql.CopyTable) (Result, error) {
	c := &copying{Runner: r, st: st, adds: map[string]bool{}}
	var err error
	if c.from, err = r.table(st.Table); err != nil {
		return nil, err
	}
	if err := schema.CheckTableName(st.To.Text); err != nil {
		return nil, lex.ErrorAt(st.To.Pos, "table: %s", err)
	}
	if st.To.Text == c.from.Name && len(st.Renamed) == 0 {
		return nil, lex.ErrorAt(st.To.Pos, "table %s would be copied to itself; name another table, or columns and their new names, as in columns=meta:model as meta:type", c.from.Name)
	}
	there, exists := r.Database().LookupTable(st.To.Text)
	if !exists && r.Remote == nil && c.whole() {
		err := r.DB.CopyTable(ctx, st.To.Text, r.DB.Table(c.from.Name), nil)
		return &Done{"copied table " + c.from.Name + " to " + st.To.Text}, failed(st.To.Pos, err)
	}
	if err := c.plan(); err != nil {
		return nil, err
	}
	if exists {
		err = c.into(there)
	} else if err = r.Database().CreateTable(ctx, c.to); err == nil {
		c.created = true
	}
	if err != nil {
		return nil, failed(st.To.Pos, err)
	}
	if err := c.run(ctx); err != nil {
		return nil, err
	}
	return &Done{fmt.Sprintf("copied %s, %s of %s to %s", humanize.Count(c.rows, "row"), humanize.Count(c.cells, "cell"), c.from.Name, c.to.Name)}, nil
}

// failed is failure, or nil without an error.
func failed(at lex.Pos, err error) error {
	if err == nil {
		return nil
	}
	return failure(at, err)
}

// whole reports whether the statement copies all cells as they are.
func (c *copying) whole() bool {
	all := ql.CopyTable{Node: c.st.Node, Table: c.st.Table, To: c.st.To, Overlap: c.st.Overlap}
	return ql.Print(&all) == ql.Print(c.st)
}

// plan finds the new name of each column, and declares the table that the copy needs.
func (c *copying) plan() error {
	c.to = c.from
	c.to.Name, c.to.ChangeStream, c.to.Families = c.st.To.Text, 0, nil
	c.renamed = c.st.Renamed
	if len(c.renamed) == 0 {
		for _, f := range c.from.Families {
			c.renamed = append(c.renamed, ql.CopiedColumn{Column: ql.Column{Pos: c.st.Position(), Family: f.Name, Kind: ql.ColumnFamily}})
		}
	}
	renames := false
	for i := range c.renamed {
		as := c.renamed[i].Column
		if c.renamed[i].As != nil {
			as, renames = *c.renamed[i].As, true
		}
		c.renamed[i].As = &as
		if err := c.declare(c.renamed[i].Column, as); err != nil {
			return err
		}
	}
	for _, m := range c.renamed {
		switch {
		case renames && m.Column.Kind == ql.ColumnRegex:
			return lex.ErrorAt(m.Column.Pos, "a pattern and as do not go together; copy the columns of the pattern by a statement of their own")
		case c.st.To.Text == c.from.Name && m.Column.String() == m.As.String():
			return lex.ErrorAt(m.Column.Pos, "%s of %s would be copied to itself; give it another name with as", m.Column, c.from.Name)
		}
	}
	return nil
}

// declare adds the family of a copied column to the new table.
func (c *copying) declare(from, as ql.Column) error {
	f, err := column(c.from, from)
	if err != nil {
		return err
	}
	if f.Aggregate == schema.AggregateHLL {
		return lex.ErrorAt(from.Pos, "family %s has the aggregate hll, and reads show only its number; copy the whole table to a new one, or name the other families in columns=", f.Name)
	}
	if err := schema.CheckFamilyName(as.Family); err != nil {
		return lex.ErrorAt(as.Pos, "family: %s", err)
	}
	f.Name = as.Family
	c.adds[f.Name] = f.Aggregate != schema.NoAggregate
	if other, there := c.to.Family(f.Name); !there {
		c.to.Families = append(c.to.Families, f)
	} else if other.String() != f.String() {
		return lex.ErrorAt(as.Pos, "family %s would be both %s and %s; create table %s first, with the family that it should have", f.Name, other, f, c.to.Name)
	}
	return nil
}

// into checks that a table that is there can take the copy.
func (c *copying) into(there schema.Table) error {
	for _, m := range c.renamed {
		f, err := column(there, *m.As)
		if err != nil {
			return err
		}
		source, _ := c.from.Family(m.Column.Family)
		c.adds[f.Name] = f.Aggregate != schema.NoAggregate
		switch {
		case f.Aggregate != schema.NoAggregate && !c.st.Overlap:
			return lex.ErrorAt(c.st.To.Pos, "family %s of table %s has the aggregate %s: the copy would be added to its cells; write overlap if that is right", f.Name, there.Name, f.Aggregate)
		case f.Type != cells.TypeAny && source.Type != cells.TypeAny && f.Type != source.Type:
			return lex.ErrorAt(m.Column.Pos, "%s has values of type %s, and family %s of table %s has type %s", m.Column, source.Type, f.Name, there.Name, f.Type)
		}
	}
	if !c.st.Overlap && !c.atOnce(there) {
		return lex.ErrorAt(c.st.To.Pos, "table %s is there, and cells cannot be looked up before they are written, over the network or to a table with a change stream; write overlap if the copy may replace some", there.Name)
	}
	c.to = there
	return nil
}

// atOnce reports whether the copy becomes visible as a whole.
func (c *copying) atOnce(to schema.Table) bool { return c.Remote == nil && to.ChangeStream == 0 }

func (c *copying) run(ctx context.Context) error {
	if !c.atOnce(c.to) {
		return c.inBatches(ctx)
	}
	err := c.bulk(ctx)
	if err != nil && c.created {
		err = errors.Join(err, c.DB.DropTable(context.WithoutCancel(ctx), c.to.Name))
	}
	return err
}

// bulk copies with a bulk load.
func (c *copying) bulk(ctx context.Context) (err error) {
	load, err := c.DB.Table(c.to.Name).BulkLoad(ctx, query.BulkOptions{Overlap: c.st.Overlap})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, load.Close()) }()
	m := write.NewMutation()
	err = c.each(ctx, func(row *query.Row) error {
		m.Reset()
		c.fill(m, row)
		return load.Apply(row.Key(), m)
	})
	if err != nil {
		return err
	}
	_, err = load.Commit(ctx)
	if errors.Is(err, query.ErrOverlap) {
		return fmt.Errorf("%w; write overlap if the copy may do that", err)
	}
	return err
}

// A write ends with the row that brings it to one of these numbers of rows, cells or
// bytes. Bigtable takes 100,000 changes in a request.
const (
	copiedRows  = 1000
	copiedCells = 20_000
	copiedBytes = 4 << 20
)

// inBatches copies with ordinary writes.
func (c *copying) inBatches(ctx context.Context) error {
	var keys []string
	var ms []*write.Mutation
	m, n, size := write.NewMutation(), 0, 0
	flush := func() error {
		c.tried = c.tried || len(keys) > 0
		failed, err := c.Database().Table(c.to.Name).ApplyBulk(ctx, keys, ms)
		if err == nil {
			err = errors.Join(failed...)
		}
		if err == nil && len(keys) > 0 {
			c.last = keys[len(keys)-1]
		}
		keys, ms, n, size = keys[:0], ms[:0], 0, 0
		return err
	}
	err := c.each(ctx, func(row *query.Row) error {
		m.Reset()
		size += c.fill(m, row)
		n += m.Len()
		keys, ms = append(keys, strings.Clone(row.Key())), append(ms, m.Clone())
		if len(keys) < copiedRows && n < copiedCells && size < copiedBytes {
			return nil
		}
		return flush()
	})
	if err == nil {
		err = flush()
	}
	if err == nil {
		return nil
	}
	return c.unfinished(err)
}

// unfinished is an error that says how far the copy came. Cells of aggregates are added,
// and rows after the last one may be there too if the outcome of a write is not known. So
// a copy of them cannot go on.
func (c *copying) unfinished(err error) error {
	last := ql.QuoteKeyOf(c.st, c.last)
	switch adds := slices.Contains(slices.Collect(maps.Values(c.adds)), true); {
	case adds && c.last != "":
		return fmt.Errorf("%w (rows up to %s are copied; cells of later rows may be there too, and would be added twice; begin again with a new table)", err, last)
	case adds && c.tried:
		return fmt.Errorf("%w (cells may be there already, and would be added twice; begin again with a new table)", err)
	case c.last != "":
		return fmt.Errorf("%w (rows up to %s are copied; after=%s overlap goes on)", err, last, last)
	}
	return err
}

// each reads the rows to copy.
func (c *copying) each(ctx context.Context, fn func(*query.Row) error) error {
	want := c.st.Read
	if want.Versions == 0 {
		want.Versions = ql.Unlimited
	}
	for _, m := range c.renamed {
		if !slices.ContainsFunc(want.Columns, func(o ql.Column) bool { return o.String() == m.Column.String() }) {
			want.Columns = append(want.Columns, m.Column)
		}
	}
	opts, err := c.readOptions(c.from, c.st.Rows, want)
	if err != nil {
		return err
	}
	for row, err := range c.Database().Table(c.from.Name).ReadRows(ctx, opts...) {
		if err == nil {
			err = fn(row)
		}
		if err != nil {
			return err
		}
		c.rows++
	}
	return nil
}

// fill adds the copies of a row's cells to a mutation, and returns their size.
func (c *copying) fill(m *write.Mutation, row *query.Row) (size int) {
	for cell := range row.Cells() {
		for _, r := range c.renamed {
			if !holds(r.Column, cell) {
				continue
			}
			qualifier := cell.Qualifier
			if r.Column.Kind == ql.ColumnExact {
				qualifier = r.As.Qualifier
			}
			if c.adds[r.As.Family] {
				m.AddAt(r.As.Family, qualifier, cell.Timestamp, cell.Value)
			} else {
				m.SetAt(r.As.Family, qualifier, cell.Timestamp, cell.Value)
			}
			c.cells++
			size += len(qualifier) + cell.Value.EncodedLen()
		}
	}
	return size
}

// holds reports whether the cell is in the column. Only cells of a pattern are read if
// there is one.
func holds(c ql.Column, cell cells.Cell) bool {
	if c.Family != cell.Family {
		return false
	}
	switch c.Kind {
	case ql.ColumnExact:
		return c.Qualifier == cell.Qualifier
	case ql.ColumnPrefix:
		return strings.HasPrefix(cell.Qualifier, c.Qualifier)
	case ql.ColumnRange:
		return c.Start <= cell.Qualifier && (c.End == "" || cell.Qualifier < c.End)
	}
	return true
}
