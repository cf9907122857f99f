package read_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query/read"
)

type oneCell struct{ value cells.Value }

func (c oneCell) Cell(string, string) (cells.Cell, bool) { return cells.Cell{Value: c.value}, true }

// A prepared condition finds a value among many by a search, and judges as comparing it
// with each would.
func TestIsOneOfManyIsSearched(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	some := []func() cells.Value{
		func() cells.Value { return cells.I64(rng.Int64N(50) - 25) },
		func() cells.Value { return cells.I32(int32(rng.IntN(50) - 25)) },
		func() cells.Value { return cells.Byte(byte(rng.IntN(50))) },
		func() cells.Value { return cells.F64(float64(rng.IntN(100)-50) / 2) },
		func() cells.Value { return cells.F32(float32(rng.IntN(100)-50) / 2) },
		func() cells.Value { return cells.F64(math.NaN()) },
		func() cells.Value { return cells.I64(1<<53 + rng.Int64N(3)) },
		func() cells.Value { return cells.F64(1<<53 + 2*float64(rng.IntN(2))) },
		func() cells.Value { return cells.Bool(rng.IntN(2) == 0) },
		func() cells.Value { return cells.String(string(rune('a' + rng.IntN(26)))) },
		func() cells.Value { return cells.Bytes([]byte{byte('a' + rng.IntN(26))}) },
	}
	value := func() cells.Value { return some[rng.IntN(len(some))]() }
	for range 300 {
		values := make([]cells.Value, 1+rng.IntN(40))
		for i := range values {
			values[i] = value()
		}
		plain := read.WhereIn("f", "q", values...)
		prepared, err := plain.Prepare(nil)
		if err != nil {
			t.Fatal(err)
		}
		for range 50 {
			row := oneCell{value()}
			if got, want := prepared.Holds("", row), plain.Holds("", row); got != want {
				t.Fatalf("%v in %v: %v, want %v", row.value, values, got, want)
			}
		}
	}
}

// The judgement of a row must not look at each value.
func BenchmarkIsOneOf(b *testing.B) {
	values := make([]cells.Value, 100_000)
	for i := range values {
		values[i] = cells.I64(int64(i))
	}
	c, err := read.WhereIn("f", "q", values...).Prepare(nil)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		c.Holds("", oneCell{cells.I64(-1)})
	}
}
