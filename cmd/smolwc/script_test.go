package main

import (
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// Set, it makes the test binary be smolwc.
const beSmolwc = "SMOLWC_TEST_BE_SMOLWC"

func TestMain(m *testing.M) {
	if os.Getenv(beSmolwc) != "" {
		main()
	}
	testscript.Main(m, map[string]func(){"smolwc": main})
}

// The scripts of testdata/script read like sessions at a terminal; testscript's
// own documentation has their commands.
func TestScripts(t *testing.T) {
	repo, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(env *testscript.Env) error {
			env.Setenv("REPO", repo)
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"gz":       gz,
			"truncate": truncate,
		},
	})
}

// gz FILE writes FILE.gz.
func gz(ts *testscript.TestScript, _ bool, args []string) {
	out, err := os.Create(ts.MkAbs(args[0] + ".gz"))
	ts.Check(err)
	defer out.Close()
	z := gzip.NewWriter(out)
	_, err = io.WriteString(z, ts.ReadFile(args[0]))
	ts.Check(err)
	ts.Check(z.Close())
}

// truncate FILE N cuts the last N bytes off.
func truncate(ts *testscript.TestScript, _ bool, args []string) {
	n, err := strconv.ParseInt(args[1], 10, 64)
	ts.Check(err)
	info, err := os.Stat(ts.MkAbs(args[0]))
	ts.Check(err)
	ts.Check(os.Truncate(ts.MkAbs(args[0]), info.Size()-n))
}
