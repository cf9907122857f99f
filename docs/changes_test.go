package docs_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
)

// The log of a database has the log data that the page on the format shows, in their
// order.
func TestLogDataAreAsThePageShows(t *testing.T) {
	if !query.HasRocksDB {
		t.Skip("the page shows RocksDB's log")
	}
	dir := t.TempDir()
	at := time.Date(2024, 1, 25, 0, 0, 0, 0, time.UTC)
	db, err := query.Open(dir, query.Options{Engine: query.EngineRocksDB, Clock: func() time.Time { return at }, GCInterval: -1, Schema: &schema.Schema{Tables: []schema.Table{
		{Name: "fleet", ChangeStream: 24 * time.Hour, Families: []schema.Family{{Name: "meta"}}},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	m := write.NewMutation()
	m.DeleteCellsInColumn("meta", "model")
	m.DeleteCellsInFamily("meta")
	m.SetAt("meta", "model", 0, cells.String("757"))
	if err := db.Table("fleet").Apply(context.Background(), "plane#TF-FIR", m); err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	logs, err := filepath.Glob(filepath.Join(dir, "*.log"))
	if err != nil || len(logs) == 0 {
		t.Fatal(logs, err)
	}
	log, err := os.ReadFile(logs[len(logs)-1])
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range blocks(t, "docs/format.md", "logdata") {
		for i, line := range b.lines {
			_, digits, _ := strings.Cut(line, "=")
			data, err := hex.DecodeString(strings.ReplaceAll(digits, " ", ""))
			if err != nil {
				t.Fatalf("%s:%d: %v", b.page, b.line+i, err)
			}
			record := append([]byte{0x03, byte(len(data))}, data...)
			n := bytes.Index(log, record)
			if n < 0 {
				t.Errorf("%s:%d: the log has no %x; it ends with %x", b.page, b.line+i, record, log[max(0, len(log)-200):])
				continue
			}
			log = log[n+len(record):]
		}
	}
}
