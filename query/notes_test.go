package query_test

import (
	"encoding/binary"
	"math"
	"testing"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
)

func TestNotes(t *testing.T) {
	dir := t.TempDir()
	open := func() *query.DB {
		db, err := query.Open(dir, query.Options{Durability: query.DurabilityAsync})
		if err != nil {
			t.Fatal(err)
		}
		return db
	}
	db, ctx := open(), t.Context()
	for _, name := range []string{"t", "p/i/t"} {
		if err := db.CreateTable(ctx, schema.Table{Name: name, Families: []schema.Family{{Name: "f"}}}); err != nil {
			t.Fatal(err)
		}
		if err := db.Plumbing().SetTableNote(ctx, name, []byte("note of "+name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Plumbing().SetTableNote(ctx, "nope", []byte("x")); query.KindOf(err) != query.KindNotFound {
		t.Errorf("a note of no table: %v", err)
	}
	for _, name := range []string{"a/1", "a/2", "b/1"} {
		if err := db.Plumbing().SetNote(ctx, name, []byte(name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Plumbing().SetNote(ctx, "a/2", nil); err != nil {
		t.Fatal(err)
	}
	if err := db.DropTable(ctx, "p/i/t"); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	db = open()
	defer db.Close()
	notes, err := db.Plumbing().Notes(ctx, "a/")
	if err != nil || len(notes) != 1 || string(notes["a/1"]) != "a/1" {
		t.Errorf("notes %q, %v", notes, err)
	}
	notes, err = db.Plumbing().TableNotes(ctx)
	if err != nil || len(notes) != 1 || string(notes["t"]) != "note of t" {
		t.Errorf("notes of tables %q, %v", notes, err)
	}
}

func TestIncrementBytes(t *testing.T) {
	db, err := query.OpenInMemory(query.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	ctx := t.Context()
	if err := db.CreateTable(ctx, schema.Table{Name: "t", Families: []schema.Family{{Name: "f"}}}); err != nil {
		t.Fatal(err)
	}
	tab := db.Table("t")
	add := func(n int64) (uint64, cells.Timestamp, error) {
		m := write.NewReadModifyWrite()
		m.IncrementBytes("f", "n", n)
		m.SetTimestamp(5000)
		row, err := tab.ApplyReadModifyWrite(ctx, "k", m)
		if err != nil {
			return 0, 0, err
		}
		c, _ := row.Cell("f", "n")
		b, _ := c.Value.AsBytes()
		return binary.BigEndian.Uint64(b), c.Timestamp, nil
	}
	for _, c := range []struct{ delta, want int64 }{{math.MaxInt64, math.MaxInt64}, {1, math.MinInt64}, {-1, math.MaxInt64}} {
		if got, ts, err := add(c.delta); int64(got) != c.want || ts != 5000 || err != nil {
			t.Errorf("after %d: %d at %d, %v; want %d", c.delta, int64(got), ts, err, c.want)
		}
	}
	m := write.NewMutation()
	m.SetAt("f", "n", 6000, cells.Bytes([]byte("seven b")))
	if err := tab.Apply(ctx, "k", m); err != nil {
		t.Fatal(err)
	}
	if _, _, err := add(1); query.KindOf(err) != query.KindFailedPrecondition {
		t.Errorf("increment of 7 bytes: %v", err)
	}
}
