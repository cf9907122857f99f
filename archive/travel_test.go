package archive

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"path/filepath"
	"regexp"
	"sync"
	"testing"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query/write"
)

// A meeting is a bucket that accepts files only when a given number of them arrive at
// once.
type meeting struct {
	bucket
	want int

	mu     sync.Mutex
	inside int
	met    chan struct{}
}

func (m *meeting) put(ctx context.Context, key string, f content) error {
	m.mu.Lock()
	if m.inside++; m.inside == m.want {
		close(m.met)
	}
	m.mu.Unlock()
	select {
	case <-m.met:
		return m.bucket.put(ctx, key, f)
	case <-ctx.Done():
		return ctx.Err()
	}
}

func TestFilesTravelSideBySide(t *testing.T) {
	ctx := t.Context()
	db := openTestDB(t, filepath.Join(t.TempDir(), "db"))
	for round := range 3 {
		writeRows(t, db, round, 10)
		if err := db.Table("t").Flush(ctx); err != nil {
			t.Fatal(err)
		}
	}
	a, err := Open(ctx, filepath.Join(t.TempDir(), "backups"))
	if err != nil {
		t.Fatal(err)
	}
	a.bucket = &meeting{bucket: a.bucket, want: 3, met: make(chan struct{})}
	if _, err := a.Backup(ctx, db, BackupOptions{Options: Options{Parallel: 3}}); err != nil {
		t.Fatal(err)
	}
}

// The bar shows the bytes sent, the total, the rate, the time so far and the time left.
func TestABackupShowsItsProgress(t *testing.T) {
	ctx := t.Context()
	db := openTestDB(t, filepath.Join(t.TempDir(), "db"))
	for i := range 4 {
		value := make([]byte, 512<<10) // that does not compress
		_, _ = rand.Read(value)
		m := write.NewMutation()
		m.Set("f", "q", cells.Bytes(value))
		if err := db.Table("t").Apply(ctx, fmt.Sprint("row", i), m); err != nil {
			t.Fatal(err)
		}
		if err := db.Table("t").Flush(ctx); err != nil {
			t.Fatal(err)
		}
	}
	a, err := Open(ctx, filepath.Join(t.TempDir(), "backups"))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	r, err := a.Backup(ctx, db, BackupOptions{Options: Options{Progress: &out, Rate: 2 << 20}})
	if err != nil {
		t.Fatal(err)
	}
	if want := regexp.MustCompile(` [1-9]\d?% .*\(\d+(\.\d+)?/\d+(\.\d+)? MB, \d+(\.\d+)? [kM]B/s\) \[\d+s:\d+s\]`); !want.Match(out.Bytes()) {
		t.Errorf("%+v: the bar was %q", r, out.String())
	}
}

// A pruned is a bucket in which a prune of another process removes the first backup when its
// keys are listed.
type pruned struct{ bucket }

func (p pruned) list(ctx context.Context, prefix string) (map[string]int64, error) {
	keys, err := p.bucket.list(ctx, prefix)
	if err == nil && prefix == generationsPrefix {
		err = p.remove(ctx, manifestKey(1))
	}
	return keys, err
}

func TestListBesideAPrune(t *testing.T) {
	ctx := t.Context()
	db := openTestDB(t, filepath.Join(t.TempDir(), "db"))
	a, err := Open(ctx, filepath.Join(t.TempDir(), "backups"))
	if err != nil {
		t.Fatal(err)
	}
	for round := range 2 {
		writeRows(t, db, round, 10)
		if _, err := a.Backup(ctx, db, BackupOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	a.bucket = pruned{a.bucket}
	if list, err := a.List(ctx); err != nil || len(list) != 1 || list[0].ID != 2 {
		t.Errorf("%+v, %v; want the second backup", list, err)
	}
}
