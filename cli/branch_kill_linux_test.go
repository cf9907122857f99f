package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/smolwc/smolwc/branch"
	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
)

// Commands about branches are killed at steps: before a system call that changes files. A branch
// is made or removed whole or not at all, a merge of one commit too; the next commands work, and
// leave nothing of the killed one. -step-every 1 takes all steps.
func TestBranchesKilledAtEveryStep(t *testing.T) {
	t.Parallel()
	killer, dir := buildKiller(t), t.TempDir()
	kept, work := filepath.Join(dir, "kept"), filepath.Join(dir, "work")
	data := filepath.Join(work, "data")
	change := func(dir, row string) {
		t.Helper()
		db, err := query.Open(dir, query.Options{Schema: &schema.Schema{Tables: []schema.Table{{Name: "t", Families: []schema.Family{{Name: "f"}}}}}})
		if err != nil {
			t.Fatal(err)
		}
		m := write.NewMutation()
		m.SetAt("f", "", 1, cells.String(row))
		if err := errors.Join(db.Table("t").Apply(t.Context(), row, m), db.Close()); err != nil {
			t.Fatal(err)
		}
	}
	rows := func(dir string) (keys string) {
		t.Helper()
		db, err := query.Open(dir, query.Options{MustExist: true})
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		for row, err := range db.Table("t").ReadRows(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			keys += row.Key() + " "
		}
		return keys
	}
	run := func(args ...string) {
		t.Helper()
		if out, err := branchCommand(data, args...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %v: %s", args, err, out)
		}
	}
	change(data, "first")
	run("create", "b")
	at := func(name string) string { return filepath.Join(data+branch.Suffix, name, "db") }
	change(at("b"), "second")
	d, err := branch.Of(data)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(work, kept); err != nil {
		t.Fatal(err)
	}
	names := func() (all []string) {
		t.Helper()
		list, err := d.List()
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range list {
			all = append(all, b.Name)
		}
		return all
	}
	for _, c := range []struct {
		command string
		check   func()
	}{
		{"create c", func() {
			if slices.Contains(names(), "c") && rows(at("c")) != "first " {
				t.Errorf("the new branch has the rows %q", rows(at("c")))
			}
		}},
		{"merge b", func() {
			if got := rows(data); got != "first " && got != "first second " {
				t.Errorf("after the kill the database has the rows %q", got)
			}
			run("merge", "b")
			run("merge", "b")
			if got := rows(data); got != "first second " {
				t.Errorf("merged, the database has the rows %q", got)
			}
			if bases, err := filepath.Glob(filepath.Join(d.Path(), "b", "base-*")); len(bases) != 1 || err != nil {
				t.Errorf("the branch has the bases %v, %v", bases, err)
			}
		}},
		{"drop b", func() {
			if slices.Contains(names(), "b") && rows(at("b")) != "first second " {
				t.Errorf("the branch has the rows %q", rows(at("b")))
			}
		}},
	} {
		t.Run(c.command, func(t *testing.T) {
			steps := filepath.Join(dir, "steps")
			kill := func(step int) (killed bool, made int) {
				if err := errors.Join(os.RemoveAll(work), os.CopyFS(work, os.DirFS(kept))); err != nil {
					t.Fatal(err)
				}
				command := branchCommand(data, strings.Fields(c.command)...)
				command.Args = append([]string{killer, "-", fmt.Sprint(step), work, steps, "-"}, command.Args...)
				command.Path = killer
				out, err := command.CombinedOutput()
				text, err2 := os.ReadFile(steps)
				if err2 != nil {
					t.Fatalf("%v, %v: %s", err, err2, out)
				}
				made = strings.Count(string(text), "\n")
				if killed = strings.HasSuffix(string(text), "killed\n"); !killed && err != nil {
					t.Fatalf("%v: %s", err, out)
				}
				return killed, made
			}
			_, all := kill(0)
			every := *stepEvery
			if every == 0 {
				every = all/3 + 1
			}
			for step := 1; ; step += every {
				killed, _ := kill(step)
				c.check()
				for _, name := range append(names(), "new") {
					if name == "new" {
						run("create", name)
					}
					run("drop", name)
				}
				if left, err := os.ReadDir(d.Path()); !errors.Is(err, os.ErrNotExist) {
					t.Errorf("step %d of %s leaves %v, %v", step, c.command, left, err)
				}
				if !killed || t.Failed() {
					t.Logf("%d steps", all)
					return
				}
			}
		})
	}
}

func branchCommand(db string, args ...string) *exec.Cmd {
	c := exec.Command(os.Args[0], append([]string{"branch", "--db", db}, args...)...)
	c.Env = append(os.Environ(), beSmolwc+"=1")
	return c
}

// memoryDir is a directory in memory, where the program that kills can lose what was not synced.
func memoryDir(t *testing.T) string {
	dir, err := os.MkdirTemp("/dev/shm", "smolwc-killed")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// A branch that was made survives a loss of power right after it, also the first one.
func TestABranchSurvivesALossOfPower(t *testing.T) {
	t.Parallel()
	killer, dir := buildKiller(t), memoryDir(t)
	engines := []query.Engine{query.EnginePebble}
	if query.HasRocksDB {
		engines = append(engines, query.EngineRocksDB)
	}
	for _, engine := range engines {
		work := filepath.Join(dir, string(engine))
		data := filepath.Join(work, "data")
		db, err := query.Open(data, query.Options{Engine: engine, Schema: &schema.Schema{Tables: []schema.Table{{Name: "t", Families: []schema.Family{{Name: "f"}}}}}})
		if err != nil {
			t.Fatal(err)
		}
		m := write.NewMutation()
		m.SetAt("f", "", 1, cells.String("x"))
		if err := errors.Join(db.Table("t").Apply(t.Context(), "k", m), db.Close()); err != nil {
			t.Fatal(err)
		}
		steps := filepath.Join(dir, "steps")
		c := exec.Command(killer, "-", "openat made", work, steps, "names", "sh", "-c", `"$0" branch --db "$1" create b && : >"$2"`, os.Args[0], data, filepath.Join(work, "made"))
		c.Env = append(os.Environ(), beSmolwc+"=1")
		out, _ := c.CombinedOutput()
		if text, err := os.ReadFile(steps); err != nil || !strings.HasSuffix(string(text), "killed\n") {
			t.Fatalf("%s: %v: %s", engine, err, out)
		}
		d, err := branch.Of(data)
		if err != nil {
			t.Fatal(err)
		}
		b, err := d.Get("b")
		if err != nil {
			t.Fatal(engine, err)
		}
		for _, dir := range []string{data, b.Base, b.Dir} {
			db, err := query.Open(dir, query.Options{MustExist: true})
			if err != nil {
				t.Fatal(engine, err)
			}
			r, err := db.Check(t.Context())
			row, err2 := db.Table("t").ReadRow(t.Context(), "k")
			if err != nil || !r.OK() || err2 != nil || row == nil || dir == b.Dir && db.UUID().String() != b.ID {
				t.Errorf("%s, %s: %+v, %v, %v, %v", engine, dir, r, err, row, err2)
			}
			if err := db.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// A server is killed at steps of the merge of a branch that it serves: of one commit all is
// merged or nothing. The next server merges the rest, and nothing of the killed merge is left.
func TestAServedMergeIsKilled(t *testing.T) {
	t.Parallel()
	killer, dir := buildKiller(t), memoryDir(t)
	kept, work := filepath.Join(dir, "kept"), filepath.Join(dir, "work")
	data, arm, steps := filepath.Join(work, "data"), filepath.Join(dir, "arm"), filepath.Join(dir, "steps")
	var addr string
	serve := func(step string) *exec.Cmd {
		t.Helper()
		_ = os.Remove(arm) // it may not be there
		c := exec.Command(killer, arm, step, work, steps, "-", os.Args[0], "serve", "--db", data, "--branches", "--addr", "127.0.0.1:0", "--http", "off")
		c.Env = append(os.Environ(), beSmolwc+"=1")
		out, err := c.StdoutPipe()
		if err == nil {
			err = c.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		for addr = ""; addr == "" && lines.Scan(); {
			_, addr, _ = strings.Cut(lines.Text(), " on ")
		}
		go func() { _, _ = io.Copy(io.Discard, out) }()
		return c
	}
	run := func(args ...string) (string, error) {
		c := exec.Command(os.Args[0], args...)
		c.Env = append(os.Environ(), beSmolwc+"=1")
		out, err := c.CombinedOutput()
		return string(out), err
	}
	must := func(args ...string) string {
		t.Helper()
		out, err := run(args...)
		if err != nil {
			t.Fatalf("%v: %v: %s", args, err, out)
		}
		return out
	}
	must("--db", data, "-c", "create table t family f", "-c", "put t k f:q=ours@1")
	must("branch", "--db", data, "create", "b")
	must("--db", filepath.Join(data+branch.Suffix, "b", "db"), "-c", "put t k f:q=theirs@1", "-c", "put t l f:q=theirs@1")
	if err := os.Rename(work, kept); err != nil {
		t.Fatal(err)
	}
	all := 0
	for step := 0; ; {
		if err := errors.Join(os.RemoveAll(work), os.CopyFS(work, os.DirFS(kept))); err != nil {
			t.Fatal(err)
		}
		server := serve(fmt.Sprint(step))
		if err := os.WriteFile(arm, nil, 0o644); err != nil {
			t.Fatal(err)
		}
		out, err := run("branch", "--db", data, "merge", "b", "--addr", addr)
		_ = server.Process.Signal(syscall.SIGTERM)
		_ = server.Wait() // with the code of the killed server
		text, err2 := os.ReadFile(steps)
		killed := strings.HasSuffix(string(text), "killed\n")
		if err2 != nil || err != nil && !killed {
			t.Fatalf("step %d: %v, %v: %s", step, err, err2, out)
		}
		merged := strings.Count(must("--db", data, "-c", "scan t", "--format", "csv"), "theirs")
		if merged != 0 && merged != 2 || err == nil && merged != 2 {
			t.Errorf("killed at step %d, after %v the database has %d of 2 cells: %s", step, err, merged, out)
		}
		server = serve("0")
		must("branch", "--db", data, "merge", "b", "--addr", addr)
		must("branch", "--db", data, "merge", "b", "--addr", addr)
		_ = server.Process.Signal(syscall.SIGTERM)
		if err := server.Wait(); err != nil {
			t.Error(err)
		}
		if merged := strings.Count(must("--db", data, "-c", "scan t", "--format", "csv"), "theirs"); merged != 2 {
			t.Errorf("killed at step %d, and merged, the database has %d of 2 cells", step, merged)
		}
		if out := must("branch", "--db", data, "diff", "b"); out != "the branch is equal to its base\n" {
			t.Errorf("killed at step %d, and merged: %s", step, out)
		}
		if bases, err := filepath.Glob(filepath.Join(data+branch.Suffix, "b", "base-*")); len(bases) != 1 || err != nil {
			t.Errorf("killed at step %d, and merged, the branch has the bases %v, %v", step, bases, err)
		}
		switch {
		case t.Failed():
			return
		case step == 0:
			all = strings.Count(string(text), "\n")
			step = 1
		case !killed || step > all:
			t.Logf("%d steps", all)
			return
		case *stepEvery > 0:
			step += *stepEvery
		default:
			step += all/4 + 1
		}
	}
}
