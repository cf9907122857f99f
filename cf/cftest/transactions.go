package cftest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/smolwc/smolwc/cf"
)

func testTransactions(f *fixture) {
	f.create("t/a")
	f.write("t/a", "r q@1=old")

	// begin starts a transaction that reads and writes some rows.
	begin := func(f *fixture, read, written string) cf.Txn {
		tx, err := f.store.Begin(f.ctx)
		f.must(err)
		f.Cleanup(tx.Close)
		if read != "" {
			tx.Read("t", cf.Single(read))
		}
		var b cf.Batch
		put(&b, "t/a", ParseRows(written))
		f.must(tx.Add(&b))
		return tx
	}
	add := func(rows string) func(*cf.Batch) error {
		return func(b *cf.Batch) error { put(b, "t/a", ParseRows(rows)); return nil }
	}
	f.run("see their own changes", func(f *fixture) {
		tx := begin(f, "", "r q@2=own | s q@1=own")
		f.expectAt(tx, "t/a", "r q@2=own q@1=old | s q@1=own")
		f.expect("t/a", "r q@1=old")
	})
	f.run("commit what is added last, to rows written", func(f *fixture) {
		tx := begin(f, "read", "r q@2=own")
		_, err := tx.Commit(f.ctx, add("r q@3=last"))
		f.must(err)
		f.expect("t/a", "r q@3=last q@2=own q@1=old")
	})
	const now = "r q@3=last q@2=own q@1=old"
	f.run("hold their rows while it is added", func(f *fixture) {
		for _, row := range []string{"r", "read"} {
			tx := begin(f, "read", "r q@2=own")
			_, err := tx.Commit(f.ctx, func(*cf.Batch) error {
				ctx, cancel := context.WithTimeout(f.ctx, 10*time.Millisecond)
				defer cancel()
				return commit(ctx, f.store, []cf.RowID{id(row)}, add(row+" q@9=meanwhile"))
			})
			if err == nil {
				f.Errorf("row %s was changed while the transaction was at its last", row)
			}
		}
		f.expect("t/a", now)
	})
	f.run("with its error write nothing", func(f *fixture) {
		cause := errors.New("changed my mind")
		_, err := begin(f, "", "r q@4=own").Commit(f.ctx, func(b *cf.Batch) error {
			put(b, "t/a", ParseRows("r q@5=last"))
			return cause
		})
		if err != cause { // as it is, not wrapped
			f.Errorf("error %v, want %v", err, cause)
		}
		f.expect("t/a", now)
	})
	f.run("refuse other rows", func(f *fixture) {
		_, err := begin(f, "", "r q@4=own").Commit(f.ctx, func(b *cf.Batch) error {
			for i := range 1000 { // in some other stripe, if locks are striped
				put(b, "t/a", Rows{{fmt.Sprint("other", i), []Cell{{"q", 1, "x"}}}})
			}
			return nil
		})
		if err == nil {
			f.Error("no error")
		}
		f.expect("t/a", now)
	})
	f.run("add nothing when they conflict, or have nothing", func(f *fixture) {
		never := func(*cf.Batch) error { f.Error("called"); return nil }
		tx := begin(f, "read", "r q@4=own")
		f.write("t/a", "read q@1=changed")
		_, err := tx.Commit(f.ctx, never)
		f.expectError("Commit", err, cf.ErrConflict)
		_, err = begin(f, "read", "").Commit(f.ctx, never)
		f.must(err)
		f.expect("t/a", "r q@3=last q@2=own q@1=old | read q@1=changed")
	})
	f.run("do not conflict with changes of rows that they only write", func(f *fixture) {
		tx := begin(f, "", "r q@4=own")
		f.write("t/a", "r q@5=meanwhile")
		_, err := tx.Commit(f.ctx, nil)
		f.must(err)
		f.expect("t/a", "r q@5=meanwhile q@4=own q@3=last q@2=own q@1=old | read q@1=changed")
	})
}
