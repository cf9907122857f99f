package query

import (
	"strings"
	"testing"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
)

// A write without room for a deferred batch goes alone, and the batch waits for another.
func TestADeferredBatchWaitsForAWriteWithRoom(t *testing.T) {
	db, err := OpenInMemory(Options{Schema: &schema.Schema{Tables: []schema.Table{{Name: "t", Families: []schema.Family{{Name: "f"}}}}}})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.limits.Batch = 100_000
	row := func(key string, size int) *write.Batch {
		m := write.NewMutation()
		m.SetAt("f", "q", 1, cells.String(strings.Repeat("x", size)))
		return write.NewBatch().Add("t", key, m)
	}
	for _, b := range []*write.Batch{row("deferred", 60_000).Defer(), row("large", 60_000)} {
		if err := db.Apply(t.Context(), b); err != nil {
			t.Fatal(err)
		}
	}
	there := func(key string) bool {
		row, err := db.Table("t").ReadRow(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		return row.Len() > 0
	}
	if !there("large") || there("deferred") {
		t.Error("the large row was not written alone")
	}
	if err := db.Apply(t.Context(), row("small", 1)); err != nil {
		t.Fatal(err)
	}
	if !there("small") || !there("deferred") {
		t.Error("the deferred batch is lost")
	}
}
