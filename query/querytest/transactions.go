package querytest

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

// An Opener opens a database with a schema, which is closed at the end of the test.
type Opener func(t *testing.T, s *schema.Schema) *query.DB

var ctx = context.Background()

// BankSchema declares the tables for the tests of transactions.
func BankSchema() *schema.Schema {
	return &schema.Schema{Tables: []schema.Table{
		{Name: "t", Families: []schema.Family{{Name: "f"}, {Name: "one", GC: schema.MaxVersions(1)}}},
		{Name: "u", Families: []schema.Family{{Name: "f"}}},
	}}
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

// put sets a cell of table t.
func put(t *testing.T, db *query.DB, row, family, qualifier string, v cells.Value) {
	t.Helper()
	must(t, db.Table("t").Apply(ctx, row, mutate(set(family, qualifier, v))))
}

func mutate(changes ...func(*write.Mutation)) *write.Mutation {
	m := write.NewMutation()
	for _, c := range changes {
		c(m)
	}
	return m
}

func set(family, qualifier string, v cells.Value) func(*write.Mutation) {
	return func(m *write.Mutation) { m.Set(family, qualifier, v) }
}

func setAt(family, qualifier string, ts cells.Timestamp, v cells.Value) func(*write.Mutation) {
	return func(m *write.Mutation) { m.SetAt(family, qualifier, ts, v) }
}

// ATransactionIsAllOrNothingOverTables: a transaction writes all of its changes, or none.
func ATransactionIsAllOrNothingOverTables(t *testing.T, open Opener) {
	db := open(t, BankSchema())
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

// ATransactionSeesItsOwnWrites tests the reads of a transaction after its writes.
func ATransactionSeesItsOwnWrites(t *testing.T, open Opener) {
	db := open(t, BankSchema())
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

// race runs two transactions that both read before either commits: b begins when a ran its
// function for the first time.
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

// NoLostUpdate adds in two transactions at the same time.
func NoLostUpdate(t *testing.T, open Opener) {
	db := open(t, BankSchema())
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

// NoWriteSkew tests two doctors on call: each may leave if the other stays: under snapshot
// isolation both do.
func NoWriteSkew(t *testing.T, open Opener) {
	db := open(t, BankSchema())
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

// NoPhantom writes rows into ranges that a transaction read, and beside them.
func NoPhantom(t *testing.T, open Opener) {
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
		{"after the last row of a limit", []read.Option{read.Prefix("p"), read.Limit(1)}, "p5", false},
		{"before the last row of a limit", []read.Option{read.Prefix("p"), read.Limit(1)}, "p0", true},
		{"before the first of a limit in reverse", []read.Option{read.Prefix("p"), read.Limit(1), read.Reverse()}, "p0", false},
		{"behind it", []read.Option{read.Prefix("p"), read.Limit(1), read.Reverse()}, "p5", true},
		{"where a condition looked", []read.Option{read.Where("f", "n", cells.OpGreaterOrEqual, cells.I64(100))}, "p5", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			db := open(t, BankSchema())
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

// RangeDeletesAndDropsConflict changes a row that a transaction read, in other ways.
func RangeDeletesAndDropsConflict(t *testing.T, open Opener) {
	for name, change := range map[string]func(*query.DB) error{
		"delete range": func(db *query.DB) error { return db.Table("t").DeleteRange(ctx, read.Prefix("a")) },
		"drop table":   func(db *query.DB) error { return db.DropTable(ctx, "t") },
		"increment":    func(db *query.DB) error { _, err := db.Table("t").Increment(ctx, "a", "f", "n", 1); return err },
	} {
		t.Run(name, func(t *testing.T) {
			db := open(t, BankSchema())
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

// TransfersConserveTheSum moves money between accounts while others count it: the sum never changes,
// neither for transactions nor for plain scans.
func TransfersConserveTheSum(t *testing.T, open Opener) {
	db := open(t, BankSchema())
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
