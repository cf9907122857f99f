package rocks_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/cftest"
	"github.com/smolwc/smolwc/cf/rocks"
)

// update writes a cell of a row in an Update and counts how often its function ran.
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

// awaitWaiting waits until so many writes wait for a stall to end.
func awaitWaiting(t *testing.T, s *rocks.Store, n int64) {
	t.Helper()
	for {
		stats, err := s.Stats(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if stats.Engine.Stalls.Waiting == n {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

// briefly runs f with a context that ends soon.
func briefly(t *testing.T, f func(context.Context) error) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	return f(ctx)
}

// A write that waits for the end of a stall, however patiently, holds nobody up:
// those of the same row that are less patient end when they want, everything else
// goes on, and it is made when the stall is over.
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
		"a delete of all rows":   func(ctx context.Context) error { return s.DropRange(ctx, []string{"t"}, cf.RowRange{}) },
		"a load into the family": func(ctx context.Context) error { return cftest.LoadCell(ctx, s, "t", "row", "q", "loaded") },
	} {
		err := briefly(t, f)
		if _, ok := errors.AsType[*cf.StallError](err); !ok || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got, _, err := scan(s, cf.RowRange{}); err != nil || len(got) != 2 {
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
	if got, _, err := scan(s, cf.RowRange{}); err != nil || len(got) != 3 || runs == 0 {
		t.Errorf("%v, %v after %d runs", got, err, runs)
	}
}

// What is written on the way, within a write, does not wait: the write starts
// again. One that waited would wait for itself.
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
		if got, _, err := scan(s, cf.RowRange{}); err != nil || len(got) != 6 {
			t.Errorf("%v, %v", got, err)
		}
		release()
	}
}

// A load may stall the store itself: its files are those that are too many. Its
// cells are there then, are read, and all in all the load waits for its end alone.
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
	got, _, err := scan(s, cf.RowRange{})
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
	if err := briefly(t, func(ctx context.Context) error { return write(ctx, s, "r0", 1) }); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	release()
	done.Wait()
	if err := write(t.Context(), s, "after", 1); err != nil {
		t.Error(err)
	}
}
