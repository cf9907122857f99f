package cli

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/smolwc/smolwc/branch"
)

// A branchPair is a primary that serves the branch x of its database, which has the row a of the
// table t, and a standby.
type branchPair struct {
	t          *testing.T
	p, s       *served
	data, copy string // their directories
}

func startBranchPair(t *testing.T, flags ...string) *branchPair {
	t.Helper()
	dir := t.TempDir()
	b := &branchPair{t: t, data: filepath.Join(dir, "data"), copy: filepath.Join(dir, "copy")}
	b.p = startServer(t, append([]string{"--db", b.data, "--branches", "--backup-to", dir}, flags...)...)
	tell(t, "--addr", b.p.addr, "-c", "create table t family f; put t a f:q=first")
	b.s = startServer(t, "--db", b.copy, "--standby-of", b.p.addr)
	await(t, "is a standby of "+b.p.addr+": connected", "replicas", "--addr", b.s.addr)
	b.branch(b.p, "made: branch x is the database", "create", "x")
	return b
}

// branch runs smolwc branch at a server. The text before the colon says what want is about.
func (b *branchPair) branch(at *served, want string, args ...string) {
	b.t.Helper()
	db := b.data
	if at == b.s {
		db = b.copy
	}
	what, text, _ := strings.Cut(want, ": ")
	if got := tell(b.t, append([]string{"branch", "--db", db, "--addr", at.addr}, args...)...); !strings.Contains(got, text) {
		b.t.Errorf("%s: %q; want %q", what, got, text)
	}
}

// in runs statements in a branch at the primary.
func (b *branchPair) in(branch, statements string) string {
	b.t.Helper()
	return tell(b.t, "--addr", b.p.addr, "--instance", "projects/local/instances/"+branch, "-c", statements)
}

const notServed = `branch "x" is not served here while another server is the primary`

// A primary that hands over, or is started again when another one was promoted, says that it
// serves no branches now. It was as if they had no tables, or did not exist. As the primary again
// it serves them with all that they had.
func TestBranchesOfAPrimaryThatWasReplaced(t *testing.T) {
	t.Parallel()
	b := startBranchPair(t)
	b.in("x", "put t b f:q=second")
	tell(t, "switchover", "--addr", b.p.addr, "--to", b.s.addr)
	await(t, "is a standby of "+b.s.addr+": connected", "replicas", "--addr", b.p.addr)
	refused := func(when string) {
		t.Helper()
		if got := b.in("x", "put t no f:q=x"); !strings.Contains(got, notServed) {
			t.Errorf("%s, a write: %q", when, got)
		}
		if got := tell(t, "mcp", "--addr", b.p.addr, "--branch", "x"); !strings.Contains(got, notServed) {
			t.Errorf("%s, an agent: %q", when, got)
		}
	}
	refused("after a switchover")
	tell(t, "switchover", "--addr", b.s.addr, "--to", b.p.addr)
	await(t, "is a standby of "+b.p.addr+": connected", "replicas", "--addr", b.s.addr)
	if got := b.in("x", "scan t"); !strings.Contains(got, "second") {
		t.Errorf("as the primary again: %q", got)
	}
	b.branch(b.p, "as the primary again: changed 1 cell in 1 row", "merge", "x")
	tell(t, "promote", "--addr", b.s.addr)
	await(t, b.s.addr+" was promoted", "--addr", b.p.addr, "-c", "put t no f:q=x")
	_ = b.p.end(syscall.SIGKILL) // it was killed
	b.p = startServer(t, "--db", b.data, "--branches", "--addr", b.p.addr)
	refused("started again")
	b.branch(b.p, "the branch is not the primary's: dropped branch x", "drop", "x")
}

// A merge at a standby names the primary. It was said to have no directory.
func TestAMergeAtAStandbyNamesThePrimary(t *testing.T) {
	t.Parallel()
	b := startBranchPair(t)
	await(t, "first", "--addr", b.s.addr, "-c", "scan t")
	b.branch(b.s, "a branch of a standby: branch y is the database in", "create", "y")
	tell(t, "--db", filepath.Join(b.copy+branch.Suffix, "y", "db"), "-c", "put t b f:q=second")
	b.branch(b.s, "a merge that would write nothing: would change 1 cell in 1 row", "merge", "y", "--dry-run")
	b.branch(b.s, "a merge: "+b.p.addr, "merge", "y")
	tell(t, "promote", "--addr", b.s.addr)
	b.branch(b.s, "a merge at the next primary: changed 1 cell in 1 row", "merge", "y")
}
