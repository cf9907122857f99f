package query_test

import (
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/filter"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
)

func TestIncrementCountsInTheColumnsType(t *testing.T) {
	db := openMemory(t, declare(schema.Family{Name: "any"}, schema.Family{Name: "small", Type: cells.TypeI32}, schema.Family{Name: "text", Type: cells.TypeString}))
	table := db.Table("t")
	if n, err := table.Increment(ctx, "r", "any", "n", 5); n != 5 || err != nil {
		t.Fatal(n, err)
	}
	if n, err := table.Increment(ctx, "r", "any", "n", -7); n != -2 || err != nil {
		t.Fatal(n, err)
	}
	put(t, db, "r", "any", "b", cells.Byte(250))
	if n, err := table.Increment(ctx, "r", "any", "b", 5); n != 255 || err != nil {
		t.Fatal(n, err)
	}
	_, err := table.Increment(ctx, "r", "any", "b", 1)
	wantError(t, err, query.KindFailedPrecondition, "any:b", "255 + 1", "byte")
	put(t, db, "r", "any", "max", cells.I64(math.MaxInt64))
	_, err = table.Increment(ctx, "r", "any", "max", 1)
	wantError(t, err, query.KindFailedPrecondition, "out of the range of i64")
	_, err = table.Increment(ctx, "r", "small", "n", math.MaxInt32+1)
	wantError(t, err, query.KindFailedPrecondition, "range of i32")
	_, err = table.Increment(ctx, "r", "text", "n", 1)
	wantError(t, err, query.KindInvalidArgument, "is declared string; you cannot increment it")
	put(t, db, "r", "any", "s", cells.String("x"))
	_, err = table.Increment(ctx, "r", "any", "s", 1)
	wantError(t, err, query.KindFailedPrecondition, "any:s holds string")
}

func TestAppendKeepsTheType(t *testing.T) {
	db := openMemory(t, declare(schema.Family{Name: "any"}, schema.Family{Name: "text", Type: cells.TypeString}))
	m := write.NewReadModifyWrite()
	m.AppendValue("any", "b", []byte("a"))
	m.AppendValue("any", "b", []byte("b"))
	m.AppendValue("text", "s", []byte("é"))
	row, err := db.Table("t").ApplyReadModifyWrite(ctx, "r", m)
	if err != nil {
		t.Fatal(err)
	}
	if b, ok := row.Bytes("any", "b"); string(b) != "ab" || !ok || row.Text("text", "s") != "é" || row.Len() != 2 {
		t.Errorf("wrote %q %q", b, row.Text("text", "s"))
	}
	m = write.NewReadModifyWrite()
	m.AppendValue("any", "b", []byte("c"))
	m.AppendValue("text", "s", []byte("\xff"))
	_, err = db.Table("t").ApplyReadModifyWrite(ctx, "r", m)
	wantError(t, err, query.KindInvalidArgument, "text:s", "UTF-8")
	got, err := db.Table("t").ReadRow(ctx, "r", read.Versions(1))
	if err != nil {
		t.Fatal(err)
	}
	if b, _ := got.Bytes("any", "b"); string(b) != "ab" {
		t.Errorf("the refused change left %q", b)
	}
}

func TestReadModifyWriteIsNeverHiddenBehindALaterCell(t *testing.T) {
	db := openMemory(t, declare(schema.Family{Name: "f"}))
	future := cells.TimestampOf(time.Now().Add(time.Hour))
	if err := db.Table("t").Apply(ctx, "r", mutate(setAt("f", "n", future, cells.I64(41)))); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Table("t").Increment(ctx, "r", "f", "n", 1); err != nil {
		t.Fatal(err)
	}
	row, err := db.Table("t").ReadRow(ctx, "r")
	if err != nil {
		t.Fatal(err)
	}
	if n, _ := row.I64("f", "n"); n != 42 {
		t.Errorf("newest is %d", n)
	}
}

func TestCheckAndMutateTakesTheBranchOfItsPredicate(t *testing.T) {
	db := openMemory(t, declare(schema.Family{Name: "f"}, schema.Family{Name: "g"}))
	table := db.Table("t")
	yes, no := mutate(set("g", "branch", cells.String("yes"))), mutate(set("g", "branch", cells.String("no")))
	for _, c := range []struct {
		name      string
		predicate read.Option
		row       string
		want      bool
	}{
		{"a row that is not there", nil, "none", false},
		{"absent in a row that is not there", read.Absent("f", "q"), "none2", true},
		{"exists in a row that is not there", read.Exists("f", "q"), "none3", false},
		{"a row that is there", nil, "r", true},
		{"equal", read.Where("f", "q", cells.OpEqual, cells.I64(1)), "r", true},
		{"not equal", read.Where("f", "q", cells.OpNotEqual, cells.I64(1)), "r", false},
		{"exists", read.Exists("f", "q"), "r", true},
		{"absent", read.Absent("f", "q"), "r", false},
		{"absent in a row with others", read.Absent("f", "other"), "r", true},
		{"any read option", read.ColumnPrefix("f", "q"), "r", true},
		{"any read option without a cell", read.ColumnPrefix("f", "z"), "r", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			put(t, db, "r", "f", "q", cells.I64(1))
			matched, err := table.CheckAndMutate(ctx, c.row, c.predicate, yes, no)
			if err != nil || matched != c.want {
				t.Fatalf("%v, %v", matched, err)
			}
			row, err := table.ReadRow(ctx, c.row)
			if err != nil {
				t.Fatal(err)
			}
			if branch := row.Text("g", "branch"); branch != map[bool]string{true: "yes", false: "no"}[c.want] {
				t.Errorf("took branch %s", branch)
			}
		})
	}
	_, err := table.CheckAndMutate(ctx, "r", read.Exists("x", "q"), yes, nil)
	wantError(t, err, query.KindNotFound, `"x"`)
	_, err = table.CheckAndMutate(ctx, "r", nil, nil, mutate(set("x", "q", cells.I64(1))))
	wantError(t, err, query.KindNotFound, `"x"`)
	if matched, err := table.CheckAndMutate(ctx, "r", nil, nil, nil); !matched || err != nil {
		t.Errorf("without mutations: %v, %v", matched, err)
	}
}

func TestConcurrentCountersLoseNothing(t *testing.T) {
	db := openMemory(t, declare(schema.Family{Name: "f"}))
	table := db.Table("t")
	put(t, db, "r", "f", "cas", cells.I64(0))
	const writers, each = 8, 50
	var wg sync.WaitGroup
	for range writers {
		wg.Go(func() {
			for range each {
				if _, err := table.Increment(ctx, "r", "f", "n", 1); err != nil {
					t.Error(err)
				}
				for swapped := false; !swapped; {
					row, err := table.ReadRow(ctx, "r", read.Column("f", "cas"), read.Versions(1))
					if err != nil {
						t.Error(err)
						return
					}
					n, _ := row.I64("f", "cas")
					swapped, err = table.CheckAndMutate(ctx, "r", read.Where("f", "cas", cells.OpEqual, cells.I64(n)), mutate(set("f", "cas", cells.I64(n+1))), nil)
					if err != nil {
						t.Error(err)
						return
					}
				}
			}
		})
	}
	wg.Wait()
	row, err := table.ReadRow(ctx, "r")
	if err != nil {
		t.Fatal(err)
	}
	n, _ := row.I64("f", "n")
	cas, _ := row.I64("f", "cas")
	if n != writers*each || cas != writers*each {
		t.Errorf("counted %d and %d, want %d", n, cas, writers*each)
	}
}

func TestAppendingTextToAColumnThatIsNotThereMakesText(t *testing.T) {
	db := openMemory(t, declare(schema.Family{Name: "any"}, schema.Family{Name: "raw", Type: cells.TypeBytes}))
	m := write.NewReadModifyWrite()
	m.AppendString("any", "s", "a")
	m.AppendString("raw", "b", "a")
	m.AppendValue("any", "b", []byte("a"))
	row, err := db.Table("t").ApplyReadModifyWrite(ctx, "r", m)
	if err != nil {
		t.Fatal(err)
	}
	for column, want := range map[[2]string]cells.Type{{"any", "s"}: cells.TypeString, {"raw", "b"}: cells.TypeBytes, {"any", "b"}: cells.TypeBytes} {
		if c, _ := row.Cell(column[0], column[1]); c.Value.Type() != want {
			t.Errorf("%v became %v, want %v", column, c.Value.Type(), want)
		}
	}
}

func TestUpdatesDoNotSeeWhatRetentionHides(t *testing.T) {
	now := cells.Timestamp(1_000_000)
	db, err := query.OpenInMemory(query.Options{
		Schema: declare(schema.Family{Name: "recent", GC: schema.MaxAge(time.Minute)}, schema.Family{Name: "newest", GC: schema.MaxVersions(1)}),
		Clock:  func() time.Time { return now.Time() },
	})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	table := db.Table("t")
	if err := table.Apply(ctx, "r", mutate(setAt("recent", "n", now, cells.I64(41)),
		setAt("newest", "s", 1, cells.String("old")), setAt("newest", "s", 2, cells.String("new")))); err != nil {
		t.Fatal(err)
	}
	judge := func(predicate read.Option, want bool) {
		t.Helper()
		if matched, err := table.CheckAndMutate(ctx, "r", predicate, nil, nil); err != nil || matched != want {
			t.Errorf("%v, %v; want %v", matched, err, want)
		}
	}
	for _, there := range []bool{true, false} {
		judge(read.Exists("recent", "n"), there)
		judge(read.Absent("recent", "n"), !there)
		judge(read.Where("recent", "n", cells.OpEqual, cells.I64(41)), there)
		judge(read.Family("recent"), there)
		judge(read.Filter(filter.Family("recent")), there)
		judge(read.Filter(filter.Chain{filter.Column("n"), filter.Value(`(?s).*`)}), there)
		judge(read.Filter(filter.Value("new")), true)
		judge(read.Filter(filter.Value("old")), false)
		judge(read.Filter(filter.TimestampRange{Since: 1, Until: 2}), false)
		judge(read.Filter(filter.CellsPerRowOffset(1)), there)
		now += cells.Timestamp(time.Hour.Microseconds())
	}
	if n, err := table.Increment(ctx, "r", "recent", "n", 1); n != 1 || err != nil {
		t.Errorf("a cell that has expired counts: %d, %v", n, err)
	}
}

// Rows with more cells, and with larger cells, than are read at a time.
func TestUpdatesReadLongRows(t *testing.T) {
	db := openMemory(t, declare(schema.Family{Name: "f"}, schema.Family{Name: "g"}))
	table := db.Table("t")
	m := write.NewMutation()
	for i := range 3000 {
		m.SetAt("f", fmt.Sprintf("q%04d", i), 1, cells.I64(int64(i)))
	}
	m.SetAt("f", "r", 1, cells.String(strings.Repeat("large", 1<<18)))
	m.SetAt("f", "s", 1, cells.String("last"))
	m.SetAt("g", "t", 1, cells.String("another"))
	if err := table.Apply(ctx, "long", m); err != nil {
		t.Fatal(err)
	}
	mark := mutate(setAt("g", "mark", 1, cells.Bool(true)))
	for _, c := range []struct {
		predicate read.Option
		want      bool
	}{
		{nil, true},
		{read.Filter(filter.Value("last")), true},
		{read.Filter(filter.Value("another")), true},
		{read.Filter(filter.Value("(large)+")), true},
		{read.Filter(filter.CellsPerRowOffset(3002)), true},
		{read.Filter(filter.CellsPerRowOffset(3010)), false},
		{read.Where("f", "q2999", cells.OpEqual, cells.I64(2999)), true},
		{read.Where("f", "q2999", cells.OpEqual, cells.I64(3)), false},
	} {
		if matched, err := table.CheckAndMutate(ctx, "long", c.predicate, mark, nil); err != nil || matched != c.want {
			t.Errorf("%v, %v; want %v", matched, err, c.want)
		}
	}
	rmw := write.NewReadModifyWrite()
	rmw.AppendString("f", "r", "!")
	rmw.Increment("f", "q1500", 1)
	rmw.AppendString("g", "t", "!")
	row, err := table.ApplyReadModifyWrite(ctx, "long", rmw)
	if err != nil {
		t.Fatal(err)
	}
	n, _ := row.I64("f", "q1500")
	if n != 1501 || len(row.Text("f", "r")) != 5<<18+1 || row.Text("g", "t") != "another!" {
		t.Errorf("%d, %d bytes, %q", n, len(row.Text("f", "r")), row.Text("g", "t"))
	}
}

// A branch may delete cells that it has to look up, and set cells that an earlier
// mutation of it deleted.
func TestBranchesLookBeforeTheyDelete(t *testing.T) {
	db := openMemory(t, declare(schema.Family{Name: "f"}, schema.Family{Name: "two", GC: schema.MaxVersions(2)}))
	table := db.Table("t")
	for _, ts := range []cells.Timestamp{1, 2, 3} { // the first is hidden
		if err := table.Apply(ctx, "r", mutate(setAt("two", "q", ts, cells.I64(int64(ts))), setAt("f", "q", ts, cells.I64(int64(ts))))); err != nil {
			t.Fatal(err)
		}
	}
	newest := mutate(func(m *write.Mutation) { m.DeleteTimestampRange("two", "q", 3, 4) })
	if matched, err := table.CheckAndMutate(ctx, "r", read.Exists("f", "q"), newest, nil); !matched || err != nil {
		t.Fatal(matched, err)
	}
	if got := shown(t, table, read.Family("two")); strings.Contains(got, "@1") {
		t.Errorf("a version that was hidden is back: %s", got)
	}
	again := mutate(func(m *write.Mutation) { m.DeleteRow(); m.SetAt("f", "again", 1, cells.Bool(true)) })
	if matched, err := table.CheckAndMutate(ctx, "r", read.Absent("f", "q"), nil, again); matched || err != nil {
		t.Fatal(matched, err)
	}
	row, err := table.ReadRow(ctx, "r")
	if err != nil {
		t.Fatal(err)
	}
	for c := range row.Cells() {
		if c.Qualifier != "again" {
			t.Errorf("%s:%s is left", c.Family, c.Qualifier)
		}
	}
}
