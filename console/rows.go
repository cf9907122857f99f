package console

import (
	"slices"
	"strings"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/ql"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/schema"
)

const (
	usualRows = 50
	mostRows  = 1000
	// rowCells is how many cells of a row a page of rows has: the page of the row has
	// all.
	rowCells = 100
	// columnsPerPage is how many columns the page of a row has.
	columnsPerPage = 200
	// versionsPerPage is how many cells the page of a column has.
	versionsPerPage = 50
	// pageBytes is the size of the rows or versions after which a page ends.
	pageBytes = 16 << 20
)

// A rowsPage is the page of a table: some of its rows.
type rowsPage struct {
	Table   schema.Table
	Prefix  string
	From    string // the first key
	To      string // the end, exclusive
	Family  string // of the columns; "": all
	Reverse bool
	Limit   int
	Rows    []gridRow
	Next    string // the address of the next page; "" for the last page
}

// A gridOf is rows of a table.
type gridOf struct {
	Table string
	Rows  []gridRow
}

// A gridRow is a row of a grid.
type gridRow struct {
	Key      string
	Families []gridFamily
	More     bool // there are further cells
	size     int  // bytes of the key and of the cells in the database
}

type gridFamily struct {
	Name  string
	Cells []gridCell
}

// A gridCell is a cell of a grid. It has the beginning of the value alone, or the large
// values of a page would take more memory than the server has for all of its calls.
type gridCell struct {
	Family, Qualifier string
	Timestamp         cells.Timestamp
	Type              cells.Type
	Text              string // the beginning of the value
	Size              string // of a value that is longer; "" of others
}

func grid(row *query.Row, most int) gridRow {
	g := gridRow{Key: strings.Clone(row.Key()), size: len(row.Key())}
	n := 0
	for c := range row.Cells() {
		if n++; n > most {
			g.More = true
			break
		}
		if last := len(g.Families) - 1; last < 0 || g.Families[last].Name != c.Family {
			g.Families = append(g.Families, gridFamily{Name: strings.Clone(c.Family)})
		}
		f := &g.Families[len(g.Families)-1]
		f.Cells = append(f.Cells, gridCell{f.Name, strings.Clone(c.Qualifier), c.Timestamp, c.Value.Type(), short(c.Value), size(c.Value)})
		g.size += len(c.Qualifier) + length(c.Value)
	}
	return g
}

func rows(v *visit) error {
	t, err := v.table()
	if err != nil {
		return err
	}
	p := rowsPage{Table: t, Family: v.r.FormValue("family"), Reverse: v.r.FormValue("reverse") != ""}
	if err := v.fields(map[string]*string{"prefix": &p.Prefix, "from": &p.From, "to": &p.To}); err != nil {
		return err
	}
	if p.Limit, err = number(v.r, "limit", usualRows, mostRows); err != nil {
		return err
	}
	if p.Prefix != "" && p.From+p.To != "" {
		return invalid("a page has the rows of a prefix or of a range; leave one of them empty")
	}
	opts := []read.Option{read.Prefix(p.Prefix), read.Versions(1), read.Limit(p.Limit + 1), read.CellsPerRow(rowCells + 1)}
	if p.From+p.To != "" {
		opts[0] = read.Range(p.From, p.To)
	}
	if p.Family != "" {
		opts = append(opts, read.Family(p.Family))
	}
	if p.Reverse {
		opts = append(opts, read.Reverse())
	}
	if after := v.r.FormValue("after"); after != "" {
		opts = append(opts, read.StartAfter(after))
	}
	read := 0
	for row, err := range v.Table(t.Name).ReadRows(v.r.Context(), opts...) {
		if err != nil {
			return err
		}
		if len(p.Rows) == p.Limit || read >= pageBytes {
			p.Next = p.address("after", p.Rows[len(p.Rows)-1].Key)
			break
		}
		g := grid(row, rowCells)
		p.Rows, read = append(p.Rows, g), read+g.size
	}
	return v.show("rows", t.Name, p)
}

// fields are the texts of fields.
func (v *visit) fields(into map[string]*string) (err error) {
	for name, text := range into {
		if *text, err = unfield(name, v.r.FormValue(name)); err != nil {
			return err
		}
	}
	return nil
}

// address is the address of a page with the same choice of rows.
func (p *rowsPage) address(pairs ...string) string {
	reverse := ""
	if p.Reverse {
		reverse = "1"
	}
	limit := ""
	if p.Limit != usualRows {
		limit = decimal(p.Limit)
	}
	return address(p.Table.Name, "", append(pairs, "prefix", field(p.Prefix), "from", field(p.From), "to", field(p.To), "family", p.Family, "reverse", reverse, "limit", limit)...)
}

// statement is the statement that shows the same rows in the shell.
func (p rowsPage) statement() string {
	st := &ql.Scan{Table: ql.Name{Text: p.Table.Name}, Rows: ql.Rows{Prefix: p.Prefix, Start: p.From, End: p.To}}
	st.Limit, st.Reverse = p.Limit, p.Reverse
	if p.Family != "" {
		st.Columns = []ql.Column{{Family: p.Family, Kind: ql.ColumnFamily}}
	}
	return ql.Print(st)
}

// A rowPage is the page of one row.
type rowPage struct {
	Table schema.Table
	gridRow
	Start bool   // it begins with the first column
	Next  string // the address of the next columns; "" for the last page
}

// deletion is the statement that deletes the row.
func (p rowPage) deletion() string {
	return ql.Print(&ql.Delete{Table: ql.Name{Text: p.Table.Name}, Key: p.Key})
}

func row(v *visit) error {
	t, err := v.table()
	if err != nil {
		return err
	}
	p := rowPage{Table: t, gridRow: gridRow{Key: v.r.FormValue("key")}, Start: !v.r.Form.Has("qualifier")}
	opts := []read.Option{read.Key(p.Key), read.Versions(1), read.CellsPerRow(columnsPerPage + 1)}
	if !p.Start {
		opts = append(opts, columnsAfter(t, v.r.FormValue("family"), v.r.FormValue("qualifier"))...)
	}
	found := false
	for row, err := range v.Table(t.Name).ReadRows(v.r.Context(), opts...) {
		if err != nil {
			return err
		}
		found, p.gridRow = true, grid(row, columnsPerPage)
	}
	if !found && p.Start {
		return notFound("there is no row %s", keyText(t, p.Key))
	}
	if p.More {
		f := p.Families[len(p.Families)-1]
		p.Next = columnAddress(t.Name, "row", p.Key, f.Name, f.Cells[len(f.Cells)-1].Qualifier)
	}
	return v.show("row", keyText(t, p.Key), p)
}

// columnsAfter are the columns of a row after one of them.
func columnsAfter(t schema.Table, family, qualifier string) []read.Option {
	opts := []read.Option{read.ColumnRange(family, qualifier+"\x00", "")}
	names := make([]string, 0, len(t.Families))
	for _, f := range t.Families {
		names = append(names, f.Name)
	}
	slices.Sort(names)
	for _, name := range names {
		if strings.Compare(name, family) > 0 {
			opts = append(opts, read.Family(name))
		}
	}
	return opts
}

// A cellPage is the page of a column of a row: its versions.
type cellPage struct {
	Table                  schema.Table
	Key, Family, Qualifier string
	Versions               []version
	Next                   string // the address of the older versions; "" for the last page
}

// deletion is the statement that deletes the column from the row.
func (p cellPage) deletion() string {
	column := ql.DeleteColumn{Column: ql.Column{Family: p.Family, Qualifier: p.Qualifier}}
	return ql.Print(&ql.Delete{Table: ql.Name{Text: p.Table.Name}, Key: p.Key, Columns: []ql.DeleteColumn{column}})
}

// A version is a cell of a history.
type version struct {
	Family, Qualifier string
	Timestamp         cells.Timestamp
	Views             []view
	Gap               string // since the version before it; "" for the oldest of the page
	Changes           []change
}

// add takes the versions of a column, the newest first, until the page is full.
func (p *cellPage) add(history []cells.Cell) {
	read := 0
	for i, c := range history {
		if i == versionsPerPage || read >= pageBytes {
			p.Next = columnAddress(p.Table.Name, "cell", p.Key, p.Family, p.Qualifier, "before", history[i-1].Timestamp.String())
			return
		}
		read += length(c.Value)
		v := version{Family: p.Family, Qualifier: p.Qualifier, Timestamp: c.Timestamp, Views: views(c.Value)}
		if i+1 < len(history) {
			older := history[i+1]
			v.Gap, v.Changes = span(c.Timestamp-older.Timestamp), changes(older.Value, c.Value)
		}
		p.Versions = append(p.Versions, v)
	}
}

func cell(v *visit) error {
	t, err := v.table()
	if err != nil {
		return err
	}
	p := cellPage{Table: t, Key: v.r.FormValue("key"), Family: v.r.FormValue("family"), Qualifier: v.r.FormValue("qualifier")}
	opts := []read.Option{read.Key(p.Key), read.Column(p.Family, p.Qualifier), read.Versions(versionsPerPage + 1)}
	if before := v.r.FormValue("before"); before != "" {
		until, err := parseTimestamp(before)
		if err != nil {
			return err
		}
		opts = append(opts, read.TimeRange(0, until))
	}
	for row, err := range v.Table(t.Name).ReadRows(v.r.Context(), opts...) {
		if err != nil {
			return err
		}
		p.add(slices.Collect(row.Cells()))
	}
	if len(p.Versions) == 0 {
		return notFound("row %s has no cell in this column", keyText(t, p.Key))
	}
	return v.show("cell", p.Family+":"+nameText(p.Qualifier), p)
}

// rawValue sends the bytes of a cell's value as a file.
func rawValue(v *visit) error {
	t, err := v.table()
	if err != nil {
		return err
	}
	at, err := parseTimestamp(v.r.FormValue("at"))
	if err != nil {
		return err
	}
	opts := []read.Option{read.Key(v.r.FormValue("key")), read.Column(v.r.FormValue("family"), v.r.FormValue("qualifier")), read.TimeRange(at, at+1)}
	for row, err := range v.Table(t.Name).ReadRows(v.r.Context(), opts...) {
		if err != nil {
			return err
		}
		for c := range row.Cells() {
			v.w.Header().Set("Content-Type", "application/octet-stream")
			v.w.Header().Set("Content-Disposition", `attachment; filename="value.bin"`)
			_, _ = v.w.Write(bytesOf(c.Value)) // the browser has gone, if it fails
			return nil
		}
	}
	return notFound("there is no such cell now")
}
