package tuple

import "bytes"

// Compare returns -1, 0 or 1 as a sorts before, with or after b, which is the order of
// their packed bytes:
//
//   - Tuples compare element by element; a tuple sorts before those that extend it.
//   - Types sort null, bytes, string, tuple, integers, float32, float64, false,
//     true, UUID, versionstamp, descending elements.
//   - Bytes, strings and UUIDs sort by their bytes, which for strings is the
//     order of code points.
//   - Integers sort by value, whatever their Go type. They never equal a
//     float, nor a float32 a float64.
//   - Floats sort in the total order -NaN, -inf, …, -0.0, +0.0, …, +inf, +NaN;
//     NaNs sort by their bits.
//   - Descending elements sort as their elements do, the greatest one first.
//
// It packs both tuples, and panics when one of them cannot be packed.
func Compare(a, b Tuple) int { return bytes.Compare(MustPack(a...), MustPack(b...)) }
