package parquetrows

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math/bits"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	meta "github.com/parquet-go/parquet-go/format"
)

// A pageSource reads the pages of a column chunk from its first byte to its last. It
// compares each page with its checksum, if there is one, and decompresses it.
//
// It does not use the library's pages: that library loses values where a codec needs more
// room than the page takes, uses the codec of the first row group for all of them, reads
// booleans in runs wrongly, and takes an earlier page's remains in its buffers for the
// values that a damaged page does not have.
type pageSource struct {
	in         *bufio.Reader
	decoder    *thrift.Decoder
	left       *io.LimitedReader // the part of the chunk that is not read yet
	unpack     pageCodec         // nil: the pages are not compressed
	leaf       *leaf
	values     int64 // values and nulls of the chunk after the pages read so far
	pages      int   // read so far
	slack      int64 // bytes after the chunk as its size says that may belong to it
	packed     []byte
	plain      []byte
	dictionary []value
	// mostChecked is the size of a page, in bytes, beyond which the chunk is not read; 0:
	// any page is read.
	mostChecked int32
}

// A pageHeader is the parts of a page's header that its values need.
type pageHeader struct {
	Type             meta.PageType                     `thrift:"1,required"`
	UncompressedSize int32                             `thrift:"2,required"`
	CompressedSize   int32                             `thrift:"3,required"`
	CRC              thrift.Null[int32]                `thrift:"4,optional"`
	V1               thrift.Null[dataPageHeader]       `thrift:"5,optional"`
	Dictionary       thrift.Null[dictionaryPageHeader] `thrift:"7,optional"`
	V2               thrift.Null[dataPageHeaderV2]     `thrift:"8,optional"`
}

type dataPageHeader struct {
	NumValues int32         `thrift:"1,required"`
	Encoding  meta.Encoding `thrift:"2,required"`
	Def       meta.Encoding `thrift:"3,required"`
	Rep       meta.Encoding `thrift:"4,required"`
}

type dictionaryPageHeader struct {
	NumValues int32         `thrift:"1,required"`
	Encoding  meta.Encoding `thrift:"2,required"`
}

type dataPageHeaderV2 struct {
	NumValues    int32             `thrift:"1,required"`
	Encoding     meta.Encoding     `thrift:"4,required"`
	DefSize      int32             `thrift:"5,required"`
	RepSize      int32             `thrift:"6,required"`
	IsCompressed thrift.Null[bool] `thrift:"7,optional"`
}

// newPageSource begins at the first page of a chunk with this number of rows.
func newPageSource(file io.ReaderAt, size int64, leaf *leaf, chunk *columnChunk, rows int64) (*pageSource, error) {
	md := &chunk.MetaData
	unpack, known := pageCodecs[md.Codec]
	start := md.DataPageOffset
	if d := md.DictionaryPageOffset; d > 0 {
		start = min(start, d)
	}
	switch {
	case chunk.Crypto.Value != nil:
		return nil, errors.New("it is encrypted")
	case chunk.FilePath != "":
		return nil, fmt.Errorf("it is in another file, %s", quote(chunk.FilePath))
	case !known:
		return nil, fmt.Errorf("its compression %s is not supported; SNAPPY, GZIP, BROTLI, ZSTD, LZ4 and LZ4_RAW are", md.Codec)
	case start < 0 || md.TotalCompressedSize < 0 || start > size-md.TotalCompressedSize:
		return nil, fmt.Errorf("its %d bytes at %d are not in the file, which has %d", md.TotalCompressedSize, start, size)
	}
	s := &pageSource{leaf: leaf, values: rows, unpack: unpack, left: &io.LimitedReader{R: io.NewSectionReader(file, start, size-start), N: md.TotalCompressedSize}}
	if leaf.maxRep > 0 { // a row may have several
		s.values = md.NumValues
	}
	s.in = bufio.NewReaderSize(s.left, 1<<16)
	s.decoder = thrift.NewDecoder(new(thrift.CompactProtocol).NewReader(s.in))
	return s, nil
}

// rest is the number of bytes of the chunk that are not read yet.
func (s *pageSource) rest() int64 { return s.left.N + int64(s.in.Buffered()) }

// next reads the next page of values, which is good until the one after it; the error is
// io.EOF at the end of the chunk.
func (s *pageSource) next() (*page, error) {
	for {
		if s.values == 0 && s.rest() <= s.slack {
			return nil, io.EOF
		}
		if _, err := s.in.Peek(1); err != nil {
			return nil, err
		}
		p, err := s.read()
		switch {
		case err == errUnchecked:
			return nil, err
		case err == io.EOF:
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return nil, fmt.Errorf("page %d: %w", s.pages+1, err)
		}
		s.pages++
		if p != nil {
			return p, nil
		}
	}
}

// read reads a page; it is nil if no values of rows are in it.
func (s *pageSource) read() (*page, error) {
	before := s.rest()
	var h pageHeader
	if err := s.decoder.Decode(&h); err != nil {
		return nil, err
	}
	size, most := int64(h.CompressedSize), s.rest()
	if size < 0 || size > most || h.UncompressedSize < 0 {
		return nil, fmt.Errorf("its header is damaged: it has %d bytes, %d decompressed, and %d are left", size, h.UncompressedSize, most)
	}
	if s.mostChecked > 0 && h.UncompressedSize > s.mostChecked {
		return nil, errUnchecked
	}
	s.packed = resized(s.packed, int(size))
	if _, err := io.ReadFull(s.in, s.packed); err != nil {
		return nil, err
	}
	if sum := crc32.ChecksumIEEE(s.packed); h.CRC.Valid && sum != uint32(h.CRC.V) {
		return nil, fmt.Errorf("its checksum is %08x, and its header says %08x: the data is damaged", sum, uint32(h.CRC.V))
	}
	switch {
	case h.Type == meta.DictionaryPage && h.Dictionary.Valid:
		s.slack = before - most // some writers do not count this header in the size of the chunk
		s.left.N += s.slack
		return nil, s.readDictionary(&h)
	case h.Type == meta.DataPage && h.V1.Valid:
		return s.readV1(&h)
	case h.Type == meta.DataPageV2 && h.V2.Valid:
		return s.readV2(&h)
	case h.Type == meta.IndexPage:
		return nil, nil
	}
	return nil, fmt.Errorf("its header is damaged: it is of type %s", h.Type)
}

func (s *pageSource) readDictionary(h *pageHeader) error {
	data, err := s.decompress(0, int(h.UncompressedSize), true)
	if err != nil {
		return err
	}
	n, encoding := int64(h.Dictionary.V.NumValues), h.Dictionary.V.Encoding
	switch {
	case n < 0 || n > 8*int64(len(data)):
		return fmt.Errorf("its header is damaged: a dictionary of %d bytes has %d values", len(data), n)
	//lint:ignore SA1019 files of the first version have it
	case encoding != meta.Plain && encoding != meta.PlainDictionary:
		return fmt.Errorf("its encoding %s is not supported for a dictionary", encoding)
	case s.dictionary != nil:
		return errors.New("it is a second dictionary")
	}
	values := s.leaf.plain(bytes.Clone(data))
	s.dictionary = make([]value, n)
	for i := range s.dictionary {
		if s.dictionary[i], err = values.next(); err != nil {
			return err
		}
	}
	return nil
}

func (s *pageSource) readV1(h *pageHeader) (*page, error) {
	data, err := s.decompress(0, int(h.UncompressedSize), true)
	if err != nil {
		return nil, err
	}
	v := &h.V1.V
	rep, def := levels{v.Rep, s.leaf.maxRep, nil}, levels{v.Def, s.leaf.maxDef, nil}
	for _, l := range []*levels{&rep, &def} {
		if data, err = l.cut(data, int(v.NumValues)); err != nil {
			return nil, err
		}
	}
	return s.page(int(v.NumValues), rep, def, v.Encoding, data)
}

func (s *pageSource) readV2(h *pageHeader) (*page, error) {
	v := &h.V2.V
	rep, def := int64(v.RepSize), int64(v.DefSize)
	if rep < 0 || def < 0 || rep+def > int64(min(len(s.packed), int(h.UncompressedSize))) {
		return nil, fmt.Errorf("its header is damaged: its levels have %d and %d bytes", rep, def)
	}
	data, err := s.decompress(int(rep+def), int(h.UncompressedSize), !v.IsCompressed.Valid || v.IsCompressed.V)
	if err != nil {
		return nil, err
	}
	return s.page(int(v.NumValues), levels{meta.RLE, s.leaf.maxRep, data[:rep]}, levels{meta.RLE, s.leaf.maxDef, data[rep : rep+def]}, v.Encoding, data[rep+def:])
}

// page makes a page of this number of values and nulls. It refuses more than are left in
// the chunk. It reads all definition levels, which say how many values are not null.
func (s *pageSource) page(values int, rep, def levels, encoding meta.Encoding, data []byte) (*page, error) {
	if s.values -= int64(values); values < 0 || s.values < 0 {
		return nil, errTooManyValues
	}
	p := &page{left: values, rep: rep.decoder(), def: def.decoder()}
	n := values
	if all := def.decoder(); all != nil {
		n = 0
		for range values {
			level, err := all.next()
			if err != nil {
				return nil, fmt.Errorf("its definition levels: %w", err)
			}
			if level.bits == uint64(def.highest) {
				n++
			}
		}
	}
	var err error
	p.values, err = s.leaf.decoderOf(encoding, data, n, s.dictionary)
	return p, err
}

// levels are the repetition or the definition levels of a page.
type levels struct {
	encoding meta.Encoding
	highest  int
	data     []byte
}

// cut takes the levels of n values from the beginning of a page of version 1, and returns
// the rest.
func (l *levels) cut(page []byte, n int) (rest []byte, err error) {
	var from, to uint64
	switch {
	case l.highest == 0:
		return page, nil
	case l.encoding == meta.BitPacked:
		to = (uint64(n)*uint64(l.width()) + 7) / 8
	case l.encoding != meta.RLE:
		return nil, fmt.Errorf("the encoding %s of its levels is not supported", l.encoding)
	case len(page) < 4:
		return nil, errShort
	default:
		from = 4
		to = from + uint64(binary.LittleEndian.Uint32(page))
	}
	if to > uint64(len(page)) {
		return nil, errShort
	}
	l.data = page[from:to]
	return page[to:], nil
}

func (l *levels) width() int { return bits.Len(uint(l.highest)) }

// decoder gives the levels; nil: all are 0.
func (l *levels) decoder() decoder {
	switch {
	case l.highest == 0:
		return nil
	case l.encoding == meta.BitPacked:
		return &oldLevels{src: l.data, width: l.width()}
	}
	return &runs{src: l.data, width: l.width()}
}

// decompress returns the page that was read, of this size, after levels that are never
// compressed.
func (s *pageSource) decompress(levels, size int, packed bool) ([]byte, error) {
	if !packed || s.unpack == nil {
		return s.packed, nil
	}
	s.plain = resized(s.plain, size)
	copy(s.plain, s.packed[:levels])
	if levels == size { // without values some writers keep nothing to decompress
		return s.plain, nil
	}
	n, err := s.unpack(s.plain[levels:], s.packed[levels:])
	return s.plain[:levels+n], err
}

// resized is b with room for n bytes; its contents are lost.
func resized(b []byte, n int) []byte {
	if cap(b) < n {
		return make([]byte, n)
	}
	return b[:n]
}

// A page holds the values and nulls of some rows.
type page struct {
	left     int     // values and nulls that were not read
	rep, def decoder // the levels; nil: all are 0
	values   decoder // those that are not null
}
