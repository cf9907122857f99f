package history

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
)

// A lab is a recorder whose time and metrics belong to the test.
type lab struct {
	*Recorder
	t        *testing.T
	now      time.Time
	calls    *prometheus.CounterVec
	times    *prometheus.HistogramVec
	inFlight prometheus.Gauge
	bytes    *prometheus.GaugeVec
}

// noon is the beginning of a slot of each span.
var noon = time.Date(2024, 6, 1, 12, 0, 0, 0, time.UTC)

func newLab(t *testing.T, db *query.DB) *lab {
	t.Helper()
	l := &lab{
		t: t, now: noon,
		calls:    prometheus.NewCounterVec(prometheus.CounterOpts{Name: "smolwc_calls_total"}, []string{"method", "code"}),
		times:    prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "smolwc_operation_seconds", Buckets: []float64{1, 2}}, []string{"operation"}),
		inFlight: prometheus.NewGauge(prometheus.GaugeOpts{Name: "smolwc_calls_in_flight"}),
		bytes:    prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "smolwc_table_bytes"}, []string{"table"}),
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(l.calls, l.times, l.inFlight, l.bytes)
	l.Recorder = New(registry.Gather, slog.New(slog.DiscardHandler))
	if err := l.load(t.Context(), Database{db, db != nil}); err != nil {
		t.Fatal(err)
	}
	l.sample(t.Context(), l.now)
	return l
}

// step lets time pass, and takes a sample.
func (l *lab) step(d time.Duration) {
	l.now = l.now.Add(d)
	l.sample(l.t.Context(), l.now)
}

func (l *lab) samples(span int) []Sample { return l.Samples(Spans[span], time.Time{}, l.now) }

func TestSamplesAddUp(t *testing.T) {
	l := newLab(t, nil)
	for i := range 24 { // two minutes
		l.calls.WithLabelValues("a", "OK").Add(2)
		l.calls.WithLabelValues("b", "NotFound").Inc()
		l.times.WithLabelValues("read").Observe(0.5)
		l.times.WithLabelValues("read").Observe(5)
		l.inFlight.Set(float64(i))
		l.step(5 * time.Second)
	}
	for span, want := range []struct {
		n    int
		last Sample
	}{
		{24, Sample{At: noon.Unix() + 115, Seconds: 5, Sums: map[string]float64{"calls": 3, "errors": 1, "read_seconds": 5.5}}},
		{2, Sample{At: noon.Unix() + 60, Seconds: 60, Sums: map[string]float64{"calls": 36, "errors": 12, "read_seconds": 66}}},
		{1, Sample{At: noon.Unix(), Seconds: 120, Sums: map[string]float64{"calls": 72, "errors": 24, "read_seconds": 132}}},
	} {
		got := l.samples(span)
		if len(got) != want.n {
			t.Fatalf("%s: %d samples, want %d", Spans[span].Name, len(got), want.n)
		}
		s := got[len(got)-1]
		calls := want.last.Sums["calls"] / 3
		if s.At != want.last.At || s.Seconds != want.last.Seconds || !maps.Equal(s.Sums, want.last.Sums) || s.Last["calls_in_flight"] != 23 || !slices.Equal(s.Times["read"], []float64{calls, 0, calls}) {
			t.Errorf("%s: %+v", Spans[span].Name, s)
		}
	}
	if after := l.Samples(Spans[0], l.now.Add(-12*time.Second), l.now); len(after) != 2 {
		t.Errorf("%d samples of the last 12 s", len(after))
	}
}

// A history has as many samples as its spans have slots, however long a server is there.
func TestTheHistoryIsBounded(t *testing.T) {
	db := openMemory(t)
	l := newLab(t, db)
	for range 800 {
		l.step(5 * time.Second)
	}
	l.step(40 * 24 * time.Hour) // a machine that slept
	for range 1500 {
		l.step(time.Minute)
	}
	for i, s := range Spans {
		if n := len(l.samples(i)); n == 0 || n > s.Slots {
			t.Errorf("%s: %d samples", s.Name, n)
		}
	}
	l.write()
	n, err := db.Table(schema.HistoryTable).Count(t.Context(), read.Versions(100))
	if most := int64(720 + 1440 + 1440); err != nil || n.Cells > most || n.Cells < 1440 {
		t.Errorf("%d cells, %v", n.Cells, err)
	}
}

func openMemory(t *testing.T) *query.DB {
	t.Helper()
	db, err := query.OpenInMemory(query.Options{Schema: &schema.Schema{Tables: []schema.Table{{Name: "fleet", Families: []schema.Family{{Name: "f"}}}}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// write makes the samples that wait go to the database with another write.
func (l *lab) write() {
	l.t.Helper()
	l.keeper.end(l.t.Context())
	for range 100 { // each write takes some of them along
		m := write.NewMutation()
		m.Set("f", "q", cells.I64(1))
		if err := l.keeper.to.DB.Table("fleet").Apply(l.t.Context(), "k", m); err != nil {
			l.t.Fatal(err)
		}
	}
}

// A server that is started again goes on with the history, also with the slots that it
// left half full.
func TestTheHistorySurvivesARestart(t *testing.T) {
	db := openMemory(t)
	l := newLab(t, db)
	for range 15 {
		l.calls.WithLabelValues("a", "OK").Inc()
		l.bytes.WithLabelValues("fleet").Set(7)
		l.step(5 * time.Second)
	}
	l.write()
	again := newLab(t, db)
	again.now = l.now.Add(10 * time.Second)
	again.last = nil
	again.sample(t.Context(), again.now) // the first reading counts nothing
	again.calls.WithLabelValues("a", "OK").Inc()
	again.step(5 * time.Second)
	if got := again.samples(0); len(got) != 16 {
		t.Errorf("%d samples of 5 s", len(got))
	}
	month := again.samples(2)
	if len(month) != 1 || month[0].Sums["calls"] != 16 || month[0].Seconds != 80 {
		t.Errorf("the half hour is %+v", month)
	}
	if got := again.samples(0)[3].Tables["fleet"]; got.Bytes != 7 {
		t.Errorf("the table is %+v", got)
	}
}

// What another version, or a fault, has left in the table is passed over.
func TestDamagedSamples(t *testing.T) {
	db := openMemory(t)
	l := newLab(t, db)
	l.step(5 * time.Second)
	l.write()
	for i, text := range []string{"", "{", `{"at":-1}`, `{"at":1e300}`, `[]`, "\xff"} {
		for _, key := range []string{fmt.Sprintf("hour/%04d", i+10), "hour/9999", "hour/x", "hour/-001", "day/"} {
			m := write.NewMutation()
			m.SetAt(family, "", 0, cells.Bytes([]byte(text)))
			if err := db.Table(schema.HistoryTable).Apply(t.Context(), key, m); err != nil {
				t.Fatal(err)
			}
		}
	}
	again := newLab(t, db)
	again.now = l.now
	if got := again.samples(0); len(got) != 1 {
		t.Errorf("%d samples, want the one that is sound", len(got))
	}
}

// The table is in no list, and a database that had one opens and lists its tables.
func TestTheTableIsInNoList(t *testing.T) {
	db := openMemory(t)
	l := newLab(t, db)
	l.step(5 * time.Second)
	l.write()
	if _, ok := db.LookupTable(schema.HistoryTable); !ok {
		t.Fatal("the history is not kept")
	}
	if tables := db.Schema().Tables; len(tables) != 1 {
		t.Errorf("the schema has %v", tables)
	}
	stats, err := db.Stats(context.Background())
	if err != nil || len(stats.Families) != 1 {
		t.Errorf("the statistics have %v, %v", stats.Families, err)
	}
	if least := map[query.Engine]int{query.EngineRocksDB: 1, query.EnginePebble: 6}[query.DefaultEngine()]; db.Format() != least {
		t.Errorf("the format is %d, want %d", db.Format(), least)
	}
}

func TestOnlyTheLargestTablesAreKept(t *testing.T) {
	l := newLab(t, nil)
	for i := range 50 {
		l.bytes.WithLabelValues(fmt.Sprint("t", i)).Set(float64(i))
	}
	l.bytes.WithLabelValues(schema.DerivedName("rows", "view")).Set(1000)
	l.step(5 * time.Second)
	tables := l.samples(0)[0].Tables
	if _, ok := tables["t49"]; len(tables) != mostTables || !ok {
		t.Errorf("%v", tables)
	}
}

func TestNoHistory(t *testing.T) {
	var r *Recorder
	if got := r.Samples(Spans[0], time.Time{}, noon); got != nil {
		t.Error(got)
	}
}
