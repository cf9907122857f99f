package server_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"

	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/server"
)

var (
	viewCost   = flag.Bool("mview.cost", false, "measure what materialized views cost the writes of their tables")
	costRounds = flag.Int("mview.rounds", 5, "rounds of -mview.cost")
)

// costWays are the ways to write rows of five cells: how many clients, and rows in a call.
var costWays = []struct {
	what          string
	clients, rows int
}{{"single rows, 1 client", 1, 1}, {"single rows, 16 clients", 16, 1}, {"batches of 100 rows, 4 clients", 4, 100}}

// TestMaterializedViewCost measures the speed of writes of a table with a view, divided by
// that without one: in rounds, in which the two take turns.
func TestMaterializedViewCost(t *testing.T) {
	if !*viewCost {
		t.Skip("-mview.cost runs it")
	}
	views := map[string]string{
		"index":  "SELECT f['c0'] AS c, _key AS of, f['c1'] AS v FROM %s ORDER BY c, of",
		"groups": "SELECT SUBSTR(_key, 1, 3) AS k, COUNT(*) AS n, MAX(f['c0']) AS last FROM %s GROUP BY k",
	}
	for id, query := range views {
		for _, way := range costWays {
			var speed, work []float64
			var rates [2][]float64
			for round := range *costRounds {
				var took, used [2]time.Duration
				for i := range 2 {
					with := (i + round) % 2
					took[with], used[with] = costOf(t, way.clients, way.rows, map[int]string{1: query}[with])
					rates[with] = append(rates[with], float64(costWrites(way.rows))/took[with].Seconds())
				}
				speed = append(speed, took[0].Seconds()/took[1].Seconds())
				work = append(work, used[1].Seconds()/used[0].Seconds())
			}
			t.Logf("%s, %s: %.2f of the speed without the view, in rounds %.2f; %.2f of its processor time, in rounds %.2f; %.0f rows a second without it, %.0f with it",
				id, way.what, median(speed), speed, median(work), work, median(rates[0]), median(rates[1]))
		}
	}
}

func median(of []float64) float64 { return slices.Sorted(slices.Values(of))[len(of)/2] }

func costWrites(rows int) int {
	if rows == 1 {
		return 20_000
	}
	return 200_000
}

// processorTime is that of this process so far: of the server and of its clients.
func processorTime(t *testing.T) time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		t.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// costOf is how long it takes to write rows into a new table, and the processor time.
// Afterwards it reads the view.
func costOf(t *testing.T, clients, rows int, view string) (took, used time.Duration) {
	db, err := query.Open(filepath.Join(t.TempDir(), "db"), query.Options{Durability: query.DurabilityAsync})
	if err != nil {
		t.Fatal(err)
	}
	r := serve(t, db, server.Options{})
	defer func() { r.stop(); r.must(db.Close()) }()
	tab := r.table("t", "f")
	if view != "" {
		r.must(r.materialize("v", fmt.Sprintf(view, "t")))
		r.wantQuery(r.client(), "SELECT 1 FROM v LIMIT 1", "")
	}
	var all sync.WaitGroup
	began, usedBefore := time.Now(), processorTime(t)
	for c := range clients {
		all.Go(func() {
			random := rand.New(rand.NewPCG(1, uint64(c)))
			for range costWrites(rows) / clients / rows {
				keys, ms := make([]string, rows), make([]*bigtable.Mutation, rows)
				for i := range rows {
					keys[i], ms[i] = fmt.Sprintf("%07d", random.IntN(100_000)), bigtable.NewMutation()
					for q := range 5 {
						ms[i].Set("f", fmt.Sprint("c", q), bigtable.Now(), fmt.Appendf(nil, "%0100d", random.IntN(1000)))
					}
				}
				if rows == 1 {
					err := tab.Apply(r.ctx(), keys[0], ms[0])
					if err != nil {
						t.Error(err)
					}
				} else if _, err := tab.ApplyBulk(r.ctx(), keys, ms); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	took, used = time.Since(began), processorTime(t)-usedBefore
	if view != "" {
		began = time.Now()
		_, err := r.query(r.client(), "SELECT COUNT(*) FROM v", nil, nil)
		r.must(err)
		t.Logf("  the first read afterwards took %v", time.Since(began).Round(time.Millisecond))
	}
	return took, used
}
