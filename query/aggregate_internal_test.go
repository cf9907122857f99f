package query

import (
	"context"
	"encoding/hex"
	"math"
	"strings"
	"testing"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/schema"
)

// The hashes are on disk: docs/format.md has these.
func TestSketchOfOneValue(t *testing.T) {
	for _, test := range []struct {
		v    cells.Value
		want string
	}{
		{cells.String("TF-FIR"), "01010054ad0631bbdf068c"},
		{cells.Byte(1), "0101004bb5c1fce0e5922f"},
		{cells.F64(1), "0101004bb5c1fce0e5922f"},
	} {
		if got := hex.EncodeToString(appendSketchOf(nil, test.v)); got != test.want {
			t.Errorf("%s %s: %s, want %s", test.v.Type(), test.v, got, test.want)
		}
	}
}

// What is stored and no aggregate of the family's kind is reported with its key,
// not read as a number; and no bytes panic.
func TestDamagedAggregates(t *testing.T) {
	ctx := context.Background()
	registers := append([]byte{1, 1, 1}, make([]byte, hllRegisters)...)
	broken := append([]byte{}, registers...)
	broken[len(broken)-1] = hllMaxRank + 1
	families := []schema.Family{
		{Name: "sum", Aggregate: schema.AggregateSum}, {Name: "min", Aggregate: schema.AggregateMin}, {Name: "hll", Aggregate: schema.AggregateHLL},
	}
	db, err := OpenInMemory(Options{Schema: &schema.Schema{Tables: []schema.Table{{Name: "t", Families: families}}}})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, test := range []struct {
		family, stored string
		want           string // "" for damage
	}{
		{"sum", "\x06\xff\xff\xff\xff\xff\xff\xff\xfe", "-2"},
		{"sum", "\x01" + strings.Repeat("\x7f", 16), "9223372036854775807"},
		{"sum", "\x02text", ""},
		{"sum", "\x05\x00\x00\x00\x01", ""},
		{"sum", "\x00", ""},
		{"min", "\x01" + strings.Repeat("\x7f", 16), ""},
		{"hll", "\x06\xff\xff\xff\xff\xff\xff\xff\xfe", ""},
		{"hll", "\x01", ""},
		{"hll", "\x01\x01\x00", ""},
		{"hll", "\x01\x02\x00\x00\x00\x00\x00\x00\x00\x00\x00", ""},
		{"hll", "\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00", ""},
		{"hll", "\x01\x01\x02\x00\x00\x00\x00\x00\x00\x00\x00", ""},
		{"hll", string(registers[:len(registers)-1]), ""},
		{"hll", string(registers), "0"},
		{"hll", string(broken), ""},
	} {
		_, err := db.store.Write(ctx, nil, func(b *cf.Batch) error {
			b.Row(cf.RowID{Space: "t", Row: "r"})
			for _, f := range families {
				b.DeleteRow("t/" + f.Name)
			}
			b.Put("t/"+test.family, "q", 0, []byte(test.stored))
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		row, err := db.Table("t").ReadRow(ctx, "r")
		if test.want == "" {
			if KindOf(err) != KindCorruption || !strings.Contains(err.Error(), "family t/"+test.family+", key 01720001710") {
				t.Errorf("%s %x: %v", test.family, test.stored[:min(len(test.stored), 20)], err)
			}
			continue
		}
		if err != nil {
			t.Error(err)
			continue
		}
		if c, _ := row.Cell(test.family, "q"); c.Value.String() != test.want || c.Value.Type() != cells.TypeI64 {
			t.Errorf("%s %x: %s, want %s", test.family, test.stored[:min(len(test.stored), 20)], c.Value, test.want)
		}
	}
}

// The estimator has its known standard error, 1.04/√16384, and no bias, over all
// sizes: pseudo-random hashes, always the same.
func TestEstimatorError(t *testing.T) {
	const runs = 8
	ns := []int{10, 1000, 10_000, 40_000, 80_000, 300_000}
	state, off := uint64(1), make([]float64, len(ns))
	for range runs {
		ranks, i := make([]byte, hllRegisters), 0
		for n := 1; i < len(ns); n++ {
			state += 0x9e3779b97f4a7c15 // splitmix64
			h := (state ^ state>>30) * 0xbf58476d1ce4e5b9
			h = (h ^ h>>27) * 0x94d049bb133111eb
			h ^= h >> 31
			rank := byte(1)
			for rest := h << hllPrecision; rest>>63 == 0 && rank < hllMaxRank; rest <<= 1 {
				rank++
			}
			at := &ranks[h>>(64-hllPrecision)]
			*at = max(*at, rank)
			if n == ns[i] {
				off[i] += (estimateRegisters(ranks)/float64(n) - 1) / runs
				i++
			}
		}
	}
	for i, n := range ns {
		if bound := 3 * 1.04 / math.Sqrt(hllRegisters*runs); math.Abs(off[i]) > bound {
			t.Errorf("at %d the mean error is %.3f %%, beyond %.3f %%", n, 100*off[i], 100*bound)
		}
	}
}
