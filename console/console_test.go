package console_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"html"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/console"
	"github.com/smolwc/smolwc/ql/lex"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/server"
)

// A form that was loaded before a standby was promoted is sent to the console that the primary makes.
func TestAFormOutlivesAPromotion(t *testing.T) {
	token := formToken.FindStringSubmatch(newSite(t, nil).must("/query"))[1]
	if now := formToken.FindStringSubmatch(newSite(t, nil).must("/query"))[1]; now != token {
		t.Error("the tokens of forms of two consoles of one process differ")
	}
}

func TestRowsAreInPages(t *testing.T) {
	at := newSite(t, nil)
	for i := range 120 {
		at.set("fleet", fmt.Sprintf("plane#%03d", i), "meta", "model", 1, cells.String("Boeing"))
	}
	at.set("fleet", "depot#1", "meta", "model", 1, cells.String("hall"))
	key := regexp.MustCompile(`class="key" dir="ltr" href="[^"]*">([^<]*)<`)
	for path, want := range map[string]string{
		"/tables/fleet?prefix=plane%23":                    "plane#000 plane#119 120 in 2",
		"/tables/fleet?limit=121":                          "depot#1 plane#119 121 in 1",
		"/tables/fleet?from=plane%23010&to=plane%23020":    "plane#010 plane#019 10 in 1",
		"/tables/fleet?prefix=plane%23&reverse=1&limit=60": "plane#119 plane#000 120 in 2",
	} {
		var keys []string
		pages := at.walk(path, func(text string) {
			for _, m := range key.FindAllStringSubmatch(text, -1) {
				keys = append(keys, m[1])
			}
		})
		if got := fmt.Sprintf("%s %s %d in %d", keys[0], keys[len(keys)-1], len(keys), pages); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
	for _, path := range []string{"/tables/fleet?limit=0", "/tables/fleet?limit=x", "/tables/fleet?prefix=a&from=b"} {
		if text, code := at.get(path); code != http.StatusBadRequest {
			t.Errorf("%s: %d\n%s", path, code, text)
		}
	}
	for _, path := range []string{"/tables/none", "/tables/fleet/row?key=none", "/tables/fleet/cell?key=depot%231&family=loc&qualifier=x"} {
		if text, code := at.get(path); code != http.StatusNotFound {
			t.Errorf("%s: %d\n%s", path, code, text)
		}
	}
}

// A wide row is read page by page, and each column is on one of them.
func TestAWideRowIsInPages(t *testing.T) {
	at := newSite(t, nil)
	m := write.NewMutation()
	for i := range 450 {
		m.SetAt("meta", fmt.Sprintf("m%03d", i), 1, cells.String("x"))
		m.SetAt("loc", fmt.Sprintf("l%03d", i), 1, cells.I64(1))
	}
	if err := at.db.Table("fleet").Apply(t.Context(), "wide", m); err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	column := regexp.MustCompile(`<th scope="row"><a class="cell" dir="ltr" href="[^"]*">([lm][0-9]{3})<`)
	pages := at.walk("/tables/fleet/row?key=wide", func(text string) {
		for _, found := range column.FindAllStringSubmatch(text, -1) {
			seen[found[1]]++
		}
	})
	if len(seen) != 900 || pages != 5 {
		t.Errorf("%d columns on %d pages", len(seen), pages)
	}
	for name, n := range seen {
		if n != 1 {
			t.Errorf("column %s is there %d times", name, n)
		}
	}
	if text := at.must("/tables/fleet"); !strings.Contains(text, "and further cells") {
		t.Error("the page of rows does not say that the row has further cells")
	}
}

func TestTheHistoryOfACell(t *testing.T) {
	at := newSite(t, nil)
	for i, ts := range []cells.Timestamp{1_000_000, 2_500_000, 3_600_002_500_000} {
		at.set("fleet", "plane#1", "loc", "alt", ts, cells.I64(int64(100*i*i)))
	}
	text := at.must("/tables/fleet/cell?key=plane%231&family=loc&qualifier=alt")
	for _, want := range []string{"1970-02-11 16:00:02.500000", "41 days after the one below", "1500 ms after the one below", ">+300<", ">+100<"} {
		if !strings.Contains(html.UnescapeString(text), want) {
			t.Errorf("there is no %q in\n%s", want, text)
		}
	}
	for i := range 120 {
		at.set("fleet", "plane#1", "meta", "log", cells.Timestamp(i+1), cells.String(fmt.Sprint("line ", i)))
	}
	// The page leads to the statement that says what became of the others.
	statement, _, _ := strings.Cut(text[strings.Index(text, `<a href="/query?q=why`)+len(`<a href="/query?q=`):], `"`)
	if statement, err := url.QueryUnescape(html.UnescapeString(statement)); err != nil || statement != "why fleet plane#1 loc:alt" {
		t.Errorf("%q, %v", statement, err)
	} else if text := at.run(statement); strings.Contains(text, `role="alert"`) || !strings.Contains(text, "2 newer versions; versions=3 shows it") || !strings.Contains(text, ">3 versions<") {
		t.Errorf("%s: %s", statement, text)
	}
	versions := 0
	pages := at.walk("/tables/fleet/cell?key=plane%231&family=meta&qualifier=log", func(text string) { versions += strings.Count(text, "<p><time") })
	if versions != 120 || pages != 3 {
		t.Errorf("%d versions on %d pages", versions, pages)
	}
	at.set("fleet", "plane#1", "raw", "x", 7, cells.Bytes([]byte("\x00\x00\x00\x00\x00\x00\x01\x00")))
	if text := at.must("/tables/fleet/cell?key=plane%231&family=raw&qualifier=x"); !strings.Contains(text, ">256<") || !strings.Contains(text, "00000000  00 00 00 00 00 00 01 00") {
		t.Errorf("the views of bytes are missing in\n%s", text)
	}
	if raw := at.must("/tables/fleet/value?key=plane%231&family=raw&qualifier=x&at=7"); raw != "\x00\x00\x00\x00\x00\x00\x01\x00" {
		t.Errorf("the download is %q", raw)
	}
}

// Keys, qualifiers and values are text on each page, whatever bytes they have.
func TestHostileDataIsNeverMarkup(t *testing.T) {
	at := newSite(t, nil)
	hostile := []string{`<script>alert(1)</script>`, `"><img src=x onerror=alert(1)>`, `'); alert(1); ('`, "\u202eabc\u202c", "nul\x00here", "\xff\xfe", `{{.}}`, `javascript:alert(1)`, `</textarea><script>alert(1)</script>`, `--><script>alert(1)</script>`, strings.Repeat("<b>", 100_000)}
	for _, text := range hostile {
		key := text[:min(len(text), 300)]
		at.set("fleet", key, "meta", key, 1, cells.String(strings.ToValidUTF8(text, "?")))
		at.set("fleet", key, "raw", key, 1, cells.Bytes([]byte(text)))
	}
	check := func(path, text string) {
		t.Helper()
		for _, bad := range []string{"<script>alert", "<img", "<b>", "\u202e", "\x00", `href="javascript`, "</textarea><script"} {
			if strings.Contains(text, bad) {
				t.Errorf("%s has %q", path, bad)
			}
		}
	}
	paths := []string{"/", "/tables/fleet"}
	for _, text := range hostile {
		key, quoted := url.QueryEscape(text[:min(len(text), 300)]), url.QueryEscape(lex.QuoteText(text[:min(len(text), 300)]))
		paths = append(paths, "/tables/fleet/row?key="+key, "/tables/"+url.PathEscape(text[:min(len(text), 300)]), "/login?to="+key,
			"/tables/fleet/cell?key="+key+"&family=meta&qualifier="+key, "/tables/fleet/cell?key="+key+"&family=raw&qualifier="+key, "/tables/fleet?prefix="+quoted, "/tables/fleet/edit?key="+quoted+"&qualifier="+quoted)
	}
	for _, path := range paths {
		text, code := at.get(path)
		if code >= 500 {
			t.Errorf("%s: %d", path, code)
		}
		check(path, text)
	}
	for _, text := range hostile {
		result := at.run(text)
		check(text[:min(len(text), 40)], result[strings.Index(result, `id="result"`):])
	}
	check("scan", at.run("scan fleet"))
	check("select", at.run("select _key, meta from fleet"))
}

func TestStatementsInAPage(t *testing.T) {
	at := newSite(t, nil)
	at.set("fleet", "plane#1", "meta", "model", 1, cells.String("Boeing 737"))
	for statement, want := range map[string]string{
		"scan fleet":                           "Boeing 737",
		"get fleet plane#1":                    "Boeing 737",
		"select meta['model'] as m from fleet": "Boeing 737",
		"count fleet prefix=plane":             "1",
		"describe fleet":                       "the newest 3 versions",
		"help scan":                            "scan T",
		"explain select _key from fleet":       "all rows of fleet",
		"put fleet spare#2 meta:model=x":       "put 1 cell",
		"scna fleet":                           "scan",
		"scan flet":                            "fleet",
		"begin":                                "needs the shell",
		"quit":                                 "no session",
		"scan fleet into '/tmp/smolwc-never.csv'": "writes no files",
		"export fleet to '/tmp/never.csv'":        "download the rows",
		"import fleet from '/etc/passwd'":         "import",
		"backup to '/tmp/never'":                  "backup",
		".output /tmp/never":                      "there is no statement",
	} {
		if text := html.UnescapeString(at.run(statement)); !strings.Contains(text[strings.Index(text, `id="result"`):], want) {
			t.Errorf("%s: there is no %q in\n%s", statement, want, text)
		}
	}
	for _, name := range []string{"/tmp/smolwc-never.csv", "/tmp/never.csv", "/tmp/never"} {
		if _, err := os.Stat(name); err == nil {
			t.Errorf("%s was written", name)
		}
	}
	if text, code := at.post("/query", "q", "scna fleet", "as", "csv"); code != http.StatusBadRequest || !strings.Contains(text, "scan") {
		t.Errorf("a misspelt statement as CSV: %d\n%s", code, text)
	}
	if text, _ := at.post("/query", "q", "scan fleet", "as", "csv"); !strings.Contains(text, "plane#1,meta:model") {
		t.Errorf("as CSV it is\n%s", text)
	}
	if text, _ := at.post("/query", "q", "scan fleet", "as", "jsonl"); !strings.Contains(text, `"plane#1"`) {
		t.Errorf("as JSON lines it is\n%s", text)
	}
}

// Reads are explained, and say what they cost. A token that may not read a table cannot do
// so either.
func TestExplain(t *testing.T) {
	at := newSite(t, nil)
	at.set("fleet", "plane#1", "meta", "model", 1, cells.String("Boeing 737"))
	for statement, want := range map[string]string{"explain scan fleet prefix=plane#": "plane#", "analyze scan fleet": "looked at 1 row", "analyze count fleet": "looked at"} {
		if text := html.UnescapeString(at.run(statement)); strings.Contains(text, `role="alert"`) || !strings.Contains(text[strings.Index(text, `id="result"`):], want) {
			t.Errorf("%s: there is no %q in\n%s", statement, want, text)
		}
	}
	if text := at.run("scan fleet", "as", "explain"); strings.Contains(text, "Boeing") || strings.Contains(text, `role="alert"`) {
		t.Errorf("the button explains\n%s", text)
	}
	if text := at.run("drop table fleet", "as", "analyze"); !strings.Contains(text, `role="alert"`) {
		t.Errorf("a drop is analyzed:\n%s", text)
	}
}

func TestWordsAreProposed(t *testing.T) {
	at := newSite(t, nil)
	at.set("fleet", "plane#1", "meta", "model", 1, cells.String("Boeing 737"))
	for text, want := range map[string]string{
		"sca":                          `{"begin":0,"words":[{"word":"scan "}]}`,
		"scan fl":                      `{"begin":5,"words":[{"word":"fleet "}]}`,
		"put fleet \"ü𐍈\" me":          `{"begin":16,"words":[{"word":"meta:"}]}`,
		"get fleet pla":                "plane#",
		"import fleet from '/etc/pass": `"words":[]`,
		".read /etc/":                  `"words":[]`,
		"select starts":                `{"begin":7,"words":[{"word":"starts_with(","form":"STARTS_WITH(`,
		"select 'starts":               `"words":[]`,
		"scan fleet starts":            `"words":[]`,
	} {
		got := ""
		for begun := time.Now(); !strings.Contains(got, want) && time.Since(begun) < time.Minute; { // names are looked for only briefly
			got = at.must("/query/complete?q=" + url.QueryEscape(text))
		}
		if !strings.Contains(got, want) {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
	if text, code := at.get("/query/complete?q=" + strings.Repeat("x", 9000)); code != http.StatusBadRequest {
		t.Errorf("a long statement: %d\n%s", code, text)
	}
}

// A statement ends with the request of its page: when it is stopped, and when the page is
// closed.
func TestAStatementEndsWithItsPage(t *testing.T) {
	at := newSite(t, nil)
	value := cells.String(strings.Repeat("x", 10_000))
	for i := range 1000 {
		at.set("fleet", fmt.Sprintf("plane#%04d", i), "meta", "text", 1, value)
	}
	token := formToken.FindStringSubmatch(at.must("/query"))[1]
	for _, statement := range []url.Values{{"as": {"csv"}, "q": {"scan fleet"}}, {"as": {"jsonl"}, "q": {"select * from fleet"}}} {
		statement.Set("form", token)
		ctx, stop := context.WithCancel(t.Context())
		req, _ := http.NewRequestWithContext(ctx, http.MethodPost, at.server.URL+"/query", strings.NewReader(statement.Encode()))
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		resp, err := at.client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(resp.Body, make([]byte, 1000)); err != nil {
			t.Fatal(err)
		}
		open := func() int64 {
			stats, err := at.db.Stats(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			return stats.Open.Cursors + stats.Open.Snapshots
		}
		if open() == 0 {
			t.Error("the statement has ended although nobody reads it")
		}
		stop()
		_ = resp.Body.Close() // its error is that it was stopped
		for open() > 0 {
			time.Sleep(10 * time.Millisecond)
		}
	}
}

// A statement that deletes says first what it takes.
func TestDeletionsAsk(t *testing.T) {
	at := newSite(t, nil)
	at.set("fleet", "plane#1", "meta", "model", 1, cells.String("Boeing 737"))
	at.set("fleet", "plane#1", "loc", "alt", 1, cells.I64(1))
	there := func() bool {
		row, err := at.db.Table("fleet").ReadRow(t.Context(), "plane#1")
		if err != nil {
			t.Fatal(err)
		}
		return row.Len() > 0
	}
	if text := at.run("delete fleet plane#1"); !strings.Contains(text, "2 cells of row plane#1") || !there() {
		t.Errorf("it does not ask:\n%s", text)
	}
	if text := at.run("drop table fleet"); !strings.Contains(text, "Do it") || !there() {
		t.Errorf("it does not ask:\n%s", text)
	}
	at.run("delete fleet plane#1", "sure", "1")
	if there() {
		t.Error("the row is still there")
	}
	at.run("drop table fleet", "sure", "1")
	if _, ok := at.db.LookupTable("fleet"); ok {
		t.Error("the table is still there")
	}
}

func TestTheFormOfACell(t *testing.T) {
	at := newSite(t, nil)
	text, _ := at.post("/tables/fleet/preview", "key", "plane 1", "family", "loc", "qualifier", "alt", "value", "12", "at", "5")
	if want := `put fleet "plane 1" loc:alt=12`; !strings.Contains(html.UnescapeString(text), want) {
		t.Errorf("there is no %s in\n%s", want, text)
	}
	text, _ = at.post("/tables/fleet/preview", "key", "k", "family", "loc", "qualifier", "alt", "value", "twelve")
	if !strings.Contains(text, `role="alert"`) || strings.Contains(text, "Run it") {
		t.Errorf("a wrong value is not refused:\n%s", text)
	}
}

// fieldOf returns the value of a field of a page, and whether a checkbox is set.
func fieldOf(t *testing.T, text, name string) string {
	t.Helper()
	for _, pattern := range []string{`<textarea name="` + name + `"[^>]*>([^<]*)</textarea>`, `<input type="hidden" name="` + name + `" value="([^"]*)"`, `(?s)<select name="` + name + `">.*?<option selected>([^<]*)</option>`, `<input type="checkbox" name="` + name + `" (checked)`} {
		if found := regexp.MustCompile(pattern).FindStringSubmatch(text); found != nil {
			return html.UnescapeString(found[1])
		}
	}
	return ""
}

// An edit shows the cell with its type, and gives it back as it was.
func TestAnEditKeepsTheTypeAndTheBytesOfACell(t *testing.T) {
	at := newSite(t, nil)
	for i, v := range []cells.Value{
		cells.I32(183), cells.I64(-5), cells.F32(1.5), cells.F64(1e300), cells.Bool(true), cells.Byte(7), cells.String("a 'text'"), cells.String(`"quoted"`), cells.String("\nlines\r\n"),
		cells.String("two\nlines"), cells.String("\u202e\x00"), cells.String(""), cells.Bytes([]byte("text")), cells.Bytes([]byte("\xff\x00\xc3")), cells.Bytes([]byte("x'00'")), cells.Bytes(nil),
	} {
		key := fmt.Sprint("k", i)
		at.set("fleet", key, "meta", "q", 1, v)
		text := at.must("/tables/fleet/edit?key=" + key + "&family=meta&qualifier=q")
		if fieldOf(t, text, "type") != v.Type().String() {
			t.Errorf("%v is shown as %q", v, fieldOf(t, text, "type"))
		}
		fields := []string{"key", key, "family", "meta", "qualifier", "q", "type", fieldOf(t, text, "type"), "value", strings.ReplaceAll(fieldOf(t, text, "value"), "\n", "\r\n")}
		if fieldOf(t, text, "escaped") != "" {
			fields = append(fields, "escaped", "on")
		}
		text, _ = at.post("/tables/fleet/preview", fields...)
		statement := fieldOf(t, text, "q")
		if statement == "" || strings.Contains(text, "question") {
			t.Fatalf("%v: there is no statement in\n%s", v, text)
		}
		at.post("/tables/fleet/change", "q", statement, "was", fieldOf(t, text, "was"))
		row, err := at.db.Table("fleet").ReadRow(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		for c := range row.Cells() {
			if !c.Value.Equal(v) || c.Timestamp == 1 {
				t.Errorf("%v comes back as %v at %v", v, c.Value, c.Timestamp)
			}
			break
		}
	}
}

// Another type, or an empty value, is asked for, and asked for again if the cell has changed.
func TestAChangeOfATypeIsAskedFor(t *testing.T) {
	at := newSite(t, nil)
	at.set("fleet", "k", "meta", "seats", 10, cells.I32(183))
	at.set("fleet", "k", "meta", "seats", 5, cells.String("many"))
	at.set("fleet", "k", "meta", "name", 5, cells.String("x"))
	at.set("fleet", "k", "loc", "alt", 5, cells.I64(7))
	preview := func(qualifier, value string, more ...string) (statement, change, text string) {
		family := "meta"
		if qualifier == "alt" {
			family = "loc"
		}
		text, _ = at.post("/tables/fleet/preview", append([]string{"key", "k", "family", family, "qualifier", qualifier, "value", value}, more...)...)
		return fieldOf(t, text, "q"), fieldOf(t, text, "agreed"), text
	}
	if statement, change, _ := preview("seats", "201"); statement != "put fleet k meta:seats=201i32" || change != "" {
		t.Errorf("without a type: %q, asked about %q", statement, change)
	}
	statement, change, text := preview("seats", "201", "type", "string")
	if statement != "" || change != "i32 string" || !strings.Contains(text, "The cell is i32 183. Make it string 201?") {
		t.Errorf("another type: %q, asked about %q in\n%s", statement, change, text)
	}
	statement, _, text = preview("seats", "201", "type", "string", "agreed", change)
	if statement != `put fleet k meta:seats="201"` {
		t.Errorf("agreed: %q", statement)
	}
	at.set("fleet", "k", "meta", "seats", 20, cells.F64(1)) // meanwhile
	if said, _ := at.post("/tables/fleet/change", "q", statement, "was", fieldOf(t, text, "was")); !strings.Contains(said, "it is f64 1 now. Nothing was written") {
		t.Errorf("a cell that has changed is written over:\n%s", said)
	}
	if statement, change, _ := preview("seats", "201", "type", "string", "agreed", "i32 string"); statement != "" || change != "f64 string" {
		t.Errorf("the cell has changed: %q, asked about %q", statement, change)
	}
	if statement, change, _ := preview("seats", "3", "at", "5"); statement != "" || change != "string f64" {
		t.Errorf("an older version: %q, asked about %q", statement, change)
	}
	if statement, change, _ := preview("name", ""); statement != "" || change != "empty string" {
		t.Errorf("an empty value: %q, asked about %q", statement, change)
	}
	if statement, _, _ := preview("name", "", "agreed", "empty string"); statement != `put fleet k meta:name=""` {
		t.Errorf("an empty value, agreed: %q", statement)
	}
	for _, value := range []string{"", "x"} {
		if statement, change, text := preview("alt", value); statement != "" || change != "" || !strings.Contains(text, `role="alert"`) {
			t.Errorf("%q as i64: %q, asked about %q", value, statement, change)
		}
	}
	if statement, change, text := preview("alt", "8", "type", "string"); statement != "" || change != "" || !strings.Contains(text, "family loc is declared i64") {
		t.Errorf("a declared family: %q, asked about %q", statement, change)
	}
	if statement, change, _ := preview("new", "8", "type", "i32"); statement != "put fleet k meta:new=8i32" || change != "" {
		t.Errorf("a new cell: %q, asked about %q", statement, change)
	}
	if statement, _, text := preview("new", "plain", "escaped", "on"); statement != "" || !strings.Contains(text, `role="alert"`) {
		t.Errorf("escapes without quotes: %q", statement)
	}
}

func TestTokensLetIn(t *testing.T) {
	tokens := server.OpenTokens(t.TempDir())
	secret, err := tokens.Create("reader", []server.Grant{{Right: server.Read, Tables: "fleet"}}, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	at := newSite(t, tokens)
	at.set("fleet", "plane#1", "meta", "model", 1, cells.String("Boeing 737"))
	at.set("secret", "s", "f", "q", 1, cells.String("hidden treasure"))
	for _, path := range []string{"/", "/tables/fleet", "/tables/secret", "/query", "/tables/fleet/schema"} {
		if text := at.must(path); !strings.Contains(text, "This server wants a token") || strings.Contains(text, "Boeing") {
			t.Errorf("%s without a token:\n%s", path, text)
		}
	}
	resp, err := at.client.PostForm(at.server.URL+"/login", url.Values{"token": {"smolwc_wrong"}})
	if err != nil || resp.StatusCode != http.StatusForbidden || len(resp.Cookies()) > 0 {
		t.Fatalf("a wrong token: %v, %v", resp, err)
	}
	at.read(resp)
	at.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	for to, want := range map[string]string{"/tables/fleet": "/tables/fleet", "//evil.example/": "/", "https://evil.example": "/", `/\evil.example`: "/"} {
		if resp, err = at.client.PostForm(at.server.URL+"/login", url.Values{"token": {secret}, "to": {to}}); err != nil || resp.Header.Get("Location") != want {
			t.Fatalf("to %s: %v, %v", to, resp, err)
		}
		at.read(resp)
	}
	if c := resp.Cookies(); len(c) != 1 || !c[0].Secure || !c[0].HttpOnly || c[0].SameSite != http.SameSiteStrictMode {
		t.Errorf("the cookie is %v", c)
	}
	at.client.CheckRedirect = nil
	if text := at.must("/tables/fleet"); !strings.Contains(text, "Boeing") {
		t.Errorf("with the token:\n%s", text)
	}
	for _, statement := range []string{"scan secret", "select * from secret", "put fleet plane#1 meta:model=x", "drop table fleet"} {
		if text := at.run(statement, "sure", "1"); !strings.Contains(text, `role="alert"`) || strings.Contains(text, "treasure") {
			t.Errorf("%s with a token that reads fleet alone:\n%s", statement, text)
		}
	}
	if err := tokens.Revoke("reader"); err != nil {
		t.Fatal(err)
	}
	for strings.Contains(at.must("/tables/fleet"), "Boeing") {
		time.Sleep(10 * time.Millisecond) // tokens are read again within a second
	}
}

// Without a valid token, a part of a page is a short answer, which the page's script turns into a question: it
// once showed the whole page for signing in. A page goes back to the form.
func TestAPartOfAPageWithoutAToken(t *testing.T) {
	tokens := server.OpenTokens(t.TempDir())
	secret, err := tokens.Create("reader", []server.Grant{{Right: server.Read, Tables: "fleet"}}, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	at := newSite(t, tokens)
	at.login(secret)
	at.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	ask := func(method, path, part string) *http.Response {
		req, err := http.NewRequestWithContext(t.Context(), method, at.server.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("HX-Request", part)
		resp, err := at.client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		return resp
	}
	resp := ask("GET", "/admitted", "true")
	form := formToken.FindStringSubmatch(at.must("/query"))[1]
	if at.read(resp); resp.StatusCode != http.StatusNoContent || resp.Header.Get("Form-Token") != form {
		t.Errorf("with a token: %d, and the token of forms is %q, want %q", resp.StatusCode, resp.Header.Get("Form-Token"), form)
	}
	if err := tokens.Revoke("reader"); err != nil {
		t.Fatal(err)
	}
	for resp.StatusCode != http.StatusUnauthorized { // tokens are read again within a second
		time.Sleep(10 * time.Millisecond)
		resp = ask("GET", "/admitted", "true")
		at.read(resp)
	}
	for _, path := range []string{"/health", "/admitted", "/tables/fleet/cell?key=k&family=meta&qualifier=q"} {
		resp := ask("GET", path, "true")
		if text := at.read(resp); resp.StatusCode != http.StatusUnauthorized || strings.Contains(text, "<form") || !strings.Contains(text, "<span>the token is not known here, or was revoked</span>") {
			t.Errorf("%s: %d\n%s", path, resp.StatusCode, text)
		}
	}
	for path, to := range map[string]string{"/tables/fleet/change": "/tables/fleet", "/tables/fleet/preview": "/tables/fleet", "/calls/cancel": "/calls", "/schema": "/schema"} {
		resp := ask("POST", path, "")
		want := "/login?" + url.Values{"to": {to}}.Encode()
		if at.read(resp); resp.Header.Get("Location") != want {
			t.Errorf("POST %s leads to %s", path, resp.Header.Get("Location"))
		}
	}
}

// Requests that other sites cause change nothing and see nothing.
func TestOtherSitesCannotUseThePages(t *testing.T) {
	at := newSite(t, nil)
	do := func(method, path, body string, header ...string) int {
		req, err := http.NewRequestWithContext(t.Context(), method, at.server.URL+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		for i := 0; i < len(header); i += 2 {
			if header[i] == "Host" {
				req.Host = header[i+1]
			}
			req.Header.Set(header[i], header[i+1])
		}
		resp, err := at.client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		at.read(resp)
		return resp.StatusCode
	}
	token := formToken.FindStringSubmatch(at.must("/query"))[1]
	put := url.Values{"q": {"put fleet k meta:q=1"}}.Encode()
	for what, code := range map[string]int{
		"without a token of a form": do("POST", "/query", put),
		"with a wrong one":          do("POST", "/query", put+"&form="+strings.Repeat("0", 64)),
		"from another site":         do("POST", "/query", put+"&form="+token, "Sec-Fetch-Site", "cross-site"),
		"from another origin":       do("POST", "/query", put+"&form="+token, "Origin", "https://evil.example"),
		"a login of another site":   do("POST", "/login", "token=x", "Origin", "https://evil.example"),
	} {
		if code != http.StatusForbidden {
			t.Errorf("%s: %d", what, code)
		}
	}
	for _, cookies := range []string{"", "smolwc_token=x"} { // a page of another site can make up a cookie
		if code := do("GET", "/tables/fleet", "", "Host", "rebound.example", "Cookie", cookies); code != http.StatusMisdirectedRequest {
			t.Errorf("under another name with %q: %d", cookies, code)
		}
	}
	if row, err := at.db.Table("fleet").ReadRow(t.Context(), "k"); err != nil || row.Len() > 0 {
		t.Errorf("the row was written: %v, %v", row, err)
	}
	if code := do("POST", "/query", put+"&form="+token, "Sec-Fetch-Site", "same-origin"); code != http.StatusOK {
		t.Errorf("from the page itself: %d", code)
	}
}

// Each answer forbids scripts and styles that are not files of the server, and the
// templates have none.
func TestPagesHaveAPolicyThatTheyKeep(t *testing.T) {
	at := newSite(t, nil)
	for _, path := range []string{"/", "/query", "/tables/none", "/static/console.css", "/static/none", "/login", "/metrics"} {
		resp, err := at.client.Get(at.server.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		at.read(resp)
		policy := resp.Header.Get("Content-Security-Policy")
		if !strings.Contains(policy, "default-src 'none'") || strings.Contains(policy, "unsafe") || resp.Header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: %v", path, resp.Header)
		}
	}
	inline := regexp.MustCompile(`(?i)<style|\sstyle=|\son[a-z]+=|<script(?:[^>]*)>[^<]|javascript:|https?://`)
	err := filepath.WalkDir("templates", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if found := inline.Find(text); found != nil {
			t.Errorf("%s has %q", path, found)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// The first page and all that it loads are small.
func TestTheFirstPageIsSmall(t *testing.T) {
	at := newSite(t, nil)
	size := at.firstPage()
	if size > 150<<10 {
		t.Errorf("the first page has %d bytes", size)
	}
}

// The files of others are those that LICENSES.md names.
func TestFilesOfOthers(t *testing.T) {
	page, err := os.ReadFile("static/LICENSES.md")
	if err != nil {
		t.Fatal(err)
	}
	listed := regexp.MustCompile("(?m)^\\| `([^`]+)` .*`([0-9a-f]{64})` \\|$").FindAllStringSubmatch(string(page), -1)
	for _, file := range listed {
		text, err := os.ReadFile("static/" + file[1])
		if sum := fmt.Sprintf("%x", sha256.Sum256(text)); err != nil || sum != file[2] {
			t.Errorf("%s has the sum %s: %v", file[1], sum, err)
		}
	}
	ours := 0
	for _, pattern := range []string{"console.*", "axes.js", "charts.js", "draw.js", "editor.js", "heat.js", "icon.svg", "LICENSES.md"} {
		found, _ := filepath.Glob("static/" + pattern)
		ours += len(found)
	}
	if all, _ := filepath.Glob("static/*"); len(all) != ours+len(listed) || len(listed) == 0 {
		t.Errorf("there are %d files; %d are ours, and %d are listed", len(all), ours, len(listed))
	}
}

func TestNilConsole(t *testing.T) {
	if _, err := console.New(console.Options{}); err == nil {
		t.Error("there is a console without a server")
	}
	var c *console.Console
	c.Close()
}

// A page ends when its rows or versions are large: the server keeps the beginnings of
// values, and one large row at a time.
func TestAPageOfLargeValuesEndsEarly(t *testing.T) {
	at := newSite(t, nil)
	const n = 20
	large := cells.String(strings.Repeat("x", 1<<20))
	for i := range n {
		at.set("fleet", fmt.Sprintf("plane#%02d", i), "meta", "log", 1, large)
		at.set("fleet", "history", "meta", "log", cells.Timestamp(i+1), large)
	}
	for path, mark := range map[string]string{
		"/tables/fleet?prefix=plane%23":                            "href=\"/tables/fleet/row?key=plane",
		"/tables/fleet/cell?key=history&family=meta&qualifier=log": "<p><time",
	} {
		seen := 0
		pages := at.walk(path, func(text string) { seen += strings.Count(text, mark) })
		if seen != n || pages != 2 {
			t.Errorf("%s: %d on %d pages; want %d on 2", path, seen, pages, n)
		}
	}
	if text := at.run("scan fleet prefix=plane#"); !strings.Contains(text, "16 rows, and more") || !strings.Contains(text, "1 MiB<") {
		t.Errorf("the result of a scan ends with %s", text[strings.LastIndex(text, "<p class"):])
	}
	if text := at.run("diff fleet secret limit=1000000000"); !strings.Contains(text, "a page has up to 200 differences") {
		t.Errorf("a diff with a large limit: %s", text)
	}
}

// JSON that is nested deeply would take many times its size with indents.
func TestDeepJSONIsNotIndented(t *testing.T) {
	at := newSite(t, nil)
	at.set("fleet", "deep", "meta", "json", 1, cells.String(strings.Repeat("[", 5000)+strings.Repeat("]", 5000)))
	if text := at.must("/tables/fleet/cell?key=deep&family=meta&qualifier=json"); len(text) > 1<<20 {
		t.Errorf("the page has %d bytes", len(text))
	}
}

// Tables that differ are no failure: the page and the downloads show the differences.
func TestADiffShowsItsDifferences(t *testing.T) {
	at := newSite(t, nil)
	at.run("create table fleet2 family meta")
	at.set("fleet", "plane#1", "meta", "model", 1, cells.String("Boeing 737"))
	for _, as := range []string{"", "csv", "jsonl"} {
		if text, code := at.post("/query", "q", "diff fleet fleet2 columns=meta:model", "as", as); code != http.StatusOK || !strings.Contains(text, "Boeing 737") || strings.Contains(text, `class="failure"`) {
			t.Errorf("as %q: %d %s", as, code, text)
		}
	}
}

// The calls of pages are bytes in hand, as those of other clients: a page that would make
// the server hold too much is refused, and no other page.
func TestPagesAreBytesInHand(t *testing.T) {
	at := newSite(t, nil, server.Options{Limits: server.Limits{ConnectionBytes: 2 << 20}})
	at.set("fleet", "large", "raw", "v", 1, cells.Bytes(make([]byte, 4<<20)))
	at.set("fleet", "small", "raw", "v", 1, cells.Bytes([]byte("tiny")))
	if page, code := at.get("/tables/fleet/row?key=large"); code != http.StatusBadRequest || !strings.Contains(page, "2 MiB that the server has for it") {
		t.Errorf("a row of 4 MiB: %d\n%s", code, page)
	}
	if page := at.must("/tables/fleet/row?key=small"); !strings.Contains(page, "tiny") {
		t.Errorf("a small row:\n%s", page)
	}
	for start := time.Now(); !strings.Contains(at.must("/metrics"), "\nsmolwc_bytes_in_hand 0\n"); {
		if time.Since(start) > 5*time.Minute {
			t.Fatal("bytes stay in hand after the pages have ended")
		}
	}
}
