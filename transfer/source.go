package transfer

import (
	"bufio"
	"context"
	"io"
	"os"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/smolwc/smolwc/internal/osfile"
)

// A source is an open file with its decompressor.
type source struct {
	text    *bufio.Reader // the decompressed text, without a byte order mark
	file    *os.File
	counter *counter
	closers []func()
}

// openSource opens the file, unless in is read in place of it. It calls onRead with the
// number of bytes read. The context ends waits for a pipe.
func openSource(ctx context.Context, path string, in io.Reader, f format, onRead func(n int)) (*source, error) {
	if in != nil {
		s := &source{counter: &counter{r: osfile.Reader(ctx, in), onRead: onRead}}
		s.text = bufio.NewReaderSize(s.counter, 1<<16)
		return s, s.decode(path, f.encoding)
	}
	file, err := osfile.Open(ctx, path, os.O_RDONLY, 0)
	if err != nil {
		return nil, fileError(path, err)
	}
	s := &source{file: file, counter: &counter{r: osfile.Reader(ctx, file), onRead: onRead}}
	s.closers = append(s.closers, func() { _ = file.Close() }) // read only
	if f.parquet {
		return s, nil
	}
	if err := s.decompress(path, f); err != nil {
		s.close()
		return nil, err
	}
	if err := s.decode(path, f.encoding); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

func (s *source) decompress(path string, f format) error {
	var r io.Reader = s.counter
	switch f.compression {
	case ".gz":
		z := &gzipReader{in: bufio.NewReaderSize(r, 1<<16)}
		var err error
		if z.member, err = gzip.NewReader(z.in); err != nil {
			return unpackError(path, "gzip", 0, err)
		}
		z.member.Multistream(false)
		r = z
	case ".zst":
		z, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1))
		if err != nil {
			return unpackError(path, "zstd", 0, err)
		}
		s.closers = append(s.closers, z.Close)
		r = z
	}
	s.text = bufio.NewReaderSize(r, 1<<16)
	return nil
}

// A gzipReader reads the members of a gzip file. Zeros after a member are padding, as tapes
// and some writers add it, and as gzip itself passes over.
type gzipReader struct {
	in     *bufio.Reader
	member *gzip.Reader
}

func (z *gzipReader) Read(p []byte) (int, error) {
	n, err := z.member.Read(p)
	switch {
	case err != io.EOF:
		return n, err
	case n > 0:
		return n, nil
	}
	for {
		b, err := z.in.ReadByte()
		if err != nil {
			return 0, err
		}
		if b == 0 {
			continue
		}
		_ = z.in.UnreadByte() // it was just read
		if err := z.member.Reset(z.in); err != nil {
			return 0, err
		}
		z.member.Multistream(false)
		return 0, nil
	}
}

func (s *source) close() {
	for i := len(s.closers) - 1; i >= 0; i-- {
		s.closers[i]()
	}
}

// A counter reports the bytes of the file as they are read.
type counter struct {
	r      io.Reader
	onRead func(n int)
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	if c.onRead != nil {
		c.onRead(n)
	}
	return n, err
}
