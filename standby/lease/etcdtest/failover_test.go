package etcdtest

import (
	"flag"
	"math/rand/v2"
	"testing"
)

var kills = flag.Int("kills", 3, "kill the server that leads `N` times")

// Servers that lead are killed, one after the other: another one takes over, has each write
// that was acknowledged, and the one that was killed follows it when it is there again.
func TestKilledLeaders(t *testing.T) {
	c := newCluster(t, 3, "strict")
	stop := c.write()
	for range *kills {
		leads := c.leader()
		c.kill(leads)
		next := c.leader()
		if next == leads {
			t.Fatalf("%s was killed and leads", next.addr)
		}
		c.check(next)
		c.tidy()
		c.start(leads)
		if rand.IntN(2) == 0 {
			c.leader()
		}
	}
	stop()
}
