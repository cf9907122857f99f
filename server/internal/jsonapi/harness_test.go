package jsonapi_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/legacy"

	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/server"
)

// A rig is a server of a database in memory.
type rig struct {
	t      testing.TB
	db     *query.DB
	server *server.Server
	url    string
}

func newRig(t testing.TB, o server.Options) *rig {
	t.Helper()
	db, err := query.OpenInMemory(query.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	s, err := server.New(db, o)
	if err != nil {
		t.Fatal(err)
	}
	pages := httptest.NewServer(s.HTTP())
	t.Cleanup(pages.Close)
	return &rig{t, db, s, pages.URL}
}

// An answer is a response with its body.
type answer struct {
	*http.Response
	body []byte
}

// send makes a request, and checks the answer against the OpenAPI document.
func (r *rig) send(method, path, body string, headers ...string) answer {
	r.t.Helper()
	req, err := http.NewRequestWithContext(context.Background(), method, r.url+path, strings.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		if req.Header.Set(headers[i], headers[i+1]); headers[i] == "Host" {
			req.Host = headers[i+1]
		}
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	defer resp.Body.Close()
	got, err := io.ReadAll(resp.Body)
	if err != nil {
		r.t.Fatalf("%s %s: %v", method, path, err)
	}
	a := answer{resp, got}
	if err := described(req, body, a); err != nil {
		r.t.Errorf("%s %s %.300s\n%.600s\nis not as in openapi.json: %v", method, path, body, got, err)
	}
	return a
}

// result is the result of a request that has to succeed.
func (r *rig) result(method, path, body string) map[string]any {
	r.t.Helper()
	a := r.send(method, path, body)
	if a.StatusCode >= 300 {
		r.t.Fatalf("%s %s %s: %s", method, path, body, a.body)
	}
	d := json.NewDecoder(bytes.NewReader(a.body))
	d.UseNumber()
	var envelope struct{ Result map[string]any }
	if err := d.Decode(&envelope); err != nil {
		r.t.Fatalf("%s: %v", a.body, err)
	}
	return envelope.Result
}

var document = sync.OnceValues(func() (*openapi3.T, error) {
	text, err := os.ReadFile("openapi.json")
	if err != nil {
		return nil, err
	}
	return openapi3.NewLoader().LoadFromData(text)
})

var router = sync.OnceValues(func() (routers.Router, error) {
	doc, err := document()
	if err != nil {
		return nil, err
	}
	return legacy.NewRouter(doc)
})

// described compares an answer, and the request if it succeeded, with the document. Paths
// that it does not have are answered with an error.
func described(req *http.Request, body string, a answer) error {
	find, err := router()
	if err != nil {
		return err
	}
	req = req.Clone(req.Context())
	req.URL.Scheme, req.URL.Host, req.Host = "", "", ""
	req.Body = io.NopCloser(strings.NewReader(body))
	req.Header.Set("Content-Type", "application/json")
	route, params, err := find.FindRoute(req)
	if err != nil {
		if a.StatusCode < 400 && req.Method != http.MethodOptions && strings.HasPrefix(req.URL.Path, "/v1") {
			return err
		}
		return nil
	}
	in := &openapi3filter.RequestValidationInput{Request: req, PathParams: params, Route: route, Options: &openapi3filter.Options{AuthenticationFunc: openapi3filter.NoopAuthenticationFunc}}
	if a.StatusCode < 300 {
		if err := openapi3filter.ValidateRequest(req.Context(), in); err != nil {
			return err
		}
	}
	return openapi3filter.ValidateResponse(req.Context(), &openapi3filter.ResponseValidationInput{
		RequestValidationInput: in, Status: a.StatusCode, Header: a.Header, Body: io.NopCloser(bytes.NewReader(a.body)),
	})
}
