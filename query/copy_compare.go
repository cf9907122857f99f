package query

import (
	"cmp"
	"context"
	"runtime"
	"slices"
	"sync"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/query/internal/fault"
	"github.com/smolwc/smolwc/query/internal/twin"
	"github.com/smolwc/smolwc/schema"
)

// A Difference is a cell that two databases do not have in common.
type Difference struct {
	Table, Row, Family, Qualifier string
	Timestamp                     cells.Timestamp
	In                            Place
}

// A Place says which of two databases contains a cell.
type Place int

// The places.
const (
	InFirst  Place = iota // in the first database only
	InSecond              // in the second database only
	InBoth                // in both, with different values
)

// String says it of "the source" and "the target".
func (p Place) String() string { return twin.Place(p).String() }

// A Comparison is the result of [DB.Compare].
type Comparison struct {
	// Schema are the changes that make the tables of the second database equal to the
	// first one's.
	Schema schema.Plan
	// Tables are the tables that both databases have with the same families, with the
	// sums of the cells in each of them.
	Tables []ComparedTable
	// Differences are the first cells that differ, in the order of tables, rows,
	// families, qualifiers and timestamps; up to 10.
	Differences []Difference
	// Count is how many cells differ.
	Count int64
}

// A ComparedTable is the cells of a table in two databases.
type ComparedTable struct {
	Table   string
	Of, And CellSum // in the first and in the second database
}

// Equal reports whether schema and cells are the same.
func (c *Comparison) Equal() bool { return c != nil && c.Schema.Empty() && c.Count == 0 }

const maxDifferences = 10

// Compare compares the tables of two databases, or some of them, and changes nothing. It
// reads all cells that retention keeps, each database as of one moment: while something
// writes one of them, they differ. Tables that [DB.Schema] leaves out are not compared. If
// progress is not nil, it is called with the numbers of cells and bytes compared so far, by
// one goroutine at a time.
func (db *DB) Compare(ctx context.Context, with *DB, tables []string, progress func(CopyProgress)) (*Comparison, error) {
	c := &comparing{of: db, with: with, progress: progress}
	if err := c.run(ctx, tables); err != nil {
		return nil, fail("compare", "", "", err)
	}
	return &c.found, nil
}

// A comparing is a Compare under way.
type comparing struct {
	of, with *DB
	progress func(CopyProgress)

	mu    sync.Mutex
	done  CopyProgress
	found Comparison
}

func (c *comparing) run(ctx context.Context, tables []string) error {
	if c.with == nil {
		return fault.Given("the other database", false)
	}
	if err := cmp.Or(c.of.ready(ctx), c.with.ready(ctx)); err != nil {
		return err
	}
	left, source, err := c.of.state.Moment(ctx)
	if err != nil {
		return err
	}
	defer left.Close()
	right, target, err := c.with.state.Moment(ctx)
	if err != nil {
		return err
	}
	defer right.Close()
	want, err := partOf(withoutDerived(source.Schema), tables)
	if err != nil {
		return err
	}
	have, err := partOf(withoutDerived(target.Schema), nil)
	if err != nil {
		return err
	}
	have.Tables = slices.DeleteFunc(have.Tables, func(t schema.Table) bool {
		return len(tables) > 0 && !slices.Contains(tables, t.Name)
	})
	c.found.Schema = schema.Diff(have, want)
	pair := twin.Pair{From: c.of.state, To: c.with.state, Workers: runtime.GOMAXPROCS(0), Advance: c.advance}
	for _, t := range want.Tables {
		from, to, err := tableOfBoth(source, target, t.Name)
		if err != nil {
			continue // it is in the plan
		}
		sums, err := pair.Compare(ctx, [2]cf.Snapshot{left, right}, from, to, c.differ)
		if err != nil {
			return err
		}
		c.found.Tables = append(c.found.Tables, ComparedTable{t.Name, CellSum(sums[0]), CellSum(sums[1])})
	}
	return nil
}

func (c *comparing) advance(s twin.Sum) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.done.Cells += s.Cells
	c.done.Bytes += s.Bytes
	if c.progress != nil {
		c.progress(c.done)
	}
}

// differ keeps the first differences.
func (c *comparing) differ(found twin.Difference) {
	d := Difference{found.Table, found.Row, found.Family, found.Qualifier, found.Timestamp, Place(found.In)}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.found.Count++
	at, _ := slices.BinarySearchFunc(c.found.Differences, d, compareDifferences)
	if at == maxDifferences {
		return
	}
	c.found.Differences = slices.Insert(c.found.Differences, at, d)
	c.found.Differences = c.found.Differences[:min(len(c.found.Differences), maxDifferences)]
}

func compareDifferences(a, b Difference) int {
	return cmp.Or(cmp.Compare(a.Table, b.Table), cmp.Compare(a.Row, b.Row), cmp.Compare(a.Family, b.Family),
		cmp.Compare(a.Qualifier, b.Qualifier), cmp.Compare(b.Timestamp, a.Timestamp), cmp.Compare(a.In, b.In))
}
