// Package ordered evaluates a [cf.Scan] over the sorted keys of one family. It is for the
// stores whose iterators are in Go: each of them brings an [Iterator].
package ordered

import "context"

// An Iterator walks over the keys of a family at one moment. Its bounds include all rows
// of the scan. Package cf describes the keys; the values are as they were put or
// merged. It belongs to one goroutine.
//
// Each move reports whether the iterator is at a key then. If it is not, Err says why: nil
// means that there is no such key. A move that must wait fails with the context's error
// when the context is done.
type Iterator interface {
	// Seek goes to the first key at or after a key.
	Seek(ctx context.Context, key []byte) bool
	// SeekBefore goes to the last key before a key.
	SeekBefore(ctx context.Context, key []byte) bool
	// Next goes to the next key in ascending order. The iterator is at a key.
	Next(ctx context.Context) bool
	// Key and Value are those that the iterator is at: valid until the next move, and not
	// to be changed. A Value that cannot be read is nil, and Err says why.
	Key() []byte
	Value() []byte
	Err() error
	Close()
}

// Near is an Iterator whose Seek to a key behind takes no longer than a few moves of Next,
// whose number is Near's.
type Near interface {
	Iterator
	Near() int
}

// Tombstones is an Iterator that counts, if the scan wants it, the deleted keys and marks of
// deletion that it passed.
type Tombstones interface {
	Iterator
	Tombstones() int64
}
