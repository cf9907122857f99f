package query_test

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
)

var (
	crashes   = flag.Int("crashes", 25, "how many times the writer of TestKilledWriters is killed")
	crashSeed = flag.Uint64("crash-seed", 0, "what it does, and when it is killed; 0 is another each time")
)

// crashChild makes the test binary a writer. Its value is the directory, the seed, and
// the name of the round.
const crashChild = "SMOLWC_TEST_CRASH_CHILD"

func TestMain(m *testing.M) {
	if args := os.Getenv(crashChild); args != "" {
		if err := beKilled(strings.Fields(args)); err != nil {
			fmt.Println("fail", err)
			os.Exit(1)
		}
		return
	}
	if args := os.Getenv(changesChild); args != "" {
		if err := beKilledReading(strings.Fields(args)); err != nil {
			fmt.Println("fail", err)
			os.Exit(1)
		}
		return
	}
	if args := strings.Fields(os.Getenv(raiseChild)); len(args) == 2 {
		way, _ := strconv.Atoi(args[1])
		fmt.Println("fail", raiseUntilKilled(args[0], way))
		os.Exit(1)
	}
	if args := strings.Fields(os.Getenv(deletedChild)); len(args) == 2 {
		seed, _ := strconv.ParseUint(args[1], 10, 64)
		fmt.Println("fail", deleteUntilKilled(args[0], seed))
		os.Exit(1)
	}
	if args := strings.Fields(os.Getenv(linearChild)); len(args) == 2 {
		seed, _ := strconv.ParseUint(args[1], 10, 64)
		fmt.Println("fail", clientsToBeKilled(args[0], seed))
		os.Exit(1)
	}
	fewerHistories()
	os.Exit(m.Run())
}

// fewerHistories lets rapid try fewer histories than by itself, since each one opens databases;
// -rapid.checks, as in make soak, makes more of them.
func fewerHistories() {
	if err := flag.Set("rapid.checks", "20"); err != nil {
		panic(err)
	}
}

var crashSchema = &schema.Schema{Tables: []schema.Table{{Name: "t", Families: []schema.Family{
	{Name: "a"}, {Name: "b", GC: schema.MaxVersions(1)}, {Name: "c", Type: cells.TypeString}, {Name: "sum", Aggregate: schema.AggregateSum},
}}}}

var crashFamilies = []string{"a", "b", "c"}

// beKilled writes until it is killed. It prints each operation before it begins, and
// again when it is acknowledged.
func beKilled(args []string) error {
	db, err := query.Open(args[0], query.Options{Schema: crashSchema, Memory: 16 << 20, GCInterval: -1})
	if err != nil {
		return err
	}
	seed, err := strconv.ParseUint(args[1], 10, 64)
	if err != nil {
		return err
	}
	var failed error
	var once sync.Once
	var wg sync.WaitGroup
	for w := range 3 {
		wg.Go(func() {
			c := &crasher{db: db, name: fmt.Sprintf("%sw%d", args[2], w), rng: rand.New(rand.NewPCG(seed, uint64(w)))}
			err := c.run()
			once.Do(func() { failed = err })
		})
	}
	wg.Wait()
	return failed
}

type crasher struct {
	db   *query.DB
	name string
	rng  *rand.Rand
	done []string // operations whose rows are there, with how many
}

func (c *crasher) run() error {
	for i := 0; ; i++ {
		id, n := fmt.Sprintf("%sn%d", c.name, i), 2+c.rng.IntN(4)
		kind := []string{"batch", "batch", "batch", "tx", "tx", "delete", "bulk", "table", "gc", "flush", "add"}[c.rng.IntN(11)]
		if kind == "delete" && len(c.done) == 0 {
			kind = "batch"
		}
		switch kind {
		case "bulk":
			n = 30
		case "add":
			n = 150
		}
		of := id
		if kind == "delete" {
			at := c.rng.IntN(len(c.done))
			of, n = split(c.done[at])
			c.done = append(c.done[:at], c.done[at+1:]...)
		}
		fmt.Printf("try %s %d %s\n", kind, n, of)
		if err := c.do(kind, of, n); err != nil {
			return fmt.Errorf("%s %s: %w", kind, of, err)
		}
		fmt.Printf("ok %s %d %s\n", kind, n, of)
		if kind == "batch" || kind == "tx" || kind == "bulk" {
			c.done = append(c.done, fmt.Sprint(of, " ", n))
		}
	}
}

func split(s string) (id string, n int) {
	_, _ = fmt.Sscan(s, &id, &n)
	return id, n
}

// crashCounter is the row of a counter that all writers increment.
const crashCounter = "counter"

func crashRow(id string, i int) string { return fmt.Sprintf("%s#%03d", id, i) }

// wholeRow is a row with a cell in each family. Some cells are long enough for log
// records of several blocks.
func wholeRow(id string, i int) *write.Mutation {
	m := write.NewMutation()
	for _, f := range crashFamilies {
		m.Set(f, "q", cells.String(id+strings.Repeat("x", i*i*7)))
	}
	return m
}

func (c *crasher) do(kind, id string, n int) error {
	ctx := context.Background()
	t := c.db.Table("t")
	switch kind {
	case "batch", "delete":
		b := write.NewBatch()
		for i := range n {
			m := wholeRow(id, i)
			if kind == "delete" {
				m = write.NewMutation()
				m.DeleteRow()
			}
			b.Add("t", crashRow(id, i), m)
		}
		return c.db.Apply(ctx, b)
	case "tx":
		return c.db.Update(ctx, func(tx *query.Tx) error {
			for i := range n {
				if _, err := tx.ReadRow(ctx, "t", crashRow(id, i)); err != nil {
					return err
				}
				if err := tx.Apply(ctx, "t", crashRow(id, i), wholeRow(id, i)); err != nil {
					return err
				}
			}
			return nil
		})
	case "bulk":
		l, err := t.BulkLoad(ctx, query.BulkOptions{})
		if err != nil {
			return err
		}
		defer l.Close()
		for i := range n {
			if err := l.Apply(crashRow(id, i), wholeRow(id, i)); err != nil {
				return err
			}
		}
		_, err = l.Commit(ctx)
		return err
	case "table":
		if err := c.db.CreateTable(ctx, schema.Table{Name: id, Families: []schema.Family{{Name: "f"}}}); err != nil {
			return err
		}
		return c.db.DropTable(ctx, id)
	case "add":
		rows, adds := make([]string, n), make([]*write.Mutation, n)
		for i := range n {
			rows[i], adds[i] = crashCounter, write.NewMutation()
			adds[i].Add("sum", "q", cells.I64(1))
		}
		_, err := t.ApplyBulk(ctx, rows, adds)
		return err
	case "gc":
		_, err := c.db.GC(ctx, "t", query.GCOptions{})
		return err
	}
	return t.Flush(ctx)
}

// A writer that is killed with kill -9 again and again, in the midst of batches,
// transactions, deletes, loads, changes of the schema, collections and flushes, loses
// no acknowledged operation and leaves no operation half done.
func TestKilledWriters(t *testing.T) {
	killWriters(t, *crashes, 120*time.Millisecond, []string{"batch", "tx", "bulk", "delete", "add"})
}

// The same holds on a disk with slow syncs, where most kills come during a sync.
func TestKilledWritersOnASlowDisk(t *testing.T) {
	wantRocksDB(t, "Pebble's syncs are Go's, which no library between it and libc makes slow")
	library := filepath.Join(t.TempDir(), "slowdisk.so")
	if out, err := exec.Command("cc", "-shared", "-fPIC", "-O1", "-o", library, "../cf/rocks/testdata/slowdisk.c", "-ldl").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	killWriters(t, max(1, *crashes/5), 600*time.Millisecond, []string{"batch"},
		"LD_PRELOAD="+library, "SLOWDISK_DIR=/", "SLOWDISK_MS=3", "ASAN_OPTIONS=verify_asan_link_order=0:detect_leaks=0")
}

// killWriters starts writers with additional variables in their environment, kills each
// within a time after its beginning, and checks the database after each. There are more
// rounds, with more time, until an operation of each kind has been acknowledged.
func killWriters(t *testing.T, rounds int, within time.Duration, kinds []string, env ...string) {
	t.Helper()
	seed := *crashSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("-crash-seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	dir, err := os.MkdirTemp("/dev/shm", "smolwc")
	if err != nil {
		dir = t.TempDir()
	}
	defer os.RemoveAll(dir)
	states := map[string]*crashState{}
	acknowledged := map[string]int{}
	for round := 0; round < rounds || slices.ContainsFunc(kinds, func(kind string) bool { return acknowledged[kind] == 0 }); round++ {
		if round >= rounds {
			within *= 2
		}
		said := killedWriter(t, dir, seed+uint64(round), fmt.Sprintf("r%d", round), time.Duration(rng.Int64N(int64(within))), env)
		for _, line := range said {
			note(states, acknowledged, line)
		}
		expectStates(t, dir, states, fmt.Sprintf("-crash-seed %d, round %d", seed, round))
		if t.Failed() {
			t.FailNow()
		}
	}
	t.Logf("acknowledged: %v", acknowledged)
}

// killedWriter starts a writer, kills it, and returns its output.
func killedWriter(t *testing.T, dir string, seed uint64, name string, after time.Duration, env []string) (said []string) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(append(os.Environ(), fmt.Sprintf("%s=%s %d %s", crashChild, dir, seed, name)), env...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	var timer *time.Timer
	for lines.Scan() {
		line := lines.Text()
		if strings.HasPrefix(line, "fail") {
			t.Errorf("the writer: %s", line)
		}
		said = append(said, line)
		if timer == nil { // it is open
			timer = time.AfterFunc(after, func() { _ = cmd.Process.Kill() })
			defer timer.Stop()
		}
	}
	_ = cmd.Wait()
	return said
}

// A crashState has the known state of the rows of an operation.
type crashState struct {
	rows      int
	put       bool // acknowledged
	deleting  bool // tried
	gone      bool // acknowledged
	adds      int  // tried
	added     bool // acknowledged
	tableDone bool // the table was created and dropped again
}

func note(states map[string]*crashState, acknowledged map[string]int, line string) {
	words := strings.Fields(line)
	if len(words) != 4 {
		return // cut off
	}
	s := states[words[3]]
	if s == nil {
		s = &crashState{}
		states[words[3]] = s
	}
	n, _ := strconv.Atoi(words[2])
	ok := words[0] == "ok"
	if ok {
		acknowledged[words[1]]++
	}
	switch words[1] {
	case "batch", "tx", "bulk":
		s.rows, s.put = n, ok
	case "delete":
		s.deleting, s.gone = true, ok
	case "add":
		s.adds, s.added = n, ok
	case "table":
		s.tableDone = ok
	}
}

func expectStates(t *testing.T, dir string, states map[string]*crashState, when string) {
	t.Helper()
	db, err := query.Open(dir, query.Options{MustExist: true, Memory: 16 << 20, GCInterval: -1})
	if err != nil {
		t.Fatalf("%s: %v", when, err)
	}
	defer db.Close()
	there := map[string]int{}
	var counter, least, most int64
	for row, err := range db.Table("t").ReadRows(t.Context()) {
		if err != nil {
			t.Fatalf("%s: %v", when, err)
		}
		if row.Key() == crashCounter {
			counter, _ = row.I64("sum", "q")
			continue
		}
		id, number, _ := strings.Cut(row.Key(), "#")
		i, _ := strconv.Atoi(number)
		want := id + strings.Repeat("x", i*i*7)
		for _, f := range crashFamilies {
			if got := row.Text(f, "q"); got != want {
				t.Errorf("%s: row %s is torn: family %s has %.30q", when, row.Key(), f, got)
			}
		}
		there[id]++
	}
	for id, s := range states {
		most += int64(s.adds)
		if s.added {
			least += int64(s.adds)
		}
		n := there[id]
		delete(there, id)
		switch {
		case n != 0 && n != s.rows:
			t.Errorf("%s: operation %s is torn: %d rows of %d", when, id, n, s.rows)
		case s.put && !s.deleting && n == 0:
			t.Errorf("%s: operation %s was acknowledged and is missing", when, id)
		case s.gone && n != 0:
			t.Errorf("%s: rows of %s were deleted and are there", when, id)
		}
		if s.tableDone && slices.ContainsFunc(db.Schema().Tables, func(t schema.Table) bool { return t.Name == id }) {
			t.Errorf("%s: table %s was dropped and is there", when, id)
		}
	}
	if counter < least || counter > most {
		t.Errorf("%s: the counter is %d; %d were acknowledged of %d", when, counter, least, most)
	}
	for id := range there {
		t.Errorf("%s: rows of %s, which nobody tried to write", when, id)
	}
	r, err := db.Check(t.Context())
	if err != nil || !r.OK() {
		t.Errorf("%s: check: %v, %v", when, r, err)
	}
}
