package transfer

import (
	"slices"
	"strings"
	"testing"

	"github.com/smolwc/smolwc/cells"
)

func TestReverseHost(t *testing.T) {
	for address, want := range map[string]string{
		"https://docs.example.org/install?a=b#c": "org.example.docs/install?a=b#c",
		"http://Example.ORG":                     "org.example",
		"http://example.org:8080/x":              "org.example:8080/x",
		"//cdn.example.org/x":                    "org.example.cdn/x",
		"docs.example.org":                       "org.example.docs",
		"docs.example.org/x":                     "org.example.docs/x",
		"https://192.0.2.7/x":                    "192.0.2.7/x",
		"https://[2001:db8::1]:80/x":             "[2001:db8::1]:80/x",
		"https://me@example.org/x":               "me@example.org/x",
		"mailto:me@example.org":                  "mailto:me@example.org",
		"javascript:void(0)":                     "javascript:void(0)",
		"/relative/a.html":                       "/relative/a.html",
		"#top":                                   "#top",
		"?to=http://a.b/":                        "?to=http://a.b/",
		"":                                       "",
	} {
		if got := reverseHost(address); got != want {
			t.Errorf("%q: %q, want %q", address, got, want)
		}
	}
}

func TestTimesAreMadeOfFields(t *testing.T) {
	const lines = `{"id": 1, "y": 2024, "m": 1, "d": 9, "t": "x"}` + "\n"
	of := func(ts string) (cells.Timestamp, error) {
		db := pathsDB(t)
		_, err := Import(t.Context(), db, "t", Spec{Path: "stdin", Format: "jsonl", In: strings.NewReader(lines), Key: "{id}",
			Columns: []Mapping{{Family: "s", Qualifier: "t", Field: "t"}}, Timestamp: ts})
		row, _ := db.Table("t").ReadRow(t.Context(), "1")
		if err != nil || row == nil {
			return 0, err
		}
		c, _ := row.Cell("s", "t")
		return c.Timestamp, nil
	}
	if got, err := of("{y}-{m:02}-{d:02}"); got != 1704758400000000 || err != nil {
		t.Errorf("%d, %v", got, err)
	}
	for ts, want := range map[string]string{"{y}-{m}-{d}": `makes a timestamp: "2024-1-9" is not a timestamp`, "{y}-{no}": "the timestamp needs one", "{y": "{ without }"} {
		if _, err := of(ts); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", ts, err, want)
		}
	}
}

// A key without a field makes one row, which is meant if fields name all columns.
func TestAWholeFileCanBeOneRow(t *testing.T) {
	db := pathsDB(t)
	res, err := Import(t.Context(), db, "t", Spec{Path: "stdin", Format: "csv", In: strings.NewReader("site,n\nhttps://b.example/,1\nhttps://a.example/,2\n"), Key: "all",
		Columns: []Mapping{{Family: "i", Template: "{site:reversed}", Field: "n"}}})
	if err != nil || res.Rows != 1 || res.Cells != 2 {
		t.Fatalf("%+v, %v", res, err)
	}
	if got, want := cellsOf(t, db), []string{"all i:example.a/=i32 2", "all i:example.b/=i32 1"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
