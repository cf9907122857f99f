package jsonapi_test

import (
	"encoding/json"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/server"
)

// Whatever a body has, the answer is an envelope, and no fault of the server.
func FuzzBodies(f *testing.F) {
	targets := []struct{ method, path string }{
		{"POST", "/v1/table/t/column-family"}, {"POST", "/v1/table/t/write"}, {"POST", "/v1/table/t/rows"},
		{"POST", "/v1/table/t/scan"}, {"POST", "/v1/table/t/count"}, {"DELETE", "/v1/table/t/row"},
	}
	for i, body := range []string{
		`{"column_families":[{"name":"g","gc_settings":{"version_limit":10,"ttl_secs":null},"type":"i32"}],"locality_group":true}`,
		`{"items":[{"row_key":"k","cells":[{"column_key":"f:q","type":"f64","value":"NaN","time":1700000000000000000},{"column_key_bytes":"Zjr+","type":"bytes","value":"AA=="}]}]}`,
		`{"items":[{"row":{"key":"k","cell_limit":10},"column":{"multi_key":["f:q","f"],"cell_limit":3}}]}`,
		`{"row":{"range":{"start":"a","end":"z","inclusive":true},"offset":1,"limit":10,"sample":0.1},"column":{"prefix":"f:q"},"cell":{"limit":5}}`,
		`{"row":{"prefix_bytes":"/w=="},"column":null}`,
		`{"row_key":"k","column_filter":{"prefix":"f:"}}`,
	} {
		f.Add(i, body)
	}
	db, err := query.OpenInMemory(query.Options{})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = db.Close() })
	s, err := server.New(db, server.Options{})
	if err != nil {
		f.Fatal(err)
	}
	pages := s.HTTP()
	send := func(method, path, body string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		pages.ServeHTTP(w, httptest.NewRequest(method, path, strings.NewReader(body)))
		return w
	}
	send("PUT", "/v1/table/t", "")
	send("POST", targets[0].path, `{"column_families":[{"name":"f"}]}`)
	f.Fuzz(func(t *testing.T, target int, body string) {
		to := targets[max(0, target)%len(targets)]
		if to.path == targets[0].path && strings.Count(body, "name") > 3 {
			t.Skip() // a family has files of its own
		}
		w := send(to.method, to.path, body)
		var envelope struct {
			Message string
			Status  int
		}
		if err := json.Unmarshal(w.Body.Bytes(), &envelope); err != nil || envelope.Message == "" || envelope.Status != w.Code || w.Code >= 500 {
			t.Errorf("%s %s %q: %d %s: %v", to.method, to.path, body, w.Code, w.Body, err)
		}
	})
}
