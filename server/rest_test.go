package server_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/server"
)

// restCalls are calls as Terraform's provider for google_bigtable_app_profile makes
// them, and wrong ones.
var restCalls = []struct {
	method, path, body string
	code               int
	want               string
}{
	{"GET", "", "", 200, `{}`},
	{"POST", "?appProfileId=reports&ignoreWarnings=true", `{"description":"for reports","multiClusterRoutingUseAny":{}}`, 200, `"name":"projects/p/instances/i/appProfiles/reports"`},
	{"POST", "?appProfileId=reports", `{"multiClusterRoutingUseAny":{}}`, 409, `"ALREADY_EXISTS"`},
	{"GET", "/reports", "", 200, `"description":"for reports"`},
	{"GET", "", "", 200, `"appProfiles":[{`},
	{"PATCH", "/reports?ignoreWarnings=true&updateMask=description%2CsingleClusterRouting", `{"description":"slow","singleClusterRouting":{"clusterId":"c1","allowTransactionalWrites":true}}`, 200, `"done":true`},
	{"GET", "/reports", "", 200, `"clusterId":"c1"`},
	{"PATCH", "/reports?updateMask=colour", `{"description":"x"}`, 400, `"INVALID_ARGUMENT"`},
	{"PATCH", "/reports?updateMask=%22%7D", `{}`, 400, `updateMask`},
	{"POST", "?appProfileId=b", `{"descripshun":"x"}`, 400, `not an app profile`},
	{"POST", "?appProfileId=b", `{`, 400, `not an app profile`},
	{"POST", "?appProfileId=b", strings.Repeat(" ", 2<<20), 400, `too large`},
	{"DELETE", "/reports?ignoreWarnings=true", "", 200, `{}`},
	{"GET", "/reports", "", 404, `"NOT_FOUND"`},
	{"DELETE", "/reports", "", 404, `"status":"NOT_FOUND"`},
}

func TestAppProfilesOverREST(t *testing.T) {
	db, err := query.OpenInMemory(query.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	tokens := server.OpenTokens(t.TempDir())
	s, err := server.New(db, server.Options{Tokens: tokens, Instance: "projects/p/instances/i"})
	if err != nil {
		t.Fatal(err)
	}
	pages := httptest.NewServer(s.HTTP())
	defer pages.Close()
	call := func(method, path, body, secret string) (int, string) {
		req, err := http.NewRequestWithContext(t.Context(), method, pages.URL+"/v2/projects/p/instances/i/appProfiles"+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		if secret != "" {
			req.Header.Set("Authorization", "Bearer "+secret)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		text, _ := io.ReadAll(resp.Body)
		return resp.StatusCode, strings.ReplaceAll(string(text), " ", "")
	}
	for _, c := range restCalls {
		if code, text := call(c.method, c.path, c.body, ""); code != c.code || !strings.Contains(text, strings.ReplaceAll(c.want, " ", "")) {
			t.Errorf("%s %s: %d %s, want %d %s", c.method, filepath.Clean("/"+c.path), code, text, c.code, c.want)
		}
	}
	secret, err := tokens.Create("reader", []server.Grant{{Tables: "*", Right: server.Read}}, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	for { // the server looks for new tokens now and then
		code, text := call("GET", "", "", "")
		if code == 401 && strings.Contains(text, "UNAUTHENTICATED") {
			break
		}
		if code != 200 {
			t.Fatalf("without a token: %d %s", code, text)
		}
		time.Sleep(10 * time.Millisecond)
	}
	if code, text := call("DELETE", "/default", "", secret); code != 403 {
		t.Errorf("with a token that only reads: %d %s", code, text)
	}
}
