package merge

import (
	"encoding/binary"
	"math/bits"
	"slices"
)

const (
	sketchVersion = 1
	formHashes    = 0
	formRegisters = 1
	indexBits     = 14
	registers     = 1 << indexBits
	maxRank       = 64 - indexBits + 1
	maxHashes     = registers / 8 // more hashes would take more bytes than the registers
)

// A sketch is a set of hashes: the hashes themselves, or registers once there are too
// many.
type sketch struct {
	hashes []uint64
	ranks  []byte // of the registers, nil while there are few hashes
}

// union unites sketches.
func union(values [][]byte) ([]byte, bool) {
	var s sketch
	for _, v := range values {
		if !s.add(v) {
			return nil, false
		}
	}
	return s.value(), true
}

func (s *sketch) add(v []byte) bool {
	if len(v) < 3 || v[0] != tagBytes || v[1] != sketchVersion {
		return false
	}
	switch data := v[3:]; v[2] {
	case formHashes:
		return s.addHashes(data)
	case formRegisters:
		return s.addRegisters(data)
	}
	return false
}

func (s *sketch) addHashes(data []byte) bool {
	if len(data) == 0 || len(data)%8 != 0 || len(data)/8 > maxHashes {
		return false
	}
	for i := 0; i < len(data); i += 8 {
		hash := binary.BigEndian.Uint64(data[i:])
		if i > 0 && binary.BigEndian.Uint64(data[i-8:]) >= hash {
			return false
		}
		s.addHash(hash)
	}
	if len(s.hashes) > 2*maxHashes {
		s.settle()
	}
	return true
}

func (s *sketch) addHash(hash uint64) {
	if s.ranks == nil {
		s.hashes = append(s.hashes, hash)
		return
	}
	// The bit behind the hash bounds the number of its leading zeros.
	rank := byte(bits.LeadingZeros64(hash<<indexBits|1<<(indexBits-1)) + 1)
	i := hash >> (64 - indexBits)
	s.ranks[i] = max(s.ranks[i], rank)
}

// settle sorts the hashes, and changes to registers if there are too many.
func (s *sketch) settle() {
	slices.Sort(s.hashes)
	if s.hashes = slices.Compact(s.hashes); len(s.hashes) > maxHashes {
		s.toRegisters()
	}
}

func (s *sketch) toRegisters() {
	if s.ranks == nil {
		s.ranks = make([]byte, registers)
		for _, h := range s.hashes {
			s.addHash(h)
		}
		s.hashes = nil
	}
}

func (s *sketch) addRegisters(ranks []byte) bool {
	if len(ranks) != registers || slices.Max(ranks) > maxRank {
		return false
	}
	s.toRegisters()
	for i, r := range ranks {
		s.ranks[i] = max(s.ranks[i], r)
	}
	return true
}

// value encodes the sketch.
func (s *sketch) value() []byte {
	s.settle()
	if s.ranks != nil {
		return append([]byte{tagBytes, sketchVersion, formRegisters}, s.ranks...)
	}
	v := []byte{tagBytes, sketchVersion, formHashes}
	for _, h := range s.hashes {
		v = binary.BigEndian.AppendUint64(v, h)
	}
	return v
}
