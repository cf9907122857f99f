package console

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/smolwc/smolwc/client"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/server"
)

// An overviewPage is the first page.
type overviewPage struct {
	Figures  []vital
	History  bool
	Tables   []frameTable
	Deleted  []query.DeletedTable
	Standbys *client.Replicas // nil for a server without standbys
}

// A vital is a number that says how the database is, with its last hour as a line.
type vital struct {
	Name, Now string // Now is "" if it is unknown
	Chart     string // the id of its chart
	Line      []string
}

// vitals are lines of the charts, by the ids of these.
var vitals = []struct{ name, chart, line string }{
	{"Calls", "calls", "all"}, {"Errors", "errors", "errors"}, {"Rows read", "rows", "read"}, {"Rows written", "rows", "written"},
	{"Read, p99", "read-time", "p99"}, {"Write, p99", "write-time", "p99"}, {"Memory", "memory", "process"}, {"Cache hits", "cache", "hits"},
	{"Log", "log", "size"}, {"Processors", "cpu", "used"},
}

func overview(v *visit) error {
	if err := v.Refresh(v.r.Context()); err != nil {
		return err
	}
	p := overviewPage{History: v.console.options.Server.KeepsHistory(), Tables: v.tablesWithFigures()}
	span := server.HistorySpans()[0]
	samples := withGaps(v.console.options.Server.History(span, time.Time{}), span.Step)
	for _, f := range vitals {
		p.Figures = append(p.Figures, vitalOf(f.name, f.chart, f.line, samples, span))
	}
	// What the token may not see is left out.
	p.Deleted, _ = v.DeletedTables(v.r.Context())
	if replicas, err := v.Replicas(v.r.Context()); err == nil && (replicas.Standby || len(replicas.Replicas) > 0) {
		p.Standbys = &replicas
	}
	return v.show("overview", "Overview", p)
}

// vitalOf is a line of a chart as a figure.
func vitalOf(name, id, of string, samples []server.HistorySample, span server.HistorySpan) vital {
	f := vital{Name: name, Chart: id}
	for i := range charts {
		if charts[i].ID != id {
			continue
		}
		for _, l := range charts[i].draw(samples, func(string) bool { return false }).Lines {
			if l.Name == of {
				f.Line = sparkline(l.Values, samples, span)
				if n := len(l.Values); n > 0 {
					f.Now = charts[i].Unit.known(l.Values[n-1])
				}
			}
		}
	}
	return f
}

const (
	sparkWidth  = 120
	sparkHeight = 24
	// shortestSpark is the least time that a line covers, in seconds, also if the server
	// just began.
	shortestSpark = 300
)

// sparkline is the points of lines in a box of sparkWidth by sparkHeight that ends with the last sample: a
// line for each run of samples without a gap.
func sparkline(values []*float64, samples []server.HistorySample, span server.HistorySpan) (lines []string) {
	if len(samples) == 0 {
		return nil
	}
	most := 0.0
	for _, v := range values {
		if v != nil {
			most = math.Max(most, *v)
		}
	}
	end := float64(samples[len(samples)-1].At)
	length := min(span.Step.Seconds()*float64(span.Slots), max(shortestSpark, end-float64(samples[0].At)))
	var points []string
	flush := func() {
		if len(points) > 1 {
			lines = append(lines, strings.Join(points, " "))
		}
		points = nil
	}
	for i, v := range values {
		if v == nil {
			flush()
			continue
		}
		x := sparkWidth * (1 - (end-float64(samples[i].At))/length)
		y := sparkHeight - 1.0
		if most > 0 {
			y -= *v / most * (sparkHeight - 2)
		}
		points = append(points, fmt.Sprintf("%.1f,%.1f", x, y))
	}
	flush()
	return lines
}
