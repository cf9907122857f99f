package query_test

import (
	"context"
	"testing"

	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/plumbing"
)

// plumbed are the calls of plumbing that can fail.
func plumbed(ctx context.Context, db plumbing.DB) map[string]error {
	errs := map[string]error{
		"set a note":          db.SetNote(ctx, "t", nil),
		"set a table's note":  db.SetTableNote(ctx, "t", nil),
		"set a backup target": db.SetBackupTarget(ctx, "t"),
		"freeze":              db.Freeze(ctx, func(plumbing.Frozen) error { return nil }),
		"can freeze":          db.CanFreeze(),
	}
	_, errs["notes"] = db.Notes(ctx, "")
	_, errs["tables' notes"] = db.TableNotes(ctx)
	_, errs["backup target"] = db.BackupTarget(ctx)
	_, errs["mark changes"] = db.MarkChanges(ctx, "t")
	return errs
}

// Without a database, and after Close, the plumbing fails as every other call.
func TestPlumbingOfNoDatabaseAndOfAClosedOne(t *testing.T) {
	closed := usableDB(t)
	if err := closed.Close(); err != nil {
		t.Fatal(err)
	}
	for name, err := range plumbed(t.Context(), closed.Plumbing()) {
		if query.KindOf(err) != query.KindUnavailable {
			t.Errorf("%s of a closed database: %v", name, err)
		}
	}
	if l, err := closed.Plumbing().NewLedger(t.Context(), nil); query.KindOf(err) != query.KindUnavailable {
		t.Errorf("a ledger of a closed database: %v, %v", l, err)
	}
	var none *query.DB
	for name, err := range plumbed(t.Context(), none.Plumbing()) {
		if query.KindOf(err) != query.KindInvalidArgument {
			t.Errorf("%s of no database: %v", name, err)
		}
	}
	db := none.Plumbing()
	db.ForgetMarked("t")
	if keys, all := db.TakeMarked("t"); len(keys) > 0 || all {
		t.Errorf("the marks of no database are %q, %v", keys, all)
	}
	if _, ok := db.NewestTable(t.Context(), "t"); ok || db.Shared() || db.FilesDir() != "" || !db.Wall().IsZero() || db.SchemaVersion() != 0 || db.Held("t", nil) != nil {
		t.Error("no database answers as if it were one")
	}
	l, err := db.NewLedger(t.Context(), nil) // it needs no database
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if err := new(query.BulkLoad).Plumbing().ApplyRecord("t", 0, plumbing.Record{}, nil); query.KindOf(err) != query.KindFailedPrecondition {
		t.Errorf("a load that never began took a record: %v", err)
	}
}
