package cli

import (
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/schema"
)

// Bigtable's official clients in other languages work with a server that has default
// settings. The tests install nothing. To run them:
//
//	python3 -m venv py && py/bin/pip install google-cloud-bigtable
//	npm install --prefix node @google-cloud/bigtable
//	SMOLWC_PYTHON=$PWD/py/bin/python NODE_PATH=$PWD/node/node_modules go test ./cli -run Client -v
//
// The Java client needs the jars of com.google.cloud:google-cloud-bigtable in
// $SMOLWC_JAVA_CLASSPATH; mvn dependency:build-classpath prints their path. Terraform
// needs SMOLWC_TERRAFORM=1 and the provider google, from the network or from its own
// configuration. The Rust client, which is not Bigtable's own, needs SMOLWC_RUST=1;
// cargo builds it in some minutes.
//
// More tests use Bigtable's API through another library: SMOLWC_HAPPYBASE, SMOLWC_FEAST
// and SMOLWC_BEAM name a Python that has google-cloud-happybase with six, feast[gcp], or
// apache-beam[gcp], SMOLWC_HBASE_CLASSPATH has the jars of com.google.cloud.bigtable:bigtable-hbase-2.x,
// and SMOLWC_BEAM_JAVA_CLASSPATH those of server/testdata/beam/pom.xml. docs/clients.md says which versions ran.

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
	runClient(t, "java", "-cp", setting(t, "SMOLWC_JAVA_CLASSPATH"), "Client.java")
}

func TestHappyBaseClient(t *testing.T) {
	t.Parallel()
	runClient(t, setting(t, "SMOLWC_HAPPYBASE"), "happybase_client.py")
}

func TestFeastClient(t *testing.T) {
	t.Parallel()
	runClient(t, setting(t, "SMOLWC_FEAST"), "feast_client.py")
}

func TestBeamClient(t *testing.T) {
	t.Parallel()
	runClient(t, setting(t, "SMOLWC_BEAM"), "beam_client.py")
}

// Beam sends its functions as serialized objects, whose classes must be in files.
func TestBeamJavaClient(t *testing.T) {
	t.Parallel()
	path, classes := setting(t, "SMOLWC_BEAM_JAVA_CLASSPATH"), t.TempDir()
	source := filepath.Join("..", "server", "testdata", "beam", "BeamIO.java")
	if out, err := exec.CommandContext(t.Context(), "javac", "-cp", path, "-d", classes, source).CombinedOutput(); err != nil {
		t.Fatalf("javac: %v\n%s", err, out)
	}
	runProgram(t, filepath.Join(t.TempDir(), "db"), "java", "-cp", classes+string(filepath.ListSeparator)+path, "BeamIO")
}

func TestHBaseClient(t *testing.T) {
	t.Parallel()
	runClient(t, "java", "-cp", setting(t, "SMOLWC_HBASE_CLASSPATH"), "HBase.java")
}

func TestRustClient(t *testing.T) {
	t.Parallel()
	if os.Getenv("SMOLWC_RUST") == "" {
		t.Skip("$SMOLWC_RUST is not set")
	}
	target := filepath.Join(os.TempDir(), "smolwc-rust") // not removed: a build takes minutes
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
	config, err := os.ReadFile(filepath.Join("..", "server", "testdata", "main.tf"))
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
	if os.Getenv("TF_CLI_CONFIG_FILE") == "" { // which may name an installed provider
		terraform("init", "-no-color")
	}
	const same = "-detailed-exitcode" // fails on any difference
	for _, versions := range []string{"versions=10", "versions=5"} {
		terraform("apply", "-auto-approve", "-no-color", "-var", versions)
		terraform("plan", same, "-no-color", "-var", versions)
	}
	terraform("destroy", "-auto-approve", "-no-color")
}

// setting is a variable of the environment; without it the test is skipped.
func setting(t *testing.T, name string) string {
	t.Helper()
	value := os.Getenv(name)
	if value == "" {
		t.Skipf("$%s is not set", name)
	}
	return value
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
	args[len(args)-1] = filepath.Join("..", "server", "testdata", args[len(args)-1])
	runProgram(t, db, command, args...)
}

// runProgram runs a command beside a server of a database.
func runProgram(t *testing.T, db, command string, args ...string) {
	t.Helper()
	s := startServer(t, "--db", db)
	cmd := exec.CommandContext(t.Context(), command, args...)
	cmd.Env = append(os.Environ(), "BIGTABLE_EMULATOR_HOST="+s.addr)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%s %s: %v\n%s", command, args[len(args)-1], err, out)
	}
}
