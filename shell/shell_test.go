package shell_test

import (
	"bytes"
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/cockroachdb/datadriven"

	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/shell"
)

// openMemory opens an empty database whose clock stands still.
func openMemory(t testing.TB) *query.DB {
	t.Helper()
	return openStill(t, query.OpenInMemory, query.Options{})
}

// openStill opens a database whose clock stands still. It is closed when the test ends.
func openStill(t testing.TB, open func(query.Options) (*query.DB, error), o query.Options) *query.DB {
	t.Helper()
	now := time.Date(2024, 7, 4, 12, 0, 0, 0, time.UTC)
	o.Clock = func() time.Time { return now }
	db, err := open(o)
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

// runScript runs a script in a session of its own and returns what it wrote.
func runScript(t testing.TB, o shell.Options, script string) (out, errs string, err error) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	o.Out, o.Err = &stdout, &stderr
	s := shell.New(o)
	err = s.RunScript(context.Background(), "script", strings.NewReader(script))
	if closeErr := s.Close(); closeErr != nil {
		t.Error(closeErr)
	}
	return stdout.String(), stderr.String(), err
}

// The time and cost of a read, which transcripts leave out because they depend on the
// engine.
var (
	effortText = regexp.MustCompile(`(?m)(^time\W+|^seeks\W+|looked at\W+)\w.*$`)
	effortJSON = regexp.MustCompile(`("(?:micros|seeks|rows_scanned|tombstones|cells_scanned|bytes_scanned)":)\d+`)
)

// TestTranscripts runs the scripts in testdata and compares their output. Every file
// has a database of its own, every case a session. Arguments: width=N makes the output
// a terminal, format=F, use=T, keep-going, must-exist.
func TestTranscripts(t *testing.T) {
	datadriven.Walk(t, "testdata/transcripts", func(t *testing.T, path string) {
		db := openMemory(t)
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string { return transcript(t, db, d) })
	})
}

// transcript runs a script, and returns what a person sees of it.
func transcript(t *testing.T, db *query.DB, d *datadriven.TestData) string {
	o := shell.Options{DB: db, Version: "1.2.3", KeepGoing: d.HasArg("keep-going"), MustExist: d.HasArg("must-exist"), Quiet: d.HasArg("quiet")}
	width := 0
	d.MaybeScanArgs(t, "width", &width)
	d.MaybeScanArgs(t, "format", &o.Format)
	d.MaybeScanArgs(t, "use", &o.Table)
	o.Terminal = width > 0
	o.Width = func() int { return width }
	out, errs, err := runScript(t, o, d.Input)
	if d.Cmd == "setup" && err == nil {
		return ""
	}
	checkLines(t, out, width)
	if errs != "" {
		out += "stderr: " + strings.ReplaceAll(strings.TrimSuffix(errs, "\n"), "\n", "\nstderr: ") + "\n"
	}
	if code := shell.ExitCode(err); code != 0 {
		out += fmt.Sprintf("exit code %d\n", code)
	}
	return effortJSON.ReplaceAllString(effortText.ReplaceAllString(out, "${1}…"), "${1}0")
}

// checkLines fails when text must not reach a terminal.
func checkLines(t *testing.T, text string, width int) {
	t.Helper()
	if width == 0 {
		return
	}
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		for _, r := range line {
			if !unicode.IsPrint(r) && r != '\t' {
				t.Errorf("%q holds %U", line, r)
			}
		}
		if !utf8.ValidString(line) {
			t.Errorf("%q is not UTF-8", line)
		}
	}
}
