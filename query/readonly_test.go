package query_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
)

func setNumber(t testing.TB, db *query.DB, table, key, family string, n int64) {
	t.Helper()
	m := write.NewMutation()
	m.Set(family, "n", cells.I64(n))
	if err := db.Table(table).Apply(context.Background(), key, m); err != nil {
		t.Fatal(err)
	}
}

func rowKeys(t testing.TB, db *query.DB, table string) (found []string) {
	t.Helper()
	for row, err := range db.Table(table).ReadRows(context.Background()) {
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, row.Key())
	}
	return found
}

// TestRefresh: a reader shows one moment until it is refreshed, and reads under
// way keep theirs.
func TestRefresh(t *testing.T) {
	dir, ctx := t.TempDir(), t.Context()
	w := openAt(t, dir, query.Options{Schema: pairSchema()})
	for i := range 101 {
		setNumber(t, w, "t", fmt.Sprintf("row%04d", i), "a", 1)
	}
	r, err := query.OpenReadOnly(dir, query.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if n := len(rowKeys(t, r, "t")); n != 101 {
		t.Fatalf("%d rows at first", n)
	}
	setNumber(t, w, "t", "later", "a", 1)
	if n := len(rowKeys(t, r, "t")); n != 101 {
		t.Errorf("%d rows before the refresh", n)
	}
	under := 0
	for _, err := range r.Table("t").ReadRows(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		if under++; under != 1 {
			continue
		}
		if err := w.Table("t").Compact(ctx); err != nil { // the files of the old moment are removed
			t.Fatal(err)
		}
		if err := r.Refresh(ctx); err != nil {
			t.Fatal(err)
		}
		if n := len(rowKeys(t, r, "t")); n != 102 {
			t.Errorf("%d rows after the refresh", n)
		}
	}
	if under != 101 {
		t.Errorf("the read under way saw %d rows", under)
	}
	m := write.NewMutation()
	m.Set("a", "n", cells.I64(1))
	if err := r.Table("t").Apply(ctx, "x", m); query.KindOf(err) != query.KindFailedPrecondition {
		t.Errorf("writing: %v", err)
	}
	if err := r.CreateTable(ctx, schema.Table{Name: "x", Families: []schema.Family{{Name: "f"}}}); query.KindOf(err) != query.KindFailedPrecondition {
		t.Errorf("creating a table: %v", err)
	}
	if err := w.Refresh(ctx); err != nil {
		t.Errorf("refreshing a writer: %v", err)
	}
}

// TestAReaderRefusesWrites: each way to write to a database that is opened for reading
// gives an error that errors.Is finds.
func TestAReaderRefusesWrites(t *testing.T) {
	dir := t.TempDir()
	if err := openAt(t, dir, query.Options{Schema: pairSchema()}).Close(); err != nil {
		t.Fatal(err)
	}
	db, err := query.OpenReadOnly(dir, query.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	refusesWrites(t, db)
}

// refusesWrites tries each way to write to the table t, whose family a has integers.
func refusesWrites(t *testing.T, db *query.DB) {
	t.Helper()
	ctx, table := t.Context(), db.Table("t")
	m := write.NewMutation()
	m.SetAt("a", "n", 1, cells.I64(1))
	_, increment := table.Increment(ctx, "r", "a", "n", 1)
	_, load := table.BulkLoad(ctx, query.BulkOptions{})
	for what, err := range map[string]error{
		"a write":           table.Apply(ctx, "r", m),
		"an increment":      increment,
		"a transaction":     db.Update(ctx, func(tx *query.Tx) error { return tx.Apply(ctx, "t", "r", m) }),
		"a bulk load":       load,
		"a range's removal": table.DeleteRange(ctx, read.Prefix("")),
		"a note":            db.Plumbing().SetNote(ctx, "n", []byte("x")),
		"a flush":           table.Flush(ctx),
		"a compaction":      table.Compact(ctx),
		"a new table":       db.CreateTable(ctx, schema.Table{Name: "u", Families: []schema.Family{{Name: "f"}}}),
		"a table's removal": db.DropTable(ctx, "t"),
	} {
		var e *query.Error
		if !errors.Is(err, query.ErrReadOnly) || !errors.As(err, &e) || e.Kind != query.KindFailedPrecondition {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// TestRefreshFollowsTheSchema: tables and families that are created, dropped, and
// created again differently.
func TestRefreshFollowsTheSchema(t *testing.T) {
	dir, ctx := t.TempDir(), t.Context()
	w := openAt(t, dir, query.Options{Schema: pairSchema()})
	setNumber(t, w, "t", "row", "a", 1)
	setNumber(t, w, "t", "row", "b", 1)
	r, err := query.OpenReadOnly(dir, query.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	do := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Refresh(ctx); err != nil {
			t.Fatal(err)
		}
	}
	do(w.CreateTable(ctx, schema.Table{Name: "new", Families: []schema.Family{{Name: "f"}}}))
	setNumber(t, w, "new", "k", "f", 7)
	if n := len(rowKeys(t, r, "new")); n != 0 {
		t.Errorf("%d rows before a refresh", n)
	}
	do(nil)
	if n := len(rowKeys(t, r, "new")); n != 1 {
		t.Errorf("%d rows in the new table", n)
	}
	do(w.DropFamily(ctx, "t", "b"))
	row, err := r.Table("t").ReadRow(ctx, "row")
	if err != nil || len(r.Schema().Tables[1].Families) != 1 {
		t.Fatalf("after a drop: %v, %v", r.Schema(), err)
	}
	if _, ok := row.I64("b", "n"); ok {
		t.Error("the dropped family is still read")
	}
	do(w.AddFamily(ctx, "t", schema.Family{Name: "b", Type: cells.TypeString}))
	if row, err = r.Table("t").ReadRow(ctx, "row"); err != nil {
		t.Fatal(err)
	}
	if _, ok := row.I64("b", "n"); ok {
		t.Error("the new family has the old one's cells")
	}
	do(w.DropTable(ctx, "new"))
	if _, err := r.Table("new").ReadRow(ctx, "k"); query.KindOf(err) != query.KindNotFound {
		t.Errorf("reading a dropped table: %v", err)
	}
}

// TestRefreshAddsNothingTwice: an aggregate is the same before and after a flush.
// RocksDB's secondary instances would count operands twice.
func TestRefreshAddsNothingTwice(t *testing.T) {
	dir, ctx := t.TempDir(), t.Context()
	w := openAt(t, dir, query.Options{Schema: &schema.Schema{Tables: []schema.Table{{Name: "t", Families: []schema.Family{{Name: "sum", Aggregate: schema.AggregateSum}}}}}})
	r, err := query.OpenReadOnly(dir, query.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for n := int64(1); n <= 10; n++ {
		m := write.NewMutation()
		m.Add("sum", "", cells.I64(1))
		if err := w.Table("t").Apply(ctx, "row", m); err != nil {
			t.Fatal(err)
		}
		for _, flush := range []bool{false, true, false} {
			if flush {
				if err := w.Table("t").Flush(ctx); err != nil {
					t.Fatal(err)
				}
			}
			if err := r.Refresh(ctx); err != nil {
				t.Fatal(err)
			}
			row, err := r.Table("t").ReadRow(ctx, "row")
			if err != nil {
				t.Fatal(err)
			}
			if got, _ := row.I64("sum", ""); got != n {
				t.Fatalf("the sum is %d, not %d", got, n)
			}
		}
	}
}

// TestRefreshIsOneMoment refreshes while another goroutine writes the same number to
// two families, flushes and compacts: a reader sees whole commits, never an older
// state, and all acknowledged writes.
func TestRefreshIsOneMoment(t *testing.T) {
	dir, ctx := t.TempDir(), t.Context()
	w := openAt(t, dir, query.Options{Schema: pairSchema(), Durability: query.DurabilityAsync})
	var acknowledged atomic.Int64
	writeNumber(t, w, 1)
	stop := make(chan struct{})
	var writer sync.WaitGroup
	defer writer.Wait()
	defer close(stop)
	writer.Go(func() {
		// Flushes as often as a busy writer, but not so often that an open on a slow
		// machine never falls between two flushes.
		flush, compact := time.NewTicker(250*time.Millisecond), time.NewTicker(time.Second)
		defer flush.Stop()
		defer compact.Stop()
		for n := int64(2); ; n++ {
			select {
			case <-stop:
				return
			case <-compact.C:
				_ = w.Table("t").Compact(ctx)
			case <-flush.C:
				_ = w.Table("t").Flush(ctx)
			default:
			}
			writeNumber(t, w, n)
			acknowledged.Store(n)
		}
	})
	r, err := query.OpenReadOnly(dir, query.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var last int64
	for range 30 {
		floor := acknowledged.Load()
		if err := r.Refresh(ctx); err != nil {
			t.Fatal(err)
		}
		last = expectNumber(t, r, max(last, floor))
	}
}

func writeNumber(t testing.TB, db *query.DB, n int64) {
	m := write.NewMutation()
	m.SetAt("a", "n", 0, cells.I64(n))
	m.SetAt("b", "n", 0, cells.I64(n))
	if err := db.Table("t").Apply(context.Background(), "row", m); err != nil {
		t.Error(err)
	}
}

func expectNumber(t testing.TB, db *query.DB, least int64) int64 {
	t.Helper()
	row, err := db.Table("t").ReadRow(context.Background(), "row")
	if err != nil {
		t.Fatal(err)
	}
	a, _ := row.I64("a", "n")
	b, _ := row.I64("b", "n")
	if a != b || a < least {
		t.Fatalf("a is %d, b is %d; at least %d was acknowledged or seen", a, b, least)
	}
	return a
}

const writerDir = "SMOLWC_TEST_WRITER_DIR"

// TestWriterProcess is the child of TestReadBesideAProcess: it writes until its
// standard input ends.
func TestWriterProcess(t *testing.T) {
	dir := os.Getenv(writerDir)
	if dir == "" {
		t.Skip("the child of another test")
	}
	db := openAt(t, dir, query.Options{Schema: pairSchema(), Durability: query.DurabilityAsync})
	in := bufio.NewScanner(os.Stdin)
	for n := int64(0); in.Scan(); { // a line asks for a hundred more
		for range 100 {
			n++
			writeNumber(t, db, n)
		}
		if n%1000 == 0 {
			if err := db.Table("t").Flush(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		fmt.Printf("\nwrote %d\n", n)
	}
}

// TestReadBesideAProcess: acknowledged writes of another process are there after a
// refresh, also if that process was killed.
func TestReadBesideAProcess(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "db")
	cmd := exec.Command(os.Args[0], "-test.run=^TestWriterProcess$")
	cmd.Env = append(os.Environ(), writerDir+"="+dir)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer cmd.Process.Kill()
	said := bufio.NewScanner(out)
	ask := func() int64 {
		fmt.Fprintln(in)
		for said.Scan() {
			if n, err := strconv.ParseInt(trimWrote(said.Text()), 10, 64); err == nil {
				return n
			}
		}
		t.Fatal("the child ended")
		return 0
	}
	first := ask()
	if _, err := query.Open(dir, query.Options{}); query.KindOf(err) != query.KindBusy {
		t.Errorf("a second writer: %v", err)
	}
	r, err := query.OpenReadOnly(dir, query.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	expectNumber(t, r, first)
	var last int64
	for range 25 {
		last = ask()
		if err := r.Refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
		expectNumber(t, r, last)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := r.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	expectNumber(t, r, last)
}

func trimWrote(line string) string {
	const head = "wrote "
	if len(line) > len(head) && line[:len(head)] == head {
		return line[len(head):]
	}
	return ""
}
