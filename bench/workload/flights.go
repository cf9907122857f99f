package workload

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"github.com/smolwc/smolwc/bench/contest"
	"github.com/smolwc/smolwc/query/write"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/schema"
	"github.com/smolwc/smolwc/transfer"
)

func (e *Env) imports() []contest.Workload {
	return []contest.Workload{{
		Name: "import/flights", Unit: "row", Open: e.openImport,
		About: "a CSV file of flights, the log not synced; the yardstick reads it with encoding/csv and puts cell by cell",
	}}
}

var flightFamilies = []schema.Family{{Name: "meta"}, {Name: "loc", Type: cells.TypeString}, {Name: "time", Type: cells.TypeI32}, {Name: "delay", Type: cells.TypeI32}}

const flightKey = "flight#{tailnum}#{year}-{month:02}-{day:02}#{carrier}{flight}#{origin}-{dest}"

// The columns, and their indexes in the file.
var flightColumns = []struct {
	transfer.Mapping
	at int
}{
	{transfer.Mapping{Family: "loc", Qualifier: "origin", Field: "origin"}, 10},
	{transfer.Mapping{Family: "loc", Qualifier: "dest", Field: "dest"}, 11},
	{transfer.Mapping{Family: "time", Qualifier: "dep", Field: "dep_time"}, 3},
	{transfer.Mapping{Family: "time", Qualifier: "arr", Field: "arr_time"}, 5},
	{transfer.Mapping{Family: "time", Qualifier: "air", Field: "air_time"}, 12},
	{transfer.Mapping{Family: "delay", Qualifier: "dep", Field: "dep_delay"}, 4},
	{transfer.Mapping{Family: "delay", Qualifier: "arr", Field: "arr_delay"}, 6},
	{transfer.Mapping{Family: "meta", Qualifier: "distance", Field: "distance", Type: cells.TypeI32}, 13},
}

const flightHeader = "year,month,day,dep_time,dep_delay,arr_time,arr_delay,carrier,tailnum,flight,origin,dest,air_time,distance,hour,minute"

// noValue is the file's text for a missing value.
const noValue = "NA"

// flights returns the file to import; it makes one unless the user gave one.
func (e *Env) flights() (string, error) {
	if e.Flights != "" {
		return e.Flights, nil
	}
	n := max(1, e.Ops/2)
	path := filepath.Join(e.Dir, fmt.Sprintf("flights-%d.csv", n))
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	if err := os.MkdirAll(e.Dir, 0o755); err != nil {
		return "", err
	}
	return path, os.WriteFile(path, makeFlights(n), 0o644)
}

// makeFlights makes a file in the form of the flights from Seattle and Portland in 2014
// (pnwflights14). It is not in key order.
func makeFlights(n int) []byte {
	airports := []string{"SEA", "PDX", "ANC", "DEN", "JFK", "LAX", "ORD", "SFO"}
	carriers := []string{"AA", "AS", "DL", "UA", "US", "WN"}
	rng := rand.New(rand.NewPCG(11, 12))
	b := []byte(flightHeader + "\n")
	for i := range n {
		if rng.IntN(100) == 0 { // cancelled
			b = fmt.Appendf(b, "2014,%d,%d,NA,NA,NA,NA,", 1+rng.IntN(12), 1+rng.IntN(28))
		} else {
			b = fmt.Appendf(b, "2014,%d,%d,%d,%d,%d,%d,", 1+rng.IntN(12), 1+rng.IntN(28), rng.IntN(2400), rng.IntN(120)-10, rng.IntN(2400), rng.IntN(150)-40)
		}
		b = fmt.Appendf(b, "%s,N%03d%s,%d,%s,%s,%d,%d,%d,%d\n", carriers[rng.IntN(len(carriers))], rng.IntN(1000), carriers[rng.IntN(len(carriers))], i,
			airports[rng.IntN(2)], airports[2+rng.IntN(len(airports)-2)], 30+rng.IntN(400), 100+rng.IntN(2800), rng.IntN(24), rng.IntN(60))
	}
	return b
}

func (e *Env) openImport(_ context.Context, _ int) (*contest.Contest, error) {
	path, err := e.flights()
	if err != nil {
		return nil, err
	}
	return &contest.Contest{Contenders: slices.Concat(
		e.writingSmolwc("a loop of single puts", flightFamilies, query.DurabilityAsync, func(ctx context.Context, db *query.DB) (contest.Done, error) {
			return putFlights(ctx, db, path, true)
		}),
		e.writingSmolwc("smolwc import", flightFamilies, query.DurabilityAsync, func(ctx context.Context, db *query.DB) (contest.Done, error) {
			return importFlights(ctx, db, path)
		}),
		e.writingSmolwc("a loop of puts of rows", flightFamilies, query.DurabilityAsync, func(ctx context.Context, db *query.DB) (contest.Done, error) {
			return putFlights(ctx, db, path, false)
		}),
	)}, nil
}

func importFlights(ctx context.Context, db *query.DB, path string) (contest.Done, error) {
	spec := transfer.Spec{Path: path, Key: flightKey, NA: noValue}
	for _, c := range flightColumns {
		spec.Columns = append(spec.Columns, c.Mapping)
	}
	r, err := transfer.Import(ctx, db, tableName, spec)
	return contest.Done{Ops: r.Records, Check: r.Cells}, err
}

// putFlights is the simplest program of a user: a put for each line or, singly, for
// each cell.
func putFlights(ctx context.Context, db *query.DB, path string, singly bool) (done contest.Done, err error) {
	f, err := os.Open(path)
	if err != nil {
		return done, err
	}
	defer f.Close()
	t, lines := db.Table(tableName), csv.NewReader(f)
	if _, err := lines.Read(); err != nil { // the header
		return done, err
	}
	for {
		line, err := lines.Read()
		if errors.Is(err, io.EOF) {
			return done, nil
		}
		if err != nil {
			return done, err
		}
		key := fmt.Sprintf("flight#%s#%s-%02s-%02s#%s%s#%s-%s", line[8], line[0], line[1], line[2], line[7], line[9], line[10], line[11])
		m := write.NewMutation()
		for _, c := range flightColumns {
			text := line[c.at]
			if text == "" || text == noValue {
				continue
			}
			v := cells.String(strings.Clone(text))
			if c.Family != "loc" {
				n, err := strconv.ParseInt(text, 10, 32)
				if err != nil {
					return done, err
				}
				v = cells.I32(int32(n))
			}
			m.Set(c.Family, c.Qualifier, v)
			done.Check++
			if singly {
				if err := t.Apply(ctx, key, m); err != nil {
					return done, err
				}
				m = write.NewMutation()
			}
		}
		if m.Len() > 0 {
			if err := t.Apply(ctx, key, m); err != nil {
				return done, err
			}
		}
		done.Ops++
	}
}
