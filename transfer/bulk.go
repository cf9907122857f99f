package transfer

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/plumbing"
	"github.com/smolwc/smolwc/query/write"
)

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
func (im *importer) whole(ctx context.Context, to *query.Table, regular bool) error {
	err := im.wholeOnce(ctx, to, regular, im.spec.Warn)
	if !errors.Is(err, plumbing.ErrRepeated) {
		return err
	}
	if err := im.leaveOut(regular); err != nil {
		return err
	}
	im.result = Result{}
	return im.wholeOnce(ctx, to, regular, nil)
}

func (im *importer) wholeOnce(ctx context.Context, to *query.Table, regular bool, warn io.Writer) error {
	r := batchReader{im: im, size: pipelineRows, warn: warn, all: regular, out: make(chan []row, 8)}
	w := wholeWriter{im: im, to: to, regular: regular, m: write.NewMutation()}
	err := r.each(ctx, w.add)
	if err == nil {
		err = w.end(ctx)
	}
	if w.load != nil {
		if closeErr := w.load.Close(); closeErr != nil {
			err = errors.Join(err, closeErr)
		}
	}
	return err
}

// A wholeWriter keeps rows until they exceed one write.
type wholeWriter struct {
	im      *importer
	to      *query.Table
	regular bool
	kept    []row
	bytes   int
	load    *query.BulkLoad // nil until the rows exceed one write
	m       *write.Mutation // scratch
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
	// Adds to aggregates must not be applied twice, so the load is named.
	if len(w.kept) <= smallRows && w.bytes <= smallBytes && len(w.im.plan.adds) == 0 {
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
	s := &w.im.spec
	if w.load, err = w.to.BulkLoad(ctx, query.BulkOptions{Name: name, Again: s.Again, Overlap: s.Overlap}); err != nil {
		return err
	}
	w.load.Plumbing().OnRepeat(w.im.late.add)
	kept := w.kept
	w.kept = nil
	return w.apply(kept)
}

func (w *wholeWriter) apply(batch []row) error {
	p := w.im.plan
	for _, r := range batch {
		w.m.Reset()
		p.fill(w.m, r)
		var err error
		if p.once() {
			err = w.load.Plumbing().ApplyRecord(r.key, r.cells[0].Timestamp, r.record(), w.m)
		} else {
			err = w.load.Apply(r.key, w.m)
		}
		if err != nil {
			return w.im.rowError(r, err)
		}
		w.records += p.records(r)
	}
	return nil
}

func (w *wholeWriter) end(ctx context.Context) error {
	if w.load == nil {
		if len(w.kept) == 0 {
			return nil
		}
		sortRows(w.kept)
		rows := w.im.plan.joined(w.kept)
		return w.im.accounted(ctx, func() error { return w.im.write(ctx, rows) })
	}
	n, err := w.load.Commit(ctx)
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
	h := sha256.New()
	var n int64
	for _, path := range im.spec.paths() {
		of, err := hashFile(ctx, h, path)
		if err != nil {
			return "", err
		}
		n += of
	}
	if n != im.size {
		return "", fmt.Errorf("%s: it changed while it was read, from %d bytes to %d", im.spec.Path, im.size, n)
	}
	s := &im.spec
	fmt.Fprintf(h, "\x00%q %q %q", s.Key, s.Timestamp, s.NA)
	if s.Dialect != (Dialect{}) || s.Encoding != "" {
		fmt.Fprintf(h, " %+v %q", s.Dialect, s.Encoding)
	}
	if s.KeepEmpty {
		h.Write([]byte(" keep-empty"))
	}
	for i := range im.plan.columns { // no copy: the reader counts in them meanwhile
		c := &im.plan.columns[i]
		typ := c.typ
		if typ == cells.TypeAny && !c.all && len(im.plan.adds) > 0 { // as in version 0.1.0: it must not add twice
			typ = cells.TypeString
		}
		fmt.Fprintf(h, " %q %q %s %q", c.family, c.qualifier, typ, im.plan.names.names[c.field])
		if c.named != nil {
			h.Write([]byte(" {}"))
		}
		if c.all {
			h.Write([]byte(" *"))
		}
	}
	return fmt.Sprintf("import %x", h.Sum(nil)), nil
}

func hashFile(ctx context.Context, h io.Writer, path string) (int64, error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, fileError(path, err)
	}
	defer f.Close()
	n, err := io.Copy(h, readerFunc(func(p []byte) (int, error) {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		return f.Read(p)
	}))
	if err != nil {
		return n, fmt.Errorf("%s: %w", path, err)
	}
	return n, nil
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }
