// Package scan evaluates a [cf.Scan] in Go, over the sorted keys of one family.
package scan

import "context"

// An Iterator walks over the keys of a family at one moment, within the bounds that it
// was made with. The keys are those of package cf; the values are as they were put. It
// belongs to one goroutine. After an error it is at no key, and Err gives the error.
type Iterator interface {
	// Seek goes to the first key at or after a key.
	Seek(ctx context.Context, key []byte)
	// SeekBefore goes to the last key before a key.
	SeekBefore(ctx context.Context, key []byte)
	// Next goes to the next key in ascending order.
	Next(ctx context.Context)
	// Valid reports whether the iterator is at a key. Key and Value are valid, and not
	// to be changed, until the next call of another method.
	Valid() bool
	Key() []byte
	Value() []byte
	Err() error
	Close()
}
