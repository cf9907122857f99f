package transfer

import (
	"math"
	"testing"

	"github.com/smolwc/smolwc/cells"
)

// TestNaNsAreRead: NaNs as programs write them, of both widths, into columns of both
// widths.
func TestNaNsAreRead(t *testing.T) {
	for text, want := range map[string][2]uint64{ // as f64 and f32; 0: refused
		"NaN":                      {0x7ff8000000000000, 0x7fc00000},
		" nan ":                    {0x7ff8000000000000, 0x7fc00000},
		"+NaN":                     {0x7ff8000000000000, 0x7fc00000},
		"-nan":                     {0xfff8000000000000, 0xffc00000},
		"NaN(0x7ff8000000000001)":  {0x7ff8000000000001, 0x7fc00000}, // Go's
		"NaN(0x7ff8000000000002)":  {0x7ff8000000000002, 0},
		"NaN(0xfff0000020000000)":  {0xfff0000020000000, 0xff800001},
		"NaN(0x7fc00001)":          {0x7ff8000020000000, 0x7fc00001},
		"NaN(0xff800001)":          {0xfff0000020000000, 0xff800001},
		"NaN(0x7f800000)":          {0, 0}, // infinite
		"NaN(0x7ff0000000000000)":  {0, 0},
		"NaN(0x)":                  {0, 0},
		"NaN(0x1ffffffffffffffff)": {0, 0},
		"NaN(7fc00000)":            {0, 0},
		"nano":                     {0, 0},
	} {
		v, problem := convert(text, cells.TypeF64)
		f, _ := v.AsF64()
		if bits := math.Float64bits(f); (problem == "") != (want[0] != 0) || bits != want[0] {
			t.Errorf("%s as f64: %016x, %s; want %016x", text, bits, problem, want[0])
		}
		v, problem = convert(text, cells.TypeF32)
		f32, _ := v.AsF32()
		if bits := math.Float32bits(f32); (problem == "") != (want[1] != 0) || uint64(bits) != want[1] {
			t.Errorf("%s as f32: %08x, %s; want %08x", text, bits, problem, want[1])
		}
	}
}
