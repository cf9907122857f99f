// Package subspace divides a key space into parts: every key of a subspace is the
// subspace's prefix, followed by a packed tuple. Subspaces nest, so a program can
// divide its own part further.
//
// It behaves as the subspaces of the FoundationDB bindings do, byte for byte.
package subspace

import (
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/smolwc/smolwc/tuple"
)

// ErrNotInSubspace is the error, wrapped, of [Subspace.Unpack] for a key that does not
// start with the subspace's prefix.
var ErrNotInSubspace = errors.New("key is not in subspace")

// A Subspace is a prefix of keys: any bytes, often a packed tuple. The zero
// Subspace contains all keys. Subspaces never change; they may be compared
// with == and used from several goroutines at once.
type Subspace struct {
	prefix string
}

// AllKeys is the subspace that contains all keys: its prefix is empty.
func AllKeys() Subspace { return Subspace{} }

// New is the subspace whose prefix is the packed tuple of elems. Like
// [tuple.MustPack] it panics when an element cannot be packed: for elements
// that come from outside use [tuple.Pack] and [FromBytes].
func New(elems ...any) Subspace {
	return AllKeys().Sub(elems...)
}

// FromBytes is the subspace of a raw prefix, which is copied.
func FromBytes(prefix []byte) Subspace {
	return Subspace{prefix: string(prefix)}
}

// Sub is the subspace inside s whose keys start with elems. It panics as [New] does.
func (s Subspace) Sub(elems ...any) Subspace {
	return FromBytes(append(s.Bytes(), tuple.MustPack(elems...)...))
}

// Bytes is the prefix, in a slice of the caller's own. It is the first key
// that s contains.
func (s Subspace) Bytes() []byte { return []byte(s.prefix) }

// Pack returns the key of t in s: the prefix, then the packed tuple. It fails
// with a [*tuple.PackError] when an element cannot be packed.
func (s Subspace) Pack(t tuple.Tuple) ([]byte, error) {
	key, err := tuple.AppendPack(s.Bytes(), t)
	if err != nil {
		return nil, err
	}
	return key, nil
}

// Unpack is the inverse of [Subspace.Pack]. It fails with [ErrNotInSubspace] for a key
// that s does not contain, and with a [*tuple.DecodeError], whose offset counts from
// the beginning of key, when the bytes after the prefix are not a packed tuple.
func (s Subspace) Unpack(key []byte) (tuple.Tuple, error) {
	if !s.Contains(key) {
		return nil, fmt.Errorf("%w %v: x'%s'", ErrNotInSubspace, s, hex.EncodeToString(key))
	}
	t, err := tuple.Unpack(key[len(s.prefix):])
	var fault *tuple.DecodeError
	if errors.As(err, &fault) {
		return nil, &tuple.DecodeError{Offset: fault.Offset + len(s.prefix), Reason: fault.Reason}
	}
	return t, err
}

// Contains reports whether key starts with the prefix of s. The prefix itself does.
// Contains compares bytes only, so keys of a neighbour may pass too: the prefix of
// New("a") begins that of New("a\x00"), since a 00 in a string is packed as 00 FF. Such
// keys are outside the [Subspace.Range] of New("a"), and its Unpack refuses them.
func (s Subspace) Contains(key []byte) bool {
	return len(key) >= len(s.prefix) && string(key[:len(s.prefix)]) == s.prefix
}

// Range returns the keys, from begin inclusive to end exclusive, of all tuples
// in s except the empty one: the key that is the bare prefix is not in the
// range. Nor are keys that go on with FF: they belong to a neighbour, see
// [Subspace.Contains]. So the ranges of subspaces of different tuples are
// disjoint unless one tuple extends the other.
func (s Subspace) Range() (begin, end []byte) {
	return append(s.Bytes(), 0x00), append(s.Bytes(), 0xFF)
}

// String is the prefix in hexadecimal, x'15012a'.
func (s Subspace) String() string {
	return "x'" + hex.EncodeToString([]byte(s.prefix)) + "'"
}
