package query

import (
	"context"
	"errors"
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

// ReadRowsParallel reads the result of [Table.ReadRows] with the same options, n
// parts of the table at a time, all of one snapshot, and calls fn for each row:
// on n goroutines, in key order within a part and in no order among parts. With n
// 0 there are as many as processors. It returns when all are done.
//
// An error of fn ends the read, cancels the context of the other calls and is
// returned unchanged. Limit and Offset cannot be given: there is no first row.
func (t *Table) ReadRowsParallel(ctx context.Context, n int, fn func(ctx context.Context, row *Row) error, opts ...read.Option) error {
	err := t.readParallel(ctx, n, fn, opts)
	if own, ok := errors.AsType[*callerError](err); ok {
		return own.err
	}
	return fail("read rows in parallel", t.Name(), "", err)
}

// A callerError is an error of the caller's function.
type callerError struct{ err error }

func (e *callerError) Error() string { return e.err.Error() }

func (t *Table) readParallel(ctx context.Context, n int, fn func(context.Context, *Row) error, opts []read.Option) error {
	began := time.Now()
	src, err := t.source(ctx)
	if err != nil {
		return err
	}
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
	snap, err := t.db.state.Store.Snapshot(ctx)
	if err != nil {
		return err
	}
	defer snap.Close()
	p := parallelRead{src: src, snap: snap, fn: fn}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(n)
	for _, part := range parts {
		g.Go(func() error { return p.read(ctx, part) })
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
		return []*plan.Spec{spec}, nil // which checks the options
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
	fn   func(context.Context, *Row) error

	mu   sync.Mutex
	cost read.Cost
}

func (p *parallelRead) read(ctx context.Context, spec *plan.Spec) error {
	if spec.Cost != nil {
		spec.Cost = new(read.Cost)
		defer func() { p.add(*spec.Cost) }()
	}
	r, err := p.src.Open(ctx, p.snap, spec)
	if err != nil {
		return err
	}
	defer r.Close()
	for {
		row, err := r.Next(ctx)
		if row == nil || err != nil {
			return err
		}
		if err := p.fn(ctx, (*Row)(row)); err != nil {
			return &callerError{err}
		}
	}
}

func (p *parallelRead) add(c read.Cost) {
	p.mu.Lock()
	defer p.mu.Unlock()
	scan.MergeCost(&p.cost, c)
}

// A RowKeySample is a place in a table.
type RowKeySample struct {
	// Key is a row key; "" is the end of the table, in the last sample.
	Key string
	// OffsetBytes is about the size in the store of the rows before Key. It
	// includes deleted and expired cells that were not compacted yet.
	OffsetBytes int64
}

// maxSamples is how many samples SampleRowKeys returns at most.
const maxSamples = 64

// SampleRowKeys returns row keys that divide the table into up to 64 parts of
// about the same size, in order, and then the end of the table, whose key is
// empty. It does not read the table, unless the table is small: then the parts
// are as equal as rows allow.
func (t *Table) SampleRowKeys(ctx context.Context) ([]RowKeySample, error) {
	parts, err := t.split(ctx, cf.Range{}, maxSamples)
	samples := make([]RowKeySample, len(parts))
	var offset int64
	for i, p := range parts {
		offset += p.Bytes
		samples[i] = RowKeySample{p.End, offset}
	}
	return samples, fail("sample row keys", t.Name(), "", err)
}

// RowSplits returns up to n-1 row keys, in order, that divide the table into
// parts of about the same size: the rows before the first, those from each to
// the next, and those from the last on.
func (t *Table) RowSplits(ctx context.Context, n int) ([]string, error) {
	parts, err := t.split(ctx, cf.Range{}, n)
	if err != nil {
		return nil, fail("split rows", t.Name(), "", err)
	}
	keys := make([]string, 0, len(parts))
	for _, p := range parts[:len(parts)-1] {
		keys = append(keys, p.End)
	}
	return keys, nil
}

func (t *Table) split(ctx context.Context, rows cf.Range, n int) ([]cf.Part, error) {
	if err := t.database().ready(ctx); err != nil {
		return nil, err
	}
	if n < 1 {
		return nil, fault.Errorf(fault.InvalidArgument, "%d parts; there must be at least 1", n)
	}
	info, err := t.db.state.Catalog.Load().Table(t.name)
	if err != nil {
		return nil, err
	}
	families := make([]string, len(info.Families))
	for i, f := range info.Families {
		families[i] = f.Store
	}
	return t.db.state.Store.Splits(ctx, families, rows, n)
}
