package etcdtest

import (
	"context"
	"flag"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

var switchovers = flag.Int("switchovers", 2, "hand over `N` times while clients write")

// switchover hands over to a server, and returns what smolwc says.
func (c *cluster) switchover(to *node) string {
	ctx, cancel := context.WithTimeout(c.t.Context(), time.Minute)
	defer cancel()
	out, _ := c.command(ctx, "switchover", "--to", to.addr).CombinedOutput() // the text says whether it failed
	return string(out)
}

// The lease goes to the standby that is named, in each mode: it has each row that was acknowledged,
// the server that led follows it, and nothing is copied.
func TestSwitchovers(t *testing.T) {
	for _, mode := range []string{"strict", "off"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			c := newCluster(t, 3, mode)
			stop := c.write()
			defer stop()
			for range *switchovers {
				lead := c.leader()
				to := c.nodes[(slices.Index(c.nodes, lead)+1)%len(c.nodes)]
				eventually(t, "the standby follows", func() bool { return c.follows(to) })
				if got := c.switchover(to); !strings.Contains(got, to.addr+" is the primary: epoch") || !strings.Contains(got, lead.addr+" is its standby") {
					t.Fatalf("switchover: %s", got)
				}
				eventually(t, "the standby leads", func() bool { return c.leader() == to })
				if got := c.tell("replicas", "--addr", to.addr); strings.Contains(got, "could not fence") {
					t.Errorf("a false alarm: %s", got)
				}
				c.check()
			}
			eventually(t, "the server that leads gives its rows", c.complete)
			if kept, _ := filepath.Glob(filepath.Dir(c.nodes[0].dir) + "/*.diverged*"); len(kept) > 0 {
				t.Errorf("rebuilt: %v", kept)
			}
		})
	}
}

// The standby of an asynchronous leader was not there for its last writes, and comes back while the
// leader stops: it leads with all of them.
func TestAnAsynchronousLeaderThatStopsWaitsForAStandby(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 2, "off", "--grace", "1m")
	stop := c.write()
	lead := c.leader()
	other := c.nodes[1-slices.Index(c.nodes, lead)]
	eventually(t, "the standby follows", func() bool { return c.follows(other) })
	c.kill(other)
	c.leader() // which acknowledges more
	stop()
	acknowledged := c.acks.all()
	lead.ends.Store(true)
	must(t, lead.cmd.Process.Signal(syscall.SIGTERM))
	c.start(other)
	lead.said.Wait()
	if err := lead.cmd.Wait(); err != nil {
		t.Errorf("the leader ends with %v", err)
	}
	lead.cmd = nil
	eventually(t, "the standby leads", func() bool { return primary.MatchString(c.tell("replicas", "--addr", other.addr)) })
	var rows map[string]bool
	eventually(t, "the standby gives its rows", func() (read bool) {
		var err error
		rows, err = c.rows(other)
		return err == nil
	})
	for _, a := range acknowledged {
		if !rows[a.row] {
			t.Fatalf("%s is lost; %d of %d rows are there", a.row, len(rows), len(acknowledged))
		}
	}
}
