package value

import (
	"bytes"
	"math"
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// drawNumeric draws NUMERICs of all lengths.
func drawNumeric(t *rapid.T, name string) Numeric {
	digits := rapid.StringMatching(`[0-9]{1,38}`).Draw(t, name)
	of, _ := new(big.Int).SetString(digits, 10)
	if rapid.Bool().Draw(t, "negative "+name) {
		of.Neg(of)
	}
	n, ok := NumericOfBillionths(of)
	if !ok || n.Billionths().Cmp(of) != 0 {
		t.Fatalf("%s billionths are %s, %t", of, n.Billionths(), ok)
	}
	return n
}

// model is a fraction as a NUMERIC, written by big.Rat, which rounds half away from zero; "" beyond
// the range.
func model(of *big.Rat) string {
	text := of.FloatString(fraction)
	if text == "-0.000000000" {
		text = text[1:]
	}
	if strings.Index(strings.TrimPrefix(text, "-"), ".") > mostDigits-fraction {
		return ""
	}
	return strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
}

// Arithmetic is that of fractions, rounded once.
func TestNumericsAreFractions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawNumeric(t, "a"), drawNumeric(t, "b")
		check := func(op string, got Numeric, ok bool, want *big.Rat) {
			if text := model(want); ok != (text != "") || ok && got.String() != text {
				t.Fatalf("%v %s %v is %v, %t; want %s", a, op, b, got, ok, text)
			}
		}
		sum, ok := a.Plus(b)
		check("+", sum, ok, new(big.Rat).Add(a.Rat(), b.Rat()))
		product, ok := a.Times(b)
		check("*", product, ok, new(big.Rat).Mul(a.Rat(), b.Rat()))
		if b.Sign() != 0 {
			quotient, ok := a.Over(b)
			check("/", quotient, ok, new(big.Rat).Quo(a.Rat(), b.Rat()))
		}
		if got, want := a.Compare(b), a.Rat().Cmp(b.Rat()); got != want {
			t.Fatalf("%v is %d of %v; want %d", a, got, b, want)
		}
		if got, want := bytes.Equal(AppendKey(nil, a), AppendKey(nil, b)), a == b; got != want {
			t.Fatalf("the keys of %v and %v are equal: %t", a, b, got)
		}
		if want, _ := a.Rat().Float64(); a.Float() != want {
			t.Fatalf("%v is %v as FLOAT64; want %v", a, a.Float(), want)
		}
		var all NumericSum
		for range 5 {
			all.Add(a)
			all.Add(b)
		}
		mean, ok := all.Over(10)
		half := new(big.Rat).Add(a.Rat(), b.Rat())
		check("mean", mean, ok, half.Quo(half, big.NewRat(2, 1)))
	})
}

// A NUMERIC is the same after a temporary file of a query, and as text.
func TestNumericsAreReadAgain(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := drawNumeric(t, "n")
		b, err := Append(nil, n)
		if err != nil {
			t.Fatal(err)
		}
		if again, rest, err := Cut(b); again != n || len(rest) > 0 || err != nil {
			t.Fatalf("%v is %v, %d bytes, %v in a file", n, again, len(rest), err)
		}
		if _, _, err := Cut(b[:len(b)-1]); err == nil {
			t.Fatal("a NUMERIC that is cut off was read")
		}
		if again, err := ReadNumeric(n.String(), true); again != n || err != nil {
			t.Fatalf("%v is %v, %v as text", n, again, err)
		}
		i := rapid.Int64().Draw(t, "integer")
		if back, ok := NumericOf(i).Int(); back != i || !ok {
			t.Fatalf("%d is %v, and then %d, %t", i, NumericOf(i), back, ok)
		}
		f := rapid.Float64Range(-1e30, 1e30).Draw(t, "float")
		of, ok := NumericOfFloat(f)
		if want := model(new(big.Rat).SetFloat64(f)); ok != (want != "") || ok && of.String() != want {
			t.Fatalf("%v is %v, %t; want %s", f, of, ok, want)
		}
	})
	for _, f := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat64, 1e29, -1.1e29} {
		if n, ok := NumericOfFloat(f); ok != (f == 1e29) {
			t.Errorf("%v is %v, %t", f, n, ok)
		}
	}
}

// Any text is a NUMERIC as big.Rat reads it, or an error.
func FuzzNumeric(f *testing.F) {
	for _, s := range []string{"1.5", "-.5e-9", "+1e28", "0e999999999999999999", "99999999999999999999999999999.9999999995", "1e", "0x1", "1_0", "", " 1\t", "1e1_0", "0000000000000000000000000000000000000000000001"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		n, err := ReadNumeric(s, false)
		exact, errExact := ReadNumeric(s, true)
		if errExact == nil && (err != nil || exact != n) {
			t.Fatalf("%q is %v, %v and %v exactly", s, n, err, exact)
		}
		if err != nil {
			return
		}
		if again, err := ReadNumeric(n.String(), true); again != n || err != nil {
			t.Fatalf("%q is %v, and then %v, %v", s, n, again, err)
		}
		text := strings.Trim(s, " \t\n\v\f\r")
		if i := strings.IndexAny(text, "eE"); i >= 0 && len(text)-i > 4 { // too large for big.Rat
			return
		}
		want, ok := new(big.Rat).SetString(text)
		if !ok || model(want) != n.String() {
			t.Fatalf("%q is %v; want %v, %t", s, n, want, ok)
		}
	})
}
