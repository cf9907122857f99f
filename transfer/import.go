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
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/schema"
)

// A sink receives rows: a table, or a test's list.
type sink interface {
	// write writes rows, each of them whole or not at all. The list has an error for
	// each row that was not written, or is nil if all were.
	write(ctx context.Context, rows []row) ([]error, error)
	// timesOf returns the times of the versions that are equal to the row's first cell
	// without a time.
	timesOf(ctx context.Context, r row) ([]cells.Timestamp, error)
}

// An importer is one running import.
type importer struct {
	spec   Spec
	plan   *plan
	db     *query.DB // nil over the network
	sink   sink
	result Result
	size   int64 // of the file in bytes; 0 if unknown
	tooBad *LineError
	late   late
	skip   map[int]*LineError // by line, the records to leave out
	wrote  *account           // of the rows written in batches
	bad    *badFile           // nil: bad lines are not kept
	shown  int                // bad lines that were shown
}

// mostLate bounds the bad lines that are kept for the second reading of a file.
const mostLate = 1 << 20

// newImporter makes an import without a sink.
func newImporter(db *query.DB, spec Spec, table schema.Table) (*importer, error) {
	p, err := newPlan(spec, table)
	return &importer{spec: spec, plan: p, db: db, late: late{spec: spec, most: min(spec.BadLines, mostLate)}}, err
}

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
	all, err := query.NewLedger(ctx, im.db, im.late.add)
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

// accounted runs fn, which writes rows, and counts those rows in the result.
func (im *importer) accounted(ctx context.Context, fn func() error) (err error) {
	l, err := query.NewLedger(ctx, im.db, im.late.add)
	if err != nil {
		return err
	}
	defer func() { err = cmp.Or(err, l.Close()) }()
	im.wrote = &account{ledger: l, plan: im.plan}
	err = fn()
	if settleErr := im.wrote.settle(ctx, &im.result); settleErr != nil {
		return cmp.Or(err, settleErr)
	}
	if err != nil {
		return err
	}
	return im.leaveOut(false)
}

// maxBatchBytes ends a batch early, so that large rows neither fill the memory nor
// exceed the engine's limit for one write.
const maxBatchBytes = 8 << 20

// A batchReader cuts a file into batches.
type batchReader struct {
	im     *importer
	size   int // maximum rows in a batch
	sorted bool
	warn   io.Writer // see scanning
	all    bool      // beyond the limit of bad lines, count them and send no rows
	out    chan []row

	batch []row
	bytes int
}

// each reads the file on a separate goroutine, to its end or to the first bad line
// beyond the limit, and calls use with the batches.
func (b *batchReader) each(ctx context.Context, use func(context.Context, []row) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var readErr error // written before out is closed
	go func() {
		defer close(b.out)
		readErr = b.read(ctx)
	}()
	var useErr error
	for batch := range b.out {
		if useErr != nil {
			continue // until the reader stops
		}
		if useErr = use(ctx, batch); useErr != nil {
			cancel()
		}
	}
	return cmp.Or(useErr, readErr)
}

func (b *batchReader) read(ctx context.Context) error {
	err := b.im.scan(ctx, scanning{title: "importing", warn: b.warn, all: b.all, use: func(r row) error { return b.add(ctx, r) }})
	if err != nil {
		return err
	}
	return b.send(ctx)
}

func (b *batchReader) add(ctx context.Context, r row) error {
	if b.im.tooBad != nil {
		return nil // counting only
	}
	if b.batch == nil {
		b.batch = make([]row, 0, min(b.size, 1<<16))
	}
	if n := len(b.batch); n > 0 && b.im.plan.cells != nil && b.batch[n-1].key == r.key {
		b.batch[n-1].cells = append(b.batch[n-1].cells, r.cells...)
	} else {
		b.batch = append(b.batch, r)
	}
	if b.bytes += r.size(); len(b.batch) < b.size && b.bytes < maxBatchBytes {
		return nil
	}
	return b.send(ctx)
}

// send sends the batch. Rows of a batch are sorted by key if sorted is set: the engine
// writes adjacent keys faster, and few files are in key order.
func (b *batchReader) send(ctx context.Context) error {
	if len(b.batch) == 0 {
		return nil
	}
	if b.sorted {
		sortRows(b.batch)
		b.batch = b.im.plan.joined(b.batch)
	}
	select {
	case b.out <- b.batch:
		b.batch, b.bytes = nil, 0
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func sortRows(rows []row) {
	slices.SortStableFunc(rows, func(a, b row) int { return strings.Compare(a.key, b.key) })
}

// writeBatch writes one batch of several. In an import whose lines may share rows, cells
// without a time get that of the first of them: the same column of several batches is then
// one version, as it is in one batch. The first such row is written alone, and its time
// is read.
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

func (im *importer) rowError(r row, err error) error {
	path, line := im.spec.place(r.line)
	return fmt.Errorf("%s:%d: %w", path, line, err)
}

func (im *importer) write(ctx context.Context, batch []row) error {
	failed, err := im.sink.write(ctx, batch)
	if err != nil {
		return err
	}
	for i, r := range batch {
		if failed != nil && failed[i] != nil {
			err = cmp.Or(err, im.rowError(r, failed[i]))
			continue
		}
		if countErr := im.wrote.add(r); countErr != nil {
			return cmp.Or(err, countErr)
		}
	}
	return err
}
