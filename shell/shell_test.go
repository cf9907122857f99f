package shell_test

import (
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/shell"
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

// Two columns of one name, as those of a join, are two members of an object of JSON.
func TestAnObjectHasANameOnce(t *testing.T) {
	db := openMemory(t)
	o := shell.Options{DB: db, Format: "jsonl"}
	out, _, err := shelltest.Run(t, o, "select 1 as a, 2 as a, 3 as a_2, 4, 5")
	if want := `{"a":1,"a_2":2,"a_2_2":3,"f3_":4,"f4_":5}` + "\n"; err != nil || out != want {
		t.Errorf("%s, %v", out, err)
	}
	o.Format = "csv"
	if out, _, _ := shelltest.Run(t, o, "select 1 as a, 2 as a"); out != "a,a\n1,2\n" {
		t.Errorf("CSV: %s", out)
	}
}
