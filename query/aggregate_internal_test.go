package query

import (
	"context"
	"strings"
	"testing"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/schema"
)

// A stored value that is not an aggregate of the family's kind is reported with its
// key, not read as a number; and no bytes panic.
func TestDamagedAggregates(t *testing.T) {
	ctx := context.Background()
	registers := append([]byte{1, 1, 1}, make([]byte, 1<<14)...)
	broken := append([]byte{}, registers...)
	broken[len(broken)-1] = 52 // more than a rank can be
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
		_, err := db.state.Store.Write(ctx, nil, func(b *cf.Batch) error {
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
