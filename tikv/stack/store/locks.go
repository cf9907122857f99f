package main

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"os"
	"sync"

	"github.com/pingcap/kvproto/pkg/kvrpcpb"
	"github.com/pingcap/tidb/pkg/store/mockstore/unistore/lockstore"
	"github.com/pingcap/tidb/pkg/store/mockstore/unistore/tikv/mvcc"
)

// A lockLog keeps the locks of transactions in a file, so that they survive kill -9.
// Unistore keeps them in memory only; a transaction whose first key was committed would
// then lose its other keys.
type lockLog struct {
	mvcc.DBWriter
	mu   sync.Mutex
	file *os.File
}

// openLockLog reads the locks of a file into memory, and appends to the file from then on
// what a writer does with locks.
func openLockLog(path string, locks *lockstore.MemStore, to mvcc.DBWriter) (*lockLog, error) {
	if err := readLocks(path, locks); err != nil {
		return nil, err
	}
	f, err := os.Create(path + ".new")
	if err != nil {
		return nil, err
	}
	l := &lockLog{DBWriter: to, file: f}
	var all []byte
	it := locks.NewIterator()
	for it.SeekToFirst(); it.Valid(); it.Next() {
		all = appendRecord(all, it.Key(), it.Value())
	}
	if err := l.append(all); err != nil {
		return nil, err
	}
	return l, os.Rename(path+".new", path)
}

// appendRecord appends a lock, or with an empty value the removal of one.
func appendRecord(b, key, value []byte) []byte {
	b = binary.LittleEndian.AppendUint32(b, uint32(len(key)))
	b = binary.LittleEndian.AppendUint32(b, uint32(len(value)))
	return append(append(b, key...), value...)
}

// readLocks ignores a record that was cut off at the end: nobody was told of it.
func readLocks(path string, locks *lockstore.MemStore) error {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // read only
	r, head := bufio.NewReader(f), make([]byte, 8)
	for {
		if _, err := io.ReadFull(r, head); err != nil {
			return ignoreEnd(err)
		}
		key := int64(binary.LittleEndian.Uint32(head))
		record := make([]byte, key+int64(binary.LittleEndian.Uint32(head[4:])))
		if _, err := io.ReadFull(r, record); err != nil {
			return ignoreEnd(err)
		}
		if value := record[key:]; len(value) > 0 {
			locks.Put(record[:key], value)
		} else {
			locks.Delete(record[:key])
		}
	}
}

func ignoreEnd(err error) error {
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return nil
	}
	return err
}

func (l *lockLog) append(records []byte) error {
	if len(records) == 0 {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	_, err := l.file.Write(records)
	return err
}

func (l *lockLog) NewWriteBatch(startTS, commitTS uint64, ctx *kvrpcpb.Context) mvcc.WriteBatch {
	return &lockBatch{WriteBatch: l.DBWriter.NewWriteBatch(startTS, commitTS, ctx)}
}

// Write logs locks before they can be seen, and their removal after the commit is in the
// database.
func (l *lockLog) Write(batch mvcc.WriteBatch) error {
	b := batch.(*lockBatch)
	if err := l.append(b.set); err != nil {
		return err
	}
	if err := l.DBWriter.Write(b.WriteBatch); err != nil {
		return err
	}
	return l.append(b.removed)
}

func (l *lockLog) Close() {
	l.DBWriter.Close()
	_ = l.file.Close() // all of it was written
}

type lockBatch struct {
	mvcc.WriteBatch
	set, removed []byte // records
}

func (b *lockBatch) Prewrite(key []byte, lock *mvcc.Lock) {
	b.set = appendRecord(b.set, key, lock.MarshalBinary())
	b.WriteBatch.Prewrite(key, lock)
}

func (b *lockBatch) PessimisticLock(key []byte, lock *mvcc.Lock) {
	b.set = appendRecord(b.set, key, lock.MarshalBinary())
	b.WriteBatch.PessimisticLock(key, lock)
}

func (b *lockBatch) Commit(key []byte, lock *mvcc.Lock) {
	b.removed = appendRecord(b.removed, key, nil)
	b.WriteBatch.Commit(key, lock)
}

func (b *lockBatch) Rollback(key []byte, deleteLock bool) {
	if deleteLock {
		b.removed = appendRecord(b.removed, key, nil)
	}
	b.WriteBatch.Rollback(key, deleteLock)
}

func (b *lockBatch) PessimisticRollback(key []byte) {
	b.removed = appendRecord(b.removed, key, nil)
	b.WriteBatch.PessimisticRollback(key)
}
