package query_test

import (
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
)

// hexText is text that a compression makes at most half as large: it repeats, since zstd in
// Go leaves blocks as they are in which nothing does.
func hexText(random *rand.Rand, n int) string {
	b := make([]byte, n/4)
	for i := range b {
		b[i] = byte(random.Uint32())
	}
	return strings.Repeat(hex.EncodeToString(b), 2)
}

// An explicit compaction rewrites also files in which nothing has changed, and those that
// overlap no other file: a new compression reaches them, and what was deleted is gone.
func TestCompactRewritesAllFiles(t *testing.T) {
	with := func(compression string) *schema.Schema {
		return declare(schema.Family{Name: "f", Tuning: schema.Tuning{Compression: compression}},
			schema.Family{Name: "g", Tuning: schema.Tuning{BlobMinSize: 1 << 10}})
	}
	db := mustOpen(t, t.TempDir(), query.Options{Schema: with("zstd")})
	defer db.Close()
	const rows = 500
	random := rand.New(rand.NewPCG(1, 2))
	for i := range rows {
		m := write.NewMutation()
		m.SetAt("f", "q", 1, cells.String(hexText(random, 1000)))
		m.SetAt("g", "q", 1, cells.String(hexText(random, 4000)))
		if err := db.Table("t").Apply(t.Context(), fmt.Sprint("r", i), m); err != nil {
			t.Fatal(err)
		}
	}
	sizes := func() (f, blobs int64) {
		t.Helper()
		if err := db.Table("t").Compact(t.Context()); err != nil {
			t.Fatal(err)
		}
		of := stats(t, db).Table("t")
		if entries := of[0].Cells(); entries != rows {
			t.Errorf("f has %d cells after a compaction, want %d", entries, rows)
		}
		if of[0].Tombstones+of[1].Tombstones > 0 {
			t.Errorf("a compaction leaves tombstones: %+v", of)
		}
		return of[0].FileBytes, of[1].BlobBytes
	}
	small, blobs := sizes()
	if err := db.ApplyPlan(t.Context(), schema.Diff(db.Schema(), with("none"))); err != nil {
		t.Fatal(err)
	}
	if large, _ := sizes(); large < small*3/2 {
		t.Errorf("without a compression %d bytes, with zstd %d", large, small)
	}
	for i := range rows {
		m := write.NewMutation()
		m.DeleteCellsInFamily("g")
		if err := db.Table("t").Apply(t.Context(), fmt.Sprint("r", i), m); err != nil {
			t.Fatal(err)
		}
	}
	if _, left := sizes(); blobs == 0 || left > 0 {
		t.Errorf("%d bytes of large values before their deletion, %d after it", blobs, left)
	}
}
