package console_test

import (
	"fmt"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/server"
)

// madeStatement is the statement of a table's form, and the keys that the page shows.
func (at *site) madeStatement(path string) (statement string, keys []string) {
	at.t.Helper()
	text := at.must(path)
	found := regexp.MustCompile(`<summary><code dir="ltr">([^<]*)</code>`).FindStringSubmatch(text)
	if found == nil {
		at.t.Fatalf("%s shows no statement:\n%s", path, text)
	}
	for _, m := range regexp.MustCompile(`<th scope="row"><a class="key" dir="ltr" href="[^"]*">([^<]*)<`).FindAllStringSubmatch(text, -1) {
		keys = append(keys, html.UnescapeString(m[1]))
	}
	return html.UnescapeString(found[1]), keys
}

// The form of a table makes a statement, which the page runs: as a statement of its own it
// has the same rows.
func TestTheFormOfATableMakesAStatement(t *testing.T) {
	at := newSite(t, nil)
	for i := range 10 {
		key := fmt.Sprintf("plane#%d", i)
		at.set("fleet", key, "meta", "seats", 1, cells.I32(int32(100+10*i)))
		at.set("fleet", key, "meta", "a b", 1, cells.String([]string{"blue", "dark red"}[i%2]))
		at.set("fleet", key, "loc", "alt", 1_000_000, cells.I64(int64(i)))
	}
	at.set("fleet", "odd\x00key", "meta", "seats", 1, cells.String("many"))
	for form, want := range map[string]string{
		"":                               "scan fleet limit=100: 11",
		"prefix=plane%23&limit=5":        "scan fleet prefix=plane# limit=5: 5",
		"from=plane%233&to=plane%235":    "scan fleet start=plane#3 end=plane#5 limit=100: 2",
		"on=meta:seats&op=>&value=150":   "scan fleet where meta:seats > 150 limit=100: 4",
		`on=meta:"a b"&op===&value=blue`: `scan fleet where meta:"a b" == blue limit=100: 5`,
		`on=meta:"a b"&op===&value=dark red&on=meta:seats&op=<&value=130`:        `scan fleet where meta:"a b" == "dark red" and meta:seats < 130 limit=100: 1`,
		`on=meta:"a b"&op=in&value=blue, dark red&on=&op===&value=`:              `scan fleet where meta:"a b" in (blue, "dark red") limit=100: 10`,
		"any=1&on=meta:seats&op===&value=100&on=meta:seats&op===&value=\"many\"": `scan fleet where meta:seats == 100 or meta:seats == "many" limit=100: 2`,
		"on=loc:alt&op=absent&value=":                                            "scan fleet where loc:alt absent limit=100: 1",
		"on=key&op==~&value=plane.[45]":                                          `scan fleet where key =~ "plane.[45]" limit=100: 2`,
		"show=meta:seats&show=loc:alt":                                           "scan fleet columns=meta:seats,loc:alt limit=100: 11",
		"family=loc&reverse=1":                                                   "scan fleet columns=loc:* limit=100 reverse: 10",
		`prefix="odd\x00"`:                                                       `scan fleet prefix="odd\0" limit=100: 1`,
	} {
		q := url.Values{}
		for pair := range strings.SplitSeq(form, "&") {
			if name, value, ok := strings.Cut(pair, "="); ok {
				value, _ = url.QueryUnescape(value)
				q.Add(name, value)
			}
		}
		statement, keys := at.madeStatement("/tables/fleet?" + q.Encode())
		if got := fmt.Sprintf("%s: %d", statement, len(keys)); got != want {
			t.Errorf("%s:\n%s, want\n%s", form, got, want)
		}
		text := at.run(statement)
		for _, key := range keys {
			if !strings.Contains(text, ">"+html.EscapeString(key)+"<") {
				t.Errorf("%s: the statement has no row %s", form, key)
			}
		}
	}
	for _, form := range []string{"since=now into /tmp/x", "since=now%0Ainto", "on=meta&op=is&value=1", "on=a b&op===&value=1", "on=meta:seats", "on=none:x&op===&value=1", "on=meta:a&op==~&value=(", "show=none:x", "versions=0"} {
		q, _ := url.ParseQuery(strings.ReplaceAll(form, ">", "%3E"))
		if text, code := at.get("/tables/fleet?" + q.Encode()); code == http.StatusInternalServerError || code == http.StatusOK && !strings.Contains(text, "no such rows") {
			t.Errorf("%s: %d\n%s", form, code, text)
		}
	}
}

// What a table's form copies as SQL has the same rows.
func TestTheCopyInSQLHasTheSameRows(t *testing.T) {
	at := newSite(t, nil)
	for _, key := range []string{"a", "b'1", "b\\2", "b\x00", "c"} {
		at.set("fleet", key, "meta", "q'1", 1, cells.String("x"))
	}
	text := html.UnescapeString(at.must("/tables/fleet?" + url.Values{"prefix": {"b"}, "show": {"meta:q'1"}}.Encode()))
	found := regexp.MustCompile(`>(select [^<]*)</pre>`).FindStringSubmatch(text)
	if found == nil {
		t.Fatalf("there is no SQL in\n%s", text)
	}
	if result := at.run(found[1]); !strings.Contains(result, ">3 lines") || strings.Count(result, ">x<") != 3 {
		t.Errorf("%s gives\n%s", found[1], result)
	}
}

// A grid has a column for each qualifier, the busiest ones, and says what it leaves out.
func TestAGridHasTheBusiestColumns(t *testing.T) {
	at := newSite(t, nil)
	m := write.NewMutation()
	for i := range 5000 {
		m.SetAt("meta", fmt.Sprintf("wide%04d", i), 1, cells.String("x"))
	}
	if err := at.db.Table("fleet").Apply(t.Context(), "wide", m); err != nil {
		t.Fatal(err)
	}
	for i := range 30 {
		at.set("fleet", fmt.Sprintf("row%02d", i), "meta", "z-common", 1, cells.I32(int32(i)))
		at.set("fleet", fmt.Sprintf("row%02d", i), "meta", "z-common", 2, cells.I32(int32(i+1000)))
	}
	at.set("fleet", "row00", "raw", "picture", 1, cells.Bytes([]byte("\xff\xd8\x00")))
	at.set("fleet", "row00", "meta", "long", 1, cells.String(strings.Repeat("ab", 1<<19)))
	at.set("fleet", "row00", "meta", "empty", 1, cells.String(""))
	text := at.must("/tables/fleet")
	for _, want := range []string{">z-common</th>", ">1029</a><sup", "and further cells", "and more further columns"} {
		if !strings.Contains(text, want) {
			t.Errorf("there is no %s in the grid", want)
		}
	}
	if n := strings.Count(text, `<th scope="col" dir="ltr"`); n != 20 {
		t.Errorf("the grid has %d columns", n)
	}
	if len(text) > 400<<10 {
		t.Errorf("the page has %d bytes", len(text))
	}
	text = at.must("/tables/fleet?show=raw:picture&show=meta:long&show=meta:empty&prefix=row")
	for _, want := range []string{">0xffd800<", "…</a>", "1 MiB<", `<span class="note">empty</span>`, `value="meta:z-common"`} {
		if !strings.Contains(text, want) {
			t.Errorf("there is no %s among the chosen columns:\n%s", want, text)
		}
	}
	if strings.Contains(text, strings.Repeat("ab", 100)) {
		t.Error("the grid has a long value as a whole")
	}
}

// A change stays on the page of the rows, and can be taken back.
func TestAChangeCanBeUndone(t *testing.T) {
	at := newSite(t, nil)
	at.set("fleet", "k", "meta", "seats", 10, cells.I32(183))
	now := func(qualifier string) string {
		row, err := at.db.Table("fleet").ReadRow(t.Context(), "k")
		if err != nil {
			t.Fatal(err)
		}
		for c := range row.Cells() {
			if c.Qualifier == qualifier {
				return c.Value.Type().String() + " " + c.Value.String()
			}
		}
		return "none"
	}
	for _, change := range []struct{ statement, was, qualifier, after, undone string }{
		{"put fleet k meta:seats=201i32", "i32", "seats", "i32 201", "i32 183"},
		{`put fleet k meta:seats="text"`, "i32", "seats", "string text", "i32 183"},
		{"put fleet k meta:new=1i32", "none", "new", "i32 1", "none"},
	} {
		text, code := at.post("/tables/fleet/change", "q", change.statement, "was", change.was)
		if code != http.StatusOK || !strings.Contains(text, "put 1 cell") || now(change.qualifier) != change.after {
			t.Fatalf("%s: %d, and the cell is %s\n%s", change.statement, code, now(change.qualifier), text)
		}
		undo, was := fieldOf(t, text, "q"), fieldOf(t, text, "was")
		if text, _ := at.post("/tables/fleet/change", "q", undo, "was", was, "sure", "1"); now(change.qualifier) != change.undone {
			t.Errorf("%s (%s): the cell is %s, want %s\n%s", undo, was, now(change.qualifier), change.undone, text)
		}
	}
	// Somebody else writes meanwhile, in another tab.
	text, _ := at.post("/tables/fleet/preview", "key", "k", "family", "meta", "qualifier", "seats", "value", "201")
	statement, was := fieldOf(t, text, "q"), fieldOf(t, text, "was")
	at.set("fleet", "k", "meta", "seats", at.db.Now(), cells.I32(190))
	text, _ = at.post("/tables/fleet/change", "q", statement, "was", was)
	if !strings.Contains(text, "it is i32 190 now. Change it all the same?") || now("seats") != "i32 190" {
		t.Errorf("what another tab has written is lost: %s\n%s", now("seats"), text)
	}
	was = fieldOf(t, text, "was")
	if text, _ = at.post("/tables/fleet/change", "q", statement, "was", was, "sure", "1"); now("seats") != "i32 201" {
		t.Errorf("agreed: %s\n%s", now("seats"), text)
	}
	undo, undoes := fieldOf(t, text, "q"), fieldOf(t, text, "was")
	at.set("fleet", "k", "meta", "seats", at.db.Now(), cells.I32(192))
	if text, _ = at.post("/tables/fleet/change", "q", undo, "was", undoes, "sure", "1"); !strings.Contains(text, "it is i32 192 now") || now("seats") != "i32 192" {
		t.Errorf("an undo takes what another tab has written: %s\n%s", now("seats"), text)
	}
	text, _ = at.post("/tables/fleet/change", "q", "delete fleet k meta:seats")
	if !strings.Contains(text, "delete them?") || now("seats") == "none" {
		t.Errorf("a deletion does not ask:\n%s", text)
	}
	if at.post("/tables/fleet/change", "q", "delete fleet k meta:seats", "sure", "1"); now("seats") != "none" {
		t.Error("the column is still there")
	}
	for _, statement := range []string{"drop table fleet", "put secret k f:q=1", "put fleet k meta:a=1 meta:b=2", "delete fleet k", "scan fleet", "", "put"} {
		if text, _ := at.post("/tables/fleet/change", "q", statement, "sure", "1"); !strings.Contains(text, `role="alert"`) {
			t.Errorf("%q runs:\n%s", statement, text)
		}
	}
}

// The schema is changed by the statements of the shell, which ask what they ask there.
func TestTheSchemaIsChangedByForms(t *testing.T) {
	at := newSite(t, nil)
	says := func(want string, fields ...string) {
		t.Helper()
		if text, code := at.post("/schema", fields...); code != http.StatusOK || !strings.Contains(html.UnescapeString(text), want) {
			t.Errorf("%v: %d, and there is no %q in\n%s", fields, code, want, text)
		}
	}
	says("created table logbook", "act", "create", "table", "logbook", "family", "note", "type", "string", "max_versions", "3", "max_age", "30d")
	for i := range 2 {
		at.set("logbook", "1", "note", "a", at.db.Now()+cells.Timestamp(i), cells.String("old"))
	}
	says("added family leg", "act", "add", "table", "logbook", "family", "leg", "type", "i32")
	says("would become invisible", "act", "set", "table", "logbook", "family", "note", "max_age", "1h", "max_versions", "1")
	says("drop", "act", "drop-family", "table", "logbook", "family", "leg")
	says("Do it", "act", "drop", "table", "logbook")
	if _, ok := at.db.LookupTable("logbook"); !ok {
		t.Fatal("the table was dropped without an answer")
	}
	says("dropped table logbook", "q", "drop table logbook", "table", "logbook", "sure", "1")
	says("Bring logbook back", "act", "undelete", "table", "none")
	says("logbook", "act", "undelete", "table", "logbook")
	if _, ok := at.db.LookupTable("logbook"); !ok {
		t.Error("the table did not come back")
	}
	for _, fields := range [][]string{
		{"act", "create", "table", "", "family", "f"}, {"act", "create", "table", "t", "family", ""}, {"act", "create", "table", "<script>alert(1)</script>", "family", "f"},
		{"act", "add", "table", "fleet", "family", "f", "max_age", "1d yes"}, {"act", "none", "table", "fleet"}, {"act", "stream", "table", "fleet", "keep", "7d yes"}, {"act", "drop", "table", "a\x00b"},
	} {
		text, code := at.post("/schema", fields...)
		if code != http.StatusOK || !strings.Contains(text, `role="alert"`) || strings.Contains(text, "<script>alert") {
			t.Errorf("%v: %d\n%s", fields, code, text)
		}
	}
}

// A form that was refused is still filled in, also that of a table that another tab has made meanwhile.
func TestARefusedSchemaKeepsItsForm(t *testing.T) {
	at := newSite(t, nil)
	for _, form := range [][]string{
		{"act", "create", "table", "crew", "family", "days", "type", "i32", "max_versions", "3", "max_age", "30 days", "tuples", "1"},
		{"act", "create", "table", "fleet", "family", "days", "type", "i32", "max_versions", "3", "max_age", "30d"},
		{"act", "add", "table", "fleet", "family", "days", "type", "i32", "max_versions", "3", "max_age", "30 days"},
	} {
		text, _ := at.post("/schema", form...)
		for i := 2; i < len(form); i += 2 {
			want := `name="` + form[i] + `" value="` + form[i+1] + `"`
			if form[i] == "type" {
				want = "<option selected>i32</option>"
			}
			if !strings.Contains(text, `role="alert"`) || !strings.Contains(text, want) {
				t.Errorf("%v: there is no %s in\n%s", form, want, text)
			}
		}
	}
}

// A token that reads one table sees this one in the frame, and changes nothing.
func TestTheFrameHasWhatTheTokenMaySee(t *testing.T) {
	tokens := server.OpenTokens(t.TempDir())
	secret, err := tokens.Create("reader", []server.Grant{{Right: server.Read, Tables: "fleet"}}, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	at := newSite(t, tokens)
	at.set("fleet", "k", "meta", "q", 1, cells.String("x"))
	if text := at.must("/"); strings.Contains(text, `id="frame"`) || strings.Contains(text, "fleet") {
		t.Errorf("without a token:\n%s", text)
	}
	resp, err := at.client.PostForm(at.server.URL+"/login", url.Values{"token": {secret}})
	if err != nil {
		t.Fatal(err)
	}
	at.read(resp)
	for _, path := range []string{"/", "/tables/fleet", "/schema", "/tables/none"} {
		text, _ := at.get(path)
		if !strings.Contains(text, `<a href="/tables/fleet"`) || strings.Contains(text, "secret") {
			t.Errorf("%s:\n%s", path, text)
		}
	}
	if text, code := at.get("/tables/secret?on=f:q&op=exists&value="); code != http.StatusNotFound {
		t.Errorf("the form of another table: %d\n%s", code, text)
	}
	for path, fields := range map[string][]string{
		"/tables/fleet/change": {"q", "put fleet k meta:q=y", "was", "string", "sure", "1"},
		"/schema":              {"act", "create", "table", "mine", "family", "f"},
	} {
		if text, _ := at.post(path, fields...); !strings.Contains(text, `role="alert"`) {
			t.Errorf("%s:\n%s", path, text)
		}
	}
	if _, ok := at.db.LookupTable("mine"); ok {
		t.Error("a token that reads has created a table")
	}
	row, err := at.db.Table("fleet").ReadRow(t.Context(), "k")
	if err != nil {
		t.Fatal(err)
	}
	for c := range row.Cells() {
		if c.Value.String() != "x" {
			t.Errorf("a token that reads has written %v", c.Value)
		}
	}
}

// Unknown figures are gaps.
func TestUnknownNumbersAreGaps(t *testing.T) {
	at := newSite(t, nil) // without a history nothing is known
	text := at.must("/")
	if strings.Contains(text, `class="count"`) || !strings.Contains(text, `<td class="num"></td><td class="num"></td><td class="num"></td>`) {
		t.Errorf("numbers that nobody knows:\n%s", text)
	}
	if text := at.must("/health"); !strings.Contains(text, `class="ill"`) || !strings.Contains(text, "not serving yet") {
		t.Errorf("the health of a server that does not serve yet:\n%s", text)
	}
}

// NULL is told from an empty text.
func TestNullIsNotEmpty(t *testing.T) {
	at := newSite(t, nil)
	at.set("fleet", "k", "meta", "empty", 1, cells.String(""))
	text := at.run("select meta['empty'] as e, meta['none'] as n, 5 as five from fleet")
	if !strings.Contains(text, `<td dir="ltr"></td><td dir="ltr"><span class="null">NULL</span></td><td dir="ltr" class="num">5</td>`) {
		t.Errorf("the line is in\n%s", text[strings.Index(text, `id="result"`):])
	}
}

// The rows of a choice are deleted together, when their number was shown and agreed to.
func TestTheRowsOfAChoiceAreDeleted(t *testing.T) {
	at := newSite(t, nil)
	for i := range 5 {
		at.set("fleet", fmt.Sprintf("plane#%d", i), "loc", "x", 1_700_000_000_000_000, cells.I64(int64(i)))
	}
	at.set("fleet", "ship#1", "loc", "x", 1_700_000_000_000_000, cells.I64(4))
	offered := func(path string) string {
		t.Helper()
		found := regexp.MustCompile(`name="q" value="(delete [^"]*)"`).FindStringSubmatch(at.must(path))
		if found == nil {
			return ""
		}
		return html.UnescapeString(found[1])
	}
	for _, path := range []string{"/tables/fleet", "/tables/fleet?since=now-1h", "/tables/fleet?prefix=plane%23&since=now-1h"} {
		if got := offered(path); got != "" {
			t.Errorf("%s offers %s", path, got)
		}
	}
	st := offered("/tables/fleet?prefix=plane%23&on=loc:x&op=%3E&value=2&limit=1")
	if st != "delete fleet where loc:x > 2 prefix=plane#" {
		t.Fatalf("the offered statement is %q", st)
	}
	if text := at.run(st); !strings.Contains(text, "delete 2 rows of fleet?") {
		t.Errorf("the question:\n%s", text)
	}
	if text := at.run("count fleet"); !strings.Contains(text, "6") {
		t.Errorf("rows before the answer:\n%s", text)
	}
	at.run(st, "sure", "1")
	if text := at.run("count fleet"); !strings.Contains(text, "4") {
		t.Errorf("rows after it:\n%s", text)
	}
	if st := offered("/tables/fleet?from=plane%23&to=plane%239"); st != "delete fleet start=plane# end=plane#9" {
		t.Errorf("of a range: %q", st)
	}
}

// What a form got wrong is said beside it, so that it can be put right: it was a page of its own
// without the form.
func TestABadChoiceOfRowsKeepsItsForm(t *testing.T) {
	at := newSite(t, nil)
	for form, want := range map[string]string{`prefix="`: "begins with a quote", "limit=x": "want a number from 1 to 1000", "limit=0&from=plane": `value="plane"`, "from=b&to=a": `start "b" is after its end "a"`, "show=zz": `unknown family "zz"`, "prefix=a&from=b": "leave one of them empty", "versions=-1&prefix=plane": `value="plane"`} {
		q, _ := url.ParseQuery(form)
		text, code := at.get("/tables/fleet?" + q.Encode())
		if text = html.UnescapeString(text); code != http.StatusBadRequest || !strings.Contains(text, want) || !strings.Contains(text, `name="prefix"`) {
			t.Errorf("%s: %d\n%s", form, code, text)
		}
	}
}

// A cell that cannot be put has no statement to run.
func TestABadCellHasNoStatement(t *testing.T) {
	at := newSite(t, nil)
	if text, _ := at.post("/tables/fleet/preview", "key", "", "family", "meta", "qualifier", "a", "value", "1"); !strings.Contains(text, "at least one byte") || strings.Contains(text, "Run it") {
		t.Errorf("a cell without a key:\n%s", text)
	}
}

// Comments before a query were taken for its beginning, so that it was no query.
func TestCommentsBeforeAQuery(t *testing.T) {
	at := newSite(t, nil)
	at.set("fleet", "plane#1", "meta", "model", 1, cells.String("Boeing 737"))
	for statement, want := range map[string]string{"-- all models\n\n# of planes\nselect meta['model'] as m from fleet": ">Boeing 737</td>", "-- only this": "expected a statement", "\n-- x\nscan fleet": ">Boeing 737</a>"} {
		if text := at.run(statement); !strings.Contains(text, want) {
			t.Errorf("%q:\n%s", statement, text[strings.Index(text, `id="result"`):])
		}
	}
	if text, _ := at.post("/query", "q", "-- x\nselect _key from fleet", "as", "explain"); !strings.Contains(text, `class="tree"`) {
		t.Errorf("its plan:\n%s", text)
	}
}
