package server_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"

	"cloud.google.com/go/bigtable"
	"go.opentelemetry.io/otel/attribute"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"google.golang.org/grpc/metadata"

	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/schema"
	"github.com/smolwc/smolwc/server"
)

const (
	clientTrace = "0af7651916cd43dd8448eb211c80319c"
	traceparent = "00-" + clientTrace + "-b7ad6b7169203331-01"
)

// Spans of calls are below those of their clients, and have those of reads, writes and
// queries below them, with what these have cost.
func TestSpansOfCalls(t *testing.T) {
	db, err := query.OpenInMemory(query.Options{Schema: &schema.Schema{Tables: []schema.Table{{Name: "t", Families: []schema.Family{{Name: "f"}}}}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	spans := tracetest.NewSpanRecorder()
	r, s := serveToo(t, db, server.Options{Instance: parent, Traces: sdk.NewTracerProvider(sdk.WithSpanProcessor(spans), sdk.WithSampler(sdk.ParentBased(sdk.NeverSample())))})
	pages := httptest.NewServer(s.HTTP())
	t.Cleanup(pages.Close)
	ctx := metadata.AppendToOutgoingContext(r.ctx(), "traceparent", traceparent)
	table := r.client().Open("t")
	m := bigtable.NewMutation()
	m.Set("f", "q", 1000, []byte("value"))
	r.must(table.Apply(r.ctx(), "untraced", m))
	for i := range 3 {
		r.must(table.Apply(ctx, fmt.Sprint("row", i), m))
	}
	r.must(table.ReadRows(ctx, bigtable.PrefixRange("row"), func(bigtable.Row) bool { return true }))
	if _, err := table.ReadRow(ctx, "row1"); err != nil {
		t.Error(err)
	}
	q, err := r.client().PrepareStatement(r.ctx(), "SELECT COUNT(*) FROM t", nil)
	r.must(err)
	bound, err := q.Bind(nil)
	r.must(err)
	r.must(bound.Execute(ctx, func(bigtable.ResultRow) bool { return true }))
	req, err := http.NewRequestWithContext(r.ctx(), http.MethodPost, pages.URL+"/v1/table/t/scan", strings.NewReader(`{"row":{"prefix":"row"}}`))
	r.must(err)
	req.Header.Set("traceparent", traceparent)
	resp, err := http.DefaultClient.Do(req)
	r.must(err)
	_ = resp.Body.Close()
	r.stop()

	byID, got := map[string]string{}, []string{}
	for _, s := range spans.Ended() {
		byID[s.SpanContext().SpanID().String()] = s.Name()
	}
	byID["b7ad6b7169203331"] = "client"
	for _, s := range spans.Ended() {
		if s.SpanContext().TraceID().String() != clientTrace {
			t.Errorf("%s is in the trace %v", s.Name(), s.SpanContext().TraceID())
		}
		var about []string
		for _, a := range s.Attributes() {
			if slices.Contains([]attribute.Key{"db.collection.name", "smolwc.rows", "smolwc.cells_scanned", "smolwc.rows_written", "rpc.response.status_code"}, a.Key) {
				about = append(about, a.Value.String())
			}
		}
		slices.Sort(about)
		got = append(got, fmt.Sprint(byID[s.Parent().SpanID().String()], " > ", s.Name(), " ", about))
	}
	slices.Sort(got)
	got = slices.Compact(got) // a query reads in as many parts as there are processors
	want := []string{
		"client > google.bigtable.v2.Bigtable/ExecuteQuery [0 4 OK t]",
		"client > google.bigtable.v2.Bigtable/MutateRow [0 1 OK t]",
		"client > google.bigtable.v2.Bigtable/ReadRows [0 1 OK t]",
		"client > google.bigtable.v2.Bigtable/ReadRows [0 3 OK t]",
		"client > json.v1/Scan [0 3 OK t]",
		"google.bigtable.v2.Bigtable/ExecuteQuery > query [t]",
		"google.bigtable.v2.Bigtable/MutateRow > write []",
		"google.bigtable.v2.Bigtable/ReadRows > read [1 1 t]",
		"google.bigtable.v2.Bigtable/ReadRows > read [3 3 t]",
		"json.v1/Scan > read [3 3 t]",
	}
	got = slices.DeleteFunc(got, func(line string) bool { return strings.HasPrefix(line, "query > read [") })
	if text := strings.Join(got, "\n"); text != strings.Join(want, "\n") {
		t.Errorf("%s", text)
	}
}

// A call that is traced is an example of its bucket, for clients that ask for OpenMetrics.
// Otherwise names and figures are the same in both forms.
func TestExemplarsOfCalls(t *testing.T) {
	db, err := query.OpenInMemory(query.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	r, s := serveToo(t, db, server.Options{Instance: parent, Traces: sdk.NewTracerProvider(sdk.WithSampler(sdk.ParentBased(sdk.NeverSample())))})
	r.table("t", "f")
	for _, ctx := range []string{"", traceparent} {
		_, err := r.client().Open("t").ReadRow(metadata.AppendToOutgoingContext(r.ctx(), "traceparent", ctx), "row")
		r.must(err)
	}
	pages := httptest.NewServer(s.HTTP())
	t.Cleanup(pages.Close)
	scrape := func(accept string) string {
		req, err := http.NewRequestWithContext(r.ctx(), http.MethodGet, pages.URL+"/metrics", nil)
		r.must(err)
		req.Header.Set("Accept", accept)
		resp, err := http.DefaultClient.Do(req)
		r.must(err)
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		r.must(err)
		return string(text)
	}
	example := regexp.MustCompile(`smolwc_call_seconds_bucket\{method="google.bigtable.v2.Bigtable/ReadRows",le="[^"]*"\} \d+ # \{trace_id="` + clientTrace + `"\}`)
	open := ""
	r.until("one example", func() bool { // the client may see the end of a call first
		open = scrape("application/openmetrics-text; version=1.0.0")
		return len(example.FindAllString(open, -1)) == 1
	})
	plain := scrape("text/plain")
	if strings.Contains(plain, clientTrace) {
		t.Errorf("plain text has an example:\n%s", plain)
	}
	names := func(text string) (all []string) {
		for _, m := range regexp.MustCompile(`(?m)^(\w+)[{ ]`).FindAllStringSubmatch(text, -1) {
			all = append(all, m[1])
		}
		slices.Sort(all)
		return slices.Compact(all)
	}
	if p, o := names(plain), names(open); !slices.Equal(p, o) {
		t.Errorf("names in plain text: %q\nin OpenMetrics: %q", p, o)
	}
}
