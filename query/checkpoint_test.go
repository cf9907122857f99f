package query_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/plumbing"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
)

func openAt(t testing.TB, dir string, o query.Options) *query.DB {
	t.Helper()
	db, err := query.Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func pairSchema() *schema.Schema {
	return &schema.Schema{Tables: []schema.Table{{Name: "t", Families: []schema.Family{{Name: "a"}, {Name: "b"}}}}}
}

// TestCheckpointIsOneMomentInAllFamilies takes checkpoints while writers put the same
// number into two families: in each copy both families have the same number, numbers
// never decrease, and acknowledged writes are there.
func TestCheckpointIsOneMomentInAllFamilies(t *testing.T) {
	dir, ctx := t.TempDir(), t.Context()
	db := openAt(t, filepath.Join(dir, "db"), query.Options{Schema: pairSchema(), Durability: query.DurabilityAsync})
	stop, acknowledged := make(chan struct{}), make(chan int64, 1)
	var writers sync.WaitGroup
	writers.Go(func() {
		for n := int64(1); ; n++ {
			m := write.NewMutation()
			m.SetAt("a", "n", 0, cells.I64(n))
			m.SetAt("b", "n", 0, cells.I64(n))
			if err := db.Table("t").Apply(ctx, "row", m); err != nil {
				t.Error(err)
				return
			}
			select {
			case acknowledged <- n:
			case <-stop:
				return
			default:
			}
		}
	})
	var last int64
	for i := range 10 {
		floor := <-acknowledged
		to := filepath.Join(dir, fmt.Sprint("copy", i))
		if err := db.Checkpoint(ctx, to); err != nil {
			t.Fatal(err)
		}
		c := openAt(t, to, query.Options{MustExist: true})
		row, err := c.Table("t").ReadRow(ctx, "row")
		if err != nil {
			t.Fatal(err)
		}
		a, _ := row.I64("a", "n")
		b, _ := row.I64("b", "n")
		if a != b || a < floor || a < last {
			t.Errorf("copy %d: a is %d, b is %d, acknowledged was %d, the copy before had %d", i, a, b, floor, last)
		}
		last = a
		if c.UUID() != db.UUID() {
			t.Error("the copy has another identity")
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
	close(stop)
	writers.Wait()
}

func TestCheckpointRefusals(t *testing.T) {
	dir, ctx := t.TempDir(), t.Context()
	db := openAt(t, filepath.Join(dir, "db"), query.Options{Schema: pairSchema()})
	expect := func(what string, err error, want query.Kind) {
		t.Helper()
		if err == nil || query.KindOf(err) != want {
			t.Errorf("%s: %v, want kind %s", what, err, want)
		}
	}
	expect("over the database itself", db.Checkpoint(ctx, filepath.Join(dir, "db")), query.KindAlreadyExists)
	if err := db.Checkpoint(ctx, filepath.Join(dir, "copy")); err != nil {
		t.Fatal(err)
	}
	expect("over a copy", db.Checkpoint(ctx, filepath.Join(dir, "copy")), query.KindAlreadyExists)
	mem, err := query.OpenInMemory(query.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer mem.Close()
	expect("in memory", mem.Checkpoint(ctx, filepath.Join(dir, "mem")), query.KindFailedPrecondition)
	r := openAt(t, filepath.Join(dir, "db"), query.Options{ReadOnly: true})
	for _, err := range []error{r.Checkpoint(ctx, filepath.Join(dir, "ro")), r.Plumbing().Freeze(ctx, func(plumbing.Frozen) error { return nil })} {
		expect("read-only", err, query.KindFailedPrecondition)
		if !strings.Contains(err.Error(), "read-only") {
			t.Errorf("read-only: %v", err)
		}
	}
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	expect("over a file", db.Checkpoint(ctx, file), query.KindUnavailable)
}

// A Freeze that waits for another one gives up when its context ends.
func TestFreezeWaitsForAsLongAsItMay(t *testing.T) {
	db := openAt(t, filepath.Join(t.TempDir(), "db"), query.Options{Schema: pairSchema()})
	err := db.Plumbing().Freeze(t.Context(), func(plumbing.Frozen) error {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := db.Plumbing().Freeze(ctx, func(plumbing.Frozen) error { return nil }); query.KindOf(err) != query.KindCanceled {
			t.Errorf("beside another: %v", err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// A checkpoint is first made in a directory beside its place. Other directories there
// stay, and the checkpoint's own is removed.
func TestACheckpointRemovesNobodysDirectory(t *testing.T) {
	dir, ctx := t.TempDir(), t.Context()
	db := openAt(t, filepath.Join(dir, "db"), query.Options{Schema: pairSchema()})
	others := []string{"copy.tmp", "copy.tmp-1", "db"}
	for _, name := range others {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	checkpoints := map[string]func() error{
		"of all":     func() error { return db.Checkpoint(ctx, filepath.Join(dir, "copy")) },
		"of a table": func() error { return db.CheckpointTable(ctx, "t", filepath.Join(dir, "copy")) },
		"of no table": func() error {
			if err := db.CheckpointTable(ctx, "nosuch", filepath.Join(dir, "copy")); query.KindOf(err) != query.KindNotFound {
				return fmt.Errorf("error %v", err)
			}
			return nil
		},
	}
	for what, checkpoint := range checkpoints {
		if err := errors.Join(checkpoint(), os.RemoveAll(filepath.Join(dir, "copy"))); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		entries, err := os.ReadDir(dir)
		var names []string
		for _, e := range entries {
			names = append(names, e.Name())
		}
		if !slices.Equal(names, others) {
			t.Errorf("%s leaves %q: %v", what, names, err)
		}
	}
}

// TestFreezeLeavesNothing: it leaves no files after its end, nor after a crash and a
// new start.
func TestFreezeLeavesNothing(t *testing.T) {
	dir, ctx := filepath.Join(t.TempDir(), "db"), t.Context()
	db := openAt(t, dir, query.Options{Schema: pairSchema()})
	var frozen string
	failure := errors.New("mine")
	err := db.Plumbing().Freeze(ctx, func(f plumbing.Frozen) error {
		frozen = f.Dir
		if _, err := os.Stat(filepath.Join(f.Dir, "CURRENT")); err != nil {
			t.Error(err)
		}
		return failure
	})
	if err != failure {
		t.Errorf("error %v, want the function's own", err)
	}
	if _, err := os.Stat(frozen); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the copy is still there: %v", err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(frozen, "left"), 0o755); err != nil {
		t.Fatal(err)
	}
	openAt(t, dir, query.Options{})
	if _, err := os.Stat(frozen); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("what a crash left is still there: %v", err)
	}
}

func TestBackupTargetIsRemembered(t *testing.T) {
	dir, ctx := filepath.Join(t.TempDir(), "db"), t.Context()
	db := openAt(t, dir, query.Options{})
	if target, err := db.Plumbing().BackupTarget(ctx); target != "" || err != nil {
		t.Errorf("target %q, %v", target, err)
	}
	if err := errors.Join(db.Plumbing().SetBackupTarget(ctx, "/backups"), db.Close()); err != nil {
		t.Fatal(err)
	}
	if target, err := openAt(t, dir, query.Options{}).Plumbing().BackupTarget(ctx); target != "/backups" || err != nil {
		t.Errorf("target %q, %v", target, err)
	}
}
