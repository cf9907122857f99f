package cftest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/smolwc/smolwc/cf"
)

// hourAgo is a time before all commits of a test.
func hourAgo() time.Time { return time.Now().Add(-time.Hour) }

func testChanges(f *fixture) {
	f.create("t/a", "t/b")
	if f.store.KeepsChanges() {
		f.Error("the log is kept before anybody asked")
	}
	f.must(f.store.KeepChanges(time.Time{})) // does nothing
	f.must(f.store.KeepChanges(hourAgo()))
	if !f.store.KeepsChanges() {
		f.Error("the log is not kept")
	}
	begin := f.lastStart()
	f.note("one", func(b *cf.Batch) { put(b, "t/a", ParseRows("r q@1=x")) })
	f.blind(func(b *cf.Batch) { put(b, "t/a", ParseRows("r q@2=silent")) })
	f.note("two", func(b *cf.Batch) {
		b.Row(id("s"))
		b.Put("t/b", "q", 1, []byte("y"))
		b.Note([]byte("between"))
		b.DeleteCell("t/a", "q", 7)
		b.DeleteRow("t/b")
		b.PutMeta("catalog", []byte("entry"))
		b.Merge("t/b", "n", 0, cf.MergeSum, []byte("z"))
	})
	const two = "two s t/b:q@1=y between -t/a:q@7 -range:t/b +t/b:n@0=1/z"

	f.run("in order, with notes between", func(f *fixture) {
		f.expectChanges(begin, "one r t/a:q@1=x", two)
	})
	f.run("from where one stopped", func(f *fixture) {
		all := f.changes(begin)
		f.expectChanges(all[0].At, two)
		f.expectChanges(all[1].Before, two)
		f.expectChanges(all[1].At)
		c, err := f.store.Changes(begin)
		f.must(err)
		defer c.Close()
		for i := range all {
			if p := c.Position(); p > all[i].Before {
				f.Errorf("the position before commit %d is %d; the commit begins after %d", i, p, all[i].Before)
			}
			_, err := c.Next(f.ctx)
			f.must(err)
			if p := c.Position(); p < all[i].At || i == 0 && p > all[1].Before {
				f.Errorf("the position after commit %d is %d", i, p)
			}
		}
	})
	f.run("and on, when there is more", func(f *fixture) {
		c, err := f.store.Changes(f.lastStart())
		f.must(err)
		defer c.Close()
		for i := range 3 {
			if k, err := c.Next(f.ctx); k != nil || err != nil {
				f.Fatalf("a commit at the end: %v, %v", k, err)
			}
			f.note(fmt.Sprint("more", i), func(b *cf.Batch) { put(b, "t/a", ParseRows("m q@1=x")) })
			if i == 1 {
				f.must(f.store.Flush(f.ctx, "t/a")) // the engine begins another log
			}
			k, err := c.Next(f.ctx)
			f.must(err)
			if got, want := describe(k), fmt.Sprintf("more%d m t/a:q@1=x", i); got != want {
				f.Errorf("got %s, want %s", got, want)
			}
		}
	})
	f.run("a batch of notes alone is not there", func(f *fixture) {
		at := f.lastStart()
		f.blind(func(b *cf.Batch) { b.Note([]byte("alone")) })
		f.expectChanges(at)
	})
	f.run("an update and a transaction", testChangesOfTransactions)
	f.run("over flushes and compactions", func(f *fixture) {
		at := f.lastStart()
		var want []string
		for i := range 20 {
			f.note(fmt.Sprint(i), func(b *cf.Batch) { put(b, "t/a", ParseRows("f q@1=x")) })
			want = append(want, fmt.Sprintf("%d f t/a:q@1=x", i))
			if i%5 == 0 {
				f.must(f.store.Flush(f.ctx, "t/a"))
				f.must(f.store.Compact(f.ctx, "t/a", cf.Range{}))
			}
		}
		f.expectChanges(at, want...)
		starts, err := f.store.ChangeStarts()
		f.must(err)
		if !slices.IsSorted(starts) || len(starts) < 2 {
			f.Errorf("the log begins at %d", starts)
		}
		for _, p := range starts {
			if _, err := f.store.Changes(p); err != nil {
				f.Errorf("from %d of %d: %v", p, starts, err)
			}
		}
	})
	f.run("behind a load", func(f *fixture) {
		at := f.lastStart()
		f.note("before", func(b *cf.Batch) { put(b, "t/a", ParseRows("i q@1=x")) })
		for range 3 {
			in := f.ingest()
			load(f, in, map[string]string{"t/a": "i q@2=loaded"}, nil)
			_, err := in.Commit(f.ctx, cf.Range{}, nil)
			f.must(err)
		}
		f.note("after", func(b *cf.Batch) { put(b, "t/a", ParseRows("i q@3=x")) })
		f.expectChanges(at, "before i t/a:q@1=x", "after i t/a:q@3=x")
	})
	f.run("of concurrent writers, each whole", testConcurrentChanges)
	f.run("a large one", func(f *fixture) {
		at := f.lastStart()
		big := strings.Repeat("x", 3<<20)
		f.note("large", func(b *cf.Batch) { put(b, "t/a", Rows{{"l", []Cell{{"q", 1, big}}}}) })
		f.expectChanges(at, "large l t/a:q@1="+big)
	})
	f.run("without those of a dropped family", func(f *fixture) {
		f.create("t/gone")
		at := f.lastStart()
		f.note("both", func(b *cf.Batch) {
			put(b, "t/gone", ParseRows("d q@1=x"))
			put(b, "t/a", ParseRows("d q@1=y"))
		})
		f.must(f.store.DropFamily(f.ctx, "t/gone"))
		f.expectChanges(at, "both d t/a:q@1=y")
	})
	f.run("not a position beyond the latest", func(f *fixture) {
		_, err := f.store.Changes(f.lastStart() + 1<<50)
		f.expectError("Changes", err, cf.ErrTrimmed)
	})
	f.run("a done context", func(f *fixture) {
		ctx, cancel := context.WithCancel(f.ctx)
		cancel()
		c, err := f.store.Changes(begin)
		f.must(err)
		defer c.Close()
		_, err = c.Next(ctx)
		f.expectError("Next", err, context.Canceled)
	})
	if f.harness.Reopen != nil {
		f.run("over a reopening", func(f *fixture) {
			before := f.changes(begin)
			f.must(f.store.Close())
			f.store = f.harness.Reopen(f.store)
			if !f.store.KeepsChanges() {
				f.Fatal("the log is no longer kept")
			}
			f.note("reopened", func(b *cf.Batch) { put(b, "t/a", ParseRows("o q@1=x")) })
			after := f.changes(begin)
			if len(after) != len(before)+1 || describe(after[len(before)]) != "reopened o t/a:q@1=x" {
				f.Errorf("%d commits, then one more, then %d", len(before), len(after))
			}
			f.must(f.store.Close())
		})
	}
}

// testTrimmedChanges makes the store trim its log.
func testTrimmedChanges(f *fixture) {
	f.create("t/a")
	f.must(f.store.KeepChanges(hourAgo()))
	begin := f.lastStart()
	f.note("old", func(b *cf.Batch) { put(b, "t/a", ParseRows("r q@1=x")) })
	c, err := f.store.Changes(begin)
	f.must(err)
	defer c.Close()
	for i := range 2 { // changes in an unfinished log may stay
		f.must(f.store.Flush(f.ctx, "t/a"))
		f.note(fmt.Sprint("new", i), func(b *cf.Batch) { put(b, "t/a", ParseRows("r q@2=x")) })
	}
	f.must(f.store.KeepChanges(hourAgo()))
	f.expectChanges(begin, "old r t/a:q@1=x", "new0 r t/a:q@2=x", "new1 r t/a:q@2=x")
	f.must(f.store.KeepChanges(time.Now().Add(time.Hour)))
	_, err = f.store.Changes(begin)
	f.expectError("Changes", err, cf.ErrTrimmed)
	_, err = c.Next(f.ctx)
	f.expectError("Next of a reading under way", err, cf.ErrTrimmed)
	starts, err := f.store.ChangeStarts()
	f.must(err)
	if starts[0] <= begin {
		f.Errorf("the log begins at %d", starts)
	}
	f.expectChanges(starts[len(starts)-1])

	f.must(f.store.KeepChanges(time.Time{}))
	if f.store.KeepsChanges() {
		f.Error("the log is kept still")
	}
	at := f.lastStart()
	for range 2 {
		f.note("lost", func(b *cf.Batch) { put(b, "t/a", ParseRows("r q@3=x")) })
		f.must(f.store.Flush(f.ctx, "t/a"))
	}
	if c, err := f.store.Changes(at); err == nil {
		k, err := c.Next(f.ctx)
		f.Errorf("a log that is not kept has %s, %v", describe(k), err)
	} else {
		f.expectError("Changes", err, cf.ErrTrimmed)
	}
	f.must(f.store.KeepChanges(hourAgo()))
	at = f.lastStart()
	f.note("again", func(b *cf.Batch) { put(b, "t/a", ParseRows("r q@4=x")) })
	f.expectChanges(at, "again r t/a:q@4=x")
	f.must(f.store.Close())
	f.expectError("KeepChanges", f.store.KeepChanges(hourAgo()), cf.ErrClosed)
	_, err = f.store.Changes(at)
	f.expectError("Changes", err, cf.ErrClosed)
	_, err = c.Next(f.ctx)
	f.expectError("Next", err, cf.ErrClosed)
}

func testChangesOfTransactions(f *fixture) {
	at := f.lastStart()
	_, err := f.store.Update(f.ctx, []cf.RowID{id("u")}, func(_ cf.Snapshot, b *cf.Batch) error {
		b.Note([]byte("update"))
		put(b, "t/a", ParseRows("u q@1=x"))
		return nil
	})
	f.must(err)
	txn, err := f.store.Begin(f.ctx)
	f.must(err)
	for i := range 2 {
		var b cf.Batch
		b.Note(fmt.Appendf(nil, "txn%d", i))
		put(&b, "t/a", ParseRows("u q@2=x"))
		f.must(txn.Add(&b))
	}
	_, err = txn.Commit(f.ctx, nil)
	f.must(err)
	f.expectChanges(at, "update u t/a:q@1=x", "txn0 u t/a:q@2=x txn1 u t/a:q@2=x")
}

// testConcurrentChanges reads changes beside writers with and without notes: an engine
// that joins the batches of several writers must still separate their commits.
func testConcurrentChanges(f *fixture) {
	const writers, each = 8, 50
	c, err := f.store.Changes(f.lastStart())
	f.must(err)
	defer c.Close()
	var writing sync.WaitGroup
	for w := range writers {
		writing.Go(func() {
			for i := range each {
				_, err := f.store.Write(f.ctx, nil, func(b *cf.Batch) error {
					if w%2 == 0 {
						b.Note(fmt.Appendf(nil, "w%d", w))
					}
					row := fmt.Sprintf("w%d-%d", w, i)
					put(b, "t/a", Rows{{row, []Cell{{"q", 1, "x"}, {"q", 0, "x"}}}})
					put(b, "t/b", Rows{{row, []Cell{{"q", 1, "x"}}}})
					return nil
				})
				if err != nil {
					f.Error(err)
				}
			}
		})
	}
	done := make(chan struct{})
	go func() { writing.Wait(); close(done) }()
	next := map[int]int{}
	last := cf.Position(0)
	for ended := false; ; {
		k, err := c.Next(f.ctx)
		f.must(err)
		if k == nil {
			if ended {
				break
			}
			select {
			case <-done:
				ended = true
			case <-time.After(time.Millisecond):
			}
			continue
		}
		var w int
		_, err = fmt.Sscanf(string(k.Ops[0].Value), "w%d", &w)
		f.must(err)
		row := fmt.Sprintf("w%d-%d", w, next[w])
		if got, want := describe(k), fmt.Sprintf("w%d %s t/a:q@1=x t/a:q@0=x t/b:q@1=x", w, row); got != want {
			f.Fatalf("got %s, want %s", got, want)
		}
		if k.Before < last || k.At <= k.Before {
			f.Fatalf("a commit from after %d to %d, after one at %d", k.Before, k.At, last)
		}
		last = k.At
		next[w]++
	}
	for w := 0; w < writers; w += 2 {
		if next[w] != each {
			f.Errorf("of writer %d there are %d commits, want %d", w, next[w], each)
		}
	}
}

// note commits a batch that begins with a note.
func (f *fixture) note(text string, fill func(*cf.Batch)) {
	f.Helper()
	f.blind(func(b *cf.Batch) {
		b.Note([]byte(text))
		fill(b)
	})
}

func (f *fixture) lastStart() cf.Position {
	f.Helper()
	starts, err := f.store.ChangeStarts()
	f.must(err)
	return starts[len(starts)-1]
}

func (f *fixture) changes(after cf.Position) (all []*cf.Commit) {
	f.Helper()
	c, err := f.store.Changes(after)
	f.must(err)
	defer c.Close()
	for {
		k, err := c.Next(f.ctx)
		f.must(err)
		if k == nil {
			return all
		}
		all = append(all, k)
	}
}

func (f *fixture) expectChanges(after cf.Position, want ...string) {
	f.Helper()
	var got []string
	for _, k := range f.changes(after) {
		got = append(got, describe(k))
	}
	if !slices.Equal(got, want) {
		f.Errorf("behind %d\n got %.300q\nwant %.300q", after, got, want)
	}
}

// describe is a commit as text: its notes and changes, with the row before the first
// change of each row.
func describe(k *cf.Commit) string {
	if k == nil {
		return "nothing"
	}
	var words []string
	last := ""
	for _, op := range k.Ops {
		if op.Kind == cf.OpNote {
			words = append(words, string(op.Value))
			last = ""
			continue
		}
		if op.Kind == cf.OpDeleteRange {
			words = append(words, "-range:"+op.Family)
			continue
		}
		row, q, ts, err := cf.SplitCellKey(op.Key)
		if err != nil {
			return err.Error()
		}
		cell := fmt.Sprintf("%s:%s@%d", op.Family, q, ts)
		switch op.Kind {
		case cf.OpPut:
			cell += "=" + string(op.Value)
		case cf.OpDelete:
			cell = "-" + cell
		case cf.OpMerge:
			cell = fmt.Sprintf("+%s=%d/%s", cell, op.Value[0], op.Value[1:])
		}
		if string(row) != last && op.Kind == cf.OpPut {
			words = append(words, string(row))
			last = string(row)
		}
		words = append(words, cell)
	}
	return strings.Join(words, " ")
}
