package jsonapi

import (
	"math"
	"strconv"

	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/schema"
)

// A scanRequest is the body of scan and of count.
type scanRequest struct {
	modes      int // of prefix and range, how many are given
	rows       read.RowSet
	nothing    bool // the range is empty
	offset     int64
	limit      int64 // of rows
	rowCells   int64 // of each row
	totalCells int64
	sample     float64 // the part of the rows that is returned
	sel        *selection
}

// scanBody reads the body of scan or count.
func (c *call) scanBody() (*scanRequest, error) {
	b, err := c.tableBody()
	if err != nil {
		return nil, err
	}
	return b.scan(&c.declared)
}

func (b *body) scan(of *schema.Table) (*scanRequest, error) {
	s := &scanRequest{limit: noLimit, rowCells: noLimit, totalCells: noLimit, sample: 1, sel: newSelection()}
	err := b.fields("row, column, cell", func(name string) (bool, error) {
		switch name {
		case "row":
			return true, b.fields("prefix, prefix_bytes, range, offset, limit, cell_limit, sample", func(name string) (bool, error) { return b.scanRow(s, name) })
		case "column":
			return true, b.columns(s.sel, of)
		case "cell":
			return true, b.optional(func() error {
				return b.fields("limit", func(name string) (bool, error) {
					return name == "limit", b.wholeIf(name == "limit", &s.totalCells)
				})
			})
		}
		return false, nil
	})
	if err == nil {
		err = b.end()
	}
	if err == nil && s.modes != 1 {
		err = wrongAt("row", "want one of prefix and range, got %d", s.modes)
	}
	return s, err
}

func (b *body) wholeIf(is bool, to *int64) error {
	if !is {
		return nil
	}
	return b.whole(to, math.MaxUint32)
}

func (b *body) scanRow(s *scanRequest, name string) (bool, error) {
	switch name {
	case "prefix", "prefix_bytes":
		var prefix string
		s.modes++
		err := b.key(name == "prefix_bytes", &prefix)
		s.rows = read.Prefix(prefix)
		return true, err
	case "range":
		s.modes++
		return true, b.keyRange(s)
	case "offset":
		return true, b.whole(&s.offset, math.MaxUint32)
	case "limit":
		return true, b.whole(&s.limit, math.MaxUint32)
	case "cell_limit":
		return true, b.whole(&s.rowCells, math.MaxUint32)
	case "sample":
		return true, b.optional(func() error {
			t, err := b.next('0')
			if err != nil {
				return err
			}
			if s.sample, err = strconv.ParseFloat(t.String(), 64); err != nil || s.sample <= 0 {
				return b.wrong("want a part of the rows, greater than 0 and up to 1, got %s", short(t.String()))
			}
			return nil
		})
	}
	return false, nil
}

func (b *body) key(encoded bool, to *string) error {
	if encoded {
		return b.bytes(to)
	}
	return b.text(to)
}

// keyRange reads a range of row keys: from start, inclusive, to end. An empty end is no
// bound.
func (b *body) keyRange(s *scanRequest) error {
	var start, end string
	inclusive := false
	err := b.fields("start, start_bytes, end, end_bytes, inclusive", func(name string) (bool, error) {
		switch name {
		case "start", "start_bytes":
			return true, b.key(name == "start_bytes", &start)
		case "end", "end_bytes":
			return true, b.key(name == "end_bytes", &end)
		case "inclusive":
			return true, b.boolean(&inclusive)
		}
		return false, nil
	})
	if inclusive && end != "" {
		end += "\x00"
	}
	if s.nothing = end != "" && start >= end; !s.nothing {
		s.rows = read.Range(start, end)
	}
	return err
}

// empty reports whether the request can return no row.
func (s *scanRequest) empty() bool {
	return s.nothing || s.sel.empty() || s.limit == 0 || s.rowCells == 0 || s.totalCells == 0 || s.sel.cellLimit == 0
}

// takes reports whether a sample includes the nth row, counted from 1: the first row, and
// each row at which the sum of the parts passes a whole number.
func (s *scanRequest) takes(n int64) bool {
	const rounding = 1e-9 // 0.29 * 100 is less than 29
	upTo := func(n int64) float64 { return math.Floor(1 + float64(n)*s.sample + rounding) }
	return s.sample >= 1 || n == 1 || upTo(n) > upTo(n-1)
}

// scan carries out POST /v1/table/{table}/scan: rows with a prefix or in a range, in the
// order of their keys.
func (a *API) scan(c *call) error {
	s, err := c.scanBody()
	if err != nil {
		return err
	}
	c.answer("Query successful").put(`{"rows":[`)
	p := printer{call: c}
	var cost read.Cost
	complete := true
	if !s.empty() {
		if complete, err = p.scan(s, &cost); err != nil {
			return c.ofTable(err)
		}
	}
	c.put("]").costs(p.rows, a.affected(&c.declared, s.sel), &cost)
	c.put(`,"row_count":`).int(p.rows).put(`,"cell_count":`).int(p.cells).put(`,"complete":`).bool(complete).put("}")
	return nil
}

// scan appends rows. complete is false if a limit of rows, or of cells in all, left some
// out.
func (p *printer) scan(s *scanRequest, cost *read.Cost) (complete bool, err error) {
	opts := append(s.sel.options(), s.rows, read.ReportCost(cost), read.Offset(int(s.offset)),
		read.Versions(int(s.sel.cellLimit)), read.CellsPerRow(int(s.rowCells)))
	if s.sample >= 1 {
		opts = append(opts, read.Limit(int(s.limit)+1)) // one more, to know whether there are more
	}
	n, last, taken := int64(0), "", false
	complete = true
	for cell, err := range p.call.table.ScanCells(p.call.ctx, opts...) {
		if err != nil {
			return false, err
		}
		if n == 0 || cell.Key != last {
			n, last = n+1, cell.Key
			taken = s.takes(n)
			if taken && p.rows == s.limit {
				complete = false
				break
			}
		}
		if !taken {
			continue
		}
		if p.cells == s.totalCells {
			complete = false
			break
		}
		if err := p.cell(cell.Key, cell.Cell); err != nil {
			return false, err
		}
	}
	cost.RowsSeen = max(cost.RowsSeen, n)
	return complete, p.endRow()
}

// count carries out POST /v1/table/{table}/count. It takes the body of a scan; the limits
// do not matter.
func (a *API) count(c *call) error {
	s, err := c.scanBody()
	if err != nil {
		return err
	}
	var rows, cells int64
	var cost read.Cost
	if !s.nothing && !s.sel.empty() {
		n, err := c.table.Count(c.ctx, append(s.sel.options(), s.rows, read.ReportCost(&cost))...)
		if err != nil {
			return c.ofTable(err)
		}
		rows, cells = n.Rows, n.Cells
	}
	c.answer("Count successful").put(`{"row_count":`).int(rows).put(`,"cell_count":`).int(cells)
	cost.RowsSeen = max(cost.RowsSeen, rows)
	c.costs(rows, a.affected(&c.declared, s.sel), &cost)
	c.put("}")
	return nil
}
