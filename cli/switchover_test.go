package cli

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/client"
	"github.com/smolwc/smolwc/query/write"
)

var switchovers = flag.Int("switchovers", 3, "hand over `N` times while clients write")

// switchLoad is clients that write rows through a router, one after the other.
type switchLoad struct {
	acknowledged atomic.Int64
	refused      atomic.Int64 // the longest time from a first refusal to the acknowledgement, in nanoseconds
	mu           sync.Mutex
	keys         []string // of rows that were acknowledged
}

func (l *switchLoad) run(ctx context.Context, t *testing.T, name, addr string) {
	db, err := client.Dial(addr, client.Options{})
	if err != nil {
		t.Error(err)
		return
	}
	defer func() { _ = db.Close() }() // no call is running
	for i := 0; ctx.Err() == nil; i++ {
		key := fmt.Sprintf("%s-%06d", name, i)
		var since time.Time
		for ctx.Err() == nil {
			m := write.NewMutation()
			m.Set("meta", "x", cells.Bytes([]byte(key)))
			if err := db.Table("fleet").Apply(ctx, key, m); err == nil {
				l.mu.Lock()
				l.keys = append(l.keys, key)
				l.mu.Unlock()
				l.acknowledged.Add(1)
				break
			}
			if since.IsZero() {
				since = time.Now()
			}
			time.Sleep(2 * time.Millisecond)
		}
		if !since.IsZero() && ctx.Err() == nil {
			l.refused.Store(max(l.refused.Load(), int64(time.Since(since))))
		}
	}
}

// more waits until some more rows are acknowledged.
func (l *switchLoad) more(t *testing.T) {
	t.Helper()
	want := l.acknowledged.Load() + 50
	for end := time.Now().Add(time.Minute); l.acknowledged.Load() < want; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("after a minute the clients have not gone on")
		}
	}
}

// Two servers change their roles again and again while clients write through a router: each
// acknowledged row is there in the end at both, and no directory was copied.
func TestSwitchovers(t *testing.T) {
	dir := t.TempDir()
	a := startServer(t, "--db", filepath.Join(dir, "a"))
	tell(t, "--addr", a.addr, "-c", "create table fleet family meta")
	b := startServer(t, "--db", filepath.Join(dir, "b"), "--standby-of", a.addr)
	await(t, "standby of "+a.addr+": connected", "replicas", "--addr", b.addr)
	file := filepath.Join(dir, "map.json")
	if err := os.WriteFile(file, fmt.Appendf(nil, `{"local": {"num_shards": 1, %q: ["00000:M"], %q: ["00000:S"]}}`, a.addr+":az_0", b.addr+":az_1"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := start(t, "route", "routing by ", "--map", file, "--http", "127.0.0.1:0")
	load := new(switchLoad)
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	for i := range 4 {
		running.Go(func() { load.run(ctx, t, fmt.Sprint("w", i), r.addr) })
	}
	lead, other := a, b
	for n := range *switchovers {
		load.more(t)
		if got := tell(t, "switchover", "--to", other.addr, "--map", file); !strings.Contains(got, other.addr+" is the primary: epoch") || !strings.Contains(got, lead.addr+" is its standby") {
			t.Fatalf("switchover %d: %q", n, got)
		}
		lead, other = other, lead
	}
	load.more(t)
	stop()
	running.Wait()
	t.Logf("%d rows in %d switchovers; writes were refused for %v at most", load.acknowledged.Load(), *switchovers, time.Duration(load.refused.Load()))
	has := func(s *served) int {
		db, err := client.Dial(s.addr, client.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = db.Close() }() // no call is running
		there := map[string]bool{}
		for row, err := range db.Table("fleet").ReadRows(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			there[row.Key()] = true
		}
		n := 0
		for _, key := range load.keys {
			if there[key] {
				n++
			}
		}
		return n
	}
	if n := has(lead); n != len(load.keys) {
		t.Errorf("%d of %d acknowledged rows are there", n, len(load.keys))
	}
	for end := time.Now().Add(time.Minute); has(other) != len(load.keys); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("after a minute the standby has %d of %d rows", has(other), len(load.keys))
		}
	}
	for _, name := range []string{"a", "b"} {
		if _, err := os.Stat(filepath.Join(dir, name+".diverged")); err == nil {
			t.Errorf("%s was rebuilt", name)
		}
	}
	for _, s := range []*served{r, lead, other} {
		if err := s.end(syscall.SIGTERM); err != nil {
			t.Errorf("a process ends with %v", err)
		}
	}
}

// A map that was not changed with a promotion is repaired by the same command, with the map.
func TestPromoteRepairsAMap(t *testing.T) {
	dir := t.TempDir()
	p := startServer(t, "--db", filepath.Join(dir, "p"))
	tell(t, "--addr", p.addr, "-c", "create table fleet family meta")
	s := startServer(t, "--db", filepath.Join(dir, "s"), "--standby-of", p.addr)
	await(t, "standby of "+p.addr+": connected", "replicas", "--addr", s.addr)
	file := filepath.Join(dir, "map.json")
	if err := os.WriteFile(file, fmt.Appendf(nil, `{"local": {"num_shards": 1, %q: ["00000:M"], %q: ["00000:S"]}}`, p.addr+":az_0", s.addr+":az_1"), 0o600); err != nil {
		t.Fatal(err)
	}
	tell(t, "promote", "--addr", s.addr)
	if got := tell(t, "promote", "--addr", s.addr, "--map", file); !strings.Contains(got, "is the primary already: epoch 2") || !strings.Contains(got, s.addr+" leads local") && !strings.Contains(got, s.addr+" leads projects/local/instances/local") {
		t.Errorf("promote: %q", got)
	}
	if got := tell(t, "route", "check", "--map", file); !strings.Contains(got, "primary") {
		t.Errorf("the check of the map: %q", got)
	}
}

// A switchover that cannot be says why, and the primary goes on.
func TestASwitchoverThatCannotBe(t *testing.T) {
	dir := t.TempDir()
	p := startServer(t, "--db", filepath.Join(dir, "p"))
	tell(t, "--addr", p.addr, "-c", "create table fleet family meta")
	s := startServer(t, "--db", filepath.Join(dir, "s"), "--standby-of", p.addr)
	stranger := startServer(t, "--db", filepath.Join(dir, "x"))
	behind := startServer(t, "--db", filepath.Join(dir, "y"), "--standby-of", stranger.addr)
	await(t, "standby of "+stranger.addr+": connected", "replicas", "--addr", behind.addr)
	await(t, "standby of "+p.addr+": connected", "replicas", "--addr", s.addr)
	for _, c := range []struct{ want, args string }{
		{"--to is missing", ""},
		{"want HOST:PORT", "--to db2"},
		{"is no standby; nothing was changed", "--to " + p.addr},
		{"does not follow this server", "--addr " + p.addr + " --to " + behind.addr},
		{"is a standby, and only a primary hands over", "--addr " + s.addr + " --to " + s.addr},
		{"--map: ", "--to " + s.addr + " --map " + filepath.Join(dir, "none.json")},
	} {
		if got := tell(t, append([]string{"switchover"}, strings.Fields(c.args)...)...); !strings.Contains(got, c.want) {
			t.Errorf("switchover %s: %q; want %q", c.args, got, c.want)
		}
	}
	if got := tell(t, "--addr", p.addr, "-c", "put fleet a meta:x=goes; get fleet a"); !strings.Contains(got, "goes") {
		t.Errorf("a write to the primary: %q", got)
	}
}
