package etcdtest

import (
	"flag"
	"io"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

var (
	kills = flag.Int("kills", 2, "kill the server that leads `N` times")
	flaps = flag.Int("flaps", 3, "disturb a server `N` times")
	seed  = flag.Uint64("seed", 0, "choose as in an earlier run; 0 is a new `SEED`")
)

// Servers that lead are killed, one after the other: another one takes over, has each write
// that was acknowledged, and the one that was killed follows it when it is there again.
func TestKilledLeaders(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 3, "strict")
	stop := c.write()
	defer stop()
	for range *kills {
		leads := c.leader()
		c.kill(leads)
		killed := time.Now()
		next := c.leader()
		for _, a := range c.acks.all() {
			if a.server == next.addr && a.began.After(killed) {
				t.Logf("with a lease of 1s, another server has acknowledged a write %v after the kill", a.done.Sub(killed).Round(time.Millisecond))
				break
			}
		}
		if next == leads {
			t.Fatalf("%s was killed and leads", next.addr)
		}
		c.check(next)
		c.tidy()
		c.start(leads)
		eventually(t, "the killed server follows", func() bool { return c.follows(leads, next) })
	}
}

// follows reports whether a server is a standby of another one.
func (c *cluster) follows(s, leads *node) bool {
	return strings.Contains(c.tell("replicas", "--addr", s.addr), "is a standby of "+leads.addr+": connected")
}

// A server that stood still for longer than its lease acknowledges no write when it goes on,
// and follows the one that has taken over.
func TestAPausedLeader(t *testing.T) {
	for _, mode := range []string{"strict", "off"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			pauseLeader(t, newCluster(t, 3, mode))
		})
	}
}

func pauseLeader(t *testing.T, c *cluster) {
	stop := c.write()
	defer stop()
	leads := c.leader()
	eventually(t, "the other servers have been copied", func() bool {
		return !slices.ContainsFunc(c.nodes, func(s *node) bool { return s != leads && !c.follows(s, leads) })
	})
	must(t, leads.cmd.Process.Signal(syscall.SIGSTOP))
	paused := time.Now()
	next := c.leader()
	must(t, leads.cmd.Process.Signal(syscall.SIGCONT))
	eventually(t, "the paused server follows", func() bool { return c.follows(leads, next) })
	c.leader()
	c.check(next)
	for _, a := range c.acks.all() {
		if a.server == leads.addr && a.began.After(paused) {
			t.Errorf("%s was paused, and has acknowledged %s, which began later, in epoch %d", a.server, a.row, a.epoch)
		}
	}
}

// A server that cannot reach etcd stops taking writes by itself, and goes on serving reads.
// Another one takes over, and the first one follows it.
func TestALeaderWithoutEtcd(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 3, "strict")
	stop := c.write()
	defer stop()
	leads := c.leader()
	leads.etcd.set(false)
	next := c.leader()
	if next == leads {
		next = c.leader()
	}
	eventually(t, "another server leads", func() bool { next = c.leader(); return next != leads })
	leads.etcd.set(true)
	eventually(t, "the first server follows", func() bool { return c.follows(leads, next) })
	c.check(next)
}

// Without etcd no server takes writes, and no standby is promoted. All say so, and serve
// reads. When etcd is there again, writes go on, in the same epoch if the same server leads.
func TestNobodyHasEtcd(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 2, "strict")
	stop := c.write()
	leads := c.leader()
	for _, s := range c.nodes {
		s.etcd.set(false)
	}
	eventually(t, "writes are refused", func() bool {
		_, err := c.put(t.Context(), leads, "refused")
		return err != nil && strings.Contains(err.Error(), "does not hold the lease") && strings.Contains(err.Error(), "cannot reach etcd")
	})
	stop()
	all := c.acks.all()
	last := all[len(all)-1]
	if n := len(c.rows(leads)); n < len(all) {
		t.Errorf("%d rows are read of %d", n, len(all))
	}
	if says := c.tell("replicas", "--addr", leads.addr); !strings.Contains(says, "no server holds the lease") || !strings.Contains(says, "etcd does not answer") {
		t.Errorf("replicas: %q", says)
	}
	if says := page(t, leads, "/readyz"); !strings.Contains(says, "takes no writes now: this server does not hold the lease") {
		t.Errorf("readyz: %q", says)
	}
	if says := page(t, leads, "/metrics"); !strings.Contains(says, "smolwc_lease_held 0") || !strings.Contains(says, "smolwc_lease_judge_connected 0") {
		t.Errorf("the metrics do not show the lease: %q", says)
	}
	for _, s := range c.nodes {
		s.etcd.set(true)
	}
	stop = c.write()
	defer stop()
	next := c.leader()
	all = c.acks.all()
	if now := all[len(all)-1]; (now.epoch == last.epoch) != (now.server == last.server) {
		t.Errorf("%s has acknowledged in epoch %d, and %s in epoch %d", last.server, last.epoch, now.server, now.epoch)
	}
	c.check(next)
	eventually(t, "the metrics show the lease", func() bool {
		return strings.Contains(page(t, next, "/metrics"), "smolwc_lease_held 1") && page(t, next, "/readyz") == "ok\n"
	})
}

// page gets a page for operators.
func page(t *testing.T, s *node, path string) string {
	t.Helper()
	resp, err := http.Get("http://" + s.pages + path)
	if err != nil {
		return err.Error() // the server changes its role
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	must(t, err)
	return string(text)
}

// A server that is stopped gives the lead back at once, and loses nothing. Servers that were
// all killed go on with one of those that have everything.
func TestStoppedAndKilledTogether(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 3, "strict")
	stop := c.write()
	defer stop()
	leads := c.leader()
	c.stop(leads)
	next := c.leader()
	c.check(next)
	c.start(leads)
	eventually(t, "the stopped server follows", func() bool { return c.follows(leads, next) })
	if says := c.tell("promote", "--addr", leads.addr); !strings.Contains(says, "etcd says which server leads; stop the one that does") {
		t.Errorf("promote: %q", says)
	}
	c.leader()
	for _, s := range c.nodes {
		c.kill(s)
	}
	c.tidy()
	for _, s := range c.nodes {
		c.start(s)
	}
	c.check(c.leader())
}

// Whatever happens to servers, one after the other: no two of them acknowledge at a time,
// and no acknowledged write is lost.
func TestFlapping(t *testing.T) {
	t.Parallel()
	if *seed == 0 {
		*seed = rand.Uint64()
	}
	t.Logf("-seed %d", *seed)
	r := rand.New(rand.NewPCG(*seed, 0))
	c := newCluster(t, 3, "strict")
	stop := c.write()
	defer stop()
	for range *flaps {
		leads := c.leader()
		s := leads
		if r.IntN(3) == 0 {
			s = c.nodes[r.IntN(len(c.nodes))]
		}
		c.tidy()
		wait := func() { time.Sleep(time.Duration(r.IntN(2500)) * time.Millisecond) } // around the lease's time
		switch r.IntN(4) {
		case 0:
			c.kill(s)
			wait()
			c.start(s)
		case 1:
			must(t, s.cmd.Process.Signal(syscall.SIGSTOP))
			wait()
			must(t, s.cmd.Process.Signal(syscall.SIGCONT))
		case 2:
			s.etcd.set(false)
			wait()
			s.etcd.set(true)
		case 3:
			c.stop(s)
			wait()
			c.start(s)
		}
		c.check(c.leader())
	}
	if !slices.ContainsFunc(c.acks.all(), func(a ack) bool { return a.epoch > 0 }) {
		t.Error("no write says its epoch")
	}
}

// A server that takes over and cannot serve ends, so that it does not hold the lease for
// nothing. It leads when it is started as it should be.
func TestATakeoverThatCannotBeServed(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 2, "off")
	leads, next := c.nodes[0], c.nodes[1]
	if c.follows(leads, next) {
		leads, next = next, leads
	}
	eventually(t, "the other server follows", func() bool { return c.follows(next, leads) })
	c.kill(next)
	c.start(next, "--backup", filepath.Join(next.dir, "backups"))
	eventually(t, "the other server follows again", func() bool { return c.follows(next, leads) })
	next.ends.Store(true)
	c.kill(leads)
	next.said.Wait()
	if err := next.cmd.Wait(); err == nil {
		t.Error("a server that cannot make its backups ends without an error")
	}
	next.cmd = nil
	c.start(next)
	eventually(t, "the server leads", func() bool {
		return strings.Contains(c.tell("replicas", "--addr", next.addr), "is a primary: epoch 2")
	})
}

// Standbys compare themselves with the server that leads on a schedule.
func TestAScheduleOfVerifications(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 2, "off")
	leads, next := c.nodes[0], c.nodes[1]
	if c.follows(leads, next) {
		leads, next = next, leads
	}
	eventually(t, "the other server follows", func() bool { return c.follows(next, leads) })
	c.kill(next)
	c.start(next, "--standby-verify-every", "1d")
	eventually(t, "the standby was compared", func() bool {
		return strings.Contains(c.tell("replicas", "--addr", next.addr), ": equal at position ")
	})
}
