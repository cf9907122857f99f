package main

import (
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/schema"
)

// Bigtable's official clients in other languages work with the server as it is
// started. The tests install nothing. To run them:
//
//	python3 -m venv py && py/bin/pip install google-cloud-bigtable
//	npm install --prefix node @google-cloud/bigtable
//	SMOLWC_PYTHON=$PWD/py/bin/python NODE_PATH=$PWD/node/node_modules go test ./cmd/smolwc -run Client -v
//
// That in Java wants the jars of com.google.cloud:google-cloud-bigtable, whose path
// mvn dependency:build-classpath prints, in $SMOLWC_JAVA_CLASSPATH. Terraform wants
// the provider google, from the network or as its own configuration says, and
// SMOLWC_TERRAFORM=1. That in Rust, which is not Bigtable's own, is built with cargo
// for some minutes; SMOLWC_RUST=1 asks for it.

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

func TestJavaClient(t *testing.T) {
	t.Parallel()
	jars := os.Getenv("SMOLWC_JAVA_CLASSPATH")
	if jars == "" {
		t.Skip("$SMOLWC_JAVA_CLASSPATH does not say where Bigtable's client is")
	}
	runClient(t, "java", "-cp", jars, "Client.java")
}

func TestRustClient(t *testing.T) {
	t.Parallel()
	if os.Getenv("SMOLWC_RUST") == "" {
		t.Skip("$SMOLWC_RUST is not set")
	}
	target := filepath.Join(os.TempDir(), "smolwc-rust") // kept: a build takes minutes
	db := filepath.Join(t.TempDir(), "db")               // with a table, since the client makes none
	made, err := query.Open(db, query.Options{Schema: &schema.Schema{Tables: []schema.Table{{Name: "rust", Families: []schema.Family{{Name: "f"}}}}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := made.Close(); err != nil {
		t.Fatal(err)
	}
	runClientOn(t, db, "cargo", "run", "--quiet", "--target-dir", target, "--manifest-path", filepath.Join("rust", "Cargo.toml"))
}

// Terraform makes an instance, tables and rules, finds no difference afterwards,
// changes them, and removes them again.
func TestTerraform(t *testing.T) {
	t.Parallel()
	if os.Getenv("SMOLWC_TERRAFORM") == "" {
		t.Skip("$SMOLWC_TERRAFORM is not set")
	}
	s := startServer(t, "--db", filepath.Join(t.TempDir(), "db"))
	dir := t.TempDir()
	config, err := os.ReadFile(filepath.Join("..", "..", "server", "testdata", "main.tf"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "main.tf"), config, 0o600); err != nil {
		t.Fatal(err)
	}
	terraform := func(args ...string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "terraform", append([]string{"-chdir=" + dir}, args...)...)
		cmd.Env = append(os.Environ(), "BIGTABLE_EMULATOR_HOST="+s.addr, "CHECKPOINT_DISABLE=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("terraform %s: %v\n%s", args[0], err, out)
		}
	}
	if os.Getenv("TF_CLI_CONFIG_FILE") == "" { // which may name a provider that is here already
		terraform("init", "-no-color")
	}
	const same = "-detailed-exitcode" // fails on any difference
	for _, versions := range []string{"versions=10", "versions=5"} {
		terraform("apply", "-auto-approve", "-no-color", "-var", versions)
		terraform("plan", same, "-no-color", "-var", versions)
	}
	terraform("destroy", "-auto-approve", "-no-color")
}

// needs skips the test when a command fails.
func needs(t *testing.T, what, command string, args ...string) {
	t.Helper()
	if err := exec.Command(command, args...).Run(); err != nil {
		t.Skipf("there is no %s: %v", what, err)
	}
}

// runClient runs a command whose last argument is a file of testdata.
func runClient(t *testing.T, command string, args ...string) {
	t.Helper()
	runClientOn(t, filepath.Join(t.TempDir(), "db"), command, args...)
}

// runClientOn is runClient on a database.
func runClientOn(t *testing.T, db, command string, args ...string) {
	t.Helper()
	s := startServer(t, "--db", db)
	script := args[len(args)-1]
	args[len(args)-1] = filepath.Join("..", "..", "server", "testdata", script)
	cmd := exec.CommandContext(t.Context(), command, args...)
	cmd.Env = append(os.Environ(), "BIGTABLE_EMULATOR_HOST="+s.addr)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%s: %v\n%s", script, err, out)
	}
}
