package parquetrows

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	meta "github.com/parquet-go/parquet-go/format"
)

// A pageSource is a column chunk of a file as it would be without compression:
// [parquet.FilePages] reads it from its first byte to its last. It takes each page
// from the file, compares it with its checksum where it has one, decompresses it,
// and gives it a header that says so.
//
// The library decompresses pages itself, but loses the result where a codec needs more
// room than the page takes, as its LZ4 does; it uses the codec of the first row group
// for all of them; it mistakes a truncated page for the end; and it reads booleans in
// runs wrongly.
type pageSource struct {
	in      *bufio.Reader
	decoder *thrift.Decoder
	left    *io.LimitedReader // the part of the chunk that is not read yet
	unpack  pageCodec         // nil: the pages are not compressed
	schema  *meta.SchemaElement
	rows    int64 // rows of the chunk after the pages read so far
	pages   int   // read so far
	packed  []byte
	plain   []byte
	pos     int64
	ready   [2][]byte // the unread rest of a page's header and data
	err     error
}

// newPageSource begins at the first page of a chunk, of a column that has one value
// or null in each row.
func newPageSource(file io.ReaderAt, size int64, schema *meta.SchemaElement, chunk *meta.ColumnChunk, rows int64) (*pageSource, error) {
	md := &chunk.MetaData
	unpack, known := pageCodecs[md.Codec]
	start := md.DataPageOffset
	if d := md.DictionaryPageOffset; d > 0 {
		start = min(start, d)
	}
	switch {
	case chunk.CryptoMetadata.Value != nil:
		return nil, errors.New("it is encrypted")
	case chunk.FilePath != "":
		return nil, fmt.Errorf("it is in another file, %s", quote(chunk.FilePath))
	case !known:
		return nil, fmt.Errorf("its compression %s is not supported; SNAPPY, GZIP, BROTLI, ZSTD, LZ4 and LZ4_RAW are", md.Codec)
	case start < 0 || md.TotalCompressedSize < 0 || start > size-md.TotalCompressedSize:
		return nil, fmt.Errorf("its %d bytes at %d are not in the file, which has %d", md.TotalCompressedSize, start, size)
	}
	s := &pageSource{schema: schema, rows: rows, unpack: unpack, left: &io.LimitedReader{R: io.NewSectionReader(file, start, md.TotalCompressedSize), N: md.TotalCompressedSize}}
	s.in = bufio.NewReaderSize(s.left, 1<<16)
	s.decoder = thrift.NewDecoder(new(thrift.CompactProtocol).NewReader(s.in))
	return s, nil
}

// ReadAt only supports sequential reads.
func (s *pageSource) ReadAt(p []byte, off int64) (int, error) {
	if off != s.pos && s.err == nil {
		s.err = errors.New("its dictionary does not come before its values")
	}
	for len(s.ready[0]) == 0 {
		if s.err != nil {
			return 0, s.err
		}
		if s.ready[0], s.ready[1] = s.ready[1], nil; len(s.ready[0]) == 0 {
			s.err = s.nextPage()
		}
	}
	n := copy(p, s.ready[0])
	s.ready[0] = s.ready[0][n:]
	s.pos += int64(n)
	return n, nil
}

// nextPage reads a page; the error is io.EOF at the end of the chunk.
func (s *pageSource) nextPage() error {
	if _, err := s.in.Peek(1); err != nil {
		return err
	}
	var h meta.PageHeader
	err := s.decoder.Decode(&h)
	if err == nil {
		err = s.readPage(&h)
	}
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return fmt.Errorf("page %d: %w", s.pages+1, err)
	}
	s.pages++
	return nil
}

func (s *pageSource) readPage(h *meta.PageHeader) error {
	size, most := int64(h.CompressedPageSize), s.left.N+int64(s.in.Buffered())
	if size < 0 || size > most || h.UncompressedPageSize < 0 {
		return fmt.Errorf("its header is damaged: it has %d bytes, %d decompressed, and %d are left", size, h.UncompressedPageSize, most)
	}
	s.packed = resized(s.packed, int(size))
	if _, err := io.ReadFull(s.in, s.packed); err != nil {
		return err
	}
	if sum := crc32.ChecksumIEEE(s.packed); h.CRC != 0 && sum != uint32(h.CRC) {
		return fmt.Errorf("its checksum is %08x, and its header says %08x: the data is damaged", sum, uint32(h.CRC))
	}
	if h.Type == meta.IndexPage {
		return nil
	}
	data, err := s.decompress(h)
	if err == nil {
		err = s.count(h, len(data))
	}
	if err == nil && s.schema.Type.V == meta.Boolean {
		data, err = plainBools(h, data, s.schema.RepetitionType.V == meta.Optional)
	}
	if err != nil {
		return err
	}
	h.CompressedPageSize, h.UncompressedPageSize, h.CRC = int32(len(data)), int32(len(data)), 0
	h.DataPageHeader.V.Statistics, h.DataPageHeaderV2.V.Statistics = meta.Statistics{}, meta.Statistics{}
	header, err := thrift.Marshal(new(thrift.CompactProtocol), h)
	s.ready = [2][]byte{header, data}
	return err
}

// count refuses a page that claims more values than it can have: the library
// allocates memory for them.
func (s *pageSource) count(h *meta.PageHeader, size int) error {
	values := int64(h.DataPageHeader.V.NumValues) + int64(h.DataPageHeaderV2.V.NumValues)
	s.rows -= values
	switch {
	case values < 0 || s.rows < 0:
		return errTooManyValues
	case int64(h.DictionaryPageHeader.V.NumValues) > 8*int64(size):
		return fmt.Errorf("its header is damaged: a dictionary of %d bytes has %d values", size, h.DictionaryPageHeader.V.NumValues)
	}
	return nil
}

func (s *pageSource) decompress(h *meta.PageHeader) ([]byte, error) {
	levels, v2 := 0, &h.DataPageHeaderV2
	if v2.Valid { // its levels precede the values, and are never compressed
		levels = int(v2.V.RepetitionLevelsByteLength) + int(v2.V.DefinitionLevelsByteLength)
		packed := !v2.V.IsCompressed.Valid || v2.V.IsCompressed.V
		v2.V.IsCompressed = thrift.New(false)
		if !packed {
			return s.packed, nil
		}
	}
	if s.unpack == nil {
		return s.packed, nil
	}
	size := int(h.UncompressedPageSize)
	if levels < 0 || levels > min(len(s.packed), size) {
		return nil, fmt.Errorf("its header is damaged: its levels have %d bytes", levels)
	}
	s.plain = resized(s.plain, size)
	copy(s.plain, s.packed[:levels])
	if levels == size { // without values some writers keep nothing to decompress
		return s.plain, nil
	}
	n, err := s.unpack(s.plain[levels:], s.packed[levels:])
	return s.plain[:levels+n], err
}

// resized is b with room for n bytes; what it held is lost.
func resized(b []byte, n int) []byte {
	if cap(b) < n {
		return make([]byte, n)
	}
	return b[:n]
}

// A plainLeaf is a column of values: what the file says of it, and a chunk that
// reads a [pageSource].
type plainLeaf struct {
	schema *meta.SchemaElement
	chunk  *parquet.FileColumnChunk
}

// plainLeaves are the leaf columns of a file. Their chunks are those of another
// file, which has one row group, no pages, and the columns of this one as what
// they are stored as.
func plainLeaves(schema []meta.SchemaElement) (leaves []plainLeaf, err error) {
	like := meta.FileMetaData{Version: 1, RowGroups: make([]meta.RowGroup, 1)}
	for i, e := range schema {
		e.LogicalType, e.ConvertedType = meta.LogicalType{}, thrift.Null[deprecated.ConvertedType]{}
		like.Schema = append(like.Schema, e)
		if e.Type.Valid {
			leaves = append(leaves, plainLeaf{schema: &schema[i]})
			like.RowGroups[0].Columns = append(like.RowGroups[0].Columns, meta.ColumnChunk{
				MetaData: meta.ColumnMetaData{Codec: meta.Uncompressed, TotalCompressedSize: math.MaxInt64},
			})
		}
	}
	footer, err := thrift.Marshal(new(thrift.CompactProtocol), &like)
	if err != nil {
		return nil, err
	}
	const magic = "PAR1"
	file := binary.LittleEndian.AppendUint32(append([]byte(magic), footer...), uint32(len(footer)))
	file = append(file, magic...)
	pf, err := parquet.OpenFile(bytes.NewReader(file), int64(len(file)), parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
	if err != nil {
		return nil, err
	}
	for i, chunk := range pf.RowGroups()[0].ColumnChunks() {
		leaves[i].chunk = chunk.(*parquet.FileColumnChunk)
	}
	return leaves, nil
}
