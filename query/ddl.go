package query

import (
	"context"
	"time"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/query/internal/alter"
	"github.com/smolwc/smolwc/query/internal/fault"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/schema"
)

// ApplyPlan makes all changes of a plan, including those that drop data, or none: the
// schema changes at once. A family's type and aggregate can change only while it is empty.
//
// A table that a change of kind [schema.DeleteTable] deletes is kept for
// [Options.KeepDeleted] and is among [Stats].Deleted. Until then
// [schema.UndeleteTable] brings it back as it was, with its families, cells, settings,
// note and names of bulk loads, and a new change stream if it had one. If there are
// several of a name, it is the one that was deleted last. While there is a table of the
// name, the error has the kind [KindAlreadyExists]; without a deleted one it is
// [KindNotFound]. [schema.PurgeTable] frees the space of all deleted tables of a name.
// The first deletion gives the database format 4.
func (db *DB) ApplyPlan(ctx context.Context, plan schema.Plan) error {
	return db.alter(ctx, "apply schema", "", plan.Changes...)
}

// CheckPlan refuses a plan that [DB.ApplyPlan] would refuse now, with the same error,
// and changes nothing.
func (db *DB) CheckPlan(ctx context.Context, plan schema.Plan) error {
	const op = "check schema"
	if err := db.ready(ctx); err != nil {
		return fail(op, "", "", err)
	}
	return fail(op, "", "", alter.CheckPlan(ctx, db.state, plan))
}

// CreateTable creates a table with its families.
func (db *DB) CreateTable(ctx context.Context, t schema.Table) error {
	return db.alter(ctx, "create table", t.Name, schema.Change{Kind: schema.CreateTable, Table: t.Name, Families: t.Families, NewRetention: t.Retention, NewKeyFormat: t.KeyFormat, NewChangeStream: t.ChangeStream})
}

// DropTable drops a table and its data, for good and at once. A plan with a change of
// kind [schema.DeleteTable] keeps the data for a while instead.
func (db *DB) DropTable(ctx context.Context, table string) error {
	c := schema.Change{Kind: schema.DropTable, Table: table}
	if t, ok := db.inForce().Schema.Table(table); ok {
		c.Families = t.Families
	}
	return db.alter(ctx, "drop table", table, c)
}

// AddFamily adds a family to a table.
func (db *DB) AddFamily(ctx context.Context, table string, f schema.Family) error {
	return db.alter(ctx, "add family", table, schema.Change{Kind: schema.AddFamily, Table: table, Family: f.Name, New: f})
}

// SetFamily sets the type, the aggregate and the retention of an existing family. The type
// and the aggregate can change only while the family is empty. Relaxing retention does not
// bring hidden cells back: the cells that the family's rule dropped so far are removed
// first. That reads the family once; writes wait during the last pass.
func (db *DB) SetFamily(ctx context.Context, table string, f schema.Family) error {
	return db.alter(ctx, "set family", table,
		schema.Change{Kind: schema.SetType, Table: table, Family: f.Name, New: f},
		schema.Change{Kind: schema.SetAggregate, Table: table, Family: f.Name, New: f},
		schema.Change{Kind: schema.SetRetention, Table: table, Family: f.Name, New: f})
}

// SetKeyFormat sets how the row keys of a table are shown.
func (db *DB) SetKeyFormat(ctx context.Context, table string, k schema.KeyFormat) error {
	return db.alter(ctx, "set key format", table, schema.Change{Kind: schema.SetKeyFormat, Table: table, NewKeyFormat: k})
}

// SetChangeStream sets how long the changes of a table are kept, from now on: see
// [Table.Changes]. It is 24 hours to 7 days; 0 drops the kept changes.
func (db *DB) SetChangeStream(ctx context.Context, table string, keep time.Duration) error {
	return db.alter(ctx, "set change stream", table, schema.Change{Kind: schema.SetChangeStream, Table: table, NewChangeStream: keep})
}

// DropFamily drops a family of a table and its data.
func (db *DB) DropFamily(ctx context.Context, table, family string) error {
	return db.alter(ctx, "drop family", table, schema.Change{Kind: schema.DropFamily, Table: table, Family: family})
}

// TruncateTable removes all rows of a table, and the names of its bulk loads.
func (db *DB) TruncateTable(ctx context.Context, table string) error {
	if err := db.Table(table).DeleteRange(ctx, read.Prefix("")); err != nil {
		return err
	}
	return fail("truncate table", table, "", alter.ForgetLoads(ctx, db.state, table))
}

func (db *DB) alter(ctx context.Context, op, table string, changes ...schema.Change) error {
	err := db.ready(ctx)
	if err == nil {
		err = alter.Apply(ctx, db.state, schema.Plan{Changes: changes})
	}
	return fail(op, table, "", err)
}

// Declare makes the database match a schema by changes that only add or relax: it
// creates missing tables and families, and applies the changes since the schema was
// last declared. It drops and hides nothing. The result is the changes that it left
// undone for that reason: stricter retention, and change streams that are kept for a
// shorter time. [DB.ApplyPlan] makes those changes, and [DB.EstimateHidden] says what
// they cost. Tables and families that the schema lacks are left alone and are not in
// the result; see [schema.Diff].
//
// The catalog keeps the last declaration, to distinguish a change of the declaration
// from a change of the database: retention that was altered in the database stays until
// the declaration itself changes. A change left undone counts as not declared, and is
// in the result of the next call again.
func (db *DB) Declare(ctx context.Context, declared *schema.Schema) (undone schema.Plan, err error) {
	const op = "declare schema"
	if err := db.ready(ctx); err != nil {
		return undone, fail(op, "", "", err)
	}
	if db.state.ReadOnly {
		return undone, fail(op, "", "", cf.RefusalOf(db.state.Reader))
	}
	if declared == nil {
		return undone, fail(op, "", "", fault.Errorf(fault.InvalidArgument, "no schema is given"))
	}
	if err := declared.Validate(); err != nil {
		return undone, fail(op, "", "", fault.Of(fault.InvalidArgument, err))
	}
	undone, err = alter.Declare(ctx, db.state, declared)
	return undone, fail(op, "", "", err)
}
