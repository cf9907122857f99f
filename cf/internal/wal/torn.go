package wal

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/smolwc/smolwc/cf"
)

// A disk writes in sectors of this many bytes. Bytes that did not reach it before a
// loss of power are zeros, up to the beginning of a sector or the end of the file.
const sector = 512

// judge distinguishes a record that a crash left half written from a damaged one, which
// is an error. rest are the bytes of the block from the record on, at is the record's
// offset in the block, and behind reads the bytes after the block.
func (l *State) judge(rest []byte, at int, fault error, behind io.Reader) error {
	more, err := io.ReadAll(behind)
	if err != nil {
		return fmt.Errorf("%w: %w", cf.ErrUnavailable, err)
	}
	place := l.at + int64(at)
	if l.Layout.torn(rest, at, fault) && Zeros(more) {
		l.Torn = true
		if errors.Is(fault, errNoRecord) {
			l.Unwritten = place
		}
		return nil
	}
	if from := l.Layout.unwritten(append(rest[:len(rest):len(rest)], more...), place, fault); from >= 0 {
		l.Unwritten = place + int64(from)
		l.Torn = l.Synced >= 0 && l.Unwritten >= l.Synced || !l.begins(rest, more, place)
	}
	if l.Torn {
		return nil
	}
	return Damaged(l.Path, place, fault.Error())
}

// unwritten finds the zeros that a loss of power left in the record at the beginning of
// data; it returns their offset in data, -1 without such zeros. Either they begin with the
// record or with a sector and end at the beginning of a sector. Or they end with the file,
// and are longer than any run of zeros in the record could be, or than chance explains.
// place is the offset of data in the file.
func (l Layout) unwritten(data []byte, place int64, fault error) int {
	n := HeaderSize
	if errors.Is(fault, ErrChecksum) {
		n = l.header(data[6]) + int(binary.LittleEndian.Uint16(data[4:]))
	}
	for from := 0; from < min(n, len(data)); from += toSector(place + int64(from)) {
		if Zeros(data[from:min(from+toSector(place+int64(from)), len(data))]) {
			return from
		}
	}
	if tail := len(bytes.TrimRight(data, "\x00")); tail < n && len(data) > n || tail <= len(data)-sector && tail < n {
		return tail
	}
	return -1
}

// toSector is the distance from an offset to the beginning of the next sector.
func toSector(place int64) int { return int(sector - place%sector) }

// begins reports whether a whole record that was made after the one at place begins after
// the first byte of the rest of a block, or in the blocks after it. RocksDB syncs each
// write before the next one: so a record before another record was fully written. A record
// of Pebble says what was synced before it.
func (l *State) begins(rest, more []byte, place int64) bool {
	if l.beginsIn(rest[1:], place) {
		return true
	}
	for len(more) > 0 {
		n := min(BlockSize, len(more))
		if l.beginsIn(more[:n], place) {
			return true
		}
		more = more[n:]
	}
	return false
}

func (l *State) beginsIn(block []byte, place int64) bool {
	for ; len(block) >= HeaderSize; block = block[1:] {
		raw := block[6]
		if kind := l.Layout.plain(raw); kind != FullRecord && kind != FirstFragment {
			continue
		}
		n, fault := l.Layout.record(block)
		head := l.Layout.header(raw)
		switch {
		case fault != nil:
		case raw >= firstSyncing && binary.LittleEndian.Uint64(block[head-syncedLen:]) <= uint64(place):
			// it may have reached the disk before the record at place
		case l.Take != nil || n >= head+RepHeader && binary.LittleEndian.Uint64(block[head:]) >= l.Next:
			return true
		}
	}
	return false
}

// torn reports whether a crash explains why a block holds no whole record at offset at:
// the block ends within the record, or is all zeros from there on. rest are the block's
// bytes from at on.
func (l Layout) torn(rest []byte, at int, fault error) bool {
	if errors.Is(fault, errNoRecord) {
		return Zeros(rest)
	}
	if len(rest) < HeaderSize {
		return true
	}
	length := int(binary.LittleEndian.Uint16(rest[4:]))
	kind := l.plain(rest[6])
	if !errors.Is(fault, ErrCutOff) || at+l.header(rest[6])+length > BlockSize || kind < FullRecord || kind > LastFragment {
		return false // a record with one header never continues in the next block
	}
	return !l.lengthDamaged(rest, length)
}

// lengthDamaged reports whether a record that seems to be cut off is whole, with one
// wrong byte in its length.
func (l Layout) lengthDamaged(rest []byte, length int) bool {
	for b := range 256 {
		for _, length := range []int{length&0xff00 | b, length&0xff | b<<8} {
			if n := l.header(rest[6]) + length; n <= len(rest) && checksumMatches(rest, n) {
				return true
			}
		}
	}
	return false
}

// Zeros reports whether all bytes are zero.
func Zeros(b []byte) bool { return len(bytes.TrimLeft(b, "\x00")) == 0 }
