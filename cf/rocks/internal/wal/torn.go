package wal

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/smolwc/smolwc/cf"
)

// A disk writes in sectors. What had no time to reach it is zeros up to where one
// begins, or up to the end of the file.
const sector = 512

// judge tells a record that a crash has left half written from one that is damaged,
// at a place in a block from where on it has these bytes; behind is what follows the
// block.
func (l *State) judge(rest []byte, at int, fault error, behind io.Reader) error {
	more, err := io.ReadAll(behind)
	if err != nil {
		return fmt.Errorf("%w: %w", cf.ErrUnavailable, err)
	}
	place := l.at + int64(at)
	if torn(rest, at, fault) && Zeros(more) {
		l.Torn = true
		if errors.Is(fault, errNoRecord) {
			l.Unwritten = place
		}
		return nil
	}
	if from := unwritten(append(rest[:len(rest):len(rest)], more...), place, fault); from >= 0 {
		l.Unwritten = place + int64(from)
		l.Torn = l.Synced >= 0 && l.Unwritten >= l.Synced || !l.begins(rest, more)
	}
	if l.Torn {
		return nil
	}
	return Damaged(l.Path, place, fault.Error())
}

// unwritten is where in the record that data begins with a loss of power has left
// zeros, -1 if nowhere. They go on up to where a sector begins, from where one does or
// from the beginning of the record; or up to the end of the file, and then there are
// more of them than the record could have, or than it has by chance. Data lies at a
// place in the file.
func unwritten(data []byte, place int64, fault error) int {
	n := HeaderSize
	if errors.Is(fault, ErrChecksum) {
		n += int(binary.LittleEndian.Uint16(data[4:]))
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

// toSector is how far it is from a place to the next sector.
func toSector(place int64) int { return int(sector - place%sector) }

// begins reports whether a whole record begins anywhere after the first byte of the
// rest of a block, and in the blocks after it. A write is synced before the next one
// is made: so the record before it was written to the end.
func (l *State) begins(rest, more []byte) bool {
	if l.beginsIn(rest[1:]) {
		return true
	}
	for len(more) > 0 {
		n := min(BlockSize, len(more))
		if l.beginsIn(more[:n]) {
			return true
		}
		more = more[n:]
	}
	return false
}

func (l *State) beginsIn(block []byte) bool {
	for ; len(block) >= HeaderSize; block = block[1:] {
		if kind := block[6]; kind != FullRecord && kind != FirstFragment {
			continue
		}
		n, fault := logRecord(block)
		if fault == nil && (l.Take != nil || n >= HeaderSize+RepHeader && binary.LittleEndian.Uint64(block[HeaderSize:]) >= l.Next) {
			return true
		}
	}
	return false
}

// torn reports whether a crash explains that a block has no whole record at a
// place, from where on it has these bytes: it ends within the record, or has
// nothing but zeros, which the disk had no time to replace.
func torn(rest []byte, at int, fault error) bool {
	if errors.Is(fault, errNoRecord) {
		return Zeros(rest)
	}
	if len(rest) < HeaderSize {
		return true
	}
	length := int(binary.LittleEndian.Uint16(rest[4:]))
	kind := rest[6]
	if !errors.Is(fault, ErrCutOff) || at+HeaderSize+length > BlockSize || kind < FullRecord || kind > LastFragment {
		return false // no record goes on in the next block under one header
	}
	return !lengthDamaged(rest, length)
}

// lengthDamaged reports whether a record that seems to be cut off is whole, and a
// byte of its length is wrong.
func lengthDamaged(rest []byte, length int) bool {
	for b := range 256 {
		for _, l := range []int{length&0xff00 | b, length&0xff | b<<8} {
			if n := HeaderSize + l; n <= len(rest) && checksumMatches(rest, n) {
				return true
			}
		}
	}
	return false
}

// Zeros reports whether there is nothing but zeros.
func Zeros(b []byte) bool { return len(bytes.TrimLeft(b, "\x00")) == 0 }
