package etcdtest

import (
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
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
		c.check()
		c.tidy()
		c.start(leads)
		eventually(t, "the killed server follows", func() bool { return c.follows(leads) })
	}
}

// With two acknowledgements, the server that leads and the standby with the most are killed at one
// time: another one takes over, and has each write that was acknowledged. It acknowledges nothing
// before two standbys follow it.
func TestTheLeaderAndAStandbyAreKilled(t *testing.T) {
	for _, n := range []int{3, 4} {
		t.Run(fmt.Sprint(n, " servers"), func(t *testing.T) {
			t.Parallel()
			c := newCluster(t, n, "strict", "--semi-sync-acks", "2")
			stop := c.write()
			defer stop()
			for range *kills {
				lead := c.leader()
				var most *node
				eventually(t, "the leader shows its standbys", func() bool { most = c.furthest(lead); return most != nil })
				for _, s := range []*node{lead, most} {
					s.ends.Store(true)
					must(t, s.cmd.Process.Kill())
				}
				acknowledged := c.acks.all()
				c.kill(lead)
				c.kill(most)
				var next *node
				eventually(t, "another server leads", func() bool {
					i := slices.IndexFunc(c.nodes, func(s *node) bool {
						return s.cmd != nil && strings.Contains(c.tell("replicas", "--addr", s.addr), "it holds the lease")
					})
					if i >= 0 {
						next = c.nodes[i]
					}
					return i >= 0
				})
				if says := c.tell("replicas", "--addr", next.addr); !strings.Contains(says, "each write waits for 2 standbys, and only ") {
					t.Errorf("replicas: %q", says)
				}
				c.tidy()
				c.start(lead)
				c.start(most)
				// Before two follow it, it also shows no write that it has taken meanwhile.
				var rows map[string]bool
				eventually(t, "the rows are read", func() bool {
					var err error
					rows, err = c.rows(next)
					return err == nil
				})
				for _, a := range acknowledged {
					if !rows[a.row] {
						t.Fatalf("%s has acknowledged %s, and %s does not have it", a.server, a.row, next.addr)
					}
				}
				c.check()
			}
		})
	}
}

// furthest is the standby of a server that has the most on its disk, nil if the server does not say.
func (c *cluster) furthest(lead *node) (most *node) {
	best := -1
	for line := range strings.Lines(c.tell("replicas", "--addr", lead.addr)) {
		fields := strings.Fields(line)
		i := slices.IndexFunc(c.nodes, func(s *node) bool { return len(fields) == 8 && s.addr == fields[0] })
		if i < 0 {
			continue
		}
		if at, err := strconv.Atoi(fields[3]); err == nil && at > best {
			most, best = c.nodes[i], at
		}
	}
	return most
}

// What smolwc replicas says of a standby that is connected, and of a primary.
var (
	standby = regexp.MustCompile(`is a standby of \S+: connected`)
	primary = regexp.MustCompile(`is a primary: epoch [2-9]`)
)

// follows reports whether a server is a standby of another one.
func (c *cluster) follows(s *node) bool {
	return standby.MatchString(c.tell("replicas", "--addr", s.addr))
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
	eventually(t, "the other servers have been copied", func() bool {
		follow := 0
		for _, s := range c.nodes {
			if c.follows(s) {
				follow++
			}
		}
		return follow == len(c.nodes)-1
	})
	leads := c.leader()
	must(t, leads.cmd.Process.Signal(syscall.SIGSTOP))
	paused := time.Now()
	next := c.leader()
	must(t, leads.cmd.Process.Signal(syscall.SIGCONT))
	eventually(t, "the paused server follows", func() bool { return c.follows(leads) })
	c.leader()
	c.check()
	taken := slices.IndexFunc(c.acks.all(), func(a ack) bool { return a.server == next.addr && a.began.After(paused) })
	for all := c.acks.all(); len(all) > 0; all = all[1:] {
		if a := all[0]; a.server == leads.addr && a.began.After(paused) && a.epoch < c.acks.all()[taken].epoch {
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
	eventually(t, "another server leads", func() bool { return c.leader() != leads })
	leads.etcd.set(true)
	eventually(t, "the first server follows", func() bool { return c.follows(leads) })
	c.check()
}

// Without etcd no server takes writes, and no standby is promoted. All say so, and serve
// reads. When etcd is there again, writes go on, in the same epoch if the same server leads.
func TestNobodyHasEtcd(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 2, "strict")
	stop := c.write()
	gates := func(open bool) {
		for _, s := range c.nodes {
			s.etcd.set(open)
		}
	}
	leads := c.leader()
	gates(false)
	tries := 0
	eventually(t, "the server that led refuses writes", func() bool {
		for _, s := range c.nodes {
			if _, err := c.put(t.Context(), s, "refused"); err != nil && strings.Contains(err.Error(), "does not hold the lease") && strings.Contains(err.Error(), "cannot reach etcd") {
				leads = s
				return true
			}
		}
		if tries++; tries%100 == 0 { // another server was just about to lead
			gates(true)
			c.leader()
			gates(false)
		}
		return false
	})
	stop()
	last := c.last()
	rows, err := c.rows(leads)
	must(t, err)
	if all := c.acks.all(); len(rows) < len(all) {
		t.Errorf("%d rows are read of %d", len(rows), len(all))
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
	gates(true)
	stop = c.write()
	defer stop()
	c.leader()
	if now := c.last(); now.server == last.server && now.epoch == last.epoch+1 {
		t.Errorf("%s has acknowledged in epochs %d and %d, and no other server led between", now.server, last.epoch, now.epoch)
	}
	c.check()
	eventually(t, "the metrics show the lease", func() bool {
		next := c.leader()
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
	c.leader()
	c.check()
	c.start(leads)
	eventually(t, "the stopped server follows", func() bool { return c.follows(leads) })
	eventually(t, "the stopped server is not promoted by hand", func() bool {
		return strings.Contains(c.tell("promote", "--addr", leads.addr), "etcd says which server leads; stop the one that does")
	})
	c.leader()
	for _, s := range c.nodes {
		c.kill(s)
	}
	c.tidy()
	for _, s := range c.nodes {
		c.start(s)
	}
	c.leader()
	c.check()
}

// Whatever happens to servers, one after the other: no two of them acknowledge at a time, no
// acknowledged write is lost, and one order explains what all clients were told by servers
// that led.
func TestFlapping(t *testing.T) {
	if *seed == 0 {
		*seed = rand.Uint64()
	}
	t.Logf("-seed %d", *seed)
	for acks := 1; acks <= 2; acks++ {
		t.Run(fmt.Sprint("acks=", acks), func(t *testing.T) {
			t.Parallel()
			flap(t, acks)
		})
	}
}

// flap disturbs one server after the other; any one of them may be missing.
func flap(t *testing.T, acks int) {
	r := rand.New(rand.NewPCG(*seed, uint64(acks-1)))
	c := newCluster(t, acks+2, "strict", "--semi-sync-acks", fmt.Sprint(acks))
	stop := c.write()
	defer stop()
	calls := c.call()
	for range *flaps {
		calls.round.Add(1)
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
		c.leader()
		c.check()
	}
	calls.check(t)
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
	eventually(t, "one server follows the other", func() bool {
		leads, next = next, leads
		return c.follows(next)
	})
	c.kill(next)
	c.start(next, "--backup", filepath.Join(next.dir, "backups"))
	next.ends.Store(true)
	ended := make(chan error, 1)
	go func() { next.said.Wait(); ended <- next.cmd.Wait() }()
	eventually(t, "the other server follows again, or has taken over", func() bool { return c.follows(next) || len(ended) > 0 })
	c.kill(leads)
	if <-ended == nil {
		t.Error("a server that cannot make its backups ends without an error")
	}
	next.cmd = nil
	c.start(next)
	eventually(t, "the server leads", func() bool {
		return primary.MatchString(c.tell("replicas", "--addr", next.addr))
	})
}

// Standbys compare themselves with the server that leads on a schedule.
func TestAScheduleOfVerifications(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 2, "off", "--standby-verify-every", "1d")
	eventually(t, "the standby was compared", func() bool {
		return slices.ContainsFunc(c.nodes, func(s *node) bool {
			return strings.Contains(c.tell("replicas", "--addr", s.addr), ": equal at position ")
		})
	})
}
