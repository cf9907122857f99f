package cli

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/smolwc/smolwc/client"
)

// A pair of an earlier smolwc, which $SMOLWC_TEST_EARLIER names, is upgraded as docs/standby.md says,
// while clients write: nothing that was acknowledged is lost, and nothing is copied. Then the servers
// change their roles.
func TestUpgradeOfAPair(t *testing.T) {
	earlier := os.Getenv("SMOLWC_TEST_EARLIER")
	if earlier == "" {
		t.Skip("SMOLWC_TEST_EARLIER names no earlier smolwc")
	}
	dir := t.TempDir()
	old := func(args ...string) *served { return startProgram(t, earlier, "serve", "serving ", args...) }
	end := func(s *served) {
		t.Helper()
		if err := s.end(syscall.SIGTERM); err != nil {
			t.Errorf("a server ends with %v", err)
		}
	}
	a := old("--db", filepath.Join(dir, "a"))
	tell(t, "--addr", a.addr, "-c", "create table fleet family meta")
	b := old("--db", filepath.Join(dir, "b"), "--standby-of", a.addr)
	await(t, "standby of "+a.addr+": connected", "replicas", "--addr", b.addr)
	load, running := new(switchLoad), new(sync.WaitGroup)
	ctx, stop := context.WithCancel(t.Context())
	running.Go(func() { load.run(ctx, t, "old", a.addr) })
	load.more(t)
	end(b)
	b = startServer(t, "--db", filepath.Join(dir, "b"), "--standby-of", a.addr) // the standby comes first
	await(t, "standby of "+a.addr+": connected", "replicas", "--addr", b.addr)
	load.more(t)
	end(a)
	if got := tell(t, "promote", "--addr", b.addr); !strings.Contains(got, "is the primary: epoch 2") {
		t.Fatalf("promote: %q", got)
	}
	stop()
	running.Wait()
	a = startServer(t, "--db", filepath.Join(dir, "a"), "--standby-of", b.addr)
	await(t, "standby of "+b.addr+": connected", "replicas", "--addr", a.addr)
	for _, to := range []*served{a, b} {
		if got := tell(t, "switchover", "--to", to.addr); !strings.Contains(got, to.addr+" is the primary: epoch") {
			t.Fatalf("switchover: %q", got)
		}
	}
	tell(t, "--addr", b.addr, "-c", "put fleet new meta:x=new")
	caughtUp(t, b, a)
	for _, s := range []*served{a, b} {
		db, err := client.Dial(s.addr, client.Options{})
		if err != nil {
			t.Fatal(err)
		}
		there := map[string]bool{}
		for row, err := range db.Table("fleet").ReadRows(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			there[row.Key()] = true
		}
		for _, key := range append(load.keys, "new") {
			if !there[key] {
				t.Errorf("%s has no row %s", s.addr, key)
			}
		}
		_ = db.Close() // no call is running
	}
	if kept, _ := filepath.Glob(filepath.Join(dir, "*.diverged*")); len(kept) > 0 {
		t.Errorf("rebuilt: %v", kept)
	}
}
