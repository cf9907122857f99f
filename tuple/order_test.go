package tuple_test

import (
	"bytes"
	"cmp"
	"fmt"
	"math/big"
	"testing"

	"github.com/smolwc/smolwc/tuple"
	"pgregory.net/rapid"
)

func TestKeysSortAsTuplesDo(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := tuples.Draw(t, "a")
		b := relative(a).Draw(t, "b")
		want := compareTuples(a, b)
		if got := tuple.Compare(a, b); got != want {
			t.Fatalf("Compare(%v, %v) = %d, want %d", a, b, got, want)
		}
		if got := tuple.Compare(b, a); got != -want {
			t.Fatalf("Compare(%v, %v) = %d, want %d", b, a, got, -want)
		}
		if keys := bytes.Compare(tuple.MustPack(a...), tuple.MustPack(b...)); keys != want {
			t.Fatalf("the keys of %v and %v compare %d, want %d", a, b, keys, want)
		}
	})
}

func TestUnpackIsTheInverseOfPack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := tuples.Draw(t, "a")
		got, err := tuple.Unpack(tuple.MustPack(a...))
		if err != nil {
			t.Fatal(err)
		}
		if !identical(got, normal(a)) {
			t.Fatalf("%v comes back as %v", a, got)
		}
		if c := compareTuples(a, got); c != 0 {
			t.Fatalf("%v comes back as %v, and they compare %d", a, got, c)
		}
	})
}

func TestATupleSortsBeforeItsExtensions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := tuples.Draw(t, "a")
		longer := append(append(tuple.Tuple{}, a...), elements.Draw(t, "next"))
		if tuple.Compare(a, longer) >= 0 || bytes.Compare(tuple.MustPack(a...), tuple.MustPack(longer...)) >= 0 {
			t.Fatalf("%v does not sort before %v", a, longer)
		}
	})
}

func TestTypesSortByTheirCodes(t *testing.T) {
	elems := oneOfEachType()
	for i := 1; i < len(elems); i++ {
		a, b := elems[i-1:i], elems[i:i+1]
		if tuple.Compare(a, b) != -1 || tuple.Compare(b, a) != 1 {
			t.Errorf("%v does not sort before %v", a, b)
		}
		if bytes.Compare(tuple.MustPack(a...), tuple.MustPack(b...)) >= 0 {
			t.Errorf("the key of %v does not sort before that of %v", a, b)
		}
	}
}

// Integers are checked against math/big, which shares no code with the package.
func TestIntegersLieOnOneNumberLine(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := integers.Draw(t, "a"), integers.Draw(t, "b")
		want := toBig(a).Cmp(toBig(b))
		if got := tuple.Compare(tuple.Tuple{a}, tuple.Tuple{b}); got != want {
			t.Fatalf("Compare(%T %[1]v, %T %[2]v) = %d, want %d", a, b, got, want)
		}
		if got := bytes.Compare(tuple.MustPack(a), tuple.MustPack(b)); got != want {
			t.Fatalf("the keys of %T %[1]v and %T %[2]v compare %d, want %d", a, b, got, want)
		}
	})
}

// Floats other than NaN and zero sort as numbers.
func TestFloatsSortAsNumbers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := float64s.Draw(t, "a"), float64s.Draw(t, "b")
		c, d := float32s.Draw(t, "c"), float32s.Draw(t, "d")
		if got := bytes.Compare(tuple.MustPack(a), tuple.MustPack(b)); (a < b || a > b) && got != cmp.Compare(a, b) {
			t.Fatalf("the keys of %v and %v compare %d", a, b, got)
		}
		if got := bytes.Compare(tuple.MustPack(c), tuple.MustPack(d)); (c < d || c > d) && got != cmp.Compare(c, d) {
			t.Fatalf("the keys of %v and %v compare %d", c, d, got)
		}
	})
}

func TestComparePanicsOnWhatCannotBePacked(t *testing.T) {
	for _, elem := range []any{struct{}{}, (*big.Int)(nil)} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%T: no panic", elem)
				}
			}()
			tuple.Compare(tuple.Tuple{elem}, tuple.Tuple{1})
		}()
	}
}

func toBig(n any) *big.Int {
	switch n := n.(type) {
	case *big.Int:
		return n
	case big.Int:
		return &n
	}
	b, _ := new(big.Int).SetString(fmt.Sprint(n), 10)
	return b
}

// normal returns a with its integers in the Go types that Unpack promises.
func normal(a tuple.Tuple) tuple.Tuple {
	out := tuple.Tuple{}
	for _, elem := range a {
		if nested, ok := elem.(tuple.Tuple); ok {
			elem = normal(nested)
		} else if desc, ok := elem.(tuple.Descending); ok {
			elem = tuple.Desc(normal(tuple.Tuple{desc.Element})[0])
		} else if n, ok := integerOf(elem); ok {
			elem = n
		}
		out = append(out, elem)
	}
	return out
}

func integerOf(elem any) (any, bool) {
	switch elem.(type) {
	case int, int8, int16, int32, int64, uint, uint8, uint16, uint32, uint64, *big.Int, big.Int:
		n := toBig(elem)
		switch {
		case n.IsInt64():
			return n.Int64(), true
		case n.IsUint64():
			return n.Uint64(), true
		}
		return n, true
	}
	return nil, false
}
