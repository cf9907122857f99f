package query

import (
	"context"
	"testing"
	"time"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/schema"
)

// hooked is a store that calls a function after the first snapshot.
type hooked struct {
	cf.Store
	hook func()
}

func (h *hooked) Snapshot(ctx context.Context) (cf.Snapshot, error) {
	snap, err := h.Store.Snapshot(ctx)
	if hook := h.hook; hook != nil {
		h.hook = nil // it takes snapshots too
		hook()
	}
	return snap, err
}

// TestCheckSeesOneMoment drops a table between the moment that a check reads and the
// list of families: the drop has to wait, or the check would miss a family.
func TestCheckSeesOneMoment(t *testing.T) {
	db, err := OpenInMemory(Options{Schema: &schema.Schema{Tables: []schema.Table{{Name: "t", Families: []schema.Family{{Name: "f"}}}}}})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.state.Store = &hooked{Store: db.state.Store, hook: func() {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		if err := db.DropTable(ctx, "t"); KindOf(err) != KindCanceled {
			t.Errorf("the table was dropped meanwhile: %v", err)
		}
	}}
	report, err := db.Check(t.Context())
	if err != nil || !report.OK() || len(report.Families) != 1 {
		t.Errorf("%+v, %v", report, err)
	}
	if err := db.DropTable(t.Context(), "t"); err != nil {
		t.Error(err)
	}
}
