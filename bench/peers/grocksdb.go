package peers

import (
	"github.com/linxGnu/grocksdb"

	"github.com/smolwc/smolwc/bench/workload"
	"github.com/smolwc/smolwc/cf/rocks"
)

// overGrocksdb uses smolwc's own files through grocksdb, the Go binding.
func overGrocksdb(raw rocks.Raw, sync bool) workload.KV {
	k := &grocksKV{
		db:     raw.DB,
		family: raw.Family,
		get:    grocksdb.NewDefaultReadOptions(),
		row:    grocksdb.NewDefaultReadOptions(),
		write:  grocksdb.NewDefaultWriteOptions(),
	}
	k.row.SetPrefixSameAsStart(true)
	k.write.SetSync(sync)
	return k
}

type grocksKV struct {
	db       *grocksdb.DB
	family   *grocksdb.ColumnFamilyHandle
	get, row *grocksdb.ReadOptions
	write    *grocksdb.WriteOptions
}

func (k *grocksKV) Scan(start, end []byte, fn func(key, value []byte) bool) error {
	opts := grocksdb.NewDefaultReadOptions()
	defer opts.Destroy()
	opts.SetTotalOrderSeek(true)
	if end != nil {
		opts.SetIterateUpperBound(end)
	}
	return k.iterate(opts, start, fn)
}

func (k *grocksKV) Row(start []byte, fn func(key, value []byte) bool) error {
	return k.iterate(k.row, start, fn)
}

func (k *grocksKV) iterate(opts *grocksdb.ReadOptions, start []byte, fn func(key, value []byte) bool) error {
	it := k.db.NewIteratorCF(opts, k.family)
	defer it.Close()
	if len(start) == 0 {
		it.SeekToFirst()
	} else {
		it.Seek(start)
	}
	for ; it.Valid(); it.Next() {
		key, value := it.Key(), it.Value()
		more := fn(key.Data(), value.Data())
		key.Free()
		value.Free()
		if !more {
			break
		}
	}
	return it.Err()
}

func (k *grocksKV) Get(key []byte, fn func(value []byte)) error {
	value, err := k.db.GetCF(k.get, k.family, key)
	if err != nil {
		return err
	}
	defer value.Free()
	if value.Exists() {
		fn(value.Data())
	}
	return nil
}

func (k *grocksKV) Write(n int, pair func(i int) (key, value []byte)) error {
	batch := grocksdb.NewWriteBatch()
	defer batch.Destroy()
	for i := range n {
		key, value := pair(i)
		batch.PutCF(k.family, key, value)
	}
	return k.db.Write(k.write, batch)
}

func (k *grocksKV) Compact() error { return nil } // the files are smolwc's

func (k *grocksKV) Close() error {
	k.get.Destroy()
	k.row.Destroy()
	k.write.Destroy()
	return nil
}
