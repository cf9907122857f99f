package parquetrows

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	meta "github.com/parquet-go/parquet-go/format"
)

// A footer is the parts of a file's metadata that its rows need. Others are passed over,
// so that their mistakes do not matter.
type footer struct {
	Schema    thrift.Slice[meta.SchemaElement] `thrift:"2,required"`
	RowGroups thrift.Slice[rowGroup]           `thrift:"4,required"`
}

type rowGroup struct {
	Columns thrift.Slice[columnChunk] `thrift:"1,required"`
	NumRows int64                     `thrift:"3,required"`
}

type columnChunk struct {
	FilePath string                    `thrift:"1,optional"`
	MetaData columnMeta                `thrift:"3,optional"`
	Crypto   meta.ColumnCryptoMetaData `thrift:"8,optional"`
}

type columnMeta struct {
	Codec                meta.CompressionCodec `thrift:"4,required"`
	NumValues            int64                 `thrift:"5,required"`
	TotalCompressedSize  int64                 `thrift:"7,required"`
	DataPageOffset       int64                 `thrift:"9,required"`
	DictionaryPageOffset int64                 `thrift:"11,optional"`
}

var errFooter = errors.New("its footer is damaged")

// readFooter reads a file's metadata, a Thrift struct in the compact form. It makes sure
// that no list and no text in it is longer than the footer: the decoder allocates as many
// elements as a list claims, which may end the process.
func readFooter(file io.ReaderAt, size int64) (*footer, error) {
	const magic = 4 // bytes, at the beginning and the end
	var tail [4 + magic]byte
	if size < magic+int64(len(tail)) {
		return nil, errors.New("it is too short")
	}
	if _, err := file.ReadAt(tail[:], size-int64(len(tail))); err != nil {
		return nil, err
	}
	switch string(tail[4:]) {
	case "PAR1":
	case "PARE":
		return nil, errors.New("its footer is encrypted")
	default:
		return nil, fmt.Errorf("it ends in %q and not in PAR1", tail[4:])
	}
	n := int64(binary.LittleEndian.Uint32(tail[:]))
	if n > size-magic-int64(len(tail)) {
		return nil, fmt.Errorf("its footer has %d bytes, and the file %d", n, size)
	}
	text := make([]byte, n)
	if _, err := file.ReadAt(text, size-int64(len(tail))-n); err != nil {
		return nil, err
	}
	w := thriftWalk{rest: text}
	if w.value(thriftStruct, 0); w.err != nil {
		return nil, w.err
	}
	f := new(footer)
	if err := thrift.Unmarshal(new(thrift.CompactProtocol), text, f); err != nil {
		return nil, fmt.Errorf("%w: %w", errFooter, err)
	}
	return f, nil
}

// The types of Thrift's compact form that more than one place knows.
const (
	thriftTrue, thriftFalse = 1, 2
	thriftStruct            = 12
	thriftDepth             = 64 // structs in structs; Parquet's are fewer
)

// A thriftWalk walks over a value and keeps nothing of it.
type thriftWalk struct {
	rest []byte
	err  error
}

// take passes over n bytes, and returns the first.
func (w *thriftWalk) take(n uint64) byte {
	if n > uint64(len(w.rest)) || w.err != nil {
		w.err, w.rest = errFooter, nil
		return 0
	}
	var first byte
	if n > 0 {
		first = w.rest[0]
	}
	w.rest = w.rest[n:]
	return first
}

func (w *thriftWalk) number() uint64 {
	n, width := binary.Uvarint(w.rest)
	if width <= 0 {
		w.err = errFooter
	}
	w.take(uint64(max(width, 0)))
	return n
}

// value passes over a value of a type outside of structs.
func (w *thriftWalk) value(typ byte, depth int) {
	switch typ {
	case thriftTrue, thriftFalse, 3: // a byte
		w.take(1)
	case 4, 5, 6: // whole numbers
		w.number()
	case 7: // double
		w.take(8)
	case 8: // binary
		w.take(w.number())
	case 9, 10: // list and set
		w.list(depth)
	case thriftStruct:
		w.fields(depth)
	default: // a map and a UUID; Parquet uses neither
		w.err = errFooter
	}
}

func (w *thriftWalk) list(depth int) {
	head := w.take(1)
	n := uint64(head >> 4)
	if n == 15 {
		n = w.number()
	}
	if n > uint64(len(w.rest)) { // an element is a byte at least
		w.err = errFooter
	}
	for ; n > 0 && w.err == nil; n-- {
		w.value(head&15, depth)
	}
}

func (w *thriftWalk) fields(depth int) {
	if depth == thriftDepth {
		w.err = errFooter
	}
	for w.err == nil {
		head := w.take(1)
		if head == 0 {
			return
		}
		if head>>4 == 0 { // the number of the field, or how many it is after the one before
			w.number()
		}
		if typ := head & 15; typ != thriftTrue && typ != thriftFalse {
			w.value(typ, depth+1)
		}
	}
}
