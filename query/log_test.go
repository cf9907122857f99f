package query_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/smolwc/smolwc/query"
)

// Writes that were not flushed are replayed when the database is opened again, and the
// log says so.
func TestOpeningIsLogged(t *testing.T) {
	dir := t.TempDir()
	for i, want := range []string{"families=0 replayed_bytes=0", "families=3 replayed_bytes="} {
		var log bytes.Buffer
		db, err := query.Open(dir, query.Options{Schema: statsSchema, Logger: slog.New(slog.NewTextHandler(&log, nil))})
		if err != nil {
			t.Fatal(err)
		}
		setCells(t, db.Table("a"), "z", 20)
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		said := log.String()
		if !strings.Contains(said, "opened the database") || !strings.Contains(said, want) || i == 1 && strings.Contains(said, "replayed_bytes=0 ") {
			t.Errorf("opening %d: %s", i, said)
		}
	}
}
