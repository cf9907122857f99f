package cli

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/smolwc/smolwc/client"
)

// newestPosition asks a server for the position of its newest write.
func newestPosition(t *testing.T, s *served) uint64 {
	t.Helper()
	db, err := client.Dial(s.addr, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }() // no call is running
	all, err := db.Replicas(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return all.Position
}

// keepsSamples waits until a server keeps samples of its metrics in the database: then more is
// written with a row than the row.
func keepsSamples(t *testing.T, s *served) {
	t.Helper()
	least := uint64(math.MaxUint64)
	for end := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		before := newestPosition(t, s)
		tell(t, "--addr", s.addr, "-c", "put fleet again meta:x=again")
		wrote := newestPosition(t, s) - before
		if wrote > least {
			return
		}
		if least = wrote; time.Now().After(end) {
			t.Fatal("after a minute the server has kept no sample")
		}
	}
}

// The steps of docs/standby.md, "Upgrade without stopping", with its flags: the old primary
// follows the new one from its position, although a server writes a last sample of its metrics
// when it stops.
func TestAPlannedHandoverCopiesNothing(t *testing.T) {
	dir := t.TempDir()
	start := func(name string, more ...string) *served {
		return startServer(t, append([]string{"--db", filepath.Join(dir, name), "--http", "127.0.0.1:0"}, more...)...)
	}
	names := []string{"a", "b"}
	lead := start("a")
	tell(t, "--addr", lead.addr, "-c", "create table fleet family meta")
	other := start("b", "--standby-of", lead.addr)
	for round := range 2 {
		row := fmt.Sprint("row", round)
		keepsSamples(t, lead)
		tell(t, "--addr", lead.addr, "-c", "put fleet "+row+" meta:x=kept"+row)
		if err := lead.end(syscall.SIGTERM); err != nil {
			t.Fatalf("the primary ends with %v", err)
		}
		if got := tell(t, "promote", "--addr", other.addr); !strings.Contains(got, "is the primary: epoch") {
			t.Fatalf("promote: %q", got)
		}
		back := start(names[0], "--addr", lead.addr, "--standby-of", other.addr)
		tell(t, "--addr", other.addr, "-c", "put fleet "+row+"-after meta:x=later"+row)
		await(t, "kept"+row, "--addr", back.addr, "-c", "get fleet "+row)
		await(t, "later"+row, "--addr", back.addr, "-c", "get fleet "+row+"-after")
		if _, err := os.Stat(filepath.Join(dir, names[0]+".diverged")); err == nil {
			t.Fatalf("handover %d: the old primary was rebuilt:\n%s", round, tell(t, "tail", "show", filepath.Join(dir, names[0]+".diverged")))
		}
		lead, other = other, back
		names[0], names[1] = names[1], names[0]
	}
}

// The tail of a primary that was killed shows the changes of clients, and none of the samples of
// its metrics between them.
func TestTheTailHidesSamples(t *testing.T) {
	dir := t.TempDir()
	p := startServer(t, "--db", filepath.Join(dir, "p"), "--http", "127.0.0.1:0")
	tell(t, "--addr", p.addr, "-c", "create table fleet family meta; put fleet a meta:x=both")
	s := startServer(t, "--db", filepath.Join(dir, "s"), "--http", "127.0.0.1:0", "--standby-of", p.addr)
	await(t, "both", "--addr", s.addr, "-c", "get fleet a")
	if err := s.end(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	keepsSamples(t, p)
	for i := range 3 {
		tell(t, "--addr", p.addr, "-c", fmt.Sprintf("put fleet own%d meta:x=lost", i))
	}
	_ = p.end(syscall.SIGKILL) // it was killed
	s = startServer(t, "--db", filepath.Join(dir, "s"), "--http", "127.0.0.1:0", "--standby-of", p.addr)
	tell(t, "promote", "--addr", s.addr)
	startServer(t, "--db", filepath.Join(dir, "p"), "--http", "127.0.0.1:0", "--addr", p.addr, "--standby-of", s.addr)
	kept := filepath.Join(dir, "p.diverged")
	for end := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		if _, err := os.Stat(kept); err == nil {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("after a minute there is no %s", kept)
		}
	}
	var changes []string
	for line := range strings.Lines(tell(t, "tail", "show", kept)) {
		if !strings.HasPrefix(line, "--") {
			changes = append(changes, line)
		}
	}
	own := slices.DeleteFunc(slices.Clone(changes), func(line string) bool { return strings.HasPrefix(line, "put fleet again ") })
	if len(own) != 3 || !strings.Contains(own[0], "own0") || !strings.Contains(own[2], "own2") {
		t.Errorf("the tail has %d changes: %q", len(changes), changes)
	}
}
