package console_test

import (
	"cmp"
	"encoding/json"
	"html"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/console"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/server"
	"github.com/smolwc/smolwc/transfer"
)

// listening is a site whose server takes gRPC, with awkward keys and qualifiers.
func listening(t *testing.T) *site {
	t.Helper()
	db, err := query.OpenInMemory(query.Options{Schema: fleet()})
	if err != nil {
		t.Fatal(err)
	}
	at := siteOn(t, db, server.Options{}, console.Options{Address: "127.0.0.1:0"})
	for _, key := range []string{"a", "b'1", `b"2`, `b\3`, "b\xff", "bé", "c"} {
		at.set("fleet", key, "meta", `q'"\`, 1, cells.String("x"))
		at.set("fleet", key, "meta", `q'"\`, 2, cells.String("y"))
		at.set("fleet", key, "meta", "other", 1, cells.String("z"))
		at.set("fleet", key, "loc", "", 1, cells.I64(7))
	}
	return at
}

// copyAs is what a page shows as a copy in a language; "" for none.
func copyAs(text, language string) string {
	found := regexp.MustCompile(`(?s)<span class="note">` + language + `</span>.*?<pre dir="ltr" tabindex="0">(.*?)</pre>`).FindStringSubmatch(text)
	if found == nil {
		return ""
	}
	return html.UnescapeString(found[1])
}

// choices are forms of a table with the number of rows and cells that they choose.
var choices = []struct {
	form        url.Values
	rows, cells int
}{
	{nil, 7, 21},
	{url.Values{"prefix": {"b"}, "show": {`meta:q'"\`}}, 5, 5},
	{url.Values{"prefix": {`"b\xff"`}}, 1, 3},
	{url.Values{"from": {"b'"}, "to": {"b\\"}, "family": {"meta"}}, 1, 2},
	{url.Values{"from": {"b\\3"}, "versions": {"5"}, "show": {`meta:q'"\`, "meta:other"}}, 4, 12},
	{url.Values{"limit": {"2"}, "show": {"loc:"}}, 2, 2},
}

// What a page copies for Python's official client reads the same rows.
func TestTheCopyInPythonRuns(t *testing.T) {
	python := cmp.Or(os.Getenv("SMOLWC_PYTHON"), "python3")
	if err := exec.Command(python, "-c", "import google.cloud.bigtable.data").Run(); err != nil {
		t.Skipf("SKIPPED: the copies in Python were not run, since %s has no package google-cloud-bigtable; $SMOLWC_PYTHON can name one that has", python)
	}
	at := listening(t)
	run := func(program string) []string {
		t.Helper()
		if program == "" {
			t.Fatal("the page has no copy in Python")
		}
		file := filepath.Join(t.TempDir(), "rows_of_fleet.py")
		if err := os.WriteFile(file, []byte(program), 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), python, file)
		cmd.Stderr = os.Stderr
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%v\n%s", err, program)
		}
		return strings.Split(strings.TrimSpace(string(out)), "\n")
	}
	for _, c := range choices {
		lines := run(copyAs(at.must("/tables/fleet?"+c.form.Encode()), "Python"))
		if len(lines) != c.cells {
			t.Errorf("%v: %d cells, want %d:\n%s", c.form, len(lines), c.cells, strings.Join(lines, "\n"))
		}
	}
	for statement, want := range map[string]string{
		"select _key, meta['other'] as o from fleet where _key = b'c'":                 "[b'c', b'z']",
		"select 'it\\'s \"so\"' as text,\n1 + 1":                                       `['it\'s "so"', 2]`,
		"select cast(null as string) as a, timestamp '2024-01-25 10:00:00+00' is null": "[None, False]",
	} {
		if lines := run(copyAs(at.run(statement), "Python")); len(lines) != 1 || lines[0] != want {
			t.Errorf("%s: %q, want %s", statement, lines, want)
		}
	}
	if lines := run(copyAs(at.run("scan fleet prefix=b columns=meta:other"), "Python")); len(lines) != 5 {
		t.Errorf("a scan of the box: %q", lines)
	}
}

// What a page copies for curl gives the same rows.
func TestTheCopyForCurlRuns(t *testing.T) {
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("SKIPPED: the copies for curl were not run, since curl is not installed")
	}
	at := listening(t)
	for _, c := range choices {
		command := copyAs(at.must("/tables/fleet?"+c.form.Encode()), "curl")
		if command == "" {
			if c.form.Get("show") != "loc:" { // the JSON API has no word for it
				t.Errorf("%v has no copy", c.form)
			}
			continue
		}
		out, err := exec.CommandContext(t.Context(), "sh", "-c", strings.Replace(command, "curl -s ", "curl -sk ", 1)).CombinedOutput()
		var answer struct {
			Message string
			Result  struct {
				RowCount  int `json:"row_count"`
				CellCount int `json:"cell_count"`
			}
		}
		if err != nil || json.Unmarshal(out, &answer) != nil || answer.Result.RowCount != c.rows || answer.Result.CellCount != c.cells {
			t.Errorf("%v: %v\n%s\n%s", c.form, err, command, out)
		}
	}
}

// A copy says exactly what the scan says, or the page has no copy.
func TestNoCopySaysLess(t *testing.T) {
	at := listening(t)
	for statement, languages := range map[string]string{
		"scan fleet":                          "SQL Go Python curl",
		"scan fleet prefix=b limit=3":         "SQL Go Python curl",
		"scan fleet where meta:other == z":    "Go",
		"scan fleet reverse":                  "Go",
		"scan fleet since=now-1h":             "Go",
		"scan fleet regex=/b.*/":              "",
		"scan fleet columns=meta:o*":          "",
		"scan fleet offset=2":                 "",
		"scan fleet keys-only":                "",
		"scan fleet sample=0.5":               "",
		"scan fleet versions=all":             "",
		"select _key from fleet":              "Python",
		"explain select _key from fleet":      "",
		"explain scan fleet":                  "",
		"count fleet":                         "",
		"put fleet a meta:other=z":            "",
		"select meta from none":               "",
		"scan fleet limit=2 columns=meta:*":   "SQL Go Python curl",
		"scan fleet columns=loc:":             "SQL Go Python",
		"scan fleet start=b end=c versions=2": "Go Python curl",
	} {
		text := at.run(statement)
		var got []string
		for _, language := range []string{"Shell", "SQL", "Go", "Python", "curl"} {
			if copyAs(text, language) != "" {
				got = append(got, language)
			}
		}
		if strings.Join(got, " ") != languages {
			t.Errorf("%s: copies in %v, want %s", statement, got, languages)
		}
	}
}

// A result is downloaded as Parquet: a scan's with all of its cells, a query's with a column
// for each of its own.
func TestParquetOfAResult(t *testing.T) {
	at := listening(t)
	download := func(statement string) string {
		t.Helper()
		text, code := at.post("/query", "q", statement, "as", "parquet")
		if code != 200 || !strings.HasPrefix(text, "PAR1") {
			t.Fatalf("%s: %d\n%.200s", statement, code, text)
		}
		file := filepath.Join(t.TempDir(), "result.parquet")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	at.run("create table more family meta, family loc type=i64")
	res, err := transfer.Import(t.Context(), at.db, "more", transfer.Spec{Path: download("scan fleet prefix=b versions=9")})
	if err != nil || res.Rows != 5 || res.Cells != 20 {
		t.Fatalf("%+v, %v", res, err)
	}
	if text := at.run("diff fleet more prefix=b"); !strings.Contains(text, "no difference") {
		t.Errorf("the cells are not the same:\n%s", text)
	}
	file := download("select _key as k, 1.5 as x, cast(null as string) as none, true as yes, date '1969-12-31' as day, timestamp '2024-01-25 10:00:00+00' as at, [1, 2] as list, 7, 8 from fleet where starts_with(_key, b'b')")
	at.run("create table typed family meta")
	res, err = transfer.Import(t.Context(), at.db, "typed", transfer.Spec{Path: file, Key: "{k}", Columns: []transfer.Mapping{
		{Family: "meta", Qualifier: "x", Field: "x"}, {Family: "meta", Qualifier: "none", Field: "none"}, {Family: "meta", Qualifier: "yes", Field: "yes"},
		{Family: "meta", Qualifier: "list", Field: "list"}, {Family: "meta", Qualifier: "seven", Field: "f7_"},
	}})
	if err != nil || res.Rows != 5 || res.Cells != 20 {
		t.Fatalf("%+v, %v", res, err)
	}
	const clock = "select datetime '2024-01-25 10:00:00.5' as clock from fleet" // Bigtable's API has no such column
	if text, code := at.post("/query", "q", clock, "as", "parquet"); code != 400 || !strings.Contains(text, "CAST(… AS STRING) makes a text of it") {
		t.Errorf("%s: %d\n%s", clock, code, text)
	}
	for _, statement := range []string{"count fleet", "tables"} {
		if text, code := at.post("/query", "q", statement, "as", "parquet"); code != 400 || !strings.Contains(text, "download this result as CSV") {
			t.Errorf("%s: %d\n%s", statement, code, text)
		}
	}
}

// A plan is a tree: a stage stands over those whose rows it takes, and what it reads is said
// with it.
func TestAPlanIsATree(t *testing.T) {
	at := listening(t)
	result := func(statement, as string) string {
		text, _ := at.post("/query", "q", statement, "as", as)
		text = html.UnescapeString(text[strings.Index(text, `id="result"`):])
		return strings.Join(strings.Fields(regexp.MustCompile(`<[^>]*>`).ReplaceAllString(text, " ")), " ")
	}
	text := result("select meta['other'] as o, count(*) as n from fleet where starts_with(_key, b'b') group by o order by n limit 3", "explain")
	last := -1
	for _, want := range []string{"limit", "sort", "group", "read 1 ranges of rows of fleet", `from "b" to "c"`, "column meta:other"} {
		i := strings.Index(text, want)
		if i <= last {
			t.Errorf("%q is not below the stage before it in %s", want, text)
		}
		last = i
	}
	text = result("select a._key from fleet a join fleet b on a._key = b._key union all select b'x' from fleet where _key in (select _key from fleet)", "explain")
	last = -1
	for _, want := range []string{"union", "query 1", "select", "inner join", "the left side is held", "left", "read all rows of fleet", "right", "read all rows of fleet", "query 2", "select", "read", "query 1 in an expression", "read"} {
		i := strings.Index(text[last+1:], want)
		if i < 0 {
			t.Errorf("%q is not where it should be in %s", want, text)
			break
		}
		last += 1 + i
	}
	if text, _ := at.post("/query", "q", "select 1 from fleet a join fleet b using (_key)", "as", "explain"); !strings.Contains(text, "<strong>left</strong>") {
		t.Errorf("a side of a join is no stage of its own in %s", text)
	}
	for _, want := range []string{"result scan fleet prefix=b", "limit 2 rows", "read rows", "about"} {
		if text := result("scan fleet prefix=b limit=2", "explain"); !strings.Contains(text, want) {
			t.Errorf("there is no %q in %s", want, text)
		}
	}
	if text := result("scan fleet prefix=b limit=2 columns=meta:*", "analyze"); !strings.Contains(text, "returned 2 rows, 4 cells, ") || !strings.Contains(text, " in ") {
		t.Errorf("the cost is not in %s", text)
	}
}
