package moments_test

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/smolwc/smolwc/archive"
	"github.com/smolwc/smolwc/archive/moments"
	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
	"github.com/smolwc/smolwc/standby"
)

var seeded = flag.Uint64("seed", 0, "the random history; 0 is another one each time")

var histories = flag.Int("histories", 2, "random histories whose moments are all restored")

// A clock goes on by a millisecond each time it is read. It can be set back.
type clock struct{ micros atomic.Int64 }

func newClock() *clock {
	c := new(clock)
	c.micros.Store(time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC).UnixMicro())
	return c
}

func (c *clock) now() time.Time { return time.UnixMicro(c.micros.Add(1000)) }

func testSchema() *schema.Schema {
	return &schema.Schema{Tables: []schema.Table{
		{Name: "fleet", Families: []schema.Family{{Name: "meta"}, {Name: "log", GC: schema.MaxAge(time.Minute)}, {Name: "two", GC: schema.MaxVersions(2)}}},
		{Name: "airport", Families: []schema.Family{{Name: "landings", Aggregate: schema.AggregateSum}}},
	}}
}

// A source is a database whose log is sent.
type source struct {
	t       testing.TB
	dir     string
	target  string
	clock   *clock
	now     func() time.Time // clock's, unless a test sets another one
	back    bool             // the clock has stepped back: only positions tell moments apart
	logger  *slog.Logger
	semi    standby.SemiSync
	kept    int64 // of the log, for standbys and the archive
	o       moments.Options
	db      *query.DB
	primary *standby.Primary
	store   cf.Shipper
	sender  *moments.Sender
	stop    func()
	ended   chan error
}

func newSource(t testing.TB) *source {
	s := &source{t: t, dir: filepath.Join(t.TempDir(), "db"), target: filepath.Join(t.TempDir(), "archive"), clock: newClock(), o: moments.Options{Every: time.Millisecond, BaseEvery: 1000 * time.Hour}}
	s.now = s.clock.now
	s.logger = slog.New(slog.NewTextHandler(t.Output(), nil))
	s.open()
	s.send()
	t.Cleanup(s.close)
	return s
}

func (s *source) open() {
	s.t.Helper()
	s.primary = standby.NewPrimary(standby.PrimaryOptions{LogBytes: s.kept, SemiSync: s.semi})
	var err error
	s.db, err = query.Open(s.dir, query.Options{Memory: 16 << 20, Schema: testSchema(), Standbys: s.primary.Hook(), GCInterval: -1, Clock: s.now})
	if err != nil {
		s.t.Fatal(err)
	}
	if s.store, err = s.primary.KeepLog(context.Background()); err != nil {
		s.t.Fatal(err)
	}
}

func (s *source) send() {
	s.t.Helper()
	s.o.Logger = s.logger
	s.o.Sent, s.o.Lost, s.o.Waiting = s.primary.Acknowledger()
	var err error
	if s.sender, err = moments.NewSender(s.db, s.primary, s.target, s.o); err != nil {
		s.t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	s.stop, s.ended = stop, make(chan error, 1)
	go func() { s.ended <- s.sender.Run(ctx) }()
}

// quiet stops the sender.
func (s *source) quiet() {
	s.t.Helper()
	if s.stop == nil {
		return
	}
	s.stop()
	s.stop = nil
	if err := <-s.ended; err != nil {
		s.t.Error(err)
	}
}

func (s *source) close() {
	s.quiet()
	if s.db == nil {
		return
	}
	s.primary.Service().Stop()
	if err := s.db.Close(); err != nil {
		s.t.Error(err)
	}
	s.db = nil
}

// sent waits until everything is in the archive, with a base.
func (s *source) sent() {
	s.t.Helper()
	at := uint64(s.store.Latest())
	await(s.t, "the log to be sent", func() (string, bool) {
		st := s.sender.Status()
		return fmt.Sprintf("%+v, %d", st, at), st.Position >= at && !st.Earliest.IsZero()
	})
}

func await(t testing.TB, what string, ok func() (string, bool)) {
	t.Helper()
	last := ""
	for began := time.Now(); time.Since(began) < time.Minute; time.Sleep(2 * time.Millisecond) {
		now, done := ok()
		if done {
			return
		}
		last = now
	}
	t.Fatalf("waiting for %s: %s", what, last)
}

func (s *source) archive() *archive.Archive {
	s.t.Helper()
	a, err := archive.Open(context.Background(), s.target)
	if err != nil {
		s.t.Fatal(err)
	}
	return a
}

// A state is a database at a moment.
type state struct {
	what     string
	position uint64
	at       time.Time
	content  string
}

func (s *source) state(what string) state {
	s.t.Helper()
	at := s.now()
	return state{what, uint64(s.store.Latest()), at, dump(s.t, s.db)}
}

// dump is what readers see.
func dump(t testing.TB, db *query.DB) string {
	t.Helper()
	var all []string
	for _, table := range db.Schema().Tables {
		all = append(all, fmt.Sprintf("table %s %v", table.Name, table.Families))
		for row, err := range db.Table(table.Name).ReadRows(context.Background()) {
			if err != nil {
				t.Fatal(err)
			}
			for c := range row.Cells() {
				all = append(all, fmt.Sprintf("%s %q %s:%q @%d %q", table.Name, row.Key(), c.Family, c.Qualifier, c.Timestamp, c.Value))
			}
		}
	}
	return strings.Join(all, "\n")
}

// restored is what readers of a restored moment see, by the clock of then.
func restored(t testing.TB, a *archive.Archive, m moments.Moment, at time.Time) (string, moments.Restored) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "restored")
	res, err := moments.Restore(context.Background(), a, m, dir, moments.RestoreOptions{})
	if err != nil {
		t.Fatalf("%v: %v", m, err)
	}
	db, err := query.Open(dir, query.Options{ReadOnly: true, Clock: func() time.Time { return at }})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	defer os.RemoveAll(dir)
	return dump(t, db), res
}

func (s *source) compare(states []state) {
	s.t.Helper()
	a := s.archive()
	for _, want := range states {
		m := moments.Moment{Time: want.at}
		if s.back {
			m = moments.Moment{Position: want.position}
		}
		got, res := restored(s.t, a, m, want.at)
		if want.at == states[len(states)-1].at {
			byPosition, _ := restored(s.t, a, moments.Moment{Position: want.position}, want.at)
			if byPosition != want.content {
				s.t.Errorf("position %d is another moment", want.position)
			}
		}
		if got != want.content {
			s.t.Errorf("after %s, at %v, position %d: restored position %d (%v to %v):\n%s\nwant:\n%s", want.what, want.at, want.position, res.Position, res.Time, res.Until, got, want.content)
		}
	}
}

func load(t testing.TB, db *query.DB, table, family string, rows map[string]int64) {
	t.Helper()
	l, err := db.Table(table).BulkLoad(context.Background(), query.BulkOptions{Overlap: true})
	if err != nil {
		t.Fatal(err)
	}
	for key, v := range rows {
		m := write.NewMutation()
		m.SetAt(family, "loaded", cells.Timestamp(v), cells.I64(v))
		if err := l.Apply(key, m); err != nil {
			t.Fatal(err)
		}
	}
	defer l.Close()
	if _, err := l.Commit(context.Background()); err != nil {
		t.Fatal(err)
	}
}

// step makes a random change.
func (s *source) step(r *rand.Rand) string {
	s.t.Helper()
	ctx, key := context.Background(), fmt.Sprintf("plane%02d", r.IntN(12))
	has := func(table, family string) bool {
		t, ok := s.db.LookupTable(table)
		for _, f := range t.Families {
			ok = ok && true
			if f.Name == family {
				return true
			}
		}
		return false
	}
	var err error
	what := ""
	switch n := r.IntN(24); {
	case n < 8:
		m := write.NewMutation()
		m.Set("meta", fmt.Sprint("q", r.IntN(3)), cells.I64(r.Int64N(1000)))
		m.Set("log", "seen", cells.String(key))
		m.Set("two", "n", cells.I64(r.Int64N(100)))
		what, err = "a set of "+key, s.db.Table("fleet").Apply(ctx, key, m)
	case n == 8:
		m := write.NewMutation()
		m.DeleteRow()
		what, err = "a delete of "+key, s.db.Table("fleet").Apply(ctx, key, m)
	case n == 9:
		what, err = "a delete of rows", s.db.Table("fleet").DeleteRange(ctx, read.Range(key, key+"~"))
	case n == 10:
		m := write.NewMutation()
		m.Add("landings", "", cells.I64(1))
		what, err = "an add", s.db.Table("airport").Apply(ctx, "KEF", m)
	case n == 11 && !has("fleet", "extra"):
		what, err = "a new family", s.db.AddFamily(ctx, "fleet", schema.Family{Name: "extra"})
	case n == 11 || n == 12 && has("fleet", "extra"):
		m := write.NewMutation()
		m.Set("extra", "x", cells.I64(r.Int64N(1000)))
		what, err = "a set in extra", s.db.Table("fleet").Apply(ctx, key, m)
	case n == 13 && has("fleet", "extra"):
		what, err = "a dropped family", s.db.DropFamily(ctx, "fleet", "extra")
	case n == 14 || n == 15:
		rows := map[string]int64{}
		for range 1 + r.IntN(5) {
			rows[fmt.Sprintf("plane%02d", r.IntN(12))] = 1 + r.Int64N(1e6)
		}
		load(s.t, s.db, "fleet", "meta", rows)
		what = "a load"
	case n == 16 && r.IntN(8) == 0:
		s.clock.micros.Add(-int64(r.IntN(5)) * 1e6)
		what, s.back = "a step back of the clock", true
	case n == 16:
		s.clock.micros.Add(int64(r.IntN(40)) * 1e6)
		what = "time"
	case n == 19:
		_, err = moments.Merge(ctx, s.archive(), s.now().Add(48*time.Hour))
		what = "a merge"
	case n == 17:
		err = s.db.Table("fleet").Flush(ctx)
		if err == nil {
			err = s.db.Table("fleet").Compact(ctx)
		}
		what = "a compaction"
	case n == 21:
		what, err = "a new rule", s.db.SetFamily(ctx, "fleet", schema.Family{Name: "two", GC: schema.MaxVersions(1 + r.IntN(3))})
	case n == 22:
		m := write.NewMutation()
		m.DeleteCellsInColumn("two", "n")
		m.DeleteTimestampRange("meta", "q0", 0, s.db.Now())
		m.Set("two", "n", cells.I64(r.Int64N(100)))
		what, err = "deletes of columns", s.db.Table("fleet").Apply(ctx, key, m)
	case n == 23:
		_, err = s.db.GC(ctx, "fleet", query.GCOptions{})
		for _, kind := range []schema.ChangeKind{schema.DeleteTable, schema.UndeleteTable} {
			err = cmp.Or(err, s.db.ApplyPlan(ctx, schema.Plan{Changes: []schema.Change{{Kind: kind, Table: "airport"}}}))
		}
		what = "a collection, and a table that was deleted and is back"
	case n == 18:
		s.quiet()
		s.send()
		what = "a new sender"
	default:
		s.close()
		s.open()
		s.send()
		what = "a new process"
	}
	if err != nil {
		s.t.Fatalf("%s: %v", what, err)
	}
	return what
}

// Whatever happens to a database, each moment after the first backup can be restored: readers see what they saw then.
func TestEveryMomentIsRestored(t *testing.T) {
	for range *histories {
		seed := cmp.Or(*seeded, rand.Uint64())
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(seed, 0))
			s := newSource(t)
			s.sent()
			states := []state{s.state("the beginning")}
			for range 25 {
				what := s.step(r)
				states = append(states, s.state(what))
			}
			s.sent()
			s.quiet()
			s.compare(states)
			latest, _ := restored(t, s.archive(), moments.Moment{}, states[len(states)-1].at)
			if want := states[len(states)-1].content; latest != want {
				t.Errorf("the latest moment:\n%s\nwant:\n%s", latest, want)
			}
			_, err := moments.Restore(t.Context(), s.archive(), moments.Moment{Time: states[0].at.Add(-time.Hour)}, filepath.Join(t.TempDir(), "x"), moments.RestoreOptions{})
			if !errors.Is(err, moments.ErrNoMoment) {
				t.Errorf("an hour before: %v", err)
			}
		})
	}
}

// A restore reads the log backward under the rule at its beginning. Where a later rule keeps more, it has what that keeps.
func TestARuleKeepsMoreLater(t *testing.T) {
	t.Parallel()
	s := newSource(t)
	ctx := t.Context()
	rule := func(n int) {
		t.Helper()
		if err := s.db.SetFamily(ctx, "fleet", schema.Family{Name: "two", GC: schema.MaxVersions(n)}); err != nil {
			t.Fatal(err)
		}
	}
	put := func() {
		t.Helper()
		for i := range 20 {
			m := write.NewMutation()
			m.Set("two", "n", cells.I64(int64(i)))
			if err := s.db.Table("fleet").Apply(ctx, fmt.Sprint("plane", i%3), m); err != nil {
				t.Fatal(err)
			}
		}
	}
	s.sent()
	rule(1)
	s.quiet()
	if err := os.RemoveAll(s.target); err != nil { // the backup with this rule is the first one
		t.Fatal(err)
	}
	s.send()
	s.sent()
	put()
	states := []state{s.state("one version")}
	rule(3)
	put()
	states = append(states, s.state("three versions"))
	rule(2)
	states = append(states, s.state("two versions"))
	s.sent()
	s.quiet()
	s.compare(states)
}

// At any time a restore has each write that had returned by then, and none that began later, however many are under way.
func TestWritesUnderWayAreBeforeOrAfter(t *testing.T) {
	t.Parallel()
	s := newSource(t)
	s.close()
	s.now = time.Now
	s.o.BaseEvery = time.Second // backups are made meanwhile
	s.open()
	s.send()
	s.sent()
	const writers = 4
	type times struct{ began, ended time.Time }
	var all [writers][]times
	var stop atomic.Bool
	from := time.Now()
	var running sync.WaitGroup
	for w := range writers {
		running.Go(func() {
			for i := 0; !stop.Load(); i++ {
				m := write.NewMutation()
				m.SetAt("meta", "n", 1, cells.I64(int64(i+1)))
				x := times{began: time.Now()}
				if err := s.db.Table("fleet").Apply(context.Background(), fmt.Sprint("writer", w), m); err != nil {
					t.Error(err)
				}
				x.ended = time.Now()
				all[w] = append(all[w], x)
			}
		})
	}
	await(t, "backups", func() (string, bool) {
		r, err := moments.Look(t.Context(), s.archive())
		return fmt.Sprint(r, err), err == nil && r.Bases >= 3
	})
	stop.Store(true)
	running.Wait()
	span := time.Since(from)
	s.sent()
	s.quiet()
	for range 6 {
		at := from.Add(rand.N(span)).Truncate(time.Microsecond)
		dir := filepath.Join(t.TempDir(), "restored")
		if _, err := moments.Restore(t.Context(), s.archive(), moments.Moment{Time: at}, dir, moments.RestoreOptions{}); err != nil {
			t.Fatal(err)
		}
		db, err := query.Open(dir, query.Options{ReadOnly: true})
		if err != nil {
			t.Fatal(err)
		}
		for w := range writers {
			row, err := db.Table("fleet").ReadRow(t.Context(), fmt.Sprint("writer", w))
			if err != nil {
				t.Fatal(err)
			}
			got, _ := row.I64("meta", "n")
			for i, x := range all[w] {
				// The clock of the log has microseconds.
				if x.ended.Before(at) && got < int64(i+1) {
					t.Errorf("at %v writer %d has %d, and write %d had returned at %v", at, w, got, i+1, x.ended)
				}
				if x.began.After(at.Add(time.Microsecond)) && got >= int64(i+1) {
					t.Errorf("at %v writer %d has %d, and write %d began at %v", at, w, got, i+1, x.began)
				}
			}
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}
}

// BenchmarkWrites: what sending costs writes of four goroutines, one row each.
func BenchmarkWrites(b *testing.B) {
	for _, sends := range []bool{false, true} {
		b.Run(fmt.Sprint("sends=", sends), func(b *testing.B) {
			s := newSource(b)
			s.sent()
			if !sends {
				s.quiet()
			}
			b.SetParallelism(4)
			var n atomic.Int64
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					m := write.NewMutation()
					m.Set("meta", "q", cells.I64(n.Add(1)))
					if err := s.db.Table("fleet").Apply(context.Background(), fmt.Sprint("row", n.Load()), m); err != nil {
						b.Error(err)
					}
				}
			})
			s.quiet()
		})
	}
}

// A restored database has its own changes only: after a token of the other's it would miss those that had come after the moment.
func TestChangesBeginAnewAfterARestore(t *testing.T) {
	s := newSource(t)
	if err := s.db.SetChangeStream(t.Context(), "fleet", 24*time.Hour); err != nil {
		t.Fatal(err)
	}
	s.sent()
	began, token := s.now(), ""
	for i := range 3 {
		m := write.NewMutation()
		m.SetAt("meta", "n", 1, cells.I64(int64(i)))
		if err := s.db.Table("fleet").Apply(t.Context(), fmt.Sprint("plane", i), m); err != nil {
			t.Fatal(err)
		}
		if i == 1 {
			for c, err := range s.db.Table("fleet").Changes(t.Context(), query.ChangesSince(began), query.ChangesUntil(s.now())) {
				if err != nil {
					t.Fatal(err)
				}
				token = c.Token()
			}
		}
	}
	s.sent()
	dir := filepath.Join(t.TempDir(), "restored")
	if _, err := moments.Restore(t.Context(), s.archive(), moments.Moment{}, dir, moments.RestoreOptions{}); err != nil {
		t.Fatal(err)
	}
	db, err := query.Open(dir, query.Options{GCInterval: -1, Clock: s.now})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, o := range []query.ChangesOption{query.ChangesAfter(token), query.ChangesSince(began)} {
		for c, err := range db.Table("fleet").Changes(t.Context(), o) {
			if !errors.Is(err, query.ErrChangesGone) {
				t.Errorf("%v, %v", c, err)
			}
			break
		}
	}
}
