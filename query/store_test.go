package query_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/cftest"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
)

// A database on another store than RocksDB.
func ExampleOpenStore() {
	ctx := context.Background()
	db, err := query.OpenStore(ctx, cftest.NewMemory(), query.Options{Schema: fleetSchema()})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer db.Close()
	m := write.NewMutation()
	m.Set("meta", "model", cells.String("A320"))
	if err := db.Table("fleet").Apply(ctx, "plane#N102UW", m); err != nil {
		fmt.Println(err)
		return
	}
	for row, err := range db.Table("fleet").ReadRows(ctx, read.Prefix("plane#")) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(row.Key(), row.Text("meta", "model"))
	}
	// Output: plane#N102UW A320
}

func fleetSchema() *schema.Schema {
	return &schema.Schema{Tables: []schema.Table{{Name: "fleet", Families: []schema.Family{
		{Name: "meta", GC: schema.MaxVersions(2)}, {Name: "pos"},
	}}}}
}

// openFleetOn opens the database of a store, with a table.
func openFleetOn(t *testing.T, store cf.Store) *query.DB {
	t.Helper()
	db, err := query.OpenStore(t.Context(), store, query.Options{Schema: fleetSchema()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

// mustSet sets a column of a row.
func mustSet(t *testing.T, db *query.DB, row, family, qualifier, value string) {
	t.Helper()
	m := write.NewMutation()
	m.Set(family, qualifier, cells.String(value))
	if err := db.Table("fleet").Apply(t.Context(), row, m); err != nil {
		t.Fatal(err)
	}
}

// keysOf are the keys of a read's rows.
func keysOf(t *testing.T, db *query.DB, opts ...read.Option) (keys []string) {
	t.Helper()
	for row, err := range db.Table("fleet").ReadRows(t.Context(), opts...) {
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, row.Key())
	}
	return keys
}

// Tables work on any store.
func TestOpenStore(t *testing.T) {
	db, ctx := openFleetOn(t, cftest.NewMemory()), t.Context()
	fleet := db.Table("fleet")
	for _, model := range []string{"A319", "A320", "A321"} {
		mustSet(t, db, "plane#1", "meta", "model", model)
	}
	mustSet(t, db, "plane#2", "meta", "model", "B737")
	mustSet(t, db, "plane#2", "pos", "at", "JFK")
	mustSet(t, db, "ship#1", "meta", "model", "tug")

	if got := keysOf(t, db, read.Prefix("plane#")); !slices.Equal(got, []string{"plane#1", "plane#2"}) {
		t.Errorf("a prefix: %q", got)
	}
	if got := keysOf(t, db, read.Reverse(), read.Limit(1)); !slices.Equal(got, []string{"ship#1"}) {
		t.Errorf("the last row: %q", got)
	}
	row, err := fleet.ReadRow(ctx, "plane#1")
	if err != nil {
		t.Fatal(err)
	}
	if n := len(slices.Collect(row.Cells())); n != 2 {
		t.Errorf("%d versions, where two are kept", n)
	}
	if row, err := fleet.ReadRow(ctx, "plane#3"); row != nil || err != nil {
		t.Errorf("a row that there is not: %v, %v", row, err)
	}
	del := write.NewMutation()
	del.DeleteRow()
	if err := fleet.Apply(ctx, "plane#2", del); err != nil {
		t.Fatal(err)
	}
	if got := keysOf(t, db); !slices.Equal(got, []string{"plane#1", "ship#1"}) {
		t.Errorf("after a delete: %q", got)
	}
}

// without is a store without transactions.
type without struct{ cf.Store }

func (without) Begin(context.Context) (cf.Txn, error) {
	return nil, fmt.Errorf("transactions: %w", errors.ErrUnsupported)
}

// Features that a store lacks fail with an error that says so, without a panic.
func TestOpenStoreWithoutExtras(t *testing.T) {
	db, ctx := openFleetOn(t, without{cftest.NewMemory()}), t.Context()
	if got := db.Dir(); got != "" {
		t.Errorf("it lies in %q", got)
	}
	if err := db.Plumbing().CanFreeze(); query.KindOf(err) != query.KindFailedPrecondition {
		t.Errorf("copying: %v", err)
	}
	if err := db.Refresh(ctx); err != nil {
		t.Errorf("refreshing: %v", err)
	}
	if _, err := db.Check(ctx); query.KindOf(err) != query.KindFailedPrecondition {
		t.Errorf("checking files: %v", err)
	}
	if err := db.Update(ctx, func(*query.Tx) error { return nil }); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("a transaction: %v", err)
	}
}

// Close closes the store. The store stays open until then, also if the open fails.
func TestOpenStoreOwnsTheStore(t *testing.T) {
	store, ctx := cftest.NewMemory(), t.Context()
	for _, o := range []query.Options{{MustExist: true}, {ReadOnly: true}} {
		if _, err := query.OpenStore(ctx, store, o); query.KindOf(err) != query.KindNotFound {
			t.Errorf("%+v of an empty store: %v", o, err)
		}
	}
	for _, o := range []query.Options{{Durability: query.DurabilityAsync}, {BackgroundRate: 1 << 30}, {Memory: 1}} {
		if _, err := query.OpenStore(ctx, store, o); query.KindOf(err) != query.KindInvalidArgument {
			t.Errorf("%+v: %v", o, err)
		}
	}
	db := openFleetOn(t, store)
	mustSet(t, db, "plane#1", "meta", "model", "A320")
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Snapshot(ctx); !errors.Is(err, cf.ErrClosed) {
		t.Errorf("the store after Close: %v", err)
	}
}

// closable is a store whose Close leaves it open, so that it can be opened again.
type closable struct{ cf.Store }

func (closable) EndWaits()    {}
func (closable) Close() error { return nil }

// mere is a store that can only be read.
type mere struct{ cf.Reader }

// A store that can only be read opens for reading, and refuses writes.
func TestOpenStoreOfAReader(t *testing.T) {
	store, ctx := closable{cftest.NewMemory()}, t.Context()
	first := openFleetOn(t, store)
	mustSet(t, first, "plane#1", "meta", "model", "A320")
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := query.OpenStore(ctx, mere{store}, query.Options{}); query.KindOf(err) != query.KindInvalidArgument {
		t.Errorf("opened for writing: %v", err)
	}
	db, err := query.OpenStore(ctx, mere{store}, query.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	if got := keysOf(t, db); !slices.Equal(got, []string{"plane#1"}) {
		t.Errorf("its rows: %q", got)
	}
	m := write.NewMutation()
	m.Set("meta", "model", cells.String("A330"))
	if err := db.Table("fleet").Apply(ctx, "plane#1", m); query.KindOf(err) != query.KindFailedPrecondition {
		t.Errorf("a write: %v", err)
	}
}

// A database has no state outside its store: it can be opened again, also for reading.
func TestOpenStoreAgain(t *testing.T) {
	store, ctx := closable{cftest.NewMemory()}, t.Context()
	first := openFleetOn(t, store)
	mustSet(t, first, "plane#1", "meta", "model", "A320")
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	second, err := query.OpenStore(ctx, store, query.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { second.Close() })
	if second.UUID() != first.UUID() {
		t.Error("it is another database")
	}
	if got := keysOf(t, second); !slices.Equal(got, []string{"plane#1"}) {
		t.Errorf("its rows: %q", got)
	}
}

// doubtful is a store whose transactions commit with an unknown outcome.
type doubtful struct{ *cftest.Memory }

func (s doubtful) Begin(ctx context.Context) (cf.Txn, error) {
	snap, err := s.Snapshot(ctx)
	return doubtfulTxn{snap}, err
}

type doubtfulTxn struct{ cf.Snapshot }

func (doubtfulTxn) Read(string, cf.Range)                          {}
func (doubtfulTxn) Add(*cf.Batch) error                            { return nil }
func (doubtfulTxn) Stamp(context.Context, cf.RowID) (int64, error) { return 1, nil }
func (doubtfulTxn) Commit(context.Context, func(*cf.Batch) error) (cf.Position, error) {
	return 0, cf.ErrUnknownOutcome
}

func (t doubtfulTxn) CatalogVersion(ctx context.Context) (uint64, error) {
	return t.Snapshot.(cf.Versioned).CatalogVersion(ctx)
}

// A transaction with an unknown outcome may not have committed, so OnCommit is not told.
func TestOnCommitIsNotCalledWhenTheOutcomeIsUnknown(t *testing.T) {
	db, runs := openFleetOn(t, doubtful{cftest.NewMemory()}), 0
	err := db.Update(t.Context(), func(tx *query.Tx) error {
		runs++
		tx.OnCommit(func() { t.Error("it was called") })
		m := write.NewMutation()
		m.Set("meta", "model", cells.String("A320"))
		return tx.Apply(t.Context(), "fleet", "plane#1", m)
	})
	if runs != 1 || query.KindOf(err) != query.KindUnknownOutcome {
		t.Errorf("after %d runs: %v", runs, err)
	}
}
