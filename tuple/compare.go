package tuple

import (
	"bytes"
	"cmp"
	"fmt"
	"strings"

	"github.com/google/uuid"
)

// Compare returns -1, 0 or 1 as a sorts before, with or after b. It is the
// order of their packed bytes, found without packing them:
//
//   - Tuples compare element by element; a tuple sorts before those that extend it.
//   - Types sort null, bytes, string, tuple, integers, float32, float64, false,
//     true, UUID, versionstamp.
//   - Bytes, strings and UUIDs sort by their bytes, which for strings is the
//     order of code points.
//   - Integers sort by value, whatever their Go type. They never equal a
//     float, nor a float32 a float64.
//   - Floats sort in the total order -NaN, -inf, …, -0.0, +0.0, …, +inf, +NaN;
//     NaNs sort by their bits.
//
// Compare panics when it meets a type that [Tuple] does not list, or a nil
// *big.Int.
func Compare(a, b Tuple) int {
	for i := range min(len(a), len(b)) {
		if c := compareElements(a[i], b[i]); c != 0 {
			return c
		}
	}
	return cmp.Compare(len(a), len(b))
}

func compareElements(a, b any) int {
	if c := cmp.Compare(typeCode(a), typeCode(b)); c != 0 {
		return c
	}
	switch a := a.(type) {
	case nil, bool:
		return 0 // false and true differ in their codes
	case []byte:
		return bytes.Compare(a, b.([]byte))
	case string:
		return strings.Compare(a, b.(string))
	case Tuple:
		return Compare(a, b.(Tuple))
	case float32:
		return cmp.Compare(sortable32(a), sortable32(b.(float32)))
	case float64:
		return cmp.Compare(sortable64(a), sortable64(b.(float64)))
	case uuid.UUID:
		other := b.(uuid.UUID)
		return bytes.Compare(a[:], other[:])
	case Versionstamp:
		return a.compare(b.(Versionstamp))
	}
	n, _ := toInteger(a)
	m, _ := toInteger(b)
	return n.compare(m)
}

func (v Versionstamp) compare(other Versionstamp) int {
	return cmp.Or(
		bytes.Compare(v.TransactionVersion[:], other.TransactionVersion[:]),
		cmp.Compare(v.UserVersion, other.UserVersion),
	)
}

// typeCode returns the code that elem is packed with; for integers, codeZero.
func typeCode(elem any) byte {
	switch v := elem.(type) {
	case nil:
		return codeNull
	case []byte:
		return codeBytes
	case string:
		return codeString
	case Tuple:
		return codeNested
	case float32:
		return codeFloat32
	case float64:
		return codeFloat64
	case bool:
		if v {
			return codeTrue
		}
		return codeFalse
	case uuid.UUID:
		return codeUUID
	case Versionstamp:
		return codeVersionstamp
	}
	if _, ok := toInteger(elem); ok {
		return codeZero
	}
	panic(fmt.Sprintf("tuple: cannot compare %T %v", elem, elem))
}
