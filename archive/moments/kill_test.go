package moments_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/smolwc/smolwc/archive/moments"
	"github.com/smolwc/smolwc/query"
)

var kills = flag.Int("kills", 4, "steps of a sender, a merge, a prune and a restore at which the tests kill their processes; 0 is each step")

const beChild = "SMOLWC_TEST_MOMENTS_CHILD"

func TestMain(m *testing.M) {
	if text := os.Getenv(beChild); text != "" {
		child(strings.Split(text, "\n"))
		return
	}
	flag.Parse()
	os.Exit(m.Run())
}

// A failer is a testing.TB for a process that is not a test.
type failer struct{ testing.TB }

func (*failer) Helper()        {}
func (*failer) Cleanup(func()) {}
func (*failer) Error(args ...any) {
	fmt.Fprintln(os.Stderr, args...)
	os.Exit(1)
}
func (f *failer) Fatal(args ...any) { f.Error(args...) }
func (f *failer) Fatalf(format string, args ...any) {
	f.Error(fmt.Sprintf(format, args...))
}

// duringRestore is the number of a restore's first step with a database.
const duringRestore = -1

// child writes, merges, prunes and restores, and kills itself at a step. It says each state that is in the archive.
func child(args []string) {
	dir, target, at := args[0], args[1], args[2]
	last, _ := strconv.Atoi(at)
	var n atomic.Int64 // several goroutines have steps
	moments.OnStep(func(name string) {
		if int(n.Add(1)) == last || last == duringRestore && strings.HasPrefix(name, "restore: ") {
			fmt.Println("killed", name)
			self, _ := os.FindProcess(os.Getpid()) // never fails
			_ = self.Kill()
			select {}
		}
	})
	t := &failer{}
	s := &source{t: t, dir: dir, target: target, now: time.Now, logger: slog.New(slog.DiscardHandler), o: moments.Options{Every: time.Millisecond}}
	s.open()
	s.send()
	s.sent()
	for round := range 2 {
		for i := range 3 {
			st := s.set(fmt.Sprint("plane", round, i))
			fmt.Println("state " + string(must2(json.Marshal([]any{st.position, st.at.UnixMicro(), st.content}))))
		}
		load(t, s.db, "fleet", "meta", map[string]int64{fmt.Sprint("load", round): 7})
		s.sent()
		s.quiet()
		if _, err := moments.Merge(context.Background(), s.archive(), time.Now().Add(48*time.Hour)); err != nil {
			t.Fatal(err)
		}
		s.o.BaseEvery = time.Second
		s.send()
		s.sent()
	}
	await(t, "a base", func() (string, bool) {
		r, err := moments.Look(context.Background(), s.archive())
		return fmt.Sprint(r, err), err == nil && r.Bases > 1
	})
	fmt.Println("prunes now")
	if _, err := moments.Prune(context.Background(), s.archive(), time.Now()); err != nil {
		t.Fatal(err)
	}
	s.quiet()
	if _, err := moments.Restore(context.Background(), s.archive(), moments.Moment{}, dir+"-restored", moments.RestoreOptions{}); err != nil {
		t.Fatal(err)
	}
	fmt.Println("steps", n.Load())
	os.Exit(0)
}

func must2[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// runChild runs the child until the step, and returns what it has said.
func runChild(t *testing.T, dir, target string, at int) (states []state, killed string, pruned bool, steps int) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s\n%s\n%d", beChild, dir, target, at))
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		word, rest, _ := strings.Cut(lines.Text(), " ")
		switch word {
		case "state":
			var v []any
			must(t, json.Unmarshal([]byte(rest), &v))
			states = append(states, state{"a set", uint64(v[0].(float64)), time.UnixMicro(int64(v[1].(float64))), v[2].(string)})
		case "prunes":
			pruned = true
		case "killed":
			killed = rest
		case "steps":
			_, err := fmt.Sscan(rest, &steps)
			must(t, err)
		}
	}
	_ = cmd.Wait()
	if stderr.Len() > 0 {
		t.Fatal(stderr.String())
	}
	return states, killed, pruned, steps
}

// Killed at any step of a send, a merge, a prune or a restore, nothing is lost: the archive has no gap and no damage, every state that was
// there before can be restored, unless it was pruned, and no half database has its name, or can be opened under another.
func TestKilledAtEachStep(t *testing.T) {
	t.Parallel()
	_, _, _, steps := runChild(t, filepath.Join(t.TempDir(), "db"), filepath.Join(t.TempDir(), "archive"), 0)
	if steps < 20 {
		t.Fatalf("there are %d steps only", steps)
	}
	chosen := rand.Perm(steps)
	if *kills > 0 {
		chosen = append(chosen[:*kills-1], duringRestore-1)
	}
	for _, at := range chosen {
		dir, target := filepath.Join(t.TempDir(), "db"), filepath.Join(t.TempDir(), "archive")
		states, killed, pruned, _ := runChild(t, dir, target, at+1)
		t.Logf("step %d of %d: %s, after %d states", at+1, steps, killed, len(states))
		if _, err := os.Stat(dir + "-restored"); killed != "" && !errors.Is(err, os.ErrNotExist) {
			t.Errorf("step %s: a restore that was killed has left a database", killed)
		}
		left, err := filepath.Glob(dir + "-restored.restoring-*")
		must(t, err)
		for _, half := range left {
			for _, readOnly := range []bool{true, false} {
				if db, err := query.Open(half, query.Options{ReadOnly: readOnly, MustExist: true}); err == nil {
					t.Errorf("step %s: a restore that was killed has left a database that can be opened", killed)
					must(t, db.Close())
				} else {
					t.Log(err)
				}
			}
		}
		s := &source{t: t, dir: dir, target: target, now: time.Now, logger: slog.New(slog.DiscardHandler), o: moments.Options{Every: time.Millisecond}}
		s.open()
		s.send()
		s.sent()
		states = append(states, s.set("after"))
		if _, err := moments.Merge(t.Context(), s.archive(), time.Now().Add(48*time.Hour)); err != nil {
			t.Error(err)
		}
		s.close()
		r, err := moments.Verify(t.Context(), s.archive(), moments.VerifyOptions{})
		if err != nil || len(r.Gaps) > 0 || s.sender.Status().Gaps > 0 {
			t.Errorf("killed at %s: %+v, %v", killed, r, err)
		}
		kept := states[:0]
		for _, st := range states {
			if !st.at.Before(r.Earliest) {
				kept = append(kept, st)
			} else if !pruned {
				t.Errorf("killed at %s: %v cannot be restored; the earliest is %v", killed, st.at, r.Earliest)
			}
		}
		s.compare(kept[max(0, len(kept)-2):])
		s.compare(kept[:min(1, len(kept))])
	}
}
