package peers

import (
	"errors"
	"runtime"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/options"

	"github.com/smolwc/smolwc/bench/workload"
)

// openBadger opens Badger with the settings that smolwc gives to RocksDB, as far as
// Badger offers them: the same memory for caches, blocks of 16 KiB, zstd. Values of a
// few hundred bytes are stored with their keys, as in the other engines; a newer
// version of a key replaces the older one.
func openBadger(dir string, o workload.PeerOptions) (workload.KV, error) {
	cache := o.Memory - o.Memory/4
	db, err := badger.Open(badger.DefaultOptions(dir).
		WithLogger(nil).
		WithMetricsEnabled(false).
		WithSyncWrites(o.Sync).
		WithNumVersionsToKeep(1).
		WithDetectConflicts(false).
		WithBlockSize(16 << 10).
		WithBlockCacheSize(cache - cache/4).
		WithIndexCacheSize(cache / 4).
		WithMemTableSize(min(max(o.Memory/8, 1<<20), 64<<20)).
		WithCompression(options.ZSTD))
	if err != nil {
		return nil, err
	}
	return &badgerKV{db}, nil
}

type badgerKV struct{ db *badger.DB }

func (k *badgerKV) Scan(start, end []byte, fn func(key, value []byte) bool) error {
	return k.iterate(badger.DefaultIteratorOptions, start, end, fn)
}

// Row prefetches nothing, because a row holds only a few cells.
func (k *badgerKV) Row(start []byte, fn func(key, value []byte) bool) error {
	o := badger.DefaultIteratorOptions
	o.Prefix, o.PrefetchValues = start, false
	return k.iterate(o, start, nil, fn)
}

func (k *badgerKV) iterate(o badger.IteratorOptions, start, end []byte, fn func(key, value []byte) bool) error {
	return k.db.View(func(tx *badger.Txn) error {
		it := tx.NewIterator(o)
		defer it.Close()
		for it.Seek(start); it.Valid(); it.Next() {
			item := it.Item()
			key := item.Key()
			if end != nil && string(key) >= string(end) {
				return nil
			}
			more := false
			if err := item.Value(func(value []byte) error { more = fn(key, value); return nil }); err != nil {
				return err
			}
			if !more {
				return nil
			}
		}
		return nil
	})
}

func (k *badgerKV) Get(key []byte, fn func(value []byte)) error {
	return k.db.View(func(tx *badger.Txn) error {
		item, err := tx.Get(key)
		switch {
		case errors.Is(err, badger.ErrKeyNotFound):
			return nil
		case err != nil:
			return err
		}
		return item.Value(func(value []byte) error { fn(value); return nil })
	})
}

// Write uses a transaction, because a WriteBatch is not atomic.
func (k *badgerKV) Write(n int, pair func(i int) (key, value []byte)) error {
	tx := k.db.NewTransaction(true)
	defer tx.Discard()
	for i := range n {
		key, value := pair(i)
		if err := tx.Set(key, value); err != nil {
			return err
		}
	}
	return tx.Commit()
}

// Compact merges the levels; Close writes the data that is still in memory.
func (k *badgerKV) Compact() error { return k.db.Flatten(runtime.GOMAXPROCS(0)) }

func (k *badgerKV) Close() error { return k.db.Close() }
