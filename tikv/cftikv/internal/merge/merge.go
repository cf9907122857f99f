// Package merge merges the operands of [cf.Batch.Merge] into values, as the merge
// operator of the store on RocksDB does. docs/format.md shows the bytes.
package merge

import (
	"encoding/binary"
	"math/big"

	"github.com/smolwc/smolwc/cf"
)

const (
	tagUnmerged = 0x00
	tagBytes    = 0x01
	tagInt      = 0x06
)

// Full merges operands into a value, which is nil if the cell does not exist yet.
// Operands that cannot be merged become a value with the tag 00, which keeps everything.
func Full(existing []byte, operands ...[]byte) []byte {
	if kind := kindOf(operands); kind != 0 {
		var values [][]byte
		if existing != nil {
			values = append(values, existing)
		}
		for _, o := range operands {
			values = append(values, o[1:])
		}
		if merged, ok := merge(kind, values); ok {
			return merged
		}
	}
	return unmerged(existing, operands)
}

// Operands merges operands into one. It is false if they have no kind in common, or
// cannot be merged.
func Operands(operands ...[]byte) ([]byte, bool) {
	kind := kindOf(operands)
	var values [][]byte
	if kind != 0 {
		for _, o := range operands {
			values = append(values, o[1:])
		}
	}
	merged, ok := merge(kind, values)
	return append([]byte{byte(kind)}, merged...), ok
}

// kindOf is the kind that all operands have, 0 if they differ.
func kindOf(operands [][]byte) (kind cf.MergeKind) {
	for i, o := range operands {
		if len(o) == 0 || i > 0 && cf.MergeKind(o[0]) != kind {
			return 0
		}
		kind = cf.MergeKind(o[0])
	}
	return kind
}

func merge(kind cf.MergeKind, values [][]byte) ([]byte, bool) {
	switch kind {
	case cf.MergeSum:
		return sum(values)
	case cf.MergeMin:
		return extreme(values, func(a, b int64) int64 { return min(a, b) })
	case cf.MergeMax:
		return extreme(values, func(a, b int64) int64 { return max(a, b) })
	case cf.MergeDistinct:
		return union(values)
	}
	return nil, false
}

// unmerged keeps what cannot be merged: each part after its length.
func unmerged(existing []byte, operands [][]byte) []byte {
	kept := []byte{tagUnmerged}
	if len(existing) > 0 && existing[0] == tagUnmerged {
		kept = append(kept, existing[1:]...)
	} else if existing != nil {
		kept = appendPart(kept, existing)
	}
	for _, o := range operands {
		kept = appendPart(kept, o)
	}
	return kept
}

func appendPart(dst, part []byte) []byte {
	return append(binary.BigEndian.AppendUint32(dst, uint32(len(part))), part...)
}

func extreme(values [][]byte, better func(a, b int64) int64) ([]byte, bool) {
	var best int64
	for i, v := range values {
		n, ok := readInt(v)
		if !ok {
			return nil, false
		}
		if i == 0 {
			best = n
		}
		best = better(best, n)
	}
	return appendInt(nil, best), true
}

func readInt(v []byte) (int64, bool) {
	if len(v) != 9 || v[0] != tagInt {
		return 0, false
	}
	return int64(binary.BigEndian.Uint64(v[1:])), true
}

func appendInt(dst []byte, n int64) []byte {
	return binary.BigEndian.AppendUint64(append(dst, tagInt), uint64(n))
}

// sum adds integers of up to 128 bits.
func sum(values [][]byte) ([]byte, bool) {
	total := new(big.Int)
	for _, v := range values {
		n, ok := readWide(v)
		if total.Add(total, n); !ok || !fitsWide(total) {
			return nil, false
		}
	}
	if total.IsInt64() {
		return appendInt(nil, total.Int64()), true
	}
	if total.Sign() < 0 { // two's complement
		total.Add(total, wideRange)
	}
	wide := make([]byte, 17)
	wide[0] = tagBytes
	total.FillBytes(wide[1:])
	return wide, true
}

var (
	wideRange = new(big.Int).Lsh(big.NewInt(1), 128)
	wideHalf  = new(big.Int).Lsh(big.NewInt(1), 127)
)

func fitsWide(n *big.Int) bool {
	return n.Cmp(wideHalf) < 0 && n.Cmp(new(big.Int).Neg(wideHalf)) >= 0
}

// readWide reads a sum. One of 128 bits is valid only if it does not fit into 64.
func readWide(v []byte) (*big.Int, bool) {
	if n, ok := readInt(v); ok {
		return big.NewInt(n), true
	}
	if len(v) != 17 || v[0] != tagBytes {
		return new(big.Int), false
	}
	n := new(big.Int).SetBytes(v[1:])
	if n.Cmp(wideHalf) >= 0 {
		n.Sub(n, wideRange)
	}
	return n, !n.IsInt64()
}
