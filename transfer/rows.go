package transfer

import (
	"slices"
	"strings"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query/plumbing"
)

// A row is a record for the table. All its cells have one timestamp. In the long form a
// row may have several records, and its cells several timestamps.
type row struct {
	line     int
	lines    int // of the record
	also     int // further records that are joined with it
	replaced int // cells that these replaced
	left     int // elements of lists without a value
	key      string
	cells    []cells.Cell
}

func (r row) record() plumbing.Record { return plumbing.Record{Line: r.line, Lines: r.lines} }

// size returns about how many bytes the row takes.
func (r row) size() int {
	n := len(r.key)
	for _, c := range r.cells {
		n += len(c.Qualifier) + c.Value.EncodedLen()
	}
	return n
}

// serverTime stands for a timestamp from the database's clock.
const serverTime cells.Timestamp = -1

func sortRows(rows []row) {
	slices.SortStableFunc(rows, func(a, b row) int { return strings.Compare(a.key, b.key) })
}
