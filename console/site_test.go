package console_test

import (
	"context"
	"html"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"regexp"
	"testing"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/console"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
	"github.com/smolwc/smolwc/server"
)

// A site is a console on a new database, with a browser's cookies.
type site struct {
	t      testing.TB
	db     *query.DB
	server *httptest.Server
	client *http.Client
	grpc   string // the address of the server's gRPC, if it serves
}

func newSite(t testing.TB, tokens *server.Tokens, options ...server.Options) *site {
	t.Helper()
	o := server.Options{Tokens: tokens}
	for _, o = range options {
		o.Tokens = tokens
	}
	db, err := query.OpenInMemory(query.Options{Schema: fleet()})
	if err != nil {
		t.Fatal(err)
	}
	return siteOn(t, db, o, console.Options{Tokens: tokens})
}

func fleet() *schema.Schema {
	return &schema.Schema{Tables: []schema.Table{
		{Name: "fleet", Families: []schema.Family{{Name: "meta"}, {Name: "loc", Type: cells.TypeI64, GC: schema.MaxVersions(3)}, {Name: "raw", Type: cells.TypeBytes}}},
		{Name: "secret", Families: []schema.Family{{Name: "f"}}},
	}}
}

// siteOn is a site on a database, which it closes.
func siteOn(t testing.TB, db *query.DB, o server.Options, pages console.Options) *site {
	t.Helper()
	s, err := server.New(db, o)
	if err != nil {
		t.Fatal(err)
	}
	var l net.Listener
	if o.History || pages.Address != "" { // samples are taken while the server serves
		if l, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
			t.Fatal(err)
		}
		pages.Address = l.Addr().String()
	}
	pages.Server = s
	c, err := console.New(pages)
	if err != nil {
		t.Fatal(err)
	}
	if l != nil {
		serving, stop := context.WithCancel(context.Background())
		done := make(chan struct{})
		go func() { defer close(done); _ = s.Serve(serving, l) }()
		t.Cleanup(func() { stop(); <-done })
	}
	jar, _ := cookiejar.New(nil)
	at := &site{t: t, db: db, server: httptest.NewTLSServer(c), grpc: pages.Address}
	at.client = at.server.Client()
	at.client.Jar = jar
	t.Cleanup(func() {
		at.server.Close()
		c.Close()
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return at
}

// login shows a token.
func (at *site) login(token string) {
	at.t.Helper()
	resp, err := at.client.PostForm(at.server.URL+"/login", url.Values{"token": {token}})
	if err != nil {
		at.t.Fatal(err)
	}
	at.read(resp)
}

func (at *site) set(table, key, family, qualifier string, ts cells.Timestamp, v cells.Value) {
	at.t.Helper()
	m := write.NewMutation()
	m.SetAt(family, qualifier, ts, v)
	if err := at.db.Table(table).Apply(at.t.Context(), key, m); err != nil {
		at.t.Fatal(err)
	}
}

// get fetches a page and returns its text and its status.
func (at *site) get(path string) (string, int) {
	at.t.Helper()
	resp, err := at.client.Get(at.server.URL + path)
	if err != nil {
		at.t.Fatal(err)
	}
	return at.read(resp), resp.StatusCode
}

func (at *site) read(resp *http.Response) string {
	at.t.Helper()
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		at.t.Fatal(err)
	}
	return string(text)
}

// must is the text of a page that has to be there.
func (at *site) must(path string) string {
	at.t.Helper()
	text, code := at.get(path)
	if code != http.StatusOK {
		at.t.Fatalf("%s: %d\n%s", path, code, text)
	}
	return text
}

var formToken = regexp.MustCompile(`name="form" value="([0-9a-f]{64})"`)

// post sends a form with the token of the page for statements.
func (at *site) post(path string, fields ...string) (string, int) {
	at.t.Helper()
	token := formToken.FindStringSubmatch(at.must("/query"))
	if token == nil {
		at.t.Fatal("the page for statements has no token")
	}
	form := url.Values{"form": {token[1]}}
	for i := 0; i < len(fields); i += 2 {
		form.Set(fields[i], fields[i+1])
	}
	resp, err := at.client.PostForm(at.server.URL+path, form)
	if err != nil {
		at.t.Fatal(err)
	}
	return at.read(resp), resp.StatusCode
}

// run runs a statement as the page does.
func (at *site) run(statement string, fields ...string) string {
	at.t.Helper()
	text, code := at.post("/query", append(fields, "q", statement)...)
	if code != http.StatusOK {
		at.t.Fatalf("%s: %d\n%s", statement, code, text)
	}
	return text
}

var next = regexp.MustCompile(`rel="next" href="([^"]*)"`)

// walk calls fn with the text of a page and of those after it.
func (at *site) walk(path string, fn func(text string)) (pages int) {
	at.t.Helper()
	for path != "" {
		text := at.must(path)
		fn(text)
		pages++
		found := next.FindStringSubmatch(text)
		if path = ""; found != nil {
			path = html.UnescapeString(found[1])
		}
	}
	return pages
}
