package pebble

import (
	"bytes"
	"encoding/binary"

	engine "github.com/cockroachdb/pebble/v2"
)

// Numbers of spaces of keys.
const (
	spaceSystem = 0 // names of families
	spaceMeta   = 1 // the catalog
	firstFamily = 16

	idLen = 4
)

// The first bytes of entries in the space of the system. A position's entry is a commit
// that changes nothing.
const (
	entryFamily   = 'f' // and its name: the number
	entryNext     = 'n' // the number of the next family
	entryPosition = 'p' // for its place in the log
	entryShift    = 's' // of positions; see [record]
	entryLoad     = 't' // and the id of a load: its files
)

func appendID(dst []byte, id uint32) []byte { return binary.BigEndian.AppendUint32(dst, id) }

// split is the length of the part of a key that ends with the row: its number and the
// row's prefix. Other keys are not split. Filters of table files are of this part, and it
// is what columnar blocks store once for all cells of a row.
func split(key []byte) int {
	if len(key) < idLen+1 || binary.BigEndian.Uint32(key) < firstFamily {
		return len(key)
	}
	for at := idLen + 1; ; {
		zero := bytes.IndexByte(key[at:], 0)
		if zero < 0 {
			return len(key)
		}
		at += zero + 1
		if at == len(key) || key[at] != 0xff {
			return at
		}
		at++
	}
}

var comparer = func() *engine.Comparer {
	c := *engine.DefaultComparer
	c.Name = "smolwc.comparer.v1"
	c.Split = split
	c.Compare, c.Equal = bytes.Compare, bytes.Equal
	c.ComparePointSuffixes, c.CompareRangeSuffixes = bytes.Compare, bytes.Compare
	c.ImmediateSuccessor = func(dst, p []byte) []byte { // of a prefix
		if len(p) > idLen && p[len(p)-1] == 0 {
			return append(append(dst, p...), 0xff, 0) // the row with one more 00
		}
		return append(append(dst, p...), 0)
	}
	return &c
}()
