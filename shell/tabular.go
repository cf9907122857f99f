package shell

import (
	"cmp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/internal/humanize"
	"github.com/smolwc/smolwc/ql"
	"github.com/smolwc/smolwc/ql/lex"
	"github.com/smolwc/smolwc/query"
)

// A tabular prints rows as a grid or one line per cell; the package comment says when.
// It holds the first rows back to measure the columns.
type tabular struct {
	*view
	style    *style
	held     []*query.Row
	since    time.Time // when the first row was held
	table    *textTable
	grid     []column       // the columns of the current grid
	place    map[column]int // in grid; nil: one line per cell
	stamps   bool           // lines of cells have timestamps
	sections int            // grids begun
	rows     int
	shown    []int // the places of the fields that a grid shows, elided for those that are left out; nil: all
	hidden   int   // the most columns that a grid left out
}

// elided stands for the fields that a grid leaves out.
const elided = -1

// A column of a grid.
type column struct{ family, qualifier string }

const (
	// holdRows and holdTime bound the number of held rows and how long they are held.
	holdRows = 100
	holdTime = 200 * time.Millisecond
	// maxGrid is the maximum number of columns of a grid without a width.
	maxGrid = 20
	// maxSections is the maximum number of grids. After it, rows are printed one line
	// per cell, because their columns differ too much.
	maxSections = 4
	// minimum widths, unless the whole column is narrower
	leastKey, leastValue, leastField = 24, 12, 10
)

func (t *tabular) row(r *query.Row) error {
	t.rows++
	if t.table != nil && t.fits(r) {
		return t.printRow(r)
	}
	if t.table != nil { // the grid lacks a column of the row
		t.table = nil
		t.out.WriteString("\n")
	}
	if len(t.held) == 0 {
		t.since = time.Now()
	}
	t.held = append(t.held, r)
	if len(t.held) == holdRows {
		return t.release()
	}
	return t.idle()
}

// idle prints the held rows after holdTime, unless the view is patient.
func (t *tabular) idle() error {
	if len(t.held) > 0 && !t.patient && time.Since(t.since) > holdTime {
		return t.release()
	}
	return nil
}

func (t *tabular) fits(r *query.Row) bool {
	if t.place == nil {
		return true
	}
	for c := range r.Cells() {
		if _, ok := t.place[column{c.Family, c.Qualifier}]; !ok {
			return false
		}
	}
	return true
}

// release decides how the held rows, and the rows after them, are shown, and prints the
// held ones.
func (t *tabular) release() error {
	t.sections++
	if !t.layGrid() {
		t.layCells()
	}
	t.table.printHeader()
	held := t.held
	t.held = nil
	for _, r := range held {
		if err := t.printRow(r); err != nil {
			return err
		}
	}
	return nil
}

// printRow prints a row.
func (t *tabular) printRow(r *query.Row) error {
	lines := [][]string{}
	if t.place != nil {
		lines = append(lines, t.gridLine(r))
	} else {
		lines = t.cellLines(r)
	}
	for _, line := range lines {
		if err := t.table.printLine(line); err != nil {
			return err
		}
	}
	return nil
}

// layGrid lays the held rows out as a grid; it returns false if they do not fit one.
func (t *tabular) layGrid() bool {
	get, isGet := t.stream.Statement.(*ql.Get)
	if isGet && len(get.Keys) == 1 || t.stream.Versioned() && !t.stream.KeysOnly || t.sections > maxSections {
		return false
	}
	t.gridColumns()
	if t.width == 0 && len(t.grid) > maxGrid {
		return false
	}
	return t.fitGrid() || t.dense() && t.elide() && t.fitGrid()
}

// dense reports whether a grid would be half full. Rows with few columns in common are
// clearer as lines of cells.
func (t *tabular) dense() bool {
	n := 0
	for _, r := range t.held {
		n += r.Len()
	}
	return t.width > 0 && 2*n >= len(t.held)*len(t.grid)
}

// fitGrid measures the fields that are shown, and reports whether they fit the width.
func (t *tabular) fitGrid() bool {
	heads, right := []string{"ROW"}, []bool{false}
	for _, c := range t.grid {
		heads = append(heads, lex.QuoteColumn(c.family, c.qualifier))
		right = append(right, t.numbers(c))
	}
	t.table = &textTable{out: t.out, style: t.style, width: t.width, keyed: true, palette: t.palette, marks: []func(string) string{t.palette.key}}
	t.table.header(chosen(t.shown, heads, "…"), chosen(t.shown, right, false))
	for _, r := range t.held {
		t.table.measure(t.gridLine(r))
	}
	return t.table.fit(func(i int) int {
		if i == 0 {
			return t.leastKey()
		}
		return leastValue
	})
}

// leastKey is how narrow the column of keys may become.
func (t *tabular) leastKey() int { return min(t.table.widths[0], leastKey, max(t.width, 1)) }

// elide leaves out columns in the middle of the grid, so that it fits the width. It
// returns false if too few would be left.
func (t *tabular) elide() bool {
	const gap = 2
	room := t.width - t.leastKey() - gap - 1
	var first, last []int
	for lo, hi := 1, len(t.grid); lo <= hi; {
		at := lo
		if len(first) > len(last) {
			at = hi
		}
		if room -= gap + min(t.table.widths[at], leastValue); room < 0 {
			break
		}
		if at == lo {
			first, lo = append(first, at), lo+1
		} else {
			last, hi = append(last, at), hi-1
		}
	}
	if len(last) < 2 {
		return false
	}
	slices.Reverse(last)
	t.shown = slices.Concat([]int{0}, first, []int{elided}, last)
	t.hidden = max(t.hidden, len(t.grid)-len(first)-len(last))
	return true
}

// chosen returns the chosen elements of a list, all of them without a choice.
func chosen[E any](places []int, list []E, instead E) []E {
	if places == nil {
		return list
	}
	some := make([]E, len(places))
	for i, at := range places {
		if some[i] = instead; at != elided {
			some[i] = list[at]
		}
	}
	return some
}

// gridColumns sets the grid to the columns that the statement names, or to the columns
// of the held rows, in order.
func (t *tabular) gridColumns() {
	t.grid, t.place, t.shown = nil, map[column]int{}, nil
	for _, c := range t.exactColumns() {
		t.addColumn(column{c.Family, c.Qualifier})
	}
	named := len(t.grid)
	for _, r := range t.held {
		for c := range r.Cells() {
			t.addColumn(column{c.Family, c.Qualifier})
		}
	}
	found := t.grid[named:]
	slices.SortFunc(found, func(a, b column) int {
		return cmp.Or(strings.Compare(a.family, b.family), strings.Compare(a.qualifier, b.qualifier))
	})
	for i, c := range t.grid {
		t.place[c] = i + 1
	}
}

func (t *tabular) addColumn(c column) {
	if _, ok := t.place[c]; !ok {
		t.place[c] = 0
		t.grid = append(t.grid, c)
	}
}

func (t *tabular) numbers(c column) bool {
	some := false
	for _, r := range t.held {
		if cell, ok := r.Cell(c.family, c.qualifier); ok {
			if !cell.Value.Type().Numeric() {
				return false
			}
			some = true
		}
	}
	return some
}

func (t *tabular) gridLine(r *query.Row) []string {
	line := make([]string, 1+len(t.grid))
	line[0] = t.key(r.Key())
	for c := range r.Cells() {
		if i, ok := t.place[column{c.Family, c.Qualifier}]; ok {
			line[i] = t.short(c)
		}
	}
	return chosen(t.shown, line, "")
}

// layCells lays the held rows out one line per cell. If all four columns do not fit, it
// omits the timestamps.
func (t *tabular) layCells() {
	t.grid, t.place, t.shown, t.stamps = nil, nil, nil, true
	if !t.measureCells("ROW", "COLUMN", "TIMESTAMP", "VALUE") {
		t.stamps = false
		t.measureCells("ROW", "COLUMN", "VALUE")
	}
}

func (t *tabular) measureCells(heads ...string) (fits bool) {
	t.table = &textTable{out: t.out, style: t.style, width: t.width, keyed: true, palette: t.palette, marks: []func(string) string{t.palette.key, t.palette.column}}
	if t.stamps {
		t.table.marks = append(t.table.marks, t.palette.dim)
	}
	t.table.header(heads, make([]bool, len(heads)))
	for _, r := range t.held {
		for _, line := range t.cellLines(r) {
			t.table.measure(line)
		}
	}
	fits = t.table.fit(func(i int) int {
		switch {
		case i == 0:
			return t.leastKey()
		case t.stamps && i == 2:
			return t.width // a timestamp is shown whole or not at all
		}
		return leastField
	})
	if !fits && !t.stamps { // a very narrow terminal: any width
		return t.table.fit(func(int) int { return 1 })
	}
	return fits
}

func (t *tabular) cellLines(r *query.Row) [][]string {
	key := t.key(r.Key())
	var lines [][]string
	for c := range r.Cells() {
		lines = append(lines, []string{key, t.column(c), lex.FormatTimestamp(c.Timestamp, t.zone), t.short(c)})
		key = ""
	}
	if lines == nil {
		lines = [][]string{{key, "", "", ""}}
	}
	for i, line := range lines {
		if !t.stamps {
			lines[i] = slices.Delete(line, 2, 3)
		}
	}
	return lines
}

func (t *tabular) column(c cells.Cell) string { return lex.QuoteColumn(c.Family, t.clip(c.Qualifier)) }

// short returns the value as a word of the language. It may omit an end that is certain
// to be cut off.
func (t *tabular) short(c cells.Cell) string {
	if text, ok := c.Value.AsString(); ok {
		c.Value = cells.String(t.clip(text))
	} else if b, ok := c.Value.AsBytes(); ok && t.width > 0 {
		c.Value = cells.Bytes(b[:min(len(b), t.clipLen())])
	}
	return t.value(c)
}

// clipLen is a number of bytes that certainly fills the width: a character takes at
// most four bytes.
func (t *tabular) clipLen() int { return 4*t.width + 64 }

// clip cuts off text that is certain not to be shown, to save work.
func (t *tabular) clip(s string) string {
	n := t.clipLen()
	if t.width == 0 || len(s) <= n {
		return s
	}
	for back := n; back > n-utf8.UTFMax; back-- {
		if utf8.RuneStart(s[back]) {
			return s[:back]
		}
	}
	return s[:n]
}

func (t *tabular) end() error {
	if len(t.held) > 0 {
		if err := t.release(); err != nil {
			return err
		}
	}
	if t.style == markdownStyle {
		return nil
	}
	note := humanize.Plural(t.rows, "row")
	if t.hidden > 0 {
		note += "; " + humanize.Plural(t.hidden, "column") + " not shown: columns= names columns, as line shows all of them"
	}
	_, err := t.out.WriteString(t.palette.dim("("+note+")") + "\n")
	return err
}
