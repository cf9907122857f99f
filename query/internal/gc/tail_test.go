package gc

import (
	"testing"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/query/internal/catalog"
)

// A column may have changed between the scan that found its tail and the delete.
func TestATailIsDeletedBehindWhatIsKept(t *testing.T) {
	for _, c := range []struct {
		name string
		tail tail
		last int64
		want []string
	}{
		{"few", tail{timestamps: []int64{3, 2, 1}}, 4, []string{"1", "1", "1"}},
		{"few, and some of them are kept now", tail{timestamps: []int64{3, 2, 1}}, 2, []string{"1"}},
		{"few, all of them", tail{timestamps: []int64{3, 2}}, -1, []string{"1", "1"}},
		{"many", tail{}, 4, []string{"range"}},
		{"many, all of them", tail{}, -1, []string{"range"}},
		{"few, nothing is older", tail{timestamps: []int64{3}}, 0, nil},
		{"many, nothing is older", tail{}, 0, nil},
	} {
		var b cf.Batch
		b.Row(cf.RowID{Space: "t", Row: "r"})
		c.tail.delete(&b, &catalog.Family{Name: "f", Store: "t/f"}, nil, c.last)
		var got []string
		for i := range b.Ops() {
			got = append(got, map[cf.OpKind]string{cf.OpDelete: "1", cf.OpDeleteRange: "range"}[b.Ops()[i].Kind])
		}
		if len(got) != len(c.want) || len(got) > 0 && got[0] != c.want[0] {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}
