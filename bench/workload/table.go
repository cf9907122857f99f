package workload

import (
	"context"
	"errors"
	"fmt"
	"github.com/smolwc/smolwc/bench/contest"
	"github.com/smolwc/smolwc/query/read"
	"math/rand/v2"
	"slices"

	"github.com/smolwc/smolwc/bench/yardstick"
	"github.com/smolwc/smolwc/cf/rocks"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/schema"
)

// TableWorkloads returns reads of a user's table: of each family alone, of all
// together, of random rows, and counts. They write nothing; another process may have
// the database open. C reads all stored cells, including those that retention hides. An
// operation is a stored cell, or a row.
func (e *Env) TableWorkloads(ctx context.Context, dir, table string) ([]contest.Workload, error) {
	u, err := e.userTable(ctx, dir, table)
	if err != nil {
		return nil, err
	}
	open := func(families []string, r reading) func(context.Context, int) (*contest.Contest, error) {
		return func(ctx context.Context, _ int) (*contest.Contest, error) {
			r.hidden = true
			d := &dataset{env: e, dir: dir, table: table}
			return d.contest(ctx, families, r)
		}
	}
	var ws []contest.Workload
	for i, f := range u.families {
		if u.cells[i] == 0 || len(u.families) == 1 {
			continue
		}
		ws = append(ws, contest.Workload{Name: "scan/" + f, Unit: "cell", About: "every cell of a family",
			Open: open([]string{f}, reading{ops: u.cells[i], c: scanFamilies, smolwc: scanTable(read.Family(f))})})
	}
	ws = append(ws,
		contest.Workload{Name: "scan", Unit: "cell", About: "every cell of every row; in C one family after another",
			Open: open(u.families, reading{ops: u.all(), c: scanFamilies, smolwc: scanTable()})},
		contest.Workload{Name: "count", Unit: "cell", About: "the number of cells",
			Open: open(u.families, reading{ops: u.all(), c: countFamilies, smolwc: func(ctx context.Context, t *query.Table) (int64, error) {
				n, err := t.Count(ctx)
				return n.Cells, err
			}})},
		contest.Workload{Name: "get", Unit: "row", Workers: []int{1, 16}, About: "random rows; in C an iterator for each of the families",
			Open: func(ctx context.Context, workers int) (*contest.Contest, error) {
				return open(u.families, u.gets(workers))(ctx, workers)
			}},
	)
	return ws, nil
}

func countFamilies(fs []yardstick.Family) (n int64, err error) {
	for _, f := range fs {
		sum, err := f.CountCells()
		if err != nil {
			return 0, err
		}
		n += sum.Cells
	}
	return n, nil
}

// A userTable describes a user's table.
type userTable struct {
	families []string
	cells    []int64  // stored in each family
	keys     []string // of random rows
}

func (u *userTable) all() (n int64) {
	for _, c := range u.cells {
		n += c
	}
	return n
}

// userTable examines a table in one pass over all keys.
func (e *Env) userTable(ctx context.Context, dir, table string) (u *userTable, err error) {
	db, err := e.openOn(RocksDB, dir, query.Options{ReadOnly: true})
	if err != nil {
		return nil, err
	}
	defer func() { err = joinClose(err, db.Close) }()
	s := db.Schema()
	declared, ok := s.Table(table)
	if !ok {
		var known []string
		for _, t := range s.Tables {
			known = append(known, t.Name)
		}
		return nil, fmt.Errorf("database %s has no table %s%s", dir, table, schema.DidYouMean(table, known))
	}
	u = new(userTable)
	for _, f := range declared.Families {
		u.families = append(u.families, f.Name)
	}
	slices.Sort(u.families)
	if u.keys, err = sampleKeys(ctx, db.Table(table), e.Ops); err != nil {
		return nil, err
	}
	if len(u.keys) == 0 {
		return nil, fmt.Errorf("table %s of database %s has no rows to read", table, dir)
	}
	u.cells, err = e.storedCells(dir, table, u.families)
	return u, err
}

// sampleKeys returns up to n keys of the table, each with the same probability, in
// random order.
func sampleKeys(ctx context.Context, t *query.Table, n int) ([]string, error) {
	rng := rand.New(rand.NewPCG(13, 14))
	var keys []string
	seen := 0
	for row, err := range t.ReadRows(ctx, read.KeysOnly()) {
		if err != nil {
			return nil, err
		}
		seen++
		if len(keys) < n {
			keys = append(keys, row.Key())
		} else if i := rng.IntN(seen); i < n {
			keys[i] = row.Key()
		}
	}
	rng.Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
	return keys, nil
}

func (e *Env) storedCells(dir, table string, families []string) (cells []int64, err error) {
	s, err := rocks.Open(dir, rocks.Options{ReadOnly: true, Memory: e.Memory})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	for _, f := range families {
		raw, err := s.Raw(table + "/" + f)
		if err != nil {
			return nil, err
		}
		sum, err := yardstick.Of(raw).CountCells()
		if err != nil {
			return nil, err
		}
		cells = append(cells, sum.Cells)
	}
	return cells, nil
}

func (u *userTable) gets(workers int) reading {
	all := make([]int, len(u.keys))
	for i := range all {
		all[i] = i
	}
	prefixes := rowPrefixes(all, func(i int) string { return u.keys[i] })
	return reading{
		ops: int64(len(u.keys)),
		c:   byC(workers, prefixes, yardstick.GetRows),
		smolwc: func(ctx context.Context, t *query.Table) (int64, error) {
			return getRows(ctx, t, workers, u.keys)
		},
	}
}

// getRows gets rows one by one. It skips rows that retention hid meanwhile.
func getRows(ctx context.Context, t *query.Table, workers int, keys []string) (int64, error) {
	return share(workers, len(keys), func(_, from, to int) (n int64, err error) {
		for _, key := range keys[from:to] {
			row, err := t.ReadRow(ctx, key)
			if err != nil {
				return 0, err
			}
			if row == nil {
				continue
			}
			k, _ := readCells(row)
			n += k
		}
		return n, nil
	})
}
