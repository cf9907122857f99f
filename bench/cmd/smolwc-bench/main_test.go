package main

import (
	"bytes"
	"context"
	"encoding/json"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/smolwc/smolwc/bench/peers"
	"github.com/smolwc/smolwc/bench/report"
	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"smolwc-bench": main})
}

// The scripts of testdata/script read like sessions at a terminal; testscript's
// own documentation has their commands.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(env *testscript.Env) error {
			env.Setenv("GORACE", "atexit_sleep_ms=0") // otherwise a program with the race detector takes a second to end
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"database": database},
	})
}

// database DIR makes a database with an empty table and with a table t, in which
// retention hides one of four cells.
func database(ts *testscript.TestScript, _ bool, args []string) {
	db, err := query.Open(ts.MkAbs(args[0]), query.Options{Schema: &schema.Schema{Tables: []schema.Table{
		{Name: "empty", Families: []schema.Family{{Name: "a"}}},
		{Name: "t", Families: []schema.Family{{Name: "a", GC: schema.MaxVersions(1)}, {Name: "b", Type: cells.TypeI64}}},
	}}})
	ts.Check(err)
	defer func() { ts.Check(db.Close()) }()
	for _, put := range []struct {
		row, family string
		value       cells.Value
	}{
		{"r1", "a", cells.Bytes([]byte("1"))},
		{"r1", "b", cells.I64(1)},
		{"r1", "a", cells.Bytes([]byte("2"))},
		{"r2", "b", cells.I64(2)},
	} {
		m := write.NewMutation()
		m.Set(put.family, "x", put.value)
		ts.Check(db.Table("t").Apply(context.Background(), put.row, m))
	}
}

// Every peer reads the same cells as C: the run fails if the counts differ.
func TestPeersDoTheSame(t *testing.T) {
	var out bytes.Buffer
	args := []string{"-cells", "1000", "-rounds", "1", "-memory", "64Mi", "-json", "-dir", t.TempDir(), "-run", "scan|count|get|fill|batch|ycsb|sessions"}
	if err := do(t.Context(), args, &out); err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	lines := json.NewDecoder(&out)
	for lines.More() {
		var l report.Line
		if err := lines.Decode(&l); err != nil {
			t.Fatal(err)
		}
		if l.Result != nil {
			seen[l.Result.Contender]++
		}
	}
	for _, p := range peers.All() {
		if seen[p.Name] == 0 || seen[p.Name] != seen["C"] {
			t.Errorf("%s has %d results and C %d", p.Name, seen[p.Name], seen["C"])
		}
	}
}
