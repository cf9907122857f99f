package workload

import (
	"context"
	"fmt"
	"github.com/smolwc/smolwc/bench/contest"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/query/write"
	"math/rand/v2"

	"github.com/smolwc/smolwc/bench/yardstick"
	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/query"
)

// A mix is the share of each operation in percent: the core workloads of Cooper et al.,
// "Benchmarking Cloud Serving Systems with YCSB", SoCC 2010, table 2, and F, which the
// program adds. Keys are hashed row numbers. The requested rows are zipfian and
// scrambled; in D they are the newest ones.
type mix struct {
	name, about                        string
	read, update, insert, scan, modify int
	latest                             bool
}

var mixes = []mix{
	{name: "A", about: "half reads of rows, half writes of a cell", read: 50, update: 50},
	{name: "B", about: "95 % reads of rows, 5 % writes of a cell", read: 95, update: 5},
	{name: "C", about: "reads of rows", read: 100},
	{name: "D", about: "95 % reads of the newest rows, 5 % new rows", read: 95, insert: 5, latest: true},
	{name: "E", about: "95 % scans of up to 100 rows, 5 % new rows", scan: 95, insert: 5},
	{name: "F", about: "half reads of rows, half reads and writes of a cell", read: 50, modify: 50},
}

func (e *Env) ycsb() (ws []contest.Workload) {
	for _, m := range mixes {
		ws = append(ws, contest.Workload{
			Name: "ycsb/" + m.name, Unit: "op", Workers: []int{1, 16}, About: m.about,
			Open: func(ctx context.Context, workers int) (*contest.Contest, error) { return e.openMix(ctx, m, workers) },
		})
	}
	return ws
}

// maxScan is the maximum number of rows in a scan; the number is uniform from 1.
const maxScan = 100

// scanShare divides the number of operations of E, because one scan does as much work
// as many other operations.
const scanShare = 20

func (m mix) ops(e *Env) int {
	if m.scan > 0 {
		return max(1, e.Ops/scanShare)
	}
	return e.Ops
}

// hashedKey returns a row's key; hashing scatters the rows over the key space.
func hashedKey(row int) string { return fmt.Sprintf("user%020d", hash64(uint64(row))) }

// A mixer draws the operations of rounds. All contenders get the same ones.
type mixer struct {
	mix     mix
	rng     *rand.Rand
	zipf    *zipfian
	n       int // operations in a round
	workers int
	rows    int // before the next round
	rounds  []yardstick.Ops
}

// round returns the operations of a round; the operations of each worker are adjacent.
func (m *mixer) round(n int) yardstick.Ops {
	for len(m.rounds) <= n {
		var ops yardstick.Ops
		inserted := 0
		for w := range m.workers {
			own := []int(nil) // rows that this worker inserted in this round
			for range m.n*(w+1)/m.workers - m.n*w/m.workers {
				m.draw(&ops, &own, &inserted)
			}
		}
		m.rows += inserted
		m.rounds = append(m.rounds, ops)
	}
	return m.rounds[n]
}

func (m *mixer) draw(ops *yardstick.Ops, own *[]int, inserted *int) {
	kind, arg := m.kind(), 0
	row := m.row(*own)
	switch kind {
	case yardstick.OpInsert:
		row = m.rows + *inserted
		*own = append(*own, row)
		*inserted++
	case yardstick.OpScan:
		arg = 1 + m.rng.IntN(maxScan)
	default:
		arg = m.rng.IntN(cellsPerRow)
	}
	ops.Kinds = append(ops.Kinds, kind)
	ops.Rows = append(ops.Rows, uint32(row))
	ops.Args = append(ops.Args, uint32(arg))
}

func (m *mixer) kind() yardstick.OpKind {
	p := m.rng.IntN(100)
	for _, k := range []struct {
		share int
		kind  yardstick.OpKind
	}{{m.mix.update, yardstick.OpUpdate}, {m.mix.insert, yardstick.OpInsert}, {m.mix.scan, yardstick.OpScan}, {m.mix.modify, yardstick.OpReadModifyWrite}} {
		if p -= k.share; p < 0 {
			return k.kind
		}
	}
	return yardstick.OpRead
}

// row draws an existing row: any row, or in D one of the newest, the worker's own
// first.
func (m *mixer) row(own []int) int {
	if !m.mix.latest {
		return m.zipf.scrambled()
	}
	back := m.zipf.rank()
	if back < len(own) {
		return own[len(own)-1-back]
	}
	return m.rows - 1 - (back - len(own))
}

// A mixed is the data that the contenders of a mix share.
type mixed struct {
	mixer   *mixer
	keys    []string
	rows    yardstick.Slices // prefixes
	columns yardstick.Slices
	value   []byte // encoded
}

func (e *Env) openMix(ctx context.Context, m mix, workers int) (*contest.Contest, error) {
	rows := e.rows()
	d, err := e.dataset(ctx, "ycsb", rows, plainFamily, func(t *query.Table) error {
		return loadRows(ctx, t, rows, hashedKey, func(m *write.Mutation, row int) { setUnversioned(m, row) })
	})
	if err != nil {
		return nil, err
	}
	rng := rand.New(rand.NewPCG(7, 8))
	x := &mixed{
		mixer:   &mixer{mix: m, rng: rng, zipf: newZipfian(rng, rows), n: m.ops(e), workers: workers, rows: rows},
		columns: columnElements(qualifiers[:]...),
		value:   cells.AppendValue(nil, cells.Bytes(value(0))),
	}
	c := copies{dataset: d}
	if err := x.contenders(ctx, e, &c); err != nil {
		return nil, joinClose(err, c.close)
	}
	return c.contest(), nil
}

func (x *mixed) contenders(ctx context.Context, e *Env, c *copies) error {
	fs, err := c.families("f")
	if err != nil {
		return err
	}
	c.add(nameC, x.round(func(_ context.Context, ops yardstick.Ops) (int64, error) {
		return cellsOf(fs[0].Mixed(ops, x.rows, x.columns, x.value))
	}))
	if err := c.each(func(name string, t *query.Table) {
		c.add(name, x.round(func(ctx context.Context, ops yardstick.Ops) (int64, error) { return x.smolwc(ctx, t, ops) }))
	}); err != nil {
		return err
	}
	for _, p := range e.Peers {
		kvs, err := c.peer(ctx, p, "f")
		if err != nil {
			return err
		}
		c.add(p.Name, x.round(func(_ context.Context, ops yardstick.Ops) (int64, error) { return x.kv(kvs[0], ops) }))
	}
	return nil
}

// setUnversioned sets the cells of a row so that a later write replaces them.
func setUnversioned(m *write.Mutation, row int) {
	for q, name := range qualifiers {
		m.SetAt("f", name, 0, cells.Bytes(value(row*cellsPerRow+q)))
	}
}

// round runs the operations of a round, each worker's on a separate goroutine. With one
// worker the cells to be read are certain, and only then are they compared.
func (x *mixed) round(do func(context.Context, yardstick.Ops) (int64, error)) func(int) func(context.Context) (contest.Done, error) {
	return func(round int) func(context.Context) (contest.Done, error) {
		x.grow(round)
		ops := x.mixer.round(round)
		return func(ctx context.Context) (contest.Done, error) {
			n, err := share(x.mixer.workers, ops.Len(), func(_, from, to int) (int64, error) { return do(ctx, ops.Part(from, to)) })
			if x.mixer.workers > 1 {
				n = 0
			}
			return contest.Done{Ops: int64(ops.Len()), Check: n}, err
		}
	}
}

// grow makes the keys of all rows that a round needs.
func (x *mixed) grow(round int) {
	x.mixer.round(round)
	for row := len(x.keys); row < x.mixer.rows; row++ {
		key := hashedKey(row)
		x.keys = append(x.keys, key)
		x.rows.Append(func(dst []byte) []byte { return cf.AppendRowPrefix(dst, key) })
	}
}

func (x *mixed) smolwc(ctx context.Context, t *query.Table, ops yardstick.Ops) (n int64, err error) {
	for i, kind := range ops.Kinds {
		key := x.keys[ops.Rows[i]]
		if kind == yardstick.OpRead || kind == yardstick.OpReadModifyWrite {
			row, err := t.ReadRow(ctx, key)
			if err != nil {
				return 0, err
			}
			k, _ := readCells(row)
			n += k
		}
		switch kind {
		case yardstick.OpUpdate, yardstick.OpReadModifyWrite:
			m := write.NewMutation()
			m.SetAt("f", qualifiers[ops.Args[i]], 0, cells.Bytes(value(0)))
			err = t.Apply(ctx, key, m)
		case yardstick.OpInsert:
			m := write.NewMutation()
			for _, name := range qualifiers {
				m.SetAt("f", name, 0, cells.Bytes(value(0)))
			}
			err = t.Apply(ctx, key, m)
		case yardstick.OpScan:
			var k int64
			k, _, err = readAll(ctx, t, read.Range(key, ""), read.Limit(int(ops.Args[i])), read.Lend())
			n += k
		}
		if err != nil {
			return 0, err
		}
	}
	return n, nil
}

func (x *mixed) kv(kv KV, ops yardstick.Ops) (int64, error) {
	var t tally
	for i, kind := range ops.Kinds {
		var err error
		prefix := x.rows.At(int(ops.Rows[i]))
		if kind == yardstick.OpRead || kind == yardstick.OpReadModifyWrite {
			if err := kv.Row(prefix, t.add); err != nil {
				return 0, err
			}
		}
		switch kind {
		case yardstick.OpUpdate, yardstick.OpReadModifyWrite:
			err = x.putKV(kv, prefix, int(ops.Args[i]), 1)
		case yardstick.OpInsert:
			err = x.putKV(kv, prefix, 0, cellsPerRow)
		case yardstick.OpScan:
			err = scanKVRows(kv, prefix, nil, int(ops.Args[i]), &t)
		}
		if err != nil {
			return 0, err
		}
	}
	return t.cells, nil
}

// putKV writes n cells of a row, starting at cell from.
func (x *mixed) putKV(kv KV, prefix []byte, from, n int) error {
	return kv.Write(n, func(i int) ([]byte, []byte) {
		key := append(append([]byte(nil), prefix...), x.columns.At(from+i)...)
		return cf.AppendVersion(key, 0), x.value
	})
}

// scanKVRows reads at most a number of rows.
func scanKVRows(kv KV, start, end []byte, rows int, t *tally) error {
	var last []byte
	begun := 0
	return kv.Scan(start, end, func(key, value []byte) bool {
		if len(last) == 0 || len(key) < len(last) || string(key[:len(last)]) != string(last) {
			if begun == rows {
				return false
			}
			begun++
			last = append(last[:0], rowPrefixOf(key)...)
		}
		return t.add(key, value)
	})
}
