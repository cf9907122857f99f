package transfer

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/smolwc/smolwc/cells"
)

// The text of a NaN takes three forms: NaN is the quiet NaN without sign and payload,
// which most programs use; -NaN is the same with the sign; any other NaN is NaN(0x…)
// with its bits, 8 digits for an f32 and 16 for an f64.
const (
	quietNaN32 = 0x7fc00000
	quietNaN64 = 0x7ff8000000000000
)

// nanBits returns the bits of a NaN and their number, 32 or 64; ok is false if v is not
// a NaN.
func nanBits(v cells.Value) (bits uint64, width int, ok bool) {
	if f, isF64 := v.AsF64(); isF64 {
		return math.Float64bits(f), 64, f != f
	}
	f, isF32 := v.AsF32()
	return uint64(math.Float32bits(f)), 32, isF32 && f != f
}

func nanText(bits uint64, width int) string {
	quiet, sign := uint64(quietNaN64), uint64(1)<<63
	if width == 32 {
		quiet, sign = quietNaN32, 1<<31
	}
	switch bits {
	case quiet:
		return "NaN"
	case quiet | sign:
		return "-NaN"
	}
	return fmt.Sprintf("NaN(0x%0*x)", width/4, bits)
}

// isUsualNaN reports whether a NaN is quiet and without a payload, of either sign,
// or Go's own.
func isUsualNaN(bits uint64, width int) bool {
	return !strings.Contains(nanText(bits, width), "(") || width == 64 && bits == math.Float64bits(math.NaN())
}

// parseNaN parses the text that nanText writes, and other programs' spellings of NaN. A
// NaN of the other width is converted if no bit is lost.
func parseNaN(text string, typ cells.Type) (v cells.Value, ok bool) {
	bits, ok := parseNaNBits(strings.ToLower(text))
	switch {
	case !ok:
		return v, false
	case typ == cells.TypeF64:
		return cells.F64(math.Float64frombits(bits)), true
	case bits == math.Float64bits(math.NaN()):
		bits = quietNaN64
	}
	const lost = 52 - 23 // bits of the payload that an f32 lacks
	if bits&(1<<lost-1) != 0 {
		return v, false
	}
	return cells.F32(math.Float32frombits(uint32(bits>>63<<31 | 0x7f800000 | bits>>lost&(1<<23-1)))), true
}

// parseNaNBits returns the bits as an f64's.
func parseNaNBits(text string) (bits uint64, ok bool) {
	switch text {
	case "nan", "+nan":
		return quietNaN64, true
	case "-nan":
		return quietNaN64 | 1<<63, true
	}
	hex, isHex := strings.CutPrefix(text, "nan(0x")
	if hex, ok = strings.CutSuffix(hex, ")"); !isHex || !ok {
		return 0, false
	}
	n, err := strconv.ParseUint(hex, 16, 64)
	if err != nil {
		return 0, false
	}
	if len(hex) <= 8 { // an f32
		if float := math.Float32frombits(uint32(n)); float == float {
			return 0, false
		}
		return n>>31<<63 | 0x7ff<<52 | n&(1<<23-1)<<(52-23), true
	}
	float := math.Float64frombits(n)
	return n, float != float
}
