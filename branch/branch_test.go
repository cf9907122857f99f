package branch

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
)

// TestMain keeps files in memory if possible, since the tests sync often. Each history of the
// model opens databases; -rapid.checks makes more of them.
func TestMain(m *testing.M) {
	if err := flag.Set("rapid.checks", "15"); err != nil {
		panic(err)
	}
	if f, err := os.CreateTemp("/dev/shm", "smolwc-probe-"); err == nil { // it may belong to root
		if err := errors.Join(f.Close(), os.Remove(f.Name()), os.Setenv("TMPDIR", "/dev/shm")); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}

func tables() *schema.Schema {
	return &schema.Schema{Tables: []schema.Table{{Name: "t", Families: []schema.Family{
		{Name: "all"}, {Name: "last", GC: schema.MaxVersions(1)}, {Name: "sum", Aggregate: schema.AggregateSum}, {Name: "two", GC: schema.MaxVersions(2)},
	}}}}
}

func open(t testing.TB, dir string) *query.DB {
	t.Helper()
	db, err := query.Open(dir, query.Options{GCInterval: -1, Memory: memory})
	if err != nil {
		t.Fatal(err)
	}
	return db
}

// made makes a database and its branches' directory.
func made(t testing.TB) (*query.DB, Dir) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "data")
	db := open(t, dir)
	t.Cleanup(func() { _ = db.Close() })
	if _, err := db.Declare(t.Context(), tables()); err != nil {
		t.Fatal(err)
	}
	d, err := Of(dir)
	if err != nil {
		t.Fatal(err)
	}
	return db, d
}

// A content is the visible cells: the versions of each column of each row.
type content map[[3]string]map[cells.Timestamp]string

func contentOf(t testing.TB, db *query.DB) content {
	t.Helper()
	all := content{}
	for row, err := range db.Table("t").ReadRows(context.Background()) {
		if err != nil {
			t.Fatal(err)
		}
		for c := range row.Cells() {
			at := [3]string{row.Key(), c.Family, c.Qualifier}
			if all[at] == nil {
				all[at] = map[cells.Timestamp]string{}
			}
			all[at][c.Timestamp] = c.Value.String()
		}
	}
	return all
}

// merged is the naive merge: whole columns, by the three contents.
func merged(base, ours, theirs content, winner Winner) (result content, conflicts int) {
	result = maps.Clone(ours)
	for _, all := range []content{base, theirs, ours} {
		for at := range all {
			b, o, t := base[at], ours[at], theirs[at]
			if maps.Equal(b, t) || maps.Equal(o, t) {
				continue
			}
			if !maps.Equal(b, o) && winner != Theirs {
				continue
			}
			result[at] = t
			if t == nil {
				delete(result, at)
			}
		}
	}
	for at := range maps.All(union(base, ours, theirs)) {
		if !maps.Equal(base[at], ours[at]) && !maps.Equal(base[at], theirs[at]) && !maps.Equal(ours[at], theirs[at]) {
			conflicts++
		}
	}
	return result, conflicts
}

func union(all ...content) map[[3]string]bool {
	names := map[[3]string]bool{}
	for _, c := range all {
		for at := range c {
			names[at] = true
		}
	}
	return names
}

// history makes random changes.
func history(rt *rapid.T, db *query.DB, label string, most int) {
	for range rapid.IntRange(0, most).Draw(rt, label) {
		m := write.NewMutation()
		row, qualifier := rapid.SampledFrom([]string{"a", "b"}).Draw(rt, "row"), rapid.SampledFrom([]string{"", "", "q"}).Draw(rt, "qualifier")
		family := rapid.SampledFrom([]string{"all", "last", "sum", "two"}).Draw(rt, "family")
		at := cells.Timestamp(rapid.IntRange(1, 4).Draw(rt, "timestamp"))
		switch what := rapid.IntRange(0, 7).Draw(rt, "change"); {
		case what == 0:
			m.DeleteRow()
		case what == 1:
			m.DeleteCellsInColumn(family, qualifier)
		case what == 2:
			m.DeleteCell(family, qualifier, at)
		case family == "sum":
			m.AddAt(family, qualifier, at, cells.I64(int64(what)))
		case what == 3:
			m.SetAt(family, qualifier, at, cells.String("x"))
		default:
			m.SetAt(family, qualifier, at, cells.I64(int64(what)))
		}
		if err := db.Table("t").Apply(context.Background(), row, m); err != nil {
			rt.Fatal(err)
		}
	}
}

// A branch is merged as the naive model merges the visible cells, also in many commits, and
// after earlier merges.
func TestMergesAreTheModels(t *testing.T) {
	was, keys := commitBytes, keyBytes
	t.Cleanup(func() { commitBytes, keyBytes = was, keys })
	ctx := context.Background()
	rapid.Check(t, func(rt *rapid.T) {
		commitBytes = rapid.SampledFrom([]int{1, 300, was}).Draw(rt, "bytes of a commit")
		keyBytes = rapid.SampledFrom([]int{1, 100, keys}).Draw(rt, "bytes of keys")
		dir, err := os.MkdirTemp("", "smolwc-branch")
		if err != nil {
			rt.Fatal(err)
		}
		defer os.RemoveAll(dir)
		db := open(t, filepath.Join(dir, "data"))
		defer db.Close()
		if _, err := db.Declare(ctx, tables()); err != nil {
			rt.Fatal(err)
		}
		history(rt, db, "before", 20)
		d, err := Of(db.Dir())
		if err != nil {
			rt.Fatal(err)
		}
		b, err := d.Create(ctx, "b", db.Checkpoint)
		if err != nil {
			rt.Fatal(err)
		}
		base := contentOf(t, db)
		for range rapid.IntRange(1, 2).Draw(rt, "merges") {
			branch := open(t, b.Dir)
			history(rt, branch, "in the branch", 12)
			theirs := contentOf(t, branch)
			if err := branch.Close(); err != nil {
				rt.Fatal(err)
			}
			expectDiff(rt, b, base, theirs)
			history(rt, db, "in the database", 12)
			ours := contentOf(t, db)
			winner := rapid.SampledFrom([]Winner{NoWinner, Ours, Theirs}).Draw(rt, "winner")
			want, conflicts := merged(base, ours, theirs, winner)
			report, err := Merge(ctx, db, b, MergeOptions{Winner: winner})
			if report.Conflicts != int64(conflicts) {
				rt.Fatalf("%d conflicts, want %d: %v", report.Conflicts, conflicts, report.First)
			}
			if winner == NoWinner && conflicts > 0 {
				if !errors.Is(err, ErrConflicts) || query.KindOf(err) != query.KindConflict {
					rt.Fatalf("with conflicts: %v", err)
				}
				if got := contentOf(t, db); !reflect.DeepEqual(got, ours) {
					rt.Fatalf("a refused merge wrote: %v, want %v", got, ours)
				}
				return
			}
			if err != nil {
				rt.Fatal(err)
			}
			if got := contentOf(t, db); !reflect.DeepEqual(got, want) {
				rt.Fatalf("base %v\nours %v\ntheirs %v\nmerged %v\nwant   %v", base, ours, theirs, got, want)
			}
			base = theirs
			if b, err = d.Get("b"); err != nil {
				rt.Fatal(err)
			}
			expectDiff(rt, b, base, base)
		}
	})
}

// expectDiff compares Diff with the cells of two contents.
func expectDiff(rt *rapid.T, b Branch, base, theirs content) {
	var got, want []string
	_, err := Diff(context.Background(), b, func(d Difference) error {
		got = append(got, fmt.Sprint([3]string{d.Row, d.Family, d.Qualifier}, d.Timestamp))
		return nil
	})
	for at := range union(base, theirs) {
		for ts := range cells.Timestamp(6) {
			if base[at][ts] != theirs[at][ts] {
				want = append(want, fmt.Sprint(at, ts))
			}
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if err != nil || !slices.Equal(got, want) {
		rt.Fatalf("%v, differences %v, want %v", err, got, want)
	}
}

// A branch has an identity of its own, so that archives and standbys do not take it for the
// database; both are whole.
func TestABranchIsADatabaseOfItsOwn(t *testing.T) {
	db, d := made(t)
	ctx := t.Context()
	if err := db.Plumbing().SetNote(ctx, "standbys", []byte(`{"id":"h"}`)); err != nil {
		t.Fatal(err)
	}
	if err := db.Plumbing().SetBackupTarget(ctx, "/backups"); err != nil {
		t.Fatal(err)
	}
	b, err := d.Create(ctx, "b", db.Checkpoint)
	if err != nil {
		t.Fatal(err)
	}
	branch := open(t, b.Dir)
	defer branch.Close()
	if branch.UUID() == db.UUID() || branch.UUID().String() != b.ID || db.UUID().String() != b.Origin {
		t.Errorf("database %s, branch %s, record %+v", db.UUID(), branch.UUID(), b)
	}
	notes, err := branch.Plumbing().Notes(ctx, "standbys")
	target, err2 := branch.Plumbing().BackupTarget(ctx)
	if len(notes) > 0 || target != "" || err != nil || err2 != nil {
		t.Errorf("the branch knows standbys %q and backups %q: %v, %v", notes, target, err, err2)
	}
	for _, db := range []*query.DB{db, branch} {
		if r, err := db.Check(ctx); err != nil || !r.OK() {
			t.Errorf("%+v, %v", r, err)
		}
	}
}

// A branch that is open is not dropped, one with branches of its own neither. Afterwards nothing
// is left.
func TestADropLeavesNothing(t *testing.T) {
	db, d := made(t)
	ctx := t.Context()
	b, err := d.Create(ctx, "b", db.Checkpoint)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.Create(ctx, "b", db.Checkpoint); query.KindOf(err) != query.KindAlreadyExists {
		t.Errorf("a second branch of the name: %v", err)
	}
	branch := open(t, b.Dir)
	if err := d.Drop(ctx, "b"); query.KindOf(err) != query.KindBusy {
		t.Errorf("a branch that is open: %v", err)
	}
	own, err := Of(b.Dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := own.Create(ctx, "c", branch.Checkpoint); err != nil {
		t.Fatal(err)
	}
	if err := branch.Close(); err != nil {
		t.Fatal(err)
	}
	if err := d.Drop(ctx, "b"); query.KindOf(err) != query.KindBusy {
		t.Errorf("a branch with branches: %v", err)
	}
	if err := errors.Join(own.Drop(ctx, "c"), d.Drop(ctx, "b")); err != nil {
		t.Fatal(err)
	}
	if err := d.Drop(ctx, "b"); query.KindOf(err) != query.KindNotFound {
		t.Errorf("a branch that is gone: %v", err)
	}
	if left, err := os.ReadDir(d.Path()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("left: %v, %v", left, err)
	}
}

// What a crash leaves of a creation or of a drop is no branch, and goes with the next one.
func TestRestsOfInterruptedCommandsGo(t *testing.T) {
	db, d := made(t)
	for _, rest := range []string{".x" + making + "1/base-1", ".x" + dropping + "2/db"} {
		if err := os.MkdirAll(filepath.Join(d.Path(), rest), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if all, err := d.List(); len(all) > 0 || err != nil {
		t.Errorf("listed: %v, %v", all, err)
	}
	if _, err := d.Create(t.Context(), "b", db.Checkpoint); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(d.Path())
	if err != nil || len(entries) != 1 || entries[0].Name() != "b" {
		t.Errorf("there are %v, %v", entries, err)
	}
}

func TestNames(t *testing.T) {
	for name, ok := range map[string]bool{"pr-17": true, "A_1": true, "": false, ".x": false, "a/b": false, "..": false, "-a": false, "ä": false, "db.x": false} {
		if (CheckName(name) == nil) != ok {
			t.Errorf("%q: %v", name, CheckName(name))
		}
	}
}

// Tables and families that are new in a branch are created by its merge. Other differences of
// the schema are refused before anything is written.
func TestSchemasOfBranches(t *testing.T) {
	db, d := made(t)
	ctx := t.Context()
	b, err := d.Create(ctx, "b", db.Checkpoint)
	if err != nil {
		t.Fatal(err)
	}
	in := func(fn func(*query.DB) error) {
		t.Helper()
		branch := open(t, b.Dir)
		if err := errors.Join(fn(branch), branch.Close()); err != nil {
			t.Fatal(err)
		}
	}
	one := write.NewMutation()
	one.SetAt("f", "q", 1, cells.I64(1))
	in(func(branch *query.DB) error {
		return errors.Join(
			branch.CreateTable(ctx, schema.Table{Name: "new", Families: []schema.Family{{Name: "f"}}}),
			branch.AddFamily(ctx, "t", schema.Family{Name: "f"}),
			branch.Table("new").Apply(ctx, "k", one), branch.Table("t").Apply(ctx, "k", one))
	})
	in(func(branch *query.DB) error { return branch.DropFamily(ctx, "t", "two") })
	_, err = Merge(ctx, db, b, MergeOptions{})
	if query.KindOf(err) != query.KindFailedPrecondition {
		t.Errorf("a family that the branch has dropped: %v", err)
	}
	if _, ok := db.LookupTable("new"); ok {
		t.Error("a refused merge has created a table")
	}
	if err := db.DropFamily(ctx, "t", "two"); err != nil {
		t.Fatal(err)
	}
	report, err := Merge(ctx, db, b, MergeOptions{})
	if err != nil || report.Rows != 2 || len(report.Schema.Changes) != 2 || report.Commits != 1 {
		t.Fatalf("%+v, %v", report, err)
	}
	for _, table := range []string{"new", "t"} {
		if row, err := db.Table(table).ReadRow(ctx, "k"); err != nil || row == nil {
			t.Errorf("%s: %v, %v", table, row, err)
		}
	}
	if b, err = d.Get("b"); err != nil {
		t.Fatal(err)
	}
	if err := db.DropTable(ctx, "new"); err != nil {
		t.Fatal(err)
	}
	if _, err := Merge(ctx, db, b, MergeOptions{}); query.KindOf(err) != query.KindFailedPrecondition {
		t.Errorf("a table that the database has dropped: %v", err)
	}
}

// A branch of another database is refused.
func TestABranchIsMergedIntoItsOrigin(t *testing.T) {
	db, d := made(t)
	other, _ := made(t)
	b, err := d.Create(t.Context(), "b", db.Checkpoint)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Merge(t.Context(), other, b, MergeOptions{}); query.KindOf(err) != query.KindFailedPrecondition {
		t.Error(err)
	}
}

// What is written in a branch is neither in the database nor in other branches.
func TestBranchesAreApart(t *testing.T) {
	db, d := made(t)
	ctx := t.Context()
	for i := range 3 {
		b, err := d.Create(ctx, fmt.Sprint("b", i), db.Checkpoint)
		if err != nil {
			t.Fatal(err)
		}
		m := write.NewMutation()
		m.Set("all", "", cells.I64(int64(i)))
		branch := open(t, b.Dir)
		if err := errors.Join(branch.Table("t").Apply(ctx, fmt.Sprint("row", i), m), branch.Close()); err != nil {
			t.Fatal(err)
		}
	}
	all, err := d.List()
	if err != nil || len(all) != 3 {
		t.Fatalf("%v, %v", all, err)
	}
	if got := contentOf(t, db); len(got) > 0 {
		t.Errorf("the database has %v", got)
	}
	for i, b := range all {
		var rows []string
		if _, err := Diff(ctx, b, func(d Difference) error { rows = append(rows, d.Row); return nil }); err != nil || !slices.Equal(rows, []string{fmt.Sprint("row", i)}) {
			t.Errorf("%s has %v, %v", b.Name, rows, err)
		}
	}
}

// A cell that expires sooner or later is no change, whether it is still there or not.
func TestExpiredCellsAreNoChanges(t *testing.T) {
	db, d := made(t)
	ctx := t.Context()
	if err := db.AddFamily(ctx, "t", schema.Family{Name: "day", GC: schema.MaxAge(24 * time.Hour)}); err != nil {
		t.Fatal(err)
	}
	b, err := d.Create(ctx, "b", db.Checkpoint)
	if err != nil {
		t.Fatal(err)
	}
	m := write.NewMutation()
	m.SetAt("day", "", 1, cells.I64(1))
	branch := open(t, b.Dir)
	if err := errors.Join(branch.Table("t").Apply(ctx, "k", m), branch.Close()); err != nil {
		t.Fatal(err)
	}
	report, err := Diff(ctx, b, func(d Difference) error { return fmt.Errorf("it is a difference: %v", d) })
	if err != nil || report.Rows != 0 {
		t.Errorf("%+v, %v", report, err)
	}
}

// A branch is merged while others write it and the database: no write is lost, and the last
// merge has all of them.
func TestMergesBesideWriters(t *testing.T) {
	db, d := made(t)
	ctx := t.Context()
	b, err := d.Create(ctx, "b", db.Checkpoint)
	if err != nil {
		t.Fatal(err)
	}
	branch := open(t, b.Dir)
	defer branch.Close()
	merge := func(want int64) {
		t.Helper()
		if b, err = d.Get("b"); err != nil {
			t.Fatal(err)
		}
		if r, err := Merge(ctx, db, b, MergeOptions{Checkpoint: branch.Checkpoint}); err != nil || want >= 0 && r.Cells != want {
			t.Fatalf("%+v, %v", r, err)
		}
	}
	const writes = 200
	var writers sync.WaitGroup
	var left atomic.Int32
	for name, db := range map[string]*query.DB{"ours": db, "theirs": branch} {
		left.Add(1)
		writers.Go(func() {
			defer left.Add(-1)
			for i := range writes {
				m := write.NewMutation()
				m.SetAt("last", name, cells.Timestamp(i), cells.I64(int64(i)))
				if err := db.Table("t").Apply(context.Background(), fmt.Sprint("row", i%3), m); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for left.Load() > 0 && !t.Failed() {
		merge(-1)
	}
	writers.Wait()
	merge(-1)
	merge(0)
	got := contentOf(t, db)
	for i := writes - 3; i < writes; i++ {
		for _, name := range []string{"ours", "theirs"} {
			if at := [3]string{fmt.Sprint("row", i%3), "last", name}; got[at][cells.Timestamp(i)] != fmt.Sprint(i) {
				t.Errorf("%v has %v, want %d", at, got[at], i)
			}
		}
	}
}

// A column that is written in the database after the conflicts were counted is a conflict too:
// it is not overwritten.
func TestAConflictDuringAMerge(t *testing.T) {
	db, d := made(t)
	ctx := t.Context()
	b, err := d.Create(ctx, "b", db.Checkpoint)
	if err != nil {
		t.Fatal(err)
	}
	set := func(db *query.DB, value string) {
		t.Helper()
		m := write.NewMutation()
		m.SetAt("all", "", 1, cells.String(value))
		if err := db.Table("t").Apply(ctx, "k", m); err != nil {
			t.Fatal(err)
		}
	}
	branch := open(t, b.Dir)
	set(branch, "theirs")
	if err := errors.Join(branch.CreateTable(ctx, schema.Table{Name: "new"}), branch.Close()); err != nil {
		t.Fatal(err)
	}
	beforeWrite = func() { set(db, "ours") }
	defer func() { beforeWrite = func() {} }()
	report, err := Merge(ctx, db, b, MergeOptions{})
	if !errors.Is(err, ErrConflicts) || query.KindOf(err) != query.KindConflict || report.Commits != 0 {
		t.Errorf("%+v, %v", report, err)
	}
	if got := contentOf(t, db)[[3]string{"k", "all", ""}][1]; got != "ours" {
		t.Errorf("the database has %q", got)
	}
}

// A merge with what was known of a branch before another merge leaves the base in force.
func TestAMergeOfABranchAsItWasBefore(t *testing.T) {
	db, d := made(t)
	before, err := d.Create(t.Context(), "b", db.Checkpoint)
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if _, err := Merge(t.Context(), db, before, MergeOptions{}); err != nil {
			t.Error(err)
		}
		if _, err := Diff(t.Context(), must(d.Get("b")), func(Difference) error { return nil }); err != nil {
			t.Fatal(err)
		}
	}
}

// A branch that is merged is not dropped; so a merge never ends in another branch of the name.
func TestABranchThatIsMergedIsNotDropped(t *testing.T) {
	db, d := made(t)
	ctx := t.Context()
	b := must(d.Create(ctx, "b", db.Checkpoint))
	defer func() { beforeWrite = func() {} }()
	beforeWrite = func() {
		if err := d.Drop(ctx, "b"); query.KindOf(err) != query.KindBusy {
			t.Errorf("dropped during a merge: %v", err)
			_, _ = d.Create(ctx, "b", db.Checkpoint)
		}
		beforeWrite = func() {}
		if _, err := Merge(ctx, db, b, MergeOptions{}); query.KindOf(err) != query.KindBusy {
			t.Errorf("merged during a merge: %v", err)
		}
	}
	if _, err := Merge(ctx, db, b, MergeOptions{}); err != nil {
		t.Error(err)
	}
	beforeWrite = func() {}
	if _, err := Diff(ctx, must(d.Get("b")), func(Difference) error { return nil }); err != nil {
		t.Error(err)
	}
	if err := d.Drop(ctx, "b"); err != nil {
		t.Fatal(err)
	}
	must(d.Create(ctx, "b", db.Checkpoint))
	if _, err := Merge(ctx, db, b, MergeOptions{}); query.KindOf(err) != query.KindNotFound {
		t.Errorf("merged a branch that was dropped: %v", err)
	}
	if _, err := Diff(ctx, must(d.Get("b")), func(Difference) error { return nil }); err != nil {
		t.Error(err)
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
