package query_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/querytest"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
)

func openBank(t *testing.T) *query.DB {
	t.Helper()
	return openMemory(t, querytest.BankSchema())
}

func balance(tx *query.Tx, table, key string) (int64, error) {
	row, err := tx.ReadRow(ctx, table, key)
	if err != nil {
		return 0, err
	}
	n, _ := row.I64("f", "n")
	return n, nil
}

func setBalance(tx *query.Tx, table, key string, n int64) error {
	return tx.Apply(ctx, table, key, mutate(set("f", "n", cells.I64(n))))
}

// The tests that any store has to pass are in querytest.

func TestATransactionIsAllOrNothingOverTables(t *testing.T) {
	querytest.ATransactionIsAllOrNothingOverTables(t, openMemory)
}

func TestATransactionSeesItsOwnWrites(t *testing.T) {
	querytest.ATransactionSeesItsOwnWrites(t, openMemory)
}

func TestNoLostUpdate(t *testing.T) { querytest.NoLostUpdate(t, openMemory) }

func TestNoWriteSkew(t *testing.T) { querytest.NoWriteSkew(t, openMemory) }

func TestNoPhantom(t *testing.T) { querytest.NoPhantom(t, openMemory) }

func TestRangeDeletesAndDropsConflict(t *testing.T) {
	querytest.RangeDeletesAndDropsConflict(t, openMemory)
}

func TestTransfersConserveTheSum(t *testing.T) { querytest.TransfersConserveTheSum(t, openMemory) }

func TestDeletesInATransactionBringNothingBack(t *testing.T) {
	db := openBank(t)
	for ts := cells.Timestamp(1); ts <= 3; ts++ {
		if err := db.Table("t").Apply(ctx, "a", mutate(setAt("one", "q", ts, cells.I64(int64(ts))))); err != nil {
			t.Fatal(err)
		}
	}
	err := db.Update(ctx, func(tx *query.Tx) error {
		return tx.Apply(ctx, "t", "a", mutate(func(m *write.Mutation) { m.DeleteCell("one", "q", 3) }))
	})
	if err != nil {
		t.Fatal(err)
	}
	if row, err := db.Table("t").ReadRow(ctx, "a"); row != nil || err != nil {
		t.Errorf("a hidden version came back: %v, %v", row, err)
	}
}

func TestWritingInTheLoopOfAScan(t *testing.T) {
	db := openBank(t)
	for i := range 500 {
		put(t, db, fmt.Sprintf("%03d", i), "f", "n", cells.I64(int64(i)))
	}
	err := db.Update(ctx, func(tx *query.Tx) error {
		rows := 0
		for row, err := range tx.ReadRows(ctx, "t") {
			if err != nil {
				return err
			}
			rows++
			if err := tx.Apply(ctx, "t", row.Key()+"!", mutate(set("f", "n", cells.I64(1)))); err != nil {
				return err
			}
		}
		if rows != 500 {
			return fmt.Errorf("the scan saw %d rows", rows)
		}
		for row, err := range tx.ReadRows(ctx, "t", read.Limit(1)) {
			if err != nil {
				return err
			}
			if err := setBalance(tx, "t", row.Key(), 7); err != nil {
				return err
			}
			if _, err := tx.ReadRow(ctx, "t", "010!"); err != nil {
				return fmt.Errorf("another row in the loop: %w", err)
			}
			_, err = tx.ReadRow(ctx, "t", row.Key())
			return err
		}
		return nil
	})
	wantError(t, err, query.KindFailedPrecondition, "while a scan")
	if n, err := db.Table("t").Count(ctx, read.KeysOnly()); n.Rows != 500 || err != nil {
		t.Errorf("%d rows, %v", n.Rows, err)
	}
}

// Only changes of the tables that a transaction reads or writes make it run again.
func TestTheSchemaOfOtherTablesIsNoConflict(t *testing.T) {
	for name, c := range map[string]struct {
		change func(db *query.DB) error
		runs   int
	}{
		"others come and go": {func(db *query.DB) error {
			other := schema.Table{Name: "other", ChangeStream: schema.MaxChangeStream, Families: []schema.Family{{Name: "f", GC: schema.MaxVersions(1)}}}
			return errors.Join(db.CreateTable(ctx, other), db.AddFamily(ctx, "other", schema.Family{Name: "g"}),
				db.SetFamily(ctx, "other", schema.Family{Name: "f", GC: schema.MaxVersions(2)}), db.SetChangeStream(ctx, "other", 0),
				db.CopyTable(ctx, "copy", db.Table("t"), nil), db.DropTable(ctx, "copy"), db.DropTable(ctx, "other"))
		}, 1},
		"the table that it reads":  {func(db *query.DB) error { return db.AddFamily(ctx, "t", schema.Family{Name: "g"}) }, 2},
		"the table that it writes": {func(db *query.DB) error { return db.SetChangeStream(ctx, "u", schema.MinChangeStream) }, 2},
		"a table that is dropped and back": {func(db *query.DB) error {
			return errors.Join(db.DropTable(ctx, "u"), db.CreateTable(ctx, schema.Table{Name: "u", Families: []schema.Family{{Name: "f"}}}))
		}, 2},
		"others are emptied and loaded": {func(db *query.DB) error {
			if err := db.CreateTable(ctx, schema.Table{Name: "other", Families: []schema.Family{{Name: "f"}}}); err != nil {
				return err
			}
			load, err := db.Table("other").BulkLoad(ctx, query.BulkOptions{})
			if err != nil {
				return err
			}
			err = load.Apply("a", mutate(setAt("f", "n", 1, cells.I64(1))))
			_, committed := load.Commit(ctx)
			return errors.Join(err, committed, load.Close(), db.TruncateTable(ctx, "other"))
		}, 1},
		"its table is emptied": {func(db *query.DB) error { return db.TruncateTable(ctx, "t") }, 2},
	} {
		db := openBank(t)
		put(t, db, "a", "f", "n", cells.I64(1))
		runs := 0
		err := db.Update(ctx, func(tx *query.Tx) error {
			runs++
			n, err := balance(tx, "t", "a")
			if err != nil {
				return err
			}
			if err := setBalance(tx, "u", "copy", n); err != nil {
				return err
			}
			if runs > 1 {
				return nil
			}
			return c.change(db)
		})
		if runs != c.runs || err != nil {
			t.Errorf("%s: ran %d times, want %d; %v", name, runs, c.runs, err)
		}
	}
}

// A long transaction succeeds beside a program that never stops changing the schema of
// other tables.
func TestATransactionBesideContinuousDDL(t *testing.T) {
	db := openBank(t)
	stop, done := make(chan struct{}), make(chan error)
	changed := make(chan struct{})
	go func() {
		var err error
		for i := 0; err == nil; i++ {
			name := fmt.Sprintf("other%d", i%3)
			err = errors.Join(db.CreateTable(ctx, schema.Table{Name: name, Families: []schema.Family{{Name: "f"}}}), db.DropTable(ctx, name))
			select {
			case changed <- struct{}{}:
			case <-stop:
				done <- err
				return
			}
		}
		close(changed)
		done <- err
	}()
	runs := 0
	for i := range 10 {
		err := db.Update(ctx, func(tx *query.Tx) error {
			runs++
			n, err := balance(tx, "t", "a")
			<-changed
			return errors.Join(err, setBalance(tx, "t", "a", n+1))
		})
		if err != nil {
			t.Fatalf("transaction %d: %v", i, err)
		}
	}
	close(stop)
	if err := <-done; err != nil {
		t.Error(err)
	}
	if runs != 10 {
		t.Errorf("10 transactions ran %d times", runs)
	}
}

func TestGivingUpIsAConflict(t *testing.T) {
	db := openBank(t)
	runs := 0
	err := db.Update(ctx, func(tx *query.Tx) error {
		runs++
		if _, err := balance(tx, "t", "a"); err != nil {
			return err
		}
		put(t, db, "a", "f", "n", cells.I64(1))
		return setBalance(tx, "t", "b", 1)
	})
	wantError(t, err, query.KindConflict, "16 attempts")
	if runs != query.MaxTxAttempts {
		t.Errorf("ran %d times", runs)
	}
	canceled, cancel := context.WithCancel(ctx)
	cancel()
	wantError(t, db.Update(canceled, func(*query.Tx) error { return nil }), query.KindCanceled)
}

func TestAFailedCallCannotBeCommitted(t *testing.T) {
	db := openBank(t)
	err := db.Update(ctx, func(tx *query.Tx) error {
		if err := setBalance(tx, "t", "a", 1); err != nil {
			return err
		}
		_ = tx.Apply(ctx, "t", "a", mutate(set("x", "n", cells.I64(1)))) // ignored
		return nil
	})
	wantError(t, err, query.KindNotFound, `unknown family "x"`)
	if n, err := db.Table("t").Count(ctx); n.Rows != 0 || err != nil {
		t.Errorf("%d rows, %v", n.Rows, err)
	}
}

// A transaction whose database is closed meanwhile fails, also if it has read its own
// changes.
func TestATransactionOfAClosedDatabaseFails(t *testing.T) {
	db := openMemory(t, declare(schema.Family{Name: "f"}))
	err := db.Update(ctx, func(tx *query.Tx) error {
		if err := tx.Apply(ctx, "t", "r", mutate(setAt("f", "q", 1, cells.I64(1)))); err != nil {
			return err
		}
		for _, err := range tx.ReadRows(ctx, "t") {
			if err != nil {
				return err
			}
		}
		if err := db.Close(); err != nil {
			return err
		}
		if err := tx.Apply(ctx, "t", "r", mutate(setAt("f", "q", 2, cells.I64(2)))); err != nil {
			return err
		}
		for _, err := range tx.ReadRows(ctx, "t") {
			return err
		}
		return nil
	})
	if query.KindOf(err) != query.KindUnavailable {
		t.Errorf("the error is %v", err)
	}
}

// A transaction that peeks at a row sees the snapshot and its own writes, and commits
// although another transaction has changed the row.
func TestPeekingIsNoDependency(t *testing.T) {
	db := openBank(t)
	peek := func(tx *query.Tx, key string) (n int64) {
		for row, err := range tx.PeekRows(ctx, "t", read.Key(key)) {
			if err != nil {
				t.Fatal(err)
			}
			n, _ = row.I64("f", "n")
		}
		return n
	}
	runs := 0
	err := db.Update(ctx, func(tx *query.Tx) error {
		runs++
		if n := peek(tx, "a"); n != 0 {
			t.Errorf("peeked at %d", n)
		}
		err := db.Update(ctx, func(other *query.Tx) error { return setBalance(other, "t", "a", 7) })
		if n := peek(tx, "a"); n != 0 {
			t.Errorf("peeked at %d, which was committed after the snapshot", n)
		}
		err = errors.Join(err, tx.Apply(ctx, "t", "b", mutate(setAt("f", "n", 0, cells.I64(5)))))
		if n := peek(tx, "b"); n != 5 {
			t.Errorf("peeked at %d, not at the transaction's own 5", n)
		}
		return err
	})
	if err != nil || runs != 1 {
		t.Errorf("%d runs: %v", runs, err)
	}
}

// OnCommit is told of the attempt that commits, once, and of no other.
func TestOnCommitIsCalledForTheAttemptThatCommits(t *testing.T) {
	db := openBank(t)
	var told []string
	attempt := 0
	if err := db.Update(ctx, func(tx *query.Tx) error {
		attempt++
		n := attempt
		tx.OnCommit(func() { told = append(told, fmt.Sprint("attempt ", n)) })
		tx.OnCommit(nil)
		tx.OnCommit(func() { told = append(told, "second") })
		if _, err := balance(tx, "t", "a"); err != nil {
			return err
		}
		if n == 1 { // another commit comes between
			if err := db.Table("t").Apply(ctx, "a", mutate(set("f", "n", cells.I64(7)))); err != nil {
				return err
			}
		}
		return setBalance(tx, "t", "b", 1)
	}); err != nil {
		t.Fatal(err)
	}
	rolledBack := errors.New("rolled back")
	if err := db.Update(ctx, func(tx *query.Tx) error {
		tx.OnCommit(func() { told = append(told, "rolled back") })
		return rolledBack
	}); err != rolledBack {
		t.Errorf("the function's error came back as %v", err)
	}
	if err := db.Update(ctx, func(tx *query.Tx) error {
		tx.OnCommit(func() { told = append(told, "read") })
		return nil
	}); err != nil {
		t.Error(err)
	}
	if want := []string{"attempt 2", "second", "read"}; !slices.Equal(told, want) {
		t.Errorf("told %q, want %q", told, want)
	}
}

// A function of OnCommit may use the database, also for what waits for all writes.
func TestOnCommitMayUseTheDatabase(t *testing.T) {
	db := openBank(t)
	soon, cancel := context.WithTimeout(ctx, time.Minute) // not forever, if it is locked out
	defer cancel()
	if err := db.Update(ctx, func(tx *query.Tx) error {
		tx.OnCommit(func() {
			if err := db.CreateTable(soon, schema.Table{Name: "made", Families: []schema.Family{{Name: "f"}}}); err != nil {
				t.Error(err)
			}
			if err := db.Update(soon, func(tx *query.Tx) error { return setBalance(tx, "t", "b", 2) }); err != nil {
				t.Error(err)
			}
		})
		return setBalance(tx, "t", "b", 1)
	}); err != nil {
		t.Fatal(err)
	}
}
