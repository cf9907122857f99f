package shell

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/smolwc/smolwc/internal/humanize"
	"github.com/smolwc/smolwc/internal/osfile"
	"github.com/smolwc/smolwc/ql"
	"github.com/smolwc/smolwc/ql/exec"
	"github.com/smolwc/smolwc/ql/lex"
)

// intoFormats are the formats by the extensions of file names.
var intoFormats = map[string]string{
	".csv": "csv", ".tsv": "tsv", ".json": "json", ".jsonl": "jsonl", ".ndjson": "jsonl", ".md": "markdown", ".txt": "table",
}

func intoFormat(read ql.Read, table string) (string, error) {
	if read.Format != "" {
		return read.Format, nil
	}
	ext := strings.ToLower(filepath.Ext(read.Into))
	if format, ok := intoFormats[ext]; ok {
		return format, nil
	}
	if ext == ".parquet" || ext == ".gz" || ext == ".zst" {
		return "", fmt.Errorf("into writes no %s; export %s to %s does", ext, lex.QuoteName(table), lex.QuoteText(read.Into))
	}
	return "", fmt.Errorf("the name %s does not give the format; use .csv, .tsv, .json, .jsonl, .ndjson, .md or .txt, or add `as FORMAT`", lex.QuoteText(read.Into))
}

// printInto writes the rows to the statement's file. The file gets its name when it is
// complete.
func (s *Session) printInto(ctx context.Context, stream *exec.RowStream) error {
	format, err := intoFormat(stream.Read, stream.Table.Name)
	if err != nil {
		return err
	}
	if stream.Into, err = osfile.Home(stream.Into); err != nil {
		return err
	}
	f, err := createWhole(ctx, stream.Into, stream.Overwrite)
	if err != nil {
		return err
	}
	defer f.abandon()
	out := newOutput(f, false)
	printer := rowPrinters[format](&view{out: out, stream: stream, zone: s.runner.Zone, patient: true})
	for row, err := range stream.All() {
		if err != nil {
			return err
		}
		if err := printer.row(row); err != nil {
			return err
		}
	}
	if err := errors.Join(printer.end(), out.Flush()); err != nil {
		return err
	}
	if err := f.finish(); err != nil {
		return err
	}
	s.note("wrote %s to %s", humanize.Plural(stream.Count(), "row"), lex.Escape(stream.Into))
	return nil
}

// A wholeFile is a file with a temporary name until it is complete.
type wholeFile struct {
	*os.File
	path string // "" for a pipe or a device
}

func createWhole(ctx context.Context, path string, overwrite bool) (*wholeFile, error) {
	info, err := os.Stat(path)
	switch {
	case err == nil && info.IsDir():
		return nil, fmt.Errorf("%s is a directory; name a file in it", path)
	case err == nil && !info.Mode().IsRegular(): // a pipe or a device
		f, err := osfile.Open(ctx, path, os.O_WRONLY, 0)
		return &wholeFile{File: f}, err
	case err == nil && !overwrite:
		return nil, fmt.Errorf("%s exists; to replace it, write overwrite after its name", path)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".tmp-*")
	if failed := (*fs.PathError)(nil); errors.As(err, &failed) { // the error names the temporary file
		return nil, &fs.PathError{Op: "create", Path: path, Err: failed.Err}
	}
	return &wholeFile{f, path}, err
}

// finish renames the file to its final name.
func (f *wholeFile) finish() error {
	if f.path == "" {
		return f.Close()
	}
	err := f.Chmod(0o644) // like any file that a program writes
	if err == nil {
		err = f.Sync()
	}
	if e := f.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = os.Rename(f.Name(), f.path)
	}
	if err == nil {
		f.path = ""
	}
	return err
}

// abandon removes the temporary file; after finish it does nothing.
func (f *wholeFile) abandon() {
	_ = f.Close()
	if f.path != "" {
		_ = os.Remove(f.Name()) // the error that led here says more
	}
}
