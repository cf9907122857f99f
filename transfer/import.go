package transfer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/smolwc/smolwc/query"
)

func (im *importer) run(ctx context.Context) (Result, error) {
	start := time.Now()
	read := im.read
	if im.spec.DryRun {
		read = im.dryRun
	}
	var err error
	if im.spec.Bad != "" && !im.spec.DryRun {
		im.bad, err = newBadFile(im.spec.Bad)
	}
	if err == nil {
		err = read(ctx)
	}
	if badErr := im.bad.end(err == nil); badErr != nil && im.spec.Warn != nil { // the rows are written
		_, _ = fmt.Fprintln(im.spec.Warn, badErr)
	}
	im.result.Numbers = im.plan.numbers()
	im.result.Elapsed = time.Since(start)
	if _, ok := errors.AsType[*SpecError](err); ok && im.result.Rows == 0 || err == nil {
		return im.result, err
	}
	if before, ok := errors.AsType[*query.LoadedError](err); ok {
		return Result{Before: before.At, Elapsed: im.result.Elapsed}, nil
	}
	return im.result, &Error{Err: err, Rows: im.result.Rows, BadLines: im.result.BadLines}
}

func (im *importer) read(ctx context.Context) error {
	size, twice, err := im.spec.checkFiles()
	if err != nil {
		return err
	}
	im.size = size
	if to := im.local(); to != nil && im.spec.Batch == 0 {
		return im.whole(ctx, to, twice)
	}
	warn := im.spec.Warn
	if twice {
		if err := im.check(ctx, warn); err != nil {
			return err
		}
		warn = nil // bad lines have been reported
		im.result.BadLines, im.result.NoCells, im.result.NoValue = 0, 0, 0
	}
	return im.load(ctx, warn)
}

// local is the table of a database in this process; nil: the rows go elsewhere.
func (im *importer) local() *query.Table {
	if to, ok := im.sink.(*tableSink); ok && im.db != nil {
		t, _ := to.table.(*query.Table)
		return t
	}
	return nil
}

// check reads the whole file and writes nothing.
func (im *importer) check(ctx context.Context, warn io.Writer) (err error) {
	all, err := im.db.Plumbing().NewLedger(ctx, im.late.add)
	if err != nil {
		return err
	}
	defer func() { err = cmp.Or(err, all.Close()) }()
	err = im.scan(ctx, scanning{
		title: "checking",
		warn:  warn,
		all:   true,
		use: func(r row) error {
			if !im.plan.once() {
				return nil
			}
			return enter(all, r)
		},
	})
	if err != nil && im.tooBad == nil {
		return err
	}
	if _, countErr := all.Count(ctx); countErr != nil {
		return countErr
	}
	if err != nil { // repeats found before the failure count as bad lines
		im.result.BadLines += im.late.lines
		return err
	}
	return im.leaveOut(true)
}

// load imports in batches.
func (im *importer) load(ctx context.Context, warn io.Writer) error {
	return im.accounted(ctx, func() error {
		r := batchReader{im: im, size: cmp.Or(im.spec.Batch, DefaultBatch), sorted: true, warn: warn, out: make(chan []row, 2)}
		return r.each(ctx, im.writeBatch)
	})
}

// writeBatch writes one batch of several. In an import whose lines may share rows, cells
// without a time get the first one's: the same column of several batches is then one
// version, as it is in one batch. The first such row is written alone, and its time is
// read.
func (im *importer) writeBatch(ctx context.Context, batch []row) error {
	if i := im.plan.untimed(batch); i >= 0 {
		if err := im.writeFirst(ctx, batch[i:i+1]); err != nil {
			return err
		}
		batch = slices.Delete(batch, i, i+1)
	}
	if len(batch) == 0 {
		return nil
	}
	return im.write(ctx, batch)
}

// writeFirst writes a row, and keeps the time that it got. A cell of another program, whose
// time may be far in the future, is not taken for it. If the row was not written, or is
// there no longer, the next one is the first.
func (im *importer) writeFirst(ctx context.Context, one []row) error {
	before, err := im.sink.timesOf(ctx, one[0])
	if err != nil {
		return err
	}
	if err := im.write(ctx, one); err != nil {
		return err
	}
	after, err := im.sink.timesOf(ctx, one[0])
	for _, at := range after {
		if !slices.Contains(before, at) {
			im.plan.now = max(im.plan.now, at)
		}
	}
	return err
}
