package server_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"cloud.google.com/go/bigtable/admin/apiv2/adminpb"
	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/smolwc/smolwc/api/smolwcpb"
	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
	"github.com/smolwc/smolwc/server"
)

// A logText is a log that many goroutines write.
type logText struct {
	mu  sync.Mutex
	all bytes.Buffer
}

func (l *logText) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.Write(b)
}

func (l *logText) lines() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Split(strings.TrimSpace(l.all.String()), "\n")
}

// The lines and the spans of calls that fail have no row keys, qualifiers or values, whatever
// the way, unless they are to have data.
func TestTheLogHasNoDataOfClients(t *testing.T) {
	for _, logData := range []bool{false, true} {
		db, err := query.OpenInMemory(query.Options{Schema: &schema.Schema{Tables: []schema.Table{{Name: "t", Families: []schema.Family{{Name: "f"}, {Name: "n", Type: cells.TypeI64}}}}}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = db.Close() })
		log, spans := new(logText), tracetest.NewSpanRecorder()
		r, s := serveToo(t, db, server.Options{Instance: parent, LogData: logData, Logger: slog.New(slog.NewTextHandler(log, nil)), Traces: trace.NewTracerProvider(trace.WithSpanProcessor(spans))})
		m := write.NewMutation()
		m.Set("f", "secret", cells.String("secret"))
		r.must(db.Table("t").Apply(r.ctx(), "secret", m))
		r.must(r.createView("t", "v", subsetView([]string{"a"}, map[string]*adminpb.AuthorizedView_FamilySubsets{"f": subset(nil, "x")})))
		pages := httptest.NewServer(s.HTTP())
		t.Cleanup(pages.Close)
		data, statements := bigtablepb.NewBigtableClient(r.conn), smolwcpb.NewStatementsClient(r.conn)
		table, view, key := parent+"/tables/t", parent+"/tables/t/authorizedViews/v", []byte("secret")
		set := func(family string) []*bigtablepb.Mutation {
			return []*bigtablepb.Mutation{{Mutation: &bigtablepb.Mutation_SetCell_{SetCell: &bigtablepb.Mutation_SetCell{FamilyName: family, ColumnQualifier: key, Value: key, TimestampMicros: -1}}}}
		}
		fails := map[string]func() error{
			"a value of another type": func() error {
				return last(data.MutateRow(r.ctx(), &bigtablepb.MutateRowRequest{TableName: table, RowKey: key, Mutations: set("n")}))
			},
			"a row outside of a view": func() error {
				return last(data.MutateRow(r.ctx(), &bigtablepb.MutateRowRequest{AuthorizedViewName: view, RowKey: key, Mutations: set("f")}))
			},
			"a column outside of a view": func() error {
				return last(data.MutateRow(r.ctx(), &bigtablepb.MutateRowRequest{AuthorizedViewName: view, RowKey: []byte("a"), Mutations: set("f")}))
			},
			"an increment of text": func() error {
				return last(data.ReadModifyWriteRow(r.ctx(), &bigtablepb.ReadModifyWriteRowRequest{TableName: table, RowKey: key, Rules: []*bigtablepb.ReadModifyWriteRule{{FamilyName: "f", ColumnQualifier: key, Rule: &bigtablepb.ReadModifyWriteRule_IncrementAmount{IncrementAmount: 1}}}}))
			},
			"a batch": func() error {
				return last(smolwcpb.NewBatchesClient(r.conn).ApplyBatch(r.ctx(), &smolwcpb.ApplyBatchRequest{Entries: []*smolwcpb.ApplyBatchRequest_Entry{{TableName: table, RowKey: key, Mutations: set("n")}}}))
			},
			"a query": func() error {
				_, err := r.query(r.client(), "SELECT CAST('secret' AS INT64) FROM t", nil, nil)
				return err
			},
			"a query over data": func() error {
				_, err := r.query(r.client(), "SELECT CAST(CAST(_key AS STRING) AS INT64) FROM t", nil, nil)
				return err
			},
			"a statement": func() error {
				return last(statements.RunStatement(r.ctx(), &smolwcpb.RunStatementRequest{InstanceName: parent, Text: "count t where f:secret = secret and secret"}))
			},
			"JSON": func() error {
				resp, err := http.Post(pages.URL+"/v1/table/t/write", "application/json", strings.NewReader(`{"items":[{"row_key":"secret","cells":[{"column_key":"n:secret","value":{"String":"secret"}}]}]}`))
				if err == nil {
					_ = resp.Body.Close()
				}
				return err
			},
		}
		for name, fail := range fails {
			if err := fail(); err == nil && name != "JSON" {
				t.Errorf("%s does not fail", name)
			}
		}
		r.stop()
		calls, told := 0, 0
		for _, line := range log.lines() {
			if strings.Contains(line, "msg=call") && !strings.Contains(line, "code=OK") {
				calls++
			}
			if strings.Contains(line, "secret") {
				told++
				if !logData {
					t.Errorf("the log has %s", line)
				}
			}
		}
		traced := 0
		for _, s := range spans.Ended() {
			if text := fmt.Sprint(s.Name(), s.Status(), s.Attributes(), s.Events()); strings.Contains(text, "secret") {
				traced++
				if !logData {
					t.Errorf("the span has %s", text)
				}
			}
		}
		if n := len(spans.Ended()); n < len(fails) || logData && traced < 2 {
			t.Errorf("%d spans, %d with data", n, traced)
		}
		if calls < len(fails) || logData && told < 4 {
			t.Errorf("the log has %d calls that failed, %d of them with data, of %d:\n%s", calls, told, len(fails), strings.Join(log.lines(), "\n"))
		}
	}
}
