package query_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
)

func openMemory(t *testing.T, s *schema.Schema) *query.DB {
	t.Helper()
	db, err := query.OpenInMemory(query.Options{Schema: s})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

func mutate(changes ...func(*write.Mutation)) *write.Mutation {
	m := write.NewMutation()
	for _, c := range changes {
		c(m)
	}
	return m
}

func set(family, qualifier string, v cells.Value) func(*write.Mutation) {
	return func(m *write.Mutation) { m.Set(family, qualifier, v) }
}

func setAt(family, qualifier string, ts cells.Timestamp, v cells.Value) func(*write.Mutation) {
	return func(m *write.Mutation) { m.SetAt(family, qualifier, ts, v) }
}

func TestWrongMutationsAreRefusedAndWriteNothing(t *testing.T) {
	db := openMemory(t, declare(schema.Family{Name: "meta"}, schema.Family{Name: "delay", Type: cells.TypeI32}))
	good := set("meta", "model", cells.String("B757"))
	for _, c := range []struct {
		name, row string
		m         *write.Mutation
		kind      query.Kind
		says      []string
	}{
		{"unknown family", "r", mutate(good, set("mta", "x", cells.I64(1))), query.KindNotFound, []string{`"mta"`, `did you mean "meta"?`}},
		{"another type", "r", mutate(good, set("delay", "dep", cells.I64(1))), query.KindInvalidArgument, []string{"delay:dep", "declared i32", "i64 1"}},
		{"no type", "r", mutate(good, set("meta", "x", cells.Value{})), query.KindInvalidArgument, []string{"meta:x", "no type"}},
		{"bad UTF-8", "r", mutate(good, set("meta", "x", cells.String("\xff"))), query.KindInvalidArgument, []string{"meta:x", "UTF-8"}},
		{"negative timestamp", "r", mutate(good, setAt("meta", "x", -1, cells.I64(1))), query.KindInvalidArgument, []string{"meta:x", "-1", "negative"}},
		{"long qualifier", "r", mutate(good, set("meta", strings.Repeat("q", cells.MaxQualifier+1), cells.I64(1))), query.KindInvalidArgument, []string{"16385", "16384"}},
		{"large value", "r", mutate(good, set("meta", "x", cells.Bytes(make([]byte, cells.MaxValue+1)))), query.KindResourceExhausted, []string{"104857601"}},
		{"no row key", "", mutate(good), query.KindInvalidArgument, []string{"row key is empty"}},
		{"long row key", strings.Repeat("r", cells.MaxRowKey+1), mutate(good), query.KindInvalidArgument, []string{"4097", "4096"}},
		{"no changes", "r", mutate(), query.KindInvalidArgument, []string{"no changes"}},
		{"nil", "r", nil, query.KindInvalidArgument, []string{"no changes"}},
		{"reversed time range", "r", mutate(good, func(m *write.Mutation) { m.DeleteTimestampRange("meta", "x", 9, 3) }), query.KindInvalidArgument, []string{"[9, 3)"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			wantError(t, db.Table("t").Apply(ctx, c.row, c.m), c.kind, c.says...)
		})
	}
	if n, err := db.Table("t").Count(ctx); n.Rows != 0 || err != nil {
		t.Errorf("%d rows were written, %v", n.Rows, err)
	}
	wantError(t, db.Table("T").Apply(ctx, "r", mutate(good)), query.KindNotFound, `unknown table "T"`, `did you mean "t"?`)
}

func TestTheLargestOfEverythingIsAccepted(t *testing.T) {
	db := openMemory(t, declare(schema.Family{Name: "f"}))
	key, qualifier := strings.Repeat("\x00", cells.MaxRowKey), strings.Repeat("\x00", cells.MaxQualifier)
	value := cells.Bytes(make([]byte, 10<<20))
	if err := db.Table("t").Apply(ctx, key, mutate(setAt("f", qualifier, cells.MaxTimestamp, value))); err != nil {
		t.Fatal(err)
	}
	row, err := db.Table("t").ReadRow(ctx, key)
	if err != nil {
		t.Fatal(err)
	}
	c, ok := row.Cell("f", qualifier)
	if !ok || c.Timestamp != cells.MaxTimestamp || !c.Value.Equal(value) || row.Key() != key {
		t.Errorf("read back %v, @%d, %d bytes", ok, c.Timestamp, c.Value.Len())
	}
}

func TestBulkReportsEachRowAndWritesTheOthers(t *testing.T) {
	db := openMemory(t, declare(schema.Family{Name: "f"}))
	one := mutate(set("f", "q", cells.I64(1)))
	errs, err := db.Table("t").ApplyBulk(ctx, []string{"a", "", "c"}, []*write.Mutation{one, one, one})
	if err != nil || len(errs) != 3 || errs[0] != nil || errs[2] != nil {
		t.Fatalf("%v, %v", errs, err)
	}
	wantError(t, errs[1], query.KindInvalidArgument, "row key is empty")
	if n, err := db.Table("t").Count(ctx); n.Rows != 2 || err != nil {
		t.Errorf("%d rows, %v", n.Rows, err)
	}
	if errs, err := db.Table("t").ApplyBulk(ctx, []string{"d"}, []*write.Mutation{one}); errs != nil || err != nil {
		t.Errorf("all well: %v, %v", errs, err)
	}
	_, err = db.Table("t").ApplyBulk(ctx, []string{"d"}, nil)
	wantError(t, err, query.KindInvalidArgument, "1 row keys and 0 mutations")
}

func TestSetsOfOneMutationShareATimestamp(t *testing.T) {
	db := openMemory(t, declare(schema.Family{Name: "f"}, schema.Family{Name: "g"}))
	if err := db.Table("t").Apply(ctx, "r", mutate(set("f", "a", cells.I64(1)), set("g", "b", cells.I64(2)))); err != nil {
		t.Fatal(err)
	}
	row, err := db.Table("t").ReadRow(ctx, "r")
	if err != nil {
		t.Fatal(err)
	}
	a, _ := row.Cell("f", "a")
	b, _ := row.Cell("g", "b")
	if a.Timestamp != b.Timestamp || a.Timestamp == 0 {
		t.Errorf("timestamps %d and %d", a.Timestamp, b.Timestamp)
	}
}

func TestAnExpiredCellIsGoneAtTheMicrosecond(t *testing.T) {
	now := cells.Timestamp(1_000_000)
	db, err := query.OpenInMemory(query.Options{
		Schema: declare(schema.Family{Name: "f", GC: schema.MaxAge(time.Millisecond)}),
		Clock:  func() time.Time { return now.Time() },
	})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.Table("t").Apply(ctx, "r", mutate(setAt("f", "q", 1_000_000, cells.I64(1)))); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		now  cells.Timestamp
		rows int64
	}{{1_000_000, 1}, {1_001_000, 1}, {1_001_001, 0}} {
		now = c.now
		if n, err := db.Table("t").Count(ctx, read.KeysOnly()); n.Rows != c.rows || err != nil {
			t.Errorf("at %d: %d rows, %v; want %d", c.now, n.Rows, err, c.rows)
		}
	}
}

func TestDeletingTheNewestVersionDoesNotBringBackAHiddenOne(t *testing.T) {
	db := openMemory(t, declare(schema.Family{Name: "f", GC: schema.MaxVersions(1)}))
	table := db.Table("t")
	for ts := cells.Timestamp(1); ts <= 3; ts++ {
		if err := table.Apply(ctx, "r", mutate(setAt("f", "q", ts, cells.I64(int64(ts))))); err != nil {
			t.Fatal(err)
		}
	}
	if err := table.Apply(ctx, "r", mutate(func(m *write.Mutation) { m.DeleteCell("f", "q", 3) })); err != nil {
		t.Fatal(err)
	}
	if row, err := table.ReadRow(ctx, "r"); row != nil || err != nil {
		t.Errorf("the row has a cell again: %v, %v", row, err)
	}
}

func TestDeletingAWideRowLeavesItsNeighbours(t *testing.T) {
	db := openMemory(t, declare(schema.Family{Name: "f"}))
	table := db.Table("t")
	wide := write.NewMutation()
	for i := range 1000 {
		wide.Set("f", fmt.Sprint(i), cells.I64(1))
	}
	for _, row := range []string{"a", "b", "b\x00", "c"} {
		if err := table.Apply(ctx, row, wide); err != nil {
			t.Fatal(err)
		}
	}
	if err := table.Apply(ctx, "b", mutate((*write.Mutation).DeleteRow)); err != nil {
		t.Fatal(err)
	}
	if n, err := table.Count(ctx); n.Rows != 3 || n.Cells != 3000 || err != nil {
		t.Errorf("%+v, %v", n, err)
	}
}

func TestARowIsNeverSeenHalfWritten(t *testing.T) {
	db := openMemory(t, declare(schema.Family{Name: "f"}, schema.Family{Name: "g"}))
	table := db.Table("t")
	write := func(n int64) {
		if err := table.Apply(ctx, "r", mutate((*write.Mutation).DeleteRow, set("f", "n", cells.I64(n)), set("g", "n", cells.I64(n)))); err != nil {
			t.Error(err)
		}
	}
	write(0)
	var writers sync.WaitGroup
	for w := range 4 {
		writers.Go(func() {
			for i := range 50 {
				write(int64(w*1000 + i))
			}
		})
	}
	stop := make(chan struct{})
	go func() { writers.Wait(); close(stop) }()
	for {
		row, err := table.ReadRow(ctx, "r")
		if err != nil {
			t.Fatal(err)
		}
		f, _ := row.I64("f", "n")
		g, _ := row.I64("g", "n")
		if f != g || row.Len() != 2 {
			t.Fatalf("f:n=%d g:n=%d in %d cells", f, g, row.Len())
		}
		select {
		case <-stop:
			return
		default:
		}
	}
}
