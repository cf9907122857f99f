package query_test

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/querytest"
)

// deletedChild makes the test binary a process that changes tables. Its value is the
// directory and the seed.
const deletedChild = "SMOLWC_TEST_DELETED_CHILD"

const deletedKills = 8

// deleteUntilKilled prints each change before it begins, and a line after it.
func deleteUntilKilled(dir string, seed uint64) error {
	db, err := query.Open(dir, query.Options{Memory: 16 << 20, GCInterval: -1})
	if err != nil {
		return err
	}
	rng := rand.New(rand.NewPCG(seed, 0))
	for {
		c := querytest.TableChange{Kind: querytest.TableChanges[rng.IntN(len(querytest.TableChanges))], Table: []string{"t", "u"}[rng.IntN(2)], ID: rng.IntN(1e6)}
		fmt.Println("begin", c.Kind, c.Table, c.ID)
		err := c.Do(ctx, db)
		if kind := query.KindOf(err); err != nil && kind != query.KindNotFound && kind != query.KindAlreadyExists {
			return fmt.Errorf("%+v: %w", c, err)
		}
		fmt.Println("end")
	}
}

// A process is killed with kill -9 while it creates, deletes, brings back and purges
// tables. The database opens with all changes that had ended, and with the last one
// before or after it.
func TestKilledWhileTablesAreDeleted(t *testing.T) {
	seed := *crashSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("-crash-seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 2))
	dir, err := os.MkdirTemp(memoryDir(), "smolwc-deleted-")
	must(t, err)
	defer os.RemoveAll(dir)
	model, pending := &querytest.TableModel{}, 0
	for range deletedKills {
		before, after := killDeleting(t, dir, model, rng.Uint64(), 10+rng.IntN(60))
		if t.Failed() {
			return
		}
		db, err := query.Open(dir, query.Options{Memory: 16 << 20, GCInterval: -1})
		must(t, err)
		if model = before; before.Differs(ctx, db, time.Now()) != nil {
			pending++
			model = after
		}
		if err := model.Differs(ctx, db, time.Now()); err != nil {
			t.Errorf("%v\nor before the last change\n%v", err, before.Differs(ctx, db, time.Now()))
		}
		if r, err := db.Check(ctx); err != nil || !r.OK() {
			t.Errorf("check: %+v, %v", r, err)
		}
		must(t, db.Close())
	}
	t.Logf("%d of %d pending changes took effect", pending, deletedKills)
}

// killDeleting starts the process and kills it after a number of lines. The result is
// the model before and after the change that was pending.
func killDeleting(t *testing.T, dir string, m *querytest.TableModel, seed uint64, lines int) (before, after *querytest.TableModel) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s %d", deletedChild, dir, seed))
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	defer func() { _ = cmd.Wait() }()
	defer func() { _ = cmd.Process.Kill() }()
	before, after = m, m
	in := bufio.NewReader(out)
	for n := 1; ; n++ {
		line, err := in.ReadString('\n')
		if err != nil {
			return before, after // ignore a line that was cut off
		}
		var c querytest.TableChange
		switch {
		case strings.HasPrefix(line, "fail"):
			t.Errorf("the process: %s", line)
			return before, after
		case line == "end\n":
			before = after
		default:
			_, err := fmt.Sscanf(line, "begin %s %s %d", &c.Kind, &c.Table, &c.ID)
			must(t, err)
			after = before.Clone()
			after.Do(c, time.Now())
		}
		if n == lines {
			time.Sleep(time.Duration(seed % uint64(2*time.Millisecond))) // anywhere in a change
			_ = cmd.Process.Kill()                                       // the rest of the pipe is still read
		}
	}
}
