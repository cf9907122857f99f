package tuple_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/smolwc/smolwc/tuple"
	"pgregory.net/rapid"
)

func TestRangeHoldsExactlyTheExtensions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := tuples.Draw(t, "a")
		b := relative(a).Draw(t, "b")
		begin, end, err := tuple.Range(a)
		if err != nil {
			t.Fatal(err)
		}
		got := between(tuple.MustPack(b...), begin, end)
		want := len(b) > len(a) && tuple.Compare(a, b[:len(a)]) == 0
		if got != want {
			t.Fatalf("%v in the range of %v: %v, want %v", b, a, got, want)
		}
	})
}

func TestRangeIsStrict(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := tuples.Draw(t, "a")
		longer := append(append(tuple.Tuple{}, a...), elements.Draw(t, "next"))
		begin, end, err := tuple.Range(a)
		if err != nil {
			t.Fatal(err)
		}
		if between(tuple.MustPack(a...), begin, end) {
			t.Fatalf("the range of %v holds its own key", a)
		}
		if !between(tuple.MustPack(longer...), begin, end) {
			t.Fatalf("the range of %v lacks %v", a, longer)
		}
	})
}

func TestRangeBytes(t *testing.T) {
	begin, end, err := tuple.Range(tuple.Tuple{"tenant-1", 42})
	if err != nil {
		t.Fatal(err)
	}
	if want := unhex(t, "0274656e616e742d3100152a00"); !bytes.Equal(begin, want) {
		t.Errorf("begin is %x, want %x", begin, want)
	}
	if want := unhex(t, "0274656e616e742d3100152aff"); !bytes.Equal(end, want) {
		t.Errorf("end is %x, want %x", end, want)
	}
	if _, _, err := tuple.Range(tuple.Tuple{"\xff"}); err == nil {
		t.Error("a tuple that cannot be packed has a range")
	}
}

func TestPrefixRangeHoldsExactlyThePrefixed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		prefix, tail := byteString.Draw(t, "prefix"), byteString.Draw(t, "tail")
		keep := rapid.IntRange(0, len(prefix)).Draw(t, "keep")
		key := append(bytes.Clone(prefix[:keep]), tail...)
		begin, end, err := tuple.PrefixRange(prefix)
		if err != nil {
			t.Skip("a prefix without successor")
		}
		if got, want := between(key, begin, end), bytes.HasPrefix(key, prefix); got != want {
			t.Fatalf("%x in the range of prefix %x: %v, want %v", key, prefix, got, want)
		}
	})
}

func TestStrinc(t *testing.T) {
	for _, c := range []struct{ prefix, want string }{
		{"a", "b"},
		{"a\x00", "a\x01"},
		{"a\xfe", "a\xff"},
		{"a\xff\xff", "b"},
		{"\xffa\xff", "\xffb"},
	} {
		prefix := []byte(c.prefix)
		got, err := tuple.Strinc(prefix)
		if string(got) != c.want || err != nil {
			t.Errorf("strinc(%x) = %x, %v; want %x", c.prefix, got, err, c.want)
		}
		if string(prefix) != c.prefix {
			t.Errorf("strinc(%x) changed its argument", c.prefix)
		}
	}
	for _, prefix := range []string{"", "\xff", "\xff\xff"} {
		if got, err := tuple.Strinc([]byte(prefix)); !errors.Is(err, tuple.ErrNoSuccessor) {
			t.Errorf("strinc(%x) = %x, %v", prefix, got, err)
		}
		if _, _, err := tuple.PrefixRange([]byte(prefix)); !errors.Is(err, tuple.ErrNoSuccessor) {
			t.Errorf("prefix range of %x: %v", prefix, err)
		}
	}
}

func between(key, begin, end []byte) bool {
	return bytes.Compare(begin, key) <= 0 && bytes.Compare(key, end) < 0
}
