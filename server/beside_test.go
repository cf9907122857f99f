package server_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"sync"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"
)

var (
	beside       = flag.Bool("beside", false, "measure smolwc and the emulator side by side")
	besideRun    = flag.String("beside.run", "", "only what matches `REGEXP`")
	besideRounds = flag.Int("beside.rounds", 5, "how often everything is measured")
	besideTimes  = flag.Int("beside.times", 1, "do `N` times as much in a round")
	besideSync   = flag.String("beside.durability", "async", "smolwc's durability: async, sync, or memory for a database in memory")
	besideNone   = flag.Bool("beside.nothing", false, "measure a server that keeps nothing in the place of smolwc")
	besideSmolwc = flag.String("beside.smolwc", "", "the `BINARY` of smolwc; built when it is not given")
	besideEmu    = flag.String("beside.emulator", "", "the `BINARY` of the emulator; built when it is not given")
	besideSQLite = flag.String("beside.sqlite", "", "the `BINARY` of little_bigtable, for TestBesideSQLite")
)

// TestBeside measures smolwc, on disk with asynchronous durability unless
// -beside.durability says otherwise, and Bigtable's emulator in memory side by side, each in
// its own process, with the official client: 100,000 rows of five cells of 100 bytes.
//
//	go test ./server -run TestBeside$ -beside -v
//
// With -beside.nothing it measures the calls about one row of a server that answers and
// does nothing else: the limit of every server.
//
// A round measures everything once with each server, in turns. The ratio is smolwc's
// speed divided by the emulator's in the same round. The output has the median, the
// least and the greatest ratio of all rounds. A first round does not count.
func TestBeside(t *testing.T) {
	if !*beside {
		t.Skip("only with -beside")
	}
	start, all := func() *besidePeer { return startSmolwc(t, *besideSync) }, slices.Concat(besideCalls, besideScans)
	if *besideNone {
		start, all = func() *besidePeer { return startNothing(t) }, besideCalls
	}
	ours, theirs := start(), startEmulator(t)
	a, b := ours.load(besideRows), theirs.load(besideRows)
	time.Sleep(settle)
	t.Logf("%-14s %s %9.0f ms  emulator %9.0f ms  %8.2f", "load", ours.name, a.Seconds()*1e3, b.Seconds()*1e3, b.Seconds()/a.Seconds())
	for _, m := range all {
		if !regexp.MustCompile(*besideRun).MatchString(m.name) {
			continue
		}
		m.ops *= *besideTimes
		m.compare(t, ours, theirs)
	}
	for _, w := range []struct {
		when  string
		after time.Duration
	}{{"memory", 0}, {"memory, idle", 15 * time.Second}} {
		time.Sleep(w.after)
		a, b := ours.resident(), theirs.resident()
		t.Logf("%-14s %s %8d MiB  emulator %8d MiB  %8.2f of it", w.when, ours.name, a>>20, b>>20, float64(a)/float64(b))
	}
}

// TestBesideSQLite measures bulk loads into smolwc with synced durability and
// into little_bigtable, an emulator that keeps its rows in SQLite.
//
//	go install github.com/bitly/little_bigtable@latest
//	go test ./server -run TestBesideSQLite -beside.sqlite ~/go/bin/little_bigtable -v
func TestBesideSQLite(t *testing.T) {
	if *besideSQLite == "" {
		t.Skip("only with -beside.sqlite")
	}
	var ratios []float64
	for range *besideRounds {
		a, b := startSmolwc(t, "sync"), startLittle(t)
		ours, theirs := a.load(sqliteRows), b.load(sqliteRows)
		t.Logf("%-14s smolwc %9.0f ms  little_bigtable %9.0f ms  %8.2f", "load", ours.Seconds()*1e3, theirs.Seconds()*1e3, theirs.Seconds()/ours.Seconds())
		ratios = append(ratios, theirs.Seconds()/ours.Seconds())
		a.stop()
		b.stop()
	}
	slices.Sort(ratios)
	t.Logf("median %.2f", ratios[len(ratios)/2])
}

const (
	besideRows  = 100_000
	besideCells = 5
	sqliteRows  = 10_000          // little_bigtable takes minutes for all
	settle      = 3 * time.Second // lets compactions of the loaded data end
)

func besideKey(i int) string { return fmt.Sprintf("row%08d", i) }

// besideRow is a row with values that compress little: a v and random letters.
func besideRow(r *rand.Rand) *bigtable.Mutation {
	m := bigtable.NewMutation()
	for q := range besideCells {
		value := make([]byte, 100)
		for i := range value {
			value[i] = 'd' + byte(r.IntN(20))
		}
		value[0] = 'v'
		m.Set("f", fmt.Sprintf("q%d", q), 1000, value)
	}
	return m
}

// load writes rows, 1,000 in a request, and returns the time, without the time for
// making them.
func (p *besidePeer) load(rows int) time.Duration {
	p.t.Helper()
	r := rand.New(rand.NewPCG(1, 2))
	var took time.Duration
	for i := 0; i < rows; i += 1000 {
		var keys []string
		var ms []*bigtable.Mutation
		for j := i; j < i+1000; j++ {
			keys, ms = append(keys, besideKey(j)), append(ms, besideRow(r))
		}
		began := time.Now()
		if errs, err := p.table.ApplyBulk(context.Background(), keys, ms); err != nil || errs != nil {
			p.t.Fatal(errs, err)
		}
		took += time.Since(began)
	}
	return took
}

// A measured is a measurement: a number of operations, of a number of clients.
type measured struct {
	name    string
	ops     int
	clients int
	do      func(tab *bigtable.Table, r *rand.Rand) error
}

// besideCalls are about one row each.
var besideCalls = []measured{
	{"read", 3000, 1, readOne},
	{"read16", 10000, 16, readOne},
	{"write", 3000, 1, writeOne},
	{"write16", 10000, 16, writeOne},
	{"check", 3000, 1, checkOne},
	{"check16", 10000, 16, checkOne},
	{"increment", 3000, 1, incrementOne},
	{"increment16", 10000, 16, incrementOne},
}

var besideScans = []measured{
	{"scan100", 10, 1, scanning(100, bigtable.LimitRows(100))},
	{"scan", 1, 1, scanning(besideRows)},
	{"column", 1, 1, scanning(besideRows, bigtable.RowFilter(bigtable.ColumnFilter("q3")))},
	{"latest", 1, 1, scanning(besideRows, bigtable.RowFilter(bigtable.LatestNFilter(1)))},
	{"strip", 1, 1, scanning(besideRows, bigtable.RowFilter(bigtable.StripValueFilter()))},
	{"key_regex", 1, 1, scanning(besideRows/100, bigtable.RowFilter(bigtable.RowKeyFilter(".*77")))},
	{"value_regex", 1, 1, scanning(0, bigtable.RowFilter(bigtable.ValueFilter("zzz.*")))},
	{"value_range", 1, 1, scanning(0, bigtable.RowFilter(bigtable.ValueRangeFilter([]byte("b"), []byte("c"))))},
}

// compare prints the line of one measurement.
func (m measured) compare(t *testing.T, ours, theirs *besidePeer) {
	t.Helper()
	var a, b, ratios []float64
	ourCPU, theirCPU := ours.cpu(), theirs.cpu()
	for round := range *besideRounds + 1 {
		first, second := ours, theirs
		if round%2 == 1 {
			first, second = theirs, ours
		}
		x, y := m.run(t, first), m.run(t, second)
		if first == theirs {
			x, y = y, x
		}
		if round > 0 {
			a, b, ratios = append(a, x), append(b, y), append(ratios, y/x)
		}
	}
	for _, s := range [][]float64{a, b, ratios} {
		slices.Sort(s)
	}
	n := len(ratios)
	perOp := func(d time.Duration) float64 { return float64(d.Microseconds()) / float64(m.ops*(n+1)) }
	t.Logf("%-14s %s %9.1f µs  emulator %9.1f µs  %8.2f  (%.2f to %.2f)   processor %9.1f µs and %9.1f µs", m.name, ours.name,
		a[n/2], b[n/2], ratios[n/2], ratios[0], ratios[n-1], perOp(ours.cpu()-ourCPU), perOp(theirs.cpu()-theirCPU))
}

// run is the microseconds that an operation took.
func (m measured) run(t *testing.T, p *besidePeer) float64 {
	t.Helper()
	began := time.Now()
	var wg sync.WaitGroup
	for c := range m.clients {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(uint64(c), 0))
			for range m.ops / m.clients {
				if err := m.do(p.table, r); err != nil {
					t.Errorf("%s: %v", p.name, err)
					return
				}
			}
		})
	}
	wg.Wait()
	if t.Failed() {
		t.FailNow()
	}
	return float64(time.Since(began).Nanoseconds()) / 1e3 / float64(m.ops)
}

func readOne(tab *bigtable.Table, r *rand.Rand) error {
	row, err := tab.ReadRow(context.Background(), besideKey(r.IntN(besideRows)))
	if err == nil && len(row["f"]) != besideCells {
		err = fmt.Errorf("%d cells, want %d", len(row["f"]), besideCells)
	}
	return err
}

func writeOne(tab *bigtable.Table, r *rand.Rand) error {
	return tab.Apply(context.Background(), besideKey(r.IntN(besideRows)), besideRow(r))
}

// checkOne sets a cell if another one has a value that matches, which it has.
func checkOne(tab *bigtable.Table, r *rand.Rand) error {
	ifTrue := bigtable.NewMutation()
	ifTrue.Set("f", "checked", 1000, []byte("yes"))
	predicate := bigtable.ChainFilters(bigtable.ColumnFilter("q3"), bigtable.LatestNFilter(1), bigtable.ValueFilter("v.*"))
	var matched bool
	err := tab.Apply(context.Background(), besideKey(r.IntN(besideRows)), bigtable.NewCondMutation(predicate, ifTrue, nil), bigtable.GetCondMutationResult(&matched))
	if err == nil && !matched {
		err = errors.New("the condition does not match")
	}
	return err
}

// incrementOne adds to a counter and reads what it has become.
func incrementOne(tab *bigtable.Table, r *rand.Rand) error {
	m := bigtable.NewReadModifyWrite()
	m.Increment("f", "count", 1)
	row, err := tab.ApplyReadModifyWrite(context.Background(), besideKey(r.IntN(besideRows)), m)
	if err == nil && len(row["f"]) != 1 {
		err = fmt.Errorf("%d cells, want 1", len(row["f"]))
	}
	return err
}

func scanning(want int, opts ...bigtable.ReadOption) func(*bigtable.Table, *rand.Rand) error {
	return func(tab *bigtable.Table, _ *rand.Rand) error {
		n := 0
		err := tab.ReadRows(context.Background(), bigtable.InfiniteRange(""), func(bigtable.Row) bool { n++; return true }, opts...)
		if err == nil && n != want {
			err = fmt.Errorf("%d rows, want %d", n, want)
		}
		return err
	}
}
