package exec

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/smolwc/smolwc/cells"
)

// decimalBins counts numbers in bins whose bounds are multiples of a power of ten. It
// needs one pass and a fixed amount of memory: when there are too many bins, each ten
// are merged into one. At the end the bins are merged into wider ones, one significant
// digit wide, without a second pass.
type decimalBins struct {
	exp   int             // a bin is 10^exp wide
	count map[int64]int64 // numbers from n*10^exp, inclusive, to (n+1)*10^exp, by n

	n, whole     int64 // all numbers; the numbers of integer types
	sum          float64
	least, most  float64
	notFinite    int64 // NaN and infinities
	notNumerical int64 // values of other types
}

const (
	maxFineBins = 4096
	// fineDigits is the number of significant digits that are kept.
	fineDigits = 15
	// maxBin bounds a bin's distance from 0, so that sums do not overflow.
	maxBin = 1e17
)

func (b *decimalBins) add(v cells.Value) {
	f, isFloat := v.Float()
	n, isWhole := v.Int()
	var m int64
	exp := 0
	switch {
	case isWhole:
		f, m = float64(n), n
		b.whole++
	case !isFloat:
		b.notNumerical++
		return
	case math.IsNaN(f) || math.IsInf(f, 0):
		b.notFinite++
		return
	default:
		m, exp = decimal(f)
	}
	if b.n == 0 {
		b.count, b.exp, b.least, b.most = map[int64]int64{}, exp, f, f
	}
	b.n++
	b.sum += f
	b.least, b.most = min(b.least, f), max(b.most, f)
	b.count[b.scale(m, exp)]++
	for len(b.count) > maxFineBins {
		b.widen()
	}
}

// decimal approximates a finite number as m*10^exp, with fineDigits digits in m.
func decimal(f float64) (m int64, exp int) {
	if f == 0 {
		return 0, math.MinInt32
	}
	text := strconv.FormatFloat(f, 'e', fineDigits-1, 64) // d.ddde±dd
	mantissa, exponent, _ := strings.Cut(text, "e")
	m, _ = strconv.ParseInt(strings.Replace(mantissa, ".", "", 1), 10, 64)
	e, _ := strconv.Atoi(exponent)
	return m, e - fineDigits + 1
}

// scale returns the bin of m*10^exp. It may make the bins wider.
func (b *decimalBins) scale(m int64, exp int) int64 {
	if m == 0 {
		return 0
	}
	if b.exp == math.MinInt32 { // only zeros so far
		b.exp = exp
	}
	for ; m > maxBin || m < -maxBin; exp++ {
		m = floorDiv(m, 10)
	}
	for exp > b.exp {
		if m > maxBin/10 || m < -maxBin/10 {
			b.widen()
			continue
		}
		m, exp = m*10, exp-1
	}
	for ; exp < b.exp && m != 0 && m != -1; exp++ {
		m = floorDiv(m, 10)
	}
	return m
}

// widen merges each ten bins into one.
func (b *decimalBins) widen() {
	wider := make(map[int64]int64, len(b.count)/2)
	for n, c := range b.count {
		wider[floorDiv(n, 10)] += c
	}
	b.exp++
	b.count = wider
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// A Bin is an interval of numbers and the count of numbers in it.
type Bin struct {
	From, To float64 // inclusive, exclusive
	Count    int64
}

// bins merges the counts into at most this many bins, from the smallest number to the
// largest. Their width is 1, 2 or 5 times a power of ten, as small as the number of
// bins allows.
func (b *decimalBins) bins(most int) []Bin {
	if b.n == 0 {
		return nil
	}
	ns := slices.SortedFunc(maps.Keys(b.count), cmp.Compare)
	first, last := ns[0], ns[len(ns)-1]
	exp, width := b.exp, int64(1)
	if exp == math.MinInt32 { // only zeros
		exp = 0
	}
	if b.whole == b.n { // no bin narrower than 1
		exp = max(exp, 0)
	}
	if first == last && first != 0 && b.whole < b.n { // two significant digits if all numbers are alike
		digits := 0
		for n := first; n != 0; n /= 10 {
			digits++
		}
		width = pow10(max(digits-2, 0))
	}
	total := func() int64 { return floorDiv(last, width) - floorDiv(first, width) }
	for step := 0; total() >= int64(most); step++ {
		width = []int64{2, 5, 10}[step%3] * pow10(step/3)
	}
	list := make([]Bin, total()+1)
	from := floorDiv(first, width)
	for i := range list {
		list[i].From, list[i].To = scaled((from+int64(i))*width, exp), scaled((from+int64(i)+1)*width, exp)
	}
	for _, n := range ns {
		list[floorDiv(n, width)-from].Count += b.count[n]
	}
	return list
}

func pow10(n int) int64 {
	p := int64(1)
	for range min(n, 18) {
		p *= 10
	}
	return p
}

// scaled is the number nearest to n*10^exp.
func scaled(n int64, exp int) float64 {
	f, _ := strconv.ParseFloat(strconv.FormatInt(n, 10)+"e"+strconv.Itoa(exp), 64)
	return f
}
