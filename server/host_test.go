package server_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/server"
)

// A page of a browser can have a name of its own point to this machine. What needs no token
// does not answer to such a name, also on a server with tokens for the rest.
func TestPagesDoNotAnswerToNamesOfOthers(t *testing.T) {
	db, err := query.OpenInMemory(query.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	tokens := server.OpenTokens(t.TempDir())
	mode := server.NewTestMode(server.TestModeOptions{})
	s, err := server.New(db, server.Options{Tokens: tokens, Instance: parent, Test: mode, Origins: []string{"http://let.example:1"}})
	if err != nil {
		t.Fatal(err)
	}
	pages := httptest.NewServer(s.HTTP())
	defer pages.Close()
	ask := func(method, path, host string) int {
		req, err := http.NewRequestWithContext(t.Context(), method, pages.URL+path, strings.NewReader(""))
		if err != nil {
			t.Fatal(err)
		}
		req.Host = host
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		return resp.StatusCode
	}
	const profiles = "/v2/" + parent + "/appProfiles"
	withoutToken := []string{"GET /metrics", "GET /readyz", "GET /", "GET /test", "POST /test/reset"}
	all := append([]string{
		"GET " + profiles, "POST " + profiles + "?appProfileId=x", "GET " + profiles + "/default", "PATCH " + profiles + "/default", "DELETE " + profiles + "/default",
		"GET /v1/table", "GET /v1/openapi.json", "PUT /v1/table/t", "POST /v1/table/t/rows", "GET /v1/table/t/metrics", "OPTIONS /v1/table",
	}, withoutToken...)
	for _, at := range all {
		method, path, _ := strings.Cut(at, " ")
		for _, host := range []string{"rebound.example", "rebound.example:8087", "localhost.rebound.example", "127.0.0.1.rebound.example"} {
			if code := ask(method, path, host); code != http.StatusForbidden {
				t.Errorf("%s of %s: %d", at, host, code)
			}
		}
		for _, host := range []string{"localhost", "LocalHost:1", "127.0.0.1", "[::1]:1", "let.example:1"} {
			if code := ask(method, path, host); code == http.StatusForbidden {
				t.Errorf("%s of %s: %d", at, host, code)
			}
		}
	}
	if code := ask("GET", "/healthz", "rebound.example"); code != http.StatusOK {
		t.Errorf("the page that says that the process lives: %d", code)
	}
	if _, err := tokens.Create("one", []server.Grant{{Tables: "*", Right: server.Read}}, time.Time{}); err != nil {
		t.Fatal(err)
	}
	for ask("GET", profiles, "localhost") != http.StatusUnauthorized { // the server looks for new tokens now and then
		time.Sleep(10 * time.Millisecond)
	}
	for _, at := range withoutToken {
		method, path, _ := strings.Cut(at, " ")
		if code := ask(method, path, "rebound.example"); code != http.StatusForbidden {
			t.Errorf("with tokens, %s of another name: %d", at, code)
		}
	}
}
