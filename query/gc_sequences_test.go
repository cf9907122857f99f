package query_test

import (
	"cmp"
	"compress/gzip"
	"encoding/csv"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
)

// Sequences of events: a row is a user, a column a type of event, and the
// versions of the column are the events; the newest hundred are kept.
// Here the users are aircraft and the events their flights.
const keepEvents = 100

type event struct {
	aircraft, kind string
	at             cells.Timestamp
	flight         string
}

func TestSequencesOfEvents(t *testing.T) {
	start := time.Date(2014, 1, 1, 0, 0, 0, 0, time.UTC)
	var events []event
	for a := range 40 {
		for n := range a * a / 4 { // 0 to 380
			kind := []string{"flight", "flight", "late", "diverted"}[n%4]
			at := cells.TimestampOf(start.Add(time.Duration(n*97%1000) * time.Hour)) // not in order
			events = append(events, event{fmt.Sprintf("N%03d", a), kind, at, fmt.Sprint("AS", n)})
		}
	}
	testSequences(t, events)
}

// The flights out of Seattle and Portland in 2014 (pnwflights14, CC0) are not
// part of the project; the test looks for them beside the checkout.
func TestSequencesOfFlights(t *testing.T) {
	dir := cmp.Or(os.Getenv("SMOLWC_FLIGHTS"), "../../shared/data/pnwflights14")
	file, err := os.Open(filepath.Join(dir, "flights.csv.gz"))
	if err != nil {
		t.Skip("the flights are not here; SMOLWC_FLIGHTS names the folder of flights.csv.gz")
	}
	defer file.Close()
	events := readFlights(t, file)
	aircraft := map[string]bool{}
	for _, e := range events {
		aircraft[e.aircraft] = true
	}
	t.Logf("%d events of %d aircraft", len(events), len(aircraft))
	testSequences(t, events)
}

func readFlights(t *testing.T, file *os.File) (events []event) {
	t.Helper()
	unzip, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	lines, err := csv.NewReader(unzip).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	column := map[string]int{}
	for i, name := range lines[0] {
		column[name] = i
	}
	for i, line := range lines[1:] {
		if line[column["tailnum"]] == "" {
			continue
		}
		number := func(name string) int { n, _ := strconv.Atoi(line[column[name]]); return n }
		day := time.Date(number("year"), time.Month(number("month")), number("day"), 0, number("dep_time")/100*60+number("dep_time")%100, 0, 0, time.UTC)
		e := event{line[column["tailnum"]], "flight", cells.TimestampOf(day) + cells.Timestamp(i%1_000_000), line[column["carrier"]] + line[column["flight"]]}
		events = append(events, e)
		if number("dep_delay") >= 15 {
			e.kind = "late"
			events = append(events, e)
		}
	}
	return events
}

func testSequences(t *testing.T, events []event) {
	db := mustOpen(t, t.TempDir(), query.Options{GCInterval: -1,
		Schema: declare(schema.Family{Name: "events", GC: schema.MaxVersions(keepEvents)})})
	want := map[[2]string][]event{} // newest first
	for chunk := range slices.Chunk(events, 2000) {
		keys, ms := make([]string, len(chunk)), make([]*write.Mutation, len(chunk))
		for i, e := range chunk {
			keys[i], ms[i] = e.aircraft, mutate(setAt("events", e.kind, e.at, cells.String(e.flight)))
			want[[2]string{e.aircraft, e.kind}] = append(want[[2]string{e.aircraft, e.kind}], e)
		}
		if errs, err := db.Table("t").ApplyBulk(ctx, keys, ms); errs != nil || err != nil {
			t.Fatal(errors.Join(errs...), err)
		}
	}
	for c := range want {
		slices.SortStableFunc(want[c], func(a, b event) int { return cmp.Compare(b.at, a.at) })
	}
	checkNewest(t, db, want, 10)
	checkNewest(t, db, want, keepEvents+50)

	var surplus, kept int64
	for _, es := range want {
		kept += int64(min(keepEvents, len(es)))
		surplus += int64(max(0, len(es)-keepEvents))
	}
	r, err := db.GC(ctx, "t", query.GCOptions{Compact: true})
	if err != nil || r.Cells() != surplus || r.Families[0].Scanned != kept+surplus {
		t.Errorf("collected %+v, %v; want %d of %d cells", r, err, surplus, kept+surplus)
	}
	checkNewest(t, db, want, 10)
	checkNewest(t, db, want, keepEvents+50)

	onDisk, keys := storedVersions(t, db, "t/events")
	for c, es := range want {
		if got, want := onDisk[c], min(keepEvents, len(es)); got != want {
			t.Errorf("%s has %d versions of %s on the disk, want %d", c[0], got, c[1], want)
		}
	}
	if keys != kept {
		t.Errorf("the engine counts %d keys, want %d", keys, kept)
	}
}

// checkNewest reads the newest n events of each type of every aircraft.
func checkNewest(t *testing.T, db *query.DB, want map[[2]string][]event, n int) {
	t.Helper()
	columns := 0
	for row, err := range db.Table("t").ReadRows(ctx, read.Versions(n)) {
		if err != nil {
			t.Fatal(err)
		}
		got := map[string][]string{}
		for c := range row.Cells() {
			flight, _ := c.Value.AsString()
			got[c.Qualifier] = append(got[c.Qualifier], fmt.Sprint(flight, "@", c.Timestamp))
		}
		for kind, flights := range got {
			columns++
			var newest []string
			for _, e := range want[[2]string{row.Key(), kind}] {
				if len(newest) < min(n, keepEvents) {
					newest = append(newest, fmt.Sprint(e.flight, "@", e.at))
				}
			}
			if !slices.Equal(flights, newest) {
				t.Fatalf("%s %s: newest %d are %v, want %v", row.Key(), kind, n, flights, newest)
			}
		}
	}
	if columns != len(want) {
		t.Errorf("%d columns, want %d", columns, len(want))
	}
}

// storedVersions counts the engine's cells of each column, and of all columns.
func storedVersions(t *testing.T, db *query.DB, family string) (versions map[[2]string]int, keys int64) {
	t.Helper()
	snap, err := db.Store().Snapshot(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer snap.Close()
	c, err := snap.Scan(ctx, cf.Scan{Family: family, Rows: []cf.Range{{}}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	versions = map[[2]string]int{}
	for {
		b, err := c.Next(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if b == nil {
			break
		}
		for i := range b.Rows {
			for _, cell := range b.RowCells(&b.Rows[i]) {
				versions[[2]string{b.RowKey(&b.Rows[i]), b.Qualifier(&cell)}]++
			}
		}
	}
	stats, err := db.Store().Stats(ctx)
	if err != nil {
		t.Fatal(err)
	}
	f := stats.Families[family]
	if query.DefaultEngine() == query.EnginePebble {
		return versions, f.Cells() // a compaction may leave tombstones under which there is nothing
	}
	return versions, f.Entries
}
