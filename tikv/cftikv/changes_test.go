package cftikv_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/tikv/cftikv"
)

// noted commits a batch of one cell with a note.
func noted(ctx context.Context, s *cftikv.Store, row, value string) error {
	_, err := s.Update(ctx, []cf.RowID{id(row)}, func(_ cf.Snapshot, b *cf.Batch) error {
		b.Note([]byte(row))
		put(b, "f", row, value)
		return nil
	})
	return err
}

// follow reads commits from a position on until it has a number of them.
func follow(ctx context.Context, s *cftikv.Store, from cf.Position, n int) (all []*cf.Commit, err error) {
	c, err := s.Changes(from)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	for len(all) < n {
		k, err := c.Next(ctx)
		if err != nil {
			return all, err
		}
		if k == nil {
			continue
		}
		all = append(all, k)
	}
	if k, err := c.Next(ctx); k != nil || err != nil {
		return all, fmt.Errorf("one more: %v, %v", k, err)
	}
	return all, nil
}

func begin(t *testing.T, s *cftikv.Store) cf.Position {
	t.Helper()
	starts, err := s.ChangeStarts()
	if err != nil {
		t.Fatal(err)
	}
	return starts[len(starts)-1]
}

// Readers that follow the writers of several processes see every commit once, in the same
// order, whatever they saw of the log before.
func TestReadersSeeTheCommitsOfAllProcessesInOneOrder(t *testing.T) {
	const writers, each = 2, 15
	stores := processes(t, 3, "f")
	if err := stores[0].KeepChanges(time.Now().Add(-time.Hour)); err != nil {
		t.Fatal(err)
	}
	for _, s := range stores {
		if !s.KeepsChanges() {
			t.Error("a process does not know that the log is kept")
		}
	}
	from, total := begin(t, stores[2]), len(stores)*writers*each
	read := make([][]*cf.Commit, 3)
	var working sync.WaitGroup
	for i, s := range stores {
		working.Go(func() {
			var err error
			if read[i], err = follow(t.Context(), s, from, total); err != nil {
				t.Error(err)
			}
		})
		for w := range writers {
			working.Go(func() {
				for n := range each {
					row := fmt.Sprint(i, w)
					if n%3 == 0 { // a row that all write
						row = "all"
					}
					if err := noted(t.Context(), s, row, fmt.Sprint(i, w, n)); err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
	working.Wait()
	last := from
	for i, k := range read[0] {
		if k.Before < last || k.At <= k.Before {
			t.Errorf("commit %d is from %d to %d, after %d", i, k.Before, k.At, last)
		}
		last = k.At
	}
	for _, other := range read[1:] {
		if !slices.EqualFunc(read[0], other, func(a, b *cf.Commit) bool { return a.At == b.At }) {
			t.Error("two readers saw different orders")
		}
	}
	for i, k := range read[0] { // from each commit on, the same commits follow
		if i%20 == 0 {
			rest, err := follow(t.Context(), stores[1], k.Before, total-i)
			if err != nil || rest[0].At != k.At {
				t.Errorf("from before commit %d: %v", i, err)
			}
		}
	}
	newest := map[string]string{}
	for _, k := range read[0] {
		newest[string(k.Ops[0].Value)] = string(k.Ops[1].Value)
	}
	for row, want := range values(t, stores[0], nil, "f") {
		if newest[row] != want {
			t.Errorf("the last change of row %s was %q, and it has %q", row, newest[row], want)
		}
	}
}

// A commit of more bytes than a value may have in TiKV is one entry all the same.
func TestLargeCommitsAreLogged(t *testing.T) {
	s := processes(t, 1, "f")[0]
	if err := s.KeepChanges(time.Now()); err != nil {
		t.Fatal(err)
	}
	from := begin(t, s)
	want := strings.Repeat("0123456789", 3e5)
	_, err := s.Write(t.Context(), nil, func(b *cf.Batch) error {
		b.Note([]byte("large"))
		for i := range 4 {
			put(b, "f", fmt.Sprint(i), want)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	all, err := follow(t.Context(), s, from, 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, op := range all[0].Ops[1:] {
		if string(op.Value) != want {
			t.Errorf("the value of %q has %d bytes", op.Key, len(op.Value))
		}
	}
}

// What one process does to the log counts for all: a commit is in the log exactly when it
// was kept at that moment, and a reader never passes over one that was not.
func TestKeepingChangesCountsForAllProcesses(t *testing.T) {
	stores := processes(t, 2, "f")
	var switching sync.WaitGroup
	stop := make(chan struct{})
	switching.Go(func() {
		for on := true; ; on = !on {
			select {
			case <-stop:
				return
			default:
			}
			since := time.Now().Add(-time.Hour)
			if !on {
				since = time.Time{}
			}
			if err := stores[1].KeepChanges(since); err != nil {
				t.Error(err)
			}
		}
	})
	seen := 0
	for i := range 40 {
		from := begin(t, stores[0])
		if err := noted(t.Context(), stores[0], "r", fmt.Sprint(i)); err != nil {
			t.Error(err)
		}
		c, err := stores[0].Changes(from)
		if errors.Is(err, cf.ErrTrimmed) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		k, err := c.Next(t.Context())
		if err == nil && (k == nil || string(k.Ops[1].Value) != fmt.Sprint(i)) {
			t.Errorf("commit %d: %v", i, k)
		} else if err != nil && !errors.Is(err, cf.ErrTrimmed) {
			t.Error(err)
		} else if err == nil {
			seen++
		}
	}
	close(stop)
	switching.Wait()
	t.Logf("%d of 40 commits were in the log", seen)
}

// Trimming deletes entries, but none that anybody can still ask for.
func TestTrimmingDeletesEntries(t *testing.T) {
	s := processes(t, 1, "f")[0]
	if err := s.KeepChanges(time.Now()); err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		if err := noted(t.Context(), s, "r", fmt.Sprint(i)); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := s.Entries(t.Context()); n != 5 || err != nil {
		t.Fatalf("%d entries, %v", n, err)
	}
	if err := s.KeepChanges(time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if n, err := s.Entries(t.Context()); n != 5 || err != nil {
		t.Errorf("%d entries of commits that were made just now, %v", n, err)
	}
	if err := s.KeepChanges(time.Time{}); err != nil {
		t.Fatal(err)
	}
	if n, err := s.Entries(t.Context()); n != 0 || err != nil {
		t.Errorf("%d entries of a log that is not kept, %v", n, err)
	}
}
