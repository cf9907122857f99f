package workload

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/smolwc/smolwc/bench/stats"
	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
)

// Every workload runs, at the least size, and its contenders do the same: the
// runner fails when one reads another number of cells than C.
func TestWorkloads(t *testing.T) {
	e := DefaultEnv(t.TempDir(), 2000)
	e.Memory = 64 << 20
	for _, w := range Workloads() {
		t.Run(w.Name, func(t *testing.T) {
			results := 0
			err := Run(t.Context(), e, w, 1, func(r Result) error {
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
			if want := max(1, len(w.Workers)) * 2; results < want {
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

// A contender that does less is found out.
func TestContendersMustDoTheSame(t *testing.T) {
	lazy := Workload{Name: "lazy", Open: func(context.Context, *Env, int) (*Contest, error) {
		do := func(n int64) func(context.Context) (Done, error) {
			return func(context.Context) (Done, error) { return Done{Ops: 10, Check: n}, nil }
		}
		return &Contest{Contenders: []Contender{steady("C", do(10)), steady("lazy", do(9))}}, nil
	}}
	err := Run(t.Context(), nil, lazy, 1, func(Result) error { return nil })
	if err == nil || !strings.Contains(err.Error(), "C counted 10 and lazy 9") {
		t.Errorf("got %v", err)
	}
}

// An interrupted run ends before the next contender begins.
func TestInterruptedRunEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	did := 0
	w := Workload{Name: "w", Open: func(context.Context, *Env, int) (*Contest, error) {
		return &Contest{Contenders: []Contender{steady("C", func(context.Context) (Done, error) { did++; cancel(); return Done{Ops: 1}, nil })}}, nil
	}}
	if err := Run(ctx, nil, w, 5, func(Result) error { return nil }); !errors.Is(err, context.Canceled) || did != 1 {
		t.Errorf("did %d rounds, %v", did, err)
	}
}

// What was opened is closed, also when a contender fails.
func TestFailureCloses(t *testing.T) {
	boom, closed, ended := errors.New("boom"), false, false
	w := Workload{Name: "w", Open: func(context.Context, *Env, int) (*Contest, error) {
		return &Contest{
			Contenders: []Contender{{Name: "x", Start: func(context.Context, int) (Attempt, error) {
				return Attempt{
					Do:  func(context.Context) (Done, error) { return Done{}, boom },
					End: func() error { ended = true; return nil },
				}, nil
			}}},
			Close: func() error { closed = true; return nil },
		}, nil
	}}
	if err := Run(t.Context(), nil, w, 1, func(Result) error { return nil }); !errors.Is(err, boom) {
		t.Errorf("got %v", err)
	}
	if !closed || !ended {
		t.Errorf("closed %v, ended %v", closed, ended)
	}
}

// The fills write what they say: the same cells in C and through smolwc.
func TestFillsWriteTheSame(t *testing.T) {
	e := DefaultEnv(t.TempDir(), 1000)
	e.Memory, e.Writes = 64<<20, 1000
	f := e.fill(true, 100, query.Async)
	dir := t.TempDir()
	db, err := e.openDB(dir, plainFamily)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := f.smolwc(t.Context(), db, 0, len(f.rows)); err != nil {
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
