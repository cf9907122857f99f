package transfer

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/smolwc/smolwc/internal/osfile"
)

// A format is the format of a file, from its name.
type format struct {
	json        bool
	tabs        bool // TSV
	parquet     bool
	compression string // ".gz", ".zst" or ""
}

// format is the format of the file: that of the spec, or that of the name.
func (s *Spec) format() (format, error) {
	if s.Format == "" && s.In != nil {
		return format{}, specErrorf("", "%s: its format has to be given: as csv, as tsv or as jsonl", s.Path)
	}
	if s.Format == "" {
		return formatOf(s.Path)
	}
	f, err := formatOf("x." + s.Format)
	if err != nil {
		return f, specErrorf("", "there is no format %s; import reads csv, tsv, jsonl and parquet", quote(s.Format))
	}
	if s.In != nil && f.parquet {
		return f, specErrorf("", "%s: a Parquet file is read from its end, which a pipe does not have", s.Path)
	}
	for _, ext := range []string{".gz", ".zst"} {
		if !f.parquet && s.In == nil && strings.HasSuffix(strings.ToLower(s.Path), ext) {
			f.compression = ext
		}
	}
	return f, nil
}

func formatOf(path string) (format, error) {
	var f format
	name := strings.ToLower(filepath.Base(path))
	for _, ext := range []string{".gz", ".zst"} {
		if cut, ok := strings.CutSuffix(name, ext); ok {
			name, f.compression = cut, ext
			break
		}
	}
	switch filepath.Ext(name) {
	case ".csv":
		return f, nil
	case ".tsv":
		f.tabs = true
		return f, nil
	case ".jsonl", ".ndjson":
		f.json = true
		return f, nil
	case ".parquet":
		if f.parquet = true; f.compression == "" { // Parquet compresses inside the file
			return f, nil
		}
	}
	return f, specErrorf("", "%s: what it holds cannot be told from its name; import reads .parquet, .csv, .tsv, .jsonl and .ndjson, and the last four also with .gz or .zst; as csv, as tsv, as jsonl or as parquet says it", path)
}

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
		return s, s.skipMark(path)
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
	if err := s.skipMark(path); err != nil {
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

// skipMark skips a UTF-8 byte order mark. It refuses UTF-16 and UTF-32 with a clear
// message; otherwise the errors would show strange field names.
func (s *source) skipMark(path string) error {
	head, err := s.text.Peek(1 << 12)
	if err != nil && !errors.Is(err, io.EOF) {
		return readError(path, 0, err)
	}
	if is := wideEncoding(head); is != "" {
		return fmt.Errorf("%s: the file is %s; convert it to UTF-8 first, as with iconv -f %s -t UTF-8", path, is, is)
	}
	if bytes.HasPrefix(head, []byte("\xef\xbb\xbf")) {
		_, err = s.text.Discard(3)
		return err
	}
	return nil
}

// wideEncoding is UTF-16 or UTF-32 if a text begins with its mark, or if zeros are where
// its characters of ASCII have them in the first line, as with UTF-16LE; "": it is neither.
func wideEncoding(head []byte) string {
	for _, mark := range []struct{ bytes, of string }{{"\xff\xfe\x00\x00", "UTF-32"}, {"\x00\x00\xfe\xff", "UTF-32"}, {"\xff\xfe", "UTF-16"}, {"\xfe\xff", "UTF-16"}} {
		if bytes.HasPrefix(head, []byte(mark.bytes)) {
			return mark.of
		}
	}
	if end := lineEnd(head); end >= 0 {
		head = head[:end]
	}
	var zeros [4]int // by their place in a character of UTF-32
	for i, b := range head {
		if b == 0 {
			zeros[i%4]++
		}
	}
	all := len(head) / 4
	switch even, odd := zeros[0]+zeros[2], zeros[1]+zeros[3]; {
	case all > 0 && zeros[3] >= all && 2*zeros[2] > all && 2*zeros[0] < all:
		return "UTF-32LE"
	case all > 0 && zeros[0] >= all && 2*zeros[1] > all && 2*zeros[3] < all:
		return "UTF-32BE"
	case odd > 0 && 4*odd >= len(head) && 3*even <= odd:
		return "UTF-16LE"
	case even > 0 && 4*even >= len(head) && 3*odd <= even:
		return "UTF-16BE"
	}
	return ""
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

// checkFile returns the size of the file, and whether it is a regular file, which can
// be read twice. It does not read the file.
func checkFile(path string, in io.Reader) (size int64, regular bool, err error) {
	if in != nil {
		return 0, false, nil
	}
	info, err := os.Stat(path)
	if err != nil {
		return 0, false, fileError(path, err)
	}
	if info.IsDir() {
		return 0, false, fmt.Errorf("%s: is a directory, not a file", path)
	}
	return info.Size(), info.Mode().IsRegular(), nil
}

// fileError returns an error of opening without the name of the system call.
func fileError(path string, err error) error {
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		err = pe.Err
	}
	return fmt.Errorf("%s: %w", path, err)
}

// readError returns an error in the middle of a file, after this number of whole lines.
func readError(path string, line int, err error) error {
	switch {
	case strings.HasSuffix(strings.ToLower(path), ".gz"):
		return unpackError(path, "gzip", line, err)
	case strings.HasSuffix(strings.ToLower(path), ".zst"):
		return unpackError(path, "zstd", line, err)
	}
	return fmt.Errorf("%s: cannot be read after line %d: %w", path, line, err)
}

func unpackError(path, name string, line int, err error) error {
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		return fileError(path, pe)
	}
	if line == 0 && !errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%s: is not %s data: %w", path, name, err)
	}
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return fmt.Errorf("%s: the %s data is cut off after line %d: %w", path, name, line, err)
	}
	return fmt.Errorf("%s: the %s data is damaged after line %d: %w", path, name, line, err)
}
