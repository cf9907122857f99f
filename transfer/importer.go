package transfer

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/schema"
)

// A sink receives rows: a table, or a test's list.
type sink interface {
	// write writes rows, each of them whole or not at all. The list gives an error for
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

func (im *importer) rowError(r row, err error) error {
	path, line := im.spec.place(r.line)
	return fmt.Errorf("%s:%d: %w", path, line, err)
}

func (im *importer) warn(to io.Writer, e *LineError) {
	if im.shown++; to != nil && im.shown == mostShown+1 {
		_, _ = fmt.Fprintln(to, "…; further bad lines are left out without a message")
	}
	if to != nil && im.shown <= mostShown {
		_, _ = fmt.Fprintf(to, "%v; left out\n", e) // a lost warning does not stop the import
	}
}

// mostShown bounds the bad lines that are shown.
const mostShown = 100

// keep writes the text of a bad record to the file for them.
func (im *importer) keep(records recordReader) error {
	if im.bad == nil {
		return nil
	}
	return im.bad.add(records.raw())
}

// wrong counts a bad record, and returns it if it is the first beyond the limit.
func (im *importer) wrong(e *LineError, records recordReader, s scanning) error {
	im.result.BadLines += int64(e.Lines)
	switch {
	case im.result.BadLines <= int64(im.spec.BadLines):
		im.warn(s.warn, e)
		if s.warn != nil { // not shown and kept before
			return im.keep(records)
		}
		return nil
	case !s.all:
		return e
	case im.tooBad == nil:
		im.tooBad = e
	}
	return nil
}

// leaveOut reports the records in late. If the file can be read again and BadLines
// allows them, the next pass leaves them out; otherwise it returns an error.
func (im *importer) leaveOut(rereadable bool) error {
	l := &im.late
	if l.lines == 0 {
		return nil
	}
	if !rereadable {
		im.result.BadLines += l.lines
		return fmt.Errorf("%w; the file cannot be read again to leave that out", l.first)
	}
	if im.result.BadLines+l.lines > int64(im.spec.BadLines) {
		im.result.BadLines += l.lines
		return l.first
	}
	for _, line := range slices.Sorted(maps.Keys(l.kept)) {
		im.warn(im.spec.Warn, l.kept[line])
	}
	im.skip = l.kept
	im.late.lines, im.late.first, im.late.kept = 0, nil, nil
	return nil
}

// accounted runs fn, which writes rows, and counts those rows in the result.
func (im *importer) accounted(ctx context.Context, fn func() error) (err error) {
	l, err := im.db.Plumbing().NewLedger(ctx, im.late.add)
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

// A scanning is one pass over the file.
type scanning struct {
	title string
	warn  io.Writer // receives the bad lines within the limit; nil: discarded
	all   bool      // beyond the limit of bad lines, continue to the end to count them
	use   func(r row) error
}
