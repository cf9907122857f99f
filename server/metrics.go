package server

import (
	"cmp"
	"context"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"google.golang.org/grpc/codes"

	"github.com/smolwc/smolwc/archive"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/server/internal/calls"
)

// metrics are the server's counts of its calls.
type metrics struct {
	registry *prometheus.Registry
	inFlight *prometheus.GaugeVec
	ended    *prometheus.CounterVec
	took     *prometheus.HistogramVec
	does     [operations]prometheus.Observer // by operation
	received *prometheus.CounterVec
	sent     *prometheus.CounterVec
	methods  sync.Map // of *methodMetrics, by name
}

// callSeconds are the bounds of the histograms: from 50 µs, for a read from
// memory, to minutes, for a scan.
var callSeconds = []float64{50e-6, 100e-6, 250e-6, 500e-6, 1e-3, 2.5e-3, 5e-3, 10e-3, 25e-3, 50e-3, 100e-3, 250e-3, 500e-3, 1, 2.5, 5, 10, 30, 60, 300}

func newMetrics(s *Server) *metrics {
	opts := func(name, help string) prometheus.CounterOpts {
		return prometheus.CounterOpts{Name: "smolwc_call_" + name, Help: help}
	}
	m := &metrics{
		registry: prometheus.NewRegistry(),
		inFlight: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "smolwc_calls_in_flight", Help: "Calls under way, streams among them."}, []string{"method"}),
		ended:    prometheus.NewCounterVec(prometheus.CounterOpts{Name: "smolwc_calls_total", Help: "Calls that have ended, by their codes."}, []string{"method", "code"}),
		took:     prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "smolwc_call_seconds", Help: "How long calls took, streams until their end.", Buckets: callSeconds}, []string{"method"}),
		received: prometheus.NewCounterVec(opts("received_bytes_total", "Bytes of requests, as they came over the wire."), []string{"method"}),
		sent:     prometheus.NewCounterVec(opts("sent_bytes_total", "Bytes of responses, as they went over the wire."), []string{"method"}),
	}
	does := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "smolwc_operation_seconds", Help: "How long calls about rows took, by what they do: read rows by their keys, scan ranges, query by SQL, write, or only delete.", Buckets: callSeconds}, []string{"operation"})
	for op := readOperation; op < operations; op++ {
		m.does[op] = does.WithLabelValues(op.String())
	}
	m.registry.MustRegister(does, m.inFlight, m.ended, m.took, m.received, m.sent, &storeCollector{s},
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "smolwc_connections", Help: "Connections that are open."}, func() float64 { return float64(s.conns.Connections()) }),
		prometheus.NewCounterFunc(prometheus.CounterOpts{Name: "smolwc_automated_backups_total", Help: "Automated backups of tables that were made."}, func() float64 { made, _ := s.admin.AutomatedBackups(); return float64(made) }),
		prometheus.NewCounterFunc(prometheus.CounterOpts{Name: "smolwc_automated_backup_failures_total", Help: "Automated backups of tables that failed."}, func() float64 { _, failed := s.admin.AutomatedBackups(); return float64(failed) }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "smolwc_bytes_in_hand", Help: "Bytes of requests, responses and reads that are held."}, func() float64 { return float64(s.conns.BytesInHand()) }),
	)
	m.registry.MustRegister(buildInfo())
	m.registry.MustRegister(branchMetrics(s)...)
	return m
}

// branchMetrics are of the branches that are served, 0 without them.
func branchMetrics(s *Server) []prometheus.Collector {
	counts := func() (open int, opened, failed int64) {
		if s.branches == nil {
			return 0, 0, 0
		}
		return s.branches.pool.Counts()
	}
	return []prometheus.Collector{
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "smolwc_branches_open", Help: "Branches that are open, being opened or being closed."}, func() float64 { open, _, _ := counts(); return float64(open) }),
		prometheus.NewCounterFunc(prometheus.CounterOpts{Name: "smolwc_branches_opened_total", Help: "How often a branch was opened."}, func() float64 { _, opened, _ := counts(); return float64(opened) }),
		prometheus.NewCounterFunc(prometheus.CounterOpts{Name: "smolwc_branches_open_failures_total", Help: "How often a branch could not be opened."}, func() float64 { _, _, failed := counts(); return float64(failed) }),
	}
}

// buildInfo is 1, with the version of smolwc and of Go as labels.
func buildInfo() prometheus.Collector {
	labels := prometheus.Labels{"version": "(unknown)", "revision": "", "goversion": runtime.Version()}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range append([]*debug.Module{&info.Main}, info.Deps...) {
			if m.Path == "github.com/smolwc/smolwc" {
				labels["version"] = cmp.Or(m.Version, "(devel)")
			}
		}
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				labels["revision"] = s.Value
			}
		}
	}
	g := prometheus.NewGauge(prometheus.GaugeOpts{Name: "smolwc_build_info", Help: "1; the labels are the versions of smolwc, its source and Go.", ConstLabels: labels})
	g.Set(1)
	return g
}

// A methodMetrics is the metrics of one method, looked up once.
type methodMetrics struct {
	name           string
	inFlight       prometheus.Gauge
	took           prometheus.Observer
	received, sent prometheus.Counter
	ended          [codes.Unauthenticated + 1]atomic.Pointer[prometheus.Counter] // by code; nil until the first call with the code
}

// of returns the metrics of a method, made on the first call.
func (m *metrics) of(method string) *methodMetrics {
	if known, ok := m.methods.Load(method); ok {
		return known.(*methodMetrics)
	}
	made, _ := m.methods.LoadOrStore(method, &methodMetrics{
		name: method, inFlight: m.inFlight.WithLabelValues(method), took: m.took.WithLabelValues(method),
		received: m.received.WithLabelValues(method), sent: m.sent.WithLabelValues(method),
	})
	return made.(*methodMetrics)
}

func (m *metrics) begin(method string) { m.of(method).inFlight.Inc() }

func (m *metrics) end(c *calls.Call, op operation, code codes.Code, took time.Duration) {
	if op != otherOperation {
		observe(m.does[op], c, took)
	}
	of := m.of(c.Method)
	of.inFlight.Dec()
	observe(of.took, c, took)
	of.received.Add(float64(c.In.Load()))
	of.sent.Add(float64(c.Out.Load()))
	m.count(of, code).Inc()
}

// observe counts how long a call took. A call that is traced is an example of its bucket.
func observe(o prometheus.Observer, c *calls.Call, took time.Duration) {
	if traced(c) {
		o.(prometheus.ExemplarObserver).ObserveWithExemplar(took.Seconds(), prometheus.Labels{"trace_id": c.Span.SpanContext().TraceID().String()})
		return
	}
	o.Observe(took.Seconds())
}

func (m *metrics) count(of *methodMetrics, code codes.Code) prometheus.Counter {
	if int(code) >= len(of.ended) { // one that gRPC does not know
		return m.ended.WithLabelValues(of.name, code.String())
	}
	if known := of.ended[code].Load(); known != nil {
		return *known
	}
	c := m.ended.WithLabelValues(of.name, code.String())
	of.ended[code].Store(&c)
	return c
}

// A storeCollector gives the database's figures at the moment of the request.
type storeCollector struct{ s *Server }

// Describe describes nothing, which makes the collector an unchecked one.
func (*storeCollector) Describe(chan<- *prometheus.Desc) {}

func (c *storeCollector) Collect(out chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	for view, lag := range c.s.views.Lags() {
		out <- prometheus.MustNewConstMetric(prometheus.NewDesc("smolwc_materialized_view_lag_seconds", "How long ago the first row was written that the view does not have yet.", []string{"view"}, nil), prometheus.GaugeValue, lag.Seconds(), view)
	}
	for _, f := range c.s.momentFigures() {
		out <- prometheus.MustNewConstMetric(prometheus.NewDesc("smolwc_moments_"+f.name, f.help, nil, nil), f.kind(), f.value)
	}
	for _, f := range backupFigures(c.s.backups) {
		out <- prometheus.MustNewConstMetric(prometheus.NewDesc("smolwc_backup_"+f.name, f.help, nil, nil), f.kind(), f.value)
	}
	counts := &c.s.catalog.Counts
	for _, f := range []figure{
		{"rows_read_total", float64(counts.RowsRead.Load()), "Rows that clients have read."},
		{"cells_read_total", float64(counts.CellsRead.Load()), "Cells in the rows that clients have read."},
		{"rows_written_total", float64(counts.RowsWritten.Load()), "Rows that clients have changed."},
		{"cells_written_total", float64(counts.CellsWritten.Load()), "Changes of cells in these rows."},
	} {
		out <- prometheus.MustNewConstMetric(prometheus.NewDesc("smolwc_"+f.name, f.help, nil, nil), f.kind(), f.value)
	}
	c.s.collectReplicas(ctx, out)
	stats, err := c.s.catalog.DB.Stats(ctx)
	if err != nil {
		out <- prometheus.NewInvalidMetric(prometheus.NewDesc("smolwc_store", "What the store tells of itself.", nil, nil), err)
		return
	}
	for _, f := range storeFigures(stats) {
		out <- prometheus.MustNewConstMetric(prometheus.NewDesc("smolwc_store_"+f.name, f.help, nil, nil), f.kind(), f.value)
	}
	for table, sum := range tableSums(stats) {
		for _, f := range sum.figures() {
			out <- prometheus.MustNewConstMetric(prometheus.NewDesc("smolwc_table_"+f.name, f.help, []string{"table"}, nil), f.kind(), f.value, table)
		}
	}
}

// A figure is one metric. Names of counters end in _total.
type figure struct {
	name  string
	value float64
	help  string
}

func (f figure) kind() prometheus.ValueType {
	if strings.HasSuffix(f.name, "_total") {
		return prometheus.CounterValue
	}
	return prometheus.GaugeValue
}

func storeFigures(s *query.Stats) []figure {
	n := func(name string, value int64, help string) figure { return figure{name, float64(value), help} }
	var deleted int64
	for i := range s.Deleted {
		deleted += s.Deleted[i].Bytes
	}
	return []figure{
		{"writes_stuck_seconds", s.WritesStuck.Seconds(), "How long no write has ended although some are under way."},
		n("writes_under_way", s.WritesUnderWay, "Writes that have not ended yet."),
		n("memory_memtables_bytes", s.Memory.Memtables, "Memory for writes that are in no file yet."),
		n("memory_cache_bytes", s.Memory.Cache, "Memory for blocks, indexes and filters."),
		n("memory_readers_bytes", s.Memory.Readers, "Memory for the metadata of open files that is not in the cache."),
		n("cache_capacity_bytes", s.Cache.Capacity, "Size of the cache of blocks."),
		n("cache_used_bytes", s.Cache.Used, "Bytes in the cache of blocks."),
		n("cache_pinned_bytes", s.Cache.Pinned, "Bytes in the cache that reads hold."),
		n("cache_hits_total", s.Cache.Hits, "Blocks that were in the cache."),
		n("cache_misses_total", s.Cache.Misses, "Blocks that were not in the cache."),
		n("cache_data_hits_total", s.Cache.DataHits, "Blocks with cells that were in the cache."),
		n("cache_data_misses_total", s.Cache.DataMisses, "Blocks with cells that were not in the cache."),
		n("filter_checked_total", s.Filters.Checked, "Look-ups of rows that asked a file's filter."),
		n("filter_useful_total", s.Filters.Useful, "Look-ups that a filter spared a file."),
		n("written_bytes_total", s.BytesIn, "Bytes of batches written."),
		n("read_bytes_total", s.BytesOut, "Bytes of keys and values read."),
		n("log_bytes", s.Log.Bytes, "Bytes in the files of the write-ahead log."),
		n("log_kept_bytes", s.Log.Kept, "Bytes in files of the write-ahead log that are kept for their changes alone, and of loads that are kept for standbys."),
		n("log_written_bytes_total", s.Log.Written, "Bytes written to the write-ahead log."),
		n("log_syncs_total", s.Log.Syncs, "Times that the write-ahead log was synced."),
		n("flushes_total", s.Work.Flushes, "Flushes of memory to files."),
		n("flushed_bytes_total", s.Work.FlushedBytes, "Bytes that flushes wrote."),
		n("compactions_total", s.Work.Compactions, "Compactions."),
		n("compacted_bytes_total", s.Work.CompactedBytes, "Bytes that compactions wrote."),
		n("expired_cells_total", s.Work.Expired, "Cells that were dropped because they were too old."),
		n("surplus_cells_total", s.Surplus, "Cells that collections deleted because there were enough newer versions."),
		n("running_flushes", s.Work.RunningFlushes, "Flushes that run."),
		n("running_compactions", s.Work.RunningCompactions, "Compactions that run."),
		n("background_errors_total", s.Work.Errors, "Faults of flushes and compactions, after which there may be no writes."),
		n("writes_refused", boolInt(s.Work.Refused != nil), "1 when the last write was refused, as on a full disk; 0 otherwise."),
		n("stall_state", int64(s.Stalls.State), "0 when writes go through, 1 when they are slowed down, 2 when they are stopped."),
		n("stalled_writes", s.Stalls.Waiting, "Writes that wait now."),
		n("stalled_writes_total", s.Stalls.Count, "Writes that had to wait."),
		{"stalled_seconds_total", s.Stalls.Time.Seconds(), "Time that writes had to wait, together."},
		n("open_snapshots", s.Open.Snapshots, "Snapshots that reads hold."),
		n("open_cursors", s.Open.Cursors, "Cursors that reads hold."),
		n("deleted_tables", int64(len(s.Deleted)), "Deleted tables that are kept for UndeleteTable."),
		n("deleted_tables_bytes", deleted, "Bytes in their files."),
	}
}

// backupFigures returns the figures of scheduled backups; before the first one, its
// figures are missing.
func backupFigures(schedule *archive.Schedule) []figure {
	if schedule == nil {
		return nil
	}
	s := schedule.Status()
	all := []figure{
		{"total", float64(s.Made), "Backups of all tables that were made on schedule."},
		{"failures_total", float64(s.Failed), "Backups of all tables on schedule that failed."},
	}
	if s.Last.ID != 0 {
		all = append(all, figure{"last_timestamp_seconds", float64(s.Last.Time.UnixMilli()) / 1000, "The moment that the newest backup holds, in seconds since 1970."},
			figure{"last_size_bytes", float64(s.Last.Size), "Size of the files of the newest backup, also of those that an earlier one has."},
			figure{"last_new_bytes", float64(s.Last.NewBytes), "Size of the files that no earlier backup had."})
	}
	if s.Elapsed != 0 {
		all = append(all, figure{"last_duration_seconds", s.Elapsed.Seconds(), "How long the newest backup took."})
	}
	return all
}

// momentFigures returns the figures of the continuous archive.
func (s *Server) momentFigures() []figure {
	if s.moments == nil {
		return nil
	}
	st, failing := s.moments.Status(), 0.0
	if st.Err != nil {
		failing = 1
	}
	all := []figure{
		{"delay_seconds", st.Delay(s.catalog.DB.Plumbing().Wall()).Seconds(), "How far the archive is behind: commits of this time would be lost with the machine."},
		{"behind_bytes", float64(st.Behind), "Bytes of the log that are not in the archive yet, about."},
		{"failing", failing, "1 while the log cannot be sent; the log has the error."},
		{"segments_total", float64(st.Segments), "Segments of the log that were sent."},
		{"sent_bytes_total", float64(st.Bytes), "Bytes of segments that were sent, compressed."},
		{"gaps_total", float64(st.Gaps), "Gaps in the restorable moments that have begun since the start of the server."},
	}
	if st.Keep > 0 {
		all = append(all, figure{"keep_seconds", st.Keep.Seconds(), "How long moments stay restorable."})
	}
	if !st.Earliest.IsZero() {
		all = append(all, figure{"earliest_timestamp_seconds", float64(st.Earliest.UnixMilli()) / 1000, "The first moment that can be restored, in seconds since 1970."})
	}
	if !st.Until.IsZero() {
		all = append(all, figure{"latest_timestamp_seconds", float64(st.Until.UnixMilli()) / 1000, "The last moment that can be restored, in seconds since 1970."})
	}
	return all
}

func boolInt(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// A tableSum is the families of one table together.
type tableSum struct{ bytes, files, cells, tombstones, memtables, pending int64 }

func tableSums(s *query.Stats) map[string]*tableSum {
	sums := map[string]*tableSum{}
	for i := range s.Families {
		f := &s.Families[i]
		sum := sums[f.Table]
		if sum == nil {
			sum = new(tableSum)
			sums[f.Table] = sum
		}
		sum.bytes += f.Bytes()
		sum.files += f.Files()
		sum.cells += f.Cells()
		sum.tombstones += f.Tombstones
		sum.memtables += f.MemtableBytes
		sum.pending += f.PendingBytes
	}
	return sums
}

func (t *tableSum) figures() []figure {
	return []figure{
		{"bytes", float64(t.bytes), "Bytes in the table's files."},
		{"files", float64(t.files), "Files of the table."},
		{"cells", float64(t.cells), "Cells of the table at most: those replaced or deleted count until a compaction has come by."},
		{"tombstones", float64(t.tombstones), "Marks of deletion in the table."},
		{"memtables_bytes", float64(t.memtables), "Memory for the table's writes that are in no file yet."},
		{"pending_bytes", float64(t.pending), "About what compactions of the table have yet to rewrite."},
	}
}
