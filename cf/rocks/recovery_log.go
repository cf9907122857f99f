//go:build cgo

package rocks

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
// logBlock bytes, the last one short. A block is records that lie in it whole, and
// fewer than logHeader bytes of zeros behind them. A record is a checksum of 4 bytes,
// the length of its data in 2, a type, and the data (db/log_format.h, stable since
// 2011).
const (
	logBlock  = 32 << 10
	logHeader = 7

	// These types have the number of the log behind the header, in files that
	// are used again; smolwc never lets them be.
	firstRecycled, lastRecycled = 5, 8
	logNumberLen                = 4
)

// The types of records: a whole one, or the fragments of one.
const (
	fullRecord = iota + 1
	firstFragment
	middleFragment
	lastFragment
)

// A logState is what a log that is not damaged looks like.
type logState struct {
	path    string
	size    int64
	records int  // whole ones
	torn    bool // its last record was not written to the end
	// unwritten is where the zeros begin that a loss of power left in a record
	// that is torn; -1 where the file just ends.
	unwritten int64
	begin     int64 // of the record that is being read
	// synced is how much is known to have been synced with each write, -1 if that
	// is not known.
	synced int64

	// In a log of writes the data begins with the number of the first change,
	// of 8 bytes, and how many there are, in 4.
	first, next uint64
	loading     bool // the last record is the marker of a load

	at     int64               // where the block begins that is being read
	take   func(record []byte) // nil, or gets each record
	data   []byte              // of the record whose fragments are being read, or its beginning
	within bool
}

// writeHead is how much of a record of writes is looked at: its head and the first key.
const writeHead = 64

// checkLog reads a log of writes. An error of the kind ErrCorrupt means that there is
// something wrong before its end.
func checkLog(path string) (logState, error) {
	state := logState{path: path, unwritten: -1, synced: -1}
	err := state.check()
	return state, err
}

func (l *logState) check() error {
	f, err := os.Open(l.path)
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
	l.size = info.Size()
	in, block := bufio.NewReaderSize(f, 1<<20), make([]byte, logBlock)
	for !l.torn {
		n, err := io.ReadFull(in, block)
		if n == 0 && errors.Is(err, io.EOF) {
			l.torn = l.within
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

// read reads a block; rest is what comes behind it.
func (l *logState) read(block []byte, rest io.Reader) error {
	for at := 0; at < len(block); {
		if logBlock-at < logHeader {
			if !zeros(block[at:]) {
				return damaged(l.path, l.at+int64(at), "there is something behind a block's records")
			}
			return nil
		}
		if !l.within {
			l.begin = l.at + int64(at)
		}
		n, fault := logRecord(block[at:])
		if fault == nil {
			l.note(block[at+6], block[at+logHeader:at+n])
			at += n
			continue
		}
		return l.judge(block[at:], at, fault, rest)
	}
	return nil
}

// note counts a record, or a fragment of one.
func (l *logState) note(kind byte, data []byte) {
	if kind == fullRecord || kind == firstFragment {
		l.data = l.data[:0]
	}
	if l.take == nil {
		data = data[:min(len(data), writeHead-len(l.data))]
	}
	l.data = append(l.data, data...)
	l.within = kind == firstFragment || kind == middleFragment
	if l.within {
		return
	}
	l.records++
	if l.take != nil {
		l.take(l.data)
		return
	}
	if len(l.data) >= repHeader {
		seq := binary.LittleEndian.Uint64(l.data)
		if l.records == 1 {
			l.first = seq
		}
		l.next = seq + uint64(binary.LittleEndian.Uint32(l.data[8:]))
		l.loading = isMarker(l.data[repHeader:])
	}
}

// isMarker reports whether a batch begins with the marker of a load.
func isMarker(ops []byte) bool {
	if len(ops) == 0 || ops[0] != repPut {
		return false
	}
	_, n := binary.Uvarint(ops[1:])
	return n > 0 && strings.HasPrefix(string(ops[1+n:]), prefixIngest)
}

func damaged(path string, at int64, what string) error {
	return fmt.Errorf("%w: %s, at byte %d: %s", cf.ErrCorrupt, path, at, what)
}

var (
	errCutOff   = errors.New("a record is cut off")
	errChecksum = errors.New("the checksum of a record does not match")
	errNoRecord = errors.New("there is no record")

	castagnoli = crc32.MakeTable(crc32.Castagnoli)
)

// logRecord is the length of the record that block, the rest of one, begins with.
func logRecord(block []byte) (n int, fault error) {
	if len(block) < logHeader {
		return 0, errCutOff
	}
	length, kind := int(binary.LittleEndian.Uint16(block[4:])), block[6]
	n = logHeader + length
	if kind >= firstRecycled && kind <= lastRecycled {
		n += logNumberLen
	}
	switch {
	case kind == 0 && length == 0 && binary.LittleEndian.Uint32(block) == 0:
		return 0, errNoRecord
	case n > len(block):
		return 0, errCutOff
	case !checksumMatches(block, n):
		return 0, errChecksum
	}
	return n, nil
}

// checksumMatches compares the checksum of a record of n bytes.
func checksumMatches(b []byte, n int) bool {
	return binary.LittleEndian.Uint32(b) == maskedChecksum(crc32.Checksum(b[6:n], castagnoli))
}

// maskedChecksum is what RocksDB stores of a checksum: a checksum of checksums
// would be none of zeros.
func maskedChecksum(sum uint32) uint32 {
	const maskDelta = 0xa282ead8
	return (sum>>15 | sum<<17) + maskDelta
}
