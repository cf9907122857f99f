package shell_test

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/smolwc/smolwc/query"
)

// Every engine says the same, to the byte, from memory and from files. The scripts are
// those of [TestTranscripts] and of package exec, which also have the text that is right.
func TestEnginesSayTheSame(t *testing.T) {
	var files []string
	for _, pattern := range []string{"testdata/transcripts/*", "../ql/exec/testdata/run/*"} {
		found, err := filepath.Glob(pattern)
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: %q, %v", pattern, found, err)
		}
		files = append(files, found...)
	}
	// Prefixes of directories are drawn at random.
	files = slices.DeleteFunc(files, func(name string) bool { return filepath.Base(name) == "directories" })
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			all := contenders(t)
			datadriven.RunTest(t, file, func(t *testing.T, d *datadriven.TestData) string {
				if d.Cmd != "run" && d.Cmd != "setup" {
					return d.Expected
				}
				d.CmdArgs = append(d.CmdArgs, datadriven.CmdArg{Key: "keep-going"})
				var said string
				for i, c := range all {
					c.settle(t)
					got := ofTheEngine.ReplaceAllString(transcript(t, c.db, d), "…")
					if i == 0 {
						said = got
					} else if got != said {
						t.Errorf("%s: %s and %s differ:\n%s", d.Pos, all[0].name, c.name, difference(said, got))
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

// difference is what two texts have behind the lines with which both begin.
func difference(a, b string) string {
	of, from := strings.Split(a, "\n"), strings.Split(b, "\n")
	for len(of) > 1 && len(from) > 1 && of[0] == from[0] {
		of, from = of[1:], from[1:]
	}
	return strings.Join(of, "\n") + "\n-- and --\n" + strings.Join(from, "\n")
}

// A contender is a database on an engine.
type contender struct {
	name    string
	db      *query.DB
	compact bool // its tables, between scripts
}

// contenders are the databases to compare: on each engine of this build one in memory, and
// one in a directory whose cells are in files between scripts.
func contenders(t *testing.T) (all []*contender) {
	engines := []query.Engine{query.EnginePebble}
	if query.HasRocksDB {
		engines = append(engines, query.EngineRocksDB)
	}
	for _, e := range engines {
		dir := filepath.Join(t.TempDir(), "db")
		onDisk := func(o query.Options) (*query.DB, error) { return query.Open(dir, o) }
		o := query.Options{Engine: e, GCInterval: -1}
		all = append(all,
			&contender{name: fmt.Sprintf("%s in memory", e), db: openStill(t, query.OpenInMemory, o)},
			&contender{name: fmt.Sprintf("%s in files", e), db: openStill(t, onDisk, o), compact: true},
		)
	}
	return all
}

// settle brings the cells of a database in a directory into files.
func (c *contender) settle(t *testing.T) {
	t.Helper()
	if !c.compact {
		return
	}
	for _, table := range c.db.Schema().Tables {
		if err := c.db.Table(table.Name).Compact(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}
