// Package wal reads what RocksDB writes in order, its logs of writes and its manifests,
// without RocksDB: [Check] tells a file that a crash has left torn from a damaged one,
// a [Reader] reads a log while it is written, and [ParseRecord] takes commits out of
// its records.
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

// What RocksDB writes in order, its log of writes and its manifest, is blocks of
// BlockSize bytes, the last one short. A block is records that lie in it whole, and
// fewer than HeaderSize bytes of zeros after them. A record is a checksum of 4 bytes,
// the length of its data in 2, a type, and the data (db/log_format.h, stable since
// 2011).
const (
	BlockSize  = 32 << 10
	HeaderSize = 7

	// These types have the number of the log after the header, in files that
	// are used again; smolwc never lets them be.
	firstRecycled, lastRecycled = 5, 8
	logNumberLen                = 4
)

// The types of records: a whole one, or the fragments of one.
const (
	FullRecord = iota + 1
	FirstFragment
	MiddleFragment
	LastFragment
)

// A State describes a log that is not damaged.
type State struct {
	Path    string
	Size    int64
	Records int  // whole ones
	Torn    bool // its last record was not fully written
	// Unwritten is the place where a loss of power left zeros in a torn record; -1 if
	// the file ends there instead.
	Unwritten int64
	Begin     int64 // of the record that is being read
	// Synced is the number of bytes that are known to have been synced, -1 if that is
	// unknown.
	Synced int64

	// In a log of writes the data begins with the number of the first change,
	// of 8 bytes, and how many there are, in 4.
	First, Next uint64
	Loading     bool   // the last record is the marker of a load
	Marker      string // how the keys of such markers begin

	// If Take is not nil it gets each record; the numbers of changes are not read then.
	Take func(record []byte)

	at     int64  // where the block begins that is being read
	data   []byte // of the record whose fragments are being read, or its beginning
	within bool
}

// writeHead is the number of bytes of a record of writes that are read: its head and
// the first key.
const writeHead = 64

// Check reads a log of writes. An error of the kind ErrCorrupt means that there is
// something wrong before its end. marker is how the keys of markers of loads begin.
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
	l.Size = info.Size()
	in, block := bufio.NewReaderSize(f, 1<<20), make([]byte, BlockSize)
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

// read reads a block; rest is what comes after it.
func (l *State) read(block []byte, rest io.Reader) error {
	for at := 0; at < len(block); {
		if BlockSize-at < HeaderSize {
			if !Zeros(block[at:]) {
				return Damaged(l.Path, l.at+int64(at), "there is something after a block's records")
			}
			return nil
		}
		if !l.within {
			l.Begin = l.at + int64(at)
		}
		n, fault := logRecord(block[at:])
		if fault == nil {
			l.note(block[at+6], block[at+HeaderSize:at+n])
			at += n
			continue
		}
		return l.judge(block[at:], at, fault, rest)
	}
	return nil
}

// note counts a record, or a fragment of one.
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

// Damaged is the error of a file that is wrong at a place.
func Damaged(path string, at int64, what string) error {
	return fmt.Errorf("%w: %s, at byte %d: %s", cf.ErrCorrupt, path, at, what)
}

var (
	// ErrCutOff and ErrChecksum say what is wrong with a record.
	ErrCutOff   = errors.New("a record is cut off")
	ErrChecksum = errors.New("the checksum of a record does not match")
	errNoRecord = errors.New("there is no record")

	// Castagnoli is of the checksums of all of RocksDB's files.
	Castagnoli = crc32.MakeTable(crc32.Castagnoli)
)

// logRecord is the length of the record that block, the rest of one, begins with.
func logRecord(block []byte) (n int, fault error) {
	if len(block) < HeaderSize {
		return 0, ErrCutOff
	}
	length, kind := int(binary.LittleEndian.Uint16(block[4:])), block[6]
	n = HeaderSize + length
	if kind >= firstRecycled && kind <= lastRecycled {
		n += logNumberLen
	}
	switch {
	case kind == 0 && length == 0 && binary.LittleEndian.Uint32(block) == 0:
		return 0, errNoRecord
	case n > len(block):
		return 0, ErrCutOff
	case !checksumMatches(block, n):
		return 0, ErrChecksum
	}
	return n, nil
}

// checksumMatches compares the checksum of a record of n bytes.
func checksumMatches(b []byte, n int) bool {
	return binary.LittleEndian.Uint32(b) == Masked(crc32.Checksum(b[6:n], Castagnoli))
}

// Masked is the form in which RocksDB stores a checksum: it is not itself the checksum
// of data that holds checksums.
func Masked(sum uint32) uint32 {
	const maskDelta = 0xa282ead8
	return (sum>>15 | sum<<17) + maskDelta
}
