package standby_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/smolwc/smolwc/api/smolwcpb"
	"github.com/smolwc/smolwc/api/standbys"
	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/plumbing"
	"github.com/smolwc/smolwc/standby"
)

// A cutting service ends the connection right after a record, and lets nobody follow then.
type cutting struct {
	standbys.Service
	after func(data []byte) bool
	cut   atomic.Bool
}

func (c *cutting) Follow(stream smolwcpb.Standbys_FollowServer) error {
	if c.cut.Load() {
		return status.Error(codes.Unavailable, "cut")
	}
	return c.Service.Follow(&cutStream{stream, c})
}

type cutStream struct {
	smolwcpb.Standbys_FollowServer
	c *cutting
}

func (s *cutStream) Send(m *smolwcpb.FollowResponse) error {
	for i, r := range m.GetRecords() {
		if s.c.after(r.GetData()) {
			err := s.Standbys_FollowServer.Send(&smolwcpb.FollowResponse{Records: m.GetRecords()[:i+1], Latest: m.GetLatest()})
			s.c.cut.Store(true)
			if err == nil {
				err = status.Error(codes.Unavailable, "cut")
			}
			return err
		}
	}
	return s.Standbys_FollowServer.Send(m)
}

func serveAt(t *testing.T, s smolwcpb.StandbysServer) (addr string) {
	t.Helper()
	addr = "127.0.0.1:0"
	t.Cleanup(serve(t, s, &addr).Stop)
	return addr
}

// A promotion that is killed after its decision, while a load has begun that the standby does
// not have, ends when the directory is opened: its epoch begins before the load ends. A
// standby that follows until there has nothing of its own.
func TestAKilledPromotionBesideALoad(t *testing.T) {
	t.Parallel()
	p := newPrimary(t, 0)
	declare(t, p.db, table("a", "f", "g"))
	dir, dir2 := filepath.Join(t.TempDir(), "first"), filepath.Join(t.TempDir(), "second")
	w, w2 := &withoutLoads{Service: p.primary.Service()}, &withoutLoads{Service: p.primary.Service()}
	must(t, follow(t, dir, p.addr).Close())
	must(t, follow(t, dir2, p.addr).Close())
	s, s2 := follow(t, dir, serveAt(t, w)), follow(t, dir2, serveAt(t, w2))
	must(t, try(t, p.db, "before"))
	awaitPosition(t, p, s)
	awaitPosition(t, p, s2)
	load(t, p.db, "a", 0, 10, "loaded")
	await(t, "the standbys have not heard of the load", func() bool { return w.asked.Load() > 0 && w2.asked.Load() > 0 })
	after := s.Position()
	must(t, s.Close())
	p.close()
	decided(t, dir, 2, after)
	n := &node{t: t, dir: dir, addr: "127.0.0.1:0"}
	n.open()
	t.Cleanup(n.close)
	if has(t, n.db, "row00001") {
		t.Error("the load is there")
	}
	must(t, try(t, n.db, "new"))
	c := &cutting{Service: n.primary.Service(), after: func([]byte) bool { return true }} // after one record
	must(t, s2.Redirect(serveAt(t, c)))
	await(t, "the second has not got a record", func() bool { return c.cut.Load() && s2.Position() > after })
	must(t, s2.Redirect(n.addr))
	awaitEqual(t, n.db, s2)
}

// decided leaves what a promotion leaves that is killed when it is decided.
func decided(t *testing.T, dir string, epoch int, after uint64) {
	t.Helper()
	text, err := json.Marshal(map[string]any{"epoch": epoch, "id": "KILLED", "after": after, "leader": "127.0.0.1:1"})
	must(t, err)
	must(t, os.WriteFile(filepath.Join(dir, plumbing.PromotedFile), text, 0o644))
	must(t, os.Remove(filepath.Join(dir, plumbing.StandbyFile)))
}

// A promotion that is killed after its decision, and is overtaken by another one, never happened:
// the server follows the other one.
func TestAKilledPromotionThatWasOvertaken(t *testing.T) {
	t.Parallel()
	p := newPrimary(t, 0)
	declare(t, p.db, table("a", "f"))
	dir, dir2 := filepath.Join(t.TempDir(), "first"), filepath.Join(t.TempDir(), "second")
	s, s2 := follow(t, dir, p.addr), follow(t, dir2, p.addr)
	must(t, try(t, p.db, "both"))
	awaitPosition(t, p, s)
	awaitPosition(t, p, s2)
	after := s.Position()
	must(t, s.Close())
	decided(t, dir, 2, after)
	done, err := s2.PromoteTo(t.Context(), 3, "127.0.0.1:1", query.DurabilitySync)
	must(t, err)
	n := &node{t: t, dir: dir2, addr: "127.0.0.1:0"}
	n.take(done)
	must(t, s2.Close())
	t.Cleanup(n.close)
	back := follow(t, dir, n.addr)
	must(t, try(t, n.db, "theirs"))
	awaitEqual(t, n.db, back)
}

// A standby that has a load and its note, and not yet the end of its marker, has nothing
// that the new primary does not have.
func TestAStandbyBeforeTheEndOfALoad(t *testing.T) {
	t.Parallel()
	p := newPrimary(t, 0)
	declare(t, p.db, table("a", "f", "g"))
	dir, dir2 := filepath.Join(t.TempDir(), "first"), filepath.Join(t.TempDir(), "second")
	s := follow(t, dir, p.addr)
	must(t, follow(t, dir2, p.addr).Close())
	c := &cutting{Service: p.primary.Service(), after: notesLoad}
	s2 := follow(t, dir2, serveAt(t, c))
	must(t, try(t, p.db, "before"))
	load(t, p.db, "a", 0, 10, "loaded")
	must(t, try(t, p.db, "behind"))
	awaitPosition(t, p, s)
	await(t, "the second has not got the load", func() bool { return c.cut.Load() && has(t, s2.DB(), "row00001") })
	p.close()
	n := promote(t, s, dir)
	must(t, s2.Redirect(n.addr))
	awaitEqual(t, n.db, s2)
}

// notesLoad reports whether a record is the note about a load, on either engine.
func notesLoad(data []byte) bool {
	if query.DefaultEngine() == query.EnginePebble {
		return bytes.Contains(data, []byte(`{"files":`))
	}
	return bytes.Contains(data, []byte(cf.LoadedPrefix))
}

// A standby that was found to differ, and is started again before it was rebuilt, is
// copied then. Until then nobody reads it, and it is not promoted.
func TestAStandbyThatDiffersIsStartedAgain(t *testing.T) {
	for _, when := range []string{"killed before Rebuild", "stopped while it is copied"} {
		t.Run(when, func(t *testing.T) {
			t.Parallel()
			p := newPrimary(t, 0)
			declare(t, p.db, table("a", "f"))
			dir := filepath.Join(t.TempDir(), "standby")
			s := follow(t, dir, p.addr)
			putAt(t, p.db, "a", "row", "value", 1000)
			putAt(t, p.db, "a", "row", large, 2000)
			awaitEqual(t, p.db, s)
			must(t, s.Close())
			forge(t, dir, "value", "valve")
			s = follow(t, dir, p.addr)
			v, err := s.Verify(t.Context(), nil)
			must(t, err)
			if v.Equal() || !errors.Is(s.Err(), standby.ErrDiffers) {
				t.Fatal(v.Difference(), s.Err())
			}
			if when == "killed before Rebuild" {
				must(t, s.Close())
			} else {
				ended, cancel := context.WithCancel(t.Context())
				cancel()
				if _, err := s.Rebuild(ended); err == nil {
					t.Fatal("copied")
				}
			}
			p.close()
			if s, err := standby.Open(t.Context(), dir, standby.Options{Primary: p.addr}); !errors.Is(err, standby.ErrNotYet) {
				t.Fatalf("without its primary it is opened, with %v: %v", s.DB(), err)
			}
			p.open()
			awaitEqual(t, p.db, follow(t, dir, p.addr))
			if _, err := standby.OpenTail(t.Context(), dir+".diverged"); !errors.Is(err, standby.ErrNoTail) || !strings.Contains(err.Error(), "differs from its primary") {
				t.Errorf("what was kept aside does not say why: %v", err)
			}
		})
	}
}

// A standby that was to be rebuilt, and was started again and promoted instead, as the
// documentation says. Later it is replaced itself. Its tail is what it has written since then.
func TestTheTailAfterACopyThatWasNotMade(t *testing.T) {
	p := newPrimary(t, 0)
	declare(t, p.db, table("a", "f"))
	before := filepath.Join(t.TempDir(), "snapshot")
	dir := filepath.Join(t.TempDir(), "standby")
	s := follow(t, dir, p.addr)
	must(t, try(t, p.db, "one"))
	awaitPosition(t, p, s)
	p.close()
	must(t, os.CopyFS(before, os.DirFS(p.dir))) // of its disk
	p.open()
	must(t, try(t, p.db, "both"))
	awaitPosition(t, p, s)
	p.close()
	// The primary's machine comes back with an older state of its disk.
	must(t, os.RemoveAll(p.dir))
	must(t, os.CopyFS(p.dir, os.DirFS(before)))
	p.open()
	select {
	case <-s.Lost():
	case <-time.After(20 * time.Second):
		t.Fatal("not lost")
	}
	t.Log(s.Err())
	p.close() // and is gone for good, before the copy
	short, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if _, err := s.Rebuild(short); err == nil {
		t.Fatal("copied from nobody")
	}
	s = follow(t, dir, p.addr) // "start it again: it serves the rows that it had, and can be promoted with these"
	n := promote(t, s, dir)
	must(t, try(t, n.db, "after the first promotion"))
	// It has a standby, which takes its place.
	dir2 := filepath.Join(t.TempDir(), "second")
	s2 := follow(t, dir2, n.addr)
	awaitPosition(t, n, s2)
	n.primary.Service().Stop()
	n.served.Stop()
	await(t, "the second standby is connected", func() bool { _, connected := s2.Lag(); return !connected })
	must(t, try(t, n.db, "tail of n"))
	promote(t, s2, dir2)
	n.served = serve(t, n.primary.Service(), &n.addr)
	awaitFenced(t, n.db, "")
	n.close()
	tail, err := standby.OpenTail(t.Context(), dir)
	must(t, err)
	t.Log(tail.After, tail.Reason)
	must(t, tail.Close())
	for _, line := range readAll(t, dir) {
		t.Log(line)
		if !strings.HasPrefix(line, `a "tail`) {
			t.Errorf("the tail has %s, which the server that leads has", line)
		}
	}
}

// A slowCopy takes each message of a copy when the test does.
type slowCopy struct {
	smolwcpb.Standbys_CopyServer
	ctx  context.Context
	sent chan *smolwcpb.CopyResponse
}

func (c slowCopy) Context() context.Context { return c.ctx }

func (c slowCopy) Send(m *smolwcpb.CopyResponse) error {
	select {
	case c.sent <- m:
		return nil
	case <-c.ctx.Done():
		return c.ctx.Err()
	}
}

// copySlowly begins a copy. rest takes the rest of it.
func copySlowly(t *testing.T, s standbys.Service) (rest func() error) {
	t.Helper()
	c, done := slowCopy{ctx: t.Context(), sent: make(chan *smolwcpb.CopyResponse)}, make(chan error, 1)
	go func() {
		done <- s.Copy(&smolwcpb.CopyRequest{Format: query.FormatVersion, Engines: []string{string(query.DefaultEngine())}}, c)
	}()
	select {
	case <-c.sent: // it has its files
	case err := <-done:
		t.Fatal(err)
	}
	return func() error {
		for {
			select {
			case <-c.sent:
			case err := <-done:
				return err
			}
		}
	}
}

// A standby is promoted while others copy it. Those that copy the new primary meanwhile leave
// its files alone, and have files of their own.
func TestACopyBesideAPromotion(t *testing.T) {
	t.Parallel()
	p := newPrimary(t, 0)
	declare(t, p.db, table("a", "f"))
	dir := filepath.Join(t.TempDir(), "standby")
	s := follow(t, dir, p.addr)
	must(t, try(t, p.db, "row"))
	awaitPosition(t, p, s)
	rest := copySlowly(t, s.Service())
	promoted, err := s.Promote(t.Context(), "127.0.0.1:1", query.DurabilitySync)
	must(t, err)
	n := &node{t: t, dir: dir, addr: "127.0.0.1:0"}
	n.take(promoted)
	t.Cleanup(n.close)
	_, err = standby.Open(t.Context(), filepath.Join(t.TempDir(), "early"), standby.Options{Primary: n.addr})
	if !errors.Is(err, standby.ErrNotYet) || !strings.Contains(err.Error(), "another standby is being copied") {
		t.Errorf("a second copy: %v", err)
	}
	if err := rest(); err != nil {
		t.Errorf("the first copy: %v", err)
	}
	must(t, s.Close())
	awaitEqual(t, n.db, follow(t, filepath.Join(t.TempDir(), "late"), n.addr))
}
