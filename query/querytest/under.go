package querytest

import (
	"context"
	"errors"
	"testing"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/plumbing"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
)

// UnderASchema lets one opened database change what belongs to the schema, and another
// one, or the same, write under the version from before, in all ways: nothing is changed.
// The database contains a table t with a family f.
func UnderASchema(t *testing.T, a, b *query.DB) {
	ctx := context.Background()
	set := write.NewMutation()
	set.Set("f", "q", cells.Bytes([]byte("late")))
	modify := write.NewReadModifyWrite()
	modify.AppendValue("f", "q", []byte("late"))
	changes := map[string]func(context.Context) error{
		"apply": func(ctx context.Context) error { return b.Table("t").Apply(ctx, "r", set) },
		"bulk": func(ctx context.Context) error {
			_, err := b.Table("t").ApplyBulk(ctx, []string{"r"}, []*write.Mutation{set})
			return err
		},
		"batch": func(ctx context.Context) error { return b.Apply(ctx, write.NewBatch().Add("t", "r", set)) },
		"check and mutate": func(ctx context.Context) error {
			_, err := b.Table("t").CheckAndMutate(ctx, "r", nil, set, set)
			return err
		},
		"read-modify-write": func(ctx context.Context) error {
			_, err := b.Table("t").ApplyReadModifyWrite(ctx, "r", modify)
			return err
		},
		"transaction": func(ctx context.Context) error {
			return b.Update(ctx, func(tx *query.Tx) error { return tx.Apply(ctx, "t", "r", set) })
		},
		"range":      func(ctx context.Context) error { return b.Table("t").DeleteRange(ctx, read.Prefix("")) },
		"note":       func(ctx context.Context) error { return b.Plumbing().SetTableNote(ctx, "t", []byte("late")) },
		"family":     func(ctx context.Context) error { return b.AddFamily(ctx, "t", schema.Family{Name: "late"}) },
		"drop table": func(ctx context.Context) error { return b.DropTable(ctx, "t") },
	}
	kept := write.NewMutation()
	kept.SetAt("f", "kept", 1000, cells.Bytes(nil))
	must(t, a.Table("t").Apply(ctx, "kept", kept))
	for _, renew := range []func() error{
		func() error { return a.Plumbing().SetTableNote(ctx, "t", []byte("note")) },
		func() error { return a.AddFamily(ctx, "t", schema.Family{Name: "g"}) },
	} {
		under := b.Plumbing().UnderSchema(ctx, b.Plumbing().SchemaVersion())
		must(t, renew())
		for name, change := range changes {
			if err := change(under); !errors.Is(err, plumbing.ErrSchemaChanged) {
				t.Errorf("%s under an old version of the schema: %v", name, err)
			}
		}
		notes, err := b.Plumbing().TableNotes(ctx)
		must(t, err)
		if got := string(notes["t"]); got != "note" {
			t.Errorf("the note is %q", got)
		}
		for row, err := range b.Table("t").ReadRows(ctx) {
			must(t, err)
			if row.Key() != "kept" {
				t.Errorf("row %q was written", row.Key())
			}
		}
	}
	must(t, b.Table("t").Apply(b.Plumbing().UnderSchema(ctx, b.Plumbing().SchemaVersion()), "r", set))
}
