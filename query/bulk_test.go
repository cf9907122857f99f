package query_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
)

// bulkSchema has families of every kind that a load can meet.
func bulkSchema() *schema.Schema {
	return &schema.Schema{Tables: []schema.Table{{Name: "t", Families: []schema.Family{
		{Name: "any"},
		{Name: "num", Type: cells.TypeI32, GC: &schema.Rule{MaxVersions: 2}},
		{Name: "sum", Aggregate: schema.AggregateSum},
		{Name: "max", Aggregate: schema.AggregateMax},
		{Name: "hll", Aggregate: schema.AggregateHLL},
	}}}}
}

func openBulk(t testing.TB, dir string) *query.DB {
	t.Helper()
	o := query.Options{Schema: bulkSchema(), Durability: query.DurabilityAsync, GCInterval: -1}
	open := func() (*query.DB, error) { return query.Open(dir, o) }
	if dir == "" {
		open = func() (*query.DB, error) { return query.OpenInMemory(o) }
	}
	db, err := open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

// text is all visible cells of a table, one in each line.
func text(t testing.TB, db *query.DB, table string) string {
	t.Helper()
	var b strings.Builder
	for row, err := range db.Table(table).ReadRows(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		for c := range row.Cells() {
			fmt.Fprintf(&b, "%q %s:%q @%d %s %v\n", row.Key(), c.Family, c.Qualifier, c.Timestamp, c.Value.Type(), c.Value)
		}
	}
	return b.String()
}

func load(t testing.TB, db *query.DB, o query.BulkOptions, rows map[string]*write.Mutation) error {
	t.Helper()
	l, err := db.Table("t").BulkLoad(t.Context(), o)
	if err != nil {
		return err
	}
	defer l.Close()
	for key, m := range rows {
		if err := l.Apply(key, m); err != nil {
			t.Fatal(err)
		}
	}
	_, err = l.Commit(t.Context())
	return err
}

// A bulk load has the same result as the same mutations applied one by one.
func TestBulkLoadIsLikeApply(t *testing.T) {
	key := rapid.StringMatching(`[a-c\x00]{1,3}`)
	qualifier := rapid.StringMatching(`[xy\x00]{0,2}`)
	bulk, plain := openBulk(t, ""), openBulk(t, "")
	rapid.Check(t, func(rt *rapid.T) {
		for _, db := range []*query.DB{bulk, plain} {
			if err := db.TruncateTable(t.Context(), "t"); err != nil {
				rt.Fatal(err)
			}
		}
		l, err := bulk.Table("t").BulkLoad(t.Context(), query.BulkOptions{})
		if err != nil {
			rt.Fatal(err)
		}
		defer l.Close()
		rows := map[string]bool{}
		for range rapid.IntRange(0, 30).Draw(rt, "mutations") {
			k, m := key.Draw(rt, "key"), write.NewMutation()
			rows[k] = true
			for range rapid.IntRange(1, 6).Draw(rt, "cells") {
				q, ts := qualifier.Draw(rt, "qualifier"), rapid.SampledFrom([]cells.Timestamp{0, 1, 2, 3, 1<<62 - 1, 1 << 62, cells.MaxTimestamp}).Draw(rt, "ts")
				n := rapid.Int64Range(-5, 5).Draw(rt, "n")
				switch f := rapid.SampledFrom([]string{"any", "num", "sum", "max", "hll"}).Draw(rt, "family"); f {
				case "any":
					m.SetAt(f, q, ts, cells.String(strings.Repeat("v", int(n+5))))
				case "num":
					m.SetAt(f, q, ts, cells.I32(int32(n)))
				default:
					m.AddAt(f, q, ts, cells.I64(n))
				}
			}
			if err := l.Apply(k, m); err != nil {
				rt.Fatal(err)
			}
			if err := plain.Table("t").Apply(t.Context(), k, m); err != nil {
				rt.Fatal(err)
			}
		}
		if n, err := l.Commit(t.Context()); err != nil || n.Rows != int64(len(rows)) {
			rt.Fatalf("%+v of %d rows, %v", n, len(rows), err)
		}
		if got, want := text(t, bulk, "t"), text(t, plain, "t"); got != want {
			rt.Fatalf("a bulk load leaves\n%s\nand writes leave\n%s", got, want)
		}
	})
}

func TestBulkLoadOnDisk(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "db")
	db := openBulk(t, dir)
	rows := map[string]*write.Mutation{}
	for i := range 1000 {
		m := write.NewMutation()
		m.Set("any", "q", cells.I64(int64(i)))
		m.Set("num", "q", cells.I32(int32(i)))
		m.Add("sum", "q", cells.I64(1))
		rows[fmt.Sprintf("r%03d", i)] = m
	}
	if err := load(t, db, query.BulkOptions{Name: "first"}, rows); err != nil {
		t.Fatal(err)
	}
	n, err := db.Table("t").Count(t.Context())
	if err != nil || n.Rows != 1000 {
		t.Fatalf("%+v, %v", n, err)
	}
	if err := load(t, db, query.BulkOptions{Name: "first"}, rows); !errors.Is(err, query.ErrLoaded) || query.KindOf(err) != query.KindAlreadyExists {
		t.Errorf("the same name again: %v", err)
	}
	if err := load(t, db, query.BulkOptions{}, rows); !errors.Is(err, query.ErrOverlap) || query.KindOf(err) != query.KindFailedPrecondition {
		t.Errorf("the same rows again: %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "bulk")); !os.IsNotExist(err) {
		t.Errorf("files of loads are left: %v", err)
	}
}

// An overlap is a visible cell of the same column and timestamp, or, for a cell at the
// load's own time, any visible cell of its column.
func TestBulkLoadOverlap(t *testing.T) {
	db := openBulk(t, "")
	m := write.NewMutation()
	for ts := range cells.Timestamp(4) {
		m.SetAt("num", "q", ts, cells.I32(1)) // timestamps 3 and 2 are visible
	}
	m.SetAt("any", "q", 5, cells.I64(1))
	m.AddAt("sum", "q", 0, cells.I64(1))
	if err := db.Table("t").Apply(t.Context(), "r", m); err != nil {
		t.Fatal(err)
	}
	one := func(f func(m *write.Mutation)) map[string]*write.Mutation {
		m := write.NewMutation()
		f(m)
		// Rows around the existing cells, which lie between the load's rows.
		around := write.NewMutation()
		around.SetAt("num", "q", 1, cells.I32(1))
		around.SetAt("any", "q", 1, cells.I32(1))
		return map[string]*write.Mutation{"q": around, "r": m, "s": around}
	}
	for name, c := range map[string]struct {
		m       func(m *write.Mutation)
		overlap bool
	}{
		"the same cell":             {func(m *write.Mutation) { m.SetAt("any", "q", 5, cells.I64(2)) }, true},
		"another time":              {func(m *write.Mutation) { m.SetAt("any", "q", 4, cells.I64(2)) }, false},
		"a newer time":              {func(m *write.Mutation) { m.SetAt("any", "q", 6, cells.I64(2)) }, false},
		"times around it":           {func(m *write.Mutation) { m.SetAt("any", "q", 6, cells.I64(2)); m.SetAt("any", "q", 4, cells.I64(2)) }, false},
		"the last of several times": {func(m *write.Mutation) { m.SetAt("any", "q", 6, cells.I64(2)); m.SetAt("any", "q", 5, cells.I64(2)) }, true},
		"the load's time":           {func(m *write.Mutation) { m.Set("any", "q", cells.I64(2)) }, true},
		"another column":            {func(m *write.Mutation) { m.Set("any", "p", cells.I64(2)); m.Set("any", "r", cells.I64(2)) }, false},
		"a cell that is hidden":     {func(m *write.Mutation) { m.SetAt("num", "q", 1, cells.I32(2)) }, false},
		"a version that is visible": {func(m *write.Mutation) { m.SetAt("num", "q", 2, cells.I32(2)) }, true},
		"an add":                    {func(m *write.Mutation) { m.Add("sum", "q", cells.I64(2)) }, false},
	} {
		err := load(t, db, query.BulkOptions{}, one(c.m))
		if errors.Is(err, query.ErrOverlap) != c.overlap || !c.overlap && err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := db.TruncateTable(t.Context(), "t"); err != nil {
			t.Fatal(err)
		}
		if err := db.Table("t").Apply(t.Context(), "r", m); err != nil {
			t.Fatal(err)
		}
	}
}

// Readers see all families of a load or none.
func TestReadersSeeALoadAsAWhole(t *testing.T) {
	db := openBulk(t, "")
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			default:
			}
			row, err := db.Table("t").ReadRow(t.Context(), "r", read.Versions(1))
			if err != nil {
				t.Error(err)
				return
			}
			if row == nil {
				continue
			}
			a, _ := row.I32("any", "q")
			b, _ := row.I32("num", "q")
			if c, _ := row.I64("sum", "q"); a != b || int64(a) != c {
				t.Errorf("a reader sees %d, %d and %d", a, b, c)
				return
			}
		}
	}()
	for i := range int32(20) {
		m := write.NewMutation()
		m.Set("any", "q", cells.I32(i+1))
		m.Set("num", "q", cells.I32(i+1))
		m.Add("sum", "q", cells.I64(1))
		if err := load(t, db, query.BulkOptions{Overlap: true}, map[string]*write.Mutation{"r": m}); err != nil {
			t.Fatal(err)
		}
	}
	close(stop)
	<-done
}

// A load that was closed without Commit leaves nothing, and accepts no more rows.
func TestBulkLoadGivenUp(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "db")
	db := openBulk(t, dir)
	l, err := db.Table("t").BulkLoad(t.Context(), query.BulkOptions{Name: "n"})
	if err != nil {
		t.Fatal(err)
	}
	m := write.NewMutation()
	m.Set("any", "q", cells.I32(1))
	if err := l.Apply("r", m); err != nil {
		t.Fatal(err)
	}
	wrong := write.NewMutation()
	wrong.DeleteRow()
	if err := l.Apply("r", wrong); query.KindOf(err) != query.KindInvalidArgument {
		t.Errorf("a delete: %v", err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if err := l.Apply("r", m); query.KindOf(err) != query.KindFailedPrecondition {
		t.Errorf("after Close: %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "bulk")); !os.IsNotExist(err) {
		t.Errorf("files are left: %v", err)
	}
	if got := text(t, db, "t"); got != "" {
		t.Errorf("visible: %s", got)
	}
	if err := load(t, db, query.BulkOptions{Name: "n"}, map[string]*write.Mutation{"r": m}); err != nil {
		t.Errorf("its name is taken: %v", err)
	}
}
