package query

import (
	"path/filepath"
	"testing"

	"github.com/smolwc/smolwc/query/internal/fault"
	"github.com/smolwc/smolwc/schema"
)

// TestTwoCheckpointsOfOneName makes a checkpoint while another one of the same name is
// being made: the first to end is whole, and the other is refused.
func TestTwoCheckpointsOfOneName(t *testing.T) {
	db, err := Open(t.TempDir(), Options{Schema: &schema.Schema{Tables: []schema.Table{{Name: "t"}}}})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	dir := filepath.Join(t.TempDir(), "copy")
	err = db.checkpointTo(t.Context(), dir, func(string) error {
		return db.Checkpoint(t.Context(), dir)
	})
	if fault.KindOf(err) != fault.AlreadyExists {
		t.Errorf("the last to end: %v", err)
	}
	copied, err := Open(dir, Options{MustExist: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := copied.Close(); err != nil {
		t.Error(err)
	}
}
