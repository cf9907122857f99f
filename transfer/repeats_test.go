package transfer_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
	"github.com/smolwc/smolwc/transfer"
)

// far is a file of 70,000 lines. The last three repeat records more than 65,536 lines
// before them, or each other.
func far(t testing.TB) (path string, text []byte) {
	var b bytes.Buffer
	b.WriteString("id,n,d\n")
	for i := range 69_997 {
		fmt.Fprintf(&b, "%05d,%d,x\n", i*7919%69_997, i%100)
	}
	b.WriteString("69996x,1,x\n69996x,2,\"two\nlines\"\n69996x,3,x\n") // lines 69,999 to 70,002
	path = filepath.Join(t.TempDir(), "far.csv")
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path, b.Bytes()
}

// Repeated records are found at any distance, reported with their lines, and left out
// if bad lines are allowed, in every way of importing the file.
func TestRecordsThatRepeatOthersFarApart(t *testing.T) {
	path, text := far(t)
	pipe := filepath.Join(t.TempDir(), "p.csv")
	if err := transfer.Mkfifo(pipe); err != nil {
		t.Skip("no named pipes here:", err)
	}
	for _, c := range []struct {
		name, path string
		batch      int
		left       bool // left out, if bad lines are allowed
		rows       int64
	}{
		{"bulk", path, 0, true, 0},
		{"batches", path, 10_000, true, 0},
		{"bulk from a pipe", pipe, 0, false, 0},
		{"batches from a pipe", pipe, 10_000, false, 69_998},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "db")
			db := open(t, dir)
			imports := func(badLines int) (transfer.Result, string, error) {
				if c.path == pipe {
					go os.WriteFile(pipe, text, 0)
				}
				var warnings bytes.Buffer
				spec := largeSpec(c.path)
				spec.Batch, spec.BadLines, spec.Warn = c.batch, badLines, &warnings
				spec.Columns = append(spec.Columns, transfer.Mapping{Family: "meta", Qualifier: "d", Field: "d"})
				res, err := transfer.Import(t.Context(), db, "fleet", spec)
				return res, warnings.String(), err
			}
			_, _, err := imports(2)
			advice := "one of 3 bad lines; bad-lines=3 would leave them out"
			if !c.left {
				advice = "the file cannot be read again to leave that out"
			}
			for _, want := range []string{c.path + `:70000: makes the row key "r69996x", which line 69999 made;`, advice} {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("error %v\nlacks %q", err, want)
				}
			}
			if rows, _ := count(t, db); rows != c.rows {
				t.Errorf("%d rows after an import that was refused; want %d", rows, c.rows)
			}
			res, warnings, err := imports(3)
			if !c.left {
				if err == nil || !strings.Contains(err.Error(), "the file cannot be read again to leave that out") {
					t.Errorf("error %v", err)
				}
				return
			}
			if err != nil || res.Rows != 69_998 || res.Records != 69_998 || res.Cells != 2*69_998 || res.BadLines != 3 {
				t.Errorf("%+v, %v", res, err)
			}
			if strings.Count(warnings, "; left out\n") != 2 || !strings.Contains(warnings, ":70002: makes") {
				t.Errorf("warnings %q", warnings)
			}
			row, err := db.Table("fleet").ReadRow(t.Context(), "r69996x")
			if n, _ := row.I64("delay", "dep"); err != nil || n != 1 || row.Text("meta", "d") != "x" {
				t.Errorf("the first record is not what stays: %v, %v", row, err)
			}
			if _, err := os.Stat(filepath.Join(dir, "bulk")); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("files of the import are left: %v", err)
			}
		})
	}
}

// countsSchema has a family that sets and one that adds.
func countsSchema() *schema.Schema {
	return &schema.Schema{Tables: []schema.Table{{Name: "t", Families: []schema.Family{
		{Name: "set"}, {Name: "other"}, {Name: "sum", Aggregate: schema.AggregateSum},
	}}}}
}

// The counts that an import reports are the table's afterwards, for every form and size
// of a file and every way of importing it.
func TestCountsAreThoseOfTheTable(t *testing.T) {
	column := func(family, field string) transfer.Mapping {
		return transfer.Mapping{Family: family, Qualifier: field, Field: field}
	}
	for _, form := range []struct {
		name, header string
		line         func(i int) string
		spec         transfer.Spec
		replaced     func(lines int) int64
	}{
		{
			name: "events of rows", header: "id,at,a,b",
			line: func(i int) string {
				if i%3 == 0 { // no cell in the family of the first record's first cell
					return fmt.Sprintf("%d,%d,,%d", i%97, i, i)
				}
				return fmt.Sprintf("%d,%d,%d,", i%97, i, i)
			},
			spec: transfer.Spec{Key: "r{id}", Timestamp: "at", Columns: []transfer.Mapping{column("set", "a"), column("other", "b")}},
		},
		{
			name: "the long form", header: "row,family,qualifier,timestamp,type,value",
			line:     func(i int) string { return fmt.Sprintf("r%d,set,q%d,%d,string,v%d", i%97, i%5, i%2, i) },
			replaced: func(lines int) int64 { return int64(lines - 970) },
		},
		{
			name: "names in fields", header: "id,a,b", // 97 rows of 7 columns
			line:     func(i int) string { return fmt.Sprintf("%d,%d,%d", i%97, i%7, i) },
			spec:     transfer.Spec{Key: "r{id}", Columns: []transfer.Mapping{{Family: "set", Template: "{a}", Field: "b"}}},
			replaced: func(lines int) int64 { return int64(lines - 97*7) },
		},
		{
			name: "adds", header: "id,a,b",
			line: func(i int) string { return fmt.Sprintf("%d,%d,%d", i%97, i, i) },
			spec: transfer.Spec{Key: "r{id}", Columns: []transfer.Mapping{column("sum", "a"), column("sum", "b")}},
		},
	} {
		for _, lines := range []int{1_500, 12_000} {
			for _, batch := range []int{0, 700} {
				t.Run(fmt.Sprintf("%s, %d lines, batch %d", form.name, lines, batch), func(t *testing.T) {
					var b strings.Builder
					b.WriteString(form.header + "\n")
					for i := range lines {
						b.WriteString(form.line(i) + "\n")
					}
					spec := form.spec
					spec.Path, spec.Batch = filepath.Join(t.TempDir(), "f.csv"), batch
					if err := os.WriteFile(spec.Path, []byte(b.String()), 0o600); err != nil {
						t.Fatal(err)
					}
					db, err := query.OpenInMemory(query.Options{Schema: countsSchema()})
					if err != nil {
						t.Fatal(err)
					}
					defer db.Close()
					res, err := transfer.Import(t.Context(), db, "t", spec)
					if err != nil {
						t.Fatal(err)
					}
					n, err := db.Table("t").Count(t.Context())
					if err != nil || res.Rows != n.Rows || res.Cells != n.Cells || res.Records != int64(lines) {
						t.Errorf("%+v of %d lines, and the table has %+v, %v", res, lines, n, err)
					}
					replaced := int64(0)
					if form.replaced != nil {
						replaced = form.replaced(lines)
					}
					if res.Replaced != replaced {
						t.Errorf("%d cells replaced, want %d", res.Replaced, replaced)
					}
				})
			}
		}
	}
}

// Rows that were written before a write failed are also counted as rows of the table.
func TestCountsOfAnImportThatStops(t *testing.T) {
	var b strings.Builder
	b.WriteString("row,family,qualifier,timestamp,type,value\n")
	for i := range 3_000 {
		fmt.Fprintf(&b, "r%d,meta,q,%d,string,v\n", i%70, i)
	}
	b.WriteString("r1,meta,q,x,string,v\n") // a bad line, which a pipe shows late
	pipe := filepath.Join(t.TempDir(), "p.csv")
	if err := transfer.Mkfifo(pipe); err != nil {
		t.Skip("no named pipes here:", err)
	}
	go os.WriteFile(pipe, []byte(b.String()), 0)
	db := open(t, filepath.Join(t.TempDir(), "db"))
	res, err := transfer.Import(t.Context(), db, "fleet", transfer.Spec{Path: pipe, Batch: 100})
	if err == nil || !strings.Contains(err.Error(), "; the 70 rows imported before it stay") || res.Rows != 70 {
		t.Errorf("%+v, %v", res, err)
	}
}

// The memory of an import does not grow with the file. The process is built without
// the race detector, which takes memory of its own.
func TestMemoryOfAnImportIsBounded(t *testing.T) {
	program := filepath.Join(t.TempDir(), "memory")
	build := exec.Command("../scripts/go", "build", "-ldflags=-w", "-o", program, "./testdata/memory")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	const (
		memory = 16 // in MiB, as is the additional memory
		beside = 64
		rows   = 800_000
	)
	// If other processes use the processors, the garbage collector may run late; an
	// import that keeps too much fails every attempt.
	var took []int
	for len(took) < 3 && (took == nil || took[len(took)-1] > memory+beside) {
		run := exec.Command(program, t.TempDir(), fmt.Sprint(rows), fmt.Sprint(memory))
		run.Env = append(os.Environ(), "GOGC=100", "GOMEMLIMIT=off")
		out, err := run.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		var kib int
		_, said, _ := strings.Cut(string(out), "peak ")
		if _, err := fmt.Sscan(said, &kib); err != nil || kib == 0 {
			t.Fatalf("it says %s", out)
		}
		took = append(took, kib>>10)
	}
	t.Logf("importing took %d MiB", took)
	if slices.Min(took) > memory+beside {
		t.Errorf("importing %d rows took %d MiB, with a budget of %d and %d beside", rows, took, memory, beside)
	}
}

// The time of an import in batches is that of its first row, not that of a cell that
// another program wrote with a time in the future.
func TestTheTimeOfBatchesIsNotThatOfAnOlderCell(t *testing.T) {
	db := openMemory(t)
	for q, v := range map[string]string{"x": "old", "y": "1"} { // the second is as in the file
		m := write.NewMutation()
		m.SetAt("any", q, cells.Timestamp(4102444800000000), cells.String(v))
		if err := db.Table("x").Apply(t.Context(), "r", m); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(t.TempDir(), "x.csv")
	if err := os.WriteFile(path, []byte("r,q,v\nr,y,1\nr,x,1\nr,z,1\nr,x,2\nr,z,2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	spec := transfer.Spec{Path: path, Key: "{r}", Columns: []transfer.Mapping{{Family: "any", Template: "{q}", Field: "v"}}, Batch: 1}
	if _, err := transfer.Import(t.Context(), db, "x", spec); err != nil {
		t.Fatal(err)
	}
	times := map[cells.Timestamp]int{}
	for row, err := range db.Table("x").ReadRows(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		for c := range row.Cells() {
			times[c.Timestamp]++
		}
	}
	if len(times) != 2 || times[4102444800000000] != 2 {
		t.Errorf("the cells have the times %v, want two: that of the old cells, and that of the import", times)
	}
}
