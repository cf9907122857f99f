package transfer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/schema"
)

// A sink is where rows go: a table, or a test's list.
type sink interface {
	// write writes rows, each of them whole or not at all. The list has an
	// error for each row that was not written, or is nil.
	write(ctx context.Context, rows []row) ([]error, error)
}

// An importer is one import under way.
type importer struct {
	spec   Spec
	plan   *plan
	sink   sink
	result Result
	size   int64 // of the file in bytes, 0 when it is not known
	tooBad *LineError
	last   string // the key of the row that was written last
}

func run(ctx context.Context, spec Spec, table schema.Table, to sink) (Result, error) {
	start := time.Now()
	p, err := newPlan(spec, table)
	if err != nil {
		return Result{}, err
	}
	im := &importer{spec: spec, plan: p, sink: to}
	err = im.run(ctx)
	im.result.Elapsed = time.Since(start)
	if _, ok := errors.AsType[*SpecError](err); ok && im.result.Rows == 0 || err == nil {
		return im.result, err
	}
	return im.result, &Error{Err: err, Rows: im.result.Rows, BadLines: im.result.BadLines}
}

func (im *importer) run(ctx context.Context) error {
	size, twice, err := checkFile(im.spec.Path)
	if err != nil {
		return err
	}
	im.size = size
	warn := im.spec.Warn
	if twice {
		if err := im.check(ctx, warn); err != nil {
			return err
		}
		warn = nil // what is bad has been said
		im.result.BadLines, im.result.NoCells = 0, 0
	}
	return im.load(ctx, warn)
}

// check reads the whole file and writes nothing.
func (im *importer) check(ctx context.Context, warn io.Writer) error {
	arena := make([]cells.Cell, 0, len(im.plan.columns))
	return im.scan(ctx, scanning{
		title: "checking",
		warn:  warn,
		all:   true,
		arena: func() []cells.Cell { return arena },
		use:   func(row, []cells.Cell) error { return nil },
	})
}

// load reads on a goroutine of its own and writes on this one.
func (im *importer) load(ctx context.Context, warn io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	batches := make(chan []row, 2)
	var readErr error // written before batches is closed
	go func() {
		defer close(batches)
		readErr = im.read(ctx, warn, batches)
	}()
	var writeErr error
	for batch := range batches {
		if writeErr != nil {
			continue // until the reader has noticed
		}
		if writeErr = im.write(ctx, batch); writeErr != nil {
			cancel()
		}
	}
	return cmp.Or(writeErr, readErr)
}

// maxBatchBytes ends a batch early, so that rows of many bytes neither fill the
// memory nor pass what the engine takes in one write.
const maxBatchBytes = 8 << 20

// read cuts the file into batches, each sorted by row key: the engine takes
// neighbours faster, and a file is seldom in the order of its keys.
func (im *importer) read(ctx context.Context, warn io.Writer, batches chan<- []row) error {
	size := cmp.Or(im.spec.Batch, DefaultBatch)
	var batch []row
	var arena []cells.Cell
	bytes := 0
	send := func() error {
		if len(batch) == 0 {
			return nil
		}
		slices.SortStableFunc(batch, func(a, b row) int { return strings.Compare(a.key, b.key) })
		select {
		case batches <- batch:
			batch, arena, bytes = nil, nil, 0
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	err := im.scan(ctx, scanning{
		title: "importing",
		warn:  warn,
		arena: func() []cells.Cell {
			if batch == nil {
				n := min(size, 1<<16)
				batch, arena = make([]row, 0, n), make([]cells.Cell, 0, n*max(1, len(im.plan.columns)))
			}
			return arena
		},
		use: func(r row, a []cells.Cell) error {
			arena = a
			if n := len(batch); n > 0 && im.plan.cells != nil && batch[n-1].key == r.key {
				batch[n-1].cells = append(batch[n-1].cells, r.cells...)
			} else {
				batch = append(batch, r)
			}
			if bytes += r.size(); len(batch) < size && bytes < maxBatchBytes {
				return nil
			}
			return send()
		},
	})
	if err != nil {
		return err
	}
	return send()
}

func (im *importer) write(ctx context.Context, batch []row) error {
	failed, err := im.sink.write(ctx, batch)
	if err != nil {
		return err
	}
	for i, r := range batch {
		if failed != nil && failed[i] != nil {
			err = cmp.Or(err, fmt.Errorf("%s:%d: %w", im.spec.Path, r.line, failed[i]))
			continue
		}
		if im.plan.cells == nil || r.key != im.last { // a row may be cut between batches
			im.result.Rows++
		}
		im.last = r.key
		im.result.Cells += int64(len(r.cells))
	}
	return err
}
