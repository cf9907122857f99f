package standby_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/smolwc/smolwc/api/smolwcpb"
	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/internal/testaddr"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
	"github.com/smolwc/smolwc/standby"
)

// A granted lease is held as the test says.
type granted struct {
	mu    sync.Mutex
	check func() error // nil: it is held
	named []string     // the syncStandby
	after []uint64
	refer error // why none can be recorded
}

func (g *granted) set(check func() error, refer error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.check, g.refer = check, refer
}

func (g *granted) Check() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.check == nil {
		return nil
	}
	return g.check()
}

func (g *granted) Retain() {}

func (g *granted) Transfer(context.Context, string, uint64) error { return nil }

func (g *granted) SetSyncStandbys(_ context.Context, standbys []string, after uint64) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.named, g.after = append(g.named, strings.Join(standbys, " ")), append(g.after, after)
	return g.refer
}

func (g *granted) syncStandbys() ([]string, []uint64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.named, g.after
}

func (g *granted) Describe(l *smolwcpb.Lease) { l.Held = g.Check() == nil }

func leased(t *testing.T, g *granted, o standby.SemiSync) *node {
	t.Helper()
	n := &node{t: t, dir: filepath.Join(t.TempDir(), "primary"), addr: "127.0.0.1:0", semi: o, lease: g}
	n.open()
	t.Cleanup(n.close)
	_, err := n.db.Declare(standby.Async(t.Context()), schemaOf(table("a", "f")))
	must(t, err)
	return n
}

var errGone = errors.New("the lease is gone")

// Without the lease nothing is written; a write during which it ends is not acknowledged,
// also if it does not wait for a standby.
func TestAWriteNeedsTheLease(t *testing.T) {
	t.Parallel()
	g := new(granted)
	p := leased(t, g, standby.SemiSync{})
	must(t, try(t, p.db, "held"))
	g.set(func() error { return errGone }, nil)
	for _, ctx := range []context.Context{t.Context(), standby.Async(t.Context())} {
		if err := put(ctx, p.db, "refused", "v"); query.KindOf(err) != query.KindUnavailable || !strings.Contains(err.Error(), "nothing was written") || !strings.Contains(err.Error(), errGone.Error()) {
			t.Errorf("a write without the lease: %v", err)
		}
	}
	checks := 0
	g.set(func() error { // it ends between the write and its acknowledgement
		if checks++; checks > 1 {
			return errGone
		}
		return nil
	}, nil)
	if err := try(t, p.db, "late"); !errors.Is(err, cf.ErrNotAcknowledged) || !strings.Contains(err.Error(), errGone.Error()) {
		t.Errorf("a write whose lease ends: %v", err)
	}
	if has(t, p.db, "refused") || !has(t, p.db, "late") {
		t.Error("the refused write is there, or the late one is not")
	}
	if describe(t, p).GetLease().GetHeld() {
		t.Error("the server says that it holds the lease")
	}
	g.set(nil, nil)
	must(t, try(t, p.db, "held again"))
}

// A primary that has just lost the lease gives no copy. The standby may try again.
func TestACopyNeedsTheLease(t *testing.T) {
	t.Parallel()
	g := new(granted)
	p := leased(t, g, standby.SemiSync{})
	g.set(func() error { return fmt.Errorf("%w: %w", cf.ErrUnavailable, errGone) }, nil)
	_, err := standby.Open(t.Context(), filepath.Join(t.TempDir(), "standby"), standby.Options{Primary: p.addr, Database: query.Options{Memory: 16 << 20}})
	if !errors.Is(err, standby.ErrNotYet) || !strings.Contains(err.Error(), errGone.Error()) {
		t.Errorf("a copy without the lease: %v", err)
	}
}

// named follows a primary with a name.
func named(t *testing.T, name, primary string) *standby.Standby {
	t.Helper()
	s, err := standby.Open(t.Context(), filepath.Join(t.TempDir(), name), standby.Options{Primary: primary, Name: name, Retry: time.Millisecond, Database: query.Options{Memory: 16 << 20}})
	must(t, err)
	t.Cleanup(func() { must(t, s.Close()) })
	return s
}

// With a lease a strict write waits for the standby that etcd knows as the synchronous one, and
// for no other. The next one has everything that was acknowledged.
func TestOnlyTheSynchronousStandbyAcknowledges(t *testing.T) {
	t.Parallel()
	g := new(granted)
	g.set(nil, errors.New("the elector does not answer"))
	p := leased(t, g, standby.SemiSync{Mode: standby.SemiSyncStrict, Timeout: 200 * time.Millisecond})
	one := named(t, "one", p.addr)
	await(t, "a synchronous standby is asked for", func() bool { names, _ := g.syncStandbys(); return len(names) > 0 })
	if err := try(t, p.db, "early"); query.KindOf(err) != query.KindUnavailable {
		t.Errorf("a write before there is a synchronous standby: %v", err)
	}
	g.set(nil, nil)
	written := func(row string) func() bool { return func() bool { return try(t, p.db, row) == nil } }
	await(t, "the synchronous standby acknowledges", written("with a synchronous standby"))
	if names, _ := g.syncStandbys(); names[len(names)-1] != "one" {
		t.Errorf("the names are %v", names)
	}
	two := named(t, "two", p.addr)
	awaitPosition(t, p, two)
	g.set(nil, errors.New("the elector does not answer"))
	must(t, one.Close())
	await(t, "another one is asked for", func() bool { names, _ := g.syncStandbys(); return names[len(names)-1] == "two" })
	if err := try(t, p.db, "between"); err == nil {
		t.Error("a standby has acknowledged that is not the synchronous one")
	}
	before := position(t, p.primary)
	g.set(nil, nil)
	await(t, "the next one acknowledges", written("with the next one"))
	if _, after := g.syncStandbys(); after[len(after)-1] > before || after[len(after)-1] == 0 {
		t.Errorf("the synchronous standby was recorded with position %v; the primary had %d", after, before)
	}
}

// A standby that is redirected goes on from its position, and its epochs may leave out
// numbers. The directory of a server with an epoch that nobody has followed is rebuilt.
func TestARedirectedStandby(t *testing.T) {
	t.Parallel()
	p := newPrimary(t, 0)
	declare(t, p.db, table("a", "f"))
	dirs := []string{filepath.Join(t.TempDir(), "x"), filepath.Join(t.TempDir(), "y"), filepath.Join(t.TempDir(), "z")}
	x, y, z := follow(t, dirs[0], p.addr), follow(t, dirs[1], p.addr), follow(t, dirs[2], p.addr)
	for _, s := range []*standby.Standby{x, y, z} {
		awaitPosition(t, p, s)
	}
	p.close()
	lonely := promote(t, x, dirs[0]) // epoch 2
	must(t, try(t, lonely.db, "nobody follows"))
	lonely.close()
	n := &node{t: t, dir: dirs[1], addr: testaddr.New(t)}
	if _, err := y.PromoteTo(t.Context(), 1, n.addr, query.DurabilitySync); err == nil || !strings.Contains(err.Error(), "epoch 1 cannot begin") {
		t.Errorf("a promotion to an epoch that has begun: %v", err)
	}
	done, err := y.PromoteTo(t.Context(), 3, n.addr, query.DurabilitySync)
	must(t, err)
	n.take(done)
	t.Cleanup(n.close)
	must(t, y.Close())
	must(t, z.Redirect(n.addr))
	must(t, try(t, n.db, "in epoch 3"))
	awaitEqual(t, n.db, z)
	if z.Primary() != n.addr || n.primary.Service().Await(t.Context(), "1-1000000") == nil {
		t.Errorf("the standby follows %s, or a change of epoch 1 that is lost is there", z.Primary())
	}
	back := rebuild(t, follow(t, dirs[0], n.addr), "are its own")
	awaitEqual(t, n.db, back)
}

// A standby is redirected while clients ask for verifications.
func TestARedirectionWhileVerificationsAreAskedFor(t *testing.T) {
	t.Parallel()
	p := newPrimary(t, 0)
	s := follow(t, filepath.Join(t.TempDir(), "standby"), p.addr)
	asking := make(chan error, 1)
	go func() {
		for {
			if err := s.Service().Verify(&smolwcpb.VerifyRequest{Against: "elsewhere:1"}, nil); !strings.Contains(err.Error(), p.addr) {
				asking <- err
				return
			}
		}
	}()
	must(t, s.Redirect("127.0.0.1:1"))
	if err := <-asking; !strings.Contains(err.Error(), "this standby follows 127.0.0.1:1,") {
		t.Errorf("after the redirection: %v", err)
	}
}

// A client's read during which the lease ends fails: another server may have taken over
// before it. Without the lease, reads go on, and the server says that it does not lead.
func TestAStrictReadNeedsTheLease(t *testing.T) {
	t.Parallel()
	g := new(granted)
	p := leased(t, g, standby.SemiSync{Mode: standby.SemiSyncStrict, Timeout: time.Minute})
	one := named(t, "one", p.addr)
	await(t, "a synchronous standby is asked for", func() bool { names, _ := g.syncStandbys(); return len(names) > 0 })
	must(t, try(t, p.db, "row"))
	awaitPosition(t, p, one)
	service := p.primary.Service()
	if !service.Leads() {
		t.Error("a server with the lease does not lead")
	}
	before := service.Confirm(t.Context())
	g.set(func() error { return errGone }, nil)
	if _, err := p.db.Table("a").ReadRow(before, "row"); query.KindOf(err) != query.KindUnavailable || !strings.Contains(err.Error(), errGone.Error()) {
		t.Errorf("a read during which the lease ends: %v", err)
	}
	if _, err := p.db.Table("a").ReadRow(service.Confirm(t.Context()), "row"); err != nil || service.Leads() {
		t.Errorf("a read without the lease: %v; the server leads: %v", err, service.Leads())
	}
}

// Without the lease nothing is written to the log: a server that led comes back without a copy.
func TestNothingIsWrittenWithoutTheLease(t *testing.T) {
	for name, act := range map[string]func(t *testing.T, p *node) error{
		"expiry": func(t *testing.T, p *node) error { // as the janitor lets cells go
			return p.db.Table("aged").Compact(t.Context())
		},
		"transaction": func(t *testing.T, p *node) error {
			return p.db.Update(t.Context(), func(tx *query.Tx) error {
				m := write.NewMutation()
				m.Set("f", "q", cells.String("v"))
				return tx.Apply(t.Context(), "a", "r", m)
			})
		},
		"declare": func(t *testing.T, p *node) error {
			_, err := p.db.Declare(t.Context(), schemaOf(table("more", "f")))
			return err
		},
		"load": func(t *testing.T, p *node) error {
			l, err := p.db.Table("a").BulkLoad(t.Context(), query.BulkOptions{})
			return errors.Join(err, l.Close())
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := new(granted)
			p := leased(t, g, standby.SemiSync{})
			aged := schema.Table{Name: "aged", Families: []schema.Family{{Name: "f", GC: &schema.Rule{MaxAge: time.Hour}}}}
			_, err := p.db.Declare(standby.Async(t.Context()), schemaOf(table("a", "f"), aged))
			must(t, err)
			dir := filepath.Join(t.TempDir(), "standby")
			s := follow(t, dir, p.addr)
			must(t, try(t, p.db, "both"))
			awaitPosition(t, p, s)
			must(t, s.Close())
			time.Sleep(2500 * time.Millisecond) // longer than the clock is reserved
			g.set(func() error { return errGone }, nil)
			before := position(t, p.primary)
			if err := act(t, p); query.KindOf(err) != query.KindUnavailable {
				t.Errorf("without the lease: %v", err)
			}
			if after := position(t, p.primary); after != before {
				t.Errorf("position %d before, %d after", before, after)
			}
			p.close()
			n := promote(t, follow(t, dir, p.addr), dir)
			must(t, try(t, n.db, "new"))
			awaitEqual(t, n.db, follow(t, p.dir, n.addr)) // without a copy
		})
	}
}
