package wire

import (
	"reflect"
	"testing"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query/filter"
)

// A filter is the same after it was sent.
func TestFiltersComeAsTheyAreSent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := anyFilter(t, 3)
		if err := filter.Check(f); err != nil {
			t.Skip(err)
		}
		m, err := FilterMessage(f)
		if err != nil {
			t.Fatal(f, err)
		}
		b, err := proto.Marshal(m)
		if err != nil {
			t.Fatal(f, err)
		}
		if err := proto.Unmarshal(b, m); err != nil {
			t.Fatal(f, err)
		}
		if got, err := Filter(m); err != nil || !reflect.DeepEqual(got, f) {
			t.Fatalf("%s comes as %s, %v", f, got, err)
		}
	})
}

func anyFilter(t *rapid.T, depth int) filter.Filter {
	text := func() string { return rapid.SampledFrom([]string{"a", "b.*", "c|d"}).Draw(t, "text") }
	bound := func(at string) filter.Bound {
		return rapid.SampledFrom([]filter.Bound{{}, filter.Including(at), filter.Excluding(at)}).Draw(t, "bound")
	}
	n := rapid.IntRange(1, 9).Draw(t, "n")
	leaves := []filter.Filter{
		filter.PassAll{}, filter.BlockAll{}, filter.StripValue{}, filter.RowKey(text()), filter.Family(text()), filter.Column(text()), filter.Value(text()),
		filter.RowSample(0.5), filter.ColumnRange{Family: "f", From: bound("a"), To: bound("b")}, filter.ValueRange{From: bound("a"), To: bound("b")},
		filter.ValueBitmask(text()), filter.TimestampRange{Since: cells.Timestamp(n), Until: 10}, filter.CellsPerRowOffset(n), filter.CellsPerRowLimit(n), filter.Latest(n),
	}
	if depth == 0 {
		return rapid.SampledFrom(leaves).Draw(t, "leaf")
	}
	sub := func() filter.Filter { return anyFilter(t, depth-1) }
	switch rapid.IntRange(0, 5).Draw(t, "kind") {
	case 0:
		return filter.Chain{sub(), sub()}
	case 1:
		return filter.Interleave{sub(), sub(), filter.Label("a")}
	case 2:
		return filter.Condition{If: sub(), Then: sub()}
	case 3:
		return filter.Chain{filter.Sink{}, sub()}
	}
	return rapid.SampledFrom(leaves).Draw(t, "leaf")
}

// A range that ends before the empty string holds nothing; a message has no such range.
func TestAnEmptyRangeIsSentAsOne(t *testing.T) {
	for _, f := range []filter.Filter{
		filter.ColumnRange{Family: "f", To: filter.Excluding("")}, filter.ValueRange{To: filter.Excluding("")},
	} {
		m, err := FilterMessage(f)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := Filter(m); err != nil || got != (filter.BlockAll{}) {
			t.Errorf("%s comes as %s, %v", f, got, err)
		}
	}
	if m, err := FilterMessage(filter.ValueCompare{Op: cells.OpLess, Value: cells.I64(1)}); err == nil {
		t.Errorf("what Bigtable does not have is sent as %v", m)
	}
}
