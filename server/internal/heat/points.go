package heat

import (
	"encoding/binary"
	"iter"
	"slices"
)

// points are the accesses of a series in one slot: a sample of the keys. Each counts with a
// weight, and together they stand for the total.
type points struct {
	slot    int64
	total   uint64 // accesses
	weight  uint64 // of all points together
	exact   bool   // every access is a sample
	encoded []byte
}

// A point is one key of points.
type point struct {
	key    string
	weight uint64
}

func (p *points) size() int { return slotBytes + len(p.encoded) }

// estimate is how many accesses a weight stands for.
func (p *points) estimate(weight uint64) float64 {
	return float64(weight) / float64(p.weight) * float64(p.total)
}

// packed are the points of the slot that is not over.
func (s *series) packed(slot int64) points {
	return pack(slot, s.seen.Load()-s.base, s.keys, mostPoints)
}

// pack sorts the samples of a slot, and keeps at most a number of them, which divide them
// into equal parts. A key with n of most points accounts for more than n-1 of most parts
// of the samples.
func pack(slot int64, total uint64, samples []string, most int) points {
	p := points{slot: slot, total: total, weight: uint64(min(len(samples), most)), exact: uint64(len(samples)) == total && len(samples) <= most}
	if len(samples) == 0 {
		p.total = 0 // nobody can say which rows
		return p
	}
	sorted := slices.Sorted(slices.Values(samples))
	n := int(p.weight)
	last := ""
	for i := 0; i < n; {
		key := sorted[(2*i+1)*len(sorted)/(2*n)]
		same := i + 1
		for same < n && sorted[(2*same+1)*len(sorted)/(2*n)] == key {
			same++
		}
		shared := sharedPrefix(last, key)
		p.encoded = binary.AppendUvarint(p.encoded, uint64(same-i))
		p.encoded = binary.AppendUvarint(p.encoded, uint64(shared))
		p.encoded = binary.AppendUvarint(p.encoded, uint64(len(key)-shared))
		p.encoded = append(p.encoded, key[shared:]...)
		last, i = key, same
	}
	p.encoded = slices.Clip(p.encoded)
	return p
}

func sharedPrefix(a, b string) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

// all are the points, by their keys.
func (p *points) all() iter.Seq[point] {
	return func(yield func(point) bool) {
		var key []byte
		for b := p.encoded; len(b) > 0; {
			var field [3]uint64
			for i := range field {
				v, n := binary.Uvarint(b)
				field[i], b = v, b[n:]
			}
			key = append(key[:field[1]], b[:field[2]]...)
			b = b[field[2]:]
			if !yield(point{string(key), field[0]}) {
				return
			}
		}
	}
}
