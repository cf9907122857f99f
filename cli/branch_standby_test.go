package cli

import (
	"os"
	"path/filepath"
	"regexp"
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

// While a standby follows and the log goes to an archive, branches are made, written, merged and
// dropped. Both get what is merged, at its moment, and nothing else of branches; these stay the
// old primary's when the standby is promoted, and keep their writes when it is killed.
func TestBranchesBesideAStandbyAndAnArchive(t *testing.T) {
	t.Parallel()
	archive := filepath.Join(t.TempDir(), "archive")
	b := startBranchPair(t, "--backup", archive, "--continuous", "--continuous-every", "10ms")
	position := func() string {
		t.Helper()
		found := regexp.MustCompile(`position (\d+)`).FindStringSubmatch(tell(t, "replicas", "--addr", b.p.addr))
		if found == nil {
			t.Fatal("the primary has no position")
		}
		return found[1]
	}
	restored := func(at string) string {
		t.Helper()
		dir := filepath.Join(t.TempDir(), "restored")
		await(t, "restored the moment", "restore", "latest", dir, "--from", archive, "--at", at)
		return tell(t, "--db", dir, "-c", "scan t")
	}
	b.in("x", "put t b f:q=merged; delete t a f:q")
	b.branch(b.p, "made: branch dropped is the database", "create", "dropped")
	b.in("dropped", "put t c f:q=lost")
	before := position()
	b.branch(b.p, "merged: changed 2 cells in 2 rows, in one commit", "merge", "x")
	after := position()
	b.branch(b.p, "dropped: dropped branch", "drop", "dropped")
	b.in("x", "put t c f:q=later")
	tell(t, "--addr", b.p.addr, "-c", "put t d f:q=last")
	await(t, "last", "--addr", b.s.addr, "-c", "scan t")
	for what, c := range map[string][2]string{
		"the standby":             {tell(t, "--addr", b.s.addr, "-c", "scan t"), "merged last"},
		"the moment before":       {restored(before), "first"},
		"the moment of the merge": {restored(after), "merged"},
	} {
		if got := strings.Join(regexp.MustCompile("first|merged|last|lost|later").FindAllString(c[0], -1), " "); got != c[1] {
			t.Errorf("%s has %q, want %q", what, got, c[1])
		}
	}
	if got := tell(t, "verify", "--addr", b.s.addr, "--against", b.p.addr); !strings.Contains(got, " is equal to ") {
		t.Errorf("verify: %q", got)
	}

	tell(t, "promote", "--addr", b.s.addr)
	await(t, b.s.addr+" was promoted", "--addr", b.p.addr, "-c", "put t no f:q=x")
	if got := b.in("x", "put t e f:q=later; scan t"); strings.Count(got, "later") != 2 {
		t.Errorf("a branch of the old primary: %q", got)
	}
	b.branch(b.p, "a merge at the old primary: "+b.s.addr+" was promoted in its place", "merge", "x")
	b.branch(b.s, `a merge at the new one: there is no branch "x" in `+b.copy+branch.Suffix, "merge", "x")
	_ = b.p.end(syscall.SIGKILL) // it was killed
	if got := tell(t, "--db", b.data, "branch", "diff", "x"); !strings.Contains(got, "2 cells in 2 rows: 2 added") {
		t.Errorf("the branch of the killed primary: %q", got)
	}
	if left, err := os.ReadDir(b.data + branch.Suffix); len(left) != 1 {
		t.Errorf("beside the database are %v, %v", left, err)
	}
}
