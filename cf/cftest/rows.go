package cftest

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/smolwc/smolwc/cf"
)

// A Cell is one version of a column.
type Cell struct {
	Qualifier string
	Timestamp int64
	Value     string
}

// A Row is a row of a scan's result. If the scan only counts, the cells are zero Cells.
type Row struct {
	Key   string
	Cells []Cell
}

// Rows are the result of a scan. Their text, which [ParseRows] reads, is
//
//	row qualifier@timestamp=value qualifier@timestamp=value | row ...
//
// or, for a scan that only counts, row #cells | row #cells ...,
// with the escapes of Go's string literals and "" for an empty string.
type Rows []Row

func (rows Rows) String() string {
	var b strings.Builder
	for i, r := range rows {
		if i > 0 {
			b.WriteString(" | ")
		}
		b.WriteString(word(r.Key))
		for _, c := range r.Cells {
			fmt.Fprintf(&b, " %s@%d=%s", word(c.Qualifier), c.Timestamp, word(c.Value))
		}
	}
	return b.String()
}

// Equal reports whether two results have the same rows and cells in the same order.
func (rows Rows) Equal(others Rows) bool {
	return slices.EqualFunc(rows, others, func(r, o Row) bool { return r.Key == o.Key && slices.Equal(r.Cells, o.Cells) })
}

func word(s string) string {
	if s == "" {
		return `""`
	}
	q := strconv.QuoteToASCII(s)
	return strings.NewReplacer(" ", `\x20`, "|", `\x7c`, "@", `\x40`, "=", `\x3d`).Replace(q[1 : len(q)-1])
}

// ParseRows reads the text of rows. It panics when the text is malformed.
func ParseRows(text string) Rows {
	var rows Rows
	for _, line := range strings.Split(text, "|") {
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		r := Row{Key: unword(words[0])}
		for _, w := range words[1:] {
			if count, ok := strings.CutPrefix(w, "#"); ok && !strings.Contains(w, "@") {
				n, err := strconv.Atoi(count)
				if err != nil {
					panic(fmt.Sprintf("cftest: count %q: %v", w, err))
				}
				r.Cells = make([]Cell, n)
				continue
			}
			column, value, _ := strings.Cut(w, "=")
			qualifier, ts, _ := strings.Cut(column, "@")
			n, err := strconv.ParseInt(ts, 10, 64)
			if err != nil {
				panic(fmt.Sprintf("cftest: cell %q: %v", w, err))
			}
			r.Cells = append(r.Cells, Cell{unword(qualifier), n, unword(value)})
		}
		rows = append(rows, r)
	}
	return rows
}

func unword(w string) string {
	if w == `""` {
		return ""
	}
	s, err := strconv.Unquote(`"` + w + `"`)
	if err != nil {
		panic(fmt.Sprintf("cftest: word %s: %v", w, err))
	}
	return s
}

// Collect reads a scan to its end and checks rules for all blocks: no block is empty,
// rows follow one another, a row that continues in another block is marked as continued
// there, and the cost agrees.
func Collect(ctx context.Context, snap cf.Snapshot, s cf.Scan) (Rows, cf.Cost, error) {
	c, err := snap.Scan(ctx, s)
	if err != nil {
		return nil, cf.Cost{}, err
	}
	defer c.Close()
	var rows Rows
	for {
		b, err := c.Next(ctx)
		if err != nil {
			return rows, c.Cost(), err
		}
		if b == nil {
			return rows, c.Cost(), checkResult(rows, c.Cost(), s)
		}
		if rows, err = appendBlock(rows, b, s); err != nil {
			return rows, c.Cost(), err
		}
	}
}

// Read is Collect for [cf.Reader.Read].
func Read(ctx context.Context, store cf.Reader, s cf.Scan) (Rows, error) {
	var a cf.Answer
	if err := store.Read(ctx, &s, &a); err != nil {
		return nil, err
	}
	var rows Rows
	for b := range a.Blocks() {
		var err error
		if rows, err = appendBlock(rows, b, s); err != nil {
			return rows, err
		}
	}
	return rows, checkResult(rows, a.Cost, s)
}

func appendBlock(rows Rows, b *cf.Block, s cf.Scan) (Rows, error) {
	if len(b.Rows) == 0 {
		return rows, fmt.Errorf("an empty block")
	}
	cells := uint32(0)
	counts := s.Filter.CountOnly && !s.Filter.KeysOnly // then Cells is empty
	for i := range b.Rows {
		r := &b.Rows[i]
		if !counts {
			if r.First != cells {
				return rows, fmt.Errorf("row %d of a block starts at cell %d, want %d", i, r.First, cells)
			}
			cells += r.Len
		}
		if (r.Len == 0) != s.Filter.KeysOnly && (r.Len != 0 || len(s.Filter.Values) == 0 && !s.Filter.EveryRow) {
			return rows, fmt.Errorf("row %q has %d cells in a block", b.RowKey(r), r.Len)
		}
		if i > 0 || !b.Continued {
			rows = append(rows, Row{Key: strings.Clone(b.RowKey(r))})
		}
		if len(rows) == 0 || rows[len(rows)-1].Key != b.RowKey(r) {
			return rows, fmt.Errorf("row %q continues no row", b.RowKey(r))
		}
		last := &rows[len(rows)-1]
		if counts {
			last.Cells = append(last.Cells, make([]Cell, r.Len)...)
			continue
		}
		for j := range b.RowCells(r) {
			c := &b.RowCells(r)[j]
			last.Cells = append(last.Cells, Cell{strings.Clone(b.Qualifier(c)), c.Timestamp, string(b.Value(c))})
		}
	}
	if int(cells) != len(b.Cells) {
		return rows, fmt.Errorf("%d cells in a block, %d of them in rows", len(b.Cells), cells)
	}
	return rows, nil
}

func checkResult(rows Rows, cost cf.Cost, s cf.Scan) error {
	var want cf.Cost
	for i, r := range rows {
		if i > 0 && cmp.Compare(rows[i-1].Key, r.Key) >= 0 != s.Reverse {
			return fmt.Errorf("row %q after row %q, reverse %t", r.Key, rows[i-1].Key, s.Reverse)
		}
		want.Rows++
		want.Bytes += int64(len(r.Key))
		for _, c := range r.Cells {
			want.Cells++
			want.Bytes += int64(len(c.Qualifier) + len(c.Value))
		}
	}
	if cost.Rows != want.Rows || cost.Cells != want.Cells || cost.Bytes != want.Bytes {
		return fmt.Errorf("cost %+v, but the scan yielded %d rows, %d cells, %d bytes", cost, want.Rows, want.Cells, want.Bytes)
	}
	if cost.CellsScanned < want.Cells || cost.RowsScanned < want.Rows {
		return fmt.Errorf("cost %+v: fewer cells or rows looked at than yielded", cost)
	}
	return nil
}
