package transfer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/smolwc/smolwc/internal/osfile"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/schema"
)

// An ExportSpec says what to export and how.
type ExportSpec struct {
	// Path is the file. It gets this name when it is complete. The extension gives the
	// format: .csv, .jsonl, .ndjson or .parquet, the first three also with .gz or .zst.
	// "-" writes to Out.
	Path string
	// Format overrides the format of the file's name: "csv", "jsonl" or "parquet".
	Format string
	// Wide, if not empty, makes one line for each row, with the newest cell of each of
	// these columns as a field. Otherwise there is one line for each cell, and [Import]
	// restores the same cells. A Mapping without a Field uses the field
	// family:qualifier.
	Wide []Mapping
	// AllWide makes one line for each row of JSON lines, with the newest cell of each
	// of its columns as the member family:qualifier. Whole numbers of up to 53 bits are
	// numbers. A row in which two members would have one name ends the export with a
	// [SpecError].
	AllWide bool
	// Bytes is the encoding, "hex" or "base64", of values of type bytes, and of row
	// keys that are not UTF-8, in the wide form of CSV and JSON lines. The name of such
	// a field ends in _hex or _b64, and [Import] finds it by its name without that
	// suffix. "" is hex in CSV and base64 in JSON lines.
	Bytes string
	// Options select the exported rows and cells; without options, all of them,
	// including all versions.
	Options []read.Option
	// Overwrite replaces an existing file.
	Overwrite bool
	// Out is the writer for "-".
	Out io.Writer
	// Progress receives a counter for a terminal; nil: no counter.
	Progress io.Writer
}

// An ExportResult says what an export wrote.
type ExportResult struct {
	Rows, Cells int64
	Bytes       int64 // of the file
	Elapsed     time.Duration
}

// Export writes the visible cells of a table at one moment, each cell once. Memory is
// bounded, however large the table and its rows are. An existing file is not replaced
// unless Overwrite is set. After an error there is no file; bytes already written to
// Out stay.
func Export(ctx context.Context, db *query.DB, table string, spec ExportSpec) (ExportResult, error) {
	t, err := tableOf(ctx, db, table)
	if err != nil {
		return ExportResult{}, err
	}
	return ExportFrom(ctx, db.Table(table), *t, spec)
}

// ExportFrom is [Export] of a table that may be one over the network. There each row is
// held in memory as a whole, and if the connection breaks, the rest is read as of the
// time after that.
func ExportFrom(ctx context.Context, from Table, declared schema.Table, spec ExportSpec) (res ExportResult, err error) {
	began := time.Now()
	if err := usable(ctx, from); err != nil {
		return res, err
	}
	f, err := exportFormat(spec)
	if err != nil {
		return res, err
	}
	if spec.AllWide && (!f.json || spec.Wide != nil) {
		return res, specErrorf("wide", "* makes a member of each column, which files of jsonl can have; name the columns for csv and parquet")
	}
	e := &exporter{table: from, schema: declared, spec: spec, format: f}
	if err := e.prepare(ctx); err != nil {
		return res, err
	}
	res, err = e.write(ctx)
	if key, ok := errors.AsType[*rawKeyError](err); ok {
		if !key.unwritten {
			return res, err
		}
		e.rows, e.cells, e.keyCode = 0, 0, e.code
		res, err = e.write(ctx)
	}
	res.Elapsed = time.Since(began)
	return res, err
}

func (e *exporter) write(ctx context.Context) (ExportResult, error) {
	out, err := openSink(ctx, e.spec, e.format)
	if err != nil {
		return ExportResult{}, err
	}
	if err = e.run(ctx, out); err == nil {
		err = out.finish()
	}
	if err != nil {
		if key, ok := errors.AsType[*rawKeyError](err); ok {
			key.unwritten = out.tmp != nil
		}
		return ExportResult{}, errors.Join(err, out.abandon())
	}
	return ExportResult{Rows: e.rows, Cells: e.cells, Bytes: out.bytes}, nil
}

// A rawKeyError reports a row key that CSV cannot hold without an encoding. The file's
// first line must name the encoding.
type rawKeyError struct {
	key       string
	unwritten bool // nothing is written yet, so the file can be started again
}

func (e *rawKeyError) Error() string {
	return "row key " + quote(e.key) + " is not UTF-8, which a CSV file says in its first line; export to a file by its name, or as jsonl or parquet"
}

func exportFormat(spec ExportSpec) (f format, err error) {
	name := spec.Path
	if spec.Format != "" && (name == "-" || !hasFormat(name)) {
		name += "." + spec.Format
	}
	if spec.Path == "-" && spec.Format == "" {
		name = "-.jsonl"
	}
	if f, err = formatOf(name); err != nil {
		for _, ext := range []string{".gz", ".zst"} {
			if inner, ok := strings.CutSuffix(name, ext); ok && filepath.Ext(inner) == ".parquet" {
				return f, specErrorf("", "%s: a Parquet file is compressed inside; name it %s", spec.Path, filepath.Base(inner))
			}
		}
		return f, specErrorf("", "%s: what it is to hold cannot be told from its name; export writes .csv, .jsonl and .parquet, the first two also with .gz or .zst, and for others as= says which", spec.Path)
	}
	if said, _ := formatOf("x." + spec.Format); spec.Format != "" && (said.json != f.json || said.parquet != f.parquet) {
		return f, specErrorf("as", "%s is asked for, and the name %s says otherwise", spec.Format, spec.Path)
	}
	return f, nil
}

func hasFormat(path string) bool {
	_, err := formatOf(path)
	return err == nil
}

// A fileSink is an export's file while it is written. It has a temporary name until it
// is complete.
type fileSink struct {
	path    string
	tmp     *os.File // nil: a pipe, a device or Out
	w       io.Writer
	closers []io.Closer // the file before its compressor
	bytes   int64
}

// openSink creates the file and its compressor.
func openSink(ctx context.Context, spec ExportSpec, f format) (*fileSink, error) {
	s := &fileSink{path: spec.Path}
	w, err := s.open(ctx, spec)
	if err != nil {
		return nil, err
	}
	s.w = &countingWriter{w, &s.bytes}
	switch f.compression {
	case ".gz":
		z := gzip.NewWriter(s.w)
		s.w, s.closers = z, append(s.closers, z)
	case ".zst":
		z, err := zstd.NewWriter(s.w)
		if err != nil {
			return nil, err
		}
		s.w, s.closers = z, append(s.closers, z)
	}
	return s, nil
}

func (s *fileSink) open(ctx context.Context, spec ExportSpec) (io.Writer, error) {
	if spec.Path == "-" {
		if spec.Out == nil {
			return nil, specErrorf("", "there is no output to export to")
		}
		return spec.Out, nil
	}
	info, err := os.Stat(spec.Path)
	switch {
	case err == nil && info.IsDir():
		return nil, specErrorf("", "%s is a directory; name a file in it", spec.Path)
	case err == nil && !info.Mode().IsRegular(): // a pipe or a device
		f, err := osfile.Open(ctx, spec.Path, os.O_WRONLY, 0)
		if err != nil {
			return nil, fileError(spec.Path, err)
		}
		s.closers = append(s.closers, f)
		return f, nil
	case err == nil && !spec.Overwrite:
		return nil, specErrorf("", "%s exists; it is only replaced when overwrite is asked for", spec.Path)
	}
	s.tmp, err = os.CreateTemp(filepath.Dir(spec.Path), "."+filepath.Base(spec.Path)+".tmp-*")
	if err != nil {
		return nil, fileError(spec.Path, err)
	}
	return s.tmp, nil
}

// finish closes the file and renames it to its final name.
func (s *fileSink) finish() error {
	for i := len(s.closers) - 1; i >= 0; i-- {
		if err := s.closers[i].Close(); err != nil {
			return fileError(s.path, err)
		}
	}
	s.closers = nil
	if s.tmp == nil {
		return nil
	}
	err := s.tmp.Chmod(0o644) // like any file that a program writes
	if err == nil {
		err = s.tmp.Sync()
	}
	if e := s.tmp.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = os.Rename(s.tmp.Name(), s.path)
	}
	if err != nil {
		return fileError(s.path, err)
	}
	s.tmp = nil
	return nil
}

// abandon removes the temporary file; after finish it does nothing.
func (s *fileSink) abandon() error {
	for _, c := range s.closers {
		_ = c.Close() // the first error is returned
	}
	if s.tmp == nil {
		return nil
	}
	_ = s.tmp.Close()
	if err := os.Remove(s.tmp.Name()); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("removing the unfinished file: %w", err)
	}
	return nil
}

type countingWriter struct {
	w io.Writer
	n *int64
}

func (c *countingWriter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	*c.n += int64(n)
	return n, err
}

func (m Mapping) columnName() string {
	if m.Field != "" {
		return m.Field
	}
	return m.Family + ":" + m.Qualifier
}
