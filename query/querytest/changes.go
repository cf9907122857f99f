package querytest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
)

// ChangesFamilies are families of all kinds.
var ChangesFamilies = []schema.Family{
	{Name: "meta"}, {Name: "delay", Type: cells.TypeI32}, {Name: "sum", Aggregate: schema.AggregateSum},
	{Name: "seen", Aggregate: schema.AggregateHLL}, {Name: "two", GC: schema.MaxVersions(2)},
}

// ChangesSchema declares a table with a change stream, and others.
func ChangesSchema() *schema.Schema {
	return &schema.Schema{Tables: []schema.Table{
		{Name: "t", ChangeStream: 24 * time.Hour, Families: ChangesFamilies},
		{Name: "other", ChangeStream: 24 * time.Hour, Families: ChangesFamilies},
		{Name: "silent", Families: ChangesFamilies},
		{Name: "copy", Families: ChangesFamilies},
	}}
}

// ReadChanges reads until now.
func ReadChanges(t testing.TB, db *query.DB, table string, opts ...query.ChangesOption) (all []*query.RowChange) {
	t.Helper()
	all, err := TryChanges(db, table, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TryChanges is ReadChanges that may fail.
func TryChanges(db *query.DB, table string, opts ...query.ChangesOption) (all []*query.RowChange, err error) {
	opts = append([]query.ChangesOption{query.ChangesUntil(db.Now().Time())}, opts...)
	for c, err := range db.Table(table).Changes(context.Background(), opts...) {
		if err != nil {
			return all, err
		}
		all = append(all, c)
	}
	return all, nil
}

// ChangeLines are changes as text, without the timestamps that the clock gave.
func ChangeLines(all []*query.RowChange) (texts []string) {
	for _, c := range all {
		text := c.Key
		if c.Collected {
			text += " collected"
		}
		for _, ch := range c.Changes {
			at := fmt.Sprint("@", ch.Since)
			if ch.Since > 1e12 {
				at = ""
			}
			switch ch.Kind {
			case write.SetChange:
				text += fmt.Sprintf(" %s:%s%s=%v", ch.Family, ch.Qualifier, at, ch.Value)
			case write.AddChange:
				text += fmt.Sprintf(" %s:%s%s+=%v", ch.Family, ch.Qualifier, at, ch.Value)
			case write.MergeChange:
				text += fmt.Sprintf(" %s:%s%s merge %d bytes", ch.Family, ch.Qualifier, at, ch.Value.Len())
			case write.DeleteVersionsChange:
				text += fmt.Sprintf(" -%s:%s[%d,%d)", ch.Family, ch.Qualifier, ch.Since, ch.Until)
			case write.DeleteFamilyChange:
				text += " -" + ch.Family
			}
		}
		texts = append(texts, text)
	}
	return texts
}

// WantLines compares changes with text.
func WantLines(t *testing.T, all []*query.RowChange, want ...string) {
	t.Helper()
	if got := ChangeLines(all); !slices.Equal(got, want) {
		t.Errorf("changes\n got %s\nwant %s", strings.Join(got, "\n     "), strings.Join(want, "\n     "))
	}
}

// ChangesAreWhatWasWritten writes in all ways, and reads the changes from all places.
func ChangesAreWhatWasWritten(t *testing.T, open Opener) {
	db := open(t, ChangesSchema())
	ctx, table := context.Background(), db.Table("t")
	began := db.Now().Time()
	must(t, table.Apply(ctx, "r", mutate(set("meta", "model", cells.String("B757")), setAt("delay", "dep", 7, cells.I32(-3)))))
	must(t, db.Table("silent").Apply(ctx, "r", mutate(set("meta", "model", cells.String("silent")))))
	must(t, table.Apply(ctx, "r", mutate(func(m *write.Mutation) {
		m.Add("sum", "n", cells.I64(5))
		m.Add("seen", "n", cells.String("who"))
		m.DeleteTimestampRange("meta", "model", 3, 9)
		m.SetAt("meta", "model", 4, cells.Bool(true))
		m.DeleteCellsInFamily("delay")
	})))
	must(t, db.Apply(ctx, write.NewBatch().
		Add("t", "b", mutate(setAt("meta", "x", 1, cells.I64(1)))).
		Add("silent", "b", mutate(setAt("meta", "x", 1, cells.I64(2)))).
		Add("t", "a", mutate(setAt("meta", "x", 1, cells.I64(3)))).
		Add("other", "a", mutate(setAt("meta", "x", 1, cells.I64(4)))).
		Add("t", "a", mutate(setAt("meta", "x", 2, cells.I64(5))))))
	if _, err := table.Increment(ctx, "c", "meta", "n", 41); err != nil {
		t.Fatal(err)
	}
	m := write.NewReadModifyWrite()
	m.AppendString("meta", "log", "x")
	m.Increment("meta", "n", 1)
	if _, err := table.ApplyReadModifyWrite(ctx, "c", m); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the first finds none, the second one
		if _, err := table.CheckAndMutate(ctx, "c", read.Exists("meta", "cas"), mutate(setAt("meta", "true", 1, cells.I64(1))), mutate(setAt("meta", "cas", 1, cells.I64(2)))); err != nil {
			t.Fatal(err)
		}
	}
	must(t, db.Update(ctx, func(tx *query.Tx) error {
		must(t, tx.Apply(ctx, "silent", "x", mutate(setAt("meta", "x", 1, cells.I64(0)))))
		must(t, tx.Apply(ctx, "t", "x", mutate(setAt("meta", "x", 1, cells.I64(1)), setAt("meta", "y", 1, cells.I64(2)))))
		must(t, tx.Apply(ctx, "t", "c", mutate(func(m *write.Mutation) { m.DeleteCellsInColumn("meta", "cas") })))
		return tx.Apply(ctx, "t", "c", mutate(setAt("meta", "cas", 9, cells.I64(3))))
	}))
	errs, err := table.ApplyBulk(ctx, []string{"k1", "k2", "k3"}, []*write.Mutation{mutate(setAt("meta", "x", 1, cells.I64(1))), mutate(setAt("none", "x", 1, cells.I64(1))), mutate(setAt("meta", "x", 1, cells.I64(3)))})
	if err != nil || errs[1] == nil {
		t.Fatal(errs, err)
	}
	must(t, table.Apply(ctx, "r", mutate((*write.Mutation).DeleteRow)))
	for i := range 4 {
		must(t, table.Apply(ctx, "v", mutate(setAt("two", "q", cells.Timestamp(i), cells.I64(int64(i))))))
	}
	if _, err := db.GC(ctx, "t", query.GCOptions{}); err != nil {
		t.Fatal(err)
	}
	must(t, table.DeleteRange(ctx, read.Prefix("k")))

	all := ReadChanges(t, db, "t", query.ChangesSince(began))
	WantLines(t, all,
		"r meta:model=B757 delay:dep@7=-3",
		"r sum:n@0+=5 seen:n@0 merge 10 bytes -meta:model[3,9) meta:model@4=true -delay",
		"b meta:x@1=1",
		"a meta:x@1=3 meta:x@2=5",
		"c meta:n=41",
		"c meta:log=x meta:n=42",
		"c meta:cas@1=2",
		"c meta:true@1=1",
		"x meta:x@1=1 meta:y@1=2",
		"c -meta:cas[0,0) meta:cas@9=3",
		"k1 meta:x@1=1",
		"k3 meta:x@1=3",
		"r -delay -meta -seen -sum -two",
		"v two:q@0=0", "v two:q@1=1", "v two:q@2=2", "v two:q@3=3",
		"v collected -two:q[0,2)",
		"k1 -delay -meta -seen -sum -two", "k3 -delay -meta -seen -sum -two")
	WantLines(t, ReadChanges(t, db, "other", query.ChangesSince(began)), "a meta:x@1=4")
	if b, a := all[2], all[3]; b.Time != a.Time || b.TieBreaker >= a.TieBreaker {
		t.Errorf("one commit has the times %d and %d, and tie breakers %d and %d", b.Time, a.Time, b.TieBreaker, a.TieBreaker)
	}
	for i, c := range all {
		if i > 0 && c.Time < all[i-1].Time {
			t.Errorf("change %d has the time %d, the one before %d", i, c.Time, all[i-1].Time)
		}
		if c.Watermark > c.Time {
			t.Errorf("change %d has the time %d, which is below the watermark %d", i, c.Time, c.Watermark)
		}
	}

	t.Run("from every token", func(t *testing.T) {
		for i, c := range all {
			WantLines(t, ReadChanges(t, db, "t", query.ChangesAfter(c.Token())), ChangeLines(all[i+1:])...)
		}
	})
	t.Run("from every time", func(t *testing.T) {
		for i, c := range all {
			from := i
			for from > 0 && all[from-1].Time == c.Time {
				from--
			}
			WantLines(t, ReadChanges(t, db, "t", query.ChangesSince(c.Time.Time())), ChangeLines(all[from:])...)
			WantLines(t, ReadChanges(t, db, "t", query.ChangesSince(began), query.ChangesUntil((c.Time-1).Time())), ChangeLines(all[:from])...)
		}
	})
	t.Run("of some rows, and of parts together", func(t *testing.T) {
		in := func(start, end string) query.ChangesOption {
			return query.ChangesIn(read.RowRange{Start: start, End: end})
		}
		var parts [2][]*query.RowChange
		parts[0] = ReadChanges(t, db, "t", query.ChangesSince(began), in("", "c"))
		WantLines(t, parts[0], "b meta:x@1=1", "a meta:x@1=3 meta:x@2=5")
		parts[1] = ReadChanges(t, db, "t", query.ChangesSince(began), in("c", ""))
		if len(parts[0])+len(parts[1]) != len(all) {
			t.Errorf("the parts have %d and %d changes, the whole %d", len(parts[0]), len(parts[1]), len(all))
		}
		both := ReadChanges(t, db, "t", query.ChangesAfter(parts[1][9].Token(), parts[0][0].Token()))
		WantLines(t, both, append([]string{"a meta:x@1=3 meta:x@2=5"}, ChangeLines(parts[1][10:])...)...)
		_, err := TryChanges(db, "t", query.ChangesAfter(parts[1][0].Token()))
		if query.KindOf(err) != query.KindInvalidArgument || !strings.Contains(err.Error(), "do not fit the rows to read") {
			t.Errorf("a token of other rows: %v", err)
		}
		_, err = TryChanges(db, "t", query.ChangesAfter(parts[1][0].Token()), in("d", ""))
		if query.KindOf(err) != query.KindInvalidArgument || !strings.Contains(err.Error(), "do not fit the rows to read") {
			t.Errorf("a token of other rows: %v", err)
		}
	})
}

// ChangesOfADroppedFamilyAreLeftOut drops a family, and makes another of its name.
func ChangesOfADroppedFamilyAreLeftOut(t *testing.T, open Opener) {
	db := open(t, ChangesSchema())
	ctx, began := context.Background(), db.Now().Time()
	must(t, db.Table("t").Apply(ctx, "r", mutate(setAt("meta", "x", 1, cells.I64(1)), setAt("two", "x", 1, cells.I64(1)))))
	must(t, db.Table("t").Apply(ctx, "s", mutate(setAt("two", "x", 1, cells.I64(1)))))
	must(t, db.Table("t").Apply(ctx, "r", mutate(func(m *write.Mutation) { m.DeleteRow() })))
	must(t, db.DropFamily(ctx, "t", "two"))
	must(t, db.AddFamily(ctx, "t", schema.Family{Name: "two"}))
	must(t, db.Table("t").Apply(ctx, "r", mutate(setAt("two", "x", 2, cells.I64(1)))))
	WantLines(t, ReadChanges(t, db, "t", query.ChangesSince(began)),
		"r meta:x@1=1", "r -delay -meta -seen -sum -two", "r two:x@2=1")
}

// ChangesMakeTheSameTable applies the changes of random writes, of several
// writers at once, to an empty table.
func ChangesMakeTheSameTable(t *testing.T, open Opener) {
	db := open(t, ChangesSchema())
	ctx := context.Background()
	rapid.Check(t, func(rt *rapid.T) {
		must(t, db.SetChangeStream(ctx, "t", 0)) // faster than to log the deletes
		must(t, db.TruncateTable(ctx, "t"))
		must(t, db.TruncateTable(ctx, "copy"))
		for _, table := range []string{"t", "copy", "silent"} { // the log begins anew
			must(t, db.Table(table).Flush(ctx))
		}
		must(t, db.SetChangeStream(ctx, "t", 24*time.Hour))
		began := db.Now().Time()
		seed := rapid.Uint64().Draw(rt, "seed")
		var writing sync.WaitGroup
		for w := range 3 {
			writing.Go(func() {
				rng := rand.New(rand.NewPCG(seed, uint64(w)))
				for range 12 {
					if err := RandomWrite(ctx, db, rng); err != nil {
						t.Error(err)
					}
				}
			})
		}
		// A reader that is killed now and then continues from its last token.
		rng := rand.New(rand.NewPCG(seed, 99))
		done := make(chan struct{})
		go func() { writing.Wait(); close(done) }()
		from := query.ChangesSince(began)
		times := map[string]cells.Timestamp{}
		for ended := false; ; {
			select {
			case <-done:
				ended = true
			default:
			}
			n, stop := 0, rng.IntN(30)
			for c, err := range db.Table("t").Changes(ctx, from, query.ChangesUntil(db.Now().Time())) {
				must(t, err)
				if c.Time < times[c.Key] {
					rt.Errorf("row %s has a change of %d behind one of %d", c.Key, c.Time, times[c.Key])
				}
				times[c.Key] = c.Time
				must(t, db.Table("copy").Apply(ctx, c.Key, c.Mutation()))
				from = query.ChangesAfter(c.Token())
				if n++; n > stop {
					break
				}
			}
			if ended && n <= stop {
				break
			}
		}
		if want, got := Dump(t, db, "t"), Dump(t, db, "copy"); want != got {
			rt.Errorf("the table\n%sits copy\n%s", want, got)
		}
	})
}

// Dump is a table as text.
func Dump(t *testing.T, db *query.DB, table string) string {
	var b strings.Builder
	for row, err := range db.Table(table).ReadRows(context.Background()) {
		must(t, err)
		for c := range row.Cells() {
			fmt.Fprintf(&b, "%s %s:%s@%d=%v\n", row.Key(), c.Family, c.Qualifier, c.Timestamp, c.Value)
		}
	}
	return b.String()
}

// RandomWrite writes to few rows, so that writers meet.
func RandomWrite(ctx context.Context, db *query.DB, rng *rand.Rand) error {
	row := func() string { return string(rune('a' + rng.IntN(4))) }
	stamps := []cells.Timestamp{0, 1, 2, 3, 4, 5, 1<<62 - 1, 1 << 62, cells.MaxTimestamp - 1, cells.MaxTimestamp}
	mutation := func() *write.Mutation {
		m := write.NewMutation()
		for range 1 + rng.IntN(3) {
			q, ts := string(rune('p'+rng.IntN(3))), stamps[rng.IntN(len(stamps))]
			f := []string{"meta", "two"}[rng.IntN(2)]
			switch rng.IntN(10) {
			case 0, 1, 2:
				m.Set(f, q, cells.I64(rng.Int64()))
			case 3, 4:
				m.SetAt(f, q, ts, cells.String(fmt.Sprint(rng.Int64())))
			case 5:
				m.DeleteTimestampRange(f, q, ts, []cells.Timestamp{0, ts, ts.Until()}[rng.IntN(3)])
			case 6:
				m.DeleteCellsInFamily(f)
			case 7:
				m.Add("sum", q, cells.I64(rng.Int64N(100)))
			case 8:
				m.Add("seen", q, cells.I64(rng.Int64N(100)))
			case 9:
				m.DeleteRow()
			}
		}
		return m
	}
	switch rng.IntN(8) {
	case 0:
		b := write.NewBatch()
		for range 3 {
			b.Add("t", row(), mutation()).Add("silent", row(), mutation())
		}
		return db.Apply(ctx, b)
	case 1:
		_, err := db.Table("t").Increment(ctx, "n", "meta", "n", 1)
		return err
	case 2:
		return db.Update(ctx, func(tx *query.Tx) error {
			if err := tx.Apply(ctx, "silent", row(), mutation()); err != nil {
				return err
			}
			if err := tx.Apply(ctx, "t", row(), mutation()); err != nil {
				return err
			}
			return tx.Apply(ctx, "t", row(), mutation())
		})
	case 3:
		if rng.IntN(3) == 0 {
			return db.Table("t").Flush(ctx)
		}
		_, err := db.GC(ctx, "t", query.GCOptions{})
		return err
	}
	return db.Table("t").Apply(ctx, row(), mutation())
}
