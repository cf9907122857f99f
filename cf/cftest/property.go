package cftest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/bulk"
)

// testModel performs random operations on a store and on a model, and compares their
// results.
func testModel(t *testing.T, open func(*testing.T) Harness) {
	rapid.Check(t, func(rt *rapid.T) {
		h := open(t)
		m := &machine{T: rt, harness: h, store: h.Store, model: &Model{}, ctx: context.Background()}
		defer m.close()
		for _, name := range families {
			m.must(m.store.CreateFamily(m.ctx, name))
			m.model.CreateFamily(name)
		}
		rt.Repeat(map[string]func(*rapid.T){
			"write":     m.write,
			"overwrite": m.write, // as often as all other operations together
			"dropRange": m.dropRange,
			"load":      m.load,
			"flush":     m.flush,
			"compact":   m.compact,
			"reopen":    m.reopen,
			"snapshot":  m.takeSnapshot,
			"scan":      m.scan,
			"scanAgain": m.scan,
			"read":      m.read,
			"readAgain": m.read,
			"meta":      m.checkMeta,
		})
		m.scanAll()
	})
}

// A machine is a store, its model, and a snapshot of both.
type machine struct {
	*rapid.T
	ctx     context.Context
	harness Harness
	store   cf.Store
	model   *Model

	old      cf.Snapshot
	oldModel *Model
}

func (m *machine) must(err error) {
	if err != nil {
		m.Fatal(err)
	}
}

func (m *machine) close() {
	m.dropSnapshot()
	if err := m.store.Close(); err != nil && !errors.Is(err, cf.ErrClosed) {
		m.Errorf("closing the store: %v", err)
	}
}

// --- drawn

var (
	families = []string{"t/a", "t/b"}

	// The bytes with a meaning in physical keys, and one other byte.
	hostileByte = rapid.SampledFrom([]byte{0x00, 0x01, 0x02, 0x1c, 'a', 0xff})
	hostileKey  = rapid.Custom(func(t *rapid.T) string {
		return string(rapid.SliceOfN(hostileByte, 0, 3).Draw(t, "bytes"))
	})
	timestamp = rapid.OneOf(rapid.Int64Range(0, 9), rapid.SampledFrom([]int64{1 << 32, 1<<62 - 1, 1 << 62, math.MaxInt64 - 1, math.MaxInt64}))
	timeBound = rapid.OneOf(rapid.Just(int64(0)), timestamp)
	family    = rapid.SampledFrom(families)
	count     = rapid.SampledFrom([]int{0, 0, 1, 2, 3, 10})

	value = rapid.Custom(func(t *rapid.T) string {
		n := rapid.SampledFrom([]int{0, 1, 1, 1, 60, 3000}).Draw(t, "length")
		return strings.Repeat(string(rapid.SampledFrom([]byte("vwxyz\x00\xff")).Draw(t, "byte")), n)
	})

	kind   = rapid.SampledFrom([]ChangeKind{Put, Put, Put, Put, Put, Put, DeleteCell, DeleteVersions, DeleteRow, DeleteRows, PutMeta, DeleteMeta})
	change = rapid.Custom(func(t *rapid.T) Change {
		c := Change{Kind: kind.Draw(t, "kind"), Family: family.Draw(t, "family"), Row: hostileKey.Draw(t, "row")}
		switch c.Kind {
		case PutMeta, DeleteMeta:
			c.MetaKey = hostileKey.Draw(t, "meta key")
		case DeleteVersions:
			c.Since, c.Until = timeBound.Draw(t, "since"), timeBound.Draw(t, "until")
		case DeleteRows:
			c.Rows = rowRange.Draw(t, "rows")
		default:
			c.Timestamp = timestamp.Draw(t, "timestamp")
		}
		c.Qualifier = hostileKey.Draw(t, "qualifier")
		if c.Kind == Put || c.Kind == PutMeta {
			c.Value = value.Draw(t, "value")
		}
		return c
	})

	rowRange = rapid.Custom(func(t *rapid.T) cf.Range {
		return cf.Range{Start: hostileKey.Draw(t, "start"), End: hostileKey.Draw(t, "end")}
	})
	rowRanges = rapid.OneOf(
		rapid.Just([]cf.Range{{}}),
		rapid.Map(rowRange, func(r cf.Range) []cf.Range { return []cf.Range{r} }),
		rapid.Map(hostileKeys(0, 6), singles),
		rapid.Map(hostileKeys(2, 8), disjoint),
	)
	qualifierRanges = rapid.OneOf(
		rapid.Just([]cf.Range(nil)),
		rapid.Map(hostileKeys(1, 16), singles),
		rapid.Map(hostileKey, func(p string) []cf.Range { return []cf.Range{cf.Prefix(p)} }),
		rapid.Map(hostileKeys(1, 6), disjoint),
	)

	retention = rapid.Custom(func(t *rapid.T) cf.Retention {
		return cf.Retention{Versions: count.Draw(t, "versions"), UpTo: rapid.OneOf(rapid.Just(int64(-1)), timestamp).Draw(t, "up to")}
	})
	conditions = rapid.Map(rapid.SliceOfN(rapid.Custom(func(t *rapid.T) cf.RowCondition {
		return cf.RowCondition{Qualifier: hostileKey.Draw(t, "qualifier"), Values: valueRanges.Draw(t, "values")}
	}), 1, 3), func(all []cf.RowCondition) []cf.RowCondition {
		slices.SortFunc(all, func(a, b cf.RowCondition) int { return strings.Compare(a.Qualifier, b.Qualifier) })
		return all
	})
	// Ranges that contain many of the values drawn above, or none of them.
	valueRanges = rapid.OneOf(rapid.SampledFrom([][]cf.Range{
		nil,
		{{}},
		{{Start: "v", End: "v\x00"}},
		{{Start: "w"}},
		{{End: "v"}, {Start: "x", End: "z"}},
		{{Start: "\xff\xff", End: "\xff\xff\x00"}},
	}), rapid.Map(rapid.SliceOfN(valueRange, 1, 12), cf.MergeRanges))
	valueBound = rapid.StringOfN(rapid.RuneFrom([]rune("vwxyz\x00")), 0, 2, -1)
	valueRange = rapid.Custom(func(t *rapid.T) cf.Range {
		if rapid.Bool().Draw(t, "one value") {
			return cf.Single(valueBound.Draw(t, "value"))
		}
		return cf.Range{Start: valueBound.Draw(t, "start"), End: valueBound.Draw(t, "end")}
	})
	filter = rapid.Custom(func(t *rapid.T) cf.Filter {
		f := cf.Filter{
			Retention:   rapid.SliceOfN(retention, 0, 2).Draw(t, "retention"),
			Qualifiers:  qualifierRanges.Draw(t, "qualifiers"),
			Since:       timeBound.Draw(t, "since"),
			Until:       timeBound.Draw(t, "until"),
			Versions:    count.Draw(t, "versions"),
			CellsPerRow: count.Draw(t, "cells per row"),

			ColumnsPerRow: count.Draw(t, "columns per row"),

			StripValues: rapid.SampledFrom([]bool{false, false, true}).Draw(t, "strip values"),
			KeysOnly:    rapid.SampledFrom([]bool{false, false, true}).Draw(t, "keys only"),
			CountOnly:   rapid.SampledFrom([]bool{false, false, true}).Draw(t, "count only"),
			EveryRow:    rapid.SampledFrom([]bool{false, false, true}).Draw(t, "every row"),
		}
		if rapid.Bool().Draw(t, "where") {
			f.Where, f.ColumnsPerRow, f.CellsPerRow = conditions.Draw(t, "conditions"), 0, 0
		} else if rapid.SampledFrom([]bool{false, false, true}).Draw(t, "by value") {
			f.Values, f.ColumnsPerRow, f.CellsPerRow = valueRanges.Draw(t, "values"), 0, 0
			f.StripValues, f.KeysOnly, f.CountOnly = false, false, false
		}
		return f
	})
	scan = rapid.Custom(func(t *rapid.T) cf.Scan {
		s := cf.Scan{
			Family:  family.Draw(t, "family"),
			Rows:    rowRanges.Draw(t, "rows"),
			Reverse: rapid.Bool().Draw(t, "reverse"),
			Limit:   count.Draw(t, "limit"),
			Hint:    count.Draw(t, "hint"),
			Sample:  rapid.SampledFrom([]uint64{0, 0, 0, 1 << 63, 1 << 62, 3 << 62, 1}).Draw(t, "sample"),
		}
		if rapid.Bool().Draw(t, "filtered") {
			s.Filter = filter.Draw(t, "filter")
		}
		return s
	})
)

// hostileKeys draws from lo to hi keys, sorted and different.
func hostileKeys(lo, hi int) *rapid.Generator[[]string] {
	return rapid.Map(rapid.SliceOfNDistinct(hostileKey, lo, hi, rapid.ID), func(keys []string) []string {
		slices.Sort(keys)
		return keys
	})
}

func singles(keys []string) (ranges []cf.Range) {
	for _, k := range keys {
		ranges = append(ranges, cf.Single(k))
	}
	return ranges
}

// disjoint makes ranges of pairs of sorted keys. If the number of keys is odd, the last
// range is open.
func disjoint(keys []string) (ranges []cf.Range) {
	for pair := range slices.Chunk(keys, 2) {
		ranges = append(ranges, cf.Range{Start: pair[0], End: strings.Join(pair[1:], "")})
	}
	return ranges
}

// --- done

func (m *machine) write(t *rapid.T) {
	changes := rapid.SliceOfN(change, 1, 30).Draw(t, "changes")
	apply := func(b *cf.Batch) error {
		for _, c := range changes {
			c.Apply(b)
		}
		return nil
	}
	var err error
	if rapid.Bool().Draw(t, "read first") {
		err = m.update(t, changes, apply)
	} else {
		_, err = m.store.Write(m.ctx, nil, apply)
	}
	m.must(err)
	for _, c := range changes {
		m.model.Apply(c)
	}
}

// update reads the rows that it will change, and other rows.
func (m *machine) update(t *rapid.T, changes []Change, apply func(*cf.Batch) error) error {
	var rows []cf.RowID
	for _, c := range changes {
		rows = append(rows, id(c.Row))
	}
	own, other := scan.Draw(t, "scan of its rows"), scan.Draw(t, "another scan")
	_, err := m.store.Update(m.ctx, rows, func(snap cf.Snapshot, b *cf.Batch) error {
		for _, c := range changes {
			own.Rows = singles([]string{c.Row})
			m.compare(snap, m.model, own)
		}
		m.compare(snap, m.model, other)
		return apply(b)
	})
	return err
}

// load loads cells over the existing ones.
func (m *machine) load(t *rapid.T) {
	in, err := m.store.Ingest(m.ctx)
	m.must(err)
	defer in.Close()
	s := bulk.NewSorter(len(families), 1<<20, in.TempDir(), in.Merge)
	defer s.Close()
	changes := rapid.SliceOfN(change, 1, 30).Draw(t, "changes")
	changes = slices.DeleteFunc(changes, func(c Change) bool { return c.Kind != Put })
	for _, c := range changes {
		s.Row(c.Row)
		s.Group(slices.Index(families, c.Family))
		s.Value(append(s.Cell(c.Qualifier, c.Timestamp), c.Value...), false)
		s.EndGroup()
		m.model.Apply(c)
	}
	sorted, err := s.Finish(m.ctx)
	m.must(err)
	for _, part := range sorted.Parts(1) {
		run, err := in.Run(m.ctx, families[part.Family])
		m.must(err)
		m.must(part.Each(m.ctx, func(c cf.CellGroups) error { return run.Write(m.ctx, c) }))
		m.must(run.Close())
	}
	_, err = in.Commit(m.ctx, cf.Range{}, nil)
	m.must(err)
}

func (m *machine) dropRange(t *rapid.T) {
	names, rows := rapid.SliceOfNDistinct(family, 0, 2, rapid.ID).Draw(t, "families"), rowRange.Draw(t, "rows")
	m.must(m.store.DropRange(m.ctx, names, rows))
	m.model.DropRange(names, rows)
}

func (m *machine) flush(t *rapid.T) {
	m.must(m.store.Flush(m.ctx, family.Draw(t, "family")))
}

func (m *machine) compact(t *rapid.T) {
	m.must(m.store.Compact(m.ctx, family.Draw(t, "family"), rowRange.Draw(t, "rows")))
}

func (m *machine) reopen(t *rapid.T) {
	if m.harness.Reopen == nil {
		t.Skip("the store keeps nothing")
	}
	m.dropSnapshot()
	m.must(m.store.Close())
	m.store = m.harness.Reopen(m.store)
	if got := m.store.Families(); !slices.Equal(got, families) {
		t.Fatalf("families after reopening: %q, want %q", got, families)
	}
}

func (m *machine) takeSnapshot(*rapid.T) {
	m.dropSnapshot()
	snap, err := m.store.Snapshot(m.ctx)
	m.must(err)
	m.old, m.oldModel = snap, m.model.Clone()
}

func (m *machine) dropSnapshot() {
	if m.old != nil {
		m.old.Close()
		m.old = nil
	}
}

// --- compared

func (m *machine) scan(t *rapid.T) {
	s := scan.Draw(t, "scan")
	m.now(func(snap cf.Snapshot) { m.compare(snap, m.model, s) })
	if m.old != nil {
		m.compare(m.old, m.oldModel, s)
	}
}

// read reads the newest state, often of rows that exist.
func (m *machine) read(t *rapid.T) {
	s := scan.Draw(t, "scan")
	if rapid.Bool().Draw(t, "one row") {
		s.Rows = singles([]string{hostileKey.Draw(t, "row")})
	}
	got, err := Read(m.ctx, m.store, s)
	m.must(err)
	if want := m.model.Scan(s); !got.Equal(want) {
		m.Fatalf("read %+v\n got %s\nwant %s", s, got, want)
	}
}

func (m *machine) scanAll() {
	m.now(func(snap cf.Snapshot) {
		for _, name := range families {
			for _, reverse := range []bool{false, true} {
				s := everything(name)
				s.Reverse = reverse
				m.compare(snap, m.model, s)
			}
		}
	})
}

func (m *machine) checkMeta(t *rapid.T) {
	prefix := hostileKey.Draw(t, "prefix")
	m.now(func(snap cf.Snapshot) {
		got, err := snap.MetaPrefix(m.ctx, prefix)
		m.must(err)
		want := map[string][]byte{}
		for k, v := range m.model.Meta() {
			if strings.HasPrefix(k, prefix) {
				want[k] = []byte(v)
			}
		}
		if g, w := fmt.Sprintf("%q", got), fmt.Sprintf("%q", want); g != w {
			t.Fatalf("catalog entries with prefix %q\n got %s\nwant %s", prefix, g, w)
		}
	})
}

func (m *machine) now(look func(cf.Snapshot)) {
	snap, err := m.store.Snapshot(m.ctx)
	m.must(err)
	defer snap.Close()
	look(snap)
}

func (m *machine) compare(snap cf.Snapshot, model *Model, s cf.Scan) {
	got, _, err := Collect(m.ctx, snap, s)
	if err != nil {
		m.Fatalf("scan %+v: %v", s, err)
	}
	if want := model.Scan(s); !got.Equal(want) {
		m.Fatalf("scan %+v\n got %s\nwant %s", s, got, want)
	}
}
