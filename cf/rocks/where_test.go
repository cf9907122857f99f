//go:build cgo && linux && !norocksdb

package rocks_test

import (
	"strings"
	"testing"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/cftest"
	"github.com/smolwc/smolwc/cf/rocks"
)

// A row that does not fit into a small block is judged by a look at the columns of its
// conditions. A column that the qualifiers leave out does not exist there either.
func TestAConditionOnAColumnThatIsNotSelected(t *testing.T) {
	s := open(t, t.TempDir(), rocks.Options{})
	defer s.Close()
	if err := s.CreateFamily(t.Context(), "t"); err != nil {
		t.Fatal(err)
	}
	_, err := s.Write(t.Context(), nil, func(b *cf.Batch) error {
		b.Row(cf.RowID{Space: "t", Row: "r"})
		b.Put("t", "a", 2, nil) // fits into each block, and the next cell does not
		b.Put("t", "a", 1, []byte(strings.Repeat("v", 3000)))
		b.Put("t", "b", 1, []byte("w"))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	snap, err := s.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer snap.Close()
	for hint := range 4 {
		scan := cf.Scan{Family: "t", Rows: []cf.Range{{}}, Hint: hint, Filter: cf.Filter{
			Qualifiers: []cf.Range{cf.Single("a")},
			Where:      []cf.RowCondition{{Qualifier: "b", Values: []cf.Range{{Start: "w"}}}},
		}}
		if rows, _, err := cftest.Collect(t.Context(), snap, scan); len(rows) > 0 || err != nil {
			t.Errorf("hint %d: %d rows, error %v", hint, len(rows), err)
		}
		scan.Filter.Where[0].Values = nil // the column must be absent, and is
		if rows, _, err := cftest.Collect(t.Context(), snap, scan); len(rows) != 1 || err != nil {
			t.Errorf("hint %d, absent: %d rows, error %v", hint, len(rows), err)
		}
	}
}
