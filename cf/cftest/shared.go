package cftest

import (
	"sync"

	"github.com/smolwc/smolwc/cf"
)

// testShared tests the promises of [cf.Shared], for stores that give them.
func testShared(f *fixture) {
	store, ok := f.store.(cf.Shared)
	if !ok {
		f.Skip("only one process at a time writes this store")
	}
	f.create("t/a")
	f.run("the clock does not go back", func(f *fixture) {
		last := int64(0)
		for range 20 {
			now, err := store.Now(f.ctx)
			f.must(err)
			if now < last {
				f.Fatalf("%d after %d", now, last)
			}
			last = now
		}
	})
	f.run("a catalog that has changed", func(f *fixture) { testCatalogVersion(f, store) })
	f.run("timestamps of a row ascend", func(f *fixture) { testStamps(f, store) })
}

func catalogVersion(f *fixture, s any) uint64 {
	f.Helper()
	version, err := s.(cf.Versioned).CatalogVersion(f.ctx)
	f.must(err)
	return version
}

func testCatalogVersion(f *fixture, store cf.Shared) {
	before := f.snapshot()
	was := catalogVersion(f, before)
	_, err := store.Write(f.ctx, nil, func(b *cf.Batch) error {
		b.UnderCatalog(was)
		b.RaiseCatalog()
		b.PutMeta("schema", []byte("new"))
		return nil
	})
	f.must(err)
	if v := catalogVersion(f, before); v != was {
		f.Errorf("the old snapshot has version %d, want %d", v, was)
	}
	if v := catalogVersion(f, f.snapshot()); v != was+1 {
		f.Errorf("a new snapshot has version %d, want %d", v, was+1)
	}
	_, err = store.Write(f.ctx, nil, func(b *cf.Batch) error { b.RaiseCatalog(); return nil })
	f.must(err)

	for _, version := range []uint64{was, was + 1, was + 3} {
		_, err = store.Update(f.ctx, []cf.RowID{id("r")}, func(snap cf.Snapshot, b *cf.Batch) error {
			if v := catalogVersion(f, snap); v != was+2 {
				f.Errorf("the snapshot of an update has version %d, want %d", v, was+2)
			}
			b.UnderCatalog(version)
			b.Row(id("r"))
			b.Put("t/a", "q", 1, []byte("v"))
			return nil
		})
		f.expectError("Update", err, cf.ErrCatalogChanged)
		_, err = store.Write(f.ctx, nil, func(b *cf.Batch) error {
			b.UnderCatalog(version)
			b.PutMeta("schema", []byte("wrong"))
			return nil
		})
		f.expectError("Write", err, cf.ErrCatalogChanged)
	}
	f.expect("t/a", "")
	demanding := everything("t/a")
	for version := was; version <= was+3; version++ {
		demanding.Catalog = version
		err := store.Read(f.ctx, &demanding, new(cf.Answer))
		if version == was+2 || version == 0 { // 0 demands nothing
			f.must(err)
		} else {
			f.expectError("Read", err, cf.ErrCatalogChanged)
		}
	}
	if got, err := f.snapshot().Meta(f.ctx, "schema"); err != nil || string(got) != "new" {
		f.Errorf("entry %q, error %v", got, err)
	}
	f.run("under a transaction", func(f *fixture) {
		txn, err := store.Begin(f.ctx)
		if err != nil {
			f.Skip(err)
		}
		defer txn.Close()
		if v := catalogVersion(f, txn); v != was+2 {
			f.Errorf("version %d, want %d", v, was+2)
		}
		var b cf.Batch
		b.UnderCatalog(was + 2)
		b.Row(id("r"))
		b.Put("t/a", "q", 1, []byte("v"))
		f.must(txn.Add(&b))
		_, err = store.Write(f.ctx, nil, func(b *cf.Batch) error { b.RaiseCatalog(); return nil })
		f.must(err)
		_, err = txn.Commit(f.ctx, nil)
		f.expectError("Commit", err, cf.ErrCatalogChanged)
		f.expect("t/a", "")
	})
}

func testStamps(f *fixture, store cf.Shared) {
	var mu sync.Mutex
	given := map[string][]int64{}
	take := func(b *cf.Batch, rows ...string) { // while the rows are locked
		mu.Lock()
		defer mu.Unlock()
		for _, row := range rows {
			b.Row(id(row))
			ts, ok := b.Stamp()
			if !ok {
				f.Error("there is no timestamp")
			}
			given[row] = append(given[row], ts)
			b.Put("t/a", "stamp", ts, []byte("v"))
		}
	}
	var writers sync.WaitGroup
	for range 4 {
		writers.Go(func() {
			for range 10 {
				rows := []cf.RowID{id("x"), id("y")}
				_, err := store.Update(f.ctx, rows, func(_ cf.Snapshot, b *cf.Batch) error {
					take(b, "x", "x", "y")
					return nil
				})
				if err == nil {
					_, err = store.Write(f.ctx, rows[:1], func(b *cf.Batch) error { take(b, "x"); return nil })
				}
				if err != nil {
					f.Error(err)
				}
			}
		})
	}
	writers.Wait()
	for row, stamps := range given {
		for i := range stamps[1:] {
			if stamps[i+1] <= stamps[i] {
				f.Errorf("row %s: %d after %d", row, stamps[i+1], stamps[i])
			}
		}
	}
	f.run("in a transaction", func(f *fixture) {
		txn, err := store.Begin(f.ctx)
		if err != nil {
			f.Skip(err)
		}
		defer txn.Close()
		txn.Read("t", cf.Single("x"))
		ts, err := txn.(cf.Stamper).Stamp(f.ctx, id("x"))
		f.must(err)
		if last := given["x"][len(given["x"])-1]; ts <= last {
			f.Errorf("%d after %d", ts, last)
		}
		var b cf.Batch
		b.Row(id("x"))
		b.Put("t/a", "stamp", ts, []byte("v"))
		f.must(txn.Add(&b))
		_, err = txn.Commit(f.ctx, nil)
		f.must(err)
		_, err = store.Write(f.ctx, []cf.RowID{id("x")}, func(b *cf.Batch) error {
			b.Row(id("x"))
			if next, _ := b.Stamp(); next <= ts {
				f.Errorf("%d after that of the transaction, %d", next, ts)
			}
			return nil
		})
		f.must(err)
	})
}
