package tuple_test

import (
	"math"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/smolwc/smolwc/tuple"
	"pgregory.net/rapid"
)

func TestString(t *testing.T) {
	for _, c := range []struct {
		tuple tuple.Tuple
		want  string
	}{
		{nil, `()`},
		{tuple.Tuple{"plane", "N223AG", 42}, `("plane", "N223AG", 42)`},
		{tuple.Tuple{nil, true, false}, `(nil, true, false)`},
		{tuple.Tuple{[]byte{0x00, 0xFF}, []byte{}}, `(x'00ff', x'')`},
		{tuple.Tuple{tuple.Tuple{"a", tuple.Tuple{}}, 1}, `(("a", ()), 1)`},
		{tuple.Tuple{`say "hi" \ `, "a\n\r\tb"}, `("say \"hi\" \\ ", "a\n\r\tb")`},
		{tuple.Tuple{"\x00\x7f", "\u0085\u200b", "Zürich 🛩"}, `("\x00\x7f", "\u0085\u200b", "Zürich 🛩")`},
		{tuple.Tuple{"not\xffUTF-8"}, `("not\xffUTF-8")`},
		{tuple.Tuple{-7, uint64(math.MaxUint64), power(64, 1), math.MinInt64},
			`(-7, 18446744073709551615, 18446744073709551616, -9223372036854775808)`},
		{tuple.Tuple{1.5, 2.0, 1e100, math.Copysign(0, -1)}, `(1.5, 2.0, 1e+100, -0.0)`},
		{tuple.Tuple{math.Inf(1), math.Inf(-1), math.NaN(), math.Float64frombits(0x7ff0000000000001)},
			`(inf, -inf, nan, f64'7ff0000000000001')`},
		{tuple.Tuple{float32(1.5), float32(0.1), float32(2)}, `(1.5f32, 0.1f32, 2.0f32)`},
		{tuple.Tuple{float32(math.Inf(-1)), float32(math.NaN()), math.Float32frombits(0xffc00000)},
			`(f32(-inf), f32(nan), f32'ffc00000')`},
		{tuple.Tuple{uuid.MustParse("6ba7b810-9dad-11d1-80b4-00c04fd430c8")}, `(uuid'6ba7b810-9dad-11d1-80b4-00c04fd430c8')`},
		{tuple.Tuple{tuple.Versionstamp{TransactionVersion: [10]byte{1, 2}, UserVersion: 657}},
			`(versionstamp'010200000000000000000291')`},
		{tuple.Tuple{time.Second}, `(!time.Duration)`},
	} {
		if got := c.tuple.String(); got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
}

// The texts of two keys differ exactly if the keys differ.
func TestTextIsUnambiguous(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := tuples.Draw(t, "a")
		b := relative(a).Draw(t, "b")
		if equal := tuple.Compare(a, b) == 0; equal != (a.String() == b.String()) {
			t.Fatalf("equal: %v, but they read %v and %v", equal, a, b)
		}
	})
}
