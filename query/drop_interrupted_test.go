package query_test

import (
	"context"
	"errors"
	"testing"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/schema"
)

// A dropping store calls drop in the place of DropFamily.
type dropping struct {
	cf.Store
	drop func(context.Context, ...string) error
}

func (s *dropping) DropFamily(ctx context.Context, names ...string) error {
	if s.drop == nil || len(names) == 0 {
		return s.Store.DropFamily(ctx, names...)
	}
	return s.drop(ctx, names...)
}

var errDrop = errors.New("the drop failed")

func openDropping(t *testing.T, dir string) (*query.DB, *dropping) {
	t.Helper()
	s, db := &dropping{}, mustOpen(t, dir, query.Options{})
	db.WrapStore(func(under cf.Store) cf.Store { s.Store = under; return s })
	return db, s
}

// A drop fails before or after the store has dropped the family. The family is made again
// empty, and keeps what is written to it then.
func TestAFamilyThatIsMadeAgainAfterAFailedDrop(t *testing.T) {
	f, g := schema.Family{Name: "f"}, schema.Family{Name: "g"}
	for name, c := range map[string]struct{ drop, again func(*query.DB) error }{
		"family": {
			func(db *query.DB) error { return db.DropFamily(ctx, "t", "f") },
			func(db *query.DB) error { return db.AddFamily(ctx, "t", f) },
		},
		"deleted table": {
			func(db *query.DB) error {
				must(t, db.ApplyPlan(ctx, planOf(schema.DeleteTable, "t")))
				return db.ApplyPlan(ctx, planOf(schema.PurgeTable, "t"))
			},
			func(db *query.DB) error {
				return db.CreateTable(ctx, schema.Table{Name: "t", Families: []schema.Family{f, g}})
			},
		},
	} {
		for when, dropped := range map[string]bool{"before": false, "after": true} {
			t.Run(name+" "+when, func(t *testing.T) {
				dir := t.TempDir()
				db, s := openDropping(t, dir)
				must(t, db.CreateTable(ctx, schema.Table{Name: "t", Families: []schema.Family{f, g}}))
				put(t, db, "old", "f", "q", cells.String("v"))
				s.drop = func(ctx context.Context, names ...string) error {
					if dropped {
						must(t, s.Store.DropFamily(ctx, names...))
					}
					return errDrop
				}
				if err := c.drop(db); !errors.Is(err, errDrop) {
					t.Errorf("the drop: %v", err)
				}
				s.drop = nil
				must(t, c.again(db))
				put(t, db, "new", "f", "q", cells.String("v"))
				wantStrings(t, keysIn(t, db), "new")
				must(t, db.Close())
				db = mustOpen(t, dir, query.Options{})
				wantStrings(t, keysIn(t, db), "new")
			})
		}
	}
}

// A client that leaves while a family is dropped does not interrupt the drop.
func TestADropWhoseClientLeaves(t *testing.T) {
	db, s := openDropping(t, t.TempDir())
	must(t, db.CreateTable(ctx, schema.Table{Name: "t", Families: []schema.Family{{Name: "f"}, {Name: "g"}}}))
	c, leave := context.WithCancel(ctx)
	s.drop = func(ctx context.Context, names ...string) error {
		leave()
		return errors.Join(ctx.Err(), s.Store.DropFamily(ctx, names...))
	}
	must(t, db.DropFamily(c, "t", "f"))
	wantStrings(t, s.Families(), "t/g")
}

// An older smolwc left the mark of an interrupted drop when the family was made again.
func TestADeclaredFamilyWithAMarkIsNotDropped(t *testing.T) {
	dir := t.TempDir()
	db := mustOpen(t, dir, query.Options{Schema: declare(schema.Family{Name: "f"})})
	put(t, db, "r", "f", "q", cells.String("v"))
	must(t, db.Close())
	store, err := query.OpenEngine(dir)
	must(t, err)
	_, err = store.Write(ctx, nil, func(b *cf.Batch) error {
		b.PutMeta("drop/t/f", nil)
		return nil
	})
	must(t, errors.Join(err, store.Close()))
	for range 2 {
		db = mustOpen(t, dir, query.Options{})
		wantStrings(t, keysIn(t, db), "r")
		must(t, db.Close())
	}
}

func keysIn(t *testing.T, db *query.DB) (keys []string) {
	t.Helper()
	for row, err := range db.Table("t").ReadRows(ctx) {
		must(t, err)
		keys = append(keys, row.Key())
	}
	return keys
}
