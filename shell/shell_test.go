package shell_test

import (
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/shell/shelltest"
)

// openMemory opens an empty database whose clock stands still.
func openMemory(t testing.TB) *query.DB {
	t.Helper()
	return shelltest.OpenStill(t, query.OpenInMemory, query.Options{})
}

// TestTranscripts runs the scripts in testdata and compares their output. Every file
// has a database of its own, every case a session. Arguments: width=N makes the output
// a terminal, format=F, use=T, keep-going, must-exist.
func TestTranscripts(t *testing.T) {
	datadriven.Walk(t, "testdata/transcripts", func(t *testing.T, path string) {
		db := openMemory(t)
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string { return shelltest.Transcript(t, db, d) })
	})
}
