package edit

import (
	"fmt"
	"slices"
	"testing"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/query/internal/catalog"
)

// A request may set a hundred thousand cells and delete as many families and columns, while
// it holds the lock of its row. Each change looked at all cells set before.
func TestAChangeDoesNotLookAtAllEarlierOnes(t *testing.T) {
	var b cf.Batch
	b.Row(cf.RowID{Space: "t", Row: "r"})
	e := newRowEditor(nil, &b, "r", 0)
	f, other := &catalog.Family{Store: "t/f", Counts: true}, &catalog.Family{Store: "t/other", Counts: true}
	for _, ts := range []int64{2, 5, 1, 5, 3} {
		e.set(column{other, "q"}, ts)
	}
	for i := range 100 {
		e.set(column{f, fmt.Sprint(i)}, 1)
	}
	if err := e.deleteFamily(t.Context(), f); err != nil {
		t.Fatal(err)
	}
	if len(e.sets) != 1 || len(e.visible) != 0 {
		t.Errorf("the editor remembers %d and %d families; want only the other one", len(e.sets), len(e.visible))
	}
	if got := e.sets[other]["q"]; !slices.Equal(got, []int64{2, 5, 1, 5, 3}) {
		t.Errorf("sets are sorted before they are needed: %v", got)
	}
	e.cleared[other] = true // nothing of it is in the snapshot
	if got, err := e.load(t.Context(), column{other, "q"}); err != nil || !slices.Equal(got, []int64{5, 3, 2, 1}) {
		t.Errorf("the versions are %v, %v; want the newest first, each once", got, err)
	}
}
