package transfer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/smolwc/smolwc/internal/osfile"
)

// A fileSink is an export's file while it is written. Its name is temporary until it
// is complete.
type fileSink struct {
	path    string
	tmp     *os.File // nil: a pipe, a device or Out
	w       io.Writer
	closers []io.Closer // the file before its compressor
	bytes   int64
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

type countingWriter struct {
	w io.Writer
	n *int64
}

func (c *countingWriter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	*c.n += int64(n)
	return n, err
}
