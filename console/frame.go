package console

import (
	"net/http"
	"time"

	"github.com/smolwc/smolwc/queue"
	"github.com/smolwc/smolwc/schema"
	"github.com/smolwc/smolwc/server"
)

// A frame is what stands beside each page: the database, its tables and the pages.
type frame struct {
	Name, Version string
	Tables        []frameTable
	Views         []frameView
	Queue         bool // the usual table of queues is there
	Heat          string
}

// A frameTable is a table with its figures, "" for those that nobody knows.
type frameTable struct {
	schema.Table
	Rows, Cells, Size string
}

type frameView struct {
	Name, SQL    string
	Materialized bool
}

// frame is made for people who may use the server; a page is shown without views that
// cannot be listed.
func (v *visit) frame() *frame {
	if v.Client == nil {
		return nil
	}
	_ = v.Refresh(v.r.Context()) // if it fails, the page shows the tables of the last visit
	f := &frame{Name: v.console.options.Name, Version: v.console.options.Version, Tables: v.tablesWithFigures()}
	for i := range f.Tables {
		f.Queue = f.Queue || f.Tables[i].Name == queue.DefaultTable
	}
	_ = v.EachView(v.r.Context(), func(name, sql string, materialized bool) bool {
		f.Views = append(f.Views, frameView{name, sql, materialized})
		return len(f.Views) < mostViews
	})
	if name := v.r.PathValue("table"); name != "" {
		f.Heat = address(name, "heat")
	} else if len(f.Tables) > 0 {
		f.Heat = address(f.Tables[0].Name, "heat")
	}
	return f
}

// mostViews is how many views a page lists.
const mostViews = 200

// tablesWithFigures are the tables that the person may see, with what the last sample of the
// metrics says of them.
func (v *visit) tablesWithFigures() []frameTable {
	known := v.latest().Tables
	all := v.Schema().Tables
	tables := make([]frameTable, len(all))
	for i, t := range all {
		tables[i].Table = t
		figures, ok := known[t.Name]
		if !ok {
			continue
		}
		size := figures.Bytes + figures.Memtables
		tables[i].Rows, tables[i].Cells, tables[i].Size = plain.known(knownRows(figures)), plain.known(&figures.Cells), inBytes.known(&size)
	}
	return tables
}

// known is a number with its unit, "" if it is unknown.
func (u unit) known(v *float64) string {
	if v == nil {
		return ""
	}
	return u.amount(v)
}

// latest is the last sample of the metrics, an empty one without a history.
func (v *visit) latest() server.HistorySample {
	samples := v.console.options.Server.History(server.HistorySpans()[0], time.Now().Add(-time.Minute))
	if len(samples) == 0 {
		return server.HistorySample{}
	}
	return samples[len(samples)-1]
}

// health says whether the server takes calls, in the words of /readyz.
func health(v *visit) error {
	said := &said{header: http.Header{}}
	ready := v.r.Clone(v.r.Context())
	ready.Method, ready.URL.Path, ready.URL.RawQuery = http.MethodGet, "/readyz", ""
	v.console.options.Server.HTTP().ServeHTTP(said, ready)
	if len(said.text) > mostSaid {
		said.text = said.text[:mostSaid]
	}
	return v.show("health", "Health", struct {
		Well bool
		Text string
	}{said.code == 0 || said.code == http.StatusOK, printable(string(said.text))})
}

// mostSaid is the size of a reason why the server takes no calls, in bytes.
const mostSaid = 300

// said keeps the answer of a page of the server.
type said struct {
	header http.Header
	code   int
	text   []byte
}

func (s *said) Header() http.Header  { return s.header }
func (s *said) WriteHeader(code int) { s.code = code }
func (s *said) Write(p []byte) (int, error) {
	s.text = append(s.text, p...)
	return len(p), nil
}
