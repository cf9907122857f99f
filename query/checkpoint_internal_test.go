package query

import (
	"path/filepath"
	"testing"

	"github.com/smolwc/smolwc/query/internal/fault"
	"github.com/smolwc/smolwc/schema"
)

// TestTwoCheckpointsOfOneName begins a checkpoint while another one of the same name is
// being made: the second is refused, and the first is whole.
func TestTwoCheckpointsOfOneName(t *testing.T) {
	db, err := Open(t.TempDir(), Options{Schema: &schema.Schema{Tables: []schema.Table{{Name: "t"}}}})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	dir := filepath.Join(t.TempDir(), "copy")
	err = db.checkpointTo(t.Context(), dir, func(string) error {
		if err := db.Checkpoint(t.Context(), dir); KindOf(err) != fault.Busy {
			t.Errorf("the second: %v", err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	copied, err := Open(dir, Options{MustExist: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := copied.Close(); err != nil {
		t.Error(err)
	}
}
