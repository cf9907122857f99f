package moments_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"

	"github.com/smolwc/smolwc/api/smolwcpb"
	"github.com/smolwc/smolwc/archive/moments"
	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
	"github.com/smolwc/smolwc/standby"
)

// A pair is a primary that sends its log to an archive, and a standby that reads it there.
type pair struct {
	*source
	addr   string
	dir    string
	delay  time.Duration
	copies atomic.Int64 // of the primary, for standbys
	said   *text
	*standby.Standby
}

// A text is what a logger has written.
type text struct {
	sync.Mutex
	bytes.Buffer
}

func (t *text) Write(b []byte) (int, error) {
	t.Lock()
	defer t.Unlock()
	return t.Buffer.Write(b)
}

func (t *text) String() string {
	t.Lock()
	defer t.Unlock()
	return t.Buffer.String()
}

// A counter counts copies.
type counter struct {
	smolwcpb.StandbysServer
	copies *atomic.Int64
}

func (c counter) Copy(r *smolwcpb.CopyRequest, s smolwcpb.Standbys_CopyServer) error {
	c.copies.Add(1)
	return c.StandbysServer.Copy(r, s)
}

// newPair is a pair without a standby, and whose primary keeps hardly any log.
func newPair(t *testing.T) *pair {
	p := &pair{source: newSource(t), dir: filepath.Join(t.TempDir(), "standby"), said: new(text)}
	p.close()
	p.kept = 1
	p.open()
	p.send()
	p.sent()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	p.addr = l.Addr().String()
	g := grpc.NewServer()
	smolwcpb.RegisterStandbysServer(g, counter{p.primary.Service(), &p.copies})
	go func() { _ = g.Serve(l) }()
	t.Cleanup(g.Stop)
	t.Cleanup(func() { _ = p.Standby.Close() })
	return p
}

func (p *pair) follow() {
	p.t.Helper()
	s, err := standby.Open(p.t.Context(), p.dir, standby.Options{
		Primary: p.addr, Name: "b", Retry: time.Millisecond, Archive: moments.Source{Target: p.target}, Delay: p.delay,
		Database: query.Options{Memory: 16 << 20, Clock: p.now, Logger: slog.New(slog.NewTextHandler(p.said, nil))},
	})
	must(p.t, err)
	p.Standby = s
}

// trim writes until the primary no longer keeps its log after a position.
func (p *pair) trim(after uint64) {
	p.t.Helper()
	await(p.t, "the log to be trimmed", func() (string, bool) {
		p.setAnyway("trim")
		must(p.t, p.db.Table("fleet").Flush(p.t.Context()))
		must(p.t, p.store.(cf.Follower).TrimLog())
		log, err := p.store.Log(cf.Position(after))
		if err == nil {
			log.Close()
		}
		return fmt.Sprint(err), errors.Is(err, cf.ErrTrimmed)
	})
}

// equal waits until the standby is equal to its primary, and compares all cells.
func (p *pair) equal() {
	p.t.Helper()
	p.sent()
	await(p.t, "the standby", func() (string, bool) {
		if errors.Is(p.Err(), standby.ErrRebuild) {
			next, err := p.Rebuild(p.t.Context())
			must(p.t, err)
			p.Standby = next
		}
		return fmt.Sprint(p.Position(), " ", p.Err(), "\n", p.said), p.Position() == uint64(p.store.Latest())
	})
	if v, err := p.Verify(p.t.Context(), nil); err != nil || !v.Equal() {
		p.t.Errorf("%+v, %v", v, err)
	}
	if got, want := dump(p.t, p.DB()), dump(p.t, p.db); got != want {
		p.t.Errorf("the standby has\n%s\nand its primary\n%s", got, want)
	}
}

// take opens the database of a standby that was promoted.
func (p *pair) take(promoted *standby.Promotion) *query.DB {
	p.t.Helper()
	db, err := query.Open(p.dir, query.Options{Memory: 16 << 20, Standbys: promoted.Primary.Hook(), GCInterval: -1, Clock: p.now})
	must(p.t, err)
	must(p.t, p.Close())
	p.t.Cleanup(func() { promoted.Primary.Service().Stop(); _ = db.Close() })
	return db
}

// copied compares the number of copies of the primary.
func (p *pair) copied(want int64) {
	p.t.Helper()
	if n := p.copies.Load(); n != want {
		p.t.Errorf("the primary was copied %d times; want %d\n%s", n, want, p.said)
	}
}

// change makes changes of each kind.
func (p *pair) change(name string) {
	p.t.Helper()
	p.setAnyway(name)
	load(p.t, p.db, "fleet", "meta", map[string]int64{name + " loaded": 1, "over": int64(len(name))})
	must(p.t, p.db.CreateTable(p.t.Context(), schema.Table{Name: name, Families: []schema.Family{{Name: "f"}}}))
	m := write.NewMutation()
	m.Set("f", "q", cells.String(name))
	must(p.t, p.db.Table(name).Apply(p.t.Context(), "row", m))
	p.setAnyway(name + " again")
}

// A new standby begins with a backup and the log of the archive, and goes on with the log of its primary, which is
// not copied.
func TestAStandbyBeginsFromTheArchive(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	p.change("one")
	p.trim(0)
	p.change("two")
	p.sent()
	p.follow()
	p.equal()
	p.change("three")
	p.equal()
	p.copied(0)
	must(t, p.Close())
	p.setAnyway("while it is down")
	p.follow()
	p.equal()
	p.copied(0)
	if left, _ := filepath.Glob(p.dir + ".*"); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	promoted, err := p.Promote(t.Context(), "127.0.0.1:1", query.DurabilitySync)
	must(t, err)
	db := p.take(promoted)
	if got, want := dump(t, db), dump(t, p.db); got != want {
		t.Errorf("promoted it has\n%s\nand its primary\n%s", got, want)
	}
}

// A standby that ends while it begins from the archive begins anew, and nothing is left of the first try.
func TestAStandbyThatEndsWhileItBegins(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	p.change("one")
	p.trim(0)
	p.change("two")
	p.sent()
	for records := range 4 {
		p.dir = filepath.Join(t.TempDir(), "standby")
		ctx, end := context.WithCancel(t.Context())
		from := ending{moments.Source{Target: p.target}, 3 * records, end}
		s, err := standby.Open(ctx, p.dir, standby.Options{Primary: p.addr, Archive: &from})
		if err == nil {
			must(t, s.Close())
			t.Fatal("it has not ended")
		}
		if found, err := standby.Find(t.Context(), p.dir, query.Options{}); err == nil && found.Standby {
			t.Errorf("after %d records the directory is a standby's: %+v", 3*records, found)
		}
		p.follow()
		p.equal()
		must(t, p.Close())
		if left, _ := filepath.Glob(p.dir + ".*"); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
	}
	p.copied(0)
}

// An ending archive ends the standby after some records; before the first one if it is 0.
type ending struct {
	moments.Source
	records int
	end     func()
}

func (e *ending) Log(ctx context.Context, of standby.Archived, after uint64, at time.Time, take func(*cf.LogRecord, standby.Loads) error) error {
	return e.Source.Log(ctx, of, after, at, func(r *cf.LogRecord, l standby.Loads) error {
		if e.records == 0 {
			e.end()
			return ctx.Err()
		}
		e.records--
		return take(r, l)
	})
}

// A standby that was away for longer than its primary keeps the log reads it in the archive, and keeps its rows.
func TestAStandbyCatchesUpFromTheArchive(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	p.follow()
	p.change("one")
	p.equal()
	for round := range 3 {
		at := p.Position()
		must(t, p.Close())
		p.change(fmt.Sprint("away", round))
		if round == 1 {
			_, err := moments.Merge(t.Context(), p.archive(), p.clock.now().Add(48*time.Hour))
			must(t, err)
		}
		p.trim(at)
		p.change(fmt.Sprint("late", round))
		p.sent()
		p.follow()
		p.equal()
	}
	p.copied(0)
	if text := p.said.String(); !strings.Contains(text, "it is read from the archive") {
		t.Errorf("it says\n%s", text)
	}
}

// What is missing or damaged in the archive is named, and the primary is copied instead: the standby never has a
// part of the log only.
func TestAStandbyWithADamagedArchive(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		what  string
		fault func(t *testing.T, at string)
	}{
		{"missing", func(t *testing.T, at string) { must(t, os.Remove(at)) }},
		{"truncated", func(t *testing.T, at string) { must(t, os.Truncate(at, int64(len(content(t, at))-5))) }},
		{"flipped", func(t *testing.T, at string) {
			text := content(t, at)
			text[len(text)-50] ^= 4
			must(t, os.WriteFile(at, text, 0o600))
		}},
		{"load", func(t *testing.T, at string) {
			loads, err := filepath.Glob(filepath.Join(filepath.Dir(filepath.Dir(at)), "loads", "*", "*"))
			if err != nil || len(loads) == 0 {
				t.Fatal(loads, err)
			}
			for _, path := range loads {
				must(t, os.Remove(path))
			}
		}},
	} {
		for _, new := range []bool{true, false} {
			t.Run(fmt.Sprint(c.what, " new=", new), func(t *testing.T) {
				t.Parallel()
				p := newPair(t)
				p.change("one")
				p.sent()
				if !new {
					p.follow()
					p.equal()
					must(t, p.Close())
				}
				from := len(p.segments())
				p.setAnyway("a")
				p.sent()
				p.setAnyway("b")
				p.sent()
				p.change("two")
				p.trim(uint64(p.store.Latest()))
				p.sent()
				p.quiet()
				c.fault(t, p.segments()[from+1])
				p.follow()
				p.quietEqual()
				p.copied(1)
				if text := p.said.String(); !strings.Contains(text, "moments/") || !strings.Contains(text, "level=ERROR") {
					t.Errorf("the object is not named:\n%s", text)
				}
			})
		}
	}
}

// quietEqual is equal, without a sender.
func (p *pair) quietEqual() {
	p.t.Helper()
	p.send()
	p.equal()
}

// The archive of another database, of another history or of an earlier epoch is not read.
func TestAStandbyReadsNoOtherArchive(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	p.set("plane")
	p.quiet()
	of := func() standby.Archived {
		r, err := p.primary.Service().ListReplicas(t.Context(), new(smolwcpb.ListReplicasRequest))
		must(t, err)
		return standby.Archived{Database: r.GetDatabase(), History: r.GetHistory(), Epoch: r.GetEpoch()}
	}()
	a := moments.Source{Target: p.target}
	take := func(*cf.LogRecord, standby.Loads) error { return nil }
	must(t, a.Log(t.Context(), of, uint64(p.store.Latest()), time.Time{}, take))
	other := func(fn func(*standby.Archived)) standby.Archived { o := of; fn(&o); return o }
	for want, of := range map[string]standby.Archived{
		"the primary has another":       other(func(o *standby.Archived) { o.Database = "another" }),
		"another history":               other(func(o *standby.Archived) { o.History = "another" }),
		"the archive ends in epoch":     other(func(o *standby.Archived) { o.Epoch++ }),
		"and the archive ends in epoch": other(func(o *standby.Archived) { o.Epoch-- }),
	} {
		dir := filepath.Join(t.TempDir(), "db")
		for _, err := range []error{a.Log(t.Context(), of, 0, time.Time{}, take), a.Base(t.Context(), of, time.Time{}, dir)} {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v; want %q", err, want)
			}
		}
		if _, err := os.Stat(dir); err == nil {
			t.Error("a database was made")
		}
	}
	empty := moments.Source{Target: t.TempDir()}
	if err := empty.Log(t.Context(), of, 0, time.Time{}, take); !errors.Is(err, moments.ErrNoMoment) {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := a.Log(ctx, of, 0, time.Time{}, take); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	must(t, os.RemoveAll(filepath.Join(p.target, "generations")))
	if err := a.Base(t.Context(), of, time.Time{}, filepath.Join(t.TempDir(), "db")); !errors.Is(err, moments.ErrNoMoment) {
		t.Errorf("without a backup: %v", err)
	}
}

// A standby with a delay begins at the moment at which it is to be, and not with the present rows.
func TestALateStandbyBeginsLate(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	p.delay = time.Hour
	hour := int64(time.Hour / time.Microsecond)
	first := p.set("first")
	p.clock.micros.Add(2 * hour)
	p.change("mistake")
	before := p.state("a mistake")
	p.clock.micros.Add(hour / 2)
	p.change("later")
	p.trim(uint64(p.store.Latest()))
	p.sent()
	last := p.state("all")
	p.follow()
	await(t, "the log", func() (string, bool) {
		r, err := p.primary.Service().ListReplicas(t.Context(), new(smolwcpb.ListReplicasRequest))
		must(t, err)
		return fmt.Sprint(r, "\n", p.said), len(r.GetReplicas()) == 1 && r.GetReplicas()[0].GetSynced() >= last.position
	})
	p.copied(0)
	if got := dump(t, p.DB()); got != first.content {
		t.Errorf("it begins with\n%s\nwant\n%s", got, first.content)
	}
	promoted, err := p.PromoteAt(t.Context(), before.at, "127.0.0.1:1", query.DurabilitySync)
	must(t, err)
	db := p.take(promoted)
	if got := dump(t, db); got != before.content {
		t.Errorf("promoted it has\n%s\nwant\n%s", got, before.content)
	}
}
