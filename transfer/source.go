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
	live        bool   // a pipe, whose text comes when it is written
	encoding    string // one of Encodings; "": UTF-8, or what a mark says
}

// format is the format of the file: that of the spec, or that of the name.
func (s *Spec) format() (f format, err error) {
	path := s.paths()[0]
	switch {
	case s.Format == "" && s.In != nil:
		return format{}, specErrorf("", "%s: its format has to be given: as csv, as tsv or as jsonl", s.Path)
	case s.Format == "":
		if f, err = formatOf(path); err != nil {
			return f, err
		}
	default:
		if f, err = formatOf("x." + s.Format); err != nil {
			return f, specErrorf("", "there is no format %s; import reads csv, tsv, jsonl and parquet", quote(s.Format))
		}
	}
	if f.encoding = s.Encoding; f.parquet && s.Encoding != "" {
		return f, specErrorf("encoding", "a Parquet file has no encoding of its text")
	}
	if s.In != nil && f.parquet {
		return f, specErrorf("", "%s: a Parquet file is read from its end, which a pipe does not have", s.Path)
	}
	return f.of(path, s.In), nil
}

// of is the format of one file.
func (f format) of(path string, in io.Reader) format {
	f.compression, f.live = "", in != nil
	if info, err := os.Stat(path); in == nil && err == nil {
		f.live = !info.Mode().IsRegular()
	}
	for _, ext := range []string{".gz", ".zst"} {
		if !f.parquet && in == nil && strings.HasSuffix(strings.ToLower(path), ext) {
			f.compression = ext
		}
	}
	return f
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

// find finds the files of a pattern, in the order of their names. A file with the name of
// the pattern is itself.
func (s *Spec) find() error {
	s.files = []string{s.Path}
	if s.In != nil || !strings.ContainsAny(s.Path, "*?[") {
		return nil
	}
	if _, err := os.Stat(s.Path); err == nil {
		return nil
	}
	found, err := filepath.Glob(s.Path)
	if err != nil {
		return specErrorf("", "%s is no pattern of file names; * is any text, ? any character, [ab] one of them", quote(s.Path))
	}
	if len(found) == 0 {
		return specErrorf("", "%s: no file has such a name", s.Path)
	}
	s.files = found
	return nil
}

// paths are the files, at least one.
func (s *Spec) paths() []string {
	if len(s.files) == 0 {
		return []string{s.Path}
	}
	return s.files
}

// The lines of several files are numbered through: those of the second begin at fileLines.
const fileLines = 1 << 40

// place names a line of the files.
func (s *Spec) place(line int) (path string, of int) {
	return s.paths()[line/fileLines], line % fileLines
}

// placed is a line in a message about another one of the same import.
func (s *Spec) placed(line int) string {
	path, of := s.place(line)
	if len(s.paths()) == 1 {
		return fmt.Sprintf("line %d", of)
	}
	return fmt.Sprintf("%s:%d", path, of)
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

// decode reads other encodings as UTF-8. A byte order mark says UTF-8 or UTF-16. What has
// no mark and looks like UTF-16 or UTF-32 is refused with a clear message; otherwise the
// errors would show strange field names.
func (s *source) decode(path, encoding string) error {
	head, err := s.text.Peek(1 << 12)
	if err != nil && !errors.Is(err, io.EOF) {
		return readError(path, 0, err)
	}
	is := wideEncoding(head)
	for _, m := range marks {
		if !bytes.HasPrefix(head, []byte(m.bytes)) {
			continue
		}
		if is == "UTF-32" {
			break
		}
		if encoding != "" && encoding != m.encoding {
			return specErrorf("encoding", "%s: it begins with the mark of %s", path, m.encoding)
		}
		encoding, is = m.encoding, ""
		_, _ = s.text.Discard(len(m.bytes)) // they are in its buffer
		break
	}
	switch {
	case strings.HasPrefix(is, "UTF-16") && encoding == "":
		return fmt.Errorf("%s: the file is %s; encoding=%s reads it", path, is, strings.ToLower(is))
	case strings.HasPrefix(is, "UTF-32"):
		return fmt.Errorf("%s: the file is %s; convert it to UTF-8 first, as with iconv -f %s -t UTF-8", path, is, is)
	}
	s.text = decoded(s.text, encoding)
	return nil
}

// marks are the byte order marks of the encodings.
var marks = [...]struct{ bytes, encoding string }{{"\xef\xbb\xbf", "utf-8"}, {"\xff\xfe", "utf-16le"}, {"\xfe\xff", "utf-16be"}}

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

// checkFiles returns the size of the files, and whether all are regular files, which can
// be read twice. It does not read them.
func (s *Spec) checkFiles() (size int64, regular bool, err error) {
	if s.In != nil {
		return 0, false, nil
	}
	regular = true
	for _, path := range s.paths() {
		n, is, err := checkFile(path)
		if err != nil {
			return 0, false, err
		}
		size += n
		regular = regular && is
	}
	return size, regular, nil
}

func checkFile(path string) (size int64, regular bool, err error) {
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
