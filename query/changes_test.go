//go:build cgo

package query_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
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

var changesFamilies = []schema.Family{
	{Name: "meta"}, {Name: "delay", Type: cells.TypeI32}, {Name: "sum", Aggregate: schema.AggregateSum},
	{Name: "seen", Aggregate: schema.AggregateHLL}, {Name: "two", GC: schema.MaxVersions(2)},
}

// changesSchema has a table with a change stream, and others.
func changesSchema() *schema.Schema {
	return &schema.Schema{Tables: []schema.Table{
		{Name: "t", ChangeStream: 24 * time.Hour, Families: changesFamilies},
		{Name: "other", ChangeStream: 24 * time.Hour, Families: changesFamilies},
		{Name: "silent", Families: changesFamilies},
		{Name: "copy", Families: changesFamilies},
	}}
}

// readChanges reads until now.
func readChanges(t testing.TB, db *query.DB, table string, opts ...query.ChangesOption) (all []*query.RowChange) {
	t.Helper()
	all, err := tryChanges(db, table, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func tryChanges(db *query.DB, table string, opts ...query.ChangesOption) (all []*query.RowChange, err error) {
	opts = append([]query.ChangesOption{query.ChangesUntil(db.Now().Time())}, opts...)
	for c, err := range db.Table(table).Changes(context.Background(), opts...) {
		if err != nil {
			return all, err
		}
		all = append(all, c)
	}
	return all, nil
}

// changeLines are changes as text, without the timestamps that the clock gave.
func changeLines(all []*query.RowChange) (texts []string) {
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

func wantLines(t *testing.T, all []*query.RowChange, want ...string) {
	t.Helper()
	if got := changeLines(all); !slices.Equal(got, want) {
		t.Errorf("changes\n got %s\nwant %s", strings.Join(got, "\n     "), strings.Join(want, "\n     "))
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestChangesAreWhatWasWritten(t *testing.T) {
	db := openMemory(t, changesSchema())
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

	all := readChanges(t, db, "t", query.ChangesSince(began))
	wantLines(t, all,
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
	wantLines(t, readChanges(t, db, "other", query.ChangesSince(began)), "a meta:x@1=4")
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
			wantLines(t, readChanges(t, db, "t", query.ChangesAfter(c.Token())), changeLines(all[i+1:])...)
		}
	})
	t.Run("from every time", func(t *testing.T) {
		for i, c := range all {
			from := i
			for from > 0 && all[from-1].Time == c.Time {
				from--
			}
			wantLines(t, readChanges(t, db, "t", query.ChangesSince(c.Time.Time())), changeLines(all[from:])...)
			wantLines(t, readChanges(t, db, "t", query.ChangesSince(began), query.ChangesUntil((c.Time-1).Time())), changeLines(all[:from])...)
		}
	})
	t.Run("of some rows, and of parts together", func(t *testing.T) {
		in := func(start, end string) query.ChangesOption {
			return query.ChangesIn(read.RowRange{Start: start, End: end})
		}
		var parts [2][]*query.RowChange
		parts[0] = readChanges(t, db, "t", query.ChangesSince(began), in("", "c"))
		wantLines(t, parts[0], "b meta:x@1=1", "a meta:x@1=3 meta:x@2=5")
		parts[1] = readChanges(t, db, "t", query.ChangesSince(began), in("c", ""))
		if len(parts[0])+len(parts[1]) != len(all) {
			t.Errorf("the parts have %d and %d changes, the whole %d", len(parts[0]), len(parts[1]), len(all))
		}
		both := readChanges(t, db, "t", query.ChangesAfter(parts[1][9].Token(), parts[0][0].Token()))
		wantLines(t, both, append([]string{"a meta:x@1=3 meta:x@2=5"}, changeLines(parts[1][10:])...)...)
		_, err := tryChanges(db, "t", query.ChangesAfter(parts[1][0].Token()))
		wantError(t, err, query.KindInvalidArgument, "other rows")
		_, err = tryChanges(db, "t", query.ChangesAfter(parts[1][0].Token()), in("d", ""))
		wantError(t, err, query.KindInvalidArgument, "other rows")
	})
}

func TestChangesOfADroppedFamilyAreLeftOut(t *testing.T) {
	db := openMemory(t, changesSchema())
	ctx, began := context.Background(), db.Now().Time()
	must(t, db.Table("t").Apply(ctx, "r", mutate(setAt("meta", "x", 1, cells.I64(1)), setAt("two", "x", 1, cells.I64(1)))))
	must(t, db.Table("t").Apply(ctx, "s", mutate(setAt("two", "x", 1, cells.I64(1)))))
	must(t, db.Table("t").Apply(ctx, "r", mutate(func(m *write.Mutation) { m.DeleteRow() })))
	must(t, db.DropFamily(ctx, "t", "two"))
	must(t, db.AddFamily(ctx, "t", schema.Family{Name: "two"}))
	must(t, db.Table("t").Apply(ctx, "r", mutate(setAt("two", "x", 2, cells.I64(1)))))
	wantLines(t, readChanges(t, db, "t", query.ChangesSince(began)),
		"r meta:x@1=1", "r -delay -meta -seen -sum -two", "r two:x@2=1")
}

func TestChangesSayWhyThereAreNone(t *testing.T) {
	dir := t.TempDir()
	db := mustOpen(t, filepath.Join(dir, "db"), query.Options{Schema: changesSchema()})
	ctx, began := context.Background(), db.Now().Time()
	must(t, db.Table("t").Apply(ctx, "r", mutate(setAt("meta", "x", 1, cells.I64(1)))))
	c := readChanges(t, db, "t", query.ChangesSince(began))[0]
	token := c.Token()
	for _, test := range []struct {
		name  string
		table string
		opts  []query.ChangesOption
		kind  query.Kind
		is    error
		says  string
	}{
		{"no table", "none", nil, query.KindNotFound, nil, "unknown table"},
		{"no stream", "silent", nil, query.KindFailedPrecondition, query.ErrNoChangeStream, "change_stream"},
		{"before the stream", "t", []query.ChangesOption{query.ChangesSince(began.Add(-time.Minute))}, query.KindFailedPrecondition, query.ErrChangesGone, "from"},
		{"long ago", "t", []query.ChangesOption{query.ChangesSince(began.Add(-25 * time.Hour))}, query.KindFailedPrecondition, query.ErrChangesGone, "from"},
		{"in future", "t", []query.ChangesOption{query.ChangesSince(began.Add(time.Hour))}, query.KindInvalidArgument, nil, "in the future"},
		{"at two places", "t", []query.ChangesOption{query.ChangesSince(began), query.ChangesAfter(token)}, query.KindInvalidArgument, nil, "not both"},
		{"ends before it begins", "t", []query.ChangesOption{query.ChangesSince(began), query.ChangesUntil(began.Add(-time.Second))}, query.KindInvalidArgument, nil, "before"},
		{"no rows", "t", []query.ChangesOption{query.ChangesIn(read.RowRange{Start: "b", End: "b"})}, query.KindInvalidArgument, nil, "no rows"},
		{"another table's token", "other", []query.ChangesOption{query.ChangesAfter(token)}, query.KindFailedPrecondition, query.ErrChangesGone, "ended"},
		{"no token", "t", []query.ChangesOption{query.ChangesAfter("x")}, query.KindInvalidArgument, nil, "no token"},
		{"a damaged token", "t", []query.ChangesOption{query.ChangesAfter(token[:10] + "AAA" + token[13:])}, query.KindInvalidArgument, nil, "checksum"},
		{"a token twice", "t", []query.ChangesOption{query.ChangesAfter(token, token)}, query.KindInvalidArgument, nil, "other rows"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := tryChanges(db, test.table, test.opts...)
			wantError(t, err, test.kind, test.says)
			if test.is != nil && !errors.Is(err, test.is) {
				t.Errorf("error %v is not %v", err, test.is)
			}
		})
	}
	_, err := db.Table("t").BulkLoad(ctx, query.BulkOptions{})
	wantError(t, err, query.KindFailedPrecondition, "change stream", "in batches")

	t.Run("ended", func(t *testing.T) {
		must(t, db.SetChangeStream(ctx, "other", 0))
		_, err := tryChanges(db, "other")
		wantError(t, err, query.KindFailedPrecondition, "no change stream")
		reading := make(chan error)
		go func() {
			for _, err := range db.Table("t").Changes(ctx) {
				reading <- err
			}
		}()
		time.Sleep(5 * time.Millisecond)
		must(t, db.SetChangeStream(ctx, "t", 0))
		must(t, db.Table("t").Apply(ctx, "r", mutate(setAt("meta", "x", 2, cells.I64(1)))))
		must(t, db.SetChangeStream(ctx, "t", 48*time.Hour))
		if err := <-reading; !errors.Is(err, query.ErrNoChangeStream) {
			t.Errorf("a reading of a stream that ends: %v", err)
		}
		_, err = tryChanges(db, "t", query.ChangesAfter(token))
		if !errors.Is(err, query.ErrChangesGone) {
			t.Errorf("a token of a stream that has ended: %v", err)
		}
		must(t, db.SetChangeStream(ctx, "t", 24*time.Hour)) // goes on
	})
	again := db.Now().Time()
	must(t, db.Table("t").Apply(ctx, "r", mutate(setAt("meta", "x", 3, cells.I64(1)))))
	token = readChanges(t, db, "t", query.ChangesSince(again))[0].Token()
	must(t, db.Table("t").Apply(ctx, "r", mutate(setAt("meta", "x", 4, cells.I64(1)))))

	t.Run("a copy of the database", func(t *testing.T) {
		must(t, db.Checkpoint(ctx, filepath.Join(dir, "copy")))
		other := mustOpen(t, filepath.Join(dir, "copy"), query.Options{})
		defer other.Close()
		_, err := tryChanges(other, "t", query.ChangesAfter(token))
		if !errors.Is(err, query.ErrChangesGone) {
			t.Errorf("a token of the original: %v", err)
		}
		_, err = tryChanges(other, "t", query.ChangesSince(again))
		if !errors.Is(err, query.ErrChangesGone) {
			t.Errorf("a time before the copy: %v", err)
		}
		at := other.Now().Time()
		must(t, other.Table("t").Apply(ctx, "r", mutate(setAt("meta", "x", 5, cells.I64(1)))))
		// After what may have been a crash the clock may be ahead of the time.
		wantLines(t, readChanges(t, other, "t", query.ChangesSince(at), query.ChangesUntil(other.Now().Time().Add(2*time.Second))), "r meta:x@5=1")
	})
	t.Run("read-only", func(t *testing.T) {
		other, err := query.OpenReadOnly(filepath.Join(dir, "db"), query.Options{})
		must(t, err)
		defer other.Close()
		_, err = tryChanges(other, "t")
		wantError(t, err, query.KindFailedPrecondition, "read-only")
	})
	t.Run("over a reopening", func(t *testing.T) {
		must(t, db.Close())
		db = mustOpen(t, filepath.Join(dir, "db"), query.Options{})
		defer db.Close()
		must(t, db.Table("t").Apply(ctx, "r", mutate(setAt("meta", "x", 5, cells.I64(1)))))
		wantLines(t, readChanges(t, db, "t", query.ChangesAfter(token)), "r meta:x@4=1", "r meta:x@5=1")
	})
}

// TestChangesAreKeptForTheirTime moves the wall clock.
func TestChangesAreKeptForTheirTime(t *testing.T) {
	var mu sync.Mutex
	shift := time.Duration(0)
	clock := func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		return time.Now().Add(shift)
	}
	db, err := query.OpenInMemory(query.Options{Schema: changesSchema(), Clock: clock})
	must(t, err)
	defer db.Close()
	ctx, began := context.Background(), db.Now().Time()
	write := func(i int) {
		t.Helper()
		must(t, db.Table("t").Apply(ctx, "r", mutate(setAt("meta", "x", cells.Timestamp(i), cells.I64(1)))))
		must(t, db.Table("t").Flush(ctx))
	}
	write(1)
	write(2)
	token := readChanges(t, db, "t", query.ChangesSince(began))[0].Token()
	mu.Lock()
	shift = 23 * time.Hour
	mu.Unlock()
	must(t, db.TrimChanges())
	wantLines(t, readChanges(t, db, "t", query.ChangesSince(began)), "r meta:x@1=1", "r meta:x@2=1")
	mu.Lock()
	shift = 25 * time.Hour
	mu.Unlock()
	if _, err := tryChanges(db, "t", query.ChangesSince(began)); !errors.Is(err, query.ErrChangesGone) {
		t.Errorf("changes of 25 hours ago: %v", err)
	}
	must(t, db.TrimChanges())
	later := db.Now().Time()
	write(3)
	wantLines(t, readChanges(t, db, "t", query.ChangesSince(later)), "r meta:x@3=1")
	_, err = tryChanges(db, "t", query.ChangesAfter(token))
	wantError(t, err, query.KindFailedPrecondition, "not kept")
	if !errors.Is(err, query.ErrChangesGone) {
		t.Errorf("a token of 25 hours ago: %v", err)
	}
}

func TestHeartbeatsSayHowFarAReadingIs(t *testing.T) {
	db := openMemory(t, changesSchema())
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var token string
	var watermark cells.Timestamp
	beats := 0
	for c, err := range db.Table("t").Changes(ctx, query.Heartbeats(time.Millisecond)) {
		if err != nil {
			if query.KindOf(err) != query.KindCanceled {
				t.Error(err)
			}
			break
		}
		if !c.Heartbeat() {
			t.Fatalf("a change: %v", changeLines([]*query.RowChange{c}))
		}
		if c.Watermark < watermark {
			t.Errorf("the watermark falls from %d to %d", watermark, c.Watermark)
		}
		token, watermark = c.Token(), c.Watermark
		if beats++; beats == 5 {
			cancel()
		}
		must(t, db.Table("silent").Apply(context.Background(), "r", mutate(setAt("meta", "x", 1, cells.I64(1)))))
	}
	if beats != 5 {
		t.Errorf("%d heartbeats before the end", beats)
	}
	must(t, db.Table("t").Apply(context.Background(), "r", mutate(setAt("meta", "x", 1, cells.I64(1)))))
	wantLines(t, readChanges(t, db, "t", query.ChangesAfter(token)), "r meta:x@1=1")
}

func TestAReadingOfChangesEndsWithItsDatabase(t *testing.T) {
	db := openMemory(t, changesSchema())
	failed := make(chan error)
	go func() {
		for _, err := range db.Table("t").Changes(context.Background()) {
			failed <- err
		}
	}()
	time.Sleep(5 * time.Millisecond)
	must(t, db.Close())
	if err := <-failed; query.KindOf(err) != query.KindUnavailable {
		t.Errorf("error %v", err)
	}
}

// TestChangesMakeTheSameTable applies the changes of random writes, of several
// writers at once, to an empty table.
func TestChangesMakeTheSameTable(t *testing.T) {
	db := openMemory(t, changesSchema())
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
					if err := randomWrite(ctx, db, rng); err != nil {
						t.Error(err)
					}
				}
			})
		}
		// A reader that is killed now and then goes on from its last token.
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
		if want, got := dump(t, db, "t"), dump(t, db, "copy"); want != got {
			rt.Errorf("the table\n%sits copy\n%s", want, got)
		}
	})
}

func dump(t *testing.T, db *query.DB, table string) string {
	var b strings.Builder
	for row, err := range db.Table(table).ReadRows(context.Background()) {
		must(t, err)
		for c := range row.Cells() {
			fmt.Fprintf(&b, "%s %s:%s@%d=%v\n", row.Key(), c.Family, c.Qualifier, c.Timestamp, c.Value)
		}
	}
	return b.String()
}

// randomWrite writes to few rows, so that writers meet.
func randomWrite(ctx context.Context, db *query.DB, rng *rand.Rand) error {
	row := func() string { return string(rune('a' + rng.IntN(4))) }
	stamps := append([]cells.Timestamp{0, 1, 2, 3, 4, 5}, lateTimes...)
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

// A token from before the first change of a reading that begins at a time goes on
// there: what was made before that time was not asked for.
func TestATokenFromTheBeginningGivesNothingOlder(t *testing.T) {
	db := openMemory(t, changesSchema())
	ctx, table := context.Background(), db.Table("t")
	put := func(rows ...string) {
		t.Helper()
		b := write.NewBatch()
		for _, row := range rows {
			b.Add("t", row, mutate(setAt("meta", "x", 1, cells.I64(1))))
		}
		must(t, db.Apply(ctx, b))
	}
	put("old")
	put("a", "z")
	time.Sleep(time.Millisecond)
	since := db.Now().Time()
	var tokens []string
	for _, rows := range []read.RowRange{{End: "m"}, {Start: "m"}, {}} {
		for c, err := range table.Changes(ctx, query.ChangesIn(rows), query.ChangesSince(since), query.Heartbeats(time.Minute)) {
			must(t, err)
			tokens = append(tokens, c.Token())
			break
		}
	}
	put("b")
	wantLines(t, readChanges(t, db, "t", query.ChangesAfter(tokens[2])), "b meta:x@1=1")
	wantLines(t, readChanges(t, db, "t", query.ChangesAfter(tokens[:2]...)), "b meta:x@1=1")
	for c, err := range table.Changes(ctx, query.ChangesAfter(tokens[:2]...), query.Heartbeats(time.Minute)) {
		must(t, err)
		wantLines(t, readChanges(t, db, "t", query.ChangesAfter(c.Token())), "b meta:x@1=1")
		break
	}
}

// TestPartsOfAStreamGoOnTogether reads random parts of the rows, each as far as it
// comes, goes on with neighbours together, and again, from the last token each time:
// every change comes once, and those of a row in their order.
func TestPartsOfAStreamGoOnTogether(t *testing.T) {
	db := openMemory(t, changesSchema())
	ctx := context.Background()
	rapid.Check(t, func(rt *rapid.T) {
		must(t, db.SetChangeStream(ctx, "t", 0))
		must(t, db.Table("silent").Flush(ctx))
		must(t, db.SetChangeStream(ctx, "t", 24*time.Hour))
		n := 0
		write := func(times int) {
			for range times {
				b := write.NewBatch()
				for _, row := range rapid.SliceOfN(rapid.SampledFrom([]string{"a", "c", "e", "g"}), 1, 3).Draw(rt, "rows") {
					n++
					b.Add("t", row, mutate(setAt("meta", "x", cells.Timestamp(n), cells.I64(1))))
				}
				must(t, db.Apply(ctx, b))
			}
		}
		write(rapid.IntRange(0, 4).Draw(rt, "before")) // is not asked for
		unwanted := n
		time.Sleep(100 * time.Microsecond)
		since := db.Now().Time()
		write(rapid.IntRange(1, 8).Draw(rt, "wanted"))

		type part struct {
			rows   read.RowRange
			tokens []string // none is from since on
		}
		var parts []part
		last := ""
		for _, end := range append(rapid.SampledFrom([][]string{{}, {"d"}, {"b", "f"}, {"b", "d", "f"}}).Draw(rt, "ends"), "") {
			parts = append(parts, part{rows: read.RowRange{Start: last, End: end}})
			last = end
		}
		seen := map[cells.Timestamp]int{}
		newest := map[string]cells.Timestamp{}
		read := func(p *part, most int) {
			opts := []query.ChangesOption{query.ChangesIn(p.rows), query.ChangesUntil(db.Now().Time().Add(time.Millisecond))}
			if p.tokens == nil {
				opts = append(opts, query.ChangesSince(since))
			} else {
				opts = append(opts, query.ChangesAfter(p.tokens...))
			}
			if rapid.Bool().Draw(rt, "heartbeats") {
				opts = append(opts, query.Heartbeats(time.Minute)) // one at once
			}
			for c, err := range db.Table("t").Changes(ctx, opts...) {
				must(t, err)
				for _, ch := range c.Changes {
					seen[ch.Since]++
					if ch.Since <= newest[c.Key] {
						rt.Errorf("row %s has change %d behind %d", c.Key, ch.Since, newest[c.Key])
					}
					newest[c.Key] = ch.Since
				}
				p.tokens = []string{c.Token()}
				if most--; most <= 0 {
					break
				}
			}
		}
		for range rapid.IntRange(1, 6).Draw(rt, "steps") {
			i := rapid.IntRange(0, len(parts)-1).Draw(rt, "part")
			read(&parts[i], rapid.IntRange(1, 4).Draw(rt, "most"))
			write(rapid.IntRange(0, 1).Draw(rt, "more"))
			if i > 0 && parts[i].tokens != nil && parts[i-1].tokens != nil && rapid.Bool().Draw(rt, "together") {
				parts[i-1].rows.End = parts[i].rows.End
				parts[i-1].tokens = append(parts[i-1].tokens, parts[i].tokens...)
				parts = slices.Delete(parts, i, i+1)
			}
		}
		for i := range parts {
			read(&parts[i], 1000)
		}
		for i := 1; i <= n; i++ {
			want := 1
			if i <= unwanted {
				want = 0
			}
			if got := seen[cells.Timestamp(i)]; got != want {
				rt.Errorf("change %d of %d came %d times, want %d", i, n, got, want)
			}
		}
	})
}

// A watermark that was told holds over a reopening for which the wall clock was set
// back, also when nothing was written since.
func TestAWatermarkHoldsOverAReopening(t *testing.T) {
	dir, ctx := filepath.Join(t.TempDir(), "db"), context.Background()
	shifted := func(by time.Duration) query.Options {
		return query.Options{Schema: changesSchema(), Clock: func() time.Time { return time.Now().Add(by) }}
	}
	db := mustOpen(t, dir, shifted(0))
	must(t, db.Table("t").Apply(ctx, "r", mutate(setAt("meta", "x", 1, cells.I64(1)))))
	must(t, db.Close())
	db = mustOpen(t, dir, shifted(time.Hour))
	var token string
	var watermark cells.Timestamp
	beats := 0
	for c, err := range db.Table("t").Changes(ctx, query.Heartbeats(time.Millisecond)) {
		must(t, err)
		if token, watermark = c.Token(), c.Watermark; beats == 2 {
			break
		}
		beats++
	}
	must(t, db.Close())
	db = mustOpen(t, dir, shifted(0))
	defer db.Close()
	must(t, db.Table("t").Apply(ctx, "r", mutate(setAt("meta", "x", 2, cells.I64(1)))))
	for c, err := range db.Table("t").Changes(ctx, query.ChangesAfter(token)) {
		must(t, err)
		if c.Time < watermark || c.Watermark > c.Time {
			t.Errorf("a change of %d, where the watermark was %d, and is %d", c.Time, watermark, c.Watermark)
		}
		break
	}
}

// TestChangesOfAnyHistoryMakeTheSameTable is the same with what goes over many rows and
// with changes of the schema, on a disk, reopened now and then; it reads at the end, from
// the beginning, in two parts.
func TestChangesOfAnyHistoryMakeTheSameTable(t *testing.T) {
	ctx := context.Background()
	dir := filepath.Join(t.TempDir(), "db")
	opts := query.Options{Schema: changesSchema(), Durability: query.DurabilityAsync, GCInterval: -1, Memory: 16 << 20}
	db := mustOpen(t, dir, opts)
	defer func() { must(t, db.Close()) }()
	rapid.Check(t, func(rt *rapid.T) {
		must(t, db.SetChangeStream(ctx, "t", 0))
		must(t, db.TruncateTable(ctx, "t"))
		must(t, db.TruncateTable(ctx, "copy"))
		must(t, db.SetChangeStream(ctx, "t", 24*time.Hour))
		began := db.Now().Time()
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 1))
		// A delete also removes the versions that the rule of its moment hides, so the copy
		// follows the rules. No change tells them.
		type rule struct {
			since    cells.Timestamp // exclusive
			versions int
		}
		rules := []rule{{0, 2}}
		for range rapid.IntRange(1, 40).Draw(rt, "steps") {
			switch rng.IntN(14) {
			case 0:
				must(t, db.Table("t").DeleteRange(ctx, read.Range("b", "d")))
			case 1:
				must(t, db.TruncateTable(ctx, "t"))
			case 2, 3:
				f := changesFamilies[rng.IntN(len(changesFamilies))]
				must(t, db.DropFamily(ctx, "t", f.Name))
				must(t, db.AddFamily(ctx, "t", f))
			case 4:
				if rng.IntN(4) == 0 {
					must(t, db.Close())
					db = mustOpen(t, dir, opts)
				}
			case 5:
				n := 1 + rng.IntN(3)
				must(t, db.SetFamily(ctx, "t", schema.Family{Name: "two", GC: schema.MaxVersions(n)}))
				rules = append(rules, rule{db.Now(), n})
				for db.Now() == rules[len(rules)-1].since {
					runtime.Gosched() // a commit comes behind the rule
				}
			default:
				must(t, randomWrite(ctx, db, rng))
			}
		}
		must(t, db.SetFamily(ctx, "t", schema.Family{Name: "two", GC: schema.MaxVersions(1)}))
		until := query.ChangesUntil(db.Now().Time().Add(5 * time.Millisecond))
		n := 0
		for _, rows := range []read.RowRange{{End: "c"}, {Start: "c"}} {
			last, next := map[string]cells.Timestamp{}, 0
			for c, err := range db.Table("t").Changes(ctx, query.ChangesSince(began), query.ChangesIn(rows), until) {
				must(t, err)
				if c.Time < last[c.Key] || c.Watermark > c.Time {
					rt.Errorf("row %s has a change of %d behind one of %d, with the watermark %d", c.Key, c.Time, last[c.Key], c.Watermark)
				}
				last[c.Key] = c.Time
				for ; next < len(rules) && rules[next].since < c.Time; next++ {
					must(t, db.SetFamily(ctx, "copy", schema.Family{Name: "two", GC: schema.MaxVersions(rules[next].versions)}))
				}
				must(t, db.Table("copy").Apply(ctx, c.Key, c.Mutation()))
				n++
			}
		}
		must(t, db.SetFamily(ctx, "copy", schema.Family{Name: "two", GC: schema.MaxVersions(1)}))
		if want, got := dump(t, db, "t"), dump(t, db, "copy"); want != got {
			rt.Errorf("%d changes, the table\n%sits copy\n%s", n, want, got)
		}
		for _, table := range []string{"t", "copy"} {
			must(t, db.SetFamily(ctx, table, schema.Family{Name: "two", GC: schema.MaxVersions(2)}))
		}
	})
}

// A close that flushes takes no log away that is kept for its changes.
func TestChangesStayBehindAClose(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "db")
	open := func() *query.DB {
		t.Helper()
		db, err := query.Open(dir, query.Options{Schema: changesSchema(), Durability: query.DurabilityAsync})
		must(t, err)
		return db
	}
	db, began := open(), time.Now()
	for i := range 20 {
		m := write.NewMutation()
		m.Set("meta", "text", cells.String(strings.Repeat("v", 100<<10)))
		must(t, db.Table("t").Apply(t.Context(), fmt.Sprintf("r%02d", i), m))
	}
	must(t, db.Close())
	logs, err := filepath.Glob(filepath.Join(dir, "*.log"))
	must(t, err)
	for _, log := range logs {
		info, err := os.Stat(log)
		must(t, err)
		if info.Size() > 1<<20 {
			t.Errorf("%s has %d bytes after the close", log, info.Size())
		}
	}
	db = open()
	defer db.Close()
	if all := readChanges(t, db, "t", query.ChangesSince(began)); len(all) != 20 || all[19].Key != "r19" {
		t.Errorf("%d changes are left: %.200v", len(all), changeLines(all))
	}
}

// Now is never before what was acknowledged, so a reading until then has all of
// it: when the wall clock was set back, after a close, and after a crash, when the
// clock goes on up to a second ahead of the wall.
func TestAReadingUntilNowHasEverythingAcknowledged(t *testing.T) {
	began := time.UnixMicro(1_000_000_000_000)
	wall := began
	clock := func() time.Time { return wall }
	dir := filepath.Join(t.TempDir(), "db")
	db := mustOpen(t, dir, query.Options{Schema: changesSchema(), Clock: clock})
	written := 0
	check := func(db *query.DB, when string) {
		t.Helper()
		for _, table := range []string{"t", "other"} {
			m := write.NewMutation()
			m.Set("meta", "q", cells.I64(1))
			must(t, db.Table(table).Apply(t.Context(), fmt.Sprint(written), m))
			row, err := db.Table(table).ReadRow(t.Context(), fmt.Sprint(written))
			must(t, err)
			if c, _ := row.Cell("meta", "q"); c.Timestamp > db.Now() {
				t.Errorf("%s: a cell of table %s has time %d, and it is %d", when, table, c.Timestamp, db.Now())
			}
		}
		written++
		for _, table := range []string{"t", "other"} {
			if got := readChanges(t, db, table, query.ChangesSince(began)); len(got) != written {
				t.Errorf("%s: read %d changes of table %s, want %d", when, len(got), table, written)
			}
		}
	}
	check(db, "at first")
	wall = wall.Add(-time.Millisecond)
	check(db, "after the wall clock was set back")
	crashed := filepath.Join(t.TempDir(), "db")
	must(t, os.CopyFS(crashed, os.DirFS(dir)))
	must(t, db.Close())
	before := written
	db = mustOpen(t, dir, query.Options{Clock: clock})
	check(db, "after a close")
	reader, err := query.OpenReadOnly(dir, query.Options{Clock: clock})
	must(t, err)
	defer reader.Close()
	check(db, "beside a reader")
	must(t, reader.Refresh(t.Context()))
	if reader.Now() < db.Now() {
		t.Errorf("a reader's time is %d, that of the last write %d", reader.Now(), db.Now())
	}
	written = before
	check(mustOpen(t, crashed, query.Options{Clock: clock}), "after a crash")
}
