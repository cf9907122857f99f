//go:build cgo && linux && !norocksdb

package rocks_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/rocks"
)

// Each call that changes a file fails once, in all kinds of work: writes to the log, to
// table files, to the manifest and to CURRENT. The process lives, the store works again
// by itself, and what was acknowledged is there. Only a load that stopped half-way, and
// says so, needs an open.
func TestEachCallOfADiskFailsOnce(t *testing.T) {
	disk := onAFaultyDisk(t)
	if disk == nil {
		return
	}
	ctx := t.Context()
	works := []struct {
		name string
		do   func(w *worker, dir string) error
	}{
		{"flush", func(w *worker, _ string) error { return w.Flush(ctx, "t") }},
		{"compact", func(w *worker, _ string) error { return w.Compact(ctx, "t", cf.Range{}) }},
		{"load", func(w *worker, _ string) error { return w.load(ctx) }},
		{"create", func(w *worker, _ string) error { return w.CreateFamily(ctx, "v") }},
		{"remove", func(w *worker, _ string) error { return w.DropFamily(ctx, "v") }},
		{"tune", func(w *worker, _ string) error {
			return w.SetTuning("t", cf.Tuning{BlockSize: 4 << 10 << w.random.IntN(3)})
		}},
		{"checkpoint", func(w *worker, dir string) error { return w.checkpoint(ctx, dir+".copy") }},
		{"close", func(w *worker, dir string) error { return errors.Join(w.Close(), w.again(dir)) }},
	}
	for first, async := range []bool{false, true} {
		dir := filepath.Join(disk.dir, fmt.Sprint(async))
		w := &worker{random: rand.New(rand.NewPCG(1, 2)), acknowledged: map[string]bool{}, options: rocks.Options{Memory: 8 << 20, Async: async}}
		if err := errors.Join(w.again(dir), w.CreateFamily(ctx, "t", "u", "v")); err != nil {
			t.Fatal(err)
		}
		for _, work := range works {
			before := atomic.LoadInt32(disk.calls)
			if err := errors.Join(w.put(ctx), work.do(w, dir), w.CreateFamily(ctx, "v")); err != nil {
				t.Fatalf("%s: %v", work.name, err)
			}
			calls := int(atomic.LoadInt32(disk.calls) - before)
			for n := range calls {
				if *faults == 0 && n%24 != first {
					continue // each takes a second
				}
				if err := errors.Join(w.put(ctx), w.drop(ctx), w.put(ctx)); err != nil {
					t.Fatalf("%s, call %d: %v", work.name, n, err)
				}
				disk.breaks(n, 1, []syscall.Errno{syscall.EIO, syscall.ENOSPC}[n%2])
				err := work.do(w, dir)
				disk.mends()
				if w.Store == nil || err != nil && strings.Contains(err.Error(), "opening the database again") {
					if w.Store != nil {
						w.Close()
					}
					if err := w.again(dir); err != nil {
						t.Fatalf("%s, call %d: %v", work.name, n, err)
					}
				}
				for name, again := range map[string]func() error{
					"put":    func() error { return w.put(ctx) },
					"load":   func() error { return w.load(ctx) },
					"create": func() error { return w.CreateFamily(ctx, "v") },
					"flush":  func() error { return w.Flush(ctx, "u") },
				} {
					expectResumed(t, func(int) error {
						err := again()
						w.done = append(w.done, fmt.Sprintf("%s, call %d, then %s: %v", work.name, n, name, err))
						return err
					})
				}
			}
			t.Logf("%s: %d calls", work.name, calls)
		}
		if err := errors.Join(w.Close(), w.again(dir)); err != nil {
			t.Fatal(err)
		}
		w.expectWhole(t, w.Store)
		w.Close()
	}
}

// again opens the store again.
func (w *worker) again(dir string) (err error) {
	w.Store, err = rocks.Open(dir, w.options)
	return err
}
