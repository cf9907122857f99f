package workload

import (
	"context"
	"github.com/smolwc/smolwc/bench/contest"

	"github.com/smolwc/smolwc/bench/yardstick"
	"github.com/smolwc/smolwc/query"
)

func (e *Env) counts() []contest.Workload {
	return []contest.Workload{
		{Name: "count/cells", Unit: "cell", Open: e.openCountCells, About: "the number of cells of a table of one family"},
		{Name: "count/rows", Unit: "row", Open: e.openCountRows, About: "the number of rows; in C every key's row prefix is compared with the one before"},
	}
}

func (e *Env) openCountCells(ctx context.Context, _ int) (*contest.Contest, error) {
	d, err := e.plain(ctx)
	if err != nil {
		return nil, err
	}
	return d.contest(ctx, []string{"f"}, reading{
		c: func(fs []yardstick.Family) (int64, error) { return cellsOf(fs[0].CountCells()) },
		smolwc: func(ctx context.Context, t *query.Table) (int64, error) {
			n, err := t.Count(ctx)
			return n.Cells, err
		},
		kv: func(kvs []KV) (n int64, err error) {
			err = kvs[0].Scan(nil, nil, func([]byte, []byte) bool { n++; return true })
			return n, err
		},
	})
}

func (e *Env) openCountRows(ctx context.Context, _ int) (*contest.Contest, error) {
	d, err := e.plain(ctx)
	if err != nil {
		return nil, err
	}
	return d.contest(ctx, []string{"f"}, reading{
		c: func(fs []yardstick.Family) (int64, error) {
			sum, err := fs[0].CountRows()
			return sum.Rows, err
		},
		smolwc: func(ctx context.Context, t *query.Table) (int64, error) {
			n, err := t.Count(ctx, query.KeysOnly())
			return n.Rows, err
		},
		kv: func(kvs []KV) (n int64, err error) {
			var last []byte
			err = kvs[0].Scan(nil, nil, func(key, _ []byte) bool {
				if len(last) == 0 || len(key) < len(last) || string(key[:len(last)]) != string(last) {
					last = append(last[:0], rowPrefixOf(key)...)
					n++
				}
				return true
			})
			return n, err
		},
	})
}
