package console

import (
	"cmp"
	"slices"
	"strings"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/schema"
)

// A gridRow is a row as a page keeps it: its key, and of each column the newest cell.
type gridRow struct {
	Key   string
	Cells []gridCell // by family and qualifier
	More  bool       // there are further cells
	size  int        // bytes of the key and of the cells in the database
}

// A gridCell is a cell of a grid. It holds only the beginning of the value, or the
// large values of a page would take more memory than all calls of the server may use.
type gridCell struct {
	Family, Qualifier string
	Timestamp         cells.Timestamp
	Type              cells.Type
	Text              string // the beginning of the value
	Size              string // of a value that is longer; "" of others
	Versions          int    // how many the page read
	Number            bool   // Text belongs to the right
}

// gridRowOf takes up to most cells of a row.
func gridRowOf(row *query.Row, most int) gridRow {
	g := gridRow{Key: strings.Clone(row.Key()), size: len(row.Key())}
	n := 0
	for c := range row.Cells() {
		if n++; n > most {
			g.More = true
			break
		}
		g.size += len(c.Qualifier) + length(c.Value)
		if last := len(g.Cells) - 1; last >= 0 && g.Cells[last].Family == c.Family && g.Cells[last].Qualifier == c.Qualifier {
			g.Cells[last].Versions++
			continue
		}
		g.Cells = append(g.Cells, gridCell{
			Family: strings.Clone(c.Family), Qualifier: strings.Clone(c.Qualifier), Timestamp: c.Timestamp, Type: c.Value.Type(),
			Text: short(c.Value), Size: size(c.Value), Versions: 1, Number: isNumber(c.Value.Type()),
		})
	}
	return g
}

func isNumber(t cells.Type) bool {
	switch t {
	case cells.TypeI32, cells.TypeI64, cells.TypeF32, cells.TypeF64, cells.TypeByte:
		return true
	}
	return false
}

// A gridFamily is the cells of a family in a row.
type gridFamily struct {
	Name  string
	Cells []gridCell
}

// families are the cells of a row by family.
func families(cells []gridCell) (all []gridFamily) {
	for _, c := range cells {
		if last := len(all) - 1; last < 0 || all[last].Name != c.Family {
			all = append(all, gridFamily{Name: c.Family})
		}
		f := &all[len(all)-1]
		f.Cells = append(f.Cells, c)
	}
	return all
}

// A column is a family and a qualifier.
type column struct{ Family, Qualifier string }

// A grid is rows as a table with a column for each qualifier.
type grid struct {
	Table    schema.Table
	Families []gridHead
	Rows     []gridLine
	Hidden   int  // how many columns of the cells that were read are not shown
	Cut      bool // some row has further cells, which were not read
	all      []column
}

// A gridHead is a family above its columns.
type gridHead struct {
	Name    string
	Columns []gridColumn
}

// A gridColumn is a column of a grid.
type gridColumn struct {
	column
	Number bool // all of its cells belong to the right
}

// A gridLine is a row of a grid. A cell is nil if it is not in the row.
type gridLine struct {
	Key    string
	Cells  []*gridCell
	Others int // cells in columns that are not shown
	More   bool
}

const (
	// usualColumns is how many columns a grid shows when nobody chose some, and
	// mostColumns how many can be chosen.
	usualColumns = 20
	mostColumns  = 100
)

// arrange puts rows into a grid with the columns that are chosen, or with those that most
// of the rows have.
func arrange(t schema.Table, rows []gridRow, chosen []column) *grid {
	g := &grid{Table: t}
	count, numbers := map[column]int{}, map[column]bool{}
	for i := range rows {
		for _, c := range rows[i].Cells {
			at := column{c.Family, c.Qualifier}
			numbers[at] = c.Number && (count[at] == 0 || numbers[at])
			count[at]++
		}
	}
	for c := range count {
		g.all = append(g.all, c)
	}
	slices.SortFunc(g.all, func(a, b column) int {
		return cmp.Or(cmp.Compare(count[b], count[a]), compareColumns(a, b))
	})
	if chosen == nil {
		chosen = g.all[:min(len(g.all), usualColumns)]
		g.Hidden = len(g.all) - len(chosen)
	}
	chosen = slices.SortedFunc(slices.Values(chosen), compareColumns)
	place := map[column]int{}
	for i, c := range chosen {
		place[c] = i
		if last := len(g.Families) - 1; last < 0 || g.Families[last].Name != c.Family {
			g.Families = append(g.Families, gridHead{Name: c.Family})
		}
		f := &g.Families[len(g.Families)-1]
		f.Columns = append(f.Columns, gridColumn{c, numbers[c]})
	}
	for i := range rows {
		g.Cut = g.Cut || rows[i].More
		line := gridLine{Key: rows[i].Key, Cells: make([]*gridCell, len(chosen)), More: rows[i].More}
		for k := range rows[i].Cells {
			c := &rows[i].Cells[k]
			if at, ok := place[column{c.Family, c.Qualifier}]; ok {
				line.Cells[at] = c
			} else {
				line.Others++
			}
		}
		g.Rows = append(g.Rows, line)
	}
	return g
}

func compareColumns(a, b column) int {
	return cmp.Or(cmp.Compare(a.Family, b.Family), cmp.Compare(a.Qualifier, b.Qualifier))
}

// size is the size of a value that a page does not show as a whole, "" of others.
func size(v cells.Value) string {
	if n := float64(length(v)); n > shortValue {
		return inBytes.known(&n)
	}
	return ""
}
