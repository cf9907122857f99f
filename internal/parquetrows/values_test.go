package parquetrows

import (
	"encoding/binary"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestUnpackBools: runs of any length, beside groups of eight.
func TestUnpackBools(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var want []bool
		var runs []byte
		for range rapid.IntRange(0, 5).Draw(t, "runs") {
			if n := rapid.IntRange(0, 40).Draw(t, "n"); rapid.Bool().Draw(t, "run") {
				v := rapid.Byte().Draw(t, "value") & 1
				runs = binary.AppendUvarint(runs, uint64(n)<<1)
				if n > 0 {
					runs = append(runs, v)
				}
				want = append(want, slices.Repeat([]bool{v == 1}, n)...)
			} else {
				packed := rapid.SliceOfN(rapid.Byte(), 0, 3).Draw(t, "packed")
				runs = append(binary.AppendUvarint(runs, uint64(len(packed))<<1|1), packed...)
				for i := range 8 * len(packed) {
					want = append(want, packed[i/8]>>(i%8)&1 == 1)
				}
			}
		}
		src := append(binary.LittleEndian.AppendUint32(nil, uint32(len(runs))), runs...)
		bits, err := unpackBools(src, len(want))
		if err != nil || len(bits) != (len(want)+7)/8 {
			t.Fatalf("%x: %x, %v", src, bits, err)
		}
		for i, v := range want {
			if v != (bits[i/8]>>(i%8)&1 == 1) {
				t.Fatalf("%x: value %d is not %t", src, i, v)
			}
		}
	})
}

// TestFloat16 compares some numbers with what IEEE 754 says they are.
func TestFloat16(t *testing.T) {
	for bits, want := range map[uint32]float64{
		0x3c00: 1, 0xc000: -2, 0x7bff: 65504, 0x0001: math.Ldexp(1, -24), 0x03ff: math.Ldexp(1023, -24), 0x0400: math.Ldexp(1, -14),
		0x8000: math.Copysign(0, -1), 0x7c00: math.Inf(1), 0xfc00: math.Inf(-1), 0x3555: 0.333251953125,
	} {
		if got := float64(float16(bits)); got != want || math.Signbit(got) != math.Signbit(want) {
			t.Errorf("%04x is %v, want %v", bits, got, want)
		}
	}
	if !math.IsNaN(float64(float16(0x7e00))) {
		t.Error("7e00 is a number")
	}
}
