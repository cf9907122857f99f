package cli

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/smolwc/smolwc/client"
)

// With two acknowledgements, the primary and the standby with the most are killed together: the
// one with the most of those that are left has each write that was acknowledged.
func TestThePrimaryIsKilledWithAStandby(t *testing.T) {
	dir := t.TempDir()
	strict := []string{"--semi-sync", "strict", "--semi-sync-acks", "2", "--semi-sync-timeout", "1h"}
	p := startServer(t, append(strict, "--db", filepath.Join(dir, "p"), "--http", "127.0.0.1:0")...)
	standbys := map[string]*served{}
	join := func(name string, more ...string) {
		standbys[name] = startServer(t, append(more, "--db", filepath.Join(dir, name), "--standby-of", p.addr, "--standby-name", name)...)
		await(t, name, "replicas", "--addr", p.addr)
	}
	join("b", strict...)
	await(t, "semi-sync strict: each write waits for 2 standbys, and only 1 can acknowledge it, so writes fail", "replicas", "--addr", p.addr)
	if text := page(t, p.pages); !strings.Contains(text, "smolwc_semi_sync_acks 2") || !strings.Contains(text, "smolwc_semi_sync_standbys 1") {
		t.Error("the metrics do not show how many standbys have to acknowledge")
	}
	join("o", "--standby-observer")
	join("c", strict...)
	join("d", strict...)
	await(t, "semi-sync strict: each write waits for 2 standbys; 0 returned without them", "replicas", "--addr", p.addr)
	tell(t, "--addr", p.addr, "-c", "create table fleet family meta")
	load, ctx := new(switchLoad), t.Context()
	ctx, stop := context.WithCancel(ctx)
	var running sync.WaitGroup
	for i := range 4 {
		running.Go(func() { load.run(ctx, t, fmt.Sprint("w", i), p.addr) })
	}
	load.more(t)
	if err := standbys["d"].cmd.Process.Signal(syscall.SIGSTOP); err != nil { // it falls behind
		t.Fatal(err)
	}
	load.more(t)
	if err := standbys["c"].cmd.Process.Signal(syscall.SIGSTOP); err != nil { // no write is acknowledged now
		t.Fatal(err)
	}
	most := func(among ...string) (name string) {
		best := uint64(0)
		for _, one := range among {
			if at := newestPosition(t, standbys[one]); name == "" || at > best {
				name, best = one, at
			}
		}
		return name
	}
	for _, s := range []*served{p, standbys["b"]} { // which has more than the others
		if err := s.cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
	}
	stop()
	running.Wait()
	for _, name := range []string{"c", "d"} {
		if err := standbys[name].cmd.Process.Signal(syscall.SIGCONT); err != nil {
			t.Fatal(err)
		}
	}
	next := standbys[most("c", "d")]
	if next != standbys["c"] {
		t.Error("the standby that was behind has the most")
	}
	if got := tell(t, "promote", "--addr", next.addr); !strings.Contains(got, "is the primary: epoch 2") {
		t.Fatalf("promote: %q", got)
	}
	db, err := client.Dial(next.addr, client.Options{})
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
	for _, key := range load.keys {
		if !there[key] {
			t.Fatalf("row %s was acknowledged, and is lost; %d rows of %d are there", key, len(there), len(load.keys))
		}
	}
}
