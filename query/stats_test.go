package query_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
)

var statsSchema = &schema.Schema{Tables: []schema.Table{
	{Name: "b", Families: []schema.Family{{Name: "y"}, {Name: "x"}}},
	{Name: "a", Families: []schema.Family{{Name: "z"}}},
}}

func statsDB(t *testing.T) *query.DB {
	t.Helper()
	db, err := query.Open(t.TempDir(), query.Options{Schema: statsSchema})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

func stats(t *testing.T, db *query.DB) *query.Stats {
	t.Helper()
	s, err := db.Stats(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func setCells(t *testing.T, table *query.Table, family string, rows int) {
	t.Helper()
	for i := range rows {
		m := write.NewMutation()
		m.Set(family, "q", cells.I64(int64(i)))
		if err := table.Apply(t.Context(), fmt.Sprintf("r%04d", i), m); err != nil {
			t.Fatal(err)
		}
	}
}

// Entries and tombstones are counted before and after they are flushed to files, and
// after the files have been opened again.
func TestStatsOfFamilies(t *testing.T) {
	dir := t.TempDir()
	db, err := query.Open(dir, query.Options{Schema: statsSchema})
	if err != nil {
		t.Fatal(err)
	}
	setCells(t, db.Table("b"), "x", 50)
	m := write.NewMutation()
	m.DeleteRow()
	if err := db.Table("b").Apply(t.Context(), "r0007", m); err != nil {
		t.Fatal(err)
	}
	check := func(db *query.DB, files, entries int64) query.FamilyStats {
		t.Helper()
		s := stats(t, db)
		var names []string
		for _, f := range s.Families {
			names = append(names, f.Table+"/"+f.Family)
		}
		if got := fmt.Sprint(names); got != "[a/z b/x b/y]" {
			t.Errorf("families %s", got)
		}
		x := s.Table("b")[0]
		if x.Entries != entries || x.Tombstones != 1 || x.Cells() != entries-1 {
			t.Errorf("%d entries, %d tombstones, %d cells", x.Entries, x.Tombstones, x.Cells())
		}
		if x.Files() != files || len(x.Levels) == 0 || x.Levels[0] != files || (x.FileBytes > 0) != (files > 0) {
			t.Errorf("%d files of %d bytes, by level %v", x.Files(), x.FileBytes, x.Levels)
		}
		if y := s.Table("b")[1]; y.Entries != 0 || y.Files() != 0 {
			t.Errorf("an empty family has %+v", y)
		}
		return x
	}
	if x := check(db, 0, 51); x.MemtableBytes == 0 {
		t.Error("what was written takes no memory")
	}
	if err := db.Table("b").Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	check(db, 1, 50) // without the cell that was deleted
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if db, err = query.Open(dir, query.Options{}); err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	// A moment after opening, the engine compacts such a file by itself, in its place.
	// Pebble moves it down.
	x := stats(t, db).Table("b")[0]
	if x.Entries != 49+x.Tombstones || x.Tombstones > 1 || x.Cells() != 49 || x.Files() != 1 || x.Levels[0] != 1 && query.DefaultEngine() != query.EnginePebble {
		t.Errorf("opened again: %+v", x)
	}
	if err := db.Table("b").Compact(t.Context()); err != nil {
		t.Fatal(err)
	}
	if x := stats(t, db).Table("b")[0]; x.Entries != 49 || x.Tombstones != 0 || x.Levels[0] != 0 || x.Files() != 1 {
		t.Errorf("after a compaction %+v", x)
	}
}

func TestStatsOfTheEngine(t *testing.T) {
	db := statsDB(t)
	table := db.Table("a")
	setCells(t, table, "z", 20)
	before := stats(t, db)
	if before.Log.Bytes == 0 || before.Log.Written == 0 || before.Log.Syncs < 20 || before.BytesIn == 0 {
		t.Errorf("20 durable writes make %+v, %d bytes in", before.Log, before.BytesIn)
	}
	if m := before.Memory; m.Memtables == 0 || m.Total() < m.Memtables {
		t.Errorf("memory %+v", m)
	}
	if err := table.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	setCells(t, table, "z", 20) // a compaction rewrites both files
	if err := table.Compact(t.Context()); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if row, err := table.ReadRow(t.Context(), "r0003"); row == nil || err != nil {
			t.Fatal(err)
		}
	}
	if row, err := table.ReadRow(t.Context(), "r0003x"); row != nil || err != nil {
		t.Fatal(row, err)
	}
	s := stats(t, db)
	if c := s.Cache; c.Hits <= before.Cache.Hits || c.Capacity < c.Used || c.Used == 0 || c.HitRate() <= 0 || c.HitRate() > 1 {
		t.Errorf("cache %+v", c)
	}
	if f := s.Filters; f.Checked < 4 || f.Useful < 1 || f.Useful >= f.Checked {
		t.Errorf("after reads of three rows that are there and one that is not, filters %+v", f)
	}
	if w := s.Work; w.Flushes < 1 || w.Compactions < 1 || w.FlushedBytes == 0 || w.CompactedBytes == 0 || w.Errors != 0 {
		t.Errorf("after a flush and a compaction %+v", w)
	}
	if s.Stalls != (cf.StallStats{}) {
		t.Errorf("stalls %+v", s.Stalls)
	}
}

// Open snapshots and cursors are counted until they are closed.
func TestStatsOfWhatIsOpen(t *testing.T) {
	db := statsDB(t)
	setCells(t, db.Table("a"), "z", 3)
	for _, err := range db.Table("a").ReadRows(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if o := stats(t, db).Open; o.Snapshots != 1 || o.Cursors != 1 {
			t.Errorf("within a read %+v", o)
		}
	}
	if o := stats(t, db).Open; o.Snapshots != 0 || o.Cursors != 0 {
		t.Errorf("after it %+v", o)
	}
}

func TestStatsOfAClosedDatabase(t *testing.T) {
	db := statsDB(t)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Stats(context.Background()); query.KindOf(err) != query.KindUnavailable {
		t.Errorf("got %v", err)
	}
}
