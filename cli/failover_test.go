package cli

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/smolwc/smolwc/client"
	"github.com/smolwc/smolwc/internal/badnet"
	"github.com/smolwc/smolwc/internal/testaddr"
	"github.com/smolwc/smolwc/schema"
)

var (
	failovers    = flag.Int("kills", 3, "promote a standby `N` times, on a network that fails")
	failoverSeed = flag.Uint64("kill-seed", 0, "fail as in an earlier run; 0 is a new `SEED`")
	failoverGap  = flag.Duration("kill-every", 0, "let the clients work for at least `TIME` between two promotions")
)

// A pairing is a server and its standby, which change places, and the networks in front of
// both: one for the other server, and one for clients.
type pairing struct {
	t      *testing.T
	random *rand.Rand
	nodes  [2]*member
	told   *ledger
	took   []time.Duration // of promotions
}

// A member is one of two servers.
type member struct {
	dir, addr  string
	link, door *badnet.Proxy // for the other server, for clients
	process    *exec.Cmd     // nil while it is down
	ended      chan struct{}
}

func newPairing(t *testing.T, seed uint64) *pairing {
	p := &pairing{t: t, random: rand.New(rand.NewPCG(seed, 0)), told: newLedger()}
	for i := range p.nodes {
		n := &member{dir: filepath.Join(t.TempDir(), fmt.Sprint(i)), addr: testaddr.New(t)}
		var err error
		if n.link, err = badnet.New(n.addr, p.random.Uint64()); err == nil {
			n.door, err = badnet.New(n.addr, p.random.Uint64())
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { n.kill(); _ = n.link.Close(); _ = n.door.Close() })
		p.nodes[i] = n
	}
	return p
}

// start starts a server, as a standby of another one or as a primary, and waits until it
// serves. The error has what it says when it ends instead.
func (n *member) start(of *member) error {
	serves, err := n.begin(of)
	if err != nil {
		return err
	}
	ended := func(what string) error {
		text, _ := os.ReadFile(n.dir + ".log")
		return fmt.Errorf("%s: %s", what, text)
	}
	select {
	case <-serves:
		return nil
	case <-n.ended:
		return ended("the server has ended")
	case <-time.After(5 * time.Minute):
		return ended("after five minutes the server does not serve")
	}
}

// begin starts a server. The channel is closed when it serves.
func (n *member) begin(of *member) (serves chan struct{}, err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	n.process = exec.Command(self, "serve", "--db", n.dir, "--addr", n.addr, "--memory", "16MiB", "--semi-sync", "strict", "--semi-sync-timeout", "500ms")
	if of != nil {
		n.process.Args = append(n.process.Args, "--standby-of", of.link.Addr(), "--standby-name", "other")
	}
	n.process.Env = append(os.Environ(), beSmolwc+"=1")
	said, err := os.Create(n.dir + ".log")
	if err != nil {
		return nil, err
	}
	defer said.Close()
	n.process.Stderr = said
	serves, n.ended, err = launch(n.process)
	return serves, err
}

// launch starts a server. One channel is closed when it serves, the other one when it has ended.
func launch(cmd *exec.Cmd) (serves, ended chan struct{}, err error) {
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return nil, nil, err
	}
	serves, ended = make(chan struct{}), make(chan struct{})
	go func() {
		lines := bufio.NewReader(out)
		for line, err := lines.ReadString('\n'); err == nil; line, err = lines.ReadString('\n') {
			if strings.HasPrefix(line, "serving ") {
				close(serves)
				break
			}
		}
		_, _ = io.Copy(io.Discard, lines)
		_ = cmd.Wait() // how it ended does not matter
		close(ended)
	}()
	return serves, ended, nil
}

// kill ends a server as kill -9 does.
func (n *member) kill() {
	if n.process == nil {
		return
	}
	_ = n.process.Process.Kill() // it may have ended
	<-n.ended
	n.process = nil
}

// heal lets everything pass again.
func (n *member) heal() {
	for _, p := range []*badnet.Proxy{n.link, n.door} {
		p.Set(badnet.Up, badnet.Line{})
		p.Set(badnet.Down, badnet.Line{})
	}
}

// ask calls a server past all networks.
func ask[T any](n *member, call func(context.Context, *client.Client) (T, error)) (T, error) {
	c, err := client.Dial(n.addr, client.Options{})
	if err != nil {
		panic(err) // the address is right
	}
	defer func() { _ = c.Close() }() // no call is running
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	return call(ctx, c)
}

func (n *member) replicas() (client.Replicas, error) {
	return ask(n, func(ctx context.Context, c *client.Client) (client.Replicas, error) { return c.Replicas(ctx) })
}

// until waits for a condition.
func (p *pairing) until(what string, holds func() bool) {
	p.t.Helper()
	for began := time.Now(); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Since(began) > 3*time.Minute {
			for i, n := range p.nodes {
				text, _ := os.ReadFile(n.dir + ".log")
				is, err := n.replicas()
				p.t.Logf("server %d is %+v (%v) and has said:\n%s", i, is, err, text[max(0, len(text)-4000):])
			}
			p.t.Fatalf("after three minutes: %s", what)
		}
	}
}

// working waits until the clients have made a number of writes more.
func (p *pairing) working(more int64) {
	p.t.Helper()
	goal := p.told.acknowledged.Load() + more
	p.until("no write is acknowledged", func() bool { return p.told.acknowledged.Load() >= goal })
}

// faults are what happens to a pair while it works. The network heals afterwards.
var faults = map[string]func(p *pairing, lead, other *member){
	"the link is cut":              func(_ *pairing, lead, _ *member) { lead.link.Cut() },
	"the link is slow":             func(_ *pairing, lead, _ *member) { lead.link.Set(badnet.Down, badnet.Line{Rate: 20_000}) },
	"the link is late":             func(_ *pairing, lead, _ *member) { lead.link.Set(badnet.Up, badnet.Line{Delay: 20 * time.Millisecond}) },
	"the link is held":             func(_ *pairing, lead, _ *member) { lead.isolate(lead.link, badnet.Up, badnet.Down) },
	"acknowledgements are held":    func(_ *pairing, lead, _ *member) { lead.isolate(lead.link, badnet.Up) },
	"records are held":             func(_ *pairing, lead, _ *member) { lead.isolate(lead.link, badnet.Down) },
	"records are changed":          func(_ *pairing, lead, _ *member) { lead.link.Set(badnet.Down, badnet.Line{Flip: 50_000}) },
	"acknowledgements are changed": func(_ *pairing, lead, _ *member) { lead.link.Set(badnet.Up, badnet.Line{Flip: 5_000}) },
	"clients are cut":              func(_ *pairing, lead, _ *member) { lead.door.Cut() },
	"clients are held":             func(_ *pairing, lead, _ *member) { lead.isolate(lead.door, badnet.Up, badnet.Down) },
	"answers to clients are held":  func(_ *pairing, lead, _ *member) { lead.isolate(lead.door, badnet.Down) },
	"the primary is killed":        func(p *pairing, lead, _ *member) { lead.kill(); p.started(lead, nil) },
	"the standby is killed":        func(p *pairing, lead, other *member) { other.kill(); p.started(other, lead) },
	"both are killed": func(p *pairing, lead, other *member) {
		other.kill()
		lead.kill()
		p.started(lead, nil)
		p.started(other, lead)
	},
	"the standby is killed, no link": func(p *pairing, lead, other *member) {
		lead.link.Set(badnet.Up, badnet.Line{Hold: true})
		other.kill()
		p.started(other, lead)
	},
}

func (n *member) isolate(p *badnet.Proxy, ways ...badnet.Way) {
	for _, w := range ways {
		p.Set(w, badnet.Line{Hold: true})
	}
}

// started starts a server that has to start.
func (p *pairing) started(n, of *member) {
	p.t.Helper()
	if err := n.start(of); err != nil {
		p.t.Fatal(err)
	}
}

// disturb lets some faults happen, one after the other, and heals.
func (p *pairing) disturb(lead, other *member) {
	names := make([]string, 0, len(faults))
	for name := range faults {
		names = append(names, name)
	}
	slices.Sort(names)
	for range 1 + p.random.IntN(3) {
		name := names[p.random.IntN(len(names))]
		p.t.Log(name)
		faults[name](p, lead, other)
		time.Sleep(time.Duration(p.random.IntN(400)) * time.Millisecond) // any moment will do
		if p.random.IntN(2) == 0 {
			lead.link.Cut() // what was held is lost
		}
		lead.heal()
		other.heal()
	}
}

// follows waits until the standby follows, and writes are acknowledged.
func (p *pairing) follows(lead *member) {
	p.t.Helper()
	p.until("the standby does not follow", func() bool {
		is, err := lead.replicas()
		return err == nil && len(is.Replicas) == 1
	})
	p.working(10)
}

// endings are how the time of a primary ends. The clients reach both servers meanwhile.
var endings = map[string]func(lead *member){
	"the primary is killed":     (*member).kill,
	"the primary works":         func(*member) {},
	"the primary is cut off":    func(lead *member) { lead.isolate(lead.link, badnet.Up, badnet.Down) },
	"the primary hears nothing": func(lead *member) { lead.isolate(lead.link, badnet.Up) },
	"nobody reaches the primary": func(lead *member) {
		lead.isolate(lead.link, badnet.Up, badnet.Down)
		lead.isolate(lead.door, badnet.Up)
	},
}

// failover promotes the standby, and makes the primary its standby.
func (p *pairing) failover(lead, other *member) {
	p.t.Helper()
	names := make([]string, 0, len(endings))
	for name := range endings {
		names = append(names, name)
	}
	slices.Sort(names)
	name := names[p.random.IntN(len(names))]
	p.t.Logf("a promotion; %s", name)
	endings[name](lead)
	p.promote(lead, other)
	time.Sleep(time.Duration(p.random.IntN(300)) * time.Millisecond) // two servers, for clients
	if lead.process == nil && p.random.IntN(2) == 0 {
		p.started(lead, nil) // somebody does not know of the promotion
		time.Sleep(time.Duration(p.random.IntN(300)) * time.Millisecond)
	}
	lead.kill()
	lead.heal()
	if err := os.RemoveAll(lead.dir + ".diverged"); err != nil {
		p.t.Fatal(err)
	}
	p.started(lead, other)
}

// promote promotes a standby. If it is being rebuilt, its primary has to come back
// first.
func (p *pairing) promote(lead, other *member) {
	p.t.Helper()
	p.until("the standby is not promoted", func() bool {
		began := time.Now()
		_, err := ask(other, func(ctx context.Context, c *client.Client) (client.Promotion, error) {
			return c.Promote(ctx, other.addr)
		})
		if is, ierr := other.replicas(); ierr == nil && !is.Standby {
			p.took = append(p.took, time.Since(began))
			return true
		}
		p.t.Logf("no promotion yet: %v", err)
		if lead.heal(); lead.process == nil {
			p.started(lead, nil)
		}
		time.Sleep(50 * time.Millisecond)
		return false
	})
}

// Clients write to two servers and read from them while the network between all of them
// fails, the servers are killed, and the standby is promoted again and again. With strict
// semi-sync, one order explains all that clients were told, no acknowledged write is
// missing, positions grow with time over all promotions, and each read at a standby has the
// write whose position it names. -kills is the number of promotions, and
// -kill-every the least time between two.
func TestFailoversOnABadNetwork(t *testing.T) {
	seed := *failoverSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("-kill-seed %d", seed)
	p := newPairing(t, seed)
	p.started(p.nodes[0], nil)
	family := schema.Family{Name: "f", GC: schema.MaxVersions(1)}
	if _, err := ask(p.nodes[0], func(ctx context.Context, c *client.Client) (any, error) {
		return nil, c.CreateTable(client.Async(ctx), schema.Table{Name: "t", Families: []schema.Family{family}})
	}); err != nil {
		t.Fatal(err)
	}
	p.started(p.nodes[1], p.nodes[0])
	stopped, clients := make(chan struct{}), sync.WaitGroup{}
	stop := sync.OnceFunc(func() { close(stopped); clients.Wait() })
	defer stop()
	var hint atomic.Int32
	for i := range 4 {
		c, random := newTeller(t, i, p, &hint), rand.New(rand.NewPCG(seed, uint64(i)))
		clients.Go(func() { c.work(stopped, random) })
	}
	for round := range *failovers {
		lead, other := p.nodes[round%2], p.nodes[(round+1)%2]
		p.follows(lead)
		for began := time.Now(); ; {
			p.disturb(lead, other)
			p.follows(lead)
			if time.Since(began) >= *failoverGap {
				break
			}
		}
		p.failover(lead, other)
		hint.Store(int32((round + 1) % 2))
		if t.Failed() {
			return
		}
	}
	lead := p.nodes[*failovers%2]
	p.follows(lead)
	stop()
	p.told.finish(t, lead)
	slices.Sort(p.took)
	t.Logf("promotions took %v in the middle, and %v at most", p.took[len(p.took)/2], p.took[len(p.took)-1])
}

// While a standby is rebuilt it says so to everybody, and is not promoted. When its
// primary is gone for good meanwhile, it is started again, and promoted with what it had.
func TestPromoteAStandbyThatIsRebuilt(t *testing.T) {
	p := newPairing(t, 1)
	first, second := p.nodes[0], p.nodes[1]
	p.started(first, nil)
	say := func(n *member, what string) string { return tell(t, "--addr", n.addr, "-c", what) }
	p.started(second, first)
	await(t, "other", "replicas", "--addr", first.addr)
	say(first, "create table fleet family meta; put fleet a meta:x=hello")
	value := make([]byte, 60_000) // so that the copy below takes longer than looking at it
	for i := range value {
		value[i] = 'a' + byte(p.random.IntN(26))
	}
	for i := range 5 {
		say(first, fmt.Sprintf("put fleet large%d meta:x=%s", i, value))
	}
	first.link.Set(badnet.Down, badnet.Line{Hold: true})
	if got := say(first, "put fleet b meta:x=alone"); !strings.Contains(got, "no standby has acknowledged") {
		t.Errorf("a write that is held on the way: %q", got)
	}
	if got := tell(t, "promote", "--addr", second.addr); !strings.Contains(got, "is the primary") {
		t.Fatalf("promote: %q", got)
	}
	first.kill()
	second.link.Set(badnet.Down, badnet.Line{Rate: 4000})
	if _, err := first.begin(second); err != nil { // it may lose its rows before it serves them
		t.Fatal(err)
	}
	await(t, "this standby is being rebuilt", "replicas", "--addr", first.addr)
	if got := tell(t, "promote", "--addr", first.addr); !strings.Contains(got, "this standby is being rebuilt; until then it serves nothing and cannot be promoted") {
		t.Errorf("promote: %q", got)
	}
	second.kill()
	first.kill()
	p.started(first, second)
	await(t, "alone", "--addr", first.addr, "-c", "get fleet b")
	if got := tell(t, "promote", "--addr", first.addr); !strings.Contains(got, "is the primary: epoch 2") {
		t.Errorf("promote: %q", got)
	}
}
