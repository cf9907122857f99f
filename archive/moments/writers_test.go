package moments_test

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"google.golang.org/grpc"

	"github.com/smolwc/smolwc/api/smolwcpb"
	"github.com/smolwc/smolwc/archive/moments"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/standby"
)

// A copy of a database does not send to the archive of the original, as long as that sends. Once that is silent the copy
// begins anew, and then the original does not come back.
func TestTwoDatabasesNeverSendToOneArchive(t *testing.T) {
	t.Parallel()
	s := newSource(t)
	s.sent()
	first := s.set("plane1")
	two := &source{t: t, dir: filepath.Join(t.TempDir(), "copy"), target: s.target, clock: s.clock, now: s.now, logger: s.logger, o: s.o}
	must(t, s.db.Checkpoint(t.Context(), two.dir))
	two.open()
	defer two.close()
	two.send()
	refused := func(s *source) {
		t.Helper()
		await(t, "a refusal", func() (string, bool) {
			err := s.sender.Status().Err
			return fmt.Sprint(err), errors.Is(err, moments.ErrOtherWriter)
		})
	}
	refused(two)
	second := s.set("plane2")
	s.quiet()
	s.clock.micros.Add(int64(10 * time.Minute / time.Microsecond))
	two.sent()
	if st := two.sender.Status(); st.Gaps != 1 {
		t.Errorf("the copy has sent without a gap: %+v", st)
	}
	third := two.set("plane3")
	s.send()
	refused(s)
	s.quiet()
	two.quiet()
	two.compare([]state{first, second, third})
	if r, err := moments.Verify(t.Context(), s.archive(), moments.VerifyOptions{}); err != nil || len(r.Gaps) != 1 {
		t.Errorf("%+v, %v", r, err)
	}
}

// Two senders of one log, as of a process that stood still and one that was started in its place: one of them sends.
func TestAZombieIsToldApart(t *testing.T) {
	t.Parallel()
	s := newSource(t)
	s.sent()
	zombie, err := moments.NewSender(s.db, s.primary, s.target, s.o)
	must(t, err)
	done := make(chan error)
	ctx, cancel := contextOf(t)
	go func() { done <- zombie.Run(ctx) }()
	var states []state
	for i := range 8 {
		states = append(states, s.set(fmt.Sprint("plane", i)))
	}
	cancel()
	must(t, <-done)
	s.quiet()
	if r, err := moments.Verify(t.Context(), s.archive(), moments.VerifyOptions{}); err != nil || len(r.Gaps) > 0 {
		t.Errorf("%+v, %v", r, err)
	}
	s.compare(states[6:])
}

// After a promotion the new primary continues the archive under its epoch, and the old one is refused. Moments from before have what the
// old primary acknowledged, and those from after what the new one has.
func TestAPromotionContinuesTheArchive(t *testing.T) {
	t.Parallel()
	s := newSource(t)
	s.sent()
	both := s.set("both")

	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	g := grpc.NewServer()
	smolwcpb.RegisterStandbysServer(g, s.primary.Service())
	go func() { _ = g.Serve(l) }()
	dir := filepath.Join(t.TempDir(), "standby")
	b, err := standby.Open(t.Context(), dir, standby.Options{Primary: l.Addr().String(), Database: query.Options{Memory: 16 << 20}})
	must(t, err)
	both2 := s.set("both2")
	await(t, "the standby", func() (string, bool) { return fmt.Sprint(b.Position()), b.Position() >= uint64(s.store.Latest()) })
	g.Stop()
	tail := s.set("tail") // which the standby never gets

	p, err := b.Promote(t.Context(), "127.0.0.1:1", query.DurabilitySync)
	must(t, err)
	two := &source{t: t, dir: dir, target: s.target, clock: s.clock, now: s.now, logger: s.logger, o: s.o, primary: p.Primary}
	two.db, err = query.Open(dir, query.Options{Memory: 16 << 20, Standbys: p.Primary.Hook(), GCInterval: -1, Clock: s.clock.now})
	must(t, err)
	two.store, err = p.Primary.KeepLog(t.Context())
	must(t, err)
	defer two.close()
	two.send()
	after := two.set("after")
	await(t, "the old primary to be refused", func() (string, bool) {
		s.setAnyway("late")
		err := s.sender.Status().Err
		return fmt.Sprint(err), errors.Is(err, moments.ErrOtherWriter)
	})
	if err := <-s.ended; !errors.Is(err, moments.ErrOtherWriter) {
		t.Errorf("the old primary's sender ends with %v", err)
	}
	s.stop = nil
	two.sent()
	last := two.set("last")
	two.quiet()
	must(t, b.Close())
	r, err := moments.Verify(t.Context(), s.archive(), moments.VerifyOptions{})
	if err != nil || len(r.Gaps) > 0 {
		t.Errorf("%+v, %v", r, err)
	}
	s.compare([]state{both, both2, tail, after, last})
	_, err = moments.Merge(t.Context(), s.archive(), s.clock.now().Add(48*time.Hour))
	must(t, err)
	s.compare([]state{both2, tail, after, last})
	if got, _ := restored(t, s.archive(), moments.Moment{Position: last.position}, last.at); got != last.content {
		t.Errorf("position %d is\n%s", last.position, got)
	}
}

// A server may be stopped while its sender still looks at the archive, or meets the last segment of the primary before: all that
// was acknowledged is sent all the same.
func TestASenderThatEndsWhileItBeginsSendsTheRest(t *testing.T) {
	s := newSource(t)
	s.sent()
	s.quiet()
	moments.SetLastTime(time.Minute)
	defer moments.SetLastTime(time.Second)
	var both state
	ended, end := contextOf(t)
	end()
	moments.OnStep(func(name string) {
		if name != "send: encoded" {
			return
		}
		moments.OnStep(func(string) {})
		other, err := moments.NewSender(s.db, s.primary, s.target, s.o)
		must(t, err)
		must(t, other.Run(ended))
		s.setAnyway("second")
		both = s.state("both")
	})
	defer moments.OnStep(func(string) {})
	s.setAnyway("first")
	must(t, s.sender.Run(ended))
	if st := s.sender.Status(); st.Position != uint64(s.store.Latest()) {
		t.Errorf("%+v, want position %d", st, s.store.Latest())
	}
	s.compare([]state{both})
}

// A sender that begins, or is refused again and again, takes no file away that another one is writing at the target.
func TestASenderLeavesTheFilesOfAnother(t *testing.T) {
	t.Parallel()
	s := newSource(t)
	s.sent()
	s.quiet()
	tmp := filepath.Join(s.target, "moments", "tmp")
	for _, name := range []string{"written", "left"} {
		must(t, os.WriteFile(filepath.Join(tmp, name), []byte("half"), 0o600))
	}
	old := time.Now().Add(-2 * time.Hour)
	must(t, os.Chtimes(filepath.Join(tmp, "left"), old, old))
	s.send()
	s.set("plane")
	if _, err := os.Stat(filepath.Join(tmp, "written")); err != nil {
		t.Errorf("what another one writes: %v", err)
	}
	if _, err := os.Stat(filepath.Join(tmp, "left")); !os.IsNotExist(err) {
		t.Errorf("what was left two hours ago: %v", err)
	}
}
