package query_test

import (
	"math"
	"sync"
	"testing"
	"time"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
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
	wantError(t, err, query.FailedPrecondition, "any:b", "255 + 1", "byte")
	put(t, db, "r", "any", "max", cells.I64(math.MaxInt64))
	_, err = table.Increment(ctx, "r", "any", "max", 1)
	wantError(t, err, query.FailedPrecondition, "out of the range of i64")
	_, err = table.Increment(ctx, "r", "small", "n", math.MaxInt32+1)
	wantError(t, err, query.FailedPrecondition, "range of i32")
	_, err = table.Increment(ctx, "r", "text", "n", 1)
	wantError(t, err, query.InvalidArgument, "cannot increment a string")
	put(t, db, "r", "any", "s", cells.String("x"))
	_, err = table.Increment(ctx, "r", "any", "s", 1)
	wantError(t, err, query.FailedPrecondition, "any:s holds string")
}

func TestAppendKeepsTheType(t *testing.T) {
	db := openMemory(t, declare(schema.Family{Name: "any"}, schema.Family{Name: "text", Type: cells.TypeString}))
	m := query.NewReadModifyWrite()
	m.AppendValue("any", "b", []byte("a"))
	m.AppendValue("any", "b", []byte("b"))
	m.AppendValue("text", "s", []byte("é"))
	row, err := db.Table("t").ApplyReadModifyWrite(ctx, "r", m)
	if err != nil {
		t.Fatal(err)
	}
	if b, ok := row.Bytes("any", "b"); string(b) != "ab" || !ok || row.String("text", "s") != "é" || row.Len() != 2 {
		t.Errorf("wrote %q %q", b, row.String("text", "s"))
	}
	m = query.NewReadModifyWrite()
	m.AppendValue("any", "b", []byte("c"))
	m.AppendValue("text", "s", []byte("\xff"))
	_, err = db.Table("t").ApplyReadModifyWrite(ctx, "r", m)
	wantError(t, err, query.InvalidArgument, "text:s", "UTF-8")
	got, err := db.Table("t").ReadRow(ctx, "r", query.Versions(1))
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
		predicate query.ReadOption
		row       string
		want      bool
	}{
		{"a row that is not there", nil, "none", false},
		{"absent in a row that is not there", query.Absent("f", "q"), "none2", true},
		{"exists in a row that is not there", query.Exists("f", "q"), "none3", false},
		{"a row that is there", nil, "r", true},
		{"equal", query.Where("f", "q", query.EQ, cells.I64(1)), "r", true},
		{"not equal", query.Where("f", "q", query.NE, cells.I64(1)), "r", false},
		{"exists", query.Exists("f", "q"), "r", true},
		{"absent", query.Absent("f", "q"), "r", false},
		{"absent in a row with others", query.Absent("f", "other"), "r", true},
		{"any read option", query.Columns("f:q*"), "r", true},
		{"any read option without a cell", query.Columns("f:z*"), "r", false},
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
			if branch := row.String("g", "branch"); branch != map[bool]string{true: "yes", false: "no"}[c.want] {
				t.Errorf("took branch %s", branch)
			}
		})
	}
	_, err := table.CheckAndMutate(ctx, "r", query.Exists("x", "q"), yes, nil)
	wantError(t, err, query.NotFound, `"x"`)
	_, err = table.CheckAndMutate(ctx, "r", nil, nil, mutate(set("x", "q", cells.I64(1))))
	wantError(t, err, query.NotFound, `"x"`)
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
					row, err := table.ReadRow(ctx, "r", query.Columns("f:cas"), query.Versions(1))
					if err != nil {
						t.Error(err)
						return
					}
					n, _ := row.I64("f", "cas")
					swapped, err = table.CheckAndMutate(ctx, "r", query.Where("f", "cas", query.EQ, cells.I64(n)), mutate(set("f", "cas", cells.I64(n+1))), nil)
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
	m := query.NewReadModifyWrite()
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
