// Package shelltest runs scripts of the shell on different engines and compares the
// output. Tests of other modules use it, too.
package shelltest

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/cockroachdb/datadriven"

	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/shell"
)

// OpenStill opens a database whose clock stands still. It is closed when the test ends.
func OpenStill(t testing.TB, open func(query.Options) (*query.DB, error), o query.Options) *query.DB {
	t.Helper()
	return OpenSteps(t, 0, open, o)
}

// OpenSteps is OpenStill with a clock that makes a step whenever it is read.
func OpenSteps(t testing.TB, step time.Duration, open func(query.Options) (*query.DB, error), o query.Options) *query.DB {
	t.Helper()
	start := time.Date(2024, 7, 4, 12, 0, 0, 0, time.UTC)
	var reads atomic.Int64
	o.Clock = func() time.Time { return start.Add(time.Duration(reads.Add(1)-1) * step) }
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

// Run runs a script in a session of its own and returns its output.
func Run(t testing.TB, o shell.Options, script string) (out, errs string, err error) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	o.Out, o.Err, o.Patient = &stdout, &stderr, true
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
	effortJSON = regexp.MustCompile(`("(?:micros|seeks|rows_scanned|tombstones|cells_scanned|bytes_scanned|(?:ended|written)_position)":)\d+`)
)

// Transcript runs a script, and returns its output as a person sees it.
func Transcript(t *testing.T, db *query.DB, d *datadriven.TestData) string {
	o := shell.Options{DB: db, Version: "1.2.3", KeepGoing: d.HasArg("keep-going"), MustExist: d.HasArg("must-exist"), Quiet: d.HasArg("quiet")}
	width := 0
	d.MaybeScanArgs(t, "width", &width)
	d.MaybeScanArgs(t, "format", &o.Format)
	d.MaybeScanArgs(t, "use", &o.Table)
	o.Terminal = width > 0
	o.Width = func() int { return width }
	out, errs, err := Run(t, o, d.Input)
	if d.Cmd == "setup" && err == nil {
		return ""
	}
	CheckLines(t, out, width)
	if errs != "" {
		out += "stderr: " + strings.ReplaceAll(strings.TrimSuffix(errs, "\n"), "\n", "\nstderr: ") + "\n"
	}
	if code := shell.ExitCode(err); code != 0 {
		out += fmt.Sprintf("exit code %d\n", code)
	}
	return effortJSON.ReplaceAllString(effortText.ReplaceAllString(out, "${1}…"), "${1}0")
}

// CheckLines fails when text must not reach a terminal.
func CheckLines(t *testing.T, text string, width int) {
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

// A Contender is a database that must say the same as the others. Settle, if it is not nil,
// is called before each script.
type Contender struct {
	Name   string
	DB     *query.DB
	Settle func(*testing.T)
}

// SayTheSame runs the scripts of the shell and of package exec, some hundred statements, on
// new contenders for each file, and compares their output byte by byte. The right output stands
// in the scripts, and is not compared here. The root is the repository's. With ownTime, some
// contenders give versions times of their own: times and the width of columns may differ.
// Lines are then long enough for all, because what is cut depends on the width of times.
func SayTheSame(t *testing.T, root string, ownTime bool, contenders func(*testing.T) []Contender) {
	var files []string
	for _, pattern := range []string{"shell/testdata/transcripts/*", "ql/exec/testdata/run/*"} {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: %q, %v", pattern, found, err)
		}
		files = append(files, found...)
	}
	// Prefixes of directories are drawn at random, and in a cluster why reads no log.
	files = slices.DeleteFunc(files, func(name string) bool {
		return filepath.Base(name) == "directories" || ownTime && filepath.Base(name) == "why-log"
	})
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			all := contenders(t)
			datadriven.RunTest(t, file, func(t *testing.T, d *datadriven.TestData) string {
				if d.Cmd != "run" && d.Cmd != "setup" {
					return d.Expected
				}
				d.CmdArgs = append(d.CmdArgs, datadriven.CmdArg{Key: "keep-going"})
				if ownTime {
					for i, a := range d.CmdArgs {
						if a.Key == "width" {
							d.CmdArgs[i].Vals = []string{"1000"}
						}
					}
				}
				var said string
				for i, c := range all {
					if c.Settle != nil {
						c.Settle(t)
					}
					got := ofTheEngine.ReplaceAllString(Transcript(t, c.DB, d), "…")
					if ownTime {
						got = space.ReplaceAllString(clock.ReplaceAllString(got, "time"), " ")
					}
					if i == 0 {
						said = got
					} else if got != said {
						t.Errorf("%s: %s and %s differ:\n%s", d.Pos, all[0].Name, c.Name, difference(said, got))
					}
				}
				return d.Expected
			})
		})
	}
}

// ofTheEngine is what depends on the engine, its estimates and the figures of its files, and
// tokens, which are drawn at random. Estimates make the last column of Markdown wide.
var ofTheEngine = regexp.MustCompile(`(?m)^.*estimate\W.*(about|nothing) .*$|^.*\{"families":.*$|"estimate":\{[^}]*\}|"bytes":\d+|"token":"[^"]*"|[ -]+\|$`)

// Times of versions, in text and in microseconds, and the space between columns.
var (
	clock = regexp.MustCompile(`\d{4}[-/]\d\d[-/]\d\d[-T ]\d\d:\d\d:\d\d[.\d]*(Z|[-+]\d\d:\d\d)?|\b\d{16}\b`)
	space = regexp.MustCompile(`[ -]+`)
)

// difference returns two texts without the lines with which both begin.
func difference(a, b string) string {
	of, from := strings.Split(a, "\n"), strings.Split(b, "\n")
	for len(of) > 1 && len(from) > 1 && of[0] == from[0] {
		of, from = of[1:], from[1:]
	}
	return strings.Join(of, "\n") + "\n-- and --\n" + strings.Join(from, "\n")
}
