package branch

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/write"
)

// manyBranches are made by TestManyBranchesBesideWriters; -many-branches 1000 takes minutes.
var manyBranches = flag.Int("many-branches", 30, "number of branches of TestManyBranchesBesideWriters")

// Branches are made, also by several goroutines at a time, beside writers that do not stop: each
// has the writes of one moment, which is between the beginning and the end of its Create.
func TestManyBranchesBesideWriters(t *testing.T) {
	db, d := made(t)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var acked [2]atomic.Int64
	var writers, makers sync.WaitGroup
	for w := range acked {
		writers.Go(func() {
			for i := int64(1); ctx.Err() == nil; i++ {
				batch := write.NewBatch()
				for _, row := range []string{"a", "b"} { // a commit is in a branch whole or not at all
					m := write.NewMutation()
					m.SetAt("last", fmt.Sprint(w), 1, cells.I64(i)) // one version, or each branch would read a longer history
					batch.Add("t", row, m)
				}
				if err := db.Apply(context.Background(), batch); err != nil {
					t.Error(err)
					return
				}
				acked[w].Store(i)
			}
		})
	}
	last := func(c content, row string, w int) (i int64) {
		if text := c[[3]string{row, "last", fmt.Sprint(w)}][1]; text != "" {
			if _, err := fmt.Sscan(text, &i); err != nil {
				t.Error(err)
			}
		}
		return i
	}
	for g := range 3 {
		makers.Go(func() {
			for i := g; i < *manyBranches && !t.Failed(); i += 3 {
				before := [2]int64{acked[0].Load(), acked[1].Load()}
				b, err := d.Create(t.Context(), fmt.Sprint("b", i), db.Checkpoint)
				if err != nil {
					t.Error(err)
					return
				}
				after := [2]int64{acked[0].Load(), acked[1].Load()}
				base, theirs, err := b.open(b.Dir)
				if err != nil {
					t.Error(err)
					return
				}
				has, based := contentOf(t, theirs), contentOf(t, base)
				for w := range after {
					a, b := last(has, "a", w), last(has, "b", w)
					if a != b || a < before[w] || a > after[w]+1 || a != last(based, "a", w) {
						t.Errorf("writer %d was at %d before and at %d after; the branch has %d and %d, its base %d", w, before[w], after[w], a, b, last(based, "a", w))
					}
				}
				if err := errors.Join(base.Close(), theirs.Close()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	makers.Wait()
	stop()
	writers.Wait()
	if all, err := d.List(); len(all) != *manyBranches || err != nil {
		t.Errorf("%d branches, %v", len(all), err)
	}
	for i := range *manyBranches {
		if err := d.Drop(t.Context(), fmt.Sprint("b", i)); err != nil {
			t.Fatal(err)
		}
	}
}

// A branch has its identity from the beginning, also for readers of its directory, and keeps it
// when it is opened for writing; it never shows the standbys and backups of its origin.
func TestABranchHasItsIdentityFromTheBeginning(t *testing.T) {
	db, d := made(t)
	ctx := t.Context()
	if err := errors.Join(db.Plumbing().SetNote(ctx, "standbys", []byte("x")), db.Plumbing().SetBackupTarget(ctx, "/backups")); err != nil {
		t.Fatal(err)
	}
	b := must(d.Create(ctx, "b", db.Checkpoint))
	check := func(db *query.DB) {
		t.Helper()
		target, err := db.Plumbing().BackupTarget(ctx)
		if db.UUID().String() != b.ID || target != "" || err != nil {
			t.Errorf("identity %s, want %s; backups %q, %v", db.UUID(), b.ID, target, err)
		}
	}
	reader := must(query.OpenReadOnly(b.Dir, query.Options{}))
	defer reader.Close()
	check(reader)
	for range 2 {
		writer := open(t, b.Dir)
		check(writer)
		m := write.NewMutation()
		m.Set("all", "", cells.I64(1))
		if err := writer.Table("t").Apply(ctx, "k", m); err != nil {
			t.Fatal(err)
		}
		if err := reader.Refresh(ctx); err != nil {
			t.Fatal(err)
		}
		check(reader)
		if len(contentOf(t, reader)) != 1 {
			t.Errorf("the reader has %v", contentOf(t, reader))
		}
		if err := writer.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if text, err := os.ReadFile(filepath.Join(b.Dir, "SMOLWC")); err != nil || string(text) != string(must(os.ReadFile(filepath.Join(db.Dir(), "SMOLWC")))) {
		t.Errorf("after it was opened for writing its marker is %q, %v", text, err)
	}
}

// A damaged identity in the marker is an error, not an identity.
func TestADamagedIdentity(t *testing.T) {
	db, d := made(t)
	b := must(d.Create(t.Context(), "b", db.Checkpoint))
	path := filepath.Join(b.Dir, "SMOLWC")
	text := string(must(os.ReadFile(path)))
	if err := os.WriteFile(path, []byte(text[:len(text)-10]+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, readOnly := range []bool{false, true} {
		if _, err := query.Open(b.Dir, query.Options{ReadOnly: readOnly}); query.KindOf(err) != query.KindCorruption {
			t.Errorf("read only %v: %v", readOnly, err)
		}
	}
}
