package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Where a build does not link RocksDB, nothing looks for it: not the go command of
// scripts/go, not make, which says what the binary was made of, and nothing is installed.
// Otherwise all of them do, also where there is no compiler yet.
func TestScriptsLookForRocksDBWhereItIsLinked(t *testing.T) {
	for _, name := range []string{"make", "bash"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skip(err)
		}
	}
	commands := t.TempDir()
	for _, name := range []string{"pkg-config", "apt-get", "sudo"} { // nobody has RocksDB, and nobody gets it
		if err := os.WriteFile(filepath.Join(commands, name), []byte("#!/bin/sh\necho looked for RocksDB with $0 >&2\nexit 1\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	environ := slices.DeleteFunc(os.Environ(), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return slices.Contains([]string{"GOFLAGS", "GOOS", "CGO_ENABLED", "CC"}, name)
	})
	for _, set := range []string{"CGO_ENABLED=0", "GOOS=darwin", "GOFLAGS=-tags=norocksdb", "CGO_ENABLED=1", "CC=no-such-compiler"} {
		for _, line := range []string{"scripts/go version", "scripts/deps", "make build GO=echo"} {
			cmd := exec.Command("bash", "-c", line)
			cmd.Dir = "../.."
			cmd.Env = append(slices.Clone(environ), "GOOS=linux", "PATH="+commands+":"+os.Getenv("PATH"), set)
			out, err := cmd.CombinedOutput()
			linked := set == "CGO_ENABLED=1" || strings.HasPrefix(set, "CC=")
			if looked := strings.Contains(string(out), "looked for RocksDB"); looked != linked || (err != nil) != linked {
				t.Errorf("%s %s looked for RocksDB: %t, want %t; %v\n%s", set, line, looked, linked, err, out)
			}
			if strings.HasPrefix(line, "make") && !linked && !strings.Contains(string(out), "cli.madeOf='") {
				t.Errorf("%s %s: the binary is made of RocksDB, in\n%s", set, line, out)
			}
		}
	}
	cmd := exec.Command("../../scripts/go", "env", "-changed", "-tags", "norocksdb")
	cmd.Env = append(slices.Clone(environ), "PATH="+commands+":"+os.Getenv("PATH"))
	if out, _ := cmd.CombinedOutput(); strings.Contains(string(out), "looked for RocksDB") {
		t.Errorf("with the tag as an argument:\n%s", out)
	}
}

// make help names the halves of make dist that packaging/dist takes.
func TestHalvesOfDist(t *testing.T) {
	line := regexp.MustCompile(`(?m)^dist:.*`).FindString(read(t, "../../Makefile"))
	halves := regexp.MustCompile(`ARGS=(\w+)`).FindAllStringSubmatch(line, -1)
	if len(halves) != 2 {
		t.Fatalf("make help says %q", line)
	}
	for _, half := range halves {
		if script := read(t, "../../packaging/dist"); !strings.Contains(script, "$half == "+half[1]+" ") {
			t.Errorf("make help names %s, which packaging/dist does not take", half[0])
		}
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
