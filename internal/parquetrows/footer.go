package parquetrows

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

var errFooter = errors.New("its footer is damaged")

// checkFooter makes sure that no list and no text in a file's footer, a Thrift
// struct in the compact form, is longer than the footer. The library allocates as
// many elements as a list claims, which may end the process.
func checkFooter(file io.ReaderAt, size int64) error {
	const magic = 4 // bytes, at the beginning and the end
	var tail [4 + magic]byte
	if size < magic+int64(len(tail)) {
		return errors.New("it is too short")
	}
	if _, err := file.ReadAt(tail[:], size-int64(len(tail))); err != nil {
		return err
	}
	n := int64(binary.LittleEndian.Uint32(tail[:]))
	if n > size-magic-int64(len(tail)) {
		return fmt.Errorf("its footer has %d bytes, and the file %d", n, size)
	}
	footer := make([]byte, n)
	if _, err := file.ReadAt(footer, size-int64(len(tail))-n); err != nil {
		return err
	}
	w := thriftWalk{rest: footer}
	w.value(thriftStruct, 0)
	return w.err
}

// The types of Thrift's compact form that more than one place knows.
const (
	thriftTrue, thriftFalse = 1, 2
	thriftStruct            = 12
	thriftDepth             = 64 // structs in structs; those of Parquet have fewer
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
	default: // a map and a UUID; Parquet has neither
		w.err = errFooter
	}
}

func (w *thriftWalk) list(depth int) {
	head := w.take(1)
	n := uint64(head >> 4)
	if n == 15 {
		n = w.number()
	}
	if n > uint64(len(w.rest)) { // an element has a byte at least
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
