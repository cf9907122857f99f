package workload

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/smolwc/smolwc/bench/contest"
	"github.com/smolwc/smolwc/bench/report"
	"github.com/smolwc/smolwc/bench/stats"
	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
)

// Every workload runs at the smallest size, and its contenders do the same work: the
// runner fails if one reads another number of cells than C.
func TestWorkloads(t *testing.T) {
	e := DefaultEnv(t.TempDir(), 2000)
	e.Memory, e.Engines = 64<<20, Engines
	for _, w := range e.Workloads() {
		t.Run(w.Name, func(t *testing.T) {
			results := 0
			err := contest.Run(t.Context(), w, contest.Options{Rounds: 1}, func(r report.Result) error {
				results++
				if r.NsPerOp <= 0 || r.Ops == 0 || len(r.Rounds) != 1 {
					t.Errorf("%s: %+v", r.Contender, r)
				}
				if r.Yardstick && r.Ratio != (stats.Spread{Median: 1, Min: 1, Max: 1}) {
					t.Errorf("the yardstick's ratio is %v", r.Ratio)
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			if want := max(1, len(w.Workers)) * 3; results < want {
				t.Errorf("%d results, want %d or more", results, want)
			}
		})
	}
	rounds, err := os.ReadDir(e.Dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range rounds {
		if strings.HasPrefix(d.Name(), "round-") || strings.HasSuffix(d.Name(), ".draft") {
			t.Errorf("%s is left behind", d.Name())
		}
	}
}

// The fills write the same cells in C and through smolwc.
func TestFillsWriteTheSame(t *testing.T) {
	e := DefaultEnv(t.TempDir(), 1000)
	e.Memory, e.Writes = 64<<20, 1000
	f := e.fill(true, 100, query.DurabilityAsync)
	dir := t.TempDir()
	db, err := e.openDB(RocksDB, dir, plainFamily)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := f.smolwc(t.Context(), db, 0, len(f.rows), nil); err != nil {
		t.Fatal(err)
	}
	for i, key := range f.keys {
		row, err := db.Table(tableName).ReadRow(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for c := range row.Cells() {
			at := i*cellsPerRow + n
			if got, want := cells.AppendValue(nil, c.Value), f.bytes.At(at); string(got) != string(want) {
				t.Fatalf("row %s, %s: smolwc wrote another value than C does", key, c.Column())
			}
			n++
		}
		if n != cellsPerRow {
			t.Fatalf("row %s has %d cells", key, n)
		}
	}
}

// The jobs beside single calls do their work on both engines, also when they are repeated.
func TestJobs(t *testing.T) {
	e := DefaultEnv(t.TempDir(), 2000)
	e.Memory, e.Engines = 64<<20, Engines
	d, err := e.plain(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer d.close()
	for _, engine := range Engines {
		db, err := (&copies{dataset: d}).on(engine)
		if err != nil {
			t.Fatal(err)
		}
		for _, j := range e.jobs() {
			for range 2 {
				if err := j.do(t.Context(), db); err != nil {
					t.Errorf("%s on %s: %v", j.name, engine, err)
				}
			}
		}
		if n, err := db.Table(anotherName).Count(t.Context()); err != nil || n.Cells != int64(e.Writes) {
			t.Errorf("%s: %d cells of %d are loaded, %v", engine, n.Cells, e.Writes, err)
		}
	}
}

// A job that fails is an error, though the calls beside it do not.
func TestAJobThatFails(t *testing.T) {
	boom, failed := errors.New("boom"), make(chan struct{})
	err := during(t.Context(), func(context.Context) error { defer close(failed); return boom }, func() error { <-failed; return nil })
	if !errors.Is(err, boom) {
		t.Errorf("got %v", err)
	}
}
