// Package tuple packs tuples of typed values into byte strings that sort the
// way the tuples do. A packed tuple is a composite key: keys that share their
// leading elements lie next to each other, numbers sort as numbers, and no
// element can be mistaken for the beginning of another, whatever bytes it
// holds.
//
// The bytes equal the FoundationDB tuple layer's, so keys can be exchanged with its
// bindings in any language, except keys with a [Descending] element:
// https://github.com/apple/foundationdb/blob/main/design/tuple.md
//
// All functions may be called from several goroutines at once. They neither keep nor change
// their arguments. Their results belong to the caller, except for [DecodeBytes].
package tuple

// A Tuple is a list of elements. Elements may be:
//
//	nil                          null
//	[]byte                       a nil slice is the empty byte string
//	string                       must be valid UTF-8; see [Options]
//	Tuple                        nested at most [MaxDepth] deep; a nil Tuple is ()
//	int, int8 … int64,           integers lie on one number line, whatever
//	uint, uint8 … uint64,        their Go type: int8(1), uint64(1) and
//	*big.Int, big.Int            big.NewInt(1) are the same element. A
//	                             big.Int holds at most 255 bytes
//	float32, float64             every bit is kept, also of -0.0 and NaN
//	bool
//	uuid.UUID
//	Versionstamp                 complete ones only
//	Descending                   sorts in the reverse order: see [Desc]
//
// Types derived from these, such as time.Duration, are refused: convert them.
//
// A tuple that comes from [Unpack] holds integers as int64 where they fit, as
// uint64 from 2^63 to 2^64-1, and as *big.Int beyond.
type Tuple []any

// A Descending is an element that sorts in the reverse order: with Desc(day) in it, the keys
// of the newest day come first. It sorts after all elements of other types.
//
// FoundationDB's layer lacks such an element. It leaves the type code 40 to users, so other
// bindings refuse a key with it.
type Descending struct{ Element any }

// Desc is an element of any other type, nil and Tuple included, in descending order.
func Desc(element any) Descending { return Descending{element} }

// Bounds of packing and unpacking.
const (
	// MaxDepth is the number of tuples that may be nested in a tuple, one in another: ((1))
	// is of depth 1. It bounds the stack that hostile bytes, or a tuple that holds itself,
	// can make the package use.
	MaxDepth = 100

	// MaxIntBytes is the greatest length of an integer's magnitude, in bytes:
	// integers lie between -(2^2040-1) and 2^2040-1.
	MaxIntBytes = 255
)

// Pack packs a tuple given by its elements. It returns a [*PackError] when an
// element is not of a type that [Tuple] lists, or breaks the rule stated there.
func Pack(elems ...any) ([]byte, error) {
	return AppendPack(nil, elems)
}

// MustPack is [Pack] for elements that the programmer knows to be packable,
// such as literals and numbers. It panics where Pack returns an error: do not
// give it strings that come from outside, which may not be UTF-8.
func MustPack(elems ...any) []byte {
	key, err := Pack(elems...)
	if err != nil {
		panic(err)
	}
	return key
}

// Key is [MustPack] as a row key: Key("plane", "TF-FIR", Desc(20240125)).
func Key(elems ...any) string { return string(MustPack(elems...)) }

// Pack packs the tuple; see the function [Pack]. The empty tuple packs to no
// bytes at all.
func (t Tuple) Pack() ([]byte, error) {
	return AppendPack(nil, t)
}

// AppendPack appends the packed tuple to dst and returns the extended slice.
// When it fails, it returns dst as it was and a [*PackError]; bytes between
// the length and the capacity of dst may have been overwritten.
func AppendPack(dst []byte, t Tuple) ([]byte, error) {
	return Options{}.AppendPack(dst, t)
}

// Unpack is the inverse of [Pack]. It accepts exactly the bytes that Pack produces, so
// its result packs to b again. All other bytes are a [*DecodeError]: truncated
// elements, strings that are not UTF-8, integers with needless leading zeros,
// incomplete versionstamps, and type codes that are reserved or deprecated.
//
// The tuple shares no memory with b. It is not nil when the error is nil.
func Unpack(b []byte) (Tuple, error) {
	return Options{}.Unpack(b)
}
