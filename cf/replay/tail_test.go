package replay

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"testing"

	"github.com/smolwc/smolwc/cf"
)

// A newFamilies is a store whose log writes to families that it does not have yet. A record is one change of each
// of some families.
type newFamilies struct{ cf.Follower }

func (newFamilies) Latest() cf.Position { return 0 }

func (newFamilies) Ops(r *cf.LogRecord, fn func(op *cf.LoggedOp) error) error {
	for i := r.After; i < r.Last; i++ {
		op := &cf.LoggedOp{Family: fmt.Sprint("family ", i), Key: cf.AppendCellKey(nil, "row", "q", int64(i)), Value: []byte("v")}
		if err := fn(op); err != nil {
			return err
		}
	}
	return nil
}

// Records of many new families take bounded memory: one that is of several is kept once.
func TestSamplesOfNewFamilies(t *testing.T) {
	const families, records = 100, 30
	tail, err := NewTail(t.Context(), newFamilies{}, families*records, Options{})
	if err != nil {
		t.Fatal(err)
	}
	data, n := make([]byte, 1<<20), 0
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for more := true; more && n < records; n++ {
		x := &cf.LogRecord{After: tail.After() - families, Last: tail.After(), Data: data}
		if more, err = tail.Add(t.Context(), x); err != nil {
			t.Fatal(err)
		}
	}
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; n-1 != mostSamples>>20 || took > 2*mostSamples {
		t.Errorf("%d records of a MiB were taken, with %d MiB", n-1, took>>20)
	}
}

// A load that leaves out nearly everything ends soon with its context.
func TestChangesThatAreLeftOutAreCanceled(t *testing.T) {
	a := newArena(false)
	for i := range 5000 {
		a.add("f/f", cf.OpPut, cf.AppendCellKey(nil, "row", "q", int64(i)), []byte("v"))
	}
	a.add("f/f", cf.OpDeleteRange, cf.AppendRowBound(nil, "r"), cf.AppendRowBound(nil, "s"))
	ctx, cancel := context.WithCancel(t.Context())
	err := a.sorted(ctx, "f/f", func(change) error { cancel(); return nil })
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
