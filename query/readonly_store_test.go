package query_test

import (
	"testing"

	"github.com/smolwc/smolwc/query"
)

// TestReadOnlyWritesToNoStore: a database that is opened for reading is not written,
// even if its store can be.
func TestReadOnlyWritesToNoStore(t *testing.T) {
	store, err := query.OpenEngine(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w, err := query.OpenStore(t.Context(), store, query.Options{Schema: pairSchema(), GCInterval: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	r, err := query.OpenStore(t.Context(), store, query.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	refusesWrites(t, r)
	if n := len(rowKeys(t, w, "t")); n != 0 || len(w.Schema().Tables) != 1 {
		t.Errorf("%d rows and %d tables", n, len(w.Schema().Tables))
	}
	if err := r.Update(t.Context(), func(tx *query.Tx) error { _, err := tx.ReadRow(t.Context(), "t", "r"); return err }); err != nil {
		t.Errorf("a transaction that only reads: %v", err)
	}
}
