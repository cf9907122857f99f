package query_test

import (
	"bufio"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/anishathalye/porcupine"

	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/querytest"
)

var linearCrashes = flag.Int("linear-crashes", 6, "how many times the process of TestKilledClientsAreLinearizable is killed")

// linearChild makes the test binary the clients. Its value is the directory and the
// seed.
const linearChild = "SMOLWC_TEST_LINEAR_CHILD"

const (
	linearClients = 4
	linearPairs   = 3
	killedPerLife = 12 // kills after which a new database begins, so that a history is short enough to check
)

// clientsToBeKilled run random calls until they are killed. Each prints a call before
// it begins, and its result after it.
func clientsToBeKilled(dir string, seed uint64) error {
	db, err := query.Open(dir, query.Options{Schema: querytest.LinearSchema(), Memory: 16 << 20, GCInterval: -1})
	if err != nil {
		return err
	}
	failed := make(chan error)
	for c := range linearClients {
		go func() {
			rng := rand.New(rand.NewPCG(seed, uint64(c)))
			for n := 0; ; n++ {
				if c == 0 && n%50 == 49 {
					if err := db.Table("t").Flush(ctx); err != nil {
						failed <- err
					}
				}
				in := querytest.DrawCall(rng, linearPairs)
				fmt.Printf("call %d %d %d %s %d %d\n", c, in.Pair, in.Row, in.Kind, in.N, in.Old)
				out, err := in.Do(ctx, db)
				if err != nil {
					failed <- fmt.Errorf("%+v: %w", in, err)
				}
				fmt.Printf("told %d %d %t %d %t %t\n", c, out.Numbers[0].N, out.Numbers[0].OK, out.Numbers[1].N, out.Numbers[1].OK, out.Made)
			}
		}()
	}
	return <-failed
}

// TestKilledClientsAreLinearizable kills the process that clients are in with kill -9,
// again and again, while they write, delete, read, count, swap and transact, and opens
// the database anew each time. One order has to explain all results that they ever got;
// a call that was pending at a kill took effect before it or never does.
func TestKilledClientsAreLinearizable(t *testing.T) {
	seed := *crashSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("-crash-seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	for round := 0; round < *linearCrashes && !t.Failed(); round += killedPerLife {
		oneLife(t, rng, min(killedPerLife, *linearCrashes-round))
	}
}

// oneLife is a history of one database.
func oneLife(t *testing.T, rng *rand.Rand, kills int) {
	dir, err := os.MkdirTemp(memoryDir(), "smolwc-linear-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	h := &toldHistory{}
	for range kills {
		h.listen(t, dir, rng.Uint64(), 20+rng.IntN(600))
		h.killed()
		if t.Failed() {
			return
		}
	}
	finished, pending := 0, 0
	for _, op := range h.ops {
		if op.Output.(querytest.Answer).Pending {
			pending++
		} else {
			finished++
		}
	}
	t.Logf("%d operations, %d pending at %d kills", finished, pending, kills)
	if finished == 0 || pending == 0 {
		t.Errorf("%d operations, %d of them pending at a kill", finished+pending, pending)
	}
	querytest.CheckLinear(t, h.ops)
	db, err := query.Open(dir, query.Options{MustExist: true})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if r, err := db.Check(t.Context()); err != nil || !r.OK() {
		t.Errorf("check: %v, %v", r, err)
	}
}

// A toldHistory is the output of all clients in its order: a line is written before a
// call begins, and after it has ended.
type toldHistory struct {
	now  int64
	ops  []porcupine.Operation
	open [linearClients]*porcupine.Operation
}

// listen starts the clients, and kills them after a number of lines.
func (h *toldHistory) listen(t *testing.T, dir string, seed uint64, lines int) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s %d", linearChild, dir, seed))
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var once sync.Once
	kill := func() { once.Do(func() { _ = cmd.Process.Kill() }) }
	defer func() { _ = cmd.Wait() }()
	defer kill()
	in := bufio.NewReader(out)
	for n := 1; ; n++ {
		line, err := in.ReadString('\n')
		if err != nil {
			return // ignore a line that was cut off
		}
		if strings.HasPrefix(line, "fail") {
			t.Errorf("the clients: %s", line)
			return
		}
		if err := h.hear(line); err != nil {
			t.Errorf("%q: %v", line, err)
			return
		}
		if n == lines {
			kill() // the rest of the pipe is still read
		}
	}
}

func (h *toldHistory) hear(line string) error {
	h.now++
	var what string
	var c int
	if _, err := fmt.Sscan(line, &what, &c); err != nil {
		return err
	}
	if what == "call" {
		var in querytest.Call
		_, err := fmt.Sscan(line, &what, &c, &in.Pair, &in.Row, &in.Kind, &in.N, &in.Old)
		h.open[c] = &porcupine.Operation{ClientId: c, Input: in, Call: h.now}
		return err
	}
	var out querytest.Answer
	_, err := fmt.Sscan(line, &what, &c, &out.Numbers[0].N, &out.Numbers[0].OK, &out.Numbers[1].N, &out.Numbers[1].OK, &out.Made)
	h.end(c, out)
	return err
}

func (h *toldHistory) end(c int, out querytest.Answer) {
	op := h.open[c]
	op.Output, op.Return = out, h.now
	h.ops = append(h.ops, *op)
	h.open[c] = nil
}

// killed ends the operations that were pending.
func (h *toldHistory) killed() {
	h.now++
	for c, op := range h.open {
		if op != nil {
			h.end(c, querytest.Answer{Pending: true})
		}
	}
}
