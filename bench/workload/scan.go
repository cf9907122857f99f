package workload

import (
	"context"
	"fmt"
	"github.com/smolwc/smolwc/bench/contest"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/query/write"
	"strings"

	"github.com/smolwc/smolwc/bench/yardstick"
	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/schema"
)

// The names of contenders in every report.
const (
	nameC      = "C"
	nameSmolwc = "smolwc"
)

func (e *Env) scans() []contest.Workload {
	return []contest.Workload{
		{Name: "scan/one-family", Unit: "cell", Open: e.openScanOne,
			About: "every cell of every row of one family, as typed values"},
		{Name: "scan/three-families", Unit: "cell", Open: e.openScanThree,
			About: "rows of three families, merged; the yardstick reads one family after another"},
		{Name: "scan/versions", Unit: "cell", Open: e.openScanVersions,
			About: "all of ten versions of two columns a row"},
		{Name: "scan/newest", Unit: "cell", Open: e.openScanNewest,
			About: "the newest of ten versions of two columns a row"},
		{Name: "scan/where", Unit: "cell", Open: e.openScanWhere,
			About: "rows in which one of five columns, an i64, passes a comparison: 1 in 100; an operation is a cell looked at"},
		{Name: "scan/prefix", Unit: "cell", Workers: []int{1, 16}, Open: e.openScanPrefix,
			About: "prefixes of row keys with 100 rows each, in random order"},
	}
}

// readAll reads every cell of rows as a value. It returns the number of cells and, so
// that each value is used, a sum of bytes.
func readAll(ctx context.Context, t *query.Table, opts ...read.Option) (n, bytes int64, err error) {
	for row, err := range t.ReadRows(ctx, opts...) {
		if err != nil {
			return 0, 0, err
		}
		k, b := readCells(row)
		n, bytes = n+k, bytes+b
	}
	return n, bytes, nil
}

func readCells(row *query.Row) (n, bytes int64) {
	for c := range row.Cells() {
		bytes += int64(len(c.Qualifier) + touch(c.Value))
		n++
	}
	return n, bytes
}

// touch uses part of a value, by its type.
func touch(v cells.Value) int {
	switch v.Type() {
	case cells.TypeBytes:
		b, _ := v.AsBytes()
		if len(b) > 0 {
			return len(b) + int(b[len(b)-1])
		}
	case cells.TypeString:
		s, _ := v.AsString()
		if len(s) > 0 {
			return len(s) + int(s[len(s)-1])
		}
	case cells.TypeF32, cells.TypeF64:
		f, _ := v.Float()
		return int(f)
	default:
		n, _ := v.Int()
		return int(n)
	}
	return 0
}

// A reading holds the functions of a scan's contenders: C, smolwc, and a peer with
// families. Each returns the number of cells.
type reading struct {
	c      func(fs []yardstick.Family) (int64, error)
	smolwc func(ctx context.Context, t *query.Table) (int64, error)
	kv     func(fs []KV) (int64, error)
	more   func(fs []yardstick.Family, t *query.Table) []contest.Contender
	ops    int64 // 0: the number of cells
	// hidden says that smolwc may hide stored cells, so the numbers of cells are not
	// compared.
	hidden bool
}

// contest makes a contest from a reading of some families of a dataset.
func (d *dataset) contest(ctx context.Context, families []string, r reading) (*contest.Contest, error) {
	contest, err := d.prepare(ctx, families, r)
	if err != nil {
		return nil, joinClose(err, d.close)
	}
	contest.Close = d.close
	return contest, nil
}

func joinClose(err error, end func() error) error {
	if e := end(); e != nil {
		return fmt.Errorf("%w; %w", err, e)
	}
	return err
}

func (d *dataset) prepare(ctx context.Context, families []string, r reading) (*contest.Contest, error) {
	store, err := d.store()
	if err != nil {
		return nil, err
	}
	var fs []yardstick.Family
	for _, f := range families {
		raw, err := store.Raw(d.table + "/" + f)
		if err != nil {
			return nil, err
		}
		fs = append(fs, yardstick.Of(raw))
	}
	peers, err := d.peers(ctx, store, families...)
	if err != nil {
		return nil, err
	}
	done := func(cells int64, err error) (contest.Done, error) {
		ops := cells
		if r.ops != 0 {
			ops = r.ops
		}
		if r.hidden {
			cells = 0
		}
		return contest.Done{Ops: ops, Check: cells}, err
	}
	cs := []contest.Contender{
		contest.Steady(nameC, func(context.Context) (contest.Done, error) { return done(r.c(fs)) }),
	}
	for i, engine := range d.env.Engines {
		table, err := d.smolwc(engine)
		if err != nil {
			return nil, err
		}
		cs = append(cs, contest.Steady(on(engine, nameSmolwc), func(ctx context.Context) (contest.Done, error) { return done(r.smolwc(ctx, table)) }))
		if r.more == nil {
			continue
		}
		for _, c := range r.more(fs, table) {
			switch ofSmolwc := strings.HasPrefix(c.Name, nameSmolwc); {
			case ofSmolwc:
				c.Name = on(engine, c.Name)
			case i > 0: // C's do not depend on the engine
				continue
			}
			cs = append(cs, c)
		}
	}
	for _, p := range d.env.Peers {
		cs = append(cs, contest.Steady(p.Name, func(context.Context) (contest.Done, error) { return done(r.kv(peers[p.Name])) }))
	}
	return &contest.Contest{Contenders: cs}, nil
}

// cellsOf returns the number of cells of a sum.
func cellsOf(s yardstick.Sum, err error) (int64, error) { return s.Cells, err }

// A tally counts the pairs that a KV yields, and uses part of each.
type tally struct{ cells, bytes int64 }

func (t *tally) add(key, value []byte) bool {
	t.cells++
	t.bytes += int64(len(key) + len(value) + int(key[len(key)-1]^value[len(value)-1]))
	return true
}

func scanFamilies(fs []yardstick.Family) (n int64, err error) {
	for _, f := range fs {
		sum, err := f.Scan()
		if err != nil {
			return 0, err
		}
		n += sum.Cells
	}
	return n, nil
}

func scanKVs(kvs []KV) (int64, error) {
	var t tally
	for _, kv := range kvs {
		if err := kv.Scan(nil, nil, t.add); err != nil {
			return 0, err
		}
	}
	return t.cells, nil
}

// cellsIn returns the number of cells of rows.
func cellsIn(ctx context.Context, t *query.Table, opts ...read.Option) (int64, error) {
	n, _, err := readAll(ctx, t, opts...)
	return n, err
}

func scanTable(opts ...read.Option) func(context.Context, *query.Table) (int64, error) {
	return func(ctx context.Context, t *query.Table) (int64, error) { return cellsIn(ctx, t, opts...) }
}

// lentRows is the contender that does not keep rows: it lets smolwc use their memory again.
func lentRows(scan func(context.Context, *query.Table, ...read.Option) (int64, error)) func([]yardstick.Family, *query.Table) []contest.Contender {
	return func(_ []yardstick.Family, t *query.Table) []contest.Contender {
		return []contest.Contender{contest.Steady("smolwc, lent rows", func(ctx context.Context) (contest.Done, error) {
			n, err := scan(ctx, t, read.Lend())
			return contest.Done{Ops: n, Check: n}, err
		})}
	}
}

func (e *Env) openScanOne(ctx context.Context, _ int) (*contest.Contest, error) {
	d, err := e.plain(ctx)
	if err != nil {
		return nil, err
	}
	return d.contest(ctx, []string{"f"}, reading{c: scanFamilies, smolwc: scanTable(), kv: scanKVs, more: lentRows(cellsIn)})
}

func (e *Env) openScanThree(ctx context.Context, _ int) (*contest.Contest, error) {
	families := []string{"a", "b", "c"}
	rows := max(1, e.Cells/(len(families)*cellsPerRow))
	d, err := e.dataset(ctx, "three", rows, []schema.Family{{Name: "a"}, {Name: "b"}, {Name: "c"}}, func(t *query.Table) error {
		return loadRows(ctx, t, rows, rowKey, func(m *write.Mutation, row int) {
			for _, f := range families {
				setRow(m, f, row)
			}
		})
	})
	if err != nil {
		return nil, err
	}
	apart := func(_ []yardstick.Family, t *query.Table) []contest.Contender {
		return []contest.Contender{contest.Steady("smolwc, one family after another", func(ctx context.Context) (done contest.Done, err error) {
			for _, f := range families {
				n, _, err := readAll(ctx, t, read.Family(f))
				if err != nil {
					return done, err
				}
				done.Ops += n
			}
			return done, nil
		})}
	}
	return d.contest(ctx, families, reading{c: scanFamilies, smolwc: scanTable(), kv: scanKVs, more: apart})
}

const versionsPerColumn = 10

// versioned returns the dataset with a family v of two columns with ten versions each.
func (e *Env) versioned(ctx context.Context) (*dataset, error) {
	const columns = 2
	rows := max(1, e.Cells/(columns*versionsPerColumn))
	return e.dataset(ctx, "versions", rows, []schema.Family{{Name: "v"}}, func(t *query.Table) error {
		return loadRows(ctx, t, rows, rowKey, func(m *write.Mutation, row int) {
			for i := range columns * versionsPerColumn {
				m.SetAt("v", qualifiers[i/versionsPerColumn], timestamp(row)+cells.Timestamp(i), cells.Bytes(value(row*columns*versionsPerColumn+i)))
			}
		})
	})
}

func (e *Env) openScanVersions(ctx context.Context, _ int) (*contest.Contest, error) {
	d, err := e.versioned(ctx)
	if err != nil {
		return nil, err
	}
	return d.contest(ctx, []string{"v"}, reading{c: scanFamilies, smolwc: scanTable(), kv: scanKVs})
}

func (e *Env) openScanNewest(ctx context.Context, _ int) (*contest.Contest, error) {
	d, err := e.versioned(ctx)
	if err != nil {
		return nil, err
	}
	return d.contest(ctx, []string{"v"}, reading{
		c:      func(fs []yardstick.Family) (int64, error) { return cellsOf(fs[0].ScanNewest()) },
		smolwc: scanTable(read.Versions(1)),
		kv: func(kvs []KV) (int64, error) {
			var t tally
			var last []byte
			err := kvs[0].Scan(nil, nil, func(key, value []byte) bool {
				column := key[:len(key)-versionLen]
				if string(column) == string(last) {
					return true
				}
				last = append(last[:0], column...)
				return t.add(key, value)
			})
			return t.cells, err
		},
	})
}

// versionLen is the length of the timestamp in a cell's key.
const versionLen = 9

// The condition of scan/where: a column n holds 0 to 99, equally often, and only 99
// passes.
const (
	whereColumn = "n"
	whereBound  = 99
)

func (e *Env) openScanWhere(ctx context.Context, _ int) (*contest.Contest, error) {
	d, err := e.dataset(ctx, "where", e.rows(), []schema.Family{{Name: "w"}}, func(t *query.Table) error {
		return loadRows(ctx, t, e.rows(), rowKey, func(m *write.Mutation, row int) {
			for q, name := range []string{"a", "b", "c", "x"} {
				m.SetAt("w", name, timestamp(row), cells.Bytes(value(row*cellsPerRow+q)))
			}
			m.SetAt("w", whereColumn, timestamp(row), cells.I64(int64(hash64(uint64(row))%(whereBound+1))))
		})
	})
	if err != nil {
		return nil, err
	}
	column := cf.AppendQualifier(nil, whereColumn)
	return d.contest(ctx, []string{"w"}, reading{
		ops:    int64(e.rows()) * cellsPerRow,
		c:      func(fs []yardstick.Family) (int64, error) { return cellsOf(fs[0].ScanWhere(column, whereBound)) },
		smolwc: scanTable(read.Where("w", whereColumn, cells.OpGreaterOrEqual, cells.I64(whereBound))),
		kv:     func(kvs []KV) (int64, error) { return scanKVWhere(kvs[0], column) },
	})
}

func scanKVWhere(kv KV, column []byte) (int64, error) {
	var all, row tally
	var last []byte
	wanted := false
	end := func() {
		if wanted {
			all.cells, all.bytes = all.cells+row.cells, all.bytes+row.bytes
		}
		row, wanted = tally{}, false
	}
	err := kv.Scan(nil, nil, func(key, value []byte) bool {
		if len(last) == 0 || len(key) < len(last) || string(key[:len(last)]) != string(last) {
			end()
			last = append(last[:0], rowPrefixOf(key)...)
		}
		row.add(key, value)
		if string(key[len(last):len(key)-versionLen]) == string(column) {
			v, err := cells.DecodeValue(value)
			n, ok := v.AsI64()
			wanted = err == nil && ok && n >= whereBound
		}
		return true
	})
	end()
	return all.cells, err
}

// rowPrefixOf returns the row prefix of a cell's key.
func rowPrefixOf(key []byte) []byte {
	for i := 1; i < len(key); i++ {
		if key[i] == 0 {
			if i+1 == len(key) || key[i+1] != 0xff {
				return key[:i+1]
			}
			i++
		}
	}
	return key
}

const rowsPerPrefix = 100

func (e *Env) openScanPrefix(ctx context.Context, workers int) (*contest.Contest, error) {
	d, err := e.plain(ctx)
	if err != nil {
		return nil, err
	}
	prefixes := make([]string, max(1, e.Ops/rowsPerPrefix))
	var ranges yardstick.Ranges
	for i, row := range e.someRows(len(prefixes)) {
		key := rowKey(row)
		prefixes[i] = key[:len(key)-2] // of 100 rows
		end, _ := cf.PrefixSuccessor(prefixes[i])
		ranges.Append(cf.AppendRowBound(nil, prefixes[i]), cf.AppendRowBound(nil, end))
	}
	scan := func(ctx context.Context, t *query.Table, opts ...read.Option) (int64, error) {
		return share(workers, len(prefixes), func(_, from, to int) (n int64, err error) {
			for _, p := range prefixes[from:to] {
				k, err := cellsIn(ctx, t, append(opts[:len(opts):len(opts)], read.Prefix(p))...)
				if err != nil {
					return 0, err
				}
				n += k
			}
			return n, nil
		})
	}
	return d.contest(ctx, []string{"f"}, reading{
		c: func(fs []yardstick.Family) (int64, error) {
			return share(workers, ranges.Len(), func(_, from, to int) (int64, error) {
				return cellsOf(fs[0].ScanRanges(ranges.Part(from, to)))
			})
		},
		smolwc: func(ctx context.Context, t *query.Table) (int64, error) { return scan(ctx, t) },
		more:   lentRows(scan),
		kv: func(kvs []KV) (int64, error) {
			return share(workers, ranges.Len(), func(_, from, to int) (int64, error) {
				var t tally
				for i := from; i < to; i++ {
					start, end := ranges.At(i)
					if err := kvs[0].Scan(start, end, t.add); err != nil {
						return 0, err
					}
				}
				return t.cells, nil
			})
		},
	})
}
