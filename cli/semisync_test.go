package cli

import (
	"context"
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

// A strict server starts with a schema and without a standby, writes nothing until there is
// one, and then waits for it.
func TestServeSemiSync(t *testing.T) {
	dir := t.TempDir()
	settings := filepath.Join(dir, "smolwc.yaml")
	if err := os.WriteFile(settings, []byte("data_dir: "+filepath.Join(dir, "p")+"\ntables:\n  - name: fleet\n    families:\n      - name: meta\n        type: string\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	p := startServer(t, "--config", settings, "--semi-sync", "strict", "--semi-sync-timeout", "50ms", "--http", "127.0.0.1:0")
	if got := tell(t, "--addr", p.addr, "-c", "put fleet a meta:x=hello"); !strings.Contains(got, "nothing was written, since no standby is connected") {
		t.Errorf("a write without a standby: %q", got)
	}
	if got := tell(t, "--addr", p.addr, "-c", "begin; put fleet a meta:x=hello; commit"); !strings.Contains(got, "nothing was written, since no standby is connected") {
		t.Errorf("a batch without a standby: %q", got)
	}
	observer := startServer(t, "--db", filepath.Join(dir, "o"), "--standby-of", p.addr, "--standby-name", "watching", "--standby-observer")
	await(t, "watching (observer)", "replicas", "--addr", p.addr)
	if got := tell(t, "--addr", p.addr, "-c", "put fleet a meta:x=hello"); !strings.Contains(got, "nothing was written, since no standby is connected") {
		t.Errorf("a write with an observer alone: %q", got)
	}
	s := startServer(t, "--db", filepath.Join(dir, "s"), "--standby-of", p.addr, "--semi-sync", "degrade")
	await(t, "127.0.0.1", "replicas", "--addr", p.addr)
	await(t, "hello", "--addr", p.addr, "-c", "put fleet a meta:x=hello; get fleet a")
	if got := tell(t, "--addr", s.addr, "-c", "get fleet a"); !strings.Contains(got, "hello") {
		t.Errorf("the standby has %q", got)
	}
	if got := tell(t, "replicas", "--addr", p.addr); !strings.Contains(got, "semi-sync strict: each write waits for a standby; 0 returned without one") {
		t.Errorf("replicas: %q", got)
	}
	if text := page(t, p.pages); !strings.Contains(text, "smolwc_semi_sync_degraded 0") || !strings.Contains(text, "smolwc_semi_sync_unacknowledged_total 0") {
		t.Error("the metrics do not show semi-sync")
	}
	for _, one := range []*served{p, observer} {
		if err := one.end(syscall.SIGTERM); err != nil {
			t.Errorf("a server ends with %v", err)
		}
	}
	if got := tell(t, "promote", "--addr", s.addr); !strings.Contains(got, "is the primary: epoch 2") {
		t.Errorf("promote: %q", got)
	}
	await(t, "semi-sync degrade is degraded: writes return without a standby", "replicas", "--addr", s.addr)
	for args, want := range map[string]string{
		"--semi-sync sometimes":                     `the mode is "sometimes"; want off, degrade or strict`,
		"--semi-sync strict --standby-log 0":        "leave one of them out",
		"--semi-sync strict --semi-sync-acks 0":     "--semi-sync-acks is 0; want the number of standbys that must have a write, 1 or more",
		"--semi-sync strict --semi-sync-acks -2":    "--semi-sync-acks is -2; want",
		"--semi-sync-acks 2":                        "--semi-sync is off; give it strict or degrade",
		"--semi-sync strict --semi-sync-timeout 0s": "want more than 0",
		"--standby-observer":                        "name it with --standby-of",
	} {
		if got := tell(t, append([]string{"serve", "--db", filepath.Join(dir, "none"), "--addr", "127.0.0.1:0"}, strings.Fields(args)...)...); !strings.Contains(got, want) {
			t.Errorf("serve %s: %q", args, got)
		}
	}
}

// Clients with one session see at a standby what they have written at its primary.
func TestASessionReadsItsWritesAtAStandby(t *testing.T) {
	dir, ctx := t.TempDir(), context.Background()
	p := startServer(t, "--db", filepath.Join(dir, "p"), "--semi-sync-timeout", "2s")
	tell(t, "--addr", p.addr, "-c", "create table fleet family meta")
	s := startServer(t, "--db", filepath.Join(dir, "s"), "--standby-of", p.addr)
	session := new(client.Session)
	var ends []*client.Client
	for _, addr := range []string{p.addr, s.addr} {
		c, err := client.Dial(addr, client.Options{Session: session})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		ends = append(ends, c)
	}
	for i := range int64(50) {
		m := write.NewMutation()
		m.Set("meta", "x", cells.String(strings.Repeat("x", int(i))))
		if _, err := ends[0].Table("fleet").ApplyBulk(ctx, []string{"a"}, []*write.Mutation{m}); err != nil {
			t.Fatal(err)
		}
		for row, err := range ends[1].Table("fleet").ReadRows(ctx) {
			if err != nil || len(row.Text("meta", "x")) != int(i) {
				t.Fatalf("write %d at position %s: the standby has %v, %v", i, session.Position(), row, err)
			}
		}
	}
	m := write.NewMutation()
	m.Set("meta", "x", cells.String("batch"))
	if err := ends[0].Apply(ctx, write.NewBatch().Add("fleet", "a", m).Add("fleet", "b", m)); err != nil {
		t.Fatal(err)
	}
	if n, err := ends[1].Table("fleet").Count(ctx); err != nil || n.Rows != 2 {
		t.Errorf("after a batch the standby has %d rows, %v", n.Rows, err)
	}
	later := new(client.Session)
	if err := later.Follow("1-x"); err == nil {
		t.Error("a text that is no position was followed")
	}
	if err := later.Follow(session.Position()); err != nil || later.Position() != session.Position() {
		t.Errorf("a later session is at %s: %v", later.Position(), err)
	}
	m.Reset()
	m.Set("meta", "x", cells.String("async"))
	for _, mode := range []string{"off", "degrade", "strict"} {
		if err := ends[0].Table("fleet").Apply(client.SemiSync(ctx, mode), "a", m); err != nil {
			t.Errorf("a write with %s: %v", mode, err)
		}
	}
	if err := ends[0].Table("fleet").Apply(client.SemiSync(ctx, "sometimes"), "a", m); err == nil || !strings.Contains(err.Error(), `the mode is "sometimes"; want off, degrade or strict`) {
		t.Errorf("a write with a mode that does not exist: %v", err)
	}
	if err := s.end(syscall.SIGTERM); err != nil {
		t.Error(err)
	}
	if err := ends[0].Table("fleet").Apply(client.SemiSync(ctx, "strict"), "a", m); err == nil || !strings.Contains(err.Error(), "nothing was written") {
		t.Errorf("a strict write without a standby: %v", err)
	}
}

// A server that is stopped first lets the writes under way be acknowledged: the outcome of
// none of them is unknown.
func TestStoppingAStrictServer(t *testing.T) {
	dir, ctx := t.TempDir(), context.Background()
	p := startServer(t, "--db", filepath.Join(dir, "p"))
	tell(t, "--addr", p.addr, "-c", "create table fleet family meta")
	if err := p.end(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	p = startServer(t, "--db", filepath.Join(dir, "p"), "--semi-sync", "strict", "--semi-sync-timeout", "1h")
	startServer(t, "--db", filepath.Join(dir, "s"), "--standby-of", p.addr, "--standby-name", "second")
	await(t, "second", "replicas", "--addr", p.addr) // else nothing is written
	c, err := client.Dial(p.addr, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var writers sync.WaitGroup
	var written atomic.Int64
	for w := range 8 {
		writers.Go(func() {
			for {
				m := write.NewMutation()
				m.Set("meta", "x", cells.String("v"))
				if err := c.Table("fleet").Apply(ctx, string(rune('a'+w)), m); err != nil {
					if text := err.Error(); strings.Contains(text, "outcome") || strings.Contains(text, "no standby") || strings.Contains(text, "acknowledged") {
						t.Errorf("after %d writes: %v", written.Load(), err)
					}
					return
				}
				written.Add(1)
			}
		})
	}
	for written.Load() < 200 && !t.Failed() {
		time.Sleep(time.Millisecond)
	}
	if err := p.end(syscall.SIGTERM); err != nil {
		t.Errorf("the server ends with %v", err)
	}
	writers.Wait()
}
