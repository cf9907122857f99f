package cli

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
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
