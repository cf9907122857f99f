package server_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"
	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/api/option"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/smolwc/smolwc/api/activity"
	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
	"github.com/smolwc/smolwc/server"
)

// A test of a program that uses Bigtable starts a server of its own.
func ExampleNewTest() {
	test := func(t *testing.T) {
		s := server.NewTest(t, schema.Table{Name: "fleet", Families: []schema.Family{{Name: "meta", GC: schema.MaxAge(time.Hour)}}})
		client, err := bigtable.NewClient(t.Context(), s.Project, s.Instance, option.WithGRPCConn(s.Conn))
		if err != nil {
			t.Fatal(err)
		}
		_ = client.Open("fleet") // the program's own code goes here

		s.Freeze(time.Date(2024, 7, 4, 12, 0, 0, 0, time.UTC))
		s.Advance(2 * time.Hour) // the cells are too old now
		if err := s.SetFaults(server.Fault{Method: "ReadRows", Code: "UNAVAILABLE", Times: 2}); err != nil {
			t.Fatal(err)
		}
		if err := s.Reset(t.Context()); err != nil { // an empty table, no faults
			t.Fatal(err)
		}
	}
	_ = test
}

func fleetTable() schema.Table {
	return schema.Table{Name: "fleet", Families: []schema.Family{{Name: "meta", GC: schema.MaxAge(time.Hour)}}}
}

func openFleet(t *testing.T, s *server.Test) *bigtable.Table {
	t.Helper()
	client, err := bigtable.NewClient(t.Context(), s.Project, s.Instance, option.WithGRPCConn(s.Conn))
	if err != nil {
		t.Fatal(err)
	}
	return client.Open("fleet")
}

func putOne(t *testing.T, table *bigtable.Table, row string) {
	t.Helper()
	m := bigtable.NewMutation()
	m.Set("meta", "x", bigtable.ServerTime, []byte("1"))
	if err := table.Apply(t.Context(), row, m); err != nil {
		t.Fatal(err)
	}
}

func cellsOf(t *testing.T, table *bigtable.Table, row string) int {
	t.Helper()
	r, err := table.ReadRow(t.Context(), row)
	if err != nil {
		t.Fatal(err)
	}
	return len(r["meta"])
}

func TestTheClockOfATestDecidesWhatIsTooOld(t *testing.T) {
	s := server.NewTest(t, fleetTable())
	table := openFleet(t, s)
	s.Freeze(time.Date(2024, 7, 4, 12, 0, 0, 0, time.UTC))
	putOne(t, table, "a")
	row, err := table.ReadRow(t.Context(), "a")
	if err != nil || len(row["meta"]) != 1 || row["meta"][0].Timestamp.Time().UTC().Format(time.DateTime) != "2024-07-04 12:00:00" {
		t.Fatalf("%v, %v", row, err)
	}
	s.Advance(59 * time.Minute)
	if cellsOf(t, table, "a") != 1 {
		t.Error("the cell is gone before its hour")
	}
	s.Advance(2 * time.Minute)
	if cellsOf(t, table, "a") != 0 {
		t.Error("the cell is there after its hour")
	}
}

func timestampOf(t *testing.T, table *bigtable.Table, row string) string {
	t.Helper()
	r, err := table.ReadRow(t.Context(), row)
	if err != nil || len(r["meta"]) == 0 {
		t.Fatal(r, err)
	}
	return r["meta"][0].Timestamp.Time().UTC().Format("2006-01-02 15:04:05.000000")
}

// A clock that is set back takes the timestamps with it, and a reset begins them anew.
func TestTimestampsFollowAClockThatIsSetBack(t *testing.T) {
	s := server.NewTest(t, fleetTable())
	table := openFleet(t, s)
	at := time.Date(2024, 7, 4, 12, 0, 0, 0, time.UTC)
	s.Freeze(at)
	putOne(t, table, "a")
	s.Freeze(at.Add(-30 * time.Minute))
	putOne(t, table, "b")
	putOne(t, table, "c")
	const want = "2024-07-04 11:30:00.000000" // the API has milliseconds
	for _, row := range []string{"b", "c"} {
		if got := timestampOf(t, table, row); got != want {
			t.Errorf("row %s is of %s; want %s", row, got, want)
		}
	}
	if err := s.Reset(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.Freeze(at.Add(-30 * time.Minute))
	putOne(t, table, "b")
	if got := timestampOf(t, table, "b"); got != want {
		t.Errorf("after a reset the row is of %s; want %s", got, want)
	}
}

// A query's CURRENT_TIMESTAMP is the time of the clock.
func TestCurrentTimestampIsTheClocks(t *testing.T) {
	s := server.NewTest(t, fleetTable())
	s.Freeze(time.Date(2024, 7, 4, 12, 0, 0, 0, time.UTC))
	client, err := bigtable.NewClient(t.Context(), s.Project, s.Instance, option.WithGRPCConn(s.Conn))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	query, err := client.PrepareStatement(t.Context(), "SELECT CURRENT_TIMESTAMP() AS now", nil)
	if err != nil {
		t.Fatal(err)
	}
	bound, err := query.Bind(nil)
	if err != nil {
		t.Fatal(err)
	}
	var now time.Time
	err = bound.Execute(t.Context(), func(r bigtable.ResultRow) bool {
		err = r.GetByName("now", &now)
		return true
	})
	if err != nil || now.UTC().Format(time.DateTime) != "2024-07-04 12:00:00" {
		t.Errorf("it is %v, %v", now, err)
	}
}

func TestAResetBringsBackTheStart(t *testing.T) {
	s := server.NewTest(t, fleetTable())
	table := openFleet(t, s)
	putOne(t, table, "a")
	if err := s.DB.CreateTable(t.Context(), schema.Table{Name: "other", Families: []schema.Family{{Name: "f"}}}); err != nil {
		t.Fatal(err)
	}
	if err := s.SetFaults(server.Fault{Method: "*", Code: "INTERNAL"}); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if err := s.Reset(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n := cellsOf(t, table, "a"); n != 0 {
			t.Errorf("%d cells after a reset", n)
		}
		if n := len(s.DB.Schema().Tables); n != 1 {
			t.Errorf("%d tables after a reset", n)
		}
		putOne(t, table, "a")
	}
}

// The official client tries UNAVAILABLE again, and goes on after the last row of a stream
// that breaks.
func TestFaultsThatAClientSurvives(t *testing.T) {
	s := server.NewTest(t, fleetTable())
	table := openFleet(t, s)
	for _, row := range []string{"a", "b", "c"} {
		putOne(t, table, row)
	}
	if err := s.SetFaults(server.Fault{Method: "Read*", Code: "UNAVAILABLE", Times: 2}, server.Fault{Method: "ReadRows", Code: "ABORTED", AfterMessages: 1, Times: 1}); err != nil {
		t.Fatal(err)
	}
	var rows []string
	err := table.ReadRows(t.Context(), bigtable.InfiniteRange(""), func(r bigtable.Row) bool {
		rows = append(rows, r.Key())
		return true
	})
	if got := strings.Join(rows, " "); err != nil || got != "a b c" {
		t.Errorf("read %q, %v", got, err)
	}
	if got := s.Struck(); !slices.Equal(got, []uint64{2, 1}) {
		t.Errorf("the faults struck %v calls", got)
	}
}

// The same seed strikes the same calls.
func TestFaultsAreDecidedByTheSeed(t *testing.T) {
	outcome := func(seed uint64) string {
		m := server.NewTestMode(server.TestModeOptions{Seed: seed})
		db, err := query.OpenInMemory(query.Options{Clock: m.Clock})
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		r := serve(t, db, server.Options{Test: m}).data()
		if err := m.SetFaults(server.Fault{Method: "ReadRows", Rate: 0.3, Code: "DATA_LOSS", Skip: 5}); err != nil {
			t.Fatal(err)
		}
		var got strings.Builder
		for range 60 {
			stream, err := r.ReadRows(t.Context(), &bigtablepb.ReadRowsRequest{TableName: server.DefaultInstance + "/tables/none"})
			if err == nil {
				_, err = stream.Recv()
			}
			if status.Code(err) == codes.DataLoss {
				got.WriteByte('x')
			} else {
				got.WriteByte('.')
			}
		}
		return got.String()
	}
	first := outcome(1)
	if n := strings.Count(first, "x"); !strings.HasPrefix(first, ".....") || n < 5 || n > 30 {
		t.Errorf("struck %s", first)
	}
	if again := outcome(1); again != first {
		t.Errorf("the same seed gives %s and %s", first, again)
	}
	if other := outcome(2); other == first {
		t.Errorf("another seed gives the same %s", other)
	}
}

func TestControlsOverHTTP(t *testing.T) {
	m := server.NewTestMode(server.TestModeOptions{Clock: time.Date(2024, 7, 4, 12, 0, 0, 0, time.UTC), Prepare: func(ctx context.Context, db *query.DB) error {
		if err := db.CreateTable(ctx, fleetTable()); err != nil {
			return err
		}
		w := write.NewMutation()
		w.Set("meta", "x", cells.String("seed"))
		return db.Table("fleet").Apply(ctx, "row", w)
	}})
	db, err := query.OpenInMemory(query.Options{Clock: m.Clock})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	s, err := server.New(db, server.Options{Test: m})
	if err != nil {
		t.Fatal(err)
	}
	pages := httptest.NewServer(s.HTTP())
	defer pages.Close()
	call := func(method, path, body string, header ...string) (int, string) {
		req, err := http.NewRequestWithContext(t.Context(), method, pages.URL+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i < len(header); i += 2 {
			req.Header.Set(header[i], header[i+1])
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		text, _ := io.ReadAll(resp.Body)
		if !json.Valid(text) {
			t.Errorf("%s %s: not JSON: %s", method, path, text)
		}
		return resp.StatusCode, string(text)
	}
	for _, c := range []struct {
		method, path, body string
		code               int
		want               string
	}{
		{"POST", "/test/reset", "", 200, `"now":"2024-07-04T12:00:00Z"`},
		{"PUT", "/test/clock", `{"advance": "90m"}`, 200, `"now":"2024-07-04T13:30:00Z"`},
		{"PUT", "/test/clock", `{"set": "2030-01-01T00:00:00Z"}`, 200, `"frozen":true`},
		{"PUT", "/test/clock", `{"run": true}`, 200, `"frozen":false`},
		{"PUT", "/test/clock", `{"advance": "soon"}`, 400, `not a duration`},
		{"PUT", "/test/clock", `{"advance": "1h", "run": true}`, 400, `want one of`},
		{"PUT", "/test/clock", `{"step": "1h"}`, 400, `unknown field`},
		{"PUT", "/test/clock", `{"run": true} x`, 400, `something after`},
		{"PUT", "/test/faults", `[{"method": "ReadRows", "rate": 0.5, "code": "UNAVAILABLE", "delay": "10ms", "times": 3}]`, 200, `"delay":"10ms"`},
		{"PUT", "/test/faults", `[{"method": "ReadRows", "code": "BUSY"}]`, 400, `not one of gRPC's`},
		{"PUT", "/test/faults", `[{"method": "ReadRows"}]`, 400, `neither a code nor a delay`},
		{"PUT", "/test/faults", `[{"method": "[", "code": "INTERNAL"}]`, 400, `a pattern`},
		{"PUT", "/test/faults", `[{"method": "*", "rate": 2, "code": "INTERNAL"}]`, 400, `between 0 and 1`},
		{"PUT", "/test/faults", `[{"method": "*", "rate": 0, "code": "INTERNAL"}]`, 400, `strikes no call`},
		{"PUT", "/test/faults", `[{"method": "ReadRow", "code": "INTERNAL"}]`, 400, `no method ReadRow`},
		{"PUT", "/test/faults", `{`, 400, `not as expected`},
		{"GET", "/test", "", 200, `"method":"ReadRows"`},
		{"PUT", "/test/faults", `[]`, 200, `"faults":[]`},
		{"GET", "/test", "", 200, `"struck":[]`},
		{"POST", "/test/reset", "{}", 400, `no body`},
		{"POST", "/test/reset", "", 200, `"frozen":true`},
	} {
		if code, text := call(c.method, c.path, c.body); code != c.code || !strings.Contains(text, c.want) {
			t.Errorf("%s %s %s: %d %s", c.method, c.path, c.body, code, text)
		}
	}
	if code, _ := call("POST", "/test/reset", "", "Origin", "http://elsewhere.example"); code != 403 {
		t.Errorf("a page of another origin: %d", code)
	}
	if row, err := db.Table("fleet").ReadRow(t.Context(), "row"); err != nil || row.Text("meta", "x") != "seed" {
		t.Errorf("after resets: %v, %v", row, err)
	}
}

// A test sees neither the slow calls nor the hot rows of the test before it.
func TestAResetForgetsCallsAndHeat(t *testing.T) {
	m := server.NewTestMode(server.TestModeOptions{Prepare: func(ctx context.Context, db *query.DB) error {
		return db.CreateTable(ctx, fleetTable())
	}})
	db, err := query.OpenInMemory(query.Options{Clock: m.Clock})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	s, err := server.New(db, server.Options{Test: m})
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Reset(t.Context()); err != nil {
		t.Fatal(err)
	}
	pages := httptest.NewServer(s.HTTP())
	defer pages.Close()
	hot := func() int {
		h, err := s.Heat(activity.HeatRequest{})
		if err != nil {
			t.Fatal(err)
		}
		return len(h.Rows)
	}
	resp, err := http.Post(pages.URL+"/v1/table/fleet/write", "application/json", strings.NewReader(`{"items":[{"row_key":"plane#1","cells":[{"column_key":"meta:x","type":"string","value":"1"}]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	for resp.StatusCode == http.StatusOK && len(s.Calls().Slow) == 0 { // a call is remembered after its answer
		time.Sleep(10 * time.Millisecond)
	}
	if hot() != 1 {
		t.Fatalf("%s; %d rows are hot", resp.Status, hot())
	}
	if err := m.Reset(t.Context()); err != nil {
		t.Fatal(err)
	}
	if slow := s.Calls().Slow; len(slow) > 0 || hot() > 0 {
		t.Errorf("after a reset there are the calls %v and %d hot rows", slow, hot())
	}
}
