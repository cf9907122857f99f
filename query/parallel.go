package query

import (
	"context"
	"errors"
	"iter"
	"runtime"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/query/internal/fault"
	"github.com/smolwc/smolwc/query/internal/plan"
	"github.com/smolwc/smolwc/query/internal/scan"
	"github.com/smolwc/smolwc/query/read"
)

// partsPerReader makes parts small enough that readers end at about the same
// time, though parts are not equally large.
const partsPerReader = 4

// ReadRowsParallel reads the result of [Table.ReadRows] with the same options, n parts
// of the table at a time, all of one snapshot, and calls fn for each row: on n
// goroutines, in key order within a part and in no order among parts. With n 0 there
// are GOMAXPROCS goroutines. It returns when all of them have ended.
//
// An error of fn ends the read, cancels the context of the other calls and is
// returned unchanged. Limit and Offset cannot be given: there is no first row.
func (t *Table) ReadRowsParallel(ctx context.Context, n int, fn func(ctx context.Context, row *Row) error, opts ...read.Option) error {
	var perRow func(ctx context.Context, _ int, rows iter.Seq2[*Row, error]) error
	if fn != nil {
		perRow = func(ctx context.Context, _ int, rows iter.Seq2[*Row, error]) error {
			for row, err := range rows {
				if err != nil {
					return err
				}
				if err := fn(ctx, row); err != nil {
					return err
				}
			}
			return nil
		}
	}
	return t.ReadPartsParallel(ctx, n, perRow, opts...)
}

// ReadPartsParallel reads as [Table.ReadRowsParallel] does, and calls fn for each part of
// the table, on n goroutines. Parts are numbered from 0 in key order. fn ranges over the
// rows of its part once, and returns the error that it gets from them.
func (t *Table) ReadPartsParallel(ctx context.Context, n int, fn func(ctx context.Context, part int, rows iter.Seq2[*Row, error]) error, opts ...read.Option) error {
	err := t.readParallel(ctx, n, fn, opts)
	if own, ok := errors.AsType[*callerError](err); ok {
		return own.err
	}
	return fail("read rows in parallel", t.Name(), "", err)
}

// A callerError is an error of the caller's function.
type callerError struct{ err error }

func (e *callerError) Error() string { return e.err.Error() }

func (t *Table) readParallel(ctx context.Context, n int, fn func(context.Context, int, iter.Seq2[*Row, error]) error, opts []read.Option) error {
	began := time.Now()
	src, done, err := t.source(ctx)
	if err != nil {
		return err
	}
	defer done()
	src.Lends = true
	spec, err := src.Spec(opts)
	switch {
	case err != nil:
		return err
	case fn == nil:
		return fault.Given("fn", false)
	case spec.Limit != 0 || spec.Offset != 0:
		return fault.Errorf(fault.InvalidArgument, "limit and offset cannot be given to a parallel read")
	case n < 0:
		return fault.Errorf(fault.InvalidArgument, "%d readers; the number must not be negative", n)
	case n == 0:
		n = runtime.GOMAXPROCS(0)
	}
	parts, err := t.divide(ctx, spec, n*partsPerReader)
	if err != nil {
		return err
	}
	snap, err := src.Store.Snapshot(ctx)
	if err != nil {
		return err
	}
	defer snap.Close()
	p := parallelRead{src: src, snap: snap, fn: fn}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(n)
	for i, part := range parts {
		g.Go(func() error { return p.read(ctx, i, part) })
	}
	err = g.Wait()
	if spec.Cost != nil {
		p.cost.Elapsed = time.Since(began)
		*spec.Cost = p.cost
	}
	return err
}

// divide cuts a read into reads of parts of its rows.
func (t *Table) divide(ctx context.Context, spec *plan.Spec, n int) ([]*plan.Spec, error) {
	if len(spec.Ranges) == 0 {
		return []*plan.Spec{spec}, nil // opening it checks the options
	}
	parts, err := t.split(ctx, cf.Range{Start: spec.Ranges[0].Start, End: spec.Ranges[len(spec.Ranges)-1].End}, n)
	if err != nil {
		return nil, err
	}
	var specs []*plan.Spec
	start := ""
	for _, p := range parts {
		part := *spec
		part.Ranges = cf.ClipRanges(slices.Clone(spec.Ranges), cf.Range{Start: start, End: p.End})
		start = p.End
		if len(part.Ranges) > 0 {
			specs = append(specs, &part)
		}
	}
	return specs, nil
}

// A parallelRead is the state that the parts of a parallel read share.
type parallelRead struct {
	src  scan.Source
	snap cf.Snapshot
	fn   func(context.Context, int, iter.Seq2[*Row, error]) error

	mu   sync.Mutex
	cost read.Cost
}

func (p *parallelRead) read(ctx context.Context, part int, spec *plan.Spec) error {
	if spec.Cost != nil {
		spec.Cost = new(read.Cost)
		defer func() { p.add(*spec.Cost) }()
	}
	r, err := p.src.Open(ctx, p.snap, spec)
	if err != nil {
		return err
	}
	defer r.Close()
	var failed error
	err = p.fn(ctx, part, func(yield func(*Row, error) bool) {
		for {
			row, err := r.Next(ctx)
			if err != nil {
				failed = err
				yield(nil, err)
				return
			}
			if row == nil || !yield((*Row)(row), nil) {
				return
			}
		}
	})
	if failed != nil || err == nil {
		return failed
	}
	return &callerError{err}
}

func (p *parallelRead) add(c read.Cost) {
	p.mu.Lock()
	defer p.mu.Unlock()
	scan.MergeCost(&p.cost, c)
}
