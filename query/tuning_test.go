package query_test

import (
	"strings"
	"testing"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
)

func tuned(blobs int64) *schema.Schema {
	return &schema.Schema{Tables: []schema.Table{{Name: "t", Families: []schema.Family{
		{Name: "f", Tuning: schema.Tuning{BlobMinSize: blobs}}, {Name: "g"}}}}}
}

// blobs writes a large value into each family and returns the sizes of their blob
// files.
func blobs(t *testing.T, db *query.DB) (f, g int64) {
	t.Helper()
	m := write.NewMutation()
	m.SetAt("f", "q", 1, cells.String(strings.Repeat("x", 4000)))
	m.SetAt("g", "q", 1, cells.String(strings.Repeat("x", 4000)))
	if err := db.Table("t").Apply(t.Context(), "r", m); err != nil {
		t.Fatal(err)
	}
	if err := db.Table("t").Compact(t.Context()); err != nil {
		t.Fatal(err)
	}
	of := stats(t, db).Table("t")
	if row, err := db.Table("t").ReadRow(t.Context(), "r"); err != nil || len(row.Text("f", "q")) != 4000 {
		t.Errorf("the value does not come back: %v", err)
	}
	return of[0].BlobBytes, of[1].BlobBytes
}

// A tuning applies only to its family, is kept in the database, and changes with the
// declaration.
func TestTuningIsKept(t *testing.T) {
	dir := t.TempDir()
	for _, step := range []struct {
		declared *schema.Schema
		blobs    bool
	}{
		{tuned(2 << 10), true},
		{nil, true},
		{tuned(1 << 20), false},
		{tuned(2 << 10), true},
	} {
		db, err := query.Open(dir, query.Options{Schema: step.declared})
		if err != nil {
			t.Fatal(err)
		}
		f, g := blobs(t, db)
		if (f > 0) != step.blobs || g != 0 {
			t.Errorf("declared %v: %d and %d bytes of blobs", step.declared, f, g)
		}
		if plan := schema.Diff(db.Schema(), tuned(4096)).String(); !strings.HasPrefix(plan, "~ family t/f tuning blob_min_size=") {
			t.Errorf("plan %q", plan)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestAlterTuning(t *testing.T) {
	db, err := query.Open(t.TempDir(), query.Options{Schema: tuned(0)})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if f, g := blobs(t, db); f != 0 || g != 0 {
		t.Errorf("%d and %d bytes of blobs", f, g)
	}
	if err := db.ApplyPlan(t.Context(), schema.Diff(db.Schema(), tuned(2<<10))); err != nil {
		t.Fatal(err)
	}
	if f, g := blobs(t, db); f == 0 || g != 0 {
		t.Errorf("%d and %d bytes of blobs", f, g)
	}
	bad := schema.Diff(db.Schema(), tuned(3))
	if err := db.ApplyPlan(t.Context(), bad); query.KindOf(err) != query.KindInvalidArgument {
		t.Errorf("got %v", err)
	}
}

func TestBackgroundRateOfTooLittle(t *testing.T) {
	if _, err := query.OpenInMemory(query.Options{BackgroundRate: 5}); query.KindOf(err) != query.KindInvalidArgument {
		t.Errorf("got %v", err)
	}
}
