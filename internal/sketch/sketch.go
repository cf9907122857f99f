// Package sketch estimates numbers of distinct values. A sketch is a byte string that
// represents a set of values; docs/format.md shows its bytes, and a store merges
// sketches.
package sketch

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/cespare/xxhash/v2"

	"github.com/smolwc/smolwc/cells"
)

// A sketch represents a set of values by the hashes of up to 2,048 of them, exact, or
// the registers of a HyperLogLog of precision 14, whose standard error is 0.81 %.
// docs/format.md shows its bytes; the store merges them.
const (
	version     = 1
	header      = 3 // tag, version, form
	hashes      = 0
	inRegisters = 1

	precision = 14
	registers = 1 << precision
	maxRank   = 64 - precision + 1
	maxHashes = registers / 8
)

// AppendOf appends the sketch of the set of one value.
func AppendOf(dst []byte, v cells.Value) []byte {
	dst = append(dst, byte(cells.TypeBytes), version, hashes)
	return binary.BigEndian.AppendUint64(dst, hashValue(v))
}

// hashValue is XXH64, with the seed 0, of the value's encoding. Numbers are
// encoded as i64 where that is exact and as f64 otherwise, so that equal numbers
// have one hash.
func hashValue(v cells.Value) uint64 {
	var buf [256]byte
	return xxhash.Sum64(cells.AppendValue(buf[:0], canonical(v)))
}

func canonical(v cells.Value) cells.Value {
	if n, ok := v.Int(); ok {
		return cells.I64(n)
	}
	f, ok := v.Float()
	switch {
	case !ok:
		return v
	case f != f:
		return cells.F64(math.NaN())
	case f == math.Trunc(f) && f >= -1<<63 && f < 1<<63:
		return cells.I64(int64(f))
	}
	return cells.F64(f)
}

// Estimate is about the number of values in the set that a stored sketch represents; ok
// is false when value is not a sketch.
func Estimate(value []byte) (n int64, ok bool) {
	if len(value) < header || cells.Type(value[0]) != cells.TypeBytes || value[1] != version {
		return 0, false
	}
	body := value[header:]
	switch value[2] {
	case hashes:
		n := len(body) / 8
		return int64(n), n > 0 && n <= maxHashes && len(body)%8 == 0
	case inRegisters:
		if len(body) != registers || slices.Max(body) > maxRank {
			return 0, false
		}
		return int64(math.Round(estimateRegisters(body))), true
	}
	return 0, false
}

// Check returns an error unless value is a sketch in its stored form. It checks every
// bit, because the store treats a sketch that it cannot merge as damage.
func Check(value []byte) error {
	switch {
	case len(value) < header || cells.Type(value[0]) != cells.TypeBytes:
		return fmt.Errorf("it has %d bytes, and a sketch 10 or more", max(len(value)-1, 0))
	case value[1] != version:
		return fmt.Errorf("its version is %d; want %d", value[1], version)
	case value[2] != hashes && value[2] != inRegisters:
		return fmt.Errorf("its form is %d; want %d, hashes, or %d, registers", value[2], hashes, inRegisters)
	}
	body := value[header:]
	if _, ok := Estimate(value); !ok {
		return fmt.Errorf("%d bytes are not a valid sketch of the form %d", len(body), value[2])
	}
	if value[2] == inRegisters {
		return nil
	}
	for i := 8; i < len(body); i += 8 {
		if binary.BigEndian.Uint64(body[i-8:]) >= binary.BigEndian.Uint64(body[i:]) {
			return fmt.Errorf("hash %d is not greater than the one before", i/8)
		}
	}
	return nil
}

// estimateRegisters is the improved raw estimator of Otmar Ertl, "New cardinality
// estimation algorithms for HyperLogLog sketches" (2017), algorithm 6: without
// bias over the whole range, and without tables.
func estimateRegisters(ranks []byte) float64 {
	var count [maxRank + 1]float64
	for _, r := range ranks {
		count[r]++
	}
	const m = float64(registers)
	z := m * ertlTau(1-count[maxRank]/m)
	for k := maxRank - 1; k >= 1; k-- {
		z = (z + count[k]) / 2
	}
	z += m * ertlSigma(count[0]/m)
	return m * m / (2 * math.Ln2 * z)
}

// ertlSigma is x + Σ x^(2^k) 2^(k-1) over k ≥ 1.
func ertlSigma(x float64) float64 {
	if x == 1 {
		return math.Inf(1)
	}
	sum, weight := x, 1.0
	for before := -1.0; sum != before; weight *= 2 {
		x *= x
		before = sum
		sum += x * weight
	}
	return sum
}

// ertlTau is (1 - x - Σ (1-x^(2^-k))² 2^-k over k ≥ 1) / 3.
func ertlTau(x float64) float64 {
	if x == 0 || x == 1 {
		return 0
	}
	sum, weight := 1-x, 1.0
	for before := -1.0; sum != before; {
		x = math.Sqrt(x)
		before = sum
		weight /= 2
		sum -= (1 - x) * (1 - x) * weight
	}
	return sum / 3
}
