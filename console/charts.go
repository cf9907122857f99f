package console

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/smolwc/smolwc/ql/lex"
	"github.com/smolwc/smolwc/server"
)

// A chart is a picture of some metrics over time.
type chart struct {
	ID, Title string
	Unit      unit
	Stacked   bool   // the lines are shares of their sum
	Theme     string // under which the page folds it; "" for those that say whether all is well
	Note      string // what the title does not say

	lines []line
	table func(server.HistorySample) map[string]float64 // a line for each table, in place of lines
}

// A line of a chart gives the value of a sample; NaN if there is no value.
type line struct {
	name  string
	value func(server.HistorySample) float64
}

// rate is the growth of a metric in a second.
func rate(name, metric string) line {
	return line{name, func(s server.HistorySample) float64 { return s.Sums[metric] / s.Seconds }}
}

// last is a metric at the end of a sample.
func last(name, metric string) line {
	return line{name, func(s server.HistorySample) float64 { return s.Last[metric] }}
}

// calls is how many calls of an operation ended in a second.
func calls(name, operation string) line {
	return line{name, func(s server.HistorySample) (n float64) {
		for _, m := range s.Times[operation] {
			n += m
		}
		return n / s.Seconds
	}}
}

// quotient is the growth of one metric divided by the growth of others.
func quotient(name, metric string, by ...string) line {
	return line{name, func(s server.HistorySample) float64 {
		sum := 0.0
		for _, other := range by {
			sum += s.Sums[other]
		}
		return s.Sums[metric] / sum // NaN if there is nothing to divide
	}}
}

// took is two quantiles of the times of an operation.
func took(operation string) []line {
	of := func(q float64) func(server.HistorySample) float64 {
		return func(s server.HistorySample) float64 { return quantile(s.Times[operation], server.HistoryBounds(), q) }
	}
	return []line{{"p50", of(0.5)}, {"p99", of(0.99)}}
}

// both is the quantiles of reads and of writes.
func both() (lines []line) {
	for _, of := range []struct{ name, operation string }{{"read", "read"}, {"write", "write"}} {
		for _, l := range took(of.operation) {
			lines = append(lines, line{of.name + ", " + l.name, l.value})
		}
	}
	return lines
}

// quantile estimates a quantile from the numbers of calls between bounds, as Prometheus
// does. It is NaN without calls.
func quantile(counts, bounds []float64, q float64) float64 {
	total := 0.0
	for _, n := range counts {
		total += n
	}
	if total == 0 || len(counts) != len(bounds)+1 {
		return math.NaN()
	}
	rank, below := q*total, 0.0
	for i, upper := range bounds {
		if below+counts[i] >= rank && counts[i] > 0 {
			lower := 0.0
			if i > 0 {
				lower = bounds[i-1]
			}
			return lower + (upper-lower)*(rank-below)/counts[i]
		}
		below += counts[i]
	}
	return bounds[len(bounds)-1]
}

// ofTables is a figure of each table.
func ofTables(figure func(t server.HistoryTable) float64) func(server.HistorySample) map[string]float64 {
	return func(s server.HistorySample) map[string]float64 {
		values := make(map[string]float64, len(s.Tables))
		for name, t := range s.Tables {
			values[name] = figure(t)
		}
		return values
	}
}

// knownRows is how many rows are in a table; nil: nobody knows. An estimate of an empty table
// says nothing once there are cells.
func knownRows(t server.HistoryTable) *float64 {
	if t.Rows != nil && *t.Rows == 0 && t.Cells > 0 {
		return nil
	}
	return t.Rows
}

// rowsOf returns how many rows are in a table, NaN while nobody knows.
func rowsOf(t server.HistoryTable) float64 {
	if rows := knownRows(t); rows != nil {
		return *rows
	}
	return math.NaN()
}

// charts are in the order of the page.
var charts = []chart{
	{ID: "calls", Title: "Calls", Unit: perSecond, lines: []line{calls("reads of rows", "read"), calls("scans", "scan"), calls("queries", "query"), calls("writes", "write"), calls("deletions", "delete"), rate("all", "calls")}},
	{ID: "errors", Title: "Calls with an error", Unit: perSecond, lines: []line{rate("errors", "errors")}},
	{ID: "latency", Title: "Time of reads and writes", Unit: seconds, Note: "of rows; half of the calls, and all but one of a hundred, are quicker", lines: both()},
	{ID: "memory", Title: "Memory", Unit: inBytes, lines: []line{last("process", "process_resident_memory_bytes"), last("cache", "store_memory_cache_bytes"), last("write buffers", "store_memory_memtables_bytes"), last("open files", "store_memory_readers_bytes"), last("Go heap", "go_memstats_heap_inuse_bytes")}},
	{ID: "disk", Title: "Disk by table", Unit: inBytes, Stacked: true, table: ofTables(func(t server.HistoryTable) float64 { return t.Bytes })},
	{ID: "pending", Title: "Compactions to do, by table", Unit: inBytes, table: ofTables(func(t server.HistoryTable) float64 { return t.Pending })},
	{ID: "rows", Theme: "Traffic", Title: "Rows", Unit: perSecond, lines: []line{rate("read", "rows_read"), rate("written", "rows_written")}},
	{ID: "cells", Theme: "Traffic", Title: "Cells", Unit: perSecond, lines: []line{rate("read", "cells_read"), rate("written", "cells_written")}},
	{ID: "network", Theme: "Traffic", Title: "Network", Unit: bytesPerSecond, lines: []line{rate("received", "call_received_bytes"), rate("sent", "call_sent_bytes")}},
	{ID: "clients", Theme: "Traffic", Title: "Clients", Unit: plain, lines: []line{last("connections", "connections"), last("calls under way", "calls_in_flight")}},
	{ID: "read-time", Theme: "Times", Title: "Time of reads of rows", Unit: seconds, lines: took("read")},
	{ID: "scan-time", Theme: "Times", Title: "Time of scans", Unit: seconds, Note: "prefixes and ranges, to their ends", lines: took("scan")},
	{ID: "write-time", Theme: "Times", Title: "Time of writes", Unit: seconds, Note: "calls with one row or many", lines: took("write")},
	{ID: "cell-time", Theme: "Times", Title: "Time of writes by cell", Unit: seconds, Note: "the mean", lines: []line{quotient("mean", "write_seconds", "cells_written")}},
	{ID: "delete-time", Theme: "Times", Title: "Time of deletions", Unit: seconds, lines: took("delete")},
	{ID: "query-time", Theme: "Times", Title: "Time of SQL queries", Unit: seconds, lines: took("query")},
	{ID: "cpu", Theme: "Machine and memory", Title: "Processors", Unit: percent, Note: "100 % is one", lines: []line{rate("used", "process_cpu_seconds")}},
	{ID: "cache", Theme: "Machine and memory", Title: "Cache hits", Unit: percent, lines: []line{quotient("hits", "store_cache_hits", "store_cache_hits", "store_cache_misses")}},
	{ID: "buffers", Theme: "Machine and memory", Title: "Write buffers by table", Unit: inBytes, Stacked: true, table: ofTables(func(t server.HistoryTable) float64 { return t.Memtables })},
	{ID: "log", Theme: "Log, flushes and compactions", Title: "Write-ahead log", Unit: inBytes, lines: []line{last("size", "store_log_bytes")}},
	{ID: "syncs", Theme: "Log, flushes and compactions", Title: "Syncs of the log", Unit: perSecond, lines: []line{rate("syncs", "store_log_syncs")}},
	{ID: "work", Theme: "Log, flushes and compactions", Title: "Flushes and compactions", Unit: bytesPerSecond, lines: []line{rate("flushed", "store_flushed_bytes"), rate("compacted", "store_compacted_bytes")}},
	{ID: "stalls", Theme: "Log, flushes and compactions", Title: "Writes that wait", Unit: percent, Note: "waiting time of all writes; 100 % is one that always waits", lines: []line{rate("stalled", "store_stalled_seconds")}},
	{ID: "retention", Theme: "Log, flushes and compactions", Title: "Cells that retention removed", Unit: perSecond, lines: []line{rate("too old", "store_expired_cells"), rate("surplus versions", "store_surplus_cells")}},
	{ID: "files", Theme: "Tables", Title: "Files by table", Unit: plain, table: ofTables(func(t server.HistoryTable) float64 { return t.Files })},
	{ID: "table-rows", Theme: "Tables", Title: "Rows by table", Unit: plain, Note: "estimated now and then", table: ofTables(rowsOf)},
	{ID: "table-cells", Theme: "Tables", Title: "Cells by table", Unit: plain, Note: "at most: replaced cells count until a compaction", table: ofTables(func(t server.HistoryTable) float64 { return t.Cells })},
	{ID: "lag", Theme: "Standbys", Title: "Lag of standbys", Unit: seconds, Note: "the largest one", lines: []line{last("of this one's standbys", "replica_lag_seconds"), last("of this one as a standby", "standby_lag_seconds")}},
	{ID: "behind", Theme: "Standbys", Title: "Log that standbys do not have", Unit: inBytes, Note: "the largest one", lines: []line{last("behind", "replica_behind_bytes")}},
	{ID: "standbys", Theme: "Standbys", Title: "Standbys", Unit: plain, lines: []line{last("connected", "replicas"), last("epoch", "epoch"), last("degraded", "semi_sync_degraded"), last("rebuilt", "standby_rebuilds")}},
}

// mostLines is how many tables a chart shows.
const mostLines = 8

// A plot is a chart with the values of samples.
type plot struct {
	*chart
	Lines []plotted
}

// plotted is the values of a line; null says that there is no value.
type plotted struct {
	Name   string     `json:"name"`
	Values []*float64 `json:"values"`
}

// draw gives the lines of a chart. may says which tables the person may see.
func (c *chart) draw(samples []server.HistorySample, may func(table string) bool) plot {
	p := plot{chart: c, Lines: []plotted{}}
	add := func(name string, value func(server.HistorySample) float64) {
		l := plotted{name, make([]*float64, len(samples))}
		for i, s := range samples {
			if s.Seconds > 0 {
				if v := value(s); !math.IsNaN(v) && !math.IsInf(v, 0) {
					l.Values[i] = &v
				}
			}
		}
		p.Lines = append(p.Lines, l)
	}
	for _, l := range c.lines {
		add(l.name, l.value)
	}
	for _, name := range c.tables(samples, may) {
		add(name, func(s server.HistorySample) float64 {
			if v, ok := c.table(s)[name]; ok {
				return v
			}
			return math.NaN()
		})
	}
	return p
}

// tables are those with the largest values at the end, by name.
func (c *chart) tables(samples []server.HistorySample, may func(table string) bool) []string {
	if c.table == nil || len(samples) == 0 {
		return nil
	}
	values := map[string]float64{}
	for _, s := range samples[max(0, len(samples)-2):] { // the very last may be a gap
		maps.Copy(values, c.table(s))
	}
	maps.DeleteFunc(values, func(name string, _ float64) bool { return !may(name) })
	names := slices.SortedFunc(maps.Keys(values), func(a, b string) int {
		return cmp.Or(cmp.Compare(values[b], values[a]), cmp.Compare(a, b))
	})
	names = names[:min(len(names), mostLines)]
	slices.Sort(names)
	return names
}

// withGaps puts an empty sample where some are missing, so that no line crosses the gap.
func withGaps(samples []server.HistorySample, step time.Duration) (filled []server.HistorySample) {
	for i, s := range samples {
		if i > 0 && s.At-samples[i-1].At >= 2*int64(step/time.Second) {
			filled = append(filled, server.HistorySample{At: samples[i-1].At + int64(step/time.Second)})
		}
		filled = append(filled, s)
	}
	return filled
}

// A chartsPage is the page of all charts.
type chartsPage struct {
	On     bool // the server keeps a history
	Span   server.HistorySpan
	Spans  []server.HistorySpan
	Themes []theme
	At     []int64 // of the numbers
}

// A theme is charts under one name, empty for the first one.
type theme struct {
	Name  string
	Plots []plot
}

// numbersShown is how many of the samples the tables of numbers have.
const numbersShown = 12

func (v *visit) history() (span server.HistorySpan, samples []server.HistorySample, err error) {
	if err := v.Refresh(v.r.Context()); err != nil {
		return span, nil, err
	}
	name := cmp.Or(v.r.FormValue("span"), "hour")
	spans := server.HistorySpans()
	i := slices.IndexFunc(spans, func(s server.HistorySpan) bool { return s.Name == name })
	if i < 0 {
		return span, nil, invalid("there is no span %s; want hour, day or month", lex.QuoteText(name))
	}
	after := time.Time{}
	if text := v.r.FormValue("after"); text != "" {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return span, nil, invalid("after is %s; want seconds since 1970", lex.QuoteText(text))
		}
		after = time.Unix(n, 0)
	}
	return spans[i], withGaps(v.console.options.Server.History(spans[i], after), spans[i].Step), nil
}

func (v *visit) mayCharts(table string) bool { _, ok := v.LookupTable(table); return ok }

// showCharts is the page, with a few numbers for browsers that draw nothing.
func showCharts(v *visit) error {
	span, samples, err := v.history()
	if err != nil {
		return err
	}
	page := chartsPage{On: v.console.options.Server.KeepsHistory(), Span: span, Spans: server.HistorySpans()}
	few := make([]server.HistorySample, 0, numbersShown)
	for i := range min(len(samples), numbersShown) { // the last one, and evenly before it
		few = append(few, samples[len(samples)-1-i*len(samples)/min(len(samples), numbersShown)])
	}
	for _, s := range few {
		page.At = append(page.At, s.At)
	}
	for i := range charts {
		if last := len(page.Themes) - 1; last < 0 || page.Themes[last].Name != charts[i].Theme {
			page.Themes = append(page.Themes, theme{Name: charts[i].Theme})
		}
		t := &page.Themes[len(page.Themes)-1]
		t.Plots = append(t.Plots, charts[i].draw(few, v.mayCharts))
	}
	return v.show("charts", "Charts", page)
}

// chartData is the values of all charts as JSON.
func chartData(v *visit) error {
	span, samples, err := v.history()
	if err != nil {
		return err
	}
	type drawn struct {
		ID    string    `json:"id"`
		Lines []plotted `json:"lines"`
	}
	data := struct {
		Step   int64   `json:"step"`
		At     []int64 `json:"at"`
		Gaps   []int64 `json:"gaps"` // times in At without a sample: the server was away
		Charts []drawn `json:"charts"`
	}{int64(span.Step / time.Second), []int64{}, []int64{}, nil}
	for _, s := range samples {
		if data.At = append(data.At, s.At); s.Seconds == 0 {
			data.Gaps = append(data.Gaps, s.At)
		}
	}
	for i := range charts {
		data.Charts = append(data.Charts, drawn{charts[i].ID, charts[i].draw(samples, v.mayCharts).Lines})
	}
	v.header().Header().Set("Content-Type", "application/json")
	return json.NewEncoder(v.w).Encode(data)
}

// A unit is the unit of a chart. The script of the page writes numbers in the same way.
type unit string

const (
	perSecond      unit = "/s"
	seconds        unit = "s"
	inBytes        unit = "B"
	bytesPerSecond unit = "B/s"
	percent        unit = "%"
	plain          unit = ""
)

// of is a whole number with its unit.
func (u unit) of(n int64) string {
	v := float64(n)
	return u.amount(&v)
}

// amount is a number with its unit.
func (u unit) amount(v *float64) string {
	if v == nil {
		return "–"
	}
	scaled := func(n, step float64, names ...string) string {
		i := 0
		for ; n >= step && i < len(names)-1; i++ {
			n /= step
		}
		digits := 2
		if n >= 100 {
			digits = 0
		} else if n >= 10 {
			digits = 1
		}
		rounded, _ := strconv.ParseFloat(strconv.FormatFloat(n, 'f', digits, 64), 64)
		return strconv.FormatFloat(rounded, 'f', -1, 64) + names[i]
	}
	switch u {
	case seconds:
		return scaled(*v*1e6, 1000, " µs", " ms", " s")
	case inBytes:
		return scaled(*v, 1024, " B", " KiB", " MiB", " GiB", " TiB")
	case bytesPerSecond:
		return scaled(*v, 1024, " B/s", " KiB/s", " MiB/s", " GiB/s")
	case percent:
		return fmt.Sprintf("%.1f %%", 100**v)
	case perSecond:
		return scaled(*v, 1000, " /s", " k/s", " M/s")
	}
	return scaled(*v, 1000, "", " k", " M", " G")
}
