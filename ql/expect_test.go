package ql_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/smolwc/smolwc/ql"
	"github.com/smolwc/smolwc/ql/lex"
)

// TestWhatMayStandAtTheCursor runs testdata/expect: texts that end at the cursor, one a
// line (\n stands for a newline), with a . at their end. The output is what may follow
// there.
func TestWhatMayStandAtTheCursor(t *testing.T) {
	datadriven.RunTest(t, "testdata/expect", func(t *testing.T, d *datadriven.TestData) string {
		var env ql.Env
		d.MaybeScanArgs(t, "use", &env.Table)
		env.IsTable = func(name string) bool { return name == "fleet" }
		var out strings.Builder
		for line := range strings.SplitSeq(d.Input, "\n") {
			text := strings.ReplaceAll(strings.TrimSuffix(line, "."), `\n`, "\n")
			got := env.Expect(text+" and what is behind", len(text))
			fmt.Fprintf(&out, "%s\n", line)
			writeExpected(&out, text, got)
		}
		return out.String()
	})
}

var kinds = map[ql.ExpectKind]string{
	ql.ExpectVerb: "verb", ql.ExpectKeyword: "keyword", ql.ExpectOption: "option", ql.ExpectChoice: "choice", ql.ExpectTopic: "topic",
	ql.ExpectTable: "table", ql.ExpectFamily: "family", ql.ExpectColumn: "column", ql.ExpectQualifier: "qualifier", ql.ExpectKey: "key", ql.ExpectFile: "file",
	ql.ExpectPath: "path", ql.ExpectZone: "zone", ql.ExpectItem: "item",
}

func writeExpected(out *strings.Builder, text string, e ql.Expected) {
	if e.Begin < len(text) {
		fmt.Fprintf(out, "  replaces %q\n", text[e.Begin:])
	}
	if e.Quote != 0 {
		fmt.Fprintf(out, "  within %c\n", e.Quote)
	}
	if e.Session {
		out.WriteString("  a command of the session\n")
	}
	for _, w := range e.Wants {
		fmt.Fprintf(out, "  %s", kinds[w.Kind])
		if w.Kind != ql.ExpectVerb && w.Table != "" {
			fmt.Fprintf(out, " of %s", w.Table)
		}
		if w.Family != "" {
			fmt.Fprintf(out, " in %s", w.Family)
		}
		if len(w.Path) > 0 {
			fmt.Fprintf(out, " in %s", lex.QuotePath(w.Path))
		}
		if w.Zone != "" {
			fmt.Fprintf(out, " in %s", lex.QuoteKey(w.Zone))
		}
		if w.Alone {
			out.WriteString(" alone")
		}
		matching := slices.Clone(w.Candidates)
		matching = slices.DeleteFunc(matching, func(c string) bool { return !strings.HasPrefix(c, w.Prefix) })
		if len(matching) > 8 {
			matching = append(matching[:8], "..")
		}
		if len(w.Candidates) > 0 {
			fmt.Fprintf(out, ": %s", strings.Join(matching, " "))
		}
		if w.Prefix != "" {
			fmt.Fprintf(out, " <- %q", w.Prefix)
		}
		out.WriteString("\n")
	}
}

// TestExpectAtEveryPlaceOfEveryStatement walks a cursor through statements of every form.
func TestExpectAtEveryPlaceOfEveryStatement(t *testing.T) {
	for _, text := range statementForms {
		for cursor := -1; cursor <= len(text)+1; cursor++ {
			e := ql.Env{}.Expect(text, cursor)
			if e.Begin < 0 || e.Begin > len(text) {
				t.Fatalf("%q at %d: the word begins at %d", text, cursor, e.Begin)
			}
		}
	}
}
