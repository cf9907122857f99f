//go:build cgo && linux && !norocksdb

package rocks_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/linxGnu/grocksdb"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/rocks"
)

// stalling is a store with a family t of two files that delays or stops writes until
// release lets the engine compact the files.
func stalling(t *testing.T, slowdown, stop string, log *bytes.Buffer) (s *rocks.Store, release func()) {
	t.Helper()
	s, err := rocks.Open(t.TempDir(), rocks.Options{Async: true, Logger: slog.New(slog.NewTextHandler(log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	env := grocksdb.NewDefaultEnv() // of every database in this process
	release = func() { env.SetBackgroundThreads(2) }
	t.Cleanup(func() {
		release()
		env.Destroy()
		s.Close()
	})
	if err := s.CreateFamily(t.Context(), "t"); err != nil {
		t.Fatal(err)
	}
	raw, err := s.Raw("t")
	if err != nil {
		t.Fatal(err)
	}
	env.SetBackgroundThreads(0) // none compacts
	err = raw.DB.SetOptionsCF(raw.Family,
		[]string{"level0_file_num_compaction_trigger", "level0_slowdown_writes_trigger", "level0_stop_writes_trigger"},
		[]string{"2", slowdown, stop})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 2 {
		if err := put(s, fmt.Sprintf("r%d q@1=v", i)); err != nil {
			t.Fatal(err)
		}
		if err := s.Flush(t.Context(), "t"); err != nil {
			t.Fatal(err)
		}
	}
	return s, release
}

func write(ctx context.Context, s *rocks.Store, row string, size int) error {
	_, err := s.Write(ctx, nil, func(b *cf.Batch) error {
		b.Row(cf.RowID{Space: "t", Row: row})
		b.Put("t", "q", 1, make([]byte, size))
		return nil
	})
	return err
}

// For each way to write to a stopped store, the context ends the wait, and the error
// says that nothing was written, and why.
func TestContextEndsAStalledWrite(t *testing.T) {
	var log bytes.Buffer
	s, release := stalling(t, "2", "2", &log)
	tx, err := s.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var own cf.Batch
	own.Row(cf.RowID{Space: "t", Row: "tx"})
	own.Put("t", "q", 1, []byte("v"))
	if err := tx.Add(&own); err != nil {
		t.Fatal(err)
	}
	row := []cf.RowID{{Space: "t", Row: "up"}}
	for _, way := range []struct {
		name  string
		write func(context.Context) error
	}{
		{"write", func(ctx context.Context) error { return write(ctx, s, "w", 1) }},
		{"write again", func(ctx context.Context) error { return write(ctx, s, "w", 1) }},
		{"update", func(ctx context.Context) error {
			_, err := s.Update(ctx, row, func(_ cf.Snapshot, b *cf.Batch) error {
				b.Row(row[0])
				b.Put("t", "q", 1, nil)
				return nil
			})
			return err
		}},
		{"drop range", func(ctx context.Context) error { return s.DropRange(ctx, []string{"t"}, cf.Range{}) }},
		{"transaction", func(ctx context.Context) error { _, err := tx.Commit(ctx, nil); return err }},
	} {
		err := givenUp(t, s, way.write)
		stall, ok := errors.AsType[*cf.StallError](err)
		if !ok || !errors.Is(err, cf.ErrUnavailable) || !errors.Is(err, context.Canceled) {
			t.Fatalf("%s: got %v", way.name, err)
		}
		if stall.State != cf.Stopped || stall.Family != "t" || stall.Files != 2 {
			t.Errorf("%s: got %+v", way.name, stall)
		}
		if !strings.Contains(err.Error(), "writes are stopped") || !strings.Contains(err.Error(), "nothing was written") {
			t.Errorf("%s: %v", way.name, err)
		}
	}
	if stats, err := s.Stats(t.Context()); err != nil || stats.Engine.Stalls.State != cf.Stopped || stats.Engine.Stalls.Count != 5 || stats.Engine.Stalls.Time <= 0 {
		t.Errorf("stalls %+v, %v", stats.Engine.Stalls, err)
	}

	// A waiting write gets in when the stall is over. Refused writes have no effect.
	done := make(chan error)
	go func() { done <- write(context.Background(), s, "late", 1) }()
	for waiting := int64(0); waiting == 0; {
		stats, err := s.Stats(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		waiting = stats.Engine.Stalls.Waiting
	}
	release()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	got, _, err := scan(s, cf.Range{})
	if text := got.String(); err != nil || !strings.Contains(text, "late") || !strings.Contains(text, "r1") || strings.Contains(text, "w ") || strings.Contains(text, "up") || strings.Contains(text, "tx") {
		t.Errorf("the store has %s, %v", text, err)
	}
	if said := log.String(); !strings.Contains(said, "writes are stalled") || strings.Count(said, "writes are no longer stalled") != 1 {
		t.Errorf("the log has %s", said)
	}
}

// A delayed store lets writes in, at the engine's rate.
func TestDelayedWritesGetIn(t *testing.T) {
	var log bytes.Buffer
	s, release := stalling(t, "2", "1000", &log)
	stats, err := s.Stats(t.Context())
	if err != nil || stats.Engine.Stalls.State != cf.Delayed || stats.Engine.Stalls.Rate == 0 {
		t.Fatalf("stalls %+v, %v", stats.Engine.Stalls, err)
	}
	var writers sync.WaitGroup
	for i := range 4 {
		writers.Go(func() {
			for j := range 5 {
				if err := write(t.Context(), s, fmt.Sprintf("d%d-%d", i, j), 100<<10); err != nil {
					t.Error(err)
				}
			}
		})
	}
	writers.Wait()
	more := 0
	for ; more < 20; more++ { // on a slow machine no write above had to wait
		if stats, err = s.Stats(t.Context()); err != nil {
			t.Fatal(err)
		}
		if stats.Engine.Stalls.Count > 0 {
			break
		}
		if err := write(t.Context(), s, fmt.Sprintf("more%d", more), 4<<20); err != nil {
			t.Fatal(err)
		}
	}
	release()
	for state := cf.Delayed; state != cf.NotStalled; state = stats.Engine.Stalls.State {
		if stats, err = s.Stats(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if err := write(t.Context(), s, "after", 1); err != nil {
		t.Fatal(err)
	}
	if stats, err = s.Stats(t.Context()); err != nil || stats.Engine.Stalls.State != cf.NotStalled || stats.Engine.Stalls.Count == 0 || stats.Engine.Stalls.Waiting != 0 {
		t.Errorf("stalls %+v, %v", stats.Engine.Stalls, err)
	}
	if got := stats.Families["t"].Entries; got != int64(2+20+more+1) {
		t.Errorf("%d entries", got)
	}
}

// A stalled store can be closed; waiting writes fail.
func TestCloseEndsAStalledWrite(t *testing.T) {
	var log bytes.Buffer
	s, _ := stalling(t, "2", "2", &log)
	done := make(chan error)
	go func() { done <- write(context.Background(), s, "w", 1) }()
	for waiting := int64(0); waiting == 0; {
		stats, err := s.Stats(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		waiting = stats.Engine.Stalls.Waiting
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-done; !errors.Is(err, cf.ErrClosed) {
		t.Errorf("got %v", err)
	}
}

// If the engine refuses a commit, last runs again, and its changes are made once.
func TestAStalledTransactionAddsItsLastOnce(t *testing.T) {
	var log bytes.Buffer
	s, release := stalling(t, "2", "2", &log)
	tx, err := s.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	own := cf.RowID{Space: "t", Row: "tx"}
	var b cf.Batch
	b.Row(own)
	b.Put("t", "own", 1, nil)
	if err := tx.Add(&b); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer release()
		for stats, err := s.Stats(t.Context()); err == nil && stats.Engine.Stalls.Waiting == 0; {
			stats, err = s.Stats(t.Context())
		}
	}()
	runs := int64(0)
	if _, err := tx.Commit(t.Context(), func(b *cf.Batch) error {
		runs++
		b.Row(own)
		b.Put("t", "last", runs, nil)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if runs < 2 {
		t.Fatal("the engine took the commit at once")
	}
	got, _, err := scan(s, cf.Range{Start: "tx"})
	if want := fmt.Sprintf("tx last@%d=\"\" own@1=\"\"", runs); err != nil || got.String() != want {
		t.Errorf("the store has %s, want %s; %v", got, want, err)
	}
}
