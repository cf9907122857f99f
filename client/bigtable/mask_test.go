package bigtable

import (
	"fmt"
	"math"
	"strconv"
	"testing"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/smolwc/smolwc/cells"
)

func ExampleParseMask() {
	m, err := ParseMask("pii:*=hash")
	fmt.Println(m.Family, m.Qualifier, m.Method, err)
	_, err = ParseMask("pii:email=drop")
	fmt.Println(err)
	// Output:
	// pii * hash <nil>
	// the mask "pii:email=drop" has the method "drop"; there are hash, null and fake
}

// What the methods make of values of each type, under one key.
func Example_masks() {
	k := masker{[]byte("0123456789abcdef")}
	for _, v := range []cells.Value{
		cells.Bytes([]byte("Ada Lovelace, born 1815-12-10 in zürich")), cells.String("ada@example.org"),
		cells.Bytes([]byte{0, 0, 0, 0, 0, 0, 4, 210}), cells.Bytes([]byte{0xff, 1, 2}), cells.I64(-120), cells.F64(3.25), cells.Bytes(nil),
	} {
		fmt.Println(k.value(v, Hash), k.value(v, Null), k.value(v, Fake))
	}
	// Output:
	// "04c32e041d94b7760616ccca5ae19e9d" "" "Kat Cbbwyyop, qvdq 2033-70-55 ra vìvanx"
	// 919dcbd3e421aae0d2c09235e52cfb26  fcv@atdbjeh.qsd
	// "729d40c0d3bb89719a71e031dc4281f4" "" "\x00\x00\x00\x00\x00\x00\x069"
	// "6c2ff27d9ee08f3bd0059e5329c20ddc" "" "\xbc4L"
	// -1800524387077131857 0 -848
	// 3.618554442e+09 0 9.03
	// "" "" ""
}

// Patterns, in which * stands for any bytes.
func TestMatches(t *testing.T) {
	for _, c := range []struct {
		pattern, text string
		want          bool
	}{
		{"", "", true}, {"", "a", false}, {"*", "", true}, {"*", "a:b\x00", true}, {"a*", "ab", true}, {"a*", "ba", false},
		{"*b", "ab", true}, {"*b", "ba", false}, {"a*c", "abc", true}, {"a*c", "ac", true}, {"ab*b", "ab", false},
		{"*a*b*", "xaxbx", true}, {"*a*b*", "xbxa", false}, {"a**b", "ab", true}, {"*aa", "aaa", true},
	} {
		if got := matches(c.pattern, c.text); got != c.want {
			t.Errorf("matches(%q, %q) is %v", c.pattern, c.text, got)
		}
	}
}

// Masks keep types; they depend on the key and the value only; a fake text has the shape of
// the text.
func TestMasksByLaws(t *testing.T) {
	key, other := masker{[]byte("0123456789abcdef")}, masker{[]byte("0123456789abcdeg")}
	values := rapid.OneOf(
		rapid.Map(rapid.SliceOf(rapid.Byte()), cells.Bytes), rapid.Map(rapid.String(), cells.String), rapid.Map(rapid.String(), func(s string) cells.Value { return cells.Bytes([]byte(s)) }),
		rapid.Map(rapid.Int64(), cells.I64), rapid.Map(rapid.Int32(), cells.I32), rapid.Map(rapid.Byte(), cells.Byte),
		rapid.Map(rapid.Float64(), cells.F64), rapid.Map(rapid.Float32(), cells.F32), rapid.Map(rapid.Bool(), cells.Bool),
		rapid.SampledFrom([]cells.Value{cells.I64(math.MinInt64), cells.I64(math.MaxInt64), cells.F64(math.Inf(1)), cells.F64(math.MaxFloat64), cells.F64(-math.MaxFloat64), cells.F32(math.MaxFloat32),
			cells.I32(math.MaxInt32), cells.I32(math.MinInt32), cells.I32(1_999_999_999), cells.Byte(255), cells.Byte(128), cells.I64(-5), cells.I64(1e18)}),
	)
	rapid.Check(t, func(t *rapid.T) {
		v, by := values.Draw(t, "value"), rapid.SampledFrom([]Method{Hash, Null, Fake}).Draw(t, "method")
		got := key.value(v, by)
		if got.Type() != v.Type() || got.Check() != nil {
			t.Fatalf("%v became %v: %v", v, got, got.Check())
		}
		if again := key.value(v, by); fmt.Sprint(again) != fmt.Sprint(got) {
			t.Fatalf("%v became %v and %v", v, got, again)
		}
		if by == Hash && (v.Type() == cells.TypeBytes || v.Type() == cells.TypeI64) && v.Len() > 0 && other.value(v, by).Equal(got) {
			t.Fatalf("%v became %v under two keys", v, got)
		}
		if by == Fake {
			sameShape(t, v, got)
		}
	})
}

func sameShape(t *rapid.T, v, got cells.Value) {
	switch v.Type() {
	case cells.TypeI64, cells.TypeI32, cells.TypeByte:
		a, _ := v.Int()
		b, _ := got.Int()
		if len(strconv.FormatInt(a, 10)) != len(strconv.FormatInt(b, 10)) {
			t.Fatalf("%d became %d", a, b)
		}
	case cells.TypeF32, cells.TypeF64:
		a, _ := v.Float()
		b, _ := got.Float()
		if math.IsInf(a, 0) != math.IsInf(b, 0) || math.Signbit(a) != math.Signbit(b) && !math.IsNaN(a) {
			t.Fatalf("%v became %v", a, b)
		}
	case cells.TypeString, cells.TypeBytes:
		if v.Len() != got.Len() {
			t.Fatalf("%v became %v", v, got)
		}
		s, ok := v.AsString()
		if !ok || !isText([]byte(s)) {
			return
		}
		fake, _ := got.AsString()
		for i, c := range s {
			d, n := utf8.DecodeRuneInString(fake[i:])
			if n != utf8.RuneLen(c) || (c < utf8.RuneSelf && (unicode.IsDigit(c) != unicode.IsDigit(d) || unicode.IsUpper(c) != unicode.IsUpper(d) || unicode.IsLower(c) != unicode.IsLower(d))) {
				t.Fatalf("%q became %q", s, fake)
			}
			if !unicode.IsLetter(c) && !unicode.IsNumber(c) && !unicode.IsMark(c) && c != d {
				t.Fatalf("%q became %q", s, fake)
			}
		}
	}
}
