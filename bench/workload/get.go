package workload

import (
	"context"
	"fmt"
	"github.com/smolwc/smolwc/bench/contest"
	"github.com/smolwc/smolwc/query/read"
	"math/rand/v2"

	"github.com/smolwc/smolwc/bench/yardstick"
	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/query"
)

// multiRows is the number of rows in one multi-get.
const multiRows = 1000

func (e *Env) gets() []contest.Workload {
	return []contest.Workload{
		{Name: "get/row", Unit: "row", Workers: []int{1, 16}, Open: e.openGetRow,
			About: "random rows of five cells; in C an iterator for each, which sees the newest state, seeks and steps"},
		{Name: "get/zipfian", Unit: "row", Workers: []int{1, 16}, Open: e.openGetZipfian,
			About: "the same, some rows much more often than others, as in ycsb/C"},
		{Name: "get/cell", Unit: "cell", Workers: []int{1, 16}, Open: e.openGetCell,
			About: "the newest version of one column of random rows; in C rocksdb_get_cf of the full key, as if its timestamp were known"},
		{Name: "get/multi-row", Unit: "row", Open: e.openMultiRow,
			About: "random rows, 1,000 at once; in C one after another as in get/row"},
		{Name: "get/multi-cell", Unit: "cell", Open: e.openMultiCell,
			About: "one column of random rows, 1,000 at once; in C rocksdb_get_cf one after another"},
	}
}

// A pick is random rows to get, and one column of each.
type pick struct {
	keys     []string
	prefixes yardstick.Slices // of the rows
	columns  yardstick.Slices // keys without timestamps
	cells    yardstick.Slices // full keys
}

const pickedColumn = 2

func (e *Env) pick(n int) pick { return pickOf(e.someRows(n)) }

func pickOf(rows []int) pick {
	p := pick{keys: rowKeys(rows, rowKey), prefixes: rowPrefixes(rows, rowKey)}
	for i, row := range rows {
		full := cf.AppendCellKey(nil, p.keys[i], qualifiers[pickedColumn], int64(timestamp(row)))
		p.columns.Append(func(dst []byte) []byte { return append(dst, full[:len(full)-versionLen]...) })
		p.cells.Append(func(dst []byte) []byte { return append(dst, full...) })
	}
	return p
}

// byC returns a function that reads slices in C, divided among workers.
func byC(workers int, s yardstick.Slices, get func(fs []yardstick.Family, s yardstick.Slices) (yardstick.Sum, error)) func([]yardstick.Family) (int64, error) {
	return func(fs []yardstick.Family) (int64, error) {
		return share(workers, s.Len(), func(_, from, to int) (int64, error) { return cellsOf(get(fs, s.Part(from, to))) })
	}
}

// extra makes one more contender for each way to read in C.
func extra(ops int, names []string, gets ...func([]yardstick.Family) (int64, error)) func([]yardstick.Family, *query.Table) []contest.Contender {
	return func(fs []yardstick.Family, _ *query.Table) (cs []contest.Contender) {
		for i, get := range gets {
			cs = append(cs, contest.Steady(names[i], func(context.Context) (contest.Done, error) {
				n, err := get(fs)
				return contest.Done{Ops: int64(ops), Check: n}, err
			}))
		}
		return cs
	}
}

func oneIterator(fs []yardstick.Family, s yardstick.Slices) (yardstick.Sum, error) {
	return yardstick.GetRowsOneIterator(fs, s)
}

const nameOneIterator = "C, one iterator for all"

// kvRows reads rows with a KV.
func kvRows(workers int, prefixes yardstick.Slices) func([]KV) (int64, error) {
	return func(kvs []KV) (int64, error) {
		return share(workers, prefixes.Len(), func(_, from, to int) (int64, error) {
			var t tally
			for i := from; i < to; i++ {
				if err := kvs[0].Row(prefixes.At(i), t.add); err != nil {
					return 0, err
				}
			}
			return t.cells, nil
		})
	}
}

func (e *Env) openGetRow(ctx context.Context, workers int) (*contest.Contest, error) {
	return e.openGetRows(ctx, workers, e.pick(e.Ops))
}

func (e *Env) openGetZipfian(ctx context.Context, workers int) (*contest.Contest, error) {
	z := newZipfian(rand.New(rand.NewPCG(17, 18)), e.rows())
	rows := make([]int, e.Ops)
	for i := range rows {
		rows[i] = z.scrambled()
	}
	return e.openGetRows(ctx, workers, pickOf(rows))
}

func (e *Env) openGetRows(ctx context.Context, workers int, p pick) (*contest.Contest, error) {
	d, err := e.plain(ctx)
	if err != nil {
		return nil, err
	}
	return d.contest(ctx, []string{"f"}, reading{
		ops: int64(e.Ops),
		c:   byC(workers, p.prefixes, yardstick.GetRows),
		smolwc: func(ctx context.Context, t *query.Table) (int64, error) {
			return getRows(ctx, t, workers, p.keys)
		},
		kv:   kvRows(workers, p.prefixes),
		more: extra(e.Ops, []string{nameOneIterator}, byC(workers, p.prefixes, oneIterator)),
	})
}

// The ways to get single cells in C.
func getCell(fs []yardstick.Family, s yardstick.Slices) (yardstick.Sum, error) { return fs[0].Get(s) }
func getPinned(fs []yardstick.Family, s yardstick.Slices) (yardstick.Sum, error) {
	return fs[0].GetPinned(s)
}
func getSeek(fs []yardstick.Family, s yardstick.Slices) (yardstick.Sum, error) {
	return fs[0].GetSeek(s)
}
func multiGet(fs []yardstick.Family, s yardstick.Slices) (yardstick.Sum, error) {
	return fs[0].MultiGet(s, multiRows)
}
func batchedMultiGet(fs []yardstick.Family, s yardstick.Slices) (yardstick.Sum, error) {
	return fs[0].BatchedMultiGet(s, multiRows)
}

// kvCells gets cells with a KV, by their full keys.
func kvCells(workers int, keys yardstick.Slices) func([]KV) (int64, error) {
	return func(kvs []KV) (int64, error) {
		return share(workers, keys.Len(), func(_, from, to int) (int64, error) {
			var t tally
			for i := from; i < to; i++ {
				key := keys.At(i)
				if err := kvs[0].Get(key, func(value []byte) { t.add(key, value) }); err != nil {
					return 0, err
				}
			}
			return t.cells, nil
		})
	}
}

func (e *Env) openGetCell(ctx context.Context, workers int) (*contest.Contest, error) {
	d, err := e.plain(ctx)
	if err != nil {
		return nil, err
	}
	p := e.pick(e.Ops)
	var column read.Option = read.Column("f", qualifiers[pickedColumn]) // made once
	return d.contest(ctx, []string{"f"}, reading{
		ops: int64(e.Ops),
		c:   byC(workers, p.cells, getCell),
		smolwc: func(ctx context.Context, t *query.Table) (int64, error) {
			return share(workers, len(p.keys), func(_, from, to int) (n int64, err error) {
				for _, key := range p.keys[from:to] {
					row, err := t.ReadRow(ctx, key, column, read.Versions(1))
					if err != nil {
						return 0, err
					}
					if _, ok := row.Bytes("f", qualifiers[pickedColumn]); !ok {
						return 0, fmt.Errorf("row %s has no %s", key, qualifiers[pickedColumn])
					}
					n++
				}
				return n, nil
			})
		},
		kv: kvCells(workers, p.cells),
		more: extra(e.Ops, []string{"C, rocksdb_get_pinned_cf", "C, seek to the newest"},
			byC(workers, p.cells, getPinned), byC(workers, p.columns, getSeek)),
	})
}

// readList reads rows in batches.
func readList(ctx context.Context, t *query.Table, keys []string, opts ...read.Option) (n int64, err error) {
	for at := 0; at < len(keys); at += multiRows {
		part := keys[at:min(at+multiRows, len(keys))]
		rows, err := t.ReadRowList(ctx, part, opts...)
		if err != nil {
			return 0, err
		}
		for i, row := range rows {
			if row == nil {
				return 0, fmt.Errorf("row %s is not there", part[i])
			}
			k, _ := readCells(row)
			n += k
		}
	}
	return n, nil
}

func (e *Env) openMultiRow(ctx context.Context, _ int) (*contest.Contest, error) {
	d, err := e.plain(ctx)
	if err != nil {
		return nil, err
	}
	p := e.pick(e.Ops)
	return d.contest(ctx, []string{"f"}, reading{
		ops:    int64(e.Ops),
		c:      byC(1, p.prefixes, yardstick.GetRows),
		smolwc: func(ctx context.Context, t *query.Table) (int64, error) { return readList(ctx, t, p.keys) },
		kv:     kvRows(1, p.prefixes),
		more:   extra(e.Ops, []string{nameOneIterator}, byC(1, p.prefixes, oneIterator)),
	})
}

func (e *Env) openMultiCell(ctx context.Context, _ int) (*contest.Contest, error) {
	d, err := e.plain(ctx)
	if err != nil {
		return nil, err
	}
	p := e.pick(e.Ops)
	var column read.Option = read.Column("f", qualifiers[pickedColumn]) // made once
	return d.contest(ctx, []string{"f"}, reading{
		ops: int64(e.Ops),
		c:   byC(1, p.cells, getCell),
		smolwc: func(ctx context.Context, t *query.Table) (int64, error) {
			return readList(ctx, t, p.keys, column, read.Versions(1))
		},
		kv: kvCells(1, p.cells),
		more: extra(e.Ops, []string{"C, rocksdb_multi_get_cf", "C, rocksdb_batched_multi_get_cf"},
			byC(1, p.cells, multiGet), byC(1, p.cells, batchedMultiGet)),
	})
}
