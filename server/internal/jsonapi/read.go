package jsonapi

import (
	"math"
	"slices"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/schema"
)

// noLimit is a limit that a request leaves out, Smoltable's.
const noLimit = math.MaxUint16

// A selection is the columns that a request selects, of families that exist.
type selection struct {
	all       bool
	specs     []read.ColumnSpec
	cellLimit int64 // of each column
	filtered  bool  // a filter was given
}

func newSelection() *selection { return &selection{all: true, cellLimit: noLimit} }

// empty reports whether no column can be selected.
func (s *selection) empty() bool { return !s.all && len(s.specs) == 0 }

func (s *selection) has(family string) bool {
	return s.all || slices.ContainsFunc(s.specs, func(c read.ColumnSpec) bool { return c.Family == family })
}

func (s *selection) options() []read.Option {
	opts := make([]read.Option, 0, len(s.specs)+6)
	for _, spec := range s.specs {
		opts = append(opts, spec)
	}
	return opts
}

// add selects columns by Smoltable's rules: a key without a qualifier is the whole
// family. Families that do not exist have no columns.
func (s *selection) add(of *schema.Table, key string, prefix bool) error {
	family, qualifier, err := cutColumn(key)
	if err != nil {
		return err
	}
	s.all = false
	if _, ok := of.Family(family); !ok {
		return nil
	}
	switch {
	case qualifier == "":
		s.specs = append(s.specs, read.Family(family))
	case prefix:
		s.specs = append(s.specs, read.ColumnPrefix(family, qualifier))
	default:
		s.specs = append(s.specs, read.Column(family, qualifier))
	}
	return nil
}

// The fields of a column filter, and of the columns of a read.
const (
	filterNames = "key, multi_key, prefix"
	columnNames = filterNames + ", cell_limit"
)

// filter reads a field of a column filter.
func (b *body) filter(s *selection, of *schema.Table, name string) (bool, error) {
	one := func() error {
		if s.filtered {
			return b.wrong("there are two column filters; want one of key, multi_key and prefix")
		}
		s.filtered = true
		return nil
	}
	key := func() error {
		var text string
		err := b.text(&text)
		if err == nil {
			if wrong := s.add(of, text, name == "prefix"); wrong != nil {
				err = b.wrong("%v", wrong)
			}
		}
		return err
	}
	switch name {
	case "key", "prefix":
		return true, b.optional(func() error {
			if err := one(); err != nil {
				return err
			}
			return key()
		})
	case "multi_key":
		return true, b.optional(func() error {
			if err := one(); err != nil {
				return err
			}
			s.all = false
			return b.elements(key)
		})
	}
	return false, nil
}

// columns reads the columns of a read.
func (b *body) columns(s *selection, of *schema.Table) error {
	return b.optional(func() error {
		return b.fields(columnNames, func(name string) (bool, error) {
			if name == "cell_limit" {
				return true, b.whole(&s.cellLimit, math.MaxUint32)
			}
			return b.filter(s, of, name)
		})
	})
}

// An item is one row of a multi-get.
type item struct {
	key   string
	limit int64 // of cells
	sel   *selection
}

// rows carries out POST /v1/table/{table}/rows: some rows, in the order of the request.
func (a *API) rows(c *call) error {
	b, err := c.tableBody()
	if err != nil {
		return err
	}
	items, err := c.items(b)
	if err != nil {
		return err
	}
	c.answer("Query successful").put(`{"rows":[`)
	p := printer{call: c}
	var cost read.Cost
	groups := int64(0)
	for i := range items {
		groups += a.affected(&c.declared, items[i].sel)
	}
	for rest := items; len(rest) > 0; {
		n := alike(rest)
		var part read.Cost
		if err := p.items(rest[:n], &part); err != nil {
			return c.ofTable(err)
		}
		cost.CellsScanned, cost.BytesScanned = cost.CellsScanned+part.CellsScanned, cost.BytesScanned+part.BytesScanned
		rest = rest[n:]
	}
	cost.RowsSeen = int64(len(items))
	c.put("]").costs(p.rows, groups, &cost)
	c.put("}")
	return nil
}

// items reads the body of rows.
func (c *call) items(b *body) (items []item, err error) {
	given, held := false, 0
	err = b.fields("items", func(name string) (bool, error) {
		if name != "items" {
			return false, nil
		}
		given = true
		return true, b.elements(func() error {
			it, err := b.item(&c.declared)
			if err != nil {
				return err
			}
			items = append(items, it)
			held += 160 + len(it.key) + 100*len(it.sel.specs)
			return c.takes(held)
		})
	})
	if err == nil && !given {
		err = wrongAt("", "the field items is missing")
	}
	if err == nil {
		err = b.end()
	}
	return items, err
}

func (b *body) item(of *schema.Table) (it item, err error) {
	it = item{limit: noLimit, sel: newSelection()}
	err = b.fields("row, column", func(name string) (bool, error) {
		switch name {
		case "row":
			return true, b.fields("key, key_bytes, cell_limit", func(name string) (bool, error) {
				switch name {
				case "key":
					return true, b.text(&it.key)
				case "key_bytes":
					return true, b.bytes(&it.key)
				case "cell_limit":
					return true, b.whole(&it.limit, math.MaxUint32)
				}
				return false, nil
			})
		case "column":
			return true, b.columns(it.sel, of)
		}
		return false, nil
	})
	if err != nil {
		return it, err
	}
	if err := cells.CheckRowKey(it.key); err != nil {
		return it, b.wrongField("row.key", "%v", err)
	}
	return it, nil
}

const (
	// maxAlike is how many rows are read at once.
	maxAlike = 100
	// maxHeld is the memory that rows read at once may take. Beyond it rows are read one
	// by one.
	maxHeld = 1 << 20
)

// alike is how many of the first items can be read at once.
func alike(items []item) int {
	first := &items[0]
	for i := range items {
		it := &items[i]
		if i == maxAlike || it.limit != first.limit || it.sel.cellLimit != first.sel.cellLimit || it.sel.all != first.sel.all || !slices.Equal(it.sel.specs, first.sel.specs) {
			return i
		}
	}
	return len(items)
}

// items appends the rows of items that are alike.
func (p *printer) items(items []item, cost *read.Cost) error {
	it := &items[0]
	if it.sel.empty() || it.limit == 0 || it.sel.cellLimit == 0 {
		return nil
	}
	opts := append(it.sel.options(), read.Versions(int(it.sel.cellLimit)), read.CellsPerRow(int(it.limit)))
	rows, err := p.together(items, append(slices.Clip(opts), read.ReportCost(cost)))
	if err != nil {
		return err
	}
	for i := range items {
		if rows == nil {
			var one read.Cost
			err = p.item(items[i].key, append(slices.Clip(opts), read.ReportCost(&one)))
			cost.CellsScanned, cost.BytesScanned = cost.CellsScanned+one.CellsScanned, cost.BytesScanned+one.BytesScanned
		} else if row := rows[items[i].key]; row != nil {
			err = p.row(row)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// together reads rows at once, by their keys. It returns nil if they are too large for
// that.
func (p *printer) together(items []item, opts []read.Option) (map[string]*query.Row, error) {
	if len(items) == 1 {
		return nil, nil
	}
	keys := make([]string, len(items))
	for i := range items {
		keys[i] = items[i].key
	}
	c := p.call
	rows, held := make(map[string]*query.Row, len(items)), 0
	for row, err := range c.table.ReadRows(c.ctx, append(opts, read.Key(keys...))...) {
		if query.KindOf(err) == query.KindResourceExhausted {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		for cell := range row.Cells() {
			held += 32 + len(cell.Qualifier) + cell.Value.EncodedLen()
		}
		if held > maxHeld {
			return nil, nil
		}
		rows[row.Key()] = row
	}
	return rows, c.hold.Message(cap(*c.buf) + held)
}

// item appends a row, unless no cell matches.
func (p *printer) item(key string, opts []read.Option) error {
	row, err := p.call.table.ReadRow(p.call.ctx, key, opts...)
	if query.KindOf(err) == query.KindResourceExhausted { // it is too large to hold
		for cell, err := range p.call.table.ReadCells(p.call.ctx, key, opts...) {
			if err == nil {
				err = p.cell(key, cell)
			}
			if err != nil {
				return err
			}
		}
		return p.endRow()
	}
	if err != nil {
		return err
	}
	return p.row(row)
}

func (p *printer) row(row *query.Row) error {
	for cell := range row.Cells() {
		if err := p.cell(row.Key(), cell); err != nil {
			return err
		}
	}
	return p.endRow()
}

// costs appends the figures of a read.
func (c *call) costs(rows, groups int64, cost *read.Cost) {
	micros := c.micros()
	c.put(`,"affected_locality_groups":`).int(groups).put(`,"rows_scanned":`).int(cost.RowsSeen)
	c.put(`,"cells_scanned":`).int(cost.CellsScanned).put(`,"bytes_scanned":`).int(cost.BytesScanned).put(`,"micros":`).int(micros).put(`,"micros_per_row":`)
	if rows == 0 {
		c.put("null")
	} else {
		c.int(micros / rows)
	}
}

// A printer appends the cells of rows, which come in the order of rows, families and
// columns.
type printer struct {
	call   *call
	rows   int64 // begun
	cells  int64
	open   bool // a row
	inText bool // its columns with names that are text
	key    string
	family string
	column string
	bytes  []byteCell // the row's columns whose names are not UTF-8
	held   int
}

// A byteCell is a cell of a column whose name is not UTF-8. These follow the other columns of the
// row, by the base64 of their names.
type byteCell struct{ cells.Cell }

// cell appends a cell.
func (p *printer) cell(key string, cell cells.Cell) error {
	c := p.call
	if !p.open || key != p.key {
		if err := p.endRow(); err != nil {
			return err
		}
		p.beginRow(key)
	}
	p.cells++
	if !isText(cell.Qualifier) {
		p.bytes = append(p.bytes, byteCell{cell})
		p.held += 160 + len(cell.Qualifier) + cell.Value.EncodedLen()
		return c.hold.Message(cap(*c.buf) + p.held)
	}
	p.place(cell, func() { c.quote(cell.Qualifier) })
	return p.version(cell)
}

func (p *printer) beginRow(key string) {
	c := p.call
	p.open, p.key, p.family, p.inText = true, key, "", false
	if p.rows > 0 {
		c.put(",")
	}
	p.rows++
	if isText(key) {
		c.put(`{"row_key":`).quote(key)
	} else {
		c.put(`{"row_key_bytes":`).base64([]byte(key))
	}
	c.put(`,"columns":{`)
}

// place closes the column before a cell and opens the cell's column.
func (p *printer) place(cell cells.Cell, name func()) {
	c := p.call
	switch {
	case !p.inText || cell.Family != p.family:
		if p.inText {
			c.put("]},")
		}
		c.quote(cell.Family).put(":{")
	case cell.Qualifier == p.column:
		c.put(",")
		return
	default:
		c.put("],")
	}
	name()
	c.put(":[")
	p.inText, p.family, p.column = true, cell.Family, cell.Qualifier
}

// version appends a version of the open column.
func (p *printer) version(cell cells.Cell) error {
	c := p.call
	if n := cell.Value.EncodedLen(); n >= partSize/4 { // it is counted before it is there
		if err := c.hold.Message(cap(*c.buf) + 2*n + p.held); err != nil {
			return err
		}
	}
	c.put(`{"time":`).time(cell.Timestamp)
	c.put(`,"type":"`).put(typeName(cell.Value.Type())).put(`","value":`).value(cell.Value)
	c.put("}")
	return c.part()
}

// endRow closes the open row.
func (p *printer) endRow() error {
	if !p.open {
		return nil
	}
	c := p.call
	if p.inText {
		c.put("]}")
	}
	c.put("}")
	if len(p.bytes) > 0 {
		c.put(`,"columns_bytes":{`)
		p.inText = false
		for _, cell := range p.bytes {
			p.place(cell.Cell, func() { c.base64([]byte(cell.Qualifier)) })
			if err := p.version(cell.Cell); err != nil {
				return err
			}
		}
		c.put("]}}")
	}
	c.put("}")
	p.open, p.bytes, p.held = false, p.bytes[:0], 0
	return c.part()
}
