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

// The integration tests of Bigtable's Go client and the suite of its emulator, of
// the version that go.mod names, run against a server in a process of its own:
//
//	SMOLWC_SUITES=1 go test ./cli -run TestSuites -v
//
// The tests change a copy of the client's module as listed here; the assertions are
// unchanged.

// A suite is the tests of a package, with the tests that fail, and the reasons. If such
// a test no longer fails, that is an error here, so that it is removed from the list.
type suite struct {
	folder  string
	replace map[string][]string // in files: old, new, …
	tests   string              // a regular expression
	args    []string
	env     string // names the server
	wanting map[string]string
	others  map[string]string // unrelated tests, which are not run
}

var emulatorSuite = suite{
	folder: "bttest",
	tests:  "^Test",
	env:    "REMOTE",
	replace: map[string][]string{
		"inmem_test.go": {"&server{", "&remote{", "*server", "*remote",
			// Tests that look into the emulator's memory.
			"tbl := s.tables[name]\n", "", "tbl := s.tables[tblInfo.Name]\n", "", "tbl.gc()", "_ = 0",
			"got %d (%v), want %d\", got, tbl.rows, want", "got %d, want %d\", got, want", "tbl.rows.Len()", "s.rows(tblInfo.Name)",
			// Tests that measure time and expect calls to cost nothing.
			"attempts := 500", "attempts := 20", "time.After(2 * time.Second)", "time.After(2 * time.Minute)", "time.After(1 * time.Second)", "time.After(time.Minute)",
			"50*time.Millisecond", "time.Second", "s.MutateRow(ctx, req); err != nil {\n\t\t\t\t\tpanic", "s.MutateRow(context.Background(), req); err != nil {\n\t\t\t\t\tpanic"},
		"instance_server_test.go": {"&server{", "&remote{"},
		"timestamp_test.go":       {"&server{", "&remote{", "*server", "*remote"},
		"validation_test.go":      {"&server{", "&remote{"},
	},
	wanting: map[string]string{
		"TestAuthorizedViewApis":       "expects that there are no authorized views",
		"TestGetPartitionsByTableName": "asks a method of the emulator that is not in the API",
	},
}

// integrationSuite is run as it is against Bigtable itself.
var integrationSuite = suite{
	tests: "^TestIntegration",
	args:  []string{"-it.use-prod", "-it.project=proj", "-it.project2=proj2", "-it.instance=inst", "-it.cluster=local", "-it.cluster2=local2", "-it.table=tab"},
	env:   "BIGTABLE_EMULATOR_HOST",
	wanting: map[string]string{
		"TestIntegration_LargeReadsWritesAndScans": "the client takes 4 MiB of an emulator's host; it passes below",
	},
	others: map[string]string{
		"TestIntegration_AdminEncryptionInfo":   "wants keys of Google Cloud",
		"TestIntegration_ExportBuiltInMetrics":  "asks Google Cloud for what the client measured",
		"TestIntegration_SessionVRpc_[A-Za-z]+": "has a server of its own",
	},
}

// emulatedSuite is the same suite as it is run against the emulator, without features
// that the emulator lacks, and with a client that accepts large messages.
var emulatedSuite = suite{
	tests:   "^TestIntegration",
	env:     "SMOLWC_ADDR",
	replace: map[string][]string{"export_test.go": {"\tconfig.AdminEndpoint = srv.Addr\n", "\tsrv.Addr = os.Getenv(\"SMOLWC_ADDR\")\n\tconfig.AdminEndpoint = srv.Addr\n"}},
	others:  map[string]string{"TestIntegration_SessionVRpc_[A-Za-z]+": "has a server of its own"},
}

func TestSuites(t *testing.T) {
	if os.Getenv("SMOLWC_SUITES") == "" {
		t.Skip("$SMOLWC_SUITES is not set")
	}
	found, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "cloud.google.com/go/bigtable").Output()
	if err != nil {
		t.Fatal(err)
	}
	for name, s := range map[string]suite{"emulator": emulatorSuite, "integration": integrationSuite, "integration, emulated": emulatedSuite} {
		t.Run(name, func(t *testing.T) {
			module := t.TempDir()
			if err := os.CopyFS(module, os.DirFS(strings.TrimSpace(string(found)))); err != nil {
				t.Fatal(err)
			}
			s.run(t, filepath.Join(module, s.folder))
		})
	}
}

func (s *suite) run(t *testing.T, dir string) {
	for file, edits := range s.replace {
		edit(t, filepath.Join(dir, file), edits)
	}
	if s.folder != "" {
		remote, err := os.ReadFile(filepath.Join("..", "server", "testdata", "remote.go"))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "remote_test.go"), remote, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	binary := filepath.Join(dir, "suite.test")
	build := exec.Command("go", "test", "-vet=off", "-c", "-o", binary, ".")
	build.Dir = dir
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}

	server := startServer(t, "--db", filepath.Join(t.TempDir(), "db"), "--instance", "projects/proj/instances/inst", "--log-level", "error")
	runTests := func(args ...string) (string, error) {
		cmd := exec.Command(binary, slices.Concat(s.args, []string{"-test.v", "-test.timeout=5m"}, args)...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), s.env+"="+server.addr)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	skip := "^(-"
	for _, list := range []map[string]string{s.wanting, s.others} {
		for name := range list {
			skip += "|" + name
		}
	}
	out, err := runTests("-test.run="+s.tests, "-test.skip="+skip+")$")
	passed := len(regexp.MustCompile(`(?m)^--- PASS`).FindAllString(out, -1))
	if err != nil || passed == 0 {
		t.Errorf("%v\n%s", err, out)
	}
	t.Logf("%d passed, %d are known to fail, and %d kinds of them are about something else", passed, len(s.wanting), len(s.others))
	for name, why := range s.wanting {
		if out, err := runTests("-test.run=^" + name + "$"); err == nil {
			t.Errorf("%s passes, but the list says: %s\n%s", name, why, out)
		}
	}
}

// edit replaces texts in a file. Each of them must be there.
func edit(t *testing.T, file string, edits []string) {
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for pair := range slices.Chunk(edits, 2) {
		if !strings.Contains(string(text), pair[0]) {
			t.Errorf("%s has no %q any more", file, pair[0])
		}
		text = []byte(strings.ReplaceAll(string(text), pair[0], pair[1]))
	}
	if err := os.Chmod(file, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
}
