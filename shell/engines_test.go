package shell_test

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/shell/shelltest"
)

// Every engine says the same, to the byte, from memory and from files. TiKV joins them in
// its own module.
func TestEnginesSayTheSame(t *testing.T) {
	shelltest.SayTheSame(t, "..", false, func(t *testing.T) (all []shelltest.Contender) {
		engines := []query.Engine{query.EnginePebble}
		if query.HasRocksDB {
			engines = append(engines, query.EngineRocksDB)
		}
		for _, e := range engines {
			dir := filepath.Join(t.TempDir(), "db")
			o := query.Options{Engine: e, GCInterval: -1}
			memory := shelltest.OpenStill(t, query.OpenInMemory, o)
			files := shelltest.OpenStill(t, func(o query.Options) (*query.DB, error) { return query.Open(dir, o) }, o)
			all = append(all,
				shelltest.Contender{Name: fmt.Sprintf("%s in memory", e), DB: memory},
				shelltest.Contender{Name: fmt.Sprintf("%s in files", e), DB: files, Settle: func(t *testing.T) { intoFiles(t, files) }},
			)
		}
		return all
	})
}

// Where each version has a time of its own, as in a cluster, the digits of the times that are
// shown change nothing else.
func TestOtherTimesSayTheSame(t *testing.T) {
	shelltest.SayTheSame(t, "..", true, func(t *testing.T) (all []shelltest.Contender) {
		for _, step := range []time.Duration{time.Microsecond, time.Millisecond, 100 * time.Millisecond, time.Second} {
			db := shelltest.OpenSteps(t, step, query.OpenInMemory, query.Options{Engine: query.EnginePebble, GCInterval: -1})
			all = append(all, shelltest.Contender{Name: fmt.Sprint("steps of ", step), DB: db})
		}
		return all
	})
}

// intoFiles brings the cells of a database into files.
func intoFiles(t *testing.T, db *query.DB) {
	t.Helper()
	for _, table := range db.Schema().Tables {
		if err := db.Table(table.Name).Compact(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}
