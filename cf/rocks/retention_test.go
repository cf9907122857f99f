//go:build cgo && linux && !norocksdb

package rocks_test

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/linxGnu/grocksdb"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/cftest"
	"github.com/smolwc/smolwc/cf/rocks"
)

// entries counts what lies in a family's files.
func entries(t *testing.T, s *rocks.Store, family string) (n uint64) {
	t.Helper()
	raw, err := s.Raw(family)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range raw.DB.GetLiveFilesMetaData() {
		if f.ColumnFamilyName == family {
			n += f.Entries
		}
	}
	return n
}

func writeCells(t *testing.T, s *rocks.Store, family string, timestamps ...int64) {
	t.Helper()
	_, err := s.Write(context.Background(), nil, func(b *cf.Batch) error {
		for i, ts := range timestamps {
			b.Row(cf.RowID{Space: "t", Row: fmt.Sprint("r", i%3)})
			b.Put(family, "\x00q", ts, []byte("v"))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestCompactionsDropExpiredCells(t *testing.T) {
	ctx := context.Background()
	s := open(t, "", rocks.Options{InMemory: true})
	defer s.Close()
	for _, family := range []string{"t/old", "t/kept"} {
		if err := s.CreateFamily(ctx, family); err != nil {
			t.Fatal(err)
		}
		writeCells(t, s, family, 0, 1, 99, 100, 101, 1<<62-1, 1<<62, math.MaxInt64)
	}
	if err := s.SetExpiry("t/old", cf.Expiry{Before: 100}); err != nil {
		t.Fatal(err)
	}
	for family, want := range map[string]uint64{"t/old": 5, "t/kept": 8} {
		if err := s.Compact(ctx, family, cf.Range{}); err != nil {
			t.Fatal(err)
		}
		if got := entries(t, s, family); got != want {
			t.Errorf("%s has %d cells in its files, want %d", family, got, want)
		}
	}
	if err := s.SetExpiry("t/old", cf.Expiry{Before: math.MaxInt64}); err != nil {
		t.Fatal(err)
	}
	if err := s.Compact(ctx, "t/old", cf.Range{}); err != nil {
		t.Fatal(err)
	}
	if got := entries(t, s, "t/old"); got != 1 {
		t.Errorf("%d cells are left, want the last alone", got)
	}
}

func TestCompactionsKeepKeysThatAreNoCells(t *testing.T) {
	ctx := context.Background()
	s := open(t, "", rocks.Options{InMemory: true})
	defer s.Close()
	if err := s.CreateFamily(ctx, "t/f"); err != nil {
		t.Fatal(err)
	}
	key := cf.AppendCellKey(nil, "r\x00", "q\x00\xff", 7)
	none := [][]byte{
		{}, {1}, key[:9], key[len(key)-9:], key[1:], append([]byte{2}, key[1:]...),
		append(key[:len(key):len(key)], 0),                        // too long
		append(cf.AppendRowPrefix(nil, "r"), key[len(key)-9:]...), // no qualifier
		append(cf.AppendQualifier(cf.AppendQualifier(cf.AppendRowPrefix(nil, "r"), "q"), "q"), key[len(key)-9:]...),
		append(key[:len(key)-9:len(key)-9], 0x1c, 0xff, 0, 0, 0, 0, 0, 0, 0), // negative
		append(key[:len(key)-9:len(key)-9], 0x1b, 0x7f, 0, 0, 0, 0, 0, 0, 0),
	}
	raw, err := s.Raw("t/f")
	if err != nil {
		t.Fatal(err)
	}
	w := grocksdb.NewDefaultWriteOptions()
	defer w.Destroy()
	for _, k := range append(none, key) {
		if err := raw.DB.PutCF(w, raw.Family, k, []byte("v")); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.SetExpiry("t/f", cf.Expiry{Before: math.MaxInt64}); err != nil {
		t.Fatal(err)
	}
	if err := s.Compact(ctx, "t/f", cf.Range{}); err != nil {
		t.Fatal(err)
	}
	if got := entries(t, s, "t/f"); got != uint64(len(none)) {
		t.Errorf("%d keys are left, want %d", got, len(none))
	}
}

// A cursor keeps what it has begun to read; a snapshot alone does not.
func TestACursorKeepsWhatACompactionDrops(t *testing.T) {
	ctx := context.Background()
	s := open(t, "", rocks.Options{InMemory: true})
	defer s.Close()
	if err := s.CreateFamily(ctx, "t/f"); err != nil {
		t.Fatal(err)
	}
	writeCells(t, s, "t/f", 1, 2, 3, 4, 5, 6)
	snap, err := s.Snapshot(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer snap.Close()
	c, err := snap.Scan(ctx, cf.Scan{Family: "t/f", Rows: []cf.Range{{}}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := s.SetExpiry("t/f", cf.Expiry{Before: 10}); err != nil {
		t.Fatal(err)
	}
	if err := s.Compact(ctx, "t/f", cf.Range{}); err != nil {
		t.Fatal(err)
	}
	b, err := c.Next(ctx)
	if err != nil || b == nil || len(b.Cells) != 6 {
		t.Errorf("the cursor sees %v, %v", b, err)
	}
	if rows, _, err := cftest.Collect(ctx, snap, cf.Scan{Family: "t/f", Rows: []cf.Range{{}}}); err != nil || len(rows) != 0 {
		t.Errorf("a later cursor sees %v, %v", rows, err)
	}
}

func TestColdDataIsRewrittenWhereCellsExpire(t *testing.T) {
	ctx := context.Background()
	dir := memoryDir(t)
	s := open(t, dir, small)
	for _, family := range []string{"t/kept", "t/old"} {
		if err := s.CreateFamily(ctx, family); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.SetExpiry("t/old", cf.Expiry{Before: 1, Period: 48 * time.Hour}); err != nil {
		t.Fatal(err)
	}
	check := func(want string) {
		t.Helper()
		if got := strings.Join(periods(t, dir), " "); got != want {
			t.Errorf("periods %s, want %s", got, want)
		}
	}
	check("default=0 t/kept=0 t/old=172800")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, dir, small)
	defer s.Close()
	check("default=0 t/kept=0 t/old=0")
	if err := s.SetExpiry("t/old", cf.Expiry{Period: time.Hour}); err != nil {
		t.Fatal(err)
	}
	check("default=0 t/kept=0 t/old=3600")
}

// periods reads the engine's own record of its options: the seconds after which each
// family is rewritten.
func periods(t *testing.T, dir string) (found []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "OPTIONS-*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("options %v, %v", files, err)
	}
	text, err := os.ReadFile(files[len(files)-1])
	if err != nil {
		t.Fatal(err)
	}
	family := ""
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if name, ok := strings.CutPrefix(line, `[CFOptions "`); ok {
			family = strings.TrimSuffix(name, `"]`)
		}
		if seconds, ok := strings.CutPrefix(line, "periodic_compaction_seconds="); ok {
			found = append(found, family+"="+seconds)
		}
	}
	return found
}

func TestTinyFilesEndWithinColumns(t *testing.T) {
	ctx := context.Background()
	o := small
	o.FileSize = 1
	s := open(t, memoryDir(t), o)
	defer s.Close()
	if err := s.CreateFamily(ctx, "t/f"); err != nil {
		t.Fatal(err)
	}
	var timestamps []int64
	for ts := range int64(300) {
		timestamps = append(timestamps, ts)
	}
	writeCells(t, s, "t/f", timestamps...)
	if err := s.Compact(ctx, "t/f", cf.Range{}); err != nil {
		t.Fatal(err)
	}
	raw, err := s.Raw("t/f")
	if err != nil {
		t.Fatal(err)
	}
	if files := raw.DB.GetLiveFilesMetaData(); len(files) < 100 {
		t.Errorf("%d files", len(files))
	}
}
