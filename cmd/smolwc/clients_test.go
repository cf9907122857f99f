package main

import (
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Bigtable's official clients in other languages work with the server as it is
// started. The tests install nothing. To run them:
//
//	python3 -m venv py && py/bin/pip install google-cloud-bigtable
//	npm install --prefix node @google-cloud/bigtable
//	SMOLWC_PYTHON=$PWD/py/bin/python NODE_PATH=$PWD/node/node_modules go test ./cmd/smolwc -run Client -v

func TestPythonClient(t *testing.T) {
	t.Parallel()
	python := cmp.Or(os.Getenv("SMOLWC_PYTHON"), "python3")
	needs(t, "the package google-cloud-bigtable for "+python+" (see $SMOLWC_PYTHON)", python, "-c", "import google.cloud.bigtable")
	runClient(t, python, "client.py")
}

func TestNodeClient(t *testing.T) {
	t.Parallel()
	needs(t, "node with the package @google-cloud/bigtable (see $NODE_PATH)", "node", "-e", "require('@google-cloud/bigtable')")
	runClient(t, "node", "client.js")
}

// needs skips the test when a command fails.
func needs(t *testing.T, what, command string, args ...string) {
	t.Helper()
	if err := exec.Command(command, args...).Run(); err != nil {
		t.Skipf("there is no %s: %v", what, err)
	}
}

func runClient(t *testing.T, command, script string) {
	t.Helper()
	s := startServer(t, "--db", filepath.Join(t.TempDir(), "db"))
	cmd := exec.CommandContext(t.Context(), command, filepath.Join("..", "..", "server", "testdata", script))
	cmd.Env = append(os.Environ(), "BIGTABLE_EMULATOR_HOST="+s.addr)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%s: %v\n%s", script, err, out)
	}
}
