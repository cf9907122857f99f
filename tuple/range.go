package tuple

import (
	"bytes"
	"errors"
)

// ErrNoSuccessor is returned by [Strinc] and [PrefixRange] for a prefix that
// is empty or consists of FF bytes: no key sorts after all that start with it.
var ErrNoSuccessor = errors.New("tuple: prefix must contain a byte other than ff")

// Range returns the keys, from begin inclusive to end exclusive, of all tuples that
// extend t by at least one element. The key of t itself is not among them. It fails
// as [Pack] does.
func Range(t Tuple) (begin, end []byte, err error) {
	return Options{}.Range(t)
}

// Range is the function [Range] with options.
func (o Options) Range(t Tuple) (begin, end []byte, err error) {
	key, err := o.AppendPack(nil, t)
	if err != nil {
		return nil, nil, err
	}
	key = key[:len(key):len(key)]
	return append(key, 0x00), append(key, 0xFF), nil
}

// PrefixRange returns the keys, from begin inclusive to end exclusive, that
// start with the bytes of prefix, prefix itself included. It fails with
// [ErrNoSuccessor].
//
// The prefix is any bytes, not necessarily whole elements: the packed string "N2"
// without its last byte selects the strings that start with N2. For the tuples that
// extend one tuple use [Range]: the prefix range of a packed tuple that ends in "N2"
// also holds tuples with a string that starts with "N2\x00" there.
func PrefixRange(prefix []byte) (begin, end []byte, err error) {
	if end, err = Strinc(prefix); err != nil {
		return nil, nil, err
	}
	return bytes.Clone(prefix), end, nil
}

// Strinc returns the first key, in byte order, after all keys that start with
// prefix: trailing FF bytes are dropped and the last byte left is incremented.
// It fails with [ErrNoSuccessor].
func Strinc(prefix []byte) ([]byte, error) {
	for i := len(prefix) - 1; i >= 0; i-- {
		if prefix[i] != 0xFF {
			next := bytes.Clone(prefix[:i+1])
			next[i]++
			return next, nil
		}
	}
	return nil, ErrNoSuccessor
}
