package main

// #cgo CFLAGS: -O2 -Wall -Wextra
// #cgo LDFLAGS: -lrocksdb
// #include "yardstick.h"
import "C"

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/linxGnu/grocksdb"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/cf/rocks"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/schema"
)

const (
	table, family = "bench", "f"
	cellsPerRow   = 5
	valueBytes    = 100
	cacheBytes    = 1 << 30
)

// load writes the data through smolwc and compacts it.
func load(ctx context.Context, dir string, rows int) error {
	db, err := query.Open(dir, query.Options{
		Memory:     cacheBytes,
		Durability: query.Async,
		Schema:     &schema.Schema{Tables: []schema.Table{{Name: table, Families: []schema.Family{{Name: family}}}}},
	})
	if err != nil {
		return err
	}
	rng := rand.New(rand.NewPCG(1, 2))
	const perWrite = 1000
	for at := 0; at < rows; at += perWrite {
		keys := make([]string, 0, perWrite)
		ms := make([]*query.Mutation, 0, perWrite)
		for r := at; r < min(at+perWrite, rows); r++ {
			m := query.NewMutation()
			for q := range cellsPerRow {
				value := make([]byte, valueBytes)
				for i := range value {
					value[i] = byte(rng.Uint32())
				}
				m.Set(family, fmt.Sprintf("q%d", q), cells.Bytes(value))
			}
			keys, ms = append(keys, fmt.Sprintf("user%010d", r)), append(ms, m)
		}
		if _, err := db.Table(table).ApplyBulk(ctx, keys, ms); err != nil {
			return err
		}
	}
	return errors.Join(db.Table(table).Compact(ctx), db.Close())
}

// A scan holds the two ways into the same files: smolwc, and RocksDB with
// smolwc's options. Both are open read-only, each with its own cache.
type scan struct {
	db    *query.DB
	store *rocks.Store
	raw   rocks.Raw
}

func openScan(dir string) (*scan, error) {
	db, err := query.Open(dir, query.Options{ReadOnly: true, Memory: cacheBytes})
	if err != nil {
		return nil, err
	}
	store, err := rocks.Open(dir, rocks.Options{ReadOnly: true, Memory: cacheBytes})
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	raw, err := store.Raw(table + "/" + family)
	if err != nil {
		return nil, errors.Join(err, store.Close(), db.Close())
	}
	return &scan{db, store, raw}, nil
}

func (s *scan) close() { s.store.Close(); s.db.Close() }

func (s *scan) scanC() (int, error) {
	sum := C.yardstick_scan((*C.rocksdb_t)(s.raw.DBHandle), (*C.rocksdb_column_family_handle_t)(s.raw.FamilyHandle))
	return int(sum.cells), nil
}

func (s *scan) scanGrocksdb() (int, error) {
	opts := grocksdb.NewDefaultReadOptions()
	defer opts.Destroy()
	opts.SetTotalOrderSeek(true)
	it := s.raw.DB.NewIteratorCF(opts, s.raw.Family)
	defer it.Close()
	n, bytes := 0, 0
	for it.SeekToFirst(); it.Valid(); it.Next() {
		key, value := it.Key(), it.Value()
		bytes += len(key.Data()) + len(value.Data())
		key.Free()
		value.Free()
		n++
	}
	return n, it.Err()
}

// scanSmolwc reads every cell of every row as a typed value.
func (s *scan) scanSmolwc(ctx context.Context) (int, error) {
	n, bytes := 0, 0
	for row, err := range s.db.Table(table).ReadRows(ctx) {
		if err != nil {
			return 0, err
		}
		for c := range row.Cells() {
			value, ok := c.Value.AsBytes()
			if !ok {
				return 0, fmt.Errorf("row %q: %s is of type %s", row.Key(), c.Column(), c.Value.Type())
			}
			bytes += len(c.Qualifier) + len(value) + int(value[len(value)-1])
			n++
		}
	}
	return n, nil
}
