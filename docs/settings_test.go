package docs_test

import (
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/schema"
	"github.com/smolwc/smolwc/server"
)

var (
	keysInCode  = regexp.MustCompile(`(?:d\.mapping\(n?|keys\["tuning"\]|settings = )[^\n]*\[\]string\{([^}]*)\}`)
	quotedInGo  = regexp.MustCompile(`"([a-z_]+)"`)
	helpOfPage  = regexp.MustCompile("(?m)^\\| `(smolwc_[a-z_]+)` \\| [a-z]+ \\| .* \\|$")
	helpOfReply = regexp.MustCompile(`(?m)^# HELP (smolwc_[a-z_]+) (.*)\n# TYPE \S+ (\S+)$`)
)

// Every key of the configuration is on the page of settings.
func TestEverySettingIsOnThePage(t *testing.T) {
	page, found := read(t, "docs/settings.md"), 0
	files, err := filepath.Glob("../schema/*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		src, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, list := range keysInCode.FindAllStringSubmatch(string(src), -1) {
			for _, key := range quotedInGo.FindAllStringSubmatch(list[1], -1) {
				found++
				if !strings.Contains(page, "`"+key[1]+"`") {
					t.Errorf("docs/settings.md does not have %s, of %s", key[1], f)
				}
			}
		}
	}
	if found < 20 {
		t.Errorf("only %d keys were found in package schema", found)
	}
}

// The YAML on the page of settings is a valid schema.
func TestSettingsExample(t *testing.T) {
	for _, b := range slices.Concat(blocks(t, "docs/settings.md", "yaml"), blocks(t, "docs/start-emulator.md", "yaml")) {
		if _, err := schema.Parse([]byte(b.text())); err != nil {
			t.Errorf("%s:%d: %v", b.page, b.line, err)
		}
	}
}

// The table of metrics on the page is what a server answers.
func TestMetricsAreOnThePage(t *testing.T) {
	db := openDocumented(t)
	if err := db.CreateTable(t.Context(), schema.Table{Name: "fleet", Families: []schema.Family{{Name: "meta"}}}); err != nil {
		t.Fatal(err)
	}
	const name = "docs/metrics.md"
	page, lines := read(t, name), metrics(t, db)
	rows := helpOfPage.FindAllStringIndex(page, -1)
	const head = "| Metric | Type | Meaning |\n|---|---|---|\n"
	at := strings.Index(page, head) + len(head)
	end := at
	if len(rows) > 0 {
		end = rows[len(rows)-1][1] + 1
	}
	got := page[:at] + strings.Join(lines, "\n") + "\n" + page[end:]
	switch {
	case got == page:
	case *update:
		if err := os.WriteFile(filepath.Join("..", name), []byte(got), 0o644); err != nil {
			t.Error(err)
		}
	default:
		reportDifference(t, name, page, got)
	}
}

// The metrics of released versions are there: see docs/stability.md. A metric that a new
// minor version renames leaves the file, with a line in the changelog.
func TestReleasedMetricsStay(t *testing.T) {
	page := read(t, "docs/metrics.md")
	files, err := filepath.Glob("testdata/metrics-*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		released := strings.Fields(read(t, filepath.Join("docs", file)))
		for _, name := range released {
			if !strings.Contains(page, "`"+name+"`") {
				t.Errorf("%s: %s was released, and is gone", file, name)
			}
		}
		if len(released) < 40 {
			t.Errorf("%s: only %d metrics", file, len(released))
		}
	}
}

// metrics are lines of the table on the page, by name.
func metrics(t *testing.T, db *query.DB) []string {
	s, err := server.New(db, server.Options{})
	if err != nil {
		t.Fatal(err)
	}
	answer := httptest.NewRecorder()
	// A call, so that there are metrics of calls.
	s.HTTP().ServeHTTP(answer, httptest.NewRequest("GET", "http://127.0.0.1/v1/table", nil))
	answer = httptest.NewRecorder()
	s.HTTP().ServeHTTP(answer, httptest.NewRequest("GET", "http://127.0.0.1/metrics", nil))
	var lines []string
	for _, m := range helpOfReply.FindAllStringSubmatch(answer.Body.String(), -1) {
		lines = append(lines, fmt.Sprintf("| `%s` | %s | %s |", m[1], m[3], m[2]))
	}
	if len(lines) < 40 {
		t.Fatalf("only %d metrics in:\n%s", len(lines), answer.Body)
	}
	return lines
}
