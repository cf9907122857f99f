//go:build cgo && linux && !norocksdb

package rocks

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/cftest"
)

// A patience is a context that is canceled once it was looked at a number of times.
type patience struct {
	context.Context
	left atomic.Int64
}

func (p *patience) Err() error {
	if p.left.Add(-1) < 0 {
		return context.Canceled
	}
	return p.Context.Err()
}

// A left is a context that is canceled once it was looked at.
type left struct {
	context.Context
	done   context.Context
	looked bool
}

func (l *left) Done() <-chan struct{} { return l.done.Done() }

func (l *left) Err() error {
	if l.looked {
		return context.Canceled
	}
	l.looked = true
	return nil
}

// A read over many deleted cells looks at its context after some thousand of them.
func TestReadsOverTombstonesLookAtTheirContext(t *testing.T) {
	s := longStore(t)
	ctx := t.Context()
	if err := s.CreateFamily(ctx, "t"); err != nil {
		t.Fatal(err)
	}
	const deleted = 60_000
	for _, row := range []string{"", "a row"} {
		_, err := s.Write(ctx, nil, func(b *cf.Batch) error {
			for i := range deleted {
				column := fmt.Sprintf("q%05d", i)
				if row == "" {
					b.Row(cf.RowID{Space: "t", Row: "many rows " + column})
				} else {
					b.Row(cf.RowID{Space: "t", Row: row})
				}
				b.DeleteCell("t", column, 1)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	_, err := s.Write(ctx, nil, func(b *cf.Batch) error {
		b.Row(cf.RowID{Space: "t", Row: "a row"})
		b.Put("t", "a", 1, []byte("v"))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	snap, err := s.Snapshot(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer snap.Close()
	txn, err := s.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer txn.Close()
	done, cancel := context.WithCancel(ctx)
	cancel()
	many, one := []cf.Range{{Start: "many"}}, []cf.Range{cf.Single("a row")}
	last := cf.Filter{Where: []cf.RowCondition{{Qualifier: "z"}}} // decided when all of the row was read
	for _, test := range []struct {
		name string
		spec cf.Scan
	}{
		{"forward", cf.Scan{Rows: many}},
		{"in reverse", cf.Scan{Rows: many, Reverse: true}},
		{"counts", cf.Scan{Rows: many, Filter: cf.Filter{CountOnly: true}, CountTombstones: true}},
		{"two ranges", cf.Scan{Rows: []cf.Range{{End: "b"}, {Start: "many"}}}},
		{"one row", cf.Scan{Rows: one}},
		{"one row with a condition", cf.Scan{Rows: one, Filter: last}},
		{"rows with a condition", cf.Scan{Rows: []cf.Range{{End: "b"}}, Filter: last}},
	} {
		t.Run(test.name, func(t *testing.T) {
			test.spec.Family = "t"
			looks := func(read func(context.Context) error) {
				t.Helper()
				const most = 1 << 20
				p := &patience{Context: ctx}
				p.left.Store(most)
				if err := read(p); err != nil {
					t.Fatal(err)
				}
				n := most - p.left.Load()
				const least = deleted / 2 / 4096
				if n < least {
					t.Fatalf("it looked at its context %d times", n)
				}
				p.left.Store(least / 2)
				if err := read(p); !errors.Is(err, context.Canceled) {
					t.Errorf("canceled in its middle: %v", err)
				}
			}
			looks(func(ctx context.Context) error {
				_, _, err := cftest.Collect(ctx, snap, test.spec)
				return err
			})
			looks(func(ctx context.Context) error {
				_, err := cftest.Read(ctx, s, test.spec)
				return err
			})
			// A transaction is told of its context's end by another goroutine, which may be late.
			test.spec.CountTombstones = true
			passed := int64(deleted)
			for tries := 0; passed >= deleted/2 && tries < 100; tries++ {
				c, err := txn.Scan(ctx, test.spec)
				if err != nil {
					t.Fatal(err)
				}
				if _, err = c.Next(&left{Context: ctx, done: done}); !errors.Is(err, context.Canceled) {
					t.Fatalf("in a transaction: %v", err)
				}
				passed = c.Cost().Tombstones
				c.Close()
			}
			if passed >= deleted/2 {
				t.Errorf("in a transaction that was left: %d of %d tombstones", passed, deleted)
			}
		})
	}
}
