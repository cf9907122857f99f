package query_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
)

// copySchema has families of every kind.
func copySchema() *schema.Schema {
	return &schema.Schema{Tables: []schema.Table{
		{Name: "t", Families: []schema.Family{
			{Name: "any"}, {Name: "empty"}, {Name: "text", Type: cells.TypeString},
			{Name: "two", GC: schema.MaxVersions(2)},
			{Name: "sum", Aggregate: schema.AggregateSum}, {Name: "hll", Aggregate: schema.AggregateHLL},
		}},
		{Name: "other", Families: []schema.Family{{Name: "f"}}},
	}}
}

// scribble makes random changes to the table t.
func scribble(t testing.TB, db *query.DB, rng *rand.Rand, n int) {
	t.Helper()
	for range n {
		m := write.NewMutation()
		column := fmt.Sprint(rng.IntN(3))
		at := cells.Timestamp(rng.IntN(20))
		switch rng.IntN(6) {
		case 0:
			m.DeleteCellsInColumn("any", column)
		case 1:
			m.SetAt("any", column, at, cells.Bytes([]byte{0, byte(at)}))
			m.SetAt("two", "", at, cells.F64(float64(at)))
		case 2:
			m.SetAt("any", "\x00\xff"+column, at, cells.Bytes(make([]byte, rng.IntN(100_000))))
		case 3:
			m.SetAt("text", column, at, cells.String("é"))
		default:
			m.AddAt("sum", column, 0, cells.I64(rng.Int64()))
			m.AddAt("hll", column, 0, cells.I64(rng.Int64()))
		}
		if err := db.Table("t").Apply(t.Context(), fmt.Sprintf("k\x00%02d", rng.IntN(50)), m); err != nil {
			t.Fatal(err)
		}
	}
}

// everything is all cells of a table, in words.
func everything(t testing.TB, db *query.DB, table string) (all []string) {
	t.Helper()
	for c, err := range db.Table(table).ScanCells(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, fmt.Sprintf("%q %s %q %d %v", c.Key, c.Family, c.Qualifier, c.Timestamp, c.Value))
	}
	return all
}

// A copy has the cells and the declaration of its source, and is independent of it: in
// the same database, in another one, and from a checkpoint of only this table.
func TestCopiedTableIsItsSource(t *testing.T) {
	dir, ctx := t.TempDir(), t.Context()
	rng := rand.New(rand.NewPCG(1, 2))
	db := openAt(t, filepath.Join(dir, "db"), query.Options{Schema: copySchema(), Durability: query.DurabilityAsync})
	scribble(t, db, rng, 600)
	if err := db.CheckpointTable(ctx, "t", filepath.Join(dir, "backup")); err != nil {
		t.Fatal(err)
	}
	want := everything(t, db, "t")
	if err := db.CopyTable(ctx, "p/i/t", db.Table("t"), []byte("note")); err != nil {
		t.Fatal(err)
	}
	scribble(t, db, rng, 100)
	backup := openAt(t, filepath.Join(dir, "backup"), query.Options{ReadOnly: true})
	if n := len(backup.Schema().Tables); n != 1 {
		t.Errorf("the checkpoint of a table has %d", n)
	}
	if err := db.CopyTable(ctx, "again", backup.Table("t"), nil); err != nil {
		t.Fatal(err)
	}
	memory := openMemory(t, nil)
	if err := memory.CopyTable(ctx, "t", backup.Table("t"), nil); err != nil {
		t.Fatal(err)
	}
	source, _ := db.LookupTable("t")
	check := func(db *query.DB, table string) {
		t.Helper()
		if got := everything(t, db, table); !slices.Equal(got, want) {
			t.Errorf("%s has %d cells, its source had %d", table, len(got), len(want))
		}
		declared, ok := db.LookupTable(table)
		declared.Name = "t"
		if !ok || !(&schema.Schema{Tables: []schema.Table{declared}}).Equal(&schema.Schema{Tables: []schema.Table{source}}) {
			t.Errorf("%s is declared %v", table, declared)
		}
	}
	check(db, "p/i/t")
	check(db, "again")
	check(memory, "t")
	notes, err := db.Plumbing().TableNotes(ctx)
	if err != nil || string(notes["p/i/t"]) != "note" || len(notes) != 1 {
		t.Errorf("notes: %q, %v", notes, err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	db = openAt(t, filepath.Join(dir, "db"), query.Options{})
	check(db, "p/i/t")
	check(db, "again")
	scribble(t, memory, rng, 50) // for sums and sketches
}

// A copy that fails leaves neither a table nor a family.
func TestCopyTableThatFails(t *testing.T) {
	db := openMemory(t, copySchema())
	scribble(t, db, rand.New(rand.NewPCG(3, 4)), 100)
	before, _ := db.Stats(t.Context())
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	for _, c := range []struct {
		ctx        context.Context
		name, from string
		want       query.Kind
	}{
		{t.Context(), "other", "t", query.KindAlreadyExists},
		{t.Context(), "new", "none", query.KindNotFound},
		{t.Context(), "a/b", "t", query.KindInvalidArgument},
		{canceled, "new", "t", query.KindCanceled},
	} {
		if err := db.CopyTable(c.ctx, c.name, db.Table(c.from), nil); query.KindOf(err) != c.want {
			t.Errorf("copy of %s as %s: %v, want %v", c.from, c.name, err, c.want)
		}
	}
	if after, _ := db.Stats(t.Context()); len(after.Families) != len(before.Families) {
		t.Errorf("%d families became %d", len(before.Families), len(after.Families))
	}
	if err := db.CreateTable(t.Context(), schema.Table{Name: "new", Families: []schema.Family{{Name: "any"}}}); err != nil {
		t.Error(err)
	}
	if got := everything(t, db, "new"); len(got) != 0 {
		t.Errorf("a new table has %v", got)
	}
}

// If several copies with one name, and a table of that name, are created at once, only
// one succeeds.
func TestOneOfSeveralCopies(t *testing.T) {
	db := openMemory(t, copySchema())
	scribble(t, db, rand.New(rand.NewPCG(5, 6)), 100)
	want := everything(t, db, "t")
	for i := range 5 {
		name := fmt.Sprint("n", i)
		done := make(chan error, 4)
		for range cap(done) {
			go func() { done <- db.CopyTable(t.Context(), name, db.Table("t"), nil) }()
		}
		made := 0
		for range cap(done) {
			if err := <-done; err == nil {
				made++
			} else if query.KindOf(err) != query.KindAlreadyExists {
				t.Error(err)
			}
		}
		if made != 1 {
			t.Errorf("%d copies were made", made)
		}
		if got := everything(t, db, name); !slices.Equal(got, want) {
			t.Errorf("%s has %d cells, want %d", name, len(got), len(want))
		}
	}
}

func TestCheckpointTableThatFails(t *testing.T) {
	dir := t.TempDir()
	db := openAt(t, filepath.Join(dir, "db"), query.Options{Schema: copySchema()})
	to := filepath.Join(dir, "copy")
	if err := db.CheckpointTable(t.Context(), "none", to); query.KindOf(err) != query.KindNotFound {
		t.Errorf("no such table: %v", err)
	}
	if err := os.Mkdir(to, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := db.CheckpointTable(t.Context(), "t", to); query.KindOf(err) != query.KindAlreadyExists {
		t.Errorf("into a directory that is there: %v", err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 2 {
		t.Errorf("left: %v, %v", entries, err)
	}
	memory := openMemory(t, copySchema())
	if err := memory.CheckpointTable(t.Context(), "t", filepath.Join(dir, "m")); query.KindOf(err) != query.KindFailedPrecondition {
		t.Errorf("of a database in memory: %v", err)
	}
}
