package cf

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/smolwc/smolwc/tuple"
)

// The physical key of a cell is the FoundationDB tuple
// (bytes row, bytes qualifier, int 2^63-1-timestamp):
//
//	01 esc(row) 00 | 01 esc(qualifier) 00 | 1c <8 bytes, big-endian>
//
// where esc writes 00 as 00 ff. The row prefix is the key up to and including the row's
// terminator. A bound is an element without its terminator: it sorts before every key
// with that row or qualifier or a greater one. docs/format.md shows worked examples.

// VersionLen is the fixed length in bytes of a key's last element. Package tuple writes
// an integer below 2^56 in fewer than eight bytes; a key always uses eight.
const VersionLen = 9

const (
	tagBytes   = 0x01 // starts a byte string element
	tagVersion = 0x1c // starts an eight-byte positive integer element
	maxInt64   = 1<<63 - 1
)

// ErrMalformedKey: the bytes are not the key of a cell.
var ErrMalformedKey = errors.New("malformed cell key")

// AppendRowPrefix appends the row prefix of a row key to dst.
func AppendRowPrefix(dst []byte, row string) []byte {
	return tuple.AppendBytes(dst, []byte(row))
}

// AppendRowBound appends the bound of a row key to dst. It sorts before every cell of
// that row and of all later rows. The rows with a prefix begin at the bound of the
// prefix.
func AppendRowBound(dst []byte, row string) []byte {
	dst = AppendRowPrefix(dst, row)
	return dst[:len(dst)-1]
}

// rowsEnd is the bound after every row.
var rowsEnd = []byte{tagBytes + 1}

// AppendQualifier appends the element of a qualifier to dst.
func AppendQualifier(dst []byte, qualifier string) []byte {
	return tuple.AppendBytes(dst, []byte(qualifier))
}

// AppendVersion appends the element of a timestamp to dst.
func AppendVersion(dst []byte, ts int64) []byte {
	dst = append(dst, tagVersion)
	return binary.BigEndian.AppendUint64(dst, uint64(maxInt64-ts))
}

// AppendCellKey appends the physical key of a cell to dst.
func AppendCellKey(dst []byte, row, qualifier string, ts int64) []byte {
	return AppendVersion(AppendQualifier(AppendRowPrefix(dst, row), qualifier), ts)
}

// SplitCellKey is the inverse of AppendCellKey. It accepts only bytes that
// AppendCellKey writes; the error matches [ErrMalformedKey].
func SplitCellKey(key []byte) (row, qualifier []byte, ts int64, err error) {
	row, rest, err := tuple.DecodeBytes(key)
	if err != nil {
		return nil, nil, 0, fmt.Errorf("%w: row: %w", ErrMalformedKey, err)
	}
	qualifier, rest, err = tuple.DecodeBytes(rest)
	if err != nil {
		return nil, nil, 0, fmt.Errorf("%w: qualifier: %w", ErrMalformedKey, err)
	}
	if ts, err = splitVersion(rest); err != nil {
		return nil, nil, 0, err
	}
	return row, qualifier, ts, nil
}

// A DeletedRange is the part of a family that an [OpDeleteRange] removes.
type DeletedRange struct {
	Rows Range
	// Column: only the cells of a column in one row, those with timestamps from Since on
	// and before Until; an Until of 0 is no bound.
	Column       bool
	Qualifier    string
	Since, Until int64
}

// SplitDeletedRange takes apart the keys of an [OpDeleteRange] that a [Batch] made. The
// error matches [ErrMalformedKey].
func SplitDeletedRange(from, to []byte) (d DeletedRange, err error) {
	row, rest, err := tuple.DecodeBytes(from)
	if err != nil || len(rest) == 0 && !bytes.Equal(to, append(bytes.Clone(from), tagBytes+1)) {
		d.Rows, err = splitBounds(from, to)
		return d, err
	}
	d.Rows = Single(string(row))
	if len(rest) == 0 {
		return d, nil
	}
	d.Column = true
	qualifier, version, err := tuple.DecodeBytes(rest)
	column := from[:len(from)-len(version)]
	if err != nil || !bytes.HasPrefix(to, column) {
		return d, fmt.Errorf("%w: the range from % x to % x is not in one column", ErrMalformedKey, from, to)
	}
	d.Qualifier = string(qualifier)
	if len(version) > 0 {
		newest, err := splitVersion(version)
		if err != nil {
			return d, err
		}
		d.Until = newest + 1
	}
	if end := to[len(column):]; !bytes.Equal(end, []byte{tagVersion + 1}) {
		before, err := splitVersion(end)
		if err != nil {
			return d, err
		}
		d.Since = before + 1
	}
	return d, nil
}

// splitVersion is the inverse of AppendVersion.
func splitVersion(b []byte) (ts int64, err error) {
	if len(b) != VersionLen || b[0] != tagVersion || binary.BigEndian.Uint64(b[1:]) > maxInt64 {
		return 0, fmt.Errorf("%w: version element % x", ErrMalformedKey, b)
	}
	return int64(maxInt64 - binary.BigEndian.Uint64(b[1:])), nil
}

// splitBounds is the inverse of [Range.Bounds].
func splitBounds(from, to []byte) (r Range, err error) {
	if r.Start, err = splitBound(from); err != nil || bytes.Equal(to, rowsEnd) {
		return r, err
	}
	r.End, err = splitBound(to)
	return r, err
}

func splitBound(b []byte) (string, error) {
	row, rest, err := tuple.DecodeBytes(append(bytes.Clone(b), 0))
	if err != nil || len(rest) > 0 {
		return "", fmt.Errorf("%w: bound % x", ErrMalformedKey, b)
	}
	return string(row), nil
}

// PrefixSuccessor is the first row key after every key that starts with p. It is false
// when no key follows: p is empty or all ff.
func PrefixSuccessor(p string) (string, bool) {
	for i := len(p) - 1; i >= 0; i-- {
		if p[i] != 0xff {
			return p[:i] + string([]byte{p[i] + 1}), true
		}
	}
	return "", false
}
