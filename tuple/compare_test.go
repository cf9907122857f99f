package tuple_test

import (
	"bytes"
	"cmp"
	"math"
	"strings"

	"github.com/google/uuid"

	"github.com/smolwc/smolwc/tuple"
)

// compareTuples is the order of tuples, found without packing them.
func compareTuples(a, b tuple.Tuple) int {
	for i := range min(len(a), len(b)) {
		if c := compareElements(a[i], b[i]); c != 0 {
			return c
		}
	}
	return cmp.Compare(len(a), len(b))
}

func compareElements(a, b any) int {
	if c := cmp.Compare(typeRank(a), typeRank(b)); c != 0 {
		return c
	}
	switch a := a.(type) {
	case nil, bool:
		return 0 // false and true differ in their ranks
	case []byte:
		return bytes.Compare(a, b.([]byte))
	case string:
		return strings.Compare(a, b.(string))
	case tuple.Tuple:
		return compareTuples(a, b.(tuple.Tuple))
	case float32:
		return cmp.Compare(floatRank(uint64(math.Float32bits(a))<<32), floatRank(uint64(math.Float32bits(b.(float32)))<<32))
	case float64:
		return cmp.Compare(floatRank(math.Float64bits(a)), floatRank(math.Float64bits(b.(float64))))
	case uuid.UUID:
		other := b.(uuid.UUID)
		return bytes.Compare(a[:], other[:])
	case tuple.Versionstamp:
		other := b.(tuple.Versionstamp)
		return cmp.Or(bytes.Compare(a.TransactionVersion[:], other.TransactionVersion[:]), cmp.Compare(a.UserVersion, other.UserVersion))
	case tuple.Descending:
		return compareElements(b.(tuple.Descending).Element, a.Element)
	}
	return toBig(a).Cmp(toBig(b))
}

// floatRank orders floats by sign and magnitude.
func floatRank(bits uint64) int64 {
	if magnitude := int64(bits &^ (1 << 63)); bits != uint64(magnitude) {
		return -magnitude - 1
	}
	return int64(bits)
}

// typeRank is the place of an element's type in the order of types.
func typeRank(elem any) int {
	switch v := elem.(type) {
	case nil:
		return 0
	case []byte:
		return 1
	case string:
		return 2
	case tuple.Tuple:
		return 3
	case float32:
		return 5
	case float64:
		return 6
	case bool:
		if v {
			return 8
		}
		return 7
	case uuid.UUID:
		return 9
	case tuple.Versionstamp:
		return 10
	case tuple.Descending:
		return 11
	}
	return 4 // an integer
}
