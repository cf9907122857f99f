package console

import (
	"net/http"
	"slices"
	"strings"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/ql"
	"github.com/smolwc/smolwc/ql/exec"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/schema"
)

const (
	// rowCells is how many cells of a row a page of rows shows: the page of the row
	// shows all.
	rowCells = 400
	// columnsPerPage is how many columns the page of a row shows.
	columnsPerPage = 200
	// versionsPerPage is how many cells the page of a column shows.
	versionsPerPage = 50
	// pageBytes is the size of the rows or versions after which a page ends.
	pageBytes = 16 << 20
)

// A rowsPage is the page of a table: some of its rows.
type rowsPage struct {
	*builder
	Form    []condition // Conditions, and empty ones to fill in
	Grid    *grid
	Choice  []choice // the columns that can be shown, the busiest first
	Next    string   // the address of the next page; "" for the last page
	Copies  []copied
	Delete  string // the statement that deletes all such rows; "": the page offers none
	Problem string // why the form makes no statement
}

// A choice is a column that can be shown.
type choice struct {
	Field, Word string
	On          bool
}

// rows is the page of a table. A choice of rows that makes no statement is shown with the
// reason, so that the form can be put right.
func rows(v *visit) error {
	t, err := v.table()
	if err != nil {
		return err
	}
	b, err := v.builder(t)
	p := rowsPage{builder: b, Form: append(b.Conditions[:len(b.Conditions):len(b.Conditions)], condition{})}
	var st *ql.Scan
	if err == nil {
		st, err = b.scan(v.env())
	}
	if err == nil {
		read := *st
		// Two versions of a column are enough to show that there are several.
		read.Limit, read.After, read.Versions, read.CellsPerRow = 0, b.After, max(2, b.Versions), rowCells+1
		if err = p.read(v, &read); err == nil {
			err = p.choose(v, &read)
		}
	}
	switch {
	case err == nil:
		p.Copies, p.Delete = v.copies(st), deletionOf(st)
	case statusOf(err) != http.StatusBadRequest:
		return err
	default: // the form has to be put right
		p.Problem, p.Grid = err.Error(), arrange(t, nil, nil)
		v.w.WriteHeader(http.StatusBadRequest)
	}
	return v.show("rows", t.Name, p)
}

// read fills the grid.
func (p *rowsPage) read(v *visit, st *ql.Scan) error {
	stream, err := v.scan(st, p.Limit)
	if err != nil {
		return err
	}
	found, size := []gridRow{}, 0
	for row, err := range stream.All() {
		if err != nil {
			return err
		}
		if size >= pageBytes {
			p.Next = p.address(found[len(found)-1].Key)
			break
		}
		g := gridRowOf(row, rowCells)
		found, size = append(found, g), size+g.size
	}
	if stream.More() {
		p.Next = p.address(found[len(found)-1].Key)
	}
	p.Grid = arrange(p.Table, found, p.Show)
	return nil
}

// sampledRows is how many rows say which columns there are besides those that are shown.
const sampledRows = 20

// choose lists the columns of the page. If the reader chose some, it also looks at a few
// rows for others to offer.
func (p *rowsPage) choose(v *visit, st *ql.Scan) error {
	all := p.Grid.all
	if p.Show != nil {
		few := *st
		few.Columns, few.Versions = nil, 1
		stream, err := v.scan(&few, sampledRows)
		if err != nil {
			return err
		}
		var found []gridRow
		size := 0
		for row, err := range stream.All() {
			if err != nil {
				return err
			}
			g := gridRowOf(row, rowCells)
			if found, size = append(found, g), size+g.size; size >= pageBytes {
				break
			}
		}
		all = slices.Clone(p.Show)
		for _, c := range arrange(p.Table, found, nil).all {
			if !slices.Contains(all, c) {
				all = append(all, c)
			}
		}
	}
	for _, c := range all[:min(len(all), mostColumns)] {
		p.Choice = append(p.Choice, choice{columnField(c), columnWord(c), slices.Contains(p.Show, c)})
	}
	return nil
}

// scan runs a scan for a page.
func (v *visit) scan(st *ql.Scan, rows int) (*exec.RowStream, error) {
	found, err := v.runner(rows).Run(v.r.Context(), st)
	if err != nil {
		return nil, err
	}
	stream, ok := found.(*exec.RowStream)
	if !ok {
		return nil, invalid("a scan gives %T", found)
	}
	return stream, nil
}

// fields are the texts of fields.
func (v *visit) fields(into map[string]*string) (err error) {
	for name, text := range into {
		if *text, err = unfield(name, v.r.FormValue(name)); err != nil {
			*text = v.r.FormValue(name)
			return err
		}
	}
	return nil
}

// statementOf is the scan in the shell; "" if the form makes none.
func statementOf(p rowsPage) string {
	if len(p.Copies) == 0 {
		return ""
	}
	return p.Copies[0].Text
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
		found, p.gridRow = true, gridRowOf(row, columnsPerPage)
	}
	if !found && p.Start {
		return notFound("there is no row %s", keyText(t, p.Key))
	}
	if p.More {
		last := p.Cells[len(p.Cells)-1]
		p.Next = columnAddress(t.Name, "row", p.Key, last.Family, last.Qualifier)
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

// why is the statement that says which versions are hidden or gone, and why.
func (p cellPage) why() string {
	return ql.Print(&ql.Why{Table: ql.Name{Text: p.Table.Name}, Key: p.Key, Columns: []ql.Column{{Family: p.Family, Qualifier: p.Qualifier}}})
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
			_, _ = v.w.Write(bytesOf(c.Value)) // fails if the browser is gone
			return nil
		}
	}
	return notFound("there is no such cell now")
}
