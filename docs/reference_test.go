package docs_test

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/ql"
	"github.com/smolwc/smolwc/shell"
)

const shellPages = "the pages docs/shell*.md"

// section is the part of the shell's pages under this heading, of the second or third
// level.
func section(t *testing.T, heading string) string {
	t.Helper()
	at := regexp.MustCompile(`(?m)^###? ` + regexp.QuoteMeta(heading) + `$`)
	for _, page := range append([]string{"docs/shell.md"}, languagePages...) {
		text := read(t, page)
		if found := at.FindStringIndex(text); found != nil {
			text, _, _ = strings.Cut(text[found[1]:], "\n## ")
			text, _, _ = strings.Cut(text, "\n### ")
			return text
		}
	}
	t.Errorf("%s have no heading %q", shellPages, heading)
	return ""
}

// Every statement has a section that names its options.
func TestEveryStatementIsOnThePage(t *testing.T) {
	mentioned := 0
	for _, verb := range ql.Verbs() {
		text := section(t, verb)
		for _, begin := range []string{" t ", " t k ", " t keys ", " t k a:b ", " table t family f ", " table t set f ", " t from f ", " "} {
			begin = verb + begin
			for _, want := range (ql.Env{}).Expect(begin, len(begin)).Wants {
				if want.Kind != ql.ExpectOption {
					continue
				}
				for _, option := range want.Candidates {
					mentioned++
					if !strings.Contains(text, option) {
						t.Errorf("%s do not mention %s in the section on %s", shellPages, option, verb)
					}
				}
			}
		}
	}
	if mentioned < 60 {
		t.Errorf("only %d options", mentioned)
	}
}

// Every command of the session is in the table, with all its spellings.
func TestEveryCommandIsOnThePage(t *testing.T) {
	var out strings.Builder
	s := shell.New(shell.Options{DB: openDocumented(t), Out: &out, Err: &out})
	if err := s.RunStatement(context.Background(), ".help"); err != nil {
		t.Fatal(err)
	}
	table := section(t, "Commands of the session")
	commands := regexp.MustCompile(`(?m)^  (\.\w+)[^(\n]*?(?:\(([^)]*)\))?  `).FindAllStringSubmatch(out.String(), -1)
	if len(commands) < 10 {
		t.Fatalf("only %d commands in\n%s", len(commands), out.String())
	}
	for _, m := range commands {
		for _, word := range append([]string{m[1]}, strings.Fields(m[2])...) {
			if !strings.Contains(table, "`"+word+"`") && !strings.Contains(table, "`"+word+" ") {
				t.Errorf("%s do not list the command %s", shellPages, word)
			}
		}
	}
}

// Every format, type and flag of the command is in its section.
func TestNamesAreOnThePage(t *testing.T) {
	var types []string
	for typ := cells.TypeBytes; typ <= cells.TypeF64; typ++ {
		types = append(types, typ.String())
	}
	for heading, names := range map[string][]string{"Formats": shell.Formats, "Values": types, "Running it": flags(t)} {
		text := section(t, heading)
		if heading == "Running it" {
			text += section(t, "Commands")
			for _, page := range []string{"serve", "limits", "standby", "failover", "moments", "testing", "route", "tikv", "mcp"} { // to which it leads
				text += read(t, "docs/"+page+".md")
			}
		}
		for _, name := range names {
			if !regexp.MustCompile(`(^|[^\w-])` + name + `($|[^\w-])`).MatchString(text) {
				t.Errorf("%s do not mention %s under %q", shellPages, name, heading)
			}
		}
	}
}

var flagName = regexp.MustCompile(`(?m)[fF]lags(?:\(\))?\.\w+\([^"\n]*"([a-z-]+)"`)

// flags are the flags that the command declares.
func flags(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("../cli/*.go")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, f := range files {
		src, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range flagName.FindAllStringSubmatch(string(src), -1) {
			found = append(found, "--"+m[1])
		}
	}
	if len(found) < 10 {
		t.Errorf("only %d flags found in cli: %q", len(found), found)
	}
	return found
}
