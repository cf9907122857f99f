//go:build cgo && linux && !norocksdb

package query

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/rocks"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
)

// stalled is a database with a table t whose store takes no writes until release is
// called. Its clock advances far each time, so that each timestamp needs a write to the
// catalog.
func stalled(t *testing.T) (db *DB, release func()) {
	t.Helper()
	var mu sync.Mutex
	now := time.Now()
	db, err := Open(t.TempDir(), Options{Durability: DurabilityAsync, Clock: func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		now = now.Add(2 * time.Second)
		return now
	}})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.CreateTable(t.Context(), schema.Table{Name: "t", Families: []schema.Family{{Name: "f"}}}); err != nil {
		t.Fatal(err)
	}
	store, ok := db.state.Store.(*rocks.Store)
	if !ok {
		_ = db.Close()
		t.Skip("the stalls of Pebble are tested in cf/pebble")
	}
	raw, err := store.Raw("t/f")
	if err != nil {
		t.Fatal(err)
	}
	release, err = raw.Stall(2)
	t.Cleanup(func() {
		release()
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := put(t.Context(), db, "r"); err != nil {
			t.Fatal(err)
		}
		if err := db.state.Store.Flush(t.Context(), "t/f"); err != nil {
			t.Fatal(err)
		}
	}
	return db, release
}

func aCell() *write.Mutation {
	m := write.NewMutation()
	m.Set("f", "q", cells.String("v"))
	return m
}

func put(ctx context.Context, db *DB, row string) error {
	return db.Table("t").Apply(ctx, row, aCell())
}

func awaitStalled(t *testing.T, db *DB, n int64) {
	t.Helper()
	for {
		s, err := db.state.Store.Stats(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if s.Engine.Stalls.Waiting == n {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

// While writes wait for a stall to end, other writes and changes of the schema end with
// their contexts, reads continue, and all waiting calls succeed when the stall ends.
func TestStalledWritesHoldNobodyUp(t *testing.T) {
	db, release := stalled(t)
	var patient sync.WaitGroup
	patient.Go(func() {
		if err := put(context.Background(), db, "patient"); err != nil {
			t.Error(err)
		}
	})
	patient.Go(func() {
		err := db.Update(context.Background(), func(tx *Tx) error {
			return tx.Apply(context.Background(), "t", "in a transaction", aCell())
		})
		if err != nil {
			t.Error(err)
		}
	})
	awaitStalled(t, db, 2)
	patient.Go(func() { // it waits for these writes, and later writes wait for it
		if err := db.CreateTable(context.Background(), schema.Table{Name: "u", Families: []schema.Family{{Name: "f"}}}); err != nil {
			t.Error(err)
		}
	})
	table := db.Table("t")
	for name, f := range map[string]func(context.Context) error{
		"apply":     func(ctx context.Context) error { return put(ctx, db, "patient") },
		"increment": func(ctx context.Context) error { _, err := table.Increment(ctx, "n", "f", "n", 1); return err },
		"check and mutate": func(ctx context.Context) error {
			_, err := table.CheckAndMutate(ctx, "r", nil, aCell(), nil)
			return err
		},
		"delete range": func(ctx context.Context) error { return table.DeleteRange(ctx, read.Prefix("")) },
		"bulk load":    func(ctx context.Context) error { _, err := table.BulkLoad(ctx, BulkOptions{}); return err },
		"create table": func(ctx context.Context) error {
			return db.CreateTable(ctx, schema.Table{Name: "w", Families: []schema.Family{{Name: "f"}}})
		},
		"drop family": func(ctx context.Context) error { return db.DropFamily(ctx, "t", "f") },
		"note":        func(ctx context.Context) error { return db.Plumbing().SetTableNote(ctx, "t", []byte("n")) },
		"a note":      func(ctx context.Context) error { return db.Plumbing().SetNote(ctx, "n", []byte("n")) },
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
		err := f(ctx)
		cancel()
		if kind := KindOf(err); !errors.Is(err, context.DeadlineExceeded) || kind != KindCanceled && kind != KindUnavailable {
			t.Errorf("%s: %v", name, err)
		}
	}
	if row, err := table.ReadRow(t.Context(), "r"); row == nil || err != nil {
		t.Error(row, err)
	}
	if row, err := table.ReadRow(t.Context(), "n"); row != nil || err != nil {
		t.Errorf("what failed is there: %v, %v", row, err)
	}
	release()
	patient.Wait()
	for _, row := range []string{"r", "patient", "in a transaction"} {
		if r, err := table.ReadRow(t.Context(), row); r == nil || err != nil {
			t.Error(r, err)
		}
	}
	if row, err := db.Table("u").ReadRow(t.Context(), "x"); row != nil || err != nil {
		t.Error(row, err)
	}
	if names := db.Schema().Tables; len(names) != 2 {
		t.Errorf("tables %v", names)
	}
}

// A stalled database can be closed; waiting writes, changes of the schema, flushes and
// compactions fail.
func TestCloseOfAStalledDatabase(t *testing.T) {
	db, _ := stalled(t)
	var waiting sync.WaitGroup
	waiting.Go(func() {
		if err := put(context.Background(), db, "a"); KindOf(err) != KindUnavailable || !errors.Is(err, cf.ErrClosed) {
			t.Errorf("a write: %v", err)
		}
	})
	awaitStalled(t, db, 1)
	waiting.Go(func() {
		if err := db.DropTable(context.Background(), "t"); KindOf(err) != KindUnavailable || !errors.Is(err, cf.ErrClosed) {
			t.Errorf("a change of the schema: %v", err)
		}
	})
	for name, f := range map[string]func(context.Context) error{
		"a flush": db.Table("t").Flush, "a compaction": db.Table("t").Compact,
	} {
		waiting.Go(func() {
			if err := f(context.Background()); KindOf(err) != KindUnavailable || !errors.Is(err, cf.ErrClosed) {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
	if err := db.Close(); err != nil {
		t.Error(err)
	}
	waiting.Wait()
}
