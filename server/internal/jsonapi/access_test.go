package jsonapi_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/smolwc/smolwc/schema"
	"github.com/smolwc/smolwc/server"
)

// Each call needs the right that the same call over gRPC needs, and lists show the
// tables that the token may read.
func TestTokens(t *testing.T) {
	tokens := server.OpenTokens(t.TempDir())
	r := newRig(t, server.Options{Tokens: tokens})
	for _, name := range []string{"mine", "other"} {
		r.result("PUT", "/v1/table/"+name, "")
		r.result("POST", "/v1/table/"+name+"/column-family", `{"column_families":[{"name":"f"}]}`)
	}
	headers := map[string][]string{"nobody": nil, "a stranger": {"Authorization", "Bearer smolwc_x_y"}}
	for name, grants := range map[string][]server.Grant{
		"reader": {{Right: server.Read, Tables: "mine"}}, "writer": {{Right: server.Write, Tables: "mine"}},
		"owner": {{Right: server.Admin, Tables: "mine"}}, "operator": {{Right: server.Admin, Tables: "*"}},
	} {
		secret, err := tokens.Create(name, grants, time.Time{})
		if err != nil {
			t.Fatal(err)
		}
		headers[name] = []string{"Authorization", "Bearer " + secret}
	}
	const row = `{"items":[{"row_key":"k","cells":[{"column_key":"f:","type":"i32","value":1}]}]}`
	for _, c := range []struct {
		method, path, body string
		may                string // who gets an answer
	}{
		{"GET", "/v1/table", "", "reader writer owner operator"},
		{"POST", "/v1/table/mine/write", row, "writer owner operator"},
		{"POST", "/v1/table/other/write", row, "operator"},
		{"POST", "/v1/table/none/scan", `{"row":{"prefix":""}}`, ""}, // without a hint whether it exists
		{"POST", "/v1/table/mine/scan", `{"row":{"prefix":""}}`, "reader writer owner operator"},
		{"POST", "/v1/table/mine/rows", `{"items":[]}`, "reader writer owner operator"},
		{"POST", "/v1/table/mine/count", `{"row":{"prefix":""}}`, "reader writer owner operator"},
		{"GET", "/v1/table/mine/metrics", "", "reader writer owner operator"},
		{"DELETE", "/v1/table/mine/row", `{"row_key":"k"}`, "writer owner operator"},
		{"POST", "/v1/table/mine/column-family", `{"column_families":[]}`, "owner operator"},
		{"PUT", "/v1/table/new", "", "operator"},
		{"DELETE", "/v1/table/new", "", "operator"},
		{"DELETE", "/v1/table/other", "", "operator"},
	} {
		for name, h := range headers {
			want := 403
			switch {
			case name == "nobody" || name == "a stranger":
				want = 401
			case strings.Contains(c.may, name):
				want = 200
			case name == "operator":
				want = 404
			}
			a := r.waitFor(want, name, func() answer { return r.send(c.method, c.path, c.body, h...) })
			if want == 200 && a.StatusCode < 300 {
				continue
			}
			if a.StatusCode != want {
				t.Errorf("%s: %s %s: %d, want %d: %s", name, c.method, c.path, a.StatusCode, want, a.body)
			}
		}
	}
	a := r.send("GET", "/v1/table", "", headers["reader"]...)
	if text := string(a.body); !strings.Contains(text, `"mine"`) || strings.Contains(text, `"other"`) {
		t.Error(text)
	}
}

// waitFor repeats a call while the server does not know the new tokens yet.
func (r *rig) waitFor(status int, who string, call func() answer) answer {
	for {
		a := call()
		unknown := status != 401 && a.StatusCode == 401
		open := status == 401 && a.StatusCode != 401
		if !unknown && !open || who == "" {
			return a
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// Pages of other origins may use a server only with a token, or if the server says so.
func TestOrigins(t *testing.T) {
	const evil = "https://evil.example"
	open := newRig(t, server.Options{})
	allows := newRig(t, server.Options{Origins: []string{"https://app.example"}})
	own := strings.TrimPrefix(open.url, "http://")
	for _, c := range []struct {
		r            *rig
		origin, host string
		want         int
	}{
		{open, "", own, 200},
		{open, evil, own, 403},
		{open, "null", own, 403},
		{open, open.url, own, 200},
		{open, "http://rebound.example", "rebound.example", 403}, // a name that leads to this machine
		{open, "", "rebound.example", 403},                       // a browser sends no origin with a GET of the same origin
		{allows, "", "app.example", 200},
		{allows, "https://app.example", own, 200},
		{allows, evil, own, 403},
	} {
		for _, call := range []struct{ method, path string }{{"GET", "/v1/table"}, {"OPTIONS", "/v1/table"}, {"GET", "/v1/openapi.json"}} {
			c.r.t = t
			headers := []string{"Host", c.host}
			if c.origin != "" {
				headers = append(headers, "Origin", c.origin)
			}
			a := c.r.send(call.method, call.path, "", headers...)
			if ok := a.StatusCode == c.want || c.want == 200 && a.StatusCode == 204; !ok {
				t.Errorf("%s %s of %q: %d, want %d", call.method, call.path, c.origin, a.StatusCode, c.want)
			}
		}
	}
	tokens := server.OpenTokens(t.TempDir())
	secret, err := tokens.Create("page", []server.Grant{{Right: server.Read, Tables: "*"}}, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	closed := newRig(t, server.Options{Tokens: tokens})
	if a := closed.send("OPTIONS", "/v1/table/t/scan", "", "Origin", evil); a.StatusCode != 204 || a.Header.Get("Access-Control-Allow-Headers") == "" {
		t.Errorf("a browser asks: %d", a.StatusCode)
	}
	if a := closed.send("GET", "/v1/table", "", "Origin", evil, "Authorization", "Bearer "+secret); a.StatusCode != 200 {
		t.Errorf("a page with a token: %d %s", a.StatusCode, a.body)
	}
}

// What a call holds counts for the server's limits, and is given back.
func TestMemory(t *testing.T) {
	r := newRig(t, server.Options{Limits: server.Limits{ConnectionBytes: 2 << 20, Bytes: 8 << 20}})
	r.result("PUT", "/v1/table/t", "")
	r.result("POST", "/v1/table/t/column-family", `{"column_families":[{"name":"f"}]}`)
	write := func(size int) string {
		return fmt.Sprintf(`{"items":[{"row_key":"%d","cells":[{"column_key":"f:","type":"string","value":"%s"}]}]}`, size, strings.Repeat("x", size))
	}
	for i := range 12 {
		r.result("POST", "/v1/table/t/write", write(256<<10+i))
	}
	if a := r.send("POST", "/v1/table/t/write", write(3<<20)); a.StatusCode != 413 || !strings.Contains(string(a.body), "divide it") {
		t.Errorf("%d %.300s", a.StatusCode, a.body)
	}
	// Together the cells are larger than the limit; one after the other they are not.
	if got := len(r.result("POST", "/v1/table/t/scan", `{"row":{"prefix":""}}`)["rows"].([]any)); got != 12 {
		t.Errorf("%d rows", got)
	}
	if a := r.send("GET", "/metrics", ""); !strings.Contains(string(a.body), "\nsmolwc_bytes_in_hand 0\n") ||
		!strings.Contains(string(a.body), `smolwc_calls_total{code="OK",method="json.v1/Scan"} 1`) {
		t.Errorf("%s", a.body)
	}
}

// The metrics count the bytes of requests and answers.
func TestMetricsCountBytes(t *testing.T) {
	r := newRig(t, server.Options{})
	a := r.send("GET", "/v1/table", "")
	want := fmt.Sprintf("smolwc_call_sent_bytes_total{method=\"json.v1/ListTables\"} %d\n", len(a.body))
	const ended = `smolwc_calls_total{code="OK",method="json.v1/ListTables"} 1`
	for metrics := ""; !strings.Contains(metrics, want); {
		if strings.Contains(metrics, ended) { // a call is counted after its answer, last of all here
			t.Fatalf("the metrics have no %s", want)
		}
		metrics = string(r.send("GET", "/metrics", "").body)
	}
}

// A fault of a test strikes the calls of the JSON API that need the right of its method.
func TestFaultsStrike(t *testing.T) {
	mode := server.NewTestMode(server.TestModeOptions{})
	r := newRig(t, server.Options{Test: mode})
	r.result("PUT", "/v1/table/t", "")
	if err := mode.SetFaults(server.Fault{Method: "ReadRows", Code: "UNAVAILABLE", Times: 1}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []int{503, 200} {
		if a := r.send("POST", "/v1/table/t/scan", `{"row":{"prefix":""}}`); a.StatusCode != want {
			t.Errorf("%d %s, want %d", a.StatusCode, a.body, want)
		}
	}
}

// A call whose body does not arrive ends with the server's deadline, and when somebody
// cancels it.
func TestASlowBodyDoesNotHoldACall(t *testing.T) {
	slow := func(r *rig) (*http.Response, string) {
		body, more := io.Pipe()
		defer more.Close()
		go func() { _, _ = io.WriteString(more, `{"items":[`) }()
		resp, err := http.Post(r.url+"/v1/table/t/write", "application/json", body)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp, string(text)
	}
	start := func(l server.Limits) *rig {
		r := newRig(t, server.Options{Limits: l})
		if err := r.db.CreateTable(t.Context(), schema.Table{Name: "t", Families: []schema.Family{{Name: "f"}}}); err != nil {
			t.Fatal(err)
		}
		return r
	}
	if resp, text := slow(start(server.Limits{Deadline: 50 * time.Millisecond})); resp.StatusCode != http.StatusGatewayTimeout {
		t.Errorf("after the deadline: %s %s", resp.Status, text)
	}
	r := start(server.Limits{})
	go func() {
		for len(r.server.Calls().Running) == 0 {
			time.Sleep(10 * time.Millisecond)
		}
		if err := r.server.CancelCall(r.server.Calls().Running[0].ID, "the operator"); err != nil {
			t.Error(err)
		}
	}()
	if resp, text := slow(r); resp.StatusCode != 499 || !strings.Contains(text, "the operator") {
		t.Errorf("a cancelled call: %s %s", resp.Status, text)
	}
}
