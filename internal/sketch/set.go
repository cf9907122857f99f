package sketch

import (
	"encoding/binary"
	"math/bits"
	"slices"

	"github.com/smolwc/smolwc/cells"
)

// A Set is a sketch that grows. The zero Set is of no values. One goroutine uses it.
type Set struct {
	hashes []uint64
	ranks  []byte // of the registers, nil while there are few hashes
}

// Add adds a value.
func (s *Set) Add(v cells.Value) {
	s.addHash(hashValue(v))
	if len(s.hashes) > 2*maxHashes {
		s.settle()
	}
}

// Merge adds the values of a sketch in its stored form. It is false, and the set may have
// some of the values, if the bytes are not a sketch.
func (s *Set) Merge(stored []byte) bool {
	if Check(stored) != nil {
		return false
	}
	body := stored[header:]
	if stored[2] == inRegisters {
		s.toRegisters()
		for i, r := range body {
			s.ranks[i] = max(s.ranks[i], r)
		}
		return true
	}
	for ; len(body) > 0; body = body[8:] {
		s.addHash(binary.BigEndian.Uint64(body))
	}
	if len(s.hashes) > 2*maxHashes {
		s.settle()
	}
	return true
}

func (s *Set) addHash(hash uint64) {
	if s.ranks == nil {
		s.hashes = append(s.hashes, hash)
		return
	}
	// The bit behind the hash bounds the number of its leading zeros.
	rank := byte(bits.LeadingZeros64(hash<<precision|1<<(precision-1)) + 1)
	i := hash >> (64 - precision)
	s.ranks[i] = max(s.ranks[i], rank)
}

// settle sorts the hashes, and changes to registers if there are too many.
func (s *Set) settle() {
	slices.Sort(s.hashes)
	if s.hashes = slices.Compact(s.hashes); len(s.hashes) > maxHashes {
		s.toRegisters()
	}
}

func (s *Set) toRegisters() {
	if s.ranks == nil {
		s.ranks = make([]byte, registers)
		for _, h := range s.hashes {
			s.addHash(h)
		}
		s.hashes = nil
	}
}

// Empty reports whether the set is empty.
func (s *Set) Empty() bool { return len(s.hashes) == 0 && s.ranks == nil }

// Size is the memory of the set, in bytes.
func (s *Set) Size() int { return 8*cap(s.hashes) + len(s.ranks) }

// Stored is the stored form of a set that is not empty.
func (s *Set) Stored() []byte {
	s.settle()
	if s.ranks != nil {
		return append([]byte{byte(cells.TypeBytes), version, inRegisters}, s.ranks...)
	}
	v := []byte{byte(cells.TypeBytes), version, hashes}
	for _, h := range s.hashes {
		v = binary.BigEndian.AppendUint64(v, h)
	}
	return v
}
