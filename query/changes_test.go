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
	"github.com/smolwc/smolwc/query/querytest"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
)

// The tests that any store has to pass are in querytest.
var (
	changesFamilies = querytest.ChangesFamilies
	changesSchema   = querytest.ChangesSchema
	readChanges     = querytest.ReadChanges
	tryChanges      = querytest.TryChanges
	changeLines     = querytest.ChangeLines
	wantLines       = querytest.WantLines
	dump            = querytest.Dump
	randomWrite     = querytest.RandomWrite
)

func TestChangesAreWhatWasWritten(t *testing.T) { querytest.ChangesAreWhatWasWritten(t, openMemory) }

func TestChangesOfADroppedFamilyAreLeftOut(t *testing.T) {
	querytest.ChangesOfADroppedFamilyAreLeftOut(t, openMemory)
}

func TestChangesMakeTheSameTable(t *testing.T) { querytest.ChangesMakeTheSameTable(t, openMemory) }

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
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
		{"a token twice", "t", []query.ChangesOption{query.ChangesAfter(token, token)}, query.KindInvalidArgument, nil, "do not fit the rows to read"},
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
	// Pebble moves a log aside a while after its flush, and it is trimmed then.
	for wait := time.Now().Add(time.Minute); err == nil && query.DefaultEngine() == query.EnginePebble && time.Now().Before(wait); {
		time.Sleep(time.Millisecond)
		must(t, db.TrimChanges())
		_, err = tryChanges(db, "t", query.ChangesAfter(token))
	}
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

// A token from before the first change of a reading since a time continues at that
// time: it gives no older changes.
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

// TestPartsOfAStreamGoOnTogether reads random parts of the rows for some time, then
// joins neighbouring parts and continues from their last tokens, again and again. Every
// change comes once, and the changes of a row in their order.
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

// A watermark stays valid when the database is opened again with the wall clock set
// back, also if nothing was written since.
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

// TestChangesOfAnyHistoryMakeTheSameTable also has operations on many rows and changes
// of the schema, and a database on disk that is reopened now and then. It reads all
// changes at the end, in two parts.
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
		// A delete also removes the versions that the rule of its moment hides, so the
		// copy follows the rules. There are no changes for these.
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
					runtime.Gosched() // a commit comes after the rule
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

// A close that flushes does not remove logs that are kept for their changes.
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

// Now is never before the time of an acknowledged write, so a reading until Now has all
// acknowledged writes: also when the wall clock was set back, after a close, and after
// a crash, when the clock continues up to a second ahead of the wall clock.
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
