package peers

import (
	"context"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/sstable"

	"github.com/smolwc/smolwc/bench/workload"
)

// openPebble opens Pebble with what smolwc gives to RocksDB: a quarter of the
// memory for write buffers and the rest for the cache, blocks of 16 KiB, filters
// of 10 bits, zstd at the bottom and something faster above.
func openPebble(dir string, o workload.PeerOptions) (workload.KV, error) {
	cache := pebble.NewCache(o.Memory - o.Memory/4)
	defer cache.Unref() // the database keeps a reference
	options := &pebble.Options{
		Cache:                       cache,
		MemTableSize:                uint64(min(max(o.Memory/8, 1<<20), 64<<20)),
		MemTableStopWritesThreshold: 4,
		Logger:                      quiet{},
		FormatMajorVersion:          pebble.FormatNewest,
	}
	for i := range options.Levels {
		l := &options.Levels[i]
		l.BlockSize = 16 << 10
		l.FilterPolicy = bloom.FilterPolicy(10)
		l.Compression = func() *sstable.CompressionProfile { return sstable.SnappyCompression }
	}
	options.Levels[len(options.Levels)-1].Compression = func() *sstable.CompressionProfile { return sstable.ZstdCompression }
	db, err := pebble.Open(dir, options)
	if err != nil {
		return nil, err
	}
	sync := pebble.NoSync
	if o.Sync {
		sync = pebble.Sync
	}
	return &pebbleKV{db: db, sync: sync}, nil
}

type pebbleKV struct {
	db   *pebble.DB
	sync *pebble.WriteOptions
}

func (k *pebbleKV) Scan(start, end []byte, fn func(key, value []byte) bool) error {
	it, err := k.db.NewIter(&pebble.IterOptions{LowerBound: start, UpperBound: end})
	if err != nil {
		return err
	}
	for ok := it.First(); ok; ok = it.Next() {
		value, err := it.ValueAndErr()
		if err != nil {
			return errors.Join(err, it.Close())
		}
		if !fn(it.Key(), value) {
			break
		}
	}
	return it.Close()
}

// Row bounds the iterator by the row's prefix, or a longer start.
func (k *pebbleKV) Row(start []byte, fn func(key, value []byte) bool) error {
	return k.Scan(start, workload.PrefixEnd(start), fn)
}

func (k *pebbleKV) Get(key []byte, fn func(value []byte)) error {
	value, closer, err := k.db.Get(key)
	switch {
	case errors.Is(err, pebble.ErrNotFound):
		return nil
	case err != nil:
		return err
	}
	fn(value)
	return closer.Close()
}

func (k *pebbleKV) Write(n int, pair func(i int) (key, value []byte)) error {
	batch := k.db.NewBatch()
	for i := range n {
		key, value := pair(i)
		if err := batch.Set(key, value, nil); err != nil {
			return errors.Join(err, batch.Close())
		}
	}
	return errors.Join(batch.Commit(k.sync), batch.Close())
}

func (k *pebbleKV) Compact() error {
	if err := k.db.Flush(); err != nil {
		return err
	}
	return k.db.Compact(context.Background(), nil, []byte{0xff}, true)
}

func (k *pebbleKV) Close() error { return k.db.Close() }

// quiet is a logger that only reports fatal errors.
type quiet struct{}

func (quiet) Infof(string, ...any)              {}
func (quiet) Errorf(string, ...any)             {}
func (quiet) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }
