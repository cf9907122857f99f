package cli

import (
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/smolwc/smolwc/query"
)

// A build without cgo has databases on Pebble, and is the shell and the tools of a server.
func TestWithoutCgo(t *testing.T) {
	dir := t.TempDir()
	smolwc := withoutCgo(t, dir, setByPackaging(t)...)
	ok := func(args ...string) string {
		t.Helper()
		out, code := smolwc("", args...)
		if code != 0 {
			t.Fatalf("smolwc %q: exit code %d\n%s", args, code, out)
		}
		return out
	}
	if got := ok("version"); !strings.Contains(got, "(databases on Pebble, without RocksDB)") || !strings.HasPrefix(got, "smolwc value-of-release ") || !strings.Contains(got, "with value-of-madeOf, Pebble 2.") || !strings.HasSuffix(got, "\ncommit value-of-commit\n") {
		t.Errorf("the version is %s", got)
	}

	// A database, from its first table to its last backup.
	ok("--db", "db", "-c", "create table fleet family meta versions=2, family pos")
	script := "put fleet plane#1 meta:model=A320\nput fleet plane#2 meta:model=B737\nput fleet ship#1 meta:model=tug\nincr fleet ship#1 pos:visits 2\n"
	if out, code := smolwc(script, "--db", "db"); code != 0 {
		t.Errorf("a script: exit code %d\n%s", code, out)
	}
	if got := ok("--db", "db", "--format", "csv", "-c", "scan fleet prefix=plane# columns=meta:*"); !strings.Contains(got, "plane#1,meta:model,") || !strings.Contains(got, "B737") || strings.Contains(got, "tug") {
		t.Errorf("a scan as csv: %s", got)
	}
	if got := ok("check", "--db", "db"); !strings.Contains(got, "nothing is wrong") {
		t.Errorf("a check: %s", got)
	}
	ok("backup", "--db", "db", "backups")
	ok("restore", "latest", "restored", "--from", "backups")
	ok("checkpoint", "--db", "db", "copied")
	ok("copy", "--from", "db", "--to", "moved")
	for _, db := range []string{"db", "restored", "copied", "moved"} {
		if got := ok("--db", db, "--format", "csv", "-c", "count fleet"); !strings.Contains(got, "3") {
			t.Errorf("a count in %s: %s", db, got)
		}
	}

	// It serves, and is a client of its server.
	s := startProgram(t, filepath.Join(dir, "smolwc"), "serve", "serving ", "--db", filepath.Join(dir, "db"), "--http", "127.0.0.1:0")
	at := func(args ...string) string {
		t.Helper()
		return ok(append([]string{"--addr", s.addr}, args...)...)
	}
	at("-c", "put fleet plane#3 meta:model=B707")
	if got := at("--format", "csv", "-c", "count fleet"); !strings.Contains(got, "4") {
		t.Errorf("a count: %s", got)
	}
	at("-c", "restore table fleet as back from '"+filepath.Join(dir, "backups")+"'")
	if got := at("--format", "csv", "-c", "count back"); !strings.Contains(got, "3") {
		t.Errorf("a count of the table that the server restored: %s", got)
	}
	if out, code := smolwc("", "--addr", s.addr, "-c", "restore latest to 'there' from 'backups'"); code != exitFailed || !strings.Contains(out, "cannot run over the network") {
		t.Errorf("what no client can do: exit code %d\n%s", code, out)
	}
	ok("backup", "--addr", s.addr, filepath.Join(dir, "backups"))
	if got := ok("backups", "--addr", s.addr, filepath.Join(dir, "backups"), "--format", "csv"); strings.Count(got, "\n") != 3 {
		t.Errorf("backups: %s", got)
	}
	ok("token", "create", "reader", "--read", "fleet", "--db", filepath.Join(dir, "other"))

	// It has a standby, which takes its place.
	other := startProgram(t, filepath.Join(dir, "smolwc"), "serve", "serving ", "--db", filepath.Join(dir, "follower"), "--standby-of", s.addr)
	ok("promote", "--addr", other.addr)
	if got := ok("--addr", other.addr, "--format", "csv", "-c", "count fleet"); !strings.Contains(got, "4") {
		t.Errorf("a count at the new primary: %s", got)
	}
	ok("--addr", other.addr, "-c", "put fleet plane#4 meta:model=A380")
	for _, s := range []*served{s, other} {
		if err := s.end(syscall.SIGTERM); err != nil {
			t.Errorf("the end of the server: %v", err)
		}
	}

	// The engine's memory is Go's there, and not that of clients' requests: it closes no connection.
	s = startProgram(t, filepath.Join(dir, "smolwc"), "serve", "serving ", "--db", filepath.Join(dir, "large"), "--http", "127.0.0.1:0",
		"--durability", "async", "--memory", "128MiB", "--max-bytes", "16MiB", "--max-connection-bytes", "16MiB")
	fillTable(t, s, 80, 1, 1<<20)
	if err := s.end(syscall.SIGTERM); err != nil {
		t.Errorf("the end of the server: %v", err)
	}

	if !query.HasRocksDB {
		return
	}
	// A database on RocksDB is refused in one line, with the build that has it, and is not
	// touched.
	db, err := query.Open(filepath.Join(dir, "rocks"), query.Options{Engine: query.EngineRocksDB})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	before := filesOf(t, filepath.Join(dir, "rocks"))
	for _, args := range [][]string{
		{"--db", "rocks", "-c", "tables"}, {"--db", "rocks", "--read-only", "-c", "tables"}, {"check", "--db", "rocks"},
		{"serve", "--db", "rocks", "--addr", "127.0.0.1:0", "--http", "off"}, {"backup", "--db", "rocks", "backups"}, {"checkpoint", "--db", "rocks", "other2"},
		{"copy", "--from", "rocks", "--to", "to"}, {"copy", "--from", "db", "--to", "rocks"}, {"--db", "rocks", "--engine", "rocksdb", "-c", "tables"},
	} {
		out, code := smolwc("", args...)
		if code != exitOpen || !strings.Contains(out, "CGO_ENABLED=1") || strings.Count(out, "\n") != 1 {
			t.Errorf("smolwc %q: exit code %d\n%s", args, code, out)
		}
	}
	if after := filesOf(t, filepath.Join(dir, "rocks")); after != before {
		t.Errorf("the directory was\n%s\nand is\n%s", before, after)
	}
}

// filesOf is the names and contents of a directory.
func filesOf(t *testing.T, dir string) string {
	t.Helper()
	var all strings.Builder
	names, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range names {
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil && !e.IsDir() {
			t.Fatal(err)
		}
		fmt.Fprintf(&all, "%s %x\n", e.Name(), sha256.Sum256(text))
	}
	return all.String()
}

// withoutCgo builds the command without cgo in a directory. It returns a function that
// runs the command there with an input, and returns its output, also that to standard
// error, and its exit code. The first build takes minutes: without
// $SMOLWC_TEST_BUILDS the test is skipped.
func withoutCgo(t *testing.T, dir string, flags ...string) func(input string, args ...string) (output string, code int) {
	t.Helper()
	if os.Getenv("SMOLWC_TEST_BUILDS") == "" {
		t.Skip("$SMOLWC_TEST_BUILDS is not set")
	}
	binary := filepath.Join(dir, "smolwc")
	build := exec.CommandContext(t.Context(), "go", slices.Concat([]string{"build", "-o", binary}, flags, []string{"../cmd/smolwc"})...)
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return func(input string, args ...string) (string, int) {
		cmd := exec.CommandContext(t.Context(), binary, args...)
		cmd.Dir, cmd.Stdin = dir, strings.NewReader(input)
		out, err := cmd.CombinedOutput()
		if cmd.ProcessState == nil {
			t.Fatal(err)
		}
		return string(out), cmd.ProcessState.ExitCode()
	}
}

// setByPackaging returns flags that set the variables which packaging has the linker set,
// each to "value-of-" and its name. The linker passes over a name that is not there.
func setByPackaging(t *testing.T) []string {
	t.Helper()
	set := regexp.MustCompile(`-X '?([\w./]+)=`)
	var flags []string
	for _, file := range []string{"dist", "binary"} {
		text, err := os.ReadFile("../packaging/" + file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range set.FindAllStringSubmatch(string(text), -1) {
			flags = append(flags, "-X "+m[1]+"=value-of-"+m[1][strings.LastIndexByte(m[1], '.')+1:])
		}
	}
	if len(flags) != 3 {
		t.Fatalf("packaging sets %q", flags)
	}
	return []string{"-ldflags", strings.Join(flags, " ")}
}
