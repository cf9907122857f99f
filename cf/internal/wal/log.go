// Package wal reads the logs of writes and the manifests of RocksDB and Pebble without
// them: [State.Check] distinguishes a file that a crash cut off from a damaged one, a
// [Reader] reads a log while it is written, and [ParseRecord] takes commits out of the
// records of RocksDB.
package wal

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/smolwc/smolwc/cf"
)

// A log of writes or a manifest consists of blocks of BlockSize bytes; the last block may
// be shorter. A block holds whole records, and after them zero bytes, fewer than a header.
// A record is a checksum of 4 bytes, the length of its data in 2 bytes, a type of 1 byte,
// and the data (RocksDB's db/log_format.h, stable since 2011).
const (
	BlockSize  = 32 << 10
	HeaderSize = 7

	// Records of these types have the log's number after the header. They are in files
	// that RocksDB uses again, which smolwc never allows.
	firstRecycled, lastRecycled = 5, 8
	logNumberLen                = 4

	// Records of these types, in the logs of Pebble, have the log's number and the number
	// of bytes of the log that were synced before (record/record.go of Pebble 2).
	firstSyncing, lastSyncing = 9, 12
	syncedLen                 = 8
)

// A Layout is the form of the records in an engine's logs of writes. The manifests of both
// engines have RocksDB's.
type Layout byte

// The layouts.
const (
	RocksDB Layout = iota
	Pebble
)

// header is the length of the header of records of a type.
func (l Layout) header(kind byte) int {
	switch {
	case kind >= firstRecycled && kind <= lastRecycled && l == Pebble:
		return HeaderSize + logNumberLen
	case kind >= firstSyncing && kind <= lastSyncing && l == Pebble:
		return HeaderSize + logNumberLen + syncedLen
	}
	return HeaderSize
}

// longest is the length of the longest header. Zeros fill the end of a block that is too
// short for it.
func (l Layout) longest() int {
	if l == Pebble {
		return HeaderSize + logNumberLen + syncedLen
	}
	return HeaderSize
}

// plain is the type without its header's flags.
func (l Layout) plain(kind byte) byte {
	switch {
	case kind >= firstSyncing && kind <= lastSyncing && l == Pebble:
		return kind - firstSyncing + FullRecord
	case kind >= firstRecycled && kind <= lastRecycled && l == Pebble:
		return kind - firstRecycled + FullRecord
	}
	return kind
}

// The types of records: a whole record, or a fragment of a larger one.
const (
	FullRecord = iota + 1
	FirstFragment
	MiddleFragment
	LastFragment
)

// A State describes a log that is not damaged.
type State struct {
	Path    string
	Layout  Layout
	Size    int64
	Records int  // the number of whole records
	Torn    bool // its last record was not fully written
	// Unwritten is the offset of zeros that a loss of power left in a torn record; -1
	// if the file just ends in the record.
	Unwritten int64
	Begin     int64 // the offset of the record that is being read
	// Synced is the number of bytes that are known to have been synced, -1 if unknown.
	Synced int64

	// First is the sequence number of the log's first change, and Next is one past its
	// last change. In a log of writes the data of a record begins with the sequence number
	// of its first change in 8 bytes, and the number of changes in 4.
	First, Next uint64
	Loading     bool   // the last record is the marker of a load
	Marker      string // the prefix of the keys of such markers

	// If Take is not nil it gets each record; First and Next are not set then.
	Take func(record []byte)

	at     int64  // the offset of the block that is being read
	data   []byte // the fragments of the current record, or only their beginning
	within bool
}

// writeHead is the number of bytes of a record of writes that are kept: its head and
// the first key.
const writeHead = 64

// readAhead is how many bytes of a log are read at once. There may be many small logs.
const readAhead = 1 << 20

// Check reads a log of RocksDB's writes. An error of the kind ErrCorrupt means that the
// log is damaged before its end. marker is the prefix of the keys of markers of loads.
func Check(path, marker string) (State, error) {
	state := State{Path: path, Unwritten: -1, Synced: -1, Marker: marker}
	err := state.Check()
	return state, err
}

// Check reads the log at Path, as the function does.
func (l *State) Check() error {
	f, err := os.Open(l.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err != nil {
		return fmt.Errorf("%w: %w", cf.ErrUnavailable, err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("%w: %w", cf.ErrUnavailable, err)
	}
	return l.CheckFrom(f, info.Size())
}

// CheckFrom reads the log at Path, of size bytes, from f.
func (l *State) CheckFrom(f io.Reader, size int64) error {
	if l.Size = size; l.Size == 0 { // an open that wrote nothing leaves such a log
		return nil
	}
	in, block := bufio.NewReaderSize(f, int(min(l.Size, readAhead))), make([]byte, BlockSize)
	for !l.Torn {
		n, err := io.ReadFull(in, block)
		if n == 0 && errors.Is(err, io.EOF) {
			l.Torn = l.within
			break
		}
		if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
			return fmt.Errorf("%w: %w", cf.ErrUnavailable, err)
		}
		if err := l.read(block[:n], in); err != nil {
			return err
		}
		l.at += int64(n)
	}
	return nil
}

// read reads a block; rest reads the bytes after it.
func (l *State) read(block []byte, rest io.Reader) error {
	for at := 0; at < len(block); {
		if BlockSize-at < l.Layout.longest() && Zeros(block[at:]) {
			return nil
		}
		if BlockSize-at < HeaderSize {
			return Damaged(l.Path, l.at+int64(at), "there is something after a block's records")
		}
		if !l.within {
			l.Begin = l.at + int64(at)
		}
		n, fault := l.Layout.record(block[at:])
		if fault == nil {
			kind := block[at+6]
			l.note(l.Layout.plain(kind), block[at+l.Layout.header(kind):at+n])
			at += n
			continue
		}
		if errors.Is(fault, errEnded) && !l.within {
			return l.onlyZeros(block[at+n:], rest, l.at+int64(at+n))
		}
		return l.judge(block[at:], at, fault, rest)
	}
	return nil
}

// onlyZeros returns an error if something follows the end of a log.
func (l *State) onlyZeros(block []byte, behind io.Reader, at int64) error {
	more, err := io.ReadAll(behind)
	if err != nil {
		return fmt.Errorf("%w: %w", cf.ErrUnavailable, err)
	}
	if !Zeros(block) || !Zeros(more) {
		return Damaged(l.Path, at, "there is something after the log's end")
	}
	return nil
}

// note takes a record, or a fragment of one.
func (l *State) note(kind byte, data []byte) {
	if kind == FullRecord || kind == FirstFragment {
		l.data = l.data[:0]
	}
	if l.Take == nil {
		data = data[:min(len(data), writeHead-len(l.data))]
	}
	l.data = append(l.data, data...)
	l.within = kind == FirstFragment || kind == MiddleFragment
	if l.within {
		return
	}
	l.Records++
	if l.Take != nil {
		l.Take(l.data)
		return
	}
	if len(l.data) >= RepHeader {
		seq := binary.LittleEndian.Uint64(l.data)
		if l.Records == 1 {
			l.First = seq
		}
		l.Next = seq + uint64(binary.LittleEndian.Uint32(l.data[8:]))
		l.Loading = l.isMarker(l.data[RepHeader:])
	}
}

// isMarker reports whether a batch begins with the marker of a load.
func (l *State) isMarker(ops []byte) bool {
	if len(ops) == 0 || ops[0] != RepPut {
		return false
	}
	_, n := binary.Uvarint(ops[1:])
	return n > 0 && strings.HasPrefix(string(ops[1+n:]), l.Marker)
}

// Damaged is the error for a file that is damaged at an offset.
func Damaged(path string, at int64, what string) error {
	return fmt.Errorf("%w: %s, at byte %d: %s", cf.ErrCorrupt, path, at, what)
}

var (
	// ErrCutOff and ErrChecksum say what is wrong with a record.
	ErrCutOff   = errors.New("a record is cut off")
	ErrChecksum = errors.New("the checksum of a record does not match")
	errNoRecord = errors.New("there is no record")
	errEnded    = errors.New("the log ends here")

	// Castagnoli is the table for the checksums of all of RocksDB's files.
	Castagnoli = crc32.MakeTable(crc32.Castagnoli)
)

// record is the length of the record at the beginning of block, which is the rest of a
// block.
func (l Layout) record(block []byte) (n int, fault error) {
	if len(block) < HeaderSize {
		return 0, ErrCutOff
	}
	length, kind := int(binary.LittleEndian.Uint16(block[4:])), block[6]
	n = l.header(kind) + length
	if l == RocksDB && kind >= firstRecycled && kind <= lastRecycled {
		n += logNumberLen
	}
	switch {
	case l.ends(block):
		return n, errEnded
	case kind == 0 && length == 0 && binary.LittleEndian.Uint32(block) == 0:
		return 0, errNoRecord
	case n > len(block):
		return 0, ErrCutOff
	case !checksumMatches(block, n):
		return 0, ErrChecksum
	}
	return n, nil
}

// ends reports whether a block goes on with the note of Pebble that the log was closed: a
// header without checksum and length.
func (l Layout) ends(block []byte) bool {
	return l == Pebble && len(block) >= HeaderSize+logNumberLen && block[6] == firstRecycled && Zeros(block[:6])
}

// checksumMatches compares the checksum of a record of n bytes.
func checksumMatches(b []byte, n int) bool {
	return binary.LittleEndian.Uint32(b) == Masked(crc32.Checksum(b[6:n], Castagnoli))
}

// Masked is the form in which RocksDB stores a checksum. It avoids checksums of data
// that contains its own checksum.
func Masked(sum uint32) uint32 {
	const maskDelta = 0xa282ead8
	return (sum>>15 | sum<<17) + maskDelta
}

// ByNumber compares names of one form, such as the names of logs, by their numbers, which
// have six digits or more.
func ByNumber(a, b string) int {
	if len(a) != len(b) {
		return len(a) - len(b)
	}
	return strings.Compare(a, b)
}
