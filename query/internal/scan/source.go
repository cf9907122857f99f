// Package scan carries out the plans of reads: it merges the cursors of a table's
// families into rows, judges conditions, evaluates filters, and reads rows that are
// too large to be held, cell by cell.
package scan

import (
	"context"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/query/internal/catalog"
	"github.com/smolwc/smolwc/query/internal/plan"
	"github.com/smolwc/smolwc/query/read"
)

// A Source is a table to read from. It serves the reads of one call.
type Source struct {
	Store cf.Reader
	Table *catalog.Table
	Now   cells.Timestamp // the moment that retention uses

	// Lends says that the rows of a request with Lend are valid until the next row.
	Lends bool

	// For tests: filters stay whole, and a row may take at most these bytes.
	Unpushed bool
	MaxBytes int
}

// Spec is a read with options.
func (src *Source) Spec(opts []read.Option) (*plan.Spec, error) {
	spec, err := plan.NewSpec(opts)
	src.mark(spec)
	return spec, err
}

func (src *Source) mark(spec *plan.Spec) {
	spec.Unpushed, spec.MaxBytes = src.Unpushed, src.MaxBytes
}

// Plan checks a read against the schema.
func (src *Source) Plan(spec *plan.Spec) (*plan.Spec, *plan.Plan, error) {
	p := new(plan.Plan)
	spec, err := p.Make(src.Table, spec, src.Now)
	return spec, p, err
}

// Open opens a read on a snapshot of the caller's or, if that is nil, on one of its
// own.
func (src *Source) Open(ctx context.Context, snap cf.Snapshot, spec *plan.Spec) (*Reader, error) {
	spec, p, err := src.Plan(spec)
	if err != nil {
		return nil, err
	}
	return src.OpenPlan(ctx, snap, spec, p)
}
