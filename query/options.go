package query

import (
	"slices"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/schema"
)

// A ReadOption says what a read returns. Options may be given in any order;
// of an option that can be given once, the last counts.
type ReadOption interface{ apply(*readSpec) }

type optionFunc func(*readSpec)

func (f optionFunc) apply(r *readSpec) { f(r) }

// A readSpec is what the options of one read say.
type readSpec struct {
	rows        []cf.Range
	hasRows     bool
	after       string
	hasAfter    bool
	columns     []ColumnSpec
	where       []condition
	since       cells.Timestamp
	until       cells.Timestamp
	versions    int
	cellsPerRow int
	limit       int
	offset      int
	reverse     bool
	keysOnly    bool
	cost        *Cost
	filter      Filter
	eightBytes  bool   // the filter sees every integer as an i64
	sample      uint64 // only rows whose hash is less; 0 is all
	none        bool   // no row at all: a sample of nothing
	page        pageSpec
	rejected    func(key string) error
	limits      []schema.Limit // in place of the families' own, with hasLimits
	hasLimits   bool
	err         error // of the first option that was wrong

	row      [1]cf.Range // rows, when there is one range
	counting bool        // cells are only counted, unless a filter has to see them
	maxBytes int         // of a row; 0 is MaxRowBytes

	// What push makes of the filter.
	narrow   columnSet // of the selected columns those that matter; nil is all
	pushed   []pushedFilter
	nothing  bool  // no cell can pass
	values   *span // raw bytes of values, all that can pass; nil is any
	unpushed bool  // for tests: the filter stays whole
}

func newReadSpec(opts []ReadOption) (*readSpec, error) {
	r := new(readSpec)
	return r, r.setUnpaged(opts)
}

// setRow makes a zero spec a read of one row: of it alone, if the options choose no
// rows.
func (r *readSpec) setRow(key string, opts []ReadOption) error {
	err := r.setUnpaged(opts)
	if err != nil || r.hasRows || r.hasAfter || r.none {
		*r = readSpec{}
		return r.setUnpaged(append(slices.Clip(opts), Key(key)))
	}
	if err := checkRowKey(key); err != nil {
		return err
	}
	r.row = [1]cf.Range{cf.Single(key)}
	r.rows, r.hasRows = r.row[:], true
	return nil
}

// newPageSpec is a read that may be of one page.
func newPageSpec(opts []ReadOption) (*readSpec, error) {
	r := new(readSpec)
	return r, r.set(opts)
}

func (r *readSpec) set(opts []ReadOption) error {
	for i, o := range opts {
		if rows, ok := o.(*RowSet); o == nil || ok && rows == nil {
			return nilArgument("read option", i)
		}
		o.apply(r)
	}
	if r.err != nil {
		return r.err
	}
	if err := r.check(); err != nil {
		return err
	}
	r.rows = r.rowRanges()
	return nil
}

func (r *readSpec) setUnpaged(opts []ReadOption) error {
	err := r.set(opts)
	if err == nil && r.page != (pageSpec{}) {
		err = faultf(InvalidArgument, "PageSize and After are for ReadPage")
	}
	return err
}

func (r *readSpec) check() error {
	for _, n := range []struct {
		name  string
		value int
	}{{"versions", r.versions}, {"cells per row", r.cellsPerRow}, {"limit", r.limit}, {"offset", r.offset}, {"page size", r.page.size}} {
		if n.value < 0 {
			return faultf(InvalidArgument, "%s is %d; it must not be negative", n.name, n.value)
		}
	}
	if err := r.since.Check(); err != nil {
		return faultf(InvalidArgument, "since: %w", err)
	}
	if err := r.until.Check(); err != nil {
		return faultf(InvalidArgument, "until: %w", err)
	}
	if r.until != 0 && r.since > r.until {
		return faultf(InvalidArgument, "time range starts at %d, after its end %d", r.since, r.until)
	}
	return checkFilter(r.filter)
}

// rowRanges are the rows to read: sorted, disjoint, none of them empty.
func (r *readSpec) rowRanges() []cf.Range {
	if r.none {
		return nil
	}
	rows := r.row[:]
	if r.hasRows {
		rows = cf.MergeRanges(r.rows)
	}
	switch {
	case !r.hasAfter:
		return rows
	case r.reverse:
		return cf.ClipRanges(rows, cf.Range{End: r.after})
	}
	return cf.ClipRanges(rows, cf.Range{Start: r.after + "\x00"})
}

// StartAfter reads only rows after a key, exclusive, in the order of the read:
// with [Reverse], those before it. It is how a read goes on from its last row.
func StartAfter(key string) ReadOption {
	return optionFunc(func(r *readSpec) {
		r.after, r.hasAfter = key, key != ""
	})
}

// Versions reads the newest n cells of each column, of those in the time range;
// 0, the default, is all.
func Versions(n int) ReadOption { return optionFunc(func(r *readSpec) { r.versions = n }) }

// TimeRange reads cells with timestamps from since, inclusive, to until,
// exclusive; an until of 0 is no bound.
func TimeRange(since, until cells.Timestamp) ReadOption {
	return optionFunc(func(r *readSpec) { r.since, r.until = since, until })
}

// CellsPerRow reads the first n cells of each row; 0, the default, is all.
func CellsPerRow(n int) ReadOption { return optionFunc(func(r *readSpec) { r.cellsPerRow = n }) }

// Limit ends the read after this many rows; 0, the default, is no limit.
func Limit(rows int) ReadOption { return optionFunc(func(r *readSpec) { r.limit = rows }) }

// Offset passes over this many rows first. The cost is that of reading their
// keys; [StartAfter] is the cheaper way to go on.
func Offset(rows int) ReadOption { return optionFunc(func(r *readSpec) { r.offset = rows }) }

// Rejected has fn called with the key of each row that the read has come to and
// does not return, because a condition or a filter leaves nothing of it: so a
// read that returns little can say how far it is. Rows that the engine passes
// over by itself are not reported; of a read with a filter that lets nothing
// through, whatever the rows have, the last row is. An error of fn ends the read. nil: nobody
// is told.
func Rejected(fn func(key string) error) ReadOption {
	return optionFunc(func(r *readSpec) { r.rejected = fn })
}

// Reverse reads rows in descending key order. Cells in a row keep their order.
func Reverse() ReadOption { return optionFunc(func(r *readSpec) { r.reverse = true }) }

// KeysOnly reads rows without their cells: those that have a cell that the
// other options select.
func KeysOnly() ReadOption { return optionFunc(func(r *readSpec) { r.keysOnly = true }) }
