// Package history keeps the history of a server's metrics: an hour in steps of 5 s, a day
// in steps of a minute, and a month in steps of half an hour. It is kept in memory, and in
// a table of the database that no list shows. Decision record 49 explains the design.
package history

import (
	"maps"
	"slices"
	"strings"
	"time"

	dto "github.com/prometheus/client_model/go"

	"github.com/smolwc/smolwc/schema"
)

// A Span is a length of history.
type Span struct {
	Name  string
	Step  time.Duration // the span of one sample
	Slots int           // samples that are kept
}

// Spans are the lengths of history, the shortest first.
var Spans = [...]Span{{"hour", 5 * time.Second, 720}, {"day", time.Minute, 1440}, {"month", 30 * time.Minute, 1440}}

// A Sample sums the metrics of one step. Metrics have their names on /metrics,
// without smolwc_ at the beginning and _total at the end. Those that are zero are left
// out.
type Sample struct {
	At      int64              `json:"at"` // when the step begins, in seconds since 1970
	Seconds float64            `json:"s"`  // how long of it the server was there
	Sums    map[string]float64 `json:"sums,omitempty"`
	Last    map[string]float64 `json:"last,omitempty"` // values at the end
	// Times are the numbers of calls by operation, and in each by the time that they
	// took: with the bounds of the histogram smolwc_operation_seconds.
	Times  map[string][]float64 `json:"times,omitempty"`
	Tables map[string]Table     `json:"tables,omitempty"` // the largest ones, at the end
}

// A Table is the figures of one table.
type Table struct {
	Bytes     float64  `json:"b,omitempty"`
	Files     float64  `json:"f,omitempty"`
	Cells     float64  `json:"c,omitempty"` // at most
	Rows      *float64 `json:"r,omitempty"` // estimated; nil if unknown
	Memtables float64  `json:"m,omitempty"` // bytes
	Pending   float64  `json:"p,omitempty"` // bytes
}

// mostTables is how many tables a sample lists.
const mostTables = 20

// summed are the metrics whose growth is kept, over all their labels.
var summed = map[string]bool{
	"smolwc_calls_total": true, "smolwc_call_received_bytes_total": true, "smolwc_call_sent_bytes_total": true,
	"smolwc_rows_read_total": true, "smolwc_cells_read_total": true, "smolwc_rows_written_total": true, "smolwc_cells_written_total": true,
	"smolwc_store_cache_hits_total": true, "smolwc_store_cache_misses_total": true,
	"smolwc_store_written_bytes_total": true, "smolwc_store_read_bytes_total": true,
	"smolwc_store_log_written_bytes_total": true, "smolwc_store_log_syncs_total": true,
	"smolwc_store_flushes_total": true, "smolwc_store_flushed_bytes_total": true,
	"smolwc_store_compactions_total": true, "smolwc_store_compacted_bytes_total": true,
	"smolwc_store_expired_cells_total": true, "smolwc_store_surplus_cells_total": true,
	"smolwc_store_stalled_writes_total": true, "smolwc_store_stalled_seconds_total": true,
	"process_cpu_seconds_total": true,
}

// latest are the metrics whose last value is kept, added over all their labels.
var latest = map[string]bool{
	"smolwc_calls_in_flight": true, "smolwc_connections": true, "smolwc_bytes_in_hand": true,
	"smolwc_store_memory_memtables_bytes": true, "smolwc_store_memory_cache_bytes": true, "smolwc_store_memory_readers_bytes": true,
	"smolwc_store_log_bytes": true, "smolwc_store_stall_state": true, "smolwc_store_stalled_writes": true,
	"smolwc_store_running_compactions": true, "smolwc_store_running_flushes": true, "smolwc_store_open_snapshots": true,
	"go_memstats_heap_inuse_bytes": true, "process_resident_memory_bytes": true, "go_goroutines": true,
}

// most are the metrics whose last value is kept, the largest one of all labels.
var most = map[string]bool{
	"smolwc_replica_lag_seconds": true, "smolwc_replica_behind_bytes": true, "smolwc_standby_lag_seconds": true,
	"smolwc_replicas": true, "smolwc_epoch": true, "smolwc_semi_sync_degraded": true, "smolwc_standby_rebuilds_total": true,
}

const timesMetric = "smolwc_operation_seconds"

// callsMetric is counted once more, by its code.
const callsMetric = "smolwc_calls_total"

func short(name string) string {
	return strings.TrimSuffix(strings.TrimPrefix(name, "smolwc_"), "_total")
}

// reading is the metrics at a moment. Sums and Times are totals since the start.
func reading(families []*dto.MetricFamily) *Sample {
	r := &Sample{Sums: map[string]float64{}, Last: map[string]float64{}, Times: map[string][]float64{}, Tables: map[string]Table{}}
	for _, f := range families {
		name := f.GetName()
		for _, m := range f.GetMetric() {
			value := m.GetCounter().GetValue() + m.GetGauge().GetValue() // one of them
			switch {
			case name == timesMetric:
				r.addTimes(m)
			case strings.HasPrefix(name, "smolwc_table_"):
				r.addTable(label(m, "table"), strings.TrimPrefix(name, "smolwc_table_"), value)
			case summed[name]:
				r.Sums[short(name)] += value
				if name == callsMetric && label(m, "code") != "OK" {
					r.Sums["errors"] += value
				}
			case latest[name]:
				r.Last[short(name)] += value
			case most[name]:
				r.Last[short(name)] = max(r.Last[short(name)], value)
			}
		}
	}
	return r
}

func label(m *dto.Metric, name string) string {
	for _, l := range m.GetLabel() {
		if l.GetName() == name {
			return l.GetValue()
		}
	}
	return ""
}

// addTimes takes a histogram. Its buckets are cumulative, a sample's are not.
func (s *Sample) addTimes(m *dto.Metric) {
	h, op := m.GetHistogram(), label(m, "operation")
	counts, before := make([]float64, 0, len(h.GetBucket())+1), 0.0
	for _, b := range h.GetBucket() {
		n := float64(b.GetCumulativeCount())
		counts = append(counts, n-before)
		before = n
	}
	s.Times[op] = append(counts, float64(h.GetSampleCount())-before)
	s.Sums[op+"_seconds"] = h.GetSampleSum()
}

func (s *Sample) addTable(name, figure string, value float64) {
	if schema.IsDerived(name) {
		return
	}
	t := s.Tables[name]
	switch figure {
	case "bytes":
		t.Bytes = value
	case "files":
		t.Files = value
	case "cells":
		t.Cells = value
	case "memtables_bytes":
		t.Memtables = value
	case "pending_bytes":
		t.Pending = value
	}
	s.Tables[name] = t
}

// since is the change from an earlier reading to this one.
func (s *Sample) since(before *Sample) *Sample {
	d := &Sample{Sums: map[string]float64{}, Last: s.Last, Times: map[string][]float64{}, Tables: s.Tables}
	for name, now := range s.Sums {
		if n := now - before.Sums[name]; n > 0 {
			d.Sums[name] = n
		}
	}
	for op, counts := range s.Times {
		if grown := difference(counts, before.Times[op]); grown != nil {
			d.Times[op] = grown
		}
	}
	maps.DeleteFunc(d.Last, func(_ string, v float64) bool { return v == 0 })
	d.keepLargest()
	return d
}

// difference returns nil if nothing grew.
func difference(now, before []float64) []float64 {
	grown, some := make([]float64, len(now)), false
	for i, n := range now {
		if grown[i] = n; i < len(before) {
			grown[i] -= before[i]
		}
		some = some || grown[i] > 0
	}
	if !some {
		return nil
	}
	return grown
}

func (s *Sample) keepLargest() {
	if len(s.Tables) <= mostTables {
		return
	}
	names := slices.SortedFunc(maps.Keys(s.Tables), func(a, b string) int {
		if x, y := s.Tables[a].Bytes+s.Tables[a].Memtables, s.Tables[b].Bytes+s.Tables[b].Memtables; x != y {
			return int(y - x)
		}
		return strings.Compare(a, b)
	})
	for _, name := range names[mostTables:] {
		delete(s.Tables, name)
	}
}

// add adds a later part of the same step.
func (s *Sample) add(d *Sample) {
	s.Seconds += d.Seconds
	if s.Sums == nil {
		s.Sums = map[string]float64{}
	}
	for name, n := range d.Sums {
		s.Sums[name] += n
	}
	if s.Times == nil {
		s.Times = map[string][]float64{}
	}
	for op, counts := range d.Times {
		sum := slices.Clone(counts)
		for i, n := range s.Times[op] {
			if i < len(sum) {
				sum[i] += n
			}
		}
		s.Times[op] = sum
	}
	s.Last, s.Tables = d.Last, d.Tables
}
