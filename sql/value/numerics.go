package value

import (
	"cmp"
	"math"
	"math/big"
	"math/bits"
	"strconv"
	"strings"

	"github.com/smolwc/smolwc/sql/parse"
)

// A Numeric is a decimal number with up to 29 digits before its point and 9 after it: a number of
// billionths, of up to 38 digits, in 128 bits. The zero value is 0; == compares.
// https://github.com/google/googlesql/blob/master/docs/data-types.md#decimal_types
type Numeric struct {
	high int64
	low  uint64
}

const (
	fraction    = 9  // digits after the point of a NUMERIC
	mostDigits  = 38 // of its billionths
	billionth   = 1_000_000_000
	greatestTop = 0x4B3B4CA85A86C47A // the upper half of 10^38 - 1
	greatestLow = 0x098A223FFFFFFFFF
)

var (
	billion  = big.NewInt(billionth)
	greatest = Numeric{greatestTop, greatestLow}
	least    = greatest.Negated()
)

// NumericOf is an integer as a NUMERIC.
func NumericOf(n int64) Numeric {
	high, low := bits.Mul64(uint64(max(n, -n)), billionth) // of the least INT64 also
	if of := (Numeric{int64(high), low}); n >= 0 {
		return of
	}
	return Numeric{int64(high), low}.Negated()
}

// NumericOfBillionths is a number of billionths; ok is false if it has more than 38 digits.
func NumericOfBillionths(of *big.Int) (n Numeric, ok bool) {
	if of.BitLen() > 127 {
		return n, false
	}
	abs := new(big.Int).Abs(of)
	n.low = new(big.Int).And(abs, new(big.Int).SetUint64(math.MaxUint64)).Uint64()
	n.high = int64(abs.Rsh(abs, 64).Uint64())
	if of.Sign() < 0 {
		n = n.Negated()
	}
	return n, n.fits()
}

// NumericOfFloat rounds half away from zero; ok is false if the number is not finite, or too large.
func NumericOfFloat(f float64) (n Numeric, ok bool) {
	if math.IsNaN(f) || math.Abs(f) > 1e30 {
		return n, false
	}
	return NumericOfRat(new(big.Rat).SetFloat64(f))
}

// NumericOfRat rounds half away from zero; ok is false beyond the range.
func NumericOfRat(of *big.Rat) (n Numeric, ok bool) {
	return NumericOfBillionths(Quotient(new(big.Int).Mul(of.Num(), billion), of.Denom()))
}

// Quotient is a / b, rounded half away from zero.
func Quotient(a, b *big.Int) *big.Int {
	q, r := new(big.Int).QuoRem(a, b, new(big.Int))
	if r.Lsh(r, 1).CmpAbs(b) >= 0 {
		q.Add(q, big.NewInt(int64(a.Sign()*b.Sign())))
	}
	return q
}

// ReadNumeric reads a decimal number, which may have an exponent. A digit after the ninth of the
// fraction rounds half away from zero; if exact is set, it is an error unless it is 0.
func ReadNumeric(s string, exact bool) (Numeric, error) {
	bad := parse.Invalid("%.100q cannot be cast to NUMERIC", s)
	text := strings.Trim(s, " \t\n\v\f\r")
	text, negative := strings.CutPrefix(text, "-")
	if !negative {
		text = strings.TrimPrefix(text, "+")
	}
	exponent := 0
	if i := strings.IndexAny(text, "eE"); i >= 0 {
		var err error
		// Atoi gives the bound of its type for what is too large.
		if exponent, err = strconv.Atoi(text[i+1:]); err != nil && exponent == 0 {
			return Numeric{}, bad
		}
		text = text[:i]
	}
	whole, after, _ := strings.Cut(text, ".")
	digits := whole + after
	if digits == "" || strings.Trim(digits, "0123456789") != "" {
		return Numeric{}, bad
	}
	leading := len(digits)
	digits = strings.TrimLeft(digits, "0")
	if leading -= len(digits); digits == "" {
		return Numeric{}, nil
	}
	const far = 1 << 30                                                     // more digits than a text has
	size := len(whole) - leading + min(max(exponent, -far), far) + fraction // digits of the billionths
	if size > mostDigits {
		return Numeric{}, parse.Invalid("%.100q is out of the range of NUMERIC", s)
	}
	rounds := false
	if kept := min(max(size, 0), len(digits)); kept < len(digits) {
		if exact && strings.Trim(digits[kept:], "0") != "" {
			return Numeric{}, parse.Invalid("%.100q has more than 9 digits after the point; a CAST rounds them", s)
		}
		rounds = size >= 0 && digits[kept] >= '5'
		digits = digits[:kept]
	}
	n := new(big.Int)
	if size > 0 {
		n.SetString(digits+strings.Repeat("0", size-len(digits)), 10)
	}
	if rounds {
		n.Add(n, big.NewInt(1))
	}
	if negative {
		n.Neg(n)
	}
	of, ok := NumericOfBillionths(n)
	if !ok {
		return of, parse.Invalid("%.100q is out of the range of NUMERIC", s)
	}
	return of, nil
}

func (n Numeric) fits() bool { return n.Compare(greatest) <= 0 && n.Compare(least) >= 0 }

// Compare is -1, 0 or 1.
func (n Numeric) Compare(m Numeric) int {
	return cmp.Or(cmp.Compare(n.high, m.high), cmp.Compare(n.low, m.low))
}

// Sign is -1, 0 or 1.
func (n Numeric) Sign() int { return n.Compare(Numeric{}) }

// Negated is -n.
func (n Numeric) Negated() Numeric {
	low, borrow := bits.Sub64(0, n.low, 0)
	high, _ := bits.Sub64(0, uint64(n.high), borrow)
	return Numeric{int64(high), low}
}

// Billionths is the number times 10^9, which is an integer.
func (n Numeric) Billionths() *big.Int {
	abs := n
	if n.high < 0 {
		abs = n.Negated()
	}
	of := new(big.Int).SetUint64(uint64(abs.high))
	of.Or(of.Lsh(of, 64), new(big.Int).SetUint64(abs.low))
	if n.high < 0 {
		of.Neg(of)
	}
	return of
}

// Float is the FLOAT64 that is nearest.
func (n Numeric) Float() float64 {
	const exact = 1 << 53
	if v := int64(n.low); n.high == v>>63 && v <= exact && v >= -exact {
		return float64(v) / billionth
	}
	f, _ := n.Rat().Float64()
	return f
}

// Rat is the number as a fraction.
func (n Numeric) Rat() *big.Rat { return new(big.Rat).SetFrac(n.Billionths(), billion) }

// Int rounds half away from zero; ok is false beyond INT64.
func (n Numeric) Int() (v int64, ok bool) {
	q := Quotient(n.Billionths(), billion)
	return q.Int64(), q.IsInt64()
}

// String has no zeros at the end of a fraction.
func (n Numeric) String() string {
	digits := n.Billionths().String()
	sign := ""
	if digits[0] == '-' {
		sign, digits = "-", digits[1:]
	}
	digits = strings.Repeat("0", max(0, fraction+1-len(digits))) + digits
	point := len(digits) - fraction
	return sign + strings.TrimRight(strings.TrimRight(digits[:point]+"."+digits[point:], "0"), ".")
}

// Plus is n + m; ok is false beyond the range.
func (n Numeric) Plus(m Numeric) (sum Numeric, ok bool) {
	low, carry := bits.Add64(n.low, m.low, 0)
	high, _ := bits.Add64(uint64(n.high), uint64(m.high), carry)
	sum = Numeric{int64(high), low}
	same := (n.high < 0) == (m.high < 0)
	return sum, sum.fits() && (!same || (sum.high < 0) == (n.high < 0))
}

// Times is n · m, rounded half away from zero; ok is false beyond the range.
func (n Numeric) Times(m Numeric) (Numeric, bool) {
	product := n.Billionths()
	return NumericOfBillionths(Quotient(product.Mul(product, m.Billionths()), billion))
}

// Over is n / m, rounded half away from zero, for an m that is not 0; ok is false beyond the range.
func (n Numeric) Over(m Numeric) (Numeric, bool) {
	top := n.Billionths()
	return NumericOfBillionths(Quotient(top.Mul(top, billion), m.Billionths()))
}

// A NumericSum adds exactly, in 192 bits.
type NumericSum struct {
	high     int64
	mid, low uint64
}

// Add adds a number.
func (s *NumericSum) Add(n Numeric) {
	sign := n.high >> 63
	s.Merge(NumericSum{sign, uint64(n.high), n.low})
}

// Merge adds another sum.
func (s *NumericSum) Merge(of NumericSum) {
	low, carry := bits.Add64(s.low, of.low, 0)
	mid, carry := bits.Add64(s.mid, of.mid, carry)
	high, _ := bits.Add64(uint64(s.high), uint64(of.high), carry)
	*s = NumericSum{int64(high), mid, low}
}

// Over is the sum divided by a positive number, rounded half away from zero; ok is false beyond the
// range.
func (s NumericSum) Over(n int64) (Numeric, bool) {
	of := big.NewInt(s.high)
	of.Or(of.Lsh(of, 64), new(big.Int).SetUint64(s.mid))
	of.Or(of.Lsh(of, 64), new(big.Int).SetUint64(s.low))
	return NumericOfBillionths(Quotient(of, big.NewInt(n)))
}
