package workload

import (
	"math"
	"math/rand/v2"
)

// theta is the skew of YCSB's zipfian keys.
const theta = 0.99

// A zipfian draws ranks from 0 to n-1, rank r with a probability proportional to
// 1/(r+1)^theta. The distribution is from Cooper et al., "Benchmarking Cloud Serving
// Systems with YCSB", SoCC 2010, section 4.1; the method of drawing in constant time is
// from Gray et al., "Quickly Generating Billion-Record Synthetic Databases", SIGMOD
// 1994.
type zipfian struct {
	rng                 *rand.Rand
	n                   float64
	zeta, alpha, eta, p float64 // p is the part of zeta of ranks 0 and 1
}

func newZipfian(rng *rand.Rand, n int) *zipfian {
	z := &zipfian{rng: rng, n: float64(n), zeta: zeta(n)}
	z.alpha = 1 / (1 - theta)
	z.p = 1 + math.Pow(0.5, theta)
	z.eta = (1 - math.Pow(2/z.n, 1-theta)) / (1 - z.p/z.zeta)
	return z
}

// zeta is the sum of 1/i^theta from 1 to n.
func zeta(n int) float64 {
	sum := 0.0
	for i := range n {
		sum += math.Pow(float64(i+1), -theta)
	}
	return sum
}

// rank draws a rank; 0 is the most frequent.
func (z *zipfian) rank() int {
	u := z.rng.Float64()
	switch uz := u * z.zeta; {
	case uz < 1:
		return 0
	case uz < z.p:
		return min(1, int(z.n)-1)
	}
	return min(int(z.n*math.Pow(z.eta*u-z.eta+1, z.alpha)), int(z.n)-1)
}

// scrambled draws a rank and maps ranks to items by a hash, so that frequent items are
// not adjacent. Two ranks may share an item.
func (z *zipfian) scrambled() int { return int(hash64(uint64(z.rank())) % uint64(z.n)) }

// hash64 is FNV-1a, as in YCSB, of a number's eight bytes.
func hash64(n uint64) uint64 {
	h := uint64(0xcbf29ce484222325)
	for range 8 {
		h = (h ^ n&0xff) * 0x100000001b3
		n >>= 8
	}
	return h
}
