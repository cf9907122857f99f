//go:build cgo

package query_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
)

func openBank(t *testing.T) *query.DB {
	t.Helper()
	s := &schema.Schema{Tables: []schema.Table{
		{Name: "t", Families: []schema.Family{{Name: "f"}, {Name: "one", GC: schema.MaxVersions(1)}}},
		{Name: "u", Families: []schema.Family{{Name: "f"}}},
	}}
	return openMemory(t, s)
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

func TestATransactionIsAllOrNothingOverTables(t *testing.T) {
	db := openBank(t)
	if err := db.Update(ctx, func(tx *query.Tx) error {
		return errors.Join(setBalance(tx, "t", "a", 1), setBalance(tx, "u", "b", 2))
	}); err != nil {
		t.Fatal(err)
	}
	mine := errors.New("mine")
	if err := db.Update(ctx, func(tx *query.Tx) error {
		if err := setBalance(tx, "t", "a", 100); err != nil {
			return err
		}
		return mine
	}); err != mine {
		t.Errorf("the function's error came back as %v", err)
	}
	for table, key := range map[string]string{"t": "a", "u": "b"} {
		row, err := db.Table(table).ReadRow(ctx, key, read.Versions(1))
		if err != nil {
			t.Fatal(err)
		}
		if n, _ := row.I64("f", "n"); n > 2 || row.Len() != 1 {
			t.Errorf("%s holds %d", table, n)
		}
	}
}

func TestATransactionSeesItsOwnWrites(t *testing.T) {
	db := openBank(t)
	put(t, db, "a", "f", "old", cells.I64(1))
	err := db.Update(ctx, func(tx *query.Tx) error {
		check := func(want string, opts ...read.Option) error {
			got := ""
			for row, err := range tx.ReadRows(ctx, "t", opts...) {
				if err != nil {
					return err
				}
				got += row.Key() + ":"
				for c := range row.Cells() {
					got += c.Qualifier
				}
				got += " "
			}
			if got != want {
				return fmt.Errorf("saw %q, want %q", got, want)
			}
			return nil
		}
		if err := tx.Apply(ctx, "t", "b", mutate(set("f", "x", cells.I64(1)), set("f", "y", cells.I64(2)))); err != nil {
			return err
		}
		if err := errors.Join(check("a:old b:xy "), check("b:xy ", read.Key("b")), check("b:xy a:old ", read.Reverse())); err != nil {
			return err
		}
		if err := tx.Apply(ctx, "t", "b", mutate(func(m *write.Mutation) { m.DeleteCellsInColumn("f", "x") })); err != nil {
			return err
		}
		if err := tx.Apply(ctx, "t", "a", mutate((*write.Mutation).DeleteRow, set("f", "new", cells.I64(1)))); err != nil {
			return err
		}
		return errors.Join(check("a:new b:y "), check("b:y ", read.Prefix("b")))
	})
	if err != nil {
		t.Fatal(err)
	}
	if n, err := db.Table("t").Count(ctx); n.Rows != 2 || n.Cells != 2 || err != nil {
		t.Errorf("committed %+v, %v", n, err)
	}
}

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

// race runs two transactions that both read before either commits: b begins
// when a has run its function for the first time.
func race(t *testing.T, db *query.DB, a, b func(*query.Tx) error) {
	t.Helper()
	first := true
	err := db.Update(ctx, func(tx *query.Tx) error {
		if err := a(tx); err != nil {
			return err
		}
		if first {
			first = false
			return db.Update(ctx, b)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestNoLostUpdate(t *testing.T) {
	db := openBank(t)
	add := func(tx *query.Tx) error {
		n, err := balance(tx, "t", "a")
		if err != nil {
			return err
		}
		return setBalance(tx, "t", "a", n+1)
	}
	race(t, db, add, add)
	row, err := db.Table("t").ReadRow(ctx, "a")
	if err != nil {
		t.Fatal(err)
	}
	if n, _ := row.I64("f", "n"); n != 2 {
		t.Errorf("two additions made %d", n)
	}
}

// Two doctors on call, each may leave if the other stays: under snapshot
// isolation both do.
func TestNoWriteSkew(t *testing.T) {
	db := openBank(t)
	put(t, db, "alice", "f", "n", cells.I64(1))
	put(t, db, "bob", "f", "n", cells.I64(1))
	leave := func(who, other string) func(*query.Tx) error {
		return func(tx *query.Tx) error {
			n, err := balance(tx, "t", other)
			if err != nil || n == 0 {
				return err
			}
			return setBalance(tx, "t", who, 0)
		}
	}
	race(t, db, leave("alice", "bob"), leave("bob", "alice"))
	total := int64(0)
	for row, err := range db.Table("t").ReadRows(ctx, read.Versions(1)) {
		if err != nil {
			t.Fatal(err)
		}
		n, _ := row.I64("f", "n")
		total += n
	}
	if total != 1 {
		t.Errorf("%d are on call, want 1", total)
	}
}

func TestNoPhantom(t *testing.T) {
	for _, c := range []struct {
		name     string
		opts     []read.Option
		insert   string
		conflict bool
	}{
		{"into the prefix read", []read.Option{read.Prefix("p")}, "p5", true},
		{"where a row was looked for in vain", []read.Option{read.Key("p5")}, "p5", true},
		{"into all rows", nil, "q", true},
		{"beside the prefix", []read.Option{read.Prefix("p")}, "q", false},
		{"behind the last row of a limit", []read.Option{read.Prefix("p"), read.Limit(1)}, "p5", false},
		{"before the last row of a limit", []read.Option{read.Prefix("p"), read.Limit(1)}, "p0", true},
		{"before the first of a limit in reverse", []read.Option{read.Prefix("p"), read.Limit(1), read.Reverse()}, "p0", false},
		{"behind it", []read.Option{read.Prefix("p"), read.Limit(1), read.Reverse()}, "p5", true},
		{"where a condition looked", []read.Option{read.Where("f", "n", cells.OpGreaterOrEqual, cells.I64(100))}, "p5", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			db := openBank(t)
			put(t, db, "p1", "f", "n", cells.I64(1))
			runs := 0
			err := db.Update(ctx, func(tx *query.Tx) error {
				runs++
				rows := int64(0)
				for _, err := range tx.ReadRows(ctx, "t", c.opts...) {
					if err != nil {
						return err
					}
					rows++
				}
				if runs == 1 {
					put(t, db, c.insert, "f", "n", cells.I64(1)) // a plain write
				}
				return setBalance(tx, "u", "count", rows)
			})
			if err != nil {
				t.Fatal(err)
			}
			if conflict := runs == 2; conflict != c.conflict {
				t.Errorf("ran %d times", runs)
			}
		})
	}
}

func TestRangeDeletesAndDropsConflict(t *testing.T) {
	for name, change := range map[string]func(*query.DB) error{
		"delete range": func(db *query.DB) error { return db.Table("t").DeleteRange(ctx, read.Prefix("a")) },
		"drop table":   func(db *query.DB) error { return db.DropTable(ctx, "t") },
		"increment":    func(db *query.DB) error { _, err := db.Table("t").Increment(ctx, "a", "f", "n", 1); return err },
	} {
		t.Run(name, func(t *testing.T) {
			db := openBank(t)
			put(t, db, "a", "f", "n", cells.I64(1))
			runs := 0
			err := db.Update(ctx, func(tx *query.Tx) error {
				runs++
				if runs == 2 {
					return nil
				}
				n, err := balance(tx, "t", "a")
				if err != nil {
					return err
				}
				if err := change(db); err != nil {
					return err
				}
				return setBalance(tx, "u", "copy", n)
			})
			if runs != 2 || err != nil {
				t.Errorf("ran %d times, %v", runs, err)
			}
		})
	}
}

// Only changes of the tables that a transaction reads or writes make it run again,
// however many others there are.
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

// A transaction that takes its time gets through beside a program that never stops
// changing the schema of other tables.
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

// Money moves between accounts while others count it: the sum never changes,
// neither for transactions nor for plain scans.
func TestTransfersConserveTheSum(t *testing.T) {
	db := openBank(t)
	const accounts, each, workers, moves = 8, 100, 4, 60
	for i := range accounts {
		put(t, db, fmt.Sprint(i), "f", "n", cells.I64(each))
	}
	sum := func(rows func(yield func(*query.Row, error) bool)) int64 {
		total := int64(0)
		for row, err := range rows {
			if err != nil {
				t.Error(err)
				return 0
			}
			n, _ := row.I64("f", "n")
			total += n
		}
		return total
	}
	var wg sync.WaitGroup
	var gaveUp atomic.Int64
	for w := range workers {
		wg.Go(func() {
			for i := range moves {
				from, to := fmt.Sprint((w+i)%accounts), fmt.Sprint((w*3+i*5+1)%accounts)
				err := db.Update(ctx, func(tx *query.Tx) error {
					a, err := balance(tx, "t", from)
					if err != nil {
						return err
					}
					if err := setBalance(tx, "t", from, a-1); err != nil {
						return err
					}
					b, err := balance(tx, "t", to)
					if err != nil {
						return err
					}
					return setBalance(tx, "t", to, b+1)
				})
				if query.KindOf(err) == query.KindConflict && err != nil {
					gaveUp.Add(1)
				} else if err != nil {
					t.Error(err)
				}
				if got := sum(db.Table("t").ReadRows(ctx, read.Versions(1))); got != accounts*each {
					t.Errorf("a scan counts %d", got)
				}
			}
		})
	}
	wg.Wait()
	err := db.Update(ctx, func(tx *query.Tx) error {
		if got := sum(tx.ReadRows(ctx, "t", read.Versions(1))); got != accounts*each {
			t.Errorf("a transaction counts %d", got)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if gaveUp.Load() > workers*moves/4 {
		t.Errorf("%d of %d transfers gave up", gaveUp.Load(), workers*moves)
	}
}

// A transaction whose database is closed meanwhile fails, also where it has changes
// that it has read.
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

// A transaction that peeks at a row sees the snapshot and its own writes, and
// commits although another has changed the row.
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
