package wal

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/smolwc/smolwc/cf"
)

// A Reader reads the records of one log of writes, also while the log is being written.
type Reader struct {
	Number uint64 // of the log, for errors
	Layout Layout
	// Read reads existing bytes of the log from an offset on. It returns 0 at the end.
	Read func(at int64, to []byte) (int, error)
	At   int64 // the offset of the next record

	End uint64 // the sequence number after the last record that was read; 0 before the first record
	Cut bool   // the log ends with bytes that are not a whole record

	begin   int64  // of the last fragment
	chunk   []byte // of the file, from chunkAt on
	chunkAt int64
}

// logChunk is the largest number of bytes that are read at once. A reader begins with
// one block.
const logChunk = 16 * BlockSize

// ErrEnd says that there is no further whole record now.
var ErrEnd = errors.New("the end of the log")

// Next returns the next record in new memory. At the end of the log the error is
// ErrEnd, and a later call tries again.
func (r *Reader) Next() ([]byte, error) {
	var record []byte
	at, within := r.At, false
	for {
		kind, data, end, err := r.fragment(at)
		if err != nil {
			r.Cut = r.Cut || within
			return nil, err
		}
		at = end
		switch {
		case kind >= ignorable || kind == userTimestamps:
			continue
		case kind == FullRecord && !within, kind == LastFragment && within:
			r.At = at
			return append(record, data...), nil
		case kind == FirstFragment && !within, kind == MiddleFragment && within:
			record, within = append(record, data...), true
		case kind == FullRecord || kind == FirstFragment:
			// The record before was never completed: its writer died, or the write
			// failed.
			r.At, record, within = r.begin, nil, false
			at = r.At
		default:
			return nil, r.Damaged(at, fmt.Sprintf("a record of type %d, which does not belong there", kind))
		}
	}
}

// Head is the head of the next record.
func (r *Reader) Head() (h Head, err error) {
	data, err := r.Peek(RepHeader)
	if err != nil {
		return h, err
	}
	return ParseHead(data)
}

// Peek is the beginning of the next record, n bytes unless the record is shorter. The record
// may not be written to its end yet.
func (r *Reader) Peek(n int) (record []byte, err error) {
	for at := r.At; ; {
		kind, data, end, err := r.fragment(at)
		if err != nil {
			return nil, err
		}
		if at = end; kind >= ignorable || kind == userTimestamps {
			continue
		}
		record = append(record, data[:min(len(data), n-len(record))]...)
		if len(record) == n || kind == FullRecord || kind == LastFragment {
			return record, nil
		}
	}
}

// Later versions of RocksDB also write records of these types, which have no changes.
const (
	userTimestamps = 10
	ignorable      = 128
)

// fragment is the physical record at an offset, or after the zeros that end a block
// there. The data is valid until the next call.
func (r *Reader) fragment(at int64) (kind byte, data []byte, end int64, err error) {
	if rest := BlockSize - int(at%BlockSize); rest < r.Layout.longest() {
		none := rest < HeaderSize
		if !none { // a log of Pebble may have records with shorter headers
			b, _, err := r.block(at, false)
			if err != nil {
				return 0, nil, 0, err
			}
			none = Zeros(b)
		}
		if none {
			at += int64(rest)
		}
	}
	for again := false; ; again = true {
		b, fresh, err := r.block(at, again)
		if err != nil {
			return 0, nil, 0, err
		}
		n, fault := r.Layout.record(b)
		switch {
		case fault == nil:
			r.begin = at
			return r.Layout.plain(b[6]), b[r.Layout.header(b[6]):n], at + int64(n), nil
		case errors.Is(fault, errEnded):
			return 0, nil, 0, ErrEnd
		case !fresh: // more of it may have been written meanwhile
		case errors.Is(fault, ErrChecksum) && !again: // it may be written just now
		case errors.Is(fault, ErrChecksum):
			return 0, nil, 0, r.Damaged(at, fault.Error())
		default:
			r.Cut = !Zeros(b)
			return 0, nil, 0, ErrEnd
		}
	}
}

// block is the existing part of a block from an offset on, and whether it was read just
// now. With again, it is.
func (r *Reader) block(at int64, again bool) (b []byte, fresh bool, err error) {
	end := at - at%BlockSize + BlockSize
	if fresh = again || at < r.chunkAt || at >= r.chunkAt+int64(len(r.chunk)); fresh {
		if size := min(2*cap(r.chunk), logChunk); r.chunk == nil {
			r.chunk = make([]byte, BlockSize)
		} else if len(r.chunk) == cap(r.chunk) && size > cap(r.chunk) { // there is more
			r.chunk = make([]byte, size)
		}
		r.chunkAt = at
		n, err := r.Read(r.chunkAt, r.chunk[:cap(r.chunk)])
		r.chunk = r.chunk[:n]
		if err != nil {
			return nil, true, err
		}
	}
	from, to := at-r.chunkAt, min(end-r.chunkAt, int64(len(r.chunk)))
	return r.chunk[min(from, to):to], fresh, nil
}

// Damaged is the error for a log that is damaged at an offset.
func (r *Reader) Damaged(at int64, what string) error {
	return fmt.Errorf("%w: %06d.log, at byte %d: %s", cf.ErrCorrupt, r.Number, at, what)
}

// A Head is the beginning of a record of the log of writes.
type Head struct {
	First uint64 // the sequence number of its first change
	Count uint64 // the number of its changes; notes do not count
}

// End is the sequence number of the first change after the record.
func (h Head) End() uint64 { return h.First + h.Count }

// ParseHead decodes the head of a record of the log of writes.
func ParseHead(record []byte) (h Head, err error) {
	if len(record) < RepHeader {
		return h, fmt.Errorf("%w: a record of %d bytes in the log", cf.ErrCorrupt, len(record))
	}
	return Head{binary.LittleEndian.Uint64(record), uint64(binary.LittleEndian.Uint32(record[8:]))}, nil
}
