package queue_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/queue"
)

// The queues of databases of then have their items: query/testdata/upgrade/write has made
// them.
func TestQueuesOfThen(t *testing.T) {
	for format := 3; format <= query.FormatVersion; format++ {
		dir := filepath.Join(t.TempDir(), "db")
		if err := os.CopyFS(dir, os.DirFS(fmt.Sprintf("../query/testdata/upgrade/format%d", format))); err != nil {
			t.Fatal(err)
		}
		db, err := query.Open(dir, query.Options{GCInterval: -1})
		if errors.Is(err, query.ErrNoEngine) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		err = db.Update(t.Context(), func(tx *query.Tx) error {
			items, err := queue.New(db, queue.Options{}).Peek(t.Context(), tx, "acme", 10)
			var got []string
			for _, i := range items {
				got = append(got, fmt.Sprintf("%s %s %s", i.Type, i.Payload, i.Enqueued.UTC().Format(time.DateOnly)))
			}
			if want := []string{"mail one 2026-11-01", "mail two 2026-11-01"}; !slices.Equal(got, want) {
				t.Errorf("format %d: the queue has %q, want %q", format, got, want)
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}
}
