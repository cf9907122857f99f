package bind

import (
	"time"

	"github.com/smolwc/smolwc/schema"
	"github.com/smolwc/smolwc/sql/parse"
	"github.com/smolwc/smolwc/sql/rowkey"
	"github.com/smolwc/smolwc/sql/run"
)

// A Query is a parsed query without logical views, and descriptions of its tables.
type Query struct {
	Parsed   *parse.Query
	Sources  map[string]Source // the tables and materialized views by their names in the query
	Now      time.Time         // of CURRENT_TIMESTAMP; zero: the time of Plan
	InMemory bool              // it writes no temporary files
	// Through are the logical views that were expanded.
	Through []string
}

// A Source describes a table of a query, or a materialized view.
type Source struct {
	Table   schema.Table
	RowKeys *rowkey.Schema // nil: row keys have no fields
	Bundles Bundles        // nil: no schema bundles
	View    *run.ViewPlan  // nil: it is a table
}

// A whole is shared by the planners of one query.
type whole struct {
	query     *Query
	params    Params
	now       time.Time
	functions *registry
	size      run.Size
	parts     int // how many expressions there are
	planners  []*planner
	used      []Bundles // of all tables so far
	queries   []*run.Query
	frame     *frame // of the query in an expression that is compiled; nil: none
	finder    *finder
	doubled   int // planners of queries that have another one
}

// A frame is a query in an expression while it is compiled. It sees the names at the place
// where it stands: what it takes of them are values of each run.
type frame struct {
	outer  *planner // in whose expression it stands; nil: the query itself
	hidden int      // above 0, names around are not seen: a view or a query of WITH is compiled
	size   run.Size // of outer, meanwhile
	taken  []*expr  // of outer
	slots  map[int]int
	numbering
}

// within compiles a query in an expression.
func (w *whole) within(outer *planner, compile func() error) (*frame, run.Size, error) {
	f := &frame{outer: outer, slots: map[int]int{}, numbering: newNumbering()}
	before := w.frame
	f.size, w.size, w.frame = w.size, run.Size{}, f
	err := compile()
	size := w.size
	w.size, w.frame = f.size, before
	return f, size, err
}
