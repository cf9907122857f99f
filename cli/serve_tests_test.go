package cli

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// control calls a control of smolwc serve --memory-only.
func (s *served) control(method, path, body string) map[string]any {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), method, strings.TrimSuffix(s.pages, "/metrics")+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(resp.Body)
	var state map[string]any
	if err := json.Unmarshal(text, &state); err != nil || resp.StatusCode != http.StatusOK {
		s.t.Fatalf("%s %s: %s, %s", method, path, resp.Status, text)
	}
	return state
}

func writeFiles(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

const testTables = `
tables:
  - name: fleet
    families: [{name: meta, max_age: 1h}, {name: n, type: i64}]
  - name: log
    families: [{name: f}]
`

func TestServeForTestsStartsFromItsSeedAndGoesBackToIt(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	seeds := filepath.Join(dir, "seed")
	if err := os.Mkdir(seeds, 0o700); err != nil {
		t.Fatal(err)
	}
	writeFiles(t, dir, map[string]string{"tables.yaml": testTables})
	writeFiles(t, seeds, map[string]string{
		"log.jsonl":   `{"row":"e1","family":"f","qualifier":"x","timestamp":1,"type":"string","value":"one"}` + "\n",
		"rows.smolwc": "put fleet plane#1 meta:model=757 n:seats=183\nput fleet plane#2 meta:model=767\n",
		".hidden":     "not read",
	})
	s := startServer(t, "--memory-only", "--schema", filepath.Join(dir, "tables.yaml"), "--seed", seeds, "--clock", "2024-07-04T12:00:00Z")
	count := func(want string) {
		t.Helper()
		if out, _ := output(t, "--addr", s.addr, "--format", "csv", "-c", "count fleet; count log; count fleet where meta:model exists"); strings.ReplaceAll(out, "\n", " ") != want {
			t.Errorf("counted %q, want %q", out, want)
		}
	}
	count("2 1 2 ")
	output(t, "--addr", s.addr, "-c", "put fleet plane#3 meta:model=777; drop table log yes; create table other family f")
	s.control("PUT", "/test/faults", `[{"method": "*Row*", "code": "INTERNAL"}]`)
	s.control("POST", "/test/reset", "")
	count("2 1 2 ")
	s.control("PUT", "/test/clock", `{"advance": "2h"}`)
	count("1 1 0 ") // plane#1 has its seats
	if state := s.control("GET", "/test", ""); state["now"] != "2024-07-04T14:00:00Z" || state["frozen"] != true {
		t.Errorf("the state is %v", state)
	}
	if out, _ := output(t, "--addr", s.addr, "--format", "csv", "-c", "tables"); strings.Contains(out, "other") {
		t.Errorf("tables after the reset: %s", out)
	}
	if err := s.end(syscall.SIGTERM); err != nil {
		t.Error(err)
	}
	if left, _ := os.ReadDir(s.cmd.Dir); len(left) > 0 {
		t.Errorf("the server left %v", left)
	}
}

func TestServeForTestsRefusesWrongFiles(t *testing.T) {
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{"tables.yaml": testTables, "wrong.yaml": "tables: [{name: t, families: [{name: f, typ: i64}]}]"})
	wrong := func(name, text string) string {
		seeds := t.TempDir()
		writeFiles(t, seeds, map[string]string{name: text})
		return seeds
	}
	tables := filepath.Join(dir, "tables.yaml")
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"--schema", tables}, exitUsage, "--schema goes with --memory-only"},
		{[]string{"--memory-only", "--db", "d"}, exitUsage, "give one of them"},
		{[]string{"--memory-only", "--durability", "sync"}, exitUsage, "leave out --durability"},
		{[]string{"--memory-only", "--clock", "noon"}, exitUsage, `--clock is "noon"`},
		{[]string{"--memory-only", "--schema", filepath.Join(dir, "none.yaml")}, exitUsage, "--schema: "},
		{[]string{"--memory-only", "--schema", filepath.Join(dir, "wrong.yaml")}, exitUsage, "typ"},
		{[]string{"--memory-only", "--seed", filepath.Join(dir, "none")}, exitUsage, "--seed: "},
		{[]string{"--memory-only", "--schema", tables, "--seed", wrong("fleet.xls", "")}, exitUsage, "fleet.xls is neither a file that import reads"},
		{[]string{"--memory-only", "--schema", tables, "--seed", wrong("fleet.jsonl", `{"row":"a","family":"meta","qualifier":"x","timestamp":1,"type":"string","value":"one"}`+"\n{\"row\":1}\n")}, exitOpen, "fleet.jsonl:2"},
		{[]string{"--memory-only", "--schema", tables, "--seed", wrong("flat.jsonl", "{}\n")}, exitOpen, `unknown table "flat"`},
		{[]string{"--memory-only", "--schema", tables, "--seed", wrong("a.smolwc", "put fleet k meta:x=1\nput fleet k mta:x=1\n")}, exitOpen, `a.smolwc:2:13: unknown family "mta"`},
	} {
		var out, errs strings.Builder
		args := append([]string{"serve", "--addr", "127.0.0.1:0"}, c.args...)
		if code := run(args, strings.NewReader(""), &out, &errs, noEnv); code != c.code || !strings.Contains(errs.String(), c.want) {
			t.Errorf("%s: exit %d, %s", strings.Join(c.args, " "), code, errs.String())
		}
	}
}
