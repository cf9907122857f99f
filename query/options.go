package query

import (
	"slices"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/query/filter"
	"github.com/smolwc/smolwc/query/internal/catalog"
	"github.com/smolwc/smolwc/query/internal/fault"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/schema"
)

// A readSpec is a request that is being planned.
type readSpec struct {
	read.Request
	rows   []cf.Range // in place of the request's: sorted and disjoint
	sample uint64     // only rows whose hash is less; 0 is all rows

	limits    []schema.Limit // in place of the families' own, with hasLimits
	hasLimits bool
	counting  bool // cells are only counted, unless a filter has to see them
	maxBytes  int  // of a row; 0 is MaxRowBytes

	row [1]cf.Range // rows, when there is one range

	// The result of push.
	narrow   columnSet // the selected columns that matter; nil is all
	pushed   []pushedFilter
	nothing  bool               // no cell can pass
	values   *filter.ValueRange // all values that can pass; nil is any
	unpushed bool               // for tests: the filter stays whole
}

func newReadSpec(opts []read.Option) (*readSpec, error) {
	r := new(readSpec)
	return r, r.setUnpaged(opts)
}

// setRow makes a zero spec a read of one row, unless the options choose rows
// themselves.
func (r *readSpec) setRow(key string, opts []read.Option) error {
	err := r.setUnpaged(opts)
	if err != nil || r.Rows != nil || r.After != "" || r.takesNone() {
		*r = readSpec{}
		return r.setUnpaged(append(slices.Clip(opts), read.Key(key)))
	}
	if err := catalog.CheckRowKey(key); err != nil {
		return err
	}
	r.row = [1]cf.Range{cf.Single(key)}
	r.rows, r.Rows = r.row[:], r.row[:]
	return nil
}

// newPageSpec is a read that may read one page.
func newPageSpec(opts []read.Option) (*readSpec, error) {
	r := new(readSpec)
	return r, r.set(opts)
}

func (r *readSpec) set(opts []read.Option) error {
	if err := r.Set(opts...); err != nil {
		return fault.Of(fault.InvalidArgument, err)
	}
	r.sample = r.HashBound()
	if r.Rows == nil && r.After == "" && !r.Sampled {
		r.rows = r.row[:] // all rows
	} else {
		r.rows = r.RowRanges()
	}
	return nil
}

// takesNone reports whether the read is a sample of no row.
func (r *readSpec) takesNone() bool { return r.Sampled && r.Sample == 0 }

func (r *readSpec) setUnpaged(opts []read.Option) error {
	err := r.set(opts)
	if err == nil && (r.PageSize != 0 || r.PageToken != "") {
		err = fault.Errorf(fault.InvalidArgument, "PageSize and After are for ReadPage")
	}
	return err
}

func (r *readSpec) rowBytes() int {
	if r.maxBytes > 0 {
		return r.maxBytes
	}
	return MaxRowBytes
}

// MaxRowBytes is how much memory a row may take when it is read as a whole: the
// bytes of its qualifiers and encoded values and 24 more for each cell. A read
// fails at a larger row, with the kind [KindResourceExhausted].
const MaxRowBytes = 256 << 20

// choosesNoRows refuses options that choose rows, for a read that chooses them
// already.
func (r *readSpec) choosesNoRows(beside string) error {
	switch {
	case r.Rows != nil || r.After != "":
		return fault.Errorf(fault.InvalidArgument, "row sets and StartAfter cannot be given beside %s", beside)
	case r.Limit != 0 || r.Offset != 0:
		return fault.Errorf(fault.InvalidArgument, "limit and offset cannot be given beside %s", beside)
	}
	return nil
}
