package rowkey

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// The bytes are those of Google's C++ and Go libraries of ordered code.
func TestOrderedNumbers(t *testing.T) {
	for n, want := range map[int64]string{
		0: "\x80", 1: "\x81", 63: "\xbf", 64: "\xc0\x40", -1: "\x7f", -64: "\x40", -65: "\x3f\xbf", 8191: "\xdf\xff", 8192: "\xe0\x20\x00",
		1<<63 - 1: "\xff\xc0\x7f\xff\xff\xff\xff\xff\xff\xff", -1 << 63: "\x00\x3f\x80\x00\x00\x00\x00\x00\x00\x00",
	} {
		if got := appendOrdered(n); got != want {
			t.Errorf("%d is %x; want %x", n, got, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.Int64().Draw(t, "a"), rapid.Int64().Draw(t, "b")
		x, y := appendOrdered(a), appendOrdered(b)
		if got, ok := readOrdered(x); !ok || got != a || orderedLength(x+y) != len(x) {
			t.Fatalf("%d becomes %d (%t)", a, got, ok)
		}
		if (a < b) != (strings.Compare(x, y) < 0) {
			t.Fatalf("%d and %d are %x and %x", a, b, x, y)
		}
	})
}

// Any bytes are a number or not.
func FuzzOrderedNumbers(f *testing.F) {
	f.Add("\x80")
	f.Add("\xff\xc0")
	f.Add("\x00\x00")
	f.Fuzz(func(t *testing.T, s string) {
		if n, ok := readOrdered(s); ok && appendOrdered(n) != s {
			t.Errorf("%x is %d, which is %x", s, n, appendOrdered(n))
		}
	})
}
