//go:build unix

package stack_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// The environment of smolwc in the scripts.
const (
	scriptBinary = "SMOLWC_TEST_BINARY"
	scriptStore  = "SMOLWC_TEST_STORE" // the URL of a script's databases, without the end of their names
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"smolwc": onTiKV})
}

// onTiKV is smolwc for scripts that name databases in directories: they are databases on
// TiKV instead.
func onTiKV() {
	args := os.Args[1:]
	for i, arg := range args {
		switch name, ok := strings.CutPrefix(arg, "--db="); {
		case ok:
			args[i] = "--db=" + atURL(name)
		case arg == "--db" && i+1 < len(args):
			args[i+1] = atURL(args[i+1])
		}
	}
	db := os.Getenv("SMOLWC_DB")
	if db == "" {
		db = "data" // as without a configuration
	}
	_ = os.Setenv("SMOLWC_DB", atURL(db))
	err := syscall.Exec(os.Getenv(scriptBinary), append([]string{"smolwc"}, args...), os.Environ())
	fmt.Fprintln(os.Stderr, err)
	os.Exit(127)
}

func atURL(name string) string {
	if strings.Contains(name, "://") {
		return name
	}
	return os.Getenv(scriptStore) + filepath.Base(name)
}

// elsewhere are the scripts about the files of a database, and about commands that need
// none. Those of copy, tokens and servers are for directories; other tests do the same on
// TiKV.
var elsewhere = []string{
	"archive", "bothways-batch", "bothways-copy", "bothways-import", "bothways-odd", "bothways-queues", "bothways-statements", "copy", "directories", "doctor", "doctor-pebble", "engine", "exitcodes", "man", "queues", "recipes", "region", "released", "serve", "token", "tuning", "url",
}

// The scripts of the command run on TiKV too. A line for directories alone begins with
// [!tikv].
func TestScripts(t *testing.T) {
	s, bin := start(t)
	scripts, err := filepath.Glob("../../cli/testdata/script/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	repo, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	scripts = slices.DeleteFunc(scripts, func(file string) bool {
		return slices.Contains(elsewhere, strings.TrimSuffix(filepath.Base(file), ".txtar"))
	})
	testscript.Run(t, testscript.Params{
		Files: scripts,
		Setup: func(env *testscript.Env) error {
			env.Setenv("REPO", repo)
			env.Setenv(scriptBinary, filepath.Join(bin, "smolwc"))
			env.Setenv(scriptStore, s.URL(filepath.Base(env.WorkDir)+"-"))
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"gz": func(ts *testscript.TestScript, _ bool, args []string) { ts.Check(ts.Exec("gzip", "-k", args[0])) },
		},
		Condition: func(name string) (bool, error) { return name == "tikv", nil },
	})
}
