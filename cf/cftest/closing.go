package cftest

import (
	"slices"

	"github.com/smolwc/smolwc/cf"
)

func testReopening(f *fixture) {
	if f.harness.Reopen == nil {
		f.Skip("the store keeps nothing")
	}
	f.create("t/a", "t/b", "t/dropped")
	f.blind(func(b *cf.Batch) {
		put(b, "t/a", ParseRows("r q@2=x q@1=y"))
		b.PutMeta("k", []byte("v"))
	})
	f.must(f.store.Flush(f.ctx, "t/a"))
	f.write("t/b", "s q@1=z")
	f.must(f.store.DropFamily(f.ctx, "t/dropped"))
	before := f.blind(func(b *cf.Batch) {
		b.Row(id("r"))
		b.DeleteCell("t/a", "q", 1)
	})

	f.must(f.store.Close())
	f.store = f.harness.Reopen(f.store)
	f.Cleanup(func() { f.store.Close() })
	if got := f.store.Families(); !slices.Equal(got, []string{"t/a", "t/b"}) {
		f.Errorf("families %q", got)
	}
	f.expect("t/a", "r q@2=x")
	f.expect("t/b", "s q@1=z")
	if v, err := f.snapshot().Meta(f.ctx, "k"); err != nil || string(v) != "v" {
		f.Errorf("catalog entry: %q, %v", v, err)
	}
	if p := f.blind(func(b *cf.Batch) { b.DeleteMeta("k") }); p <= before {
		f.Errorf("position %d after reopening, %d before", p, before)
	}
}

// testEndingWaits tests the time between EndWaits and Close.
func testEndingWaits(f *fixture) {
	f.create("t/a", "t/b")
	f.write("t/a", "r q@1=before")
	in := f.loaded(map[string]string{"t/b": "loaded q@1=v"})
	f.store.EndWaits()
	f.expectError("Flush", f.store.Flush(f.ctx, "t/a"), cf.ErrClosed)
	f.expectError("Compact", f.store.Compact(f.ctx, "t/a", cf.Range{}), cf.ErrClosed)
	f.expectEnded(in)
	f.write("t/a", "r q@2=after")
	const want = "r q@2=after q@1=before"
	f.expect("t/a", want)
	f.must(f.store.Close())
	f.store.EndWaits() // does nothing
	if f.harness.Reopen != nil {
		f.store = f.harness.Reopen(f.store)
		defer f.store.Close()
		f.expect("t/a", want)
		f.expect("t/b", "")
	}
}

// testClosed closes a store while a snapshot and cursors are open. The documentation
// forbids it, but it must not crash.
func testClosed(f *fixture) {
	f.create("t", "t/a")
	f.blind(func(b *cf.Batch) { put(b, "t", manyCells(1, 12_000)) })
	snap, err := f.store.Snapshot(f.ctx)
	f.must(err)
	fresh, err := snap.Scan(f.ctx, everything("t"))
	f.must(err)
	begun, err := snap.Scan(f.ctx, everything("t"))
	f.must(err)
	block, err := begun.Next(f.ctx)
	f.must(err)
	in := f.loaded(map[string]string{"t/a": "loaded q@1=v"})
	tx, err := f.store.Begin(f.ctx)
	f.must(err)
	changes := new(cf.Batch)
	put(changes, "t", ParseRows("r q@1=v"))
	f.must(tx.Add(changes))
	f.must(f.store.Close())

	f.expectError("Txn.Add", tx.Add(changes), cf.ErrClosed)
	_, err = tx.Scan(f.ctx, everything("t"))
	f.expectError("Txn.Scan", err, cf.ErrClosed)
	_, err = tx.Commit(f.ctx, nil)
	f.expectError("Txn.Commit", err, cf.ErrClosed)
	_, err = f.store.Begin(f.ctx)
	f.expectError("Begin", err, cf.ErrClosed)
	f.expectError("Close", f.store.Close(), cf.ErrClosed)
	_, err = f.store.Snapshot(f.ctx)
	f.expectError("Snapshot", err, cf.ErrClosed)
	for _, rows := range [][]cf.RowID{nil, {id("r")}} {
		_, err = f.store.Update(f.ctx, rows, func(_ cf.Snapshot, b *cf.Batch) error {
			put(b, "t", ParseRows("r q@1=v"))
			return nil
		})
		f.expectError("Update", err, cf.ErrClosed)
	}
	f.expectError("CreateFamily", f.store.CreateFamily(f.ctx, "t/new"), cf.ErrClosed)
	f.expectError("DropFamily", f.store.DropFamily(f.ctx, "t"), cf.ErrClosed)
	f.expectError("DropRange", f.store.DropRange(f.ctx, []string{"t"}, cf.Range{}), cf.ErrClosed)
	f.expectError("Flush", f.store.Flush(f.ctx, "t"), cf.ErrClosed)
	f.expectError("Compact", f.store.Compact(f.ctx, "t", cf.Range{}), cf.ErrClosed)
	f.expectError("SetExpiry", f.store.SetExpiry("t", cf.Expiry{}), cf.ErrClosed)
	_, err = f.store.Splits(f.ctx, []string{"t"}, cf.Range{}, 2)
	f.expectError("Splits", err, cf.ErrClosed)
	_, err = in.Run(f.ctx, "t")
	f.expectError("Ingestion.Run", err, cf.ErrClosed)
	f.expectEnded(in)
	f.store.Families() // either answer is right
	f.store.Limits()

	_, err = snap.Scan(f.ctx, everything("t"))
	f.expectError("Snapshot.Scan", err, cf.ErrClosed)
	_, err = snap.Meta(f.ctx, "k")
	f.expectError("Snapshot.Meta", err, cf.ErrClosed)
	_, err = snap.MetaPrefix(f.ctx, "k")
	f.expectError("Snapshot.MetaPrefix", err, cf.ErrClosed)
	for _, c := range []cf.Cursor{fresh, begun} {
		_, err = c.Next(f.ctx)
		f.expectError("Cursor.Next", err, cf.ErrClosed)
		c.Cost()
		c.Close()
	}
	if _, err := appendBlock(nil, block, cf.Scan{}); err != nil {
		f.Errorf("a block from before: %v", err)
	}
	snap.Close()
}

// loaded begins a load of rows.
func (f *fixture) loaded(rows map[string]string) cf.Ingestion {
	f.Helper()
	in := f.ingest()
	load(f, in, rows, nil)
	return in
}

// expectEnded expects that the store ended a load.
func (f *fixture) expectEnded(in cf.Ingestion) {
	f.Helper()
	_, err := in.Commit(f.ctx, cf.Range{}, nil)
	f.expectError("Ingestion.Commit", err, cf.ErrClosed)
	f.must(in.Close())
}
