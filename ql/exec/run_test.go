package exec_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/cockroachdb/datadriven"

	"github.com/smolwc/smolwc/ql"
	"github.com/smolwc/smolwc/ql/exec"
	"github.com/smolwc/smolwc/ql/lex"
	"github.com/smolwc/smolwc/query"
)

// openMemory opens an empty database whose clock stands still at
// 2024-07-04T12:00:00Z; writes are a microsecond apart.
func openMemory(t testing.TB) *query.DB {
	t.Helper()
	now := time.Date(2024, 7, 4, 12, 0, 0, 0, time.UTC)
	db, err := query.OpenInMemory(query.Options{Clock: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

// aboutText is the estimate of less than half of a table. It depends on how the engine rounds.
var aboutText = regexp.MustCompile(`(?m)^(estimate: about )\d+ cells?, [1-4]?\d% of the rows$`)

// TestStatementsRun runs the files in testdata/run: statements in, results out.
// Every file has a database of its own.
func TestStatementsRun(t *testing.T) {
	datadriven.Walk(t, "testdata/run", func(t *testing.T, path string) {
		r, known := &exec.Runner{DB: openMemory(t)}, ids{}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if d.Cmd == "directories" {
				return makeDirectories(t, r.DB, d.Input)
			}
			if d.Cmd == "items" {
				return addItems(t, r.DB, known, d.Input)
			}
			r.Limit, r.Confirm = 0, nil
			asked := ""
			d.MaybeScanArgs(t, "limit", &r.Limit)
			if d.HasArg("confirm") {
				var answer string
				d.ScanArgs(t, "confirm", &answer)
				r.Confirm = func(question string) (bool, error) {
					asked = question
					return answer == "yes", nil
				}
			}
			out := aboutText.ReplaceAllString(known.outOf(runAll(t, r, known.into(d.Input))), "${1}…")
			if asked != "" {
				out = "asked: " + asked + "\n" + out
			}
			return out
		})
	})
}

func runAll(t testing.TB, r *exec.Runner, script string) string {
	var out strings.Builder
	reader := ql.NewReader(strings.NewReader(script))
	for {
		src, _ := reader.Next() // a text that is cut off does not parse
		if src.Text == "" {
			return out.String()
		}
		st, err := ql.Env{}.Parse(src)
		if err == nil {
			err = runOne(&out, r, st)
		}
		if err != nil {
			var bad *lex.Error
			if !errors.As(err, &bad) {
				t.Fatalf("%s: error of type %T", src.Text, err)
			}
			if strings.ContainsFunc(err.Error(), func(r rune) bool { return r == unicode.ReplacementChar || !unicode.IsPrint(r) }) {
				t.Fatalf("%q must not be written to a terminal", err)
			}
			fmt.Fprintf(&out, "error %s", err)
			if kind := query.KindOf(err); kind != query.KindInternal {
				fmt.Fprintf(&out, " [%s]", kind)
			}
			out.WriteString("\n")
		}
	}
}

func runOne(out *strings.Builder, r *exec.Runner, st ql.Statement) error {
	res, err := r.Run(context.Background(), st)
	if err != nil {
		return err
	}
	switch res := res.(type) {
	case *exec.RowStream:
		for row, err := range res.All() {
			if err != nil {
				return err
			}
			out.WriteString(ql.QuoteRowKey(res.Table, row.Key()))
			for c := range row.Cells() {
				fmt.Fprintf(out, " %s=%s@%s", lex.QuoteColumn(c.Family, c.Qualifier), lex.QuoteValue(c.Value), lex.FormatTimestamp(c.Timestamp, nil))
			}
			out.WriteString("\n")
		}
		if token := res.NextPage(); token != "" {
			fmt.Fprintf(out, "next page: %s\n", ql.Print(res.Next()))
		}
		if res.More() {
			fmt.Fprintf(out, "more: %s\n", ql.Print(res.Next()))
		}
	case *exec.Counted:
		if res.About {
			out.WriteString("about ")
		}
		fmt.Fprintf(out, "%d rows", res.Rows)
		if res.WithCells {
			fmt.Fprintf(out, ", %d cells", res.Cells)
		}
		out.WriteString("\n")
	case *exec.Explained:
		for _, s := range res.Steps() {
			fmt.Fprintf(out, "%s: %s\n", s.Name, inFiles.ReplaceAllString(s.Text, ""))
		}
		if c := res.Cost; c != nil {
			fmt.Fprintf(out, "returned %+v of %d families\n", c.Returned, c.Families)
		}
	case *exec.Listing:
		fmt.Fprintln(out, strings.Join(res.Columns, " "))
		for _, line := range res.Lines {
			fmt.Fprintln(out, line...)
		}
		if res.Line != nil {
			fmt.Fprintln(out, res.Line)
		}
		for _, note := range res.Notes {
			fmt.Fprintln(out, "--", note)
		}
	case *exec.Statistics:
		for _, line := range res.Families.Lines {
			fmt.Fprintln(out, line[:2]...)
		}
		for _, f := range res.Engine {
			fmt.Fprintln(out, f.Name, f.Unit)
		}
	case *exec.Collected:
		for _, f := range res.Families {
			fmt.Fprintf(out, "%+v\n", f)
		}
	case *exec.Modified:
		fmt.Fprintf(out, "%s %s@%s\n", lex.QuoteKey(res.Row.Key()), lex.QuoteValue(res.Cell.Value), lex.FormatTimestamp(res.Cell.Timestamp, nil))
	case *exec.Differences:
		for _, d := range res.Cells {
			fmt.Fprintf(out, "%s %s", lex.QuoteKey(d.Key), lex.QuoteColumn(d.Family, d.Qualifier))
			for _, c := range d.In {
				if c == nil {
					out.WriteString(" -")
				} else {
					fmt.Fprintf(out, " %s@%s", lex.QuoteValue(c.Value), lex.FormatTimestamp(c.Timestamp, nil))
				}
			}
			out.WriteString("\n")
		}
		fmt.Fprintf(out, "%d differences in %d rows\n", res.Count, res.Rows)
	case *exec.Watched:
		for c, err := range res.All() {
			if err != nil {
				return err
			}
			fmt.Fprintf(out, "%s %s", lex.FormatTimestamp(c.Time, nil), lex.QuoteKey(c.Key))
			for _, change := range c.Changes {
				fmt.Fprintf(out, " %d:%s", change.Kind, lex.QuoteColumn(change.Family, change.Qualifier))
			}
			out.WriteString("\n")
		}
	case *exec.Matched:
		fmt.Fprintf(out, "matched %t\n", res.Matched)
	case *exec.Done:
		out.WriteString(res.Message + "\n")
	case *exec.TableList:
		for _, t := range res.Tables {
			out.WriteString(t.Name + "\n")
		}
		for _, v := range res.Views {
			out.WriteString(v.Name + " " + v.Kind() + "\n")
		}
	case *exec.Description:
		for _, f := range res.Table.Families {
			out.WriteString(f.String() + "\n")
		}
	case *exec.HelpText:
		out.WriteString(res.Text)
	case *exec.Leave:
		out.WriteString("bye\n")
	}
	return nil
}

// inFiles matches figures that depend on the engine's compression.
var inFiles = regexp.MustCompile(`, \d+ bytes? in files`)

func TestExamplesInHelpRun(t *testing.T) {
	r := &exec.Runner{DB: openMemory(t)}
	run := func(text string) {
		t.Helper()
		st, err := ql.Parse(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			return
		}
		var out strings.Builder
		if err := runOne(&out, r, st); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	run("create table fleet family meta versions=3, family flight ttl=2w")
	run("create table scratch family x")
	run("create table users family profile")
	run("create table directories family d type=bytes versions=1")
	makeDirectories(t, r.DB, "tenants 15a0\ntenants/acme 15a1") // a drawn prefix could be that of the queue's rows
	run("create table queues family q")
	addItems(t, r.DB, ids{}, `acme send-receipt a`)
	examples := 0
	for _, topic := range append([]string{"create", "alter"}, ql.HelpTopics()...) { // the other statements use their effects
		if topic == "create" && examples > 0 || topic == "alter" && examples > 1 {
			continue // had its turn
		}
		page, err := ql.HelpPage(topic)
		if err != nil {
			t.Fatal(err)
		}
		_, list, _ := strings.Cut(page, "\nExamples:\n")
		for line := range strings.Lines(list) {
			run(strings.TrimSpace(line))
			examples++
		}
	}
	if examples < 20 {
		t.Errorf("only %d examples", examples)
	}
}

// The native form that is shown for an HBase put can be typed: numbers are in quotes
// only if the column takes text.
func TestNativeFormsOfHBasePutsCanBeTyped(t *testing.T) {
	r := &exec.Runner{DB: openMemory(t)}
	runAll(t, r, "create table t family any, family n type=i32, family b type=bool, family s type=string")
	for text, want := range map[string]string{
		`put 't', 'k', 'any:x', '42'`:  `put t k any:x="42"`,
		`put 't', 'k', 'n:x', '42'`:    `put t k n:x=42`,
		`put 't', 'k', 'b:x', 'true'`:  `put t k b:x=true`,
		`put 't', 'k', 's:x', '42', 7`: `put t k s:x="42"@7000`,
		`scan 't', {LIMIT => 3}`:       `scan t limit=3`,
		`set t k n:x=42 any:x=42`:      `put t k n:x=42 any:x="42"`,
		`alter 't', NAME => 'new'`:     `alter table t add family new max_versions=1`,
	} {
		st, err := ql.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		native := r.Native(st)
		if native != want {
			t.Errorf("%s is %s, want %s", text, native, want)
		}
		if out := runAll(t, r, native); strings.Contains(out, "error") {
			t.Errorf("%s: %s", native, out)
		}
	}
}
