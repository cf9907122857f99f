package tuple_test

import (
	"testing"

	"github.com/smolwc/smolwc/tuple"
)

var flightKey = tuple.Tuple{"flight", "N223AG", 2008, 1, 25, []byte("AA1234")}

func BenchmarkAppendPack(b *testing.B) {
	var dst []byte
	for b.Loop() {
		dst, _ = tuple.AppendPack(dst[:0], flightKey)
	}
}

func BenchmarkUnpack(b *testing.B) {
	key := tuple.MustPack(flightKey...)
	for b.Loop() {
		_, _ = tuple.Unpack(key)
	}
}

func BenchmarkAppendBytes(b *testing.B) {
	row := []byte("flight#N223AG#2008-01-25#AA1234")
	var dst []byte
	for b.Loop() {
		dst = tuple.AppendBytes(dst[:0], row)
	}
}

func BenchmarkDecodeBytes(b *testing.B) {
	key := tuple.AppendBytes(nil, []byte("flight#N223AG#2008-01-25#AA1234"))
	for b.Loop() {
		_, _, _ = tuple.DecodeBytes(key)
	}
}
