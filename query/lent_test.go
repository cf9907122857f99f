package query_test

import (
	"bytes"
	"context"
	"fmt"
	"hash/maphash"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sync/errgroup"
	"pgregory.net/rapid"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/filter"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
)

// lentTable is a table of three families whose rows have up to some hundred cells; one row
// lies in several blocks.
func lentTable(t *testing.T) *query.Table {
	t.Helper()
	ctx := context.Background()
	db, err := query.Open(t.TempDir(), query.Options{Durability: query.DurabilityAsync})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	if err := db.CreateTable(ctx, schema.Table{Name: "t", Families: []schema.Family{{Name: "a"}, {Name: "b"}, {Name: "c"}}}); err != nil {
		t.Fatal(err)
	}
	const rows, wide = 1200, 700
	for row := range rows {
		m := write.NewMutation()
		for i, family := range []string{"a", "b", "c"} {
			n := row * (i + 3) % 23
			if row == wide {
				n = 6000
			}
			for j := range n {
				m.SetAt(family, fmt.Sprintf("q%d", j/2), cells.Timestamp(j), cells.String(strings.Repeat(fmt.Sprintf("%d.%d ", row, j), 1+(row+j)%9)))
			}
		}
		if m.Len() == 0 {
			continue
		}
		if err := db.Table("t").Apply(ctx, fmt.Sprintf("%02d/%04d", row%20, row), m); err != nil {
			t.Fatal(err)
		}
	}
	return db.Table("t")
}

// sums are the hashes of the rows of a read, by copies of their keys.
func sums(table *query.Table, opts ...read.Option) (map[string]uint64, error) {
	all := map[string]uint64{}
	for row, err := range table.ReadRows(context.Background(), opts...) {
		if err != nil {
			return nil, err
		}
		all[strings.Clone(row.Key())] = sum(row)
	}
	return all, nil
}

// sum copies the row before it hashes it: with the race detector a hash that asks for
// each byte of large values is most of what these tests take.
func sum(row *query.Row) uint64 {
	text := fmt.Appendf(nil, "%q %d", row.Key(), row.Len())
	for c := range row.Cells() {
		text = fmt.Appendf(text, "%s:%q@%d=", c.Family, c.Qualifier, c.Timestamp)
		text = cells.AppendValue(text, c.Value)
	}
	return maphash.Bytes(sumSeed, text)
}

var sumSeed = maphash.MakeSeed()

func TestLentRowsAreThoseOfOtherReads(t *testing.T) {
	table := lentTable(t)
	reads := [][]read.Option{
		{},
		{read.Reverse()},
		{read.Prefix("07/")},
		{read.Family("b"), read.Range("03", "12")},
		{read.Versions(1), read.Limit(400)},
		{read.KeysOnly()},
		{read.Filter(filter.Column("q1.*"))},
		{read.Where("c", "q2", cells.OpGreater, cells.String("5")), read.Column("a", "q0")},
		{read.Key("00/0700", "01/0041", "19/1199")},
	}
	var want []map[string]uint64
	for _, opts := range reads {
		all, err := sums(table, opts...)
		if err != nil || len(all) == 0 {
			t.Fatalf("%d rows, %v", len(all), err)
		}
		want = append(want, all)
	}
	var g errgroup.Group
	for worker := range 4 {
		g.Go(func() error {
			for i := range reads {
				at := (i + worker) % len(reads)
				got, err := sums(table, append([]read.Option{read.Lend()}, reads[at]...)...)
				if err != nil {
					return err
				}
				if !maps.Equal(got, want[at]) {
					return fmt.Errorf("read %d: %d lent rows are not the %d rows of other reads", at, len(got), len(want[at]))
				}
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}

	var mu sync.Mutex
	got := map[string]uint64{}
	err := table.ReadRowsParallel(context.Background(), 3, func(_ context.Context, row *query.Row) error {
		key, of := strings.Clone(row.Key()), sum(row)
		mu.Lock()
		defer mu.Unlock()
		got[key] = of
		return nil
	}, read.Lend())
	if err != nil || !maps.Equal(got, want[0]) {
		t.Fatalf("in parallel: %d rows, want %d; %v", len(got), len(want[0]), err)
	}
}

func TestLentReadsUseMemoryAgain(t *testing.T) {
	table := lentTable(t)
	allocated := func(opts ...read.Option) uint64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range 20 {
			for _, err := range table.ReadRows(context.Background(), append(opts, read.Prefix("07/"))...) {
				if err != nil {
					t.Fatal(err)
				}
			}
		}
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	if kept, lent := allocated(), allocated(read.Lend()); lent > kept/2 {
		t.Errorf("20 reads of lent rows take %d bytes, others %d", lent, kept)
	}
}

// Random filters over lent rows of many blocks, by several readers at a time, leave what
// they leave of other rows.
func TestRandomFiltersOfLentRows(t *testing.T) {
	ctx := context.Background()
	db := openMemory(t, declare(schema.Family{Name: "f"}, schema.Family{Name: "fg"}, schema.Family{Name: "h"}))
	seed := uint32(7)
	next := func(n int) int { seed = seed*1664525 + 1013904223; return int(seed>>8) % n }
	const rows = 1500
	for i := range rows {
		m := write.NewMutation()
		for j := range 3 {
			q := []string{"a", "b", "\xe9", "x"}[next(4)]
			m.SetAt(filterFamilies[j], q, cells.Timestamp(j), cells.Bytes(bytes.Repeat([]byte(fmt.Sprint(next(10))), 5000)))
		}
		must(t, db.Table("t").Apply(ctx, fmt.Sprintf("%05d%s", i, []string{"a", "b", "c", "d"}[next(40)/10]), m))
	}
	table := db.Table("t")
	rapid.Check(t, func(t *rapid.T) {
		// A filter of qualifiers that judges few rows, many blocks apart, and maybe others besides.
		few := filter.RowKey(rapid.SampledFrom([]string{`.*00\C`, `.*[37]1\C`, `.*[27]00\C`, `.*a`, `.*0a`}).Draw(t, "rows"))
		var column filter.Filter = filter.Column(rapid.SampledFrom([]string{`.?a`, `[^a]`, `.?[bx]`, `\C?\xe9`}).Draw(t, "qualifiers"))
		if rapid.Bool().Draw(t, "range") {
			column = filter.ColumnRange{Family: rapid.SampledFrom(filterFamilies).Draw(t, "family"), From: filter.Including("a"), To: filter.Including("b")}
		}
		var f filter.Filter = filter.Chain{few, column}
		switch g, _ := drawFilter(t, 2, true, true); rapid.IntRange(0, 3).Draw(t, "form") {
		case 0:
			f = filter.Interleave{f, g}
		case 1:
			f = filter.Condition{If: few, Then: column, Else: g}
		case 2:
			f = filter.Chain{f, g}
		}
		if filter.Check(f) != nil {
			t.Skip()
		}
		opts := []read.Option{read.BigtableFilter(f)}
		if rapid.Bool().Draw(t, "reverse") {
			opts = append(opts, read.Reverse())
		}
		if rapid.IntRange(0, 3).Draw(t, "range") == 0 {
			opts = append(opts, read.Range("00100", "01300"))
		}
		all := func(lend bool) (string, error) {
			var b strings.Builder
			opts := slices.Clone(opts)
			if lend {
				opts = append(opts, read.Lend())
			}
			opts = append(opts, read.Rejected(func(k string) error { fmt.Fprintf(&b, "no %q\n", k); return nil }))
			for row, err := range table.ReadRows(ctx, opts...) {
				if err != nil {
					return "", err
				}
				fmt.Fprintf(&b, "%q %d %x", row.Key(), row.Len(), sum(row))
				for i := range row.Len() {
					b.WriteString(row.Label(i))
				}
				b.WriteString("\n")
			}
			return b.String(), nil
		}
		want, err := all(false)
		if err != nil {
			t.Skip()
		}
		var g errgroup.Group
		for range 2 {
			g.Go(func() error {
				got, err := all(true)
				if err == nil && got != want {
					err = fmt.Errorf("%s: %d lines, want %d, or others", f, strings.Count(got, "\n"), strings.Count(want, "\n"))
				}
				return err
			})
		}
		if err := g.Wait(); err != nil {
			t.Fatal(err)
		}
	})
}
