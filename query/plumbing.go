package query

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/smolwc/smolwc/query/internal/catalog"
	"github.com/smolwc/smolwc/query/internal/state"
	"github.com/smolwc/smolwc/query/plumbing"
	"github.com/smolwc/smolwc/schema"
)

// Plumbing is the database for smolwc's own packages: see package plumbing.
func (db *DB) Plumbing() plumbing.DB { return plumbed{db} }

// A plumbed is a database as a [plumbing.DB]. Some of its methods are beside what they use.
type plumbed struct{ *DB }

func (db plumbed) Wall() time.Time {
	if db.DB == nil || db.state == nil || db.state.Clock.Wall == nil {
		return time.Time{}
	}
	return db.state.Clock.Wall()
}

func (db plumbed) Shared() bool { return db.DB != nil && db.state != nil && db.state.Shared != nil }

func (db plumbed) Held(key any, make func() any) any {
	if db.DB == nil {
		return nil
	}
	if v, ok := db.held.Load(key); ok || make == nil {
		return v
	}
	v, _ := db.held.LoadOrStore(key, make())
	return v
}

func (db plumbed) SchemaVersion() uint64 { return db.inForce().Version }

func (db plumbed) UnderSchema(ctx context.Context, version uint64) context.Context {
	if ctx == nil {
		return nil
	}
	return state.Under(ctx, version)
}

func (db plumbed) NewestTable(ctx context.Context, name string) (t schema.Table, ok bool) {
	if db.ready(ctx) == nil && db.state.Shared != nil {
		_ = db.state.Freshen(ctx)
	}
	return db.LookupTable(name)
}

func (db plumbed) MarkChanges(ctx context.Context, table string) (began bool, err error) {
	const op = "mark changes"
	if err := db.ready(ctx); err != nil {
		return false, fail(op, table, "", err)
	}
	if err := db.raise(ctx, catalog.FormatOfMarks); err != nil {
		return false, fail(op, table, "", err)
	}
	err = db.CreateTable(ctx, schema.Table{Name: schema.MarksOf(table), Families: []schema.Family{{Name: "m"}}})
	if KindOf(err) == KindAlreadyExists {
		return false, nil
	}
	return err == nil, fail(op, table, "", err)
}

// raise gives the database at least a format.
func (db *DB) raise(ctx context.Context, format int) error {
	return db.writing(ctx, func(*catalog.Catalog) error { return db.state.Raise(ctx, format) })
}

func (db plumbed) TakeMarked(table string) (keys []string, all bool) {
	info, ok := db.inForce().Tables[table]
	if !ok || info.Marks == nil {
		return nil, false
	}
	taken, all := db.state.Marked.Take(info)
	return slices.Sorted(maps.Keys(taken)), all && db.state.Shared == nil && !db.state.ReadOnly
}

func (db plumbed) ForgetMarked(table string) {
	if db.DB != nil && db.state != nil {
		db.state.Marked.Forget(table)
	}
}
