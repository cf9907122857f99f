package transfer

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/write"
)

// A bulkSink is a sink that can load any number of rows and make them visible at once.
type bulkSink interface {
	sink
	// begin begins such a load. A non-empty name is loaded only once; if it was loaded
	// before, the error matches query.ErrLoaded. The load calls repeated for records
	// that repeat others.
	begin(ctx context.Context, name string, spec *Spec, repeated func(query.Repeat)) (bulkLoad, error)
}

// A bulkLoad is a load in progress. Rows may come in any order.
type bulkLoad interface {
	// apply adds a row; once says that no other row may repeat it.
	apply(r row, once bool) error
	// commit fails with query.ErrRepeated if a row repeats a row applied with once.
	commit(ctx context.Context) (query.BulkResult, error)
	close() error
}

// A small file is written like puts, all rows in one write. A file is large if it
// exceeds this number of rows, or bytes of rows.
const (
	smallRows  = DefaultBatch
	smallBytes = 4 * maxBatchBytes
	// pipelineRows is the batch size between the parsing and the loading goroutine.
	pipelineRows = 1000
)

// whole imports the file all or nothing: a small file in one write, a large file as a
// bulk load. It reads the file once. It reads it a second time only to leave out
// records that repeat records far before them.
func (im *importer) whole(ctx context.Context, to bulkSink, regular bool) error {
	err := im.wholeOnce(ctx, to, regular, im.spec.Warn)
	if !errors.Is(err, query.ErrRepeated) {
		return err
	}
	if err := im.leaveOut(regular); err != nil {
		return err
	}
	im.result = Result{}
	return im.wholeOnce(ctx, to, regular, nil)
}

func (im *importer) wholeOnce(ctx context.Context, to bulkSink, regular bool, warn io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	batches := make(chan []row, 8)
	var readErr error // written before batches is closed
	go func() {
		defer close(batches)
		r := batchReader{im: im, size: pipelineRows, out: batches}
		readErr = r.read(ctx, warn, regular)
	}()
	w := wholeWriter{im: im, to: to, regular: regular}
	var writeErr error
	for batch := range batches {
		if writeErr != nil {
			continue // until the reader stops
		}
		if writeErr = w.add(ctx, batch); writeErr != nil {
			cancel()
		}
	}
	err := cmp.Or(writeErr, readErr)
	if err == nil {
		err = w.end(ctx)
	}
	if w.load != nil {
		if closeErr := w.load.close(); closeErr != nil {
			err = errors.Join(err, closeErr)
		}
	}
	return err
}

// A wholeWriter keeps rows until they exceed one write.
type wholeWriter struct {
	im      *importer
	to      bulkSink
	regular bool
	kept    []row
	bytes   int
	load    bulkLoad // nil until the rows exceed one write
	records int64
}

func (w *wholeWriter) add(ctx context.Context, batch []row) error {
	if w.load != nil {
		return w.apply(batch)
	}
	w.kept = append(w.kept, batch...)
	for _, r := range batch {
		w.bytes += r.size()
	}
	// Adds to aggregates must not be applied twice, so the load has a name.
	if len(w.kept) <= smallRows && w.bytes <= smallBytes && !w.im.plan.adds {
		return nil
	}
	return w.begin(ctx)
}

func (w *wholeWriter) begin(ctx context.Context) (err error) {
	name := ""
	if w.regular {
		if name, err = w.im.fingerprint(ctx); err != nil {
			return err
		}
	}
	if w.load, err = w.to.begin(ctx, name, &w.im.spec, w.im.late.add); err != nil {
		return err
	}
	kept := w.kept
	w.kept = nil
	return w.apply(kept)
}

func (w *wholeWriter) apply(batch []row) error {
	for _, r := range batch {
		if err := w.load.apply(r, w.im.plan.once()); err != nil {
			return fmt.Errorf("%s:%d: %w", w.im.spec.Path, r.line, err)
		}
		w.records += w.im.plan.records(r)
	}
	return nil
}

func (w *wholeWriter) end(ctx context.Context) error {
	if w.load == nil {
		if len(w.kept) == 0 {
			return nil
		}
		sortRows(w.kept)
		return w.im.accounted(ctx, func() error { return w.im.write(ctx, w.kept) })
	}
	n, err := w.load.commit(ctx)
	if err != nil {
		return err
	}
	to := &w.im.result
	to.Records, to.Rows, to.Cells, to.Replaced = w.records, n.Rows, n.Cells, n.Replaced
	return nil
}

// fingerprint identifies a file's load by the file's bytes and the import's settings.
// It reads the file, which takes a small part of the parsing time.
func (im *importer) fingerprint(ctx context.Context) (string, error) {
	f, err := os.Open(im.spec.Path)
	if err != nil {
		return "", fileError(im.spec.Path, err)
	}
	defer f.Close()
	h := sha256.New()
	n, err := io.Copy(h, readerFunc(func(p []byte) (int, error) {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		return f.Read(p)
	}))
	if err != nil {
		return "", fmt.Errorf("%s: %w", im.spec.Path, err)
	}
	if n != im.size {
		return "", fmt.Errorf("%s: it changed while it was read, from %d bytes to %d", im.spec.Path, im.size, n)
	}
	s := &im.spec
	fmt.Fprintf(h, "\x00%q %q %q", s.Key, s.Timestamp, s.NA)
	for _, c := range im.plan.columns {
		fmt.Fprintf(h, " %q %q %s %q", c.family, c.qualifier, c.typ, im.plan.names.names[c.field])
	}
	return fmt.Sprintf("import %x", h.Sum(nil)), nil
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// begin implements bulkSink.
func (s *tableSink) begin(ctx context.Context, name string, spec *Spec, repeated func(query.Repeat)) (bulkLoad, error) {
	l, err := s.table.BulkLoad(ctx, query.BulkOptions{Name: name, Again: spec.Again, Overlap: spec.Overlap, Repeated: repeated})
	if err != nil {
		return nil, err
	}
	return &tableLoad{sink: s, load: l, m: write.NewMutation()}, nil
}

// A tableLoad is a bulk load of a table.
type tableLoad struct {
	sink *tableSink
	load *query.BulkLoad
	m    *write.Mutation
}

func (l *tableLoad) apply(r row, once bool) error {
	l.m.Reset()
	l.sink.fill(l.m, r)
	if !once {
		return l.load.Apply(r.key, l.m)
	}
	return l.load.ApplyRecord(r.key, r.cells[0].Timestamp, query.Record{Line: r.line, Lines: r.lines}, l.m)
}

func (l *tableLoad) commit(ctx context.Context) (query.BulkResult, error) { return l.load.Commit(ctx) }

func (l *tableLoad) close() error { return l.load.Close() }
