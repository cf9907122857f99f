package wal

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// A database has a log for each open that wrote nothing: a check takes little memory for a
// small log, and hardly any for an empty one.
func TestSmallLogsTakeLittleMemory(t *testing.T) {
	for _, c := range []struct{ size, most int }{{0, 4 << 10}, {100, 64 << 10}} {
		path := filepath.Join(t.TempDir(), "000001.log")
		if err := os.WriteFile(path, make([]byte, c.size), 0o600); err != nil {
			t.Fatal(err)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		const checks = 100
		for range checks {
			if l, err := Check(path, ""); err != nil || l.Records > 0 || l.Size != int64(c.size) {
				t.Fatalf("%+v, %v", l, err)
			}
		}
		runtime.ReadMemStats(&after)
		if each := int(after.TotalAlloc-before.TotalAlloc) / checks; each > c.most {
			t.Errorf("a log of %d bytes takes %d bytes, want %d at most", c.size, each, c.most)
		}
	}
}
