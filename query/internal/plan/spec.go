package plan

import (
	"slices"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/query/filter"
	"github.com/smolwc/smolwc/query/internal/catalog"
	"github.com/smolwc/smolwc/query/internal/fault"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/schema"
)

// A Spec is a request that is being planned.
type Spec struct {
	read.Request
	Ranges []cf.Range // in place of the request's: sorted and disjoint
	sample uint64     // only rows whose hash is less; 0 is all rows

	Limits    []schema.Limit // in place of the families' own, with HasLimits
	HasLimits bool
	Counting  bool // cells are only counted, unless a filter must see them
	MaxBytes  int  // of a row; 0 is MaxRowBytes

	row [1]cf.Range // rows, when there is one range

	// The result of pushing the filter down.
	narrow   columnSet // the selected columns that matter; nil is all
	Pushed   []pushedFilter
	Nothing  bool               // no cell can pass
	values   *filter.ValueRange // all values that can pass; nil is any
	Unpushed bool               // for tests: the filter stays whole
}

// NewSpec is a read by its options; it is not one of pages.
func NewSpec(opts []read.Option) (*Spec, error) {
	r := new(Spec)
	return r, r.SetUnpaged(opts)
}

// SetRow makes a zero spec a read of one row, unless the options choose rows
// themselves.
func (r *Spec) SetRow(key string, opts []read.Option) error {
	err := r.SetUnpaged(opts)
	if err != nil || r.Rows != nil || r.After != "" || r.TakesNone() {
		*r = Spec{}
		return r.SetUnpaged(append(slices.Clip(opts), read.Key(key)))
	}
	if err := catalog.CheckRowKey(key); err != nil {
		return err
	}
	r.row = [1]cf.Range{cf.Single(key)}
	r.Ranges, r.Rows = r.row[:], r.row[:]
	return nil
}

// NewPageSpec is a read that may read one page.
func NewPageSpec(opts []read.Option) (*Spec, error) {
	r := new(Spec)
	err := r.set(opts)
	if err == nil && r.EveryRow {
		err = fault.Errorf(fault.InvalidArgument, "EveryRow cannot be given to a read of pages")
	}
	return r, err
}

func (r *Spec) set(opts []read.Option) error {
	if err := r.Set(opts...); err != nil {
		return fault.Of(fault.InvalidArgument, err)
	}
	r.sample = r.HashBound()
	if r.Rows == nil && r.After == "" && !r.Sampled {
		r.Ranges = r.row[:] // all rows
	} else {
		r.Ranges = r.RowRanges()
	}
	return nil
}

// TakesNone reports whether the read is a sample of no row.
func (r *Spec) TakesNone() bool { return r.Sampled && r.Sample == 0 }

// SetUnpaged makes a zero spec a read by its options; it is not one of pages.
func (r *Spec) SetUnpaged(opts []read.Option) error {
	err := r.set(opts)
	if err == nil && (r.PageSize != 0 || r.PageToken != "") {
		err = fault.Errorf(fault.InvalidArgument, "PageSize and After are for ReadPage")
	}
	return err
}

// RowBytes is how much memory a row of the read may take.
func (r *Spec) RowBytes() int {
	if r.MaxBytes > 0 {
		return r.MaxBytes
	}
	return MaxRowBytes
}

// MaxRowBytes is how much memory a row may take when it is read as a whole.
const MaxRowBytes = 256 << 20

// ChoosesNoRows refuses options that choose rows, for a read that chooses them
// already.
func (r *Spec) ChoosesNoRows(beside string) error {
	switch {
	case r.Rows != nil || r.After != "":
		return fault.Errorf(fault.InvalidArgument, "row sets and StartAfter cannot be given beside %s", beside)
	case r.Limit != 0 || r.Offset != 0:
		return fault.Errorf(fault.InvalidArgument, "limit and offset cannot be given beside %s", beside)
	}
	return nil
}
