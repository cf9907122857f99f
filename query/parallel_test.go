package query_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/query/write"
)

var errStopped = errors.New("stopped")

func putRows(t testing.TB, table *query.Table, rows int) {
	t.Helper()
	for i := range rows {
		putCells(t, table, fmt.Sprintf("r%05d", i), "a:x@1", "b:x@1")
	}
}

func TestRowKeySamples(t *testing.T) {
	table, ctx := openTable(t), context.Background()
	empty, err := table.SampleRowKeys(ctx)
	if err != nil || !slices.Equal(empty, []query.RowKeySample{{}}) {
		t.Errorf("of an empty table: %v, %v", empty, err)
	}
	putRows(t, table, 640)
	samples, err := table.SampleRowKeys(ctx)
	if err != nil || len(samples) != 64 || samples[63].Key != "" {
		t.Fatalf("%d samples, %v", len(samples), err)
	}
	for i, s := range samples[:63] { // all rows are equally large
		if want := fmt.Sprintf("r%05d", (i+1)*10); s.Key != want || s.OffsetBytes*64 != samples[63].OffsetBytes*int64(i+1) {
			t.Errorf("sample %d is %v, want %s", i, s, want)
		}
	}
	splits, err := table.RowSplits(ctx, 4)
	if want := []string{"r00160", "r00320", "r00480"}; err != nil || !slices.Equal(splits, want) {
		t.Errorf("splits %v, %v, want %v", splits, err, want)
	}
	for _, n := range []int{0, -1} {
		if _, err := table.RowSplits(ctx, n); query.KindOf(err) != query.KindInvalidArgument {
			t.Errorf("%d splits: %v", n, err)
		}
	}
}

func TestParallelReads(t *testing.T) {
	table, ctx := openTable(t), context.Background()
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent(), goleak.IgnoreTopFunction("github.com/smolwc/smolwc/cf/pebble.(*workers).begin.func1")) // a store keeps these until it is closed
	putRows(t, table, 500)
	var seen atomic.Int64
	count := func(context.Context, *query.Row) error { seen.Add(1); return nil }

	t.Run("in numbered parts", func(t *testing.T) {
		var mu sync.Mutex
		parts := map[int][]string{}
		err := table.ReadPartsParallel(ctx, 3, func(_ context.Context, part int, rows iter.Seq2[*query.Row, error]) error {
			var keys []string
			for row, err := range rows {
				if err != nil {
					return err
				}
				keys = append(keys, row.Key())
			}
			mu.Lock()
			defer mu.Unlock()
			parts[part] = keys
			return nil
		})
		var all []string
		for i := range len(parts) {
			all = append(all, parts[i]...)
		}
		if err != nil || len(parts) < 3 || len(all) != 500 || !slices.IsSorted(all) {
			t.Errorf("%d keys in %d parts, %v", len(all), len(parts), err)
		}
		err = table.ReadPartsParallel(ctx, 3, func(context.Context, int, iter.Seq2[*query.Row, error]) error { return errStopped })
		if !errors.Is(err, errStopped) {
			t.Errorf("an error of the function: %v", err)
		}
	})

	t.Run("of one snapshot", func(t *testing.T) {
		seen.Store(0)
		var cost read.Cost
		err := table.ReadRowsParallel(ctx, 3, func(ctx context.Context, row *query.Row) error {
			// Rows before and after the row that is being read: no part may see them.
			for _, key := range []string{"q", "s", row.Key() + "~"} {
				m := write.NewMutation()
				m.SetAt("a", "x", 1, cells.Bool(true))
				if err := table.Apply(ctx, key, m); err != nil {
					return err
				}
			}
			return count(ctx, row)
		}, read.Prefix("r"), read.ReportCost(&cost))
		if err != nil || seen.Load() != 500 || cost.Rows != 500 || cost.Families != 3 || cost.Elapsed <= 0 {
			t.Errorf("%d rows, %v, cost %+v", seen.Load(), err, cost)
		}
	})
	t.Run("an error of the function", func(t *testing.T) {
		seen.Store(0)
		mine := errors.New("enough")
		err := table.ReadRowsParallel(ctx, 2, func(ctx context.Context, row *query.Row) error {
			if seen.Add(1) == 10 {
				return mine
			}
			return nil
		})
		if err != mine {
			t.Errorf("error %v", err)
		}
	})
	t.Run("a context that ends", func(t *testing.T) {
		done, cancel := context.WithCancel(ctx)
		err := table.ReadRowsParallel(done, 2, func(ctx context.Context, row *query.Row) error {
			cancel()
			<-ctx.Done()
			return ctx.Err()
		})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("error %v", err)
		}
	})
	for _, test := range []struct {
		n    int
		opt  read.Option
		want string
	}{
		{2, read.Limit(1), "limit"}, {2, read.Offset(1), "limit"}, {-1, read.Limit(0), "readers"}, {2, read.Family("z"), "unknown family"}, {2, read.Key(""), "row key"},
	} {
		if err := table.ReadRowsParallel(ctx, test.n, count, test.opt); query.KindOf(err) == query.KindInternal || !strings.Contains(err.Error(), test.want) {
			t.Errorf("error %v, want %s", err, test.want)
		}
	}
}

func TestReadRowListArguments(t *testing.T) {
	table, ctx := openTable(t), context.Background()
	putRows(t, table, 3)
	rows, err := table.ReadRowList(ctx, []string{"r00002", "x", "r00000", "r00002"}, read.Family("a"))
	if err != nil || len(rows) != 4 || rows[0].Key() != "r00002" || rows[1] != nil || rows[2].Key() != "r00000" || rows[3] != rows[0] || rows[0].Len() != 1 {
		t.Errorf("rows %v, %v", rows, err)
	}
	if rows, err := table.ReadRowList(ctx, nil); err != nil || len(rows) != 0 {
		t.Errorf("no keys: %v, %v", rows, err)
	}
	for _, opt := range []read.Option{read.Key("a"), read.Prefix("a"), read.StartAfter("a"), read.Limit(1), read.Offset(1)} {
		if _, err := table.ReadRowList(ctx, []string{"r00000"}, opt); query.KindOf(err) != query.KindInvalidArgument {
			t.Errorf("error %v", err)
		}
	}
	if _, err := table.ReadRowList(ctx, []string{""}); query.KindOf(err) != query.KindInvalidArgument {
		t.Errorf("an empty key: %v", err)
	}
}

// BenchmarkCount compares Count with counting the rows of a read.
func BenchmarkCount(b *testing.B) {
	table, ctx := openTable(b), context.Background()
	const rows = 100_000
	for i := range rows {
		m := write.NewMutation()
		for q := range 5 {
			m.SetAt("a", fmt.Sprintf("column%d", q), 1, cells.String(strings.Repeat("v", 60)))
		}
		if err := table.Apply(ctx, fmt.Sprintf("row#%08d", i), m); err != nil {
			b.Fatal(err)
		}
	}
	if err := table.Compact(ctx); err != nil {
		b.Fatal(err)
	}
	for name, opts := range map[string][]read.Option{"one family": {read.Family("a")}, "all families": nil} {
		b.Run("native/"+name, func(b *testing.B) {
			for b.Loop() {
				if n, err := table.Count(ctx, opts...); err != nil || n.Cells != 5*rows {
					b.Fatal(n, err)
				}
			}
		})
		b.Run("by reading/"+name, func(b *testing.B) {
			for b.Loop() {
				n := 0
				for row, err := range table.ReadRows(ctx, opts...) {
					if err != nil {
						b.Fatal(err)
					}
					n += row.Len()
				}
			}
		})
	}
}
