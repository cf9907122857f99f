package cftikv_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/tikv/client-go/v2/tikvrpc"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/tikv/cftikv"
)

// transact reads rows in a transaction and, puts another one if there is no such row.
func transact(t *testing.T, s *cftikv.Store, read cf.Range, written string) error {
	tx, err := s.Begin(t.Context())
	if err != nil {
		return err
	}
	defer tx.Close()
	tx.Read("t", read)
	if len(values(t, s, tx, "f", read)) > 0 {
		return cf.ErrConflict
	}
	var b cf.Batch
	put(&b, "f", written, "x")
	if err := tx.Add(&b); err != nil {
		return err
	}
	_, err = tx.Commit(t.Context(), nil)
	return err
}

// Each of two transactions reads that the row of the other one is not there. Exactly one
// commits, whether they read single rows or ranges.
func TestNoWriteSkewBetweenProcesses(t *testing.T) {
	const rounds = 40
	stores := processes(t, 2, "f")
	for i := range rounds {
		a, b := fmt.Sprintf("a%d/", i), fmt.Sprintf("b%d/", i)
		readA, readB := cf.Prefix(a), cf.Prefix(b)
		switch i % 3 {
		case 1:
			readB = cf.Single(b)
		case 2:
			readA, readB = cf.Single(a), cf.Single(b)
		}
		var errs [2]error
		var working sync.WaitGroup
		working.Go(func() { errs[0] = transact(t, stores[0], readA, b) })
		working.Go(func() { errs[1] = transact(t, stores[1], readB, a) })
		working.Wait()
		commits := 0
		for _, err := range errs {
			if err == nil {
				commits++
			} else if !errors.Is(err, cf.ErrConflict) {
				t.Error(err)
			}
		}
		if commits != 1 {
			t.Fatalf("round %d, reading %q and %q: %d commits, errors %v", i, readA, readB, commits, errs)
		}
	}
}

// A write that began before a transaction, and commits after it has read, is a conflict,
// although its sentinel is older than the transaction.
func TestAWriteUnderWayIsAConflict(t *testing.T) {
	for name, read := range map[string]cf.Range{"a row": cf.Single("r"), "a range": cf.Prefix("r")} {
		t.Run(name, func(t *testing.T) {
			c, client := newCluster(t), new(faulty)
			writer, other := c.open(client.wrap), c.open(nil)
			if err := other.CreateFamily(t.Context(), "f"); err != nil {
				t.Fatal(err)
			}
			tx, err := other.Begin(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			tx.Close()
			var once sync.Once
			client.set(func(req *tikvrpc.Request, send func() (*tikvrpc.Response, error)) (*tikvrpc.Response, error) {
				if req.Type == tikvrpc.CmdCommit {
					once.Do(func() {
						if tx, err = other.Begin(t.Context()); err != nil {
							t.Fatal(err)
						}
						tx.Read("t", read)
						if got := values(t, other, tx, "f", read); len(got) > 0 {
							t.Errorf("a row of a commit under way can be seen: %q", got)
						}
					})
				}
				return send()
			})
			if _, err := writer.Write(t.Context(), nil, func(b *cf.Batch) error { put(b, "f", "r", "x"); return nil }); err != nil {
				t.Fatal(err)
			}
			var b cf.Batch
			put(&b, "f", "written", "x")
			if err := tx.Add(&b); err != nil {
				t.Fatal(err)
			}
			if _, err := tx.Commit(t.Context(), nil); !errors.Is(err, cf.ErrConflict) {
				t.Errorf("the error is %v", err)
			}
		})
	}
}

// A drop conflicts with transactions that have read rows of its range, and with no
// others.
func TestDropsConflictWithTransactions(t *testing.T) {
	s := processes(t, 1, "f", "other")[0]
	for _, test := range []struct {
		family   string
		rows     cf.Range
		conflict bool
	}{
		{"f", cf.Range{}, true},
		{"f", cf.Single("read"), true},
		{"f", cf.Single("written"), false},
		{"other", cf.Range{}, false},
	} {
		tx, err := s.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		tx.Read("t", cf.Single("read"))
		values(t, s, tx, "f", cf.Single("read"))
		var b cf.Batch
		put(&b, "f", "written", "x")
		if err := tx.Add(&b); err != nil {
			t.Fatal(err)
		}
		if err := s.DropRange(t.Context(), []string{test.family}, test.rows); err != nil {
			t.Fatal(err)
		}
		if _, err := tx.Commit(t.Context(), nil); errors.Is(err, cf.ErrConflict) != test.conflict || !test.conflict && err != nil {
			t.Errorf("after a drop of %q from %s: %v", test.rows, test.family, err)
		}
		if got := values(t, s, nil, "f"); (got["written"] == "x") == test.conflict {
			t.Errorf("after a drop of %q from %s there is %q", test.rows, test.family, got)
		}
		if err := s.DropRange(t.Context(), []string{"f"}, cf.Range{}); err != nil {
			t.Fatal(err)
		}
	}
}
