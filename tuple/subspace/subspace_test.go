package subspace_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"testing"

	"github.com/smolwc/smolwc/tuple"
	"github.com/smolwc/smolwc/tuple/subspace"
	"pgregory.net/rapid"
)

func TestPrefixes(t *testing.T) {
	for _, c := range []struct {
		space subspace.Subspace
		want  string
	}{
		{subspace.AllKeys(), ""},
		{subspace.Subspace{}, ""},
		{subspace.New(), ""},
		{subspace.FromBytes([]byte{0xFE}), "fe"},
		{subspace.New("tenant-1", 42), "0274656e616e742d3100152a"},
		{subspace.New("tenant-1").Sub(42), "0274656e616e742d3100152a"},
		{subspace.FromBytes([]byte{0xFE}).Sub([]byte{0xFE}), "fe01fe00"},
	} {
		if got := hex.EncodeToString(c.space.Bytes()); got != c.want {
			t.Errorf("prefix %s, want %s", got, c.want)
		}
	}
}

func TestRangeBytes(t *testing.T) {
	begin, end := subspace.New("tenant-1", 42).Range()
	if got, want := hex.EncodeToString(begin), "0274656e616e742d3100152a00"; got != want {
		t.Errorf("begin is %s, want %s", got, want)
	}
	if got, want := hex.EncodeToString(end), "0274656e616e742d3100152aff"; got != want {
		t.Errorf("end is %s, want %s", got, want)
	}
}

func TestSubInSteps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, a, b := spaces.Draw(t, "s"), tuples.Draw(t, "a"), tuples.Draw(t, "b")
		whole := append(append(tuple.Tuple{}, a...), b...)
		if s.Sub(a...).Sub(b...) != s.Sub(whole...) {
			t.Fatalf("Sub%v then Sub%v is not Sub%v", a, b, whole)
		}
		key, err := s.Sub(a...).Pack(b)
		if err != nil || !bytes.Equal(key, s.Sub(whole...).Bytes()) {
			t.Fatalf("Sub%v then Pack%v is not Sub%v: %x, %v", a, b, whole, key, err)
		}
	})
}

func TestKeysComeBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, a := spaces.Draw(t, "s"), tuples.Draw(t, "a")
		key, err := s.Pack(a)
		if err != nil || !s.Contains(key) {
			t.Fatalf("%v does not contain its key %x (%v)", s, key, err)
		}
		got, err := s.Unpack(key)
		if err != nil || tuple.Compare(got, a) != 0 {
			t.Fatalf("%v comes back as %v, %v", a, got, err)
		}
		begin, end := s.Range()
		inRange := bytes.Compare(begin, key) <= 0 && bytes.Compare(key, end) < 0
		if inRange != (len(a) > 0) {
			t.Fatalf("%v in the range of its subspace: %v", a, inRange)
		}
	})
}

func TestContainsIsAPrefixTest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, key := spaces.Draw(t, "s"), raw.Draw(t, "key")
		want := bytes.HasPrefix(key, s.Bytes())
		if got := s.Contains(key); got != want {
			t.Fatalf("%v contains %x: %v, want %v", s, key, got, want)
		}
		if _, err := s.Unpack(key); errors.Is(err, subspace.ErrNotInSubspace) == want {
			t.Fatalf("%v contains %x: %v, but Unpack says %v", s, key, want, err)
		}
	})
}

func TestRangesOfSiblingsAreDisjoint(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, a, b := spaces.Draw(t, "s"), elements.Draw(t, "a"), elements.Draw(t, "b")
		if tuple.Compare(tuple.Tuple{a}, tuple.Tuple{b}) == 0 {
			t.Skip("the same subspace")
		}
		beginA, endA := s.Sub(a).Range()
		beginB, endB := s.Sub(b).Range()
		if bytes.Compare(endA, beginB) > 0 && bytes.Compare(endB, beginA) > 0 {
			t.Fatalf("[%x, %x) and [%x, %x) overlap", beginA, endA, beginB, endB)
		}
	})
}

// The prefix of a string is a prefix of the same string with a 00 after it, so Contains
// cannot distinguish their keys. Range and Unpack can.
func TestNeighbourWhoseStringGoesOnWithZero(t *testing.T) {
	s, neighbour := subspace.New("a"), subspace.New("a\x00")
	key, err := neighbour.Pack(tuple.Tuple{1})
	if err != nil || !s.Contains(key) {
		t.Errorf("Contains is a test of bytes, and %x starts with %v (%v)", key, s, err)
	}
	if _, end := s.Range(); bytes.Compare(key, end) < 0 {
		t.Errorf("%x is in the range of %v", key, s)
	}
	if got, err := s.Unpack(key); err == nil {
		t.Errorf("%x unpacks to %v in %v", key, got, s)
	}
}

func TestUnpackErrors(t *testing.T) {
	s := subspace.New("a")
	_, err := s.Unpack([]byte{0x15, 0x01})
	if want := "key is not in subspace x'026100': x'1501'"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	_, err = s.Unpack(append(s.Bytes(), 0x14, 0x15))
	var fault *tuple.DecodeError
	if !errors.As(err, &fault) || fault.Offset != 4 {
		t.Errorf("got %v, want a fault at byte 4 of the key", err)
	}
}

func TestPackErrors(t *testing.T) {
	key, err := subspace.New("a").Pack(tuple.Tuple{"\xff"})
	var fault *tuple.PackError
	if !errors.As(err, &fault) || key != nil {
		t.Errorf("got %x, %v", key, err)
	}
	defer func() {
		if recover() == nil {
			t.Error("Sub of an unpackable element does not panic")
		}
	}()
	subspace.New("\xff")
}

func TestSubspacesOwnTheirPrefix(t *testing.T) {
	prefix := []byte("abc")
	s := subspace.FromBytes(prefix)
	prefix[0] = 'x'
	s.Bytes()[1] = 'x'
	if s != subspace.FromBytes([]byte("abc")) {
		t.Errorf("prefix changed to %q", s.Bytes())
	}
}

var (
	raw = rapid.SliceOfN(rapid.SampledFrom([]byte{0x00, 0x01, 0x02, 'a', 0xFF}), 0, 6)

	spaces = rapid.Map(raw, subspace.FromBytes)

	elements = rapid.OneOf(
		rapid.Just[any](nil), raw.AsAny(), rapid.StringN(0, 3, -1).AsAny(), rapid.Int64Range(-300, 300).AsAny(),
		rapid.Just[any](tuple.Tuple{nil}), rapid.Bool().AsAny(),
	)

	tuples = rapid.Map(rapid.SliceOfN(elements, 0, 3), func(e []any) tuple.Tuple { return e })
)
