package branch

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/write"
)

var (
	benchBytes = flag.Int64("bench-bytes", 64<<20, "size of the database of BenchmarkCreate")
	benchDir   = flag.String("bench-dir", "", "directory of BenchmarkCreate (default: the system's for temporary files)")
)

// BenchmarkCreate makes a branch of a flushed database that is open.
//
//	scripts/go test ./branch -run - -bench Create -bench-bytes 1073741824 -bench-dir .
func BenchmarkCreate(b *testing.B) {
	db, d := large(b)
	for b.Loop() {
		if _, err := d.Create(b.Context(), "b", db.Checkpoint); err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		if err := d.Drop(b.Context(), "b"); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
}

// BenchmarkMerge merges a branch with one changed row.
func BenchmarkMerge(b *testing.B) {
	db, d := large(b)
	made, err := d.Create(b.Context(), "b", db.Checkpoint)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		b.StopTimer()
		m := write.NewMutation()
		m.Set("all", "", cells.I64(1))
		branch := open(b, made.Dir)
		if err := errors.Join(branch.Table("t").Apply(b.Context(), "row000000000100", m), branch.Close()); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
		if r, err := Merge(b.Context(), db, made, MergeOptions{Winner: Theirs}); err != nil || r.Cells != 1 {
			b.Fatal(r, err)
		}
	}
}

// large makes a flushed database.
func large(b *testing.B) (*query.DB, Dir) {
	dir, err := os.MkdirTemp(*benchDir, "smolwc-bench")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = os.RemoveAll(dir) })
	db, err := query.Open(filepath.Join(dir, "data"), query.Options{Schema: tables(), Durability: query.DurabilityAsync})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = db.Close() })
	const value, rows = 4096, 256
	random := rand.NewChaCha8([32]byte{})
	for i := int64(0); i < *benchBytes/value; {
		batch := write.NewBatch()
		for range rows {
			v := make([]byte, value)
			_, _ = random.Read(v) // it never fails
			m := write.NewMutation()
			m.Set("all", "", cells.Bytes(v))
			batch.Add("t", fmt.Sprintf("row%012d", i), m)
			i++
		}
		if err := db.Apply(b.Context(), batch); err != nil {
			b.Fatal(err)
		}
	}
	d, err := Of(db.Dir())
	if err != nil {
		b.Fatal(err)
	}
	if err := db.Table("t").Flush(b.Context()); err != nil {
		b.Fatal(err)
	}
	return db, d
}
