package rocks

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/smolwc/smolwc/cf"
)

// What RocksDB writes in order, its log of writes and its manifest, it reads up
// to the first record that is not whole, and takes that for what a crash has cut
// off. A damaged length does look like that, and all that follows would be gone
// without a word. So both are read here first: what cannot have come of a crash
// is an error that names the file (docs/decisions/0017-torn-or-damaged.md).
//
// Such a file is blocks of logBlock bytes, the last one short. A block is records
// that lie in it whole, and fewer than logHeader bytes of zeros behind them. A
// record is a checksum of 4 bytes, the length of its data in 2, a type, and the
// data (db/log_format.h, stable since 2011).
const (
	logBlock  = 32 << 10
	logHeader = 7

	// These types have the number of the log behind the header, in files that
	// are used again; smolwc never lets them be.
	firstRecycled, lastRecycled = 5, 8
	logNumberLen                = 4
)

// checkLogs looks for damage in the manifest and the logs of a database.
func checkLogs(dir string) error {
	current, err := os.ReadFile(filepath.Join(dir, "CURRENT"))
	if err != nil {
		return fmt.Errorf("%w: %w", cf.ErrUnavailable, err)
	}
	manifest, ok := strings.CutSuffix(string(current), "\n")
	if !ok || !strings.HasPrefix(manifest, "MANIFEST-") || strings.Contains(manifest, "/") {
		return fmt.Errorf("%w: %s is %q, which names no manifest", cf.ErrCorrupt, filepath.Join(dir, "CURRENT"), current)
	}
	if _, err := checkLog(filepath.Join(dir, manifest)); errors.Is(err, fs.ErrNotExist) {
		return manifestGone(dir, string(current))
	} else if err != nil {
		return err
	}
	logs, err := filepath.Glob(filepath.Join(dir, "*.log"))
	if err != nil {
		return err
	}
	// Numbers have six digits or more.
	slices.SortFunc(logs, func(a, b string) int {
		if len(a) != len(b) {
			return len(a) - len(b)
		}
		return strings.Compare(a, b)
	})
	var before *logState // the last one that is torn
	for _, path := range logs {
		state, err := checkLog(path)
		switch {
		case errors.Is(err, fs.ErrNotExist): // a writer has just removed it
			continue
		case err != nil:
			return err
		case before != nil && before.leads(state):
			before = nil
		case before != nil && state.records > 0:
			// A writer may have gone on with both since.
			if again, err := checkLog(before.path); err != nil || again.torn {
				return damaged(before.path, int(before.size), "the log is cut off, and what was written after it is in "+filepath.Base(path))
			}
		}
		if state.torn {
			before = &state
		}
	}
	return nil
}

// leads reports whether nothing is missing between two logs: the record that was
// not written to the end, for want of room, was never acknowledged.
func (l *logState) leads(next logState) bool { return l.records > 0 && next.first == l.next }

// manifestGone decides what it means that the manifest is not there: a writer may
// have made another since CURRENT was read.
func manifestGone(dir, current string) error {
	if now, err := os.ReadFile(filepath.Join(dir, "CURRENT")); err == nil && string(now) != current {
		return checkLogs(dir)
	}
	return fmt.Errorf("%w: %s names %s, which is not there", cf.ErrCorrupt, filepath.Join(dir, "CURRENT"), strings.TrimSpace(current))
}

// A logState is what a log that is not damaged looks like.
type logState struct {
	path    string
	size    int64
	records int  // whole ones
	torn    bool // its last record was not written to the end

	// In a log of writes the data begins with the number of the first change,
	// of 8 bytes, and how many there are, in 4.
	first, next uint64
	head        []byte // of the record whose fragments are being read
	within      bool
}

const writeHead = 12

// The types of records: a whole one, or the fragments of one.
const (
	fullRecord = iota + 1
	firstFragment
	middleFragment
	lastFragment
)

// checkLog reads a log. An error of the kind ErrCorrupt means that there is
// something wrong before its end.
func checkLog(path string) (logState, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return logState{}, err
	}
	if err != nil {
		return logState{}, fmt.Errorf("%w: %w", cf.ErrUnavailable, err)
	}
	defer f.Close()
	state := logState{path: path}
	in, block := bufio.NewReaderSize(f, 1<<20), make([]byte, logBlock)
	for !state.torn {
		n, err := io.ReadFull(in, block)
		if n == 0 && errors.Is(err, io.EOF) {
			state.torn = state.within
			break
		}
		if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
			return state, fmt.Errorf("%w: %w", cf.ErrUnavailable, err)
		}
		if err := state.read(block[:n], in); err != nil {
			return state, err
		}
		state.size += int64(n)
	}
	return state, nil
}

// read reads a block; rest is what comes behind it.
func (l *logState) read(block []byte, rest io.Reader) error {
	for at := 0; at < len(block); {
		if logBlock-at < logHeader {
			if !zeros(block[at:]) {
				return damaged(l.path, int(l.size)+at, "there is something behind a block's records")
			}
			return nil
		}
		n, fault := logRecord(block[at:])
		if fault == nil {
			l.note(block[at+6], block[at+logHeader:at+n])
			at += n
			continue
		}
		if torn(block[at:], at, fault) && allZeros(rest) {
			l.torn = true
			return nil
		}
		return damaged(l.path, int(l.size)+at, fault.Error())
	}
	return nil
}

// note counts a record, or a fragment of one.
func (l *logState) note(kind byte, data []byte) {
	if kind == fullRecord || kind == firstFragment {
		l.head = l.head[:0]
	}
	l.head = append(l.head, data[:min(len(data), writeHead-len(l.head))]...)
	l.within = kind == firstFragment || kind == middleFragment
	if l.within {
		return
	}
	l.records++
	if len(l.head) == writeHead {
		seq := binary.LittleEndian.Uint64(l.head)
		if l.records == 1 {
			l.first = seq
		}
		l.next = seq + uint64(binary.LittleEndian.Uint32(l.head[8:]))
	}
}

func damaged(path string, at int, what string) error {
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

// torn reports whether a crash explains that a block has no whole record at a
// place, from where on it has these bytes: it ends within the record, or has
// nothing but zeros, which the disk had no time to replace.
func torn(rest []byte, at int, fault error) bool {
	if errors.Is(fault, errNoRecord) {
		return zeros(rest)
	}
	if len(rest) < logHeader {
		return true
	}
	length := int(binary.LittleEndian.Uint16(rest[4:]))
	kind := rest[6]
	if !errors.Is(fault, errCutOff) || at+logHeader+length > logBlock || kind < fullRecord || kind > lastFragment {
		return false // no record goes on in the next block under one header
	}
	return !lengthDamaged(rest, length)
}

// lengthDamaged reports whether a record that seems to be cut off is whole, and a
// byte of its length is wrong.
func lengthDamaged(rest []byte, length int) bool {
	for b := range 256 {
		for _, l := range []int{length&0xff00 | b, length&0xff | b<<8} {
			if n := logHeader + l; n <= len(rest) && checksumMatches(rest, n) {
				return true
			}
		}
	}
	return false
}

func zeros(b []byte) bool { return len(bytes.TrimLeft(b, "\x00")) == 0 }

func allZeros(r io.Reader) bool {
	buf := make([]byte, logBlock)
	for {
		n, err := r.Read(buf)
		if !zeros(buf[:n]) {
			return false
		}
		if err != nil {
			return errors.Is(err, io.EOF)
		}
	}
}
