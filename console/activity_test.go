package console_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/server"
)

var callID = regexp.MustCompile(`(?s)<th scope="row">(\d+)</th><td>[0-9.µms]+</td><td class="cells"><span title="google.bigtable.v2.Bigtable/ReadChangeStream">ReadChangeStream</span> <a href="/tables/fleet">fleet</a> <span dir="ltr">all rows</span></td>.{0,900}?name="id" value="(\d+)"`)

// The page of calls shows those under way, and cancels one.
func TestCalls(t *testing.T) {
	at := newSite(t, nil)
	at.run("alter table fleet set change_stream=1d")
	token := formToken.FindStringSubmatch(at.must("/query"))[1]
	watched := make(chan string)
	go func() {
		defer close(watched)
		resp, err := at.client.PostForm(at.server.URL+"/query", url.Values{"form": {token}, "q": {"watch fleet limit=1"}})
		if err != nil {
			t.Error(err)
			return
		}
		watched <- at.read(resp)
	}()
	var found []string
	for found == nil {
		found = callID.FindStringSubmatch(at.must("/calls"))
		time.Sleep(10 * time.Millisecond)
	}
	if found[1] != found[2] {
		t.Errorf("the form of call %s cancels %s", found[1], found[2])
	}
	if resp, err := at.client.PostForm(at.server.URL+"/calls/cancel", url.Values{"id": {found[1]}}); err != nil || resp.StatusCode != http.StatusForbidden {
		t.Errorf("without the form's token: %v, %v", resp.Status, err)
	}
	if text, code := at.post("/calls/cancel", "id", "0x1"); code != http.StatusBadRequest || !strings.Contains(text, "want the number of a call") {
		t.Errorf("%d %s", code, text)
	}
	if text, code := at.post("/calls/cancel", "id", "999999999"); code != http.StatusOK || !strings.Contains(text, "no call under way has the id 999999999") {
		t.Errorf("%d %s", code, text)
	}
	if text, code := at.post("/calls/cancel", "id", found[1]); code != http.StatusOK || !strings.Contains(text, "<h1>Calls</h1>") {
		t.Errorf("%d %s", code, text)
	}
	if text := <-watched; !strings.Contains(text, "the call was cancelled by a client at ") {
		t.Errorf("the page of the call: %s", text)
	}
	for callID.MatchString(at.must("/calls")) {
		time.Sleep(10 * time.Millisecond)
	}
}

// The page of a table's heat lists the hottest rows as text, and has the map as JSON.
func TestHeat(t *testing.T) {
	at := newSite(t, nil)
	const hostile = "<script>alert(1)</script>\x00"
	at.set("fleet", hostile, "meta", "a", 1, cells.String("x"))
	if text := at.must("/tables/fleet/heat"); !strings.Contains(text, "No row stands out") || strings.Contains(text, "<table>") {
		t.Errorf("before any read: %s", text)
	}
	for range 3 {
		at.must("/tables/fleet/row?key=" + url.QueryEscape(hostile))
	}
	text := at.must("/tables/fleet/heat?hours=1")
	if !strings.Contains(text, `&#34;&lt;script&gt;alert(1)&lt;/script&gt;\0&#34;</a></th><td>`) || strings.Contains(text, "<script>alert") {
		t.Errorf("the hottest row is not shown: %s", text)
	}
	var m struct {
		Since  int64      `json:"since_ms"`
		Column int64      `json:"column_ms"`
		Keys   []string   `json:"keys"`
		Reads  [][]uint64 `json:"reads"`
	}
	if err := json.Unmarshal([]byte(at.must("/tables/fleet/heat.json?hours=1")), &m); err != nil {
		t.Fatal(err)
	}
	var sum uint64
	for _, column := range m.Reads {
		for _, n := range column {
			sum += n
		}
	}
	if m.Column != 600_000 || m.Since%600_000 != 0 || len(m.Keys) != 1 || sum == 0 || !strings.HasPrefix(m.Keys[0], `"<script>`) {
		t.Errorf("%+v", m)
	}
	if text := at.must("/tables/fleet"); !strings.Contains(text, `<a href="/tables/fleet/heat">Heat</a>`) {
		t.Error("the pages of a table have no link to its heat")
	}
	for path, want := range map[string]int{
		"/tables/absent/heat": http.StatusNotFound, "/tables/absent/heat.json": http.StatusNotFound,
		"/tables/fleet/heat?hours=337": http.StatusBadRequest, "/tables/fleet/heat.json?hours=-1": http.StatusBadRequest,
	} {
		if _, code := at.get(path); code != want {
			t.Errorf("%s: %d, want %d", path, code, want)
		}
	}
}

// A person sees the heat of tables that their token may read, and their own calls.
func TestHeatNeedsTheRight(t *testing.T) {
	tokens := server.OpenTokens(t.TempDir())
	secret, err := tokens.Create("reader", []server.Grant{{Right: server.Read, Tables: "fleet"}}, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	at := newSite(t, tokens)
	if text := at.must("/calls"); !strings.Contains(text, "This server wants a token") {
		t.Errorf("calls without a token: %s", text)
	}
	resp, err := at.client.PostForm(at.server.URL+"/login", url.Values{"token": {secret}, "to": {"/calls"}})
	if err != nil {
		t.Fatal(err)
	}
	if text := at.read(resp); !strings.Contains(text, "<h1>Calls</h1>") {
		t.Errorf("after the login: %s", text)
	}
	at.must("/tables/fleet/heat")
	if _, code := at.get("/tables/secret/heat"); code != http.StatusNotFound {
		t.Errorf("of another table: %d", code)
	}
}

// A watch without an end is refused, because its page would never come; one with an end
// shows its changes.
func TestAWatchOfAPageHasAnEnd(t *testing.T) {
	at := newSite(t, nil)
	at.run("alter table fleet set change_stream=1d")
	since := " since=" + at.db.Now().String()
	at.set("fleet", "plane#1", "meta", "model", 1, cells.String("Boeing 737"))
	for _, as := range []string{"", "csv", "jsonl"} {
		for _, statement := range []string{"watch fleet", "watch fleet limit=0", "watch fleet" + since} {
			if text, _ := at.post("/query", "q", statement, "as", as); !strings.Contains(text, "limit= or until=") {
				t.Errorf("%s as %q: %s", statement, as, text)
			}
		}
		for _, statement := range []string{"watch fleet" + since + " limit=1", "watch fleet" + since + " until=now"} {
			if text, code := at.post("/query", "q", statement, "as", as); code != http.StatusOK || !strings.Contains(text, "Boeing 737") {
				t.Errorf("%s as %q: %d %s", statement, as, code, text)
			}
		}
	}
}
