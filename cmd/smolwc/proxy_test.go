package main

import (
	"archive/zip"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

const module = "github.com/smolwc/smolwc"

// The go command never looks at a version's files again, so each run has its own version.
var version = fmt.Sprintf("v0.2.0-test.%d", time.Now().UnixNano())

// go get and go install work from the form in which a module proxy serves smolwc: a zip
// without nested modules, and without a replace. Compiling it takes $SMOLWC_TEST_BUILDS.
func TestInstalledFromAProxy(t *testing.T) {
	proxy, work := t.TempDir(), t.TempDir()
	serve(t, proxy)
	modules := goEnv(t, "GOMODCACHE")
	t.Cleanup(func() { // the libraries stay, smolwc itself goes
		for _, dir := range []string{filepath.Join(modules, module+"@"+version), filepath.Join(modules, "cache", "download", module)} {
			if err := os.RemoveAll(dir); err != nil {
				t.Error(err)
			}
		}
	})
	flags := "-modcacherw"
	if strings.Contains(os.Getenv("GOFLAGS"), "-trimpath") { // then the libraries were compiled with it, too
		flags += " -trimpath"
	}
	env := append(os.Environ(), "CGO_ENABLED=0", "GOBIN="+work, "GOPROXY=file://"+proxy+",file://"+modules+"/cache/download,"+goEnv(t, "GOPROXY"), // of some modules the cache has no go.mod yet
		"GOSUMDB=off", "GOWORK=off", "GOFLAGS="+flags)
	run := func(dir, name string, args ...string) string {
		t.Helper()
		cmd := exec.Command(name, args...)
		cmd.Dir, cmd.Env = dir, env
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s %q: %v\n%s", name, args, err, out)
		}
		return string(out)
	}

	program := filepath.Join(work, "program")
	write(t, filepath.Join(program, "main.go"), read(t, "../../docs/examples/first/main.go"))
	run(program, "go", "mod", "init", "example.com/program")
	run(program, "go", "get", module+"/query@"+version, module+"/cmd/smolwc@"+version)
	run(program, "go", "list", "-deps", ".", module+"/cmd/smolwc") // fails on a file that an embed misses
	if os.Getenv("SMOLWC_TEST_BUILDS") == "" {
		return
	}
	run(program, "go", "run", ".")
	run(work, "go", "install", module+"/cmd/smolwc@"+version)
	smolwc := filepath.Join(work, "smolwc")
	if got := run(work, smolwc, "version"); !strings.HasPrefix(got, "smolwc "+version+" go") || !strings.Contains(got, "Pebble 2.") {
		t.Errorf("the version is %s", got)
	}
	if got := run(work, smolwc, "--db", "db", "-c", "create table t family f", "-c", "put t a f:q=1", "-c", "count t", "--format", "csv"); !strings.Contains(got, "1") {
		t.Errorf("a count: %s", got)
	}
}

// serve writes the files of a proxy with the tracked files of the root module, as they are.
func serve(t *testing.T, proxy string) {
	t.Helper()
	dir := filepath.Join(proxy, filepath.FromSlash(module), "@v")
	goMod := read(t, "../../go.mod")
	if strings.Contains(goMod, "\nreplace ") {
		t.Error("go.mod has a replace, with which go install refuses a module")
	}
	info, err := json.Marshal(map[string]string{"Version": version, "Time": "2026-01-02T03:04:05Z"})
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "list"), version+"\n")
	write(t, filepath.Join(dir, version+".info"), string(info))
	write(t, filepath.Join(dir, version+".mod"), goMod)

	file, err := os.Create(filepath.Join(dir, version+".zip"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	out := zip.NewWriter(file)
	for _, name := range tracked(t) {
		text, err := os.ReadFile(filepath.Join("../..", filepath.FromSlash(name)))
		if os.IsNotExist(err) {
			continue // removed, and not committed yet
		}
		if err != nil {
			t.Fatal(err)
		}
		w, err := out.Create(module + "@" + version + "/" + name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(text); err != nil {
			t.Fatal(err)
		}
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
}

// tracked lists the repository's files outside of its nested modules.
func tracked(t *testing.T) []string {
	t.Helper()
	cmd := exec.Command("git", "ls-files", "-z")
	cmd.Dir = "../.."
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	files := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
	nested := map[string]bool{}
	for _, f := range files {
		if dir, ok := strings.CutSuffix(f, "/go.mod"); ok {
			nested[dir+"/"] = true
		}
	}
	return slices.DeleteFunc(files, func(f string) bool {
		for dir := range maps.Keys(nested) {
			if strings.HasPrefix(f, dir) {
				return true
			}
		}
		return false
	})
}

func goEnv(t *testing.T, name string) string {
	t.Helper()
	out, err := exec.Command("go", "env", name).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
