package jsonapi_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/getkin/kin-openapi/openapi3"

	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/server"
)

// The sessions in testdata: each command is a request, its path and, below it, its body.
// Its output is the answer's status, message and result.
func TestSessions(t *testing.T) {
	datadriven.Walk(t, "testdata/sessions", func(t *testing.T, path string) {
		r := newRig(t, server.Options{})
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			r.t = t
			path := strings.Join(append([]string{d.CmdArgs[0].Key}, d.CmdArgs[0].Vals...), "=")
			got := shown(r.send(d.Cmd, path, d.Input))
			if query.DefaultEngine() == query.EnginePebble && scanned.ReplaceAllString(got, "") == scanned.ReplaceAllString(d.Expected, "") {
				return d.Expected
			}
			return got
		})
	})
}

// volatile are the numbers of an answer that differ from run to run.
var volatile = regexp.MustCompile(`"(time_ms|micros[a-z_]*|bytes_scanned|memory_usage_in_bytes|block_count|write_buffer_in_bytes)":\d+`)

// scanned are numbers of an answer that may be smaller on Pebble.
var scanned = regexp.MustCompile(`"cells_scanned":\d+`)

// written are times that the server gave.
var written = regexp.MustCompile(`"time":1(?:79|[89]\d)\d{16}\b`)

// shown is an answer without what differs from run to run; a row has a line of its own.
func shown(a answer) string {
	text := volatile.ReplaceAllString(string(a.body), `"$1":0`)
	text = written.ReplaceAllString(text, `"time":NOW`)
	text = strings.ReplaceAll(text, `{"row_key`, "\n{\"row_key")
	return fmt.Sprintf("%d %s", a.StatusCode, strings.ReplaceAll(text, `],"affected_`, "\n],\"affected_"))
}

// The document is valid, describes every route, and is the one that the server serves.
func TestDocument(t *testing.T) {
	doc, err := document()
	if err != nil {
		t.Fatal(err)
	}
	if err := doc.Validate(t.Context()); err != nil {
		t.Error(err)
	}
	r := newRig(t, server.Options{})
	a := r.send("GET", "/v1/openapi.json", "")
	var served map[string]any
	if err := json.Unmarshal(a.body, &served); err != nil || a.StatusCode != 200 {
		t.Fatalf("%d: %v", a.StatusCode, err)
	}
	// Each path of the document answers, and with the methods of the document alone.
	for path, item := range doc.Paths.Map() {
		a := r.send("PATCH", strings.ReplaceAll(path, "{table}", "t"), "")
		allowed := strings.Split(a.Header.Get("Allow"), ", ")
		for method := range item.Operations() {
			if !slices.Contains(allowed, method) {
				t.Errorf("%s %s is in the document, and the server has %v", method, path, allowed)
			}
		}
		for _, method := range allowed {
			if method != "HEAD" && item.GetOperation(method) == nil {
				t.Errorf("the document has no %s %s", method, path)
			}
		}
	}
	lint(t, doc)
}

// lint checks what a valid document may lack.
func lint(t *testing.T, doc *openapi3.T) {
	used := map[string]bool{}
	text, err := doc.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`"#/components/schemas/(\w+)"`).FindAllSubmatch(text, -1) {
		used[string(m[1])] = true
	}
	for name := range doc.Components.Schemas {
		if !used[name] {
			t.Errorf("nothing refers to the schema %s", name)
		}
	}
	ids := map[string]bool{}
	for path, item := range doc.Paths.Map() {
		for method, op := range item.Operations() {
			if op.Summary == "" || op.OperationID == "" || ids[op.OperationID] {
				t.Errorf("%s %s has no summary, or no id of its own", method, path)
			}
			ids[op.OperationID] = true
			if op.Responses.Default() == nil {
				t.Errorf("%s %s does not describe its errors", method, path)
			}
		}
	}
}

// The headers of every answer.
func TestHeaders(t *testing.T) {
	r := newRig(t, server.Options{})
	for _, path := range []string{"/v1/table", "/v1/table/none/metrics", "/v1/nothing"} {
		h := r.send("GET", path, "").Header
		for name, want := range map[string]string{"X-Server": "smolwc ", "X-Took-Ms": "", "Content-Type": "application/json", "Access-Control-Allow-Origin": "*"} {
			if got := h.Values(name); len(got) != 1 || !strings.HasPrefix(got[0], want) {
				t.Errorf("%s: %s is %q", path, name, got)
			}
		}
	}
}

// A body that is too large is refused before it has come.
func TestLargeBodies(t *testing.T) {
	r := newRig(t, server.Options{})
	r.result("PUT", "/v1/table/t", "")
	req, err := http.NewRequestWithContext(t.Context(), "POST", r.url+"/v1/table/t/write", endless{})
	if err != nil {
		t.Fatal(err)
	}
	for _, length := range []int64{-1, 11 << 20} {
		req.ContentLength = length
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusRequestEntityTooLarge {
			t.Errorf("a body of length %d: %s", length, resp.Status)
		}
	}
}

// endless is a body that never ends.
type endless struct{}

func (endless) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = ' '
	}
	return len(b), nil
}
