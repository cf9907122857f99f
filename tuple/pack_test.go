package tuple_test

import (
	"bytes"
	"errors"
	"math"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/smolwc/smolwc/tuple"
)

func TestIntegersOfEveryGoTypeAreOneElement(t *testing.T) {
	for _, c := range []struct {
		elems tuple.Tuple
		hex   string
		back  any
	}{
		{tuple.Tuple{7, int8(7), int16(7), int32(7), int64(7), uint(7), uint8(7), uint16(7), uint32(7), uint64(7),
			big.NewInt(7), *big.NewInt(7)}, "1507", int64(7)},
		{tuple.Tuple{-7, int8(-7), int16(-7), int32(-7), int64(-7), big.NewInt(-7), *big.NewInt(-7)}, "13f8", int64(-7)},
		{tuple.Tuple{0, uint8(0), new(big.Int), big.Int{}}, "14", int64(0)},
		{tuple.Tuple{int8(math.MinInt8), -128}, "137f", int64(-128)},
		{tuple.Tuple{math.MinInt64, power(63, -1)}, "0c7fffffffffffffff", int64(math.MinInt64)},
		{tuple.Tuple{uint64(math.MaxUint64), offset(power(64, 1), -1)}, "1cffffffffffffffff", uint64(math.MaxUint64)},
		{tuple.Tuple{offset(power(64, -1), 1)}, "0c0000000000000000", offset(power(64, -1), 1)},
	} {
		for _, elem := range c.elems {
			key, err := tuple.Pack(elem)
			if err != nil || !bytes.Equal(key, unhex(t, c.hex)) {
				t.Errorf("%T %v packs to %x, %v; want %s", elem, elem, key, err, c.hex)
				continue
			}
			back, err := tuple.Unpack(key)
			if err != nil || !identical(back, tuple.Tuple{c.back}) {
				t.Errorf("%T %v comes back as %T %v, %v", elem, elem, back[0], back[0], err)
			}
		}
	}
}

func TestGreatestIntegers(t *testing.T) {
	greatest := offset(power(8*tuple.MaxIntBytes, 1), -1)
	least := new(big.Int).Neg(greatest)
	for _, n := range []*big.Int{greatest, least} {
		back, err := tuple.Unpack(tuple.MustPack(n))
		if err != nil || !identical(back, tuple.Tuple{n}) {
			t.Errorf("%v comes back as %v, %v", n, back, err)
		}
	}
	for _, n := range []*big.Int{offset(greatest, 1), offset(least, -1)} {
		if key, err := tuple.Pack(n); err == nil {
			t.Errorf("%v packs to %x", n, key)
		}
	}
}

func TestPackErrorsNameTheElement(t *testing.T) {
	type ID string
	for _, c := range []struct {
		tuple tuple.Tuple
		path  []int
		want  string
	}{
		{tuple.Tuple{"a", "b\xffc"}, []int{1},
			`tuple: cannot pack element 1: string is not valid UTF-8: "b\xffc"`},
		{tuple.Tuple{"a", "b", tuple.Tuple{1, tuple.Tuple{"\x80"}}}, []int{2, 1, 0},
			`tuple: cannot pack element 2.1.0: string is not valid UTF-8: "\x80"`},
		{tuple.Tuple{strings.Repeat("\xe9", 65)}, []int{0},
			`tuple: cannot pack element 0: string is not valid UTF-8: "` + strings.Repeat(`\xe9`, 64) + `"…`},
		{tuple.Tuple{time.Second}, []int{0},
			"tuple: cannot pack element 0: type time.Duration has no packed form"},
		{tuple.Tuple{ID("x")}, []int{0},
			"tuple: cannot pack element 0: type tuple_test.ID has no packed form"},
		{tuple.Tuple{[]any{1}}, []int{0},
			"tuple: cannot pack element 0: type []interface {} has no packed form"},
		{tuple.Tuple{(*big.Int)(nil)}, []int{0},
			"tuple: cannot pack element 0: *big.Int is nil"},
		{tuple.Tuple{power(8*tuple.MaxIntBytes, 1)}, []int{0},
			"tuple: cannot pack element 0: integer of 256 bytes is longer than 255"},
		{tuple.Tuple{incompleteStamp()}, []int{0},
			"tuple: cannot pack element 0: versionstamp is incomplete"},
	} {
		_, err := c.tuple.Pack()
		var fault *tuple.PackError
		if !errors.As(err, &fault) || err.Error() != c.want || !slices.Equal(fault.Path, c.path) {
			t.Errorf("got %v, want %v at %v", err, c.want, c.path)
		}
	}
}

func TestMustPackPanicsWherePackFails(t *testing.T) {
	defer func() {
		if err, ok := recover().(*tuple.PackError); !ok {
			t.Errorf("recovered %v, want a *PackError", err)
		}
	}()
	tuple.MustPack("\xff")
}

func TestNilSlicesAreEmptyElements(t *testing.T) {
	nils := tuple.MustPack([]byte(nil), tuple.Tuple(nil))
	if empty := tuple.MustPack([]byte{}, tuple.Tuple{}); !bytes.Equal(nils, empty) {
		t.Errorf("got %x, want %x", nils, empty)
	}
}

func TestAppendPack(t *testing.T) {
	prefix := []byte("prefix")
	got, err := tuple.AppendPack(prefix, tuple.Tuple{1})
	if err != nil || string(got) != "prefix\x15\x01" {
		t.Errorf("got %q, %v", got, err)
	}
	got, err = tuple.AppendPack(prefix, tuple.Tuple{1, "\xff"})
	if err == nil || string(got) != "prefix" {
		t.Errorf("on an error: got %q, %v; want dst as it was", got, err)
	}
}

// oneOfEachType returns elements of all types in their order; the integers
// stand for each length of their encoding.
func oneOfEachType() tuple.Tuple {
	return tuple.Tuple{
		nil, []byte("a\x00b"), "a\x00b", tuple.Tuple{nil, "a", tuple.Tuple{}},
		power(100, -1), math.MinInt64, -1 << 40, -1000, -1, 0, 1, 1000, 1 << 40, uint64(math.MaxUint64), power(100, 1),
		float32(1.5), 1.5, false, true,
		uuid.MustParse("6ba7b810-9dad-11d1-80b4-00c04fd430c8"),
		tuple.Versionstamp{TransactionVersion: [10]byte{1}, UserVersion: 2},
		tuple.Desc("a\x00b"),
	}
}

func incompleteStamp() tuple.Versionstamp {
	var stamp tuple.Versionstamp
	for i := range stamp.TransactionVersion {
		stamp.TransactionVersion[i] = 0xFF
	}
	return stamp
}

// power returns sign * 2^n.
func power(n uint, sign int64) *big.Int {
	return new(big.Int).Lsh(big.NewInt(sign), n)
}

func offset(n *big.Int, by int64) *big.Int {
	return new(big.Int).Add(n, big.NewInt(by))
}
