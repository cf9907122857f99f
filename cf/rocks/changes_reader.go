//go:build cgo

package rocks

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/smolwc/smolwc/cf"
)

// A logReader reads the records of one log, as [checkLog] describes it, while it
// is written and when it is done.
type logReader struct {
	number uint64
	read   func(at int64, to []byte) (int, error)
	at     int64 // where the next record begins

	end uint64 // the number of the first change behind the records that were read; 0 before the first
	cut bool   // at the end of the log there is something, and it is no whole record

	chunk   []byte // of the file, from chunkAt on
	chunkAt int64
}

// logChunk is how much is read at once, in the end: a reading begins with a block.
const logChunk = 16 * logBlock

// errLogEnd: there is no further whole record now.
var errLogEnd = errors.New("the end of the log")

// next is the next record, in memory of its own. Where the log ends, or is yet to
// be written, it is errLogEnd, and a later call tries again.
func (r *logReader) next() ([]byte, error) {
	var record []byte
	at, within := r.at, false
	for {
		kind, data, end, err := r.fragment(at)
		if err != nil {
			r.cut = r.cut || within
			return nil, err
		}
		at = end
		switch {
		case kind >= ignorable || kind == userTimestamps:
			continue
		case kind == fullRecord && !within, kind == lastFragment && within:
			r.at = at
			return append(record, data...), nil
		case kind == firstFragment && !within, kind == middleFragment && within:
			record, within = append(record, data...), true
		case kind == fullRecord || kind == firstFragment:
			// What was begun was never ended: its writer died, or failed.
			r.at, record, within = end-int64(logHeader+len(data)), nil, false
			at = r.at
		default:
			return nil, r.damaged(at, fmt.Sprintf("a record of type %d, which does not belong there", kind))
		}
	}
}

// head is that of the first record.
func (r *logReader) head() (h logRecordHead, err error) {
	for at := int64(0); ; {
		kind, data, end, err := r.fragment(at)
		if err != nil {
			return h, err
		}
		if kind < ignorable && kind != userTimestamps {
			return parseHead(data)
		}
		at = end
	}
}

// These are types of records that later versions of RocksDB write among the
// others, and that say nothing of the data.
const (
	userTimestamps = 10
	ignorable      = 128
)

// fragment is the physical record at a place, or behind the zeros that end a
// block. The data are valid until the next call.
func (r *logReader) fragment(at int64) (kind byte, data []byte, end int64, err error) {
	if rest := logBlock - int(at%logBlock); rest < logHeader {
		at += int64(rest)
	}
	for again := false; ; again = true {
		b, err := r.block(at, again)
		if err != nil {
			return 0, nil, 0, err
		}
		n, fault := logRecord(b)
		switch {
		case fault == nil:
			return b[6], b[logHeader:n], at + int64(n), nil
		case !again: // more of it may have been written
		case errors.Is(fault, errChecksum):
			return 0, nil, 0, r.damaged(at, fault.Error())
		default:
			r.cut = !zeros(b)
			return 0, nil, 0, errLogEnd
		}
	}
}

// block is what there is of a block from a place on.
func (r *logReader) block(at int64, fresh bool) ([]byte, error) {
	begin := at - at%logBlock
	if fresh || at < r.chunkAt || at >= r.chunkAt+int64(len(r.chunk)) {
		if size := min(2*cap(r.chunk), logChunk); r.chunk == nil {
			r.chunk = make([]byte, logBlock)
		} else if !fresh && size > cap(r.chunk) { // it is read on and on
			r.chunk = make([]byte, size)
		}
		r.chunkAt = begin
		n, err := r.read(r.chunkAt, r.chunk[:cap(r.chunk)])
		r.chunk = r.chunk[:n]
		if err != nil {
			return nil, err
		}
	}
	from, to := at-r.chunkAt, min(begin+logBlock-r.chunkAt, int64(len(r.chunk)))
	return r.chunk[min(from, to):to], nil
}

func (r *logReader) damaged(at int64, what string) error {
	return fmt.Errorf("%w: %06d.log, at byte %d: %s", cf.ErrCorrupt, r.number, at, what)
}

// A logRecordHead is what a record of the log of writes begins with.
type logRecordHead struct {
	first uint64 // the number of its first change
	count uint64 // how many it has; notes do not count
}

// end is the number of the first change behind the record.
func (h logRecordHead) end() uint64 { return h.first + h.count }

func parseHead(record []byte) (h logRecordHead, err error) {
	if len(record) < repHeader {
		return h, fmt.Errorf("%w: a record of %d bytes in the log", cf.ErrCorrupt, len(record))
	}
	return logRecordHead{binary.LittleEndian.Uint64(record), uint64(binary.LittleEndian.Uint32(record[8:]))}, nil
}
