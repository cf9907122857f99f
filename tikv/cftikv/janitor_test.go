package cftikv_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tikv/client-go/v2/oracle"
	"github.com/tikv/client-go/v2/tikvrpc"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/tikv/cftikv"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestOneLeaderAtATime(t *testing.T) {
	c := newCluster(t)
	a, b := c.open(nil), c.open(nil)
	leading, resign, err := a.Lead(t.Context(), "job")
	must(t, err)
	for _, s := range []*cftikv.Store{a, b} {
		if _, _, err := s.Lead(t.Context(), "job"); !errors.Is(err, cf.ErrBusy) {
			t.Errorf("a second leader: %v", err)
		}
	}
	_, other, err := b.Lead(t.Context(), "another job")
	must(t, err)
	other()
	if leading.Err() != nil {
		t.Errorf("the leader has lost its job: %v", leading.Err())
	}
	resign()
	resign()
	if leading.Err() == nil {
		t.Error("the leader resigned, and leads")
	}
	_, resign, err = b.Lead(t.Context(), "job")
	must(t, err)
	defer resign()
	c.pass(cftikv.LeaseTerm - time.Second)
	if _, _, err := a.Lead(t.Context(), "job"); !errors.Is(err, cf.ErrBusy) {
		t.Errorf("before the end of the term: %v", err)
	}
	c.pass(2 * time.Second)
	_, late, err := a.Lead(t.Context(), "job")
	must(t, err)
	resign() // the second leader is late, and takes nothing from the third
	if _, _, err := b.Lead(t.Context(), "job"); !errors.Is(err, cf.ErrBusy) {
		t.Errorf("a leader that was late has ended the lease of its successor: %v", err)
	}
	late()
}

// fill writes rows and drops them from a family, in sight of a snapshot that is returned.
func fill(t *testing.T, s *cftikv.Store, rows int) map[string]string {
	t.Helper()
	must(t, s.CreateFamily(t.Context(), "f"))
	_, err := s.Write(t.Context(), nil, func(b *cf.Batch) error {
		for i := range rows {
			put(b, "f", fmt.Sprint(i), "x")
		}
		return nil
	})
	must(t, err)
	return values(t, s, nil, "f")
}

// A janitor that is paused before a commit, until another one has taken over, deletes
// nothing. The other one does its work.
func TestAPausedJanitorDeletesNothing(t *testing.T) {
	c, client := newCluster(t), new(faulty)
	paused, other := c.open(client.wrap), c.open(nil)
	fill(t, other, 10)
	must(t, other.DropRange(t.Context(), []string{"f"}, cf.Range{}))
	j, err := paused.Janitor(t.Context())
	must(t, err)
	defer j.Resign()
	before := c.stored()
	var once sync.Once
	var successor *cftikv.Janitor
	client.set(func(req *tikvrpc.Request, send func() (*tikvrpc.Response, error)) (*tikvrpc.Response, error) {
		resp, err := send()
		if req.Type == tikvrpc.CmdPrewrite {
			once.Do(func() {
				c.pass(2 * cftikv.LeaseTerm)
				var err error
				if successor, err = other.Janitor(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		return resp, err
	})
	if err := j.Round(); !errors.Is(err, cf.ErrBusy) {
		t.Errorf("the round of the paused janitor: %v", err)
	}
	if got := c.stored(); got != before {
		t.Errorf("the paused janitor has deleted %d keys", before-got)
	}
	must(t, successor.Round())
	if got := before - c.stored(); got != 10 {
		t.Errorf("its successor has deleted %d keys, want 10", got)
	}
	successor.Resign()
}

// The cells of a dropped family are destroyed behind the safepoint. The safepoint waits
// for snapshots that are protected: for a day at most.
func TestDroppedFamiliesAreDestroyed(t *testing.T) {
	c := newCluster(t)
	s := c.open(nil)
	all := fill(t, s, 10)
	before := c.stored()
	snap, err := s.Snapshot(t.Context())
	must(t, err)
	must(t, s.DropFamily(t.Context(), "f"))
	j, err := s.Janitor(t.Context())
	must(t, err)
	defer j.Resign()
	rounds := func() (destroyed int) {
		t.Helper()
		for range 2 { // one announces, and one acts
			must(t, j.Round())
			j.Wait()
		}
		return before + 2 - c.stored() // the lease is new, and the record of the sweep
	}
	if n := rounds(); n > 0 {
		t.Fatalf("at once %d cells are gone", n)
	}
	must(t, s.Protect(t.Context(), cftikv.ProtectAfter))
	j.Resign()
	c.pass(2 * cftikv.KeptVersions)
	if j, err = s.Janitor(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := rounds(); n > 0 {
		t.Fatalf("%d cells of a protected snapshot are gone", n)
	}
	if got := values(t, s, snap, "f"); !maps.Equal(got, all) {
		t.Errorf("the protected snapshot has %d rows, want %d", len(got), len(all))
	}
	must(t, s.Protect(t.Context(), cftikv.ProtectFor)) // it is too old now
	if n := rounds(); n != len(all)+1 {                // and the descriptor
		t.Errorf("%d keys are gone, want %d", n, len(all)+1)
	}
	err = s.Read(t.Context(), &cf.Scan{Family: "f", Rows: []cf.Range{{}}}, new(cf.Answer))
	if !errors.Is(err, cf.ErrNotExist) {
		t.Errorf("the family is there: %v", err)
	}
	snap.Close()
}

// What may be dropped is decided under the catalog: when another process has changed it,
// nothing is dropped, not even by a compaction under way.
func TestExpiryEndsWithTheCatalog(t *testing.T) {
	c, client := newCluster(t), new(faulty)
	s, other := c.open(client.wrap), c.open(nil)
	all := fill(t, other, 10)
	raise := func() {
		_, err := other.Write(t.Context(), nil, func(b *cf.Batch) error { b.RaiseCatalog(); return nil })
		if err != nil {
			t.Error(err)
		}
	}
	expect := func(when string, err, kind error, want int) {
		t.Helper()
		if !errors.Is(err, kind) {
			t.Errorf("%s: %v", when, err)
		}
		if got := values(t, other, nil, "f"); len(got) != want {
			t.Errorf("%s there are %d rows, want %d", when, len(got), want)
		}
	}
	must(t, s.SetExpiry("f", cf.Expiry{Before: math.MaxInt64}))
	raise()
	expect("after a change of the catalog", s.Compact(t.Context(), "f", cf.Range{}), nil, len(all))
	must(t, s.SetExpiry("f", cf.Expiry{Before: math.MaxInt64, Catalog: 1}))
	var once sync.Once
	client.set(func(req *tikvrpc.Request, send func() (*tikvrpc.Response, error)) (*tikvrpc.Response, error) {
		resp, err := send()
		if req.Type == tikvrpc.CmdPrewrite {
			once.Do(raise)
		}
		return resp, err
	})
	expect("after a change during the compaction", s.Compact(t.Context(), "f", cf.Range{}), cf.ErrCatalogChanged, len(all))
	must(t, s.SetExpiry("f", cf.Expiry{Before: math.MaxInt64, Catalog: 2}))
	expect("under the new catalog", s.Compact(t.Context(), "f", cf.Range{}), nil, 0)
}

// The janitor looks for expired cells once in each period, whichever process does it.
func TestExpiredCellsAreDroppedOnceAPeriod(t *testing.T) {
	c := newCluster(t)
	fill(t, c.open(nil), 10)
	round := func() {
		t.Helper()
		s := c.open(nil)
		must(t, s.SetExpiry("f", cf.Expiry{Before: 1, Period: time.Hour}))
		j, err := s.Janitor(t.Context())
		must(t, err)
		defer j.Resign()
		must(t, j.Round())
	}
	for _, step := range []struct {
		pass time.Duration
		want int
	}{{0, 0}, {time.Minute, 1}, {time.Hour, 0}} {
		s := c.open(nil)
		if step.want > 0 {
			_, err := s.Write(context.Background(), nil, func(b *cf.Batch) error { put(b, "f", "late", "x"); return nil })
			must(t, err)
		}
		c.pass(step.pass)
		round()
		if got := values(t, s, nil, "f"); len(got) != step.want {
			t.Errorf("after %v there are %d rows, want %d", step.pass, len(got), step.want)
		}
	}
}

// A read at a snapshot that TiKV may have cleaned up fails, and says why. It does not
// give a part of the cells.
func TestASnapshotOlderThanTheSafepoint(t *testing.T) {
	c := newCluster(t)
	client := c.connect(nil)
	s, err := cftikv.Open(t.Context(), client, "test", cftikv.Options{})
	must(t, err)
	defer s.Close()
	fill(t, s, 10)
	snap, err := s.Snapshot(t.Context())
	must(t, err)
	defer snap.Close()
	safe, err := client.CurrentTimestamp(oracle.GlobalTxnScope)
	must(t, err)
	client.UpdateSPCache(safe, time.Now())
	_, meta := snap.Meta(t.Context(), "key")
	_, prefix := snap.MetaPrefix(t.Context(), "")
	for what, err := range map[string]error{"Scan": collect(t.Context(), snap), "Meta": meta, "MetaPrefix": prefix} {
		if !errors.Is(err, cf.ErrUnavailable) || !strings.Contains(err.Error(), "the snapshot is older than the safepoint of TiKV") {
			t.Errorf("%s: %v", what, err)
		}
	}
	if got := values(t, s, nil, "f"); len(got) != 10 {
		t.Errorf("a new snapshot has %d rows, want 10", len(got))
	}
}

// The sentinels of commits before the safepoint are deleted. A transaction that began
// meanwhile does not take that for a change of its rows, and sees the changes.
func TestOldSentinelsAreDeleted(t *testing.T) {
	c := newCluster(t)
	s, other := c.open(nil), c.open(nil)
	fill(t, s, 10)
	c.pass(3 * cftikv.KeptVersions)
	begin := func(row string) cf.Txn {
		txn, err := s.Begin(t.Context())
		must(t, err)
		txn.Read("t", cf.Range{})
		txn.Read("t", cf.Single(row))
		var b cf.Batch
		put(&b, "f", row, "y")
		must(t, txn.Add(&b))
		return txn
	}
	first, second := begin("1"), begin("2")
	before := c.stored()
	j, err := other.Janitor(t.Context())
	must(t, err)
	defer j.Resign()
	for range 2 { // one announces, and one acts
		must(t, j.Round())
		j.Wait()
	}
	must(t, j.Round())
	if got := before + 2 - c.stored(); got != 10 { // the lease and the record of the sweep are new
		t.Errorf("%d keys are gone, want 10 sentinels", got)
	}
	_, err = first.Commit(t.Context(), nil)
	must(t, err)
	if _, err := second.Commit(t.Context(), nil); !errors.Is(err, cf.ErrConflict) {
		t.Errorf("a row of its range has changed: %v", err)
	}
}
