//go:build cgo

package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// A build without cgo is the shell and the tools of a server.
func TestWithoutCgo(t *testing.T) {
	dir := t.TempDir()
	smolwc := withoutCgo(t, dir, setByPackaging(t)...)
	s := startServer(t, "--db", filepath.Join(dir, "db"))
	ok := func(args ...string) string {
		t.Helper()
		out, code := smolwc("", args...)
		if code != 0 {
			t.Fatalf("smolwc %q: exit code %d\n%s", args, code, out)
		}
		return out
	}
	at := func(args ...string) string {
		t.Helper()
		return ok(append([]string{"--addr", s.addr}, args...)...)
	}

	at("-c", "create table fleet family meta versions=2, family pos")
	script := "put fleet plane#1 meta:model=A320\nput fleet plane#2 meta:model=B737\nput fleet ship#1 meta:model=tug\nincr fleet ship#1 pos:visits 2\n"
	if out, code := smolwc(script, "--addr", s.addr); code != 0 {
		t.Errorf("a script: exit code %d\n%s", code, out)
	}
	if got := at("--format", "csv", "-c", "scan fleet prefix=plane# columns=meta:*"); !strings.Contains(got, "plane#1,meta:model,") || !strings.Contains(got, "B737") || strings.Contains(got, "tug") {
		t.Errorf("a scan as csv: %s", got)
	}
	if got := at("--format", "csv", "-c", "count fleet"); !strings.Contains(got, "3") {
		t.Errorf("a count: %s", got)
	}
	if out, code := smolwc("", "--addr", s.addr, "-c", "restore table fleet from 'backups'"); code != exitFailed || !strings.Contains(out, "cannot run over the network") {
		t.Errorf("what no client can do: exit code %d\n%s", code, out)
	}
	ok("backup", "--addr", s.addr, filepath.Join(dir, "backups"))
	if got := ok("backups", "--addr", s.addr, filepath.Join(dir, "backups"), "--format", "csv"); strings.Count(got, "\n") != 2 {
		t.Errorf("backups: %s", got)
	}
	ok("token", "create", "reader", "--read", "fleet", "--db", filepath.Join(dir, "other"))
	if got := ok("version"); !strings.Contains(got, "no RocksDB") || !strings.HasPrefix(got, "smolwc value-of-release ") || !strings.Contains(got, "with value-of-madeOf") {
		t.Errorf("the version is %s", got)
	}

	regions := "control: {address: 127.0.0.1:1}\nregions: [{name: a, front: 127.0.0.1:2, address: 127.0.0.1:3}]\n"
	if err := os.WriteFile(filepath.Join(dir, "regions.yaml"), []byte(regions), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, code := smolwc("", "region", "--config", "regions.yaml"); code != exitOpen || !strings.Contains(out, "CGO_ENABLED=1") || strings.Count(out, "\n") != 1 {
		t.Errorf("regions: exit code %d\n%s", code, out)
	}
}

// A command that needs a local database says how to get a build that has one.
func TestWithoutCgoNoLocalDatabase(t *testing.T) {
	dir := t.TempDir()
	smolwc := withoutCgo(t, dir)
	for _, args := range [][]string{
		{"-c", "tables"}, {"--db", "db", "-c", "tables"}, {"--db", "db", "--read-only", "-c", "tables"},
		{"serve", "--db", "db", "--addr", "127.0.0.1:0"}, {"check", "--db", "db"},
		{"import", "t", "planes.csv", "--db", "db"}, {"export", "t", "-", "--db", "db"},
		{"backup", "backups", "--db", "db"}, {"restore", "latest", "restored", "--from", "backups"}, {"checkpoint", "copy", "--db", "db"},
	} {
		out, code := smolwc("", args...)
		if code != exitOpen || !strings.Contains(out, errNoEngine.Error()) || strings.Count(out, "\n") != 1 {
			t.Errorf("smolwc %q: exit code %d\n%s", args, code, out)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 { // the binary
		t.Errorf("it left %v, %v", left, err)
	}
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
	if len(flags) != 2 {
		t.Fatalf("packaging sets %q", flags)
	}
	return []string{"-ldflags", strings.Join(flags, " ")}
}
