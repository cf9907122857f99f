package query_test

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
)

var besideFor = flag.Duration("beside", 3*time.Second, "how long TestReadersBesideABusyWriter goes on")

const busyDir = "SMOLWC_TEST_BUSY_DIR"

// busySchema has the table t, and a wide one of a hundred families.
func busySchema() *schema.Schema {
	s, wide := pairSchema(), schema.Table{Name: "wide"}
	for i := range 100 {
		wide.Families = append(wide.Families, schema.Family{Name: fmt.Sprintf("f%02d", i)})
	}
	s.Tables = append(s.Tables, wide)
	return s
}

// TestBusyWriterProcess is the child of TestReadersBesideABusyWriter. It writes the
// same number to all families, flushes them, creates and drops a table, compacts, and
// closes and reopens the database, until it is killed.
func TestBusyWriterProcess(t *testing.T) {
	dir := os.Getenv(busyDir)
	if dir == "" {
		t.Skip("the child of another test")
	}
	ctx, extra := t.Context(), schema.Table{Name: "extra", Families: []schema.Family{{Name: "a"}, {Name: "b"}}}
	for n := int64(1); ; {
		db, err := query.Open(dir, query.Options{Schema: busySchema(), Durability: query.DurabilityAsync})
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		for range 20 {
			if err := db.Apply(ctx, everywhere(n)); err != nil {
				t.Fatal(err)
			}
			fmt.Printf("\nwrote %d\n", n)
			n++
			if err := errors.Join(db.Table("wide").Flush(ctx), db.CreateTable(ctx, extra), db.DropTable(ctx, "extra")); err != nil {
				t.Fatal(err)
			}
			time.Sleep(20 * time.Millisecond)
		}
		time.Sleep(time.Since(began) / 2) // enough for an open to succeed, also on a slow machine
		if err := errors.Join(db.Table("wide").Compact(ctx), db.Close()); err != nil {
			t.Fatal(err)
		}
	}
}

// everywhere sets a number in each family.
func everywhere(n int64) *write.Batch {
	b := write.NewBatch()
	for _, t := range busySchema().Tables {
		m := write.NewMutation()
		for _, f := range t.Families {
			m.SetAt(f.Name, "n", 0, cells.I64(n))
		}
		b.Add(t.Name, "row", m)
	}
	return b
}

// TestReadersBesideABusyWriter opens, refreshes, reads and checks a database while
// another process changes its files all the time, from the first one on. A reader may
// report that the files change too fast; it never finds damage, a part of a write, or
// fewer writes than were acknowledged.
func TestReadersBesideABusyWriter(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "db")
	cmd := exec.Command(os.Args[0], "-test.run=^TestBusyWriterProcess$")
	cmd.Env = append(os.Environ(), busyDir+"="+dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var acknowledged atomic.Int64
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for said := bufio.NewScanner(out); said.Scan(); {
			if n, err := strconv.ParseInt(trimWrote(said.Text()), 10, 64); err == nil {
				acknowledged.Store(n)
			}
		}
	}()
	defer func() {
		_ = cmd.Process.Kill()
		<-ended
		_ = cmd.Wait()
	}()
	r := besideReader{t: t, dir: dir, acknowledged: &acknowledged}
	for began := time.Now(); !t.Failed() && (r.opened == 0 || time.Since(began) < *besideFor); {
		select {
		case <-ended:
			t.Fatal("the writer ended")
		default:
			r.open()
		}
	}
	t.Logf("%d openings, %d of them in vain", r.opened, r.vain)
}

type besideReader struct {
	t            *testing.T
	dir          string
	acknowledged *atomic.Int64
	opened, vain int
}

// open opens the database once, and refreshes it and reads it a few times.
func (r *besideReader) open() {
	r.t.Helper()
	floor := r.acknowledged.Load()
	db, err := query.OpenReadOnly(r.dir, query.Options{})
	if err != nil && floor == 0 && query.KindOf(err) == query.KindNotFound {
		return // the directory is not there yet
	}
	if !r.done("open", err) {
		return
	}
	defer db.Close()
	r.opened++
	r.read(db, floor)
	for range 2 {
		floor = r.acknowledged.Load()
		if r.done("refresh", db.Refresh(r.t.Context())) {
			r.read(db, floor)
		}
	}
	report, err := db.Check(r.t.Context())
	if r.done("check", err) && !report.OK() {
		r.t.Errorf("the check found %v", report.Problems)
	}
}

// done reports whether a call succeeded. The only errors allowed are that the writer
// changes files, or is creating the database.
func (r *besideReader) done(what string, err error) bool {
	r.t.Helper()
	if err != nil && query.KindOf(err) != query.KindUnavailable {
		r.t.Errorf("%s: %v: %v", what, query.KindOf(err), err)
	}
	if err != nil {
		r.vain++
	}
	return err == nil
}

func (r *besideReader) read(db *query.DB, floor int64) {
	r.t.Helper()
	first := int64(-1)
	for _, table := range []string{"t", "wide"} {
		t, ok := db.LookupTable(table)
		if !ok && floor == 0 {
			continue // the writer has yet to declare it
		}
		row, err := db.Table(table).ReadRow(r.t.Context(), "row")
		if query.KindOf(err) == query.KindNotFound && floor == 0 {
			continue // of the table
		}
		if err != nil {
			r.t.Errorf("reading: %v", err)
			return
		}
		for _, f := range t.Families {
			n, _ := row.I64(f.Name, "n")
			if first < 0 {
				first = n
			}
			if n != first || n < floor {
				r.t.Errorf("%s has %d, the family before has %d; %d was acknowledged", f.Name, n, first, floor)
			}
		}
	}
}
