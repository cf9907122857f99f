//go:build cgo && linux && !norocksdb

package rocks_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/cftest"
	"github.com/smolwc/smolwc/cf/rocks"
)

// update writes a cell of a row in an Update and counts the runs of its function.
func update(ctx context.Context, s *rocks.Store, row string, runs *int) error {
	id := cf.RowID{Space: "t", Row: row}
	_, err := s.Update(ctx, []cf.RowID{id}, func(_ cf.Snapshot, b *cf.Batch) error {
		*runs++
		b.Row(id)
		b.Put("t", "q", 1, []byte("v"))
		return nil
	})
	return err
}

// waiting is the number of writes that wait for a stall to end.
func waiting(t *testing.T, s *rocks.Store) int64 {
	t.Helper()
	stats, err := s.Stats(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return stats.Engine.Stalls.Waiting
}

// awaitWaiting waits until n writes wait for a stall to end.
func awaitWaiting(t *testing.T, s *rocks.Store, n int64) {
	t.Helper()
	for waiting(t, s) != n {
		time.Sleep(time.Millisecond)
	}
}

// longEnough is enough time for a write to begin to wait for another waiting write; the
// store does not count such a wait.
const longEnough = 2 * time.Second

// givenUp runs f and ends its context when f waits for a stall to end.
func givenUp(t *testing.T, s *rocks.Store, f func(context.Context) error) error {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	before, done := waiting(t, s), make(chan error, 1)
	go func() { done <- f(ctx) }()
	for began := time.Now(); waiting(t, s) <= before && time.Since(began) < longEnough; {
		select {
		case err := <-done:
			return fmt.Errorf("it has not waited: %w", err)
		case <-time.After(time.Millisecond):
		}
	}
	cancel()
	return <-done
}

// A write that waits for the end of a stall holds up nothing else. Other writes of the
// same row end with their own contexts, everything else continues, and the write is
// made when the stall is over.
func TestAStalledWriteHoldsNobodyUp(t *testing.T) {
	var log bytes.Buffer
	s, release := stalling(t, "2", "2", &log)
	var done sync.WaitGroup
	var runs int
	done.Go(func() {
		if err := update(context.Background(), s, "row", &runs); err != nil {
			t.Error(err)
		}
	})
	awaitWaiting(t, s, 1)
	var other int
	for name, f := range map[string]func(context.Context) error{
		"an update of the row":   func(ctx context.Context) error { return update(ctx, s, "row", &other) },
		"a write of the row":     func(ctx context.Context) error { return write(ctx, s, "row", 1) },
		"a delete of all rows":   func(ctx context.Context) error { return s.DropRange(ctx, []string{"t"}, cf.Range{}) },
		"a load into the family": func(ctx context.Context) error { return cftest.LoadCell(ctx, s, "t", "row", "q", "loaded") },
	} {
		err := givenUp(t, s, f)
		if _, ok := errors.AsType[*cf.StallError](err); !ok || !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got, _, err := scan(s, cf.Range{}); err != nil || len(got) != 2 {
		t.Errorf("%v, %v", got, err)
	}
	if err := s.CreateFamily(t.Context(), "u"); err != nil {
		t.Error(err)
	}
	if err := s.DropFamily(t.Context(), "u"); err != nil {
		t.Error(err)
	}
	if other != 0 {
		t.Errorf("an update that was not made ran its function %d times", other)
	}
	release()
	done.Wait()
	if got, _, err := scan(s, cf.Range{}); err != nil || len(got) != 3 || runs == 0 {
		t.Errorf("%v, %v after %d runs", got, err, runs)
	}
}

// A write within the function of another write does not wait: the outer write starts
// again. If it waited, it would wait for itself.
func TestACatalogEntryWithinAStalledWrite(t *testing.T) {
	for _, stop := range []string{"2", "1000"} { // stopped, and delayed
		var log bytes.Buffer
		s, release := stalling(t, "2", stop, &log)
		if err := s.PutMeta(t.Context(), "k", []byte("v")); stop == "2" {
			if _, ok := errors.AsType[*cf.StallError](err); !ok {
				t.Fatalf("a stopped store took an entry: %v", err)
			}
		}
		var writers sync.WaitGroup
		for i := range 4 {
			writers.Go(func() {
				_, err := s.Write(t.Context(), nil, func(b *cf.Batch) error {
					b.Row(cf.RowID{Space: "t", Row: fmt.Sprint("w", i)})
					b.Put("t", "q", 1, make([]byte, 10<<10))
					return s.PutMeta(t.Context(), "k", []byte{byte(i)})
				})
				if err != nil {
					t.Error(err)
				}
			})
		}
		if stop == "2" {
			awaitWaiting(t, s, 4)
			release()
		}
		writers.Wait()
		if got, _, err := scan(s, cf.Range{}); err != nil || len(got) != 6 {
			t.Errorf("%v, %v", got, err)
		}
		release()
	}
}

// A load may stall the store itself, with too many files. Its cells can be read then,
// and the load waits only for its own end.
func TestALoadThatStallsTheStore(t *testing.T) {
	var log bytes.Buffer
	s, release := stalling(t, "4", "4", &log)
	if err := write(t.Context(), s, "before", 1); err != nil {
		t.Fatal(err)
	}
	var done sync.WaitGroup
	done.Go(func() {
		if err := cftest.LoadCell(context.Background(), s, "t", "r0", "q", "loaded"); err != nil {
			t.Error(err)
		}
	})
	awaitWaiting(t, s, 1)
	stats, err := s.Stats(t.Context())
	if err != nil || stats.Engine.Stalls.State != cf.Stopped {
		t.Fatalf("%+v, %v", stats.Engine.Stalls, err)
	}
	got, _, err := scan(s, cf.Range{})
	if err != nil || len(got) != 3 {
		t.Errorf("%v, %v", got, err)
	}
	snap, err := s.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	err = snap.(cf.EntryReader).Entries(t.Context(), "t", func(key, _ []byte) error {
		_, _, _, err := cf.SplitCellKey(key)
		return err
	})
	snap.Close()
	if err != nil {
		t.Errorf("a key that is no cell's: %v", err)
	}
	if err := givenUp(t, s, func(ctx context.Context) error { return write(ctx, s, "r0", 1) }); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	release()
	done.Wait()
	if err := write(t.Context(), s, "after", 1); err != nil {
		t.Error(err)
	}
}

// closing runs f and closes the store when f waits in the engine.
func closing(t *testing.T, s *rocks.Store, waits func() bool, f func() error) {
	t.Helper()
	done := make(chan error)
	go func() { done <- f() }()
	for !waits() {
		time.Sleep(time.Millisecond)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := <-done; !errors.Is(err, cf.ErrClosed) {
		t.Errorf("what was under way ended with %v", err)
	}
}

// The engine delays a flush until compactions, which do not run here. The store can
// still be closed, and the data in memory is in the log.
func TestCloseEndsAFlushThatIsPutOff(t *testing.T) {
	var log bytes.Buffer
	s, release := stalling(t, "3", "3", &log) // one more file than exists
	if err := write(t.Context(), s, "unflushed", 1); err != nil {
		t.Fatal(err)
	}
	raw, err := s.Raw("t")
	if err != nil {
		t.Fatal(err)
	}
	dir := raw.DB.Name()
	putOff := func() bool {
		text, err := os.ReadFile(filepath.Join(dir, "LOG"))
		return err != nil || strings.Contains(string(text), "waiting on stall conditions")
	}
	closing(t, s, putOff, func() error { return s.Flush(t.Context(), "t") })
	release()
	again, err := rocks.Open(dir, rocks.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if got, _, err := scan(again, cf.Range{}); err != nil || len(got) != 3 {
		t.Errorf("opened again it has %v, %v", got, err)
	}
}

// A long compaction is given up when the store is closed.
func TestCloseEndsACompaction(t *testing.T) {
	dir := t.TempDir()
	s, err := rocks.Open(dir, rocks.Options{Async: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.CreateFamily(t.Context(), "t"); err != nil {
		t.Fatal(err)
	}
	noise := rand.NewChaCha8([32]byte{})
	for i := range 20 {
		_, err := s.Write(t.Context(), nil, func(b *cf.Batch) error {
			value := make([]byte, 1<<20)
			noise.Read(value)
			b.Row(cf.RowID{Space: "t", Row: fmt.Sprint(i % 10)})
			b.Put("t", "q", 1, value)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if i%10 == 9 {
			if err := s.Flush(t.Context(), "t"); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s, err = rocks.Open(dir, rocks.Options{BackgroundRate: 2 << 20})
	if err != nil {
		t.Fatal(err)
	}
	running := func() bool {
		stats, err := s.Stats(t.Context())
		return err != nil || stats.Engine.Work.RunningCompactions > 0
	}
	closing(t, s, running, func() error { return s.Compact(t.Context(), "t", cf.Range{}) })
}

// A check of the files is given up too.
func TestCloseEndsACheck(t *testing.T) {
	var log bytes.Buffer
	s, _ := stalling(t, "1000", "1000", &log) // two files
	tables := 0
	err := s.CheckFiles(t.Context(), func(f cf.CheckedFile) error {
		s.EndWaits()
		if f.Family != "" {
			tables++
		}
		return f.Err
	})
	if !errors.Is(err, cf.ErrClosed) || tables > 1 {
		t.Errorf("%d table files, %v", tables, err)
	}
}
