package function

import (
	"encoding/binary"
	"math/bits"
)

// The odd numbers that Fingerprint64 multiplies by.
const (
	farm0 uint64 = 0xc3a5c85c97cb3127
	farm1 uint64 = 0xb492b66fbe98f273
	farm2 uint64 = 0x9ae16a3b2f90404f
)

// Fingerprint is Fingerprint64 of FarmHash. Its values never change: rows may have them.
// https://github.com/google/farmhash
func Fingerprint(s []byte) uint64 {
	n := uint64(len(s))
	switch {
	case n <= 16:
		return farmShort(s)
	case n <= 32:
		mul := farm2 + n*2
		a, b := word(s)*farm1, word(s[8:])
		c, d := word(s[n-8:])*mul, word(s[n-16:])*farm2
		return mixed(turned(a+b, 43)+turned(c, 30)+d, a+turned(b+farm2, 18)+c, mul)
	case n <= 64:
		mul := farm2 + n*2
		a, b := word(s)*farm2, word(s[8:])
		c, d := word(s[n-8:])*mul, word(s[n-16:])*farm2
		y := turned(a+b, 43) + turned(c, 30) + d
		z := mixed(y, a+turned(b+farm2, 18)+c, mul)
		e, f := word(s[16:])*mul, word(s[24:])
		g, h := (y+word(s[n-32:]))*mul, (z+word(s[n-24:]))*mul
		return mixed(turned(e+f, 43)+turned(g, 30)+h, e+turned(f+a, 18)+g, mul)
	}
	var v, w [2]uint64
	x, y := uint64(81), farm1 // the seed of FarmHash is 81
	y = y*x + 113
	z := folded(y*farm2+113) * farm2
	x = x*farm2 + word(s)
	last := s[n-64:]
	for ; len(s) > 64; s = s[64:] {
		x = turned(x+y+v[0]+word(s[8:]), 37) * farm1
		y = turned(y+v[1]+word(s[48:]), 42) * farm1
		x ^= w[1]
		y += v[0] + word(s[40:])
		z = turned(z+w[0], 33) * farm1
		v = weak(s, v[1]*farm1, x+w[0])
		w = weak(s[32:], z+w[1], y+word(s[16:]))
		z, x = x, z
	}
	mul := farm1 + (z&0xff)<<1
	s = last
	w[0] += (n - 1) & 63
	v[0] += w[0]
	w[0] += v[0]
	x = turned(x+y+v[0]+word(s[8:]), 37) * mul
	y = turned(y+v[1]+word(s[48:]), 42) * mul
	x ^= w[1] * 9
	y += v[0]*9 + word(s[40:])
	z = turned(z+w[0], 33) * mul
	v = weak(s, v[1]*mul, x+w[0])
	w = weak(s[32:], z+w[1], y+word(s[16:]))
	z, x = x, z
	return mixed(mixed(v[0], w[0], mul)+folded(y)*farm0+z, mixed(v[1], w[1], mul)+x, mul)
}

func farmShort(s []byte) uint64 {
	n := uint64(len(s))
	switch {
	case n >= 8:
		mul := farm2 + n*2
		a, b := word(s)+farm2, word(s[n-8:])
		return mixed(turned(b, 37)*mul+a, (turned(a, 25)+b)*mul, mul)
	case n >= 4:
		a, b := uint64(binary.LittleEndian.Uint32(s)), uint64(binary.LittleEndian.Uint32(s[n-4:]))
		return mixed(n+a<<3, b, farm2+n*2)
	case n > 0:
		y, z := uint64(s[0])+uint64(s[n/2])<<8, n+uint64(s[n-1])<<2
		return folded(y*farm2^z*farm0) * farm2
	}
	return farm2
}

func word(s []byte) uint64 { return binary.LittleEndian.Uint64(s) }

func turned(n uint64, right int) uint64 { return bits.RotateLeft64(n, -right) }

func folded(n uint64) uint64 { return n ^ n>>47 }

// mixed makes one number of two.
func mixed(u, v, mul uint64) uint64 {
	a := folded((u ^ v) * mul)
	return folded((v^a)*mul) * mul
}

// weak mixes 32 bytes into two numbers.
func weak(s []byte, a, b uint64) [2]uint64 {
	a += word(s)
	c := a
	b = turned(b+a+word(s[24:]), 21)
	a += word(s[8:]) + word(s[16:])
	return [2]uint64{a + word(s[24:]), b + turned(a, 44) + c}
}
