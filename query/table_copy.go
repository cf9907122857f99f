package query

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/bulk"
	"github.com/smolwc/smolwc/query/internal/alter"
	"github.com/smolwc/smolwc/query/internal/catalog"
	"github.com/smolwc/smolwc/query/internal/fault"
	"github.com/smolwc/smolwc/schema"
)

// CheckpointTable makes a copy of one table in a directory, which must not exist: a
// database of its own with only this table, as of a moment during the call. Its files are
// linked as by [DB.Checkpoint]: the size of the table does not affect the time, and the
// copy takes space only as the table changes.
func (db *DB) CheckpointTable(ctx context.Context, table, dir string) error {
	return fail("checkpoint table", table, "", db.checkpointTable(ctx, table, dir))
}

func (db *DB) checkpointTable(ctx context.Context, table, dir string) error {
	if err := db.hasFiles(ctx); err != nil {
		return err
	}
	if _, err := db.state.Catalog.Load().Table(table); err != nil {
		return err
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return fault.Errorf(fault.InvalidArgument, "%w", err)
	}
	if _, err := os.Stat(dir); err == nil {
		return fault.Errorf(fault.AlreadyExists, "%s exists already", dir)
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return fault.Errorf(fault.Unavailable, "%w", err)
	}
	return db.checkpointTo(ctx, dir, func(copied string) error { return db.dropOthers(ctx, table, copied) })
}

// dropOthers drops all tables but one of a copy, so that it does not keep their files when
// the database rewrites them.
func (db *DB) dropOthers(ctx context.Context, table, dir string) error {
	c, err := Open(dir, Options{Memory: minMemory, GCInterval: -1, Clock: db.state.Clock.Wall})
	if err != nil {
		return err
	}
	var plan schema.Plan
	found := false
	for _, t := range c.inForce().Schema.Tables {
		if t.Name == table {
			found = true
			continue
		}
		plan.Changes = append(plan.Changes, schema.Change{Kind: schema.DropTable, Table: t.Name, Families: t.Families})
	}
	for _, d := range c.inForce().Deleted {
		plan.Changes = append(plan.Changes, schema.Change{Kind: schema.PurgeTable, Table: d.Name})
	}
	if !found { // it was dropped just now
		_, err = c.state.Catalog.Load().Table(table)
		return errors.Join(err, c.Close())
	}
	return errors.Join(c.ApplyPlan(ctx, plan), c.Close())
}

// CopyTable creates a table with the declaration of another one, which may be of
// another database, and with all its cells as of one moment. The table exists when
// CopyTable returns nil; otherwise, and after a crash before that, nothing of it
// exists, except that after [KindUnknownOutcome] it may exist, or appear with the next open
// of the database. note is for smolwc's server, as the note that [plumbing.Notes] has of
// the table; other programs pass nil.
func (db *DB) CopyTable(ctx context.Context, name string, from *Table, note []byte) error {
	return fail("copy table", name, "", db.copyTable(ctx, name, from, note))
}

func (db *DB) copyTable(ctx context.Context, name string, from *Table, note []byte) error {
	if err := cmp.Or(db.ready(ctx), from.database().ready(ctx)); err != nil {
		return err
	}
	source, err := from.db.state.Catalog.Load().Table(from.name)
	if err != nil {
		return err
	}
	declared := *source.Declared
	declared.Name = name
	declared.ChangeStream = 0 // the copied cells are not changes
	c := &tableCopy{db: db, from: from.db, source: source, declared: &declared, note: note}
	if err := c.reserve(ctx); err != nil {
		return err
	}
	if err := c.run(ctx); err != nil {
		return errors.Join(err, c.undo(context.WithoutCancel(ctx), err))
	}
	return nil
}

// A tableCopy is a CopyTable under way.
type tableCopy struct {
	db, from *DB
	source   *catalog.Table
	declared *schema.Table
	target   *catalog.Table // nil before its families are reserved
	note     []byte
	into     cf.Ingestion
	format   int // the format that the cells may need
}

// next is the catalog with the new table; the schema lock is held exclusively.
func (c *tableCopy) next() (*catalog.Catalog, error) {
	old := c.db.state.Catalog.Load()
	if _, ok := old.Tables[c.declared.Name]; ok {
		return nil, fault.Errorf(fault.AlreadyExists, "table %q exists already", c.declared.Name)
	}
	s := old.Schema.Clone()
	s.Tables = append(s.Tables, *c.declared)
	slices.SortFunc(s.Tables, func(a, b schema.Table) int { return strings.Compare(a.Name, b.Name) })
	if err := s.Validate(); err != nil {
		return nil, fault.Of(fault.InvalidArgument, err)
	}
	next := old.With(s, old.Streams)
	next.Follow(old, func(string) bool { return false })
	made := next.Tables[c.declared.Name]
	if c.target != nil && made.Store != c.target.Store {
		return nil, fault.Errorf(fault.Conflict, "a table %q was created and deleted meanwhile", c.declared.Name)
	}
	c.target = made
	return next, nil
}

// reserve creates the families. No name leads to them before the end, so that a
// crash leaves the same as one during CreateTable.
func (c *tableCopy) reserve(ctx context.Context) error {
	unlock, err := c.db.state.LockSchema(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	next, err := c.next()
	if err != nil {
		return err
	}
	return alter.CreateFamilies(ctx, c.db.state, c.db.state.Catalog.Load(), next)
}

// run copies the cells and makes the table visible with them.
func (c *tableCopy) run(ctx context.Context) (err error) {
	if c.into, err = c.db.state.Store.Ingest(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.into.Close()) }()
	if err := c.write(ctx); err != nil {
		return err
	}
	if err := c.db.loading.Lock(ctx); err != nil {
		return err
	}
	defer c.db.loading.Unlock()
	return c.commit(ctx)
}

// write copies all cells of a snapshot to table files, on all processors. It also
// copies the cells that retention hides: the rules hide them in the copy.
func (c *tableCopy) write(ctx context.Context) error {
	snap, err := c.from.state.Store.Snapshot(ctx)
	if err != nil {
		return err
	}
	defer snap.Close()
	c.format = c.from.Format()
	workers := runtime.GOMAXPROCS(0)
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(workers)
	for i, f := range c.source.Families {
		parts, err := c.from.state.Store.Splits(ctx, []string{f.Store}, cf.Range{}, workers)
		if err != nil {
			return errors.Join(err, g.Wait())
		}
		start := ""
		for _, p := range parts {
			rows := cf.Range{Start: start, End: p.End}
			start = p.End
			g.Go(func() error { return c.writePart(ctx, snap, f.Store, c.target.Families[i].Store, rows) })
		}
	}
	return g.Wait()
}

func (c *tableCopy) writePart(ctx context.Context, snap cf.Snapshot, from, to string, rows cf.Range) error {
	cursor, err := snap.Scan(ctx, cf.Scan{Family: from, Rows: []cf.Range{rows}})
	if err != nil {
		return err
	}
	defer cursor.Close()
	run, err := c.into.Run(ctx, to)
	if err != nil {
		return err
	}
	for {
		b, err := cursor.Next(ctx)
		if b == nil || err != nil {
			return errors.Join(err, run.Close())
		}
		if err := run.Write(ctx, bulk.GroupsOf(b)); err != nil {
			return errors.Join(err, run.Close())
		}
	}
}

// commit makes the table visible: its entry in the catalog and its cells appear
// together. Another call may have created a table of this name meanwhile.
func (c *tableCopy) commit(ctx context.Context) error {
	db := c.db
	unlock, err := db.state.LockSchema(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	old := db.state.Catalog.Load()
	next, err := c.next()
	if err != nil {
		return err
	}
	if err := alter.CreateFamilies(ctx, db.state, old, next); err != nil {
		return err
	}
	entry, err := c.target.Declared.MarshalCatalog()
	if err != nil {
		return err
	}
	if err := db.state.Raise(ctx, c.format); err != nil {
		return err
	}
	_, err = c.into.Commit(ctx, cf.Single(""), func(_ cf.Snapshot, b *cf.Batch) error {
		b.RaiseCatalog()
		b.PutMeta(catalog.PrefixTable+c.target.Name, entry)
		catalog.PutStores(b, old, next)
		if c.note != nil {
			b.PutMeta(catalog.PrefixTableNote+c.target.Name, c.note)
		}
		return nil
	})
	if err != nil && !errors.Is(err, cf.ErrNotAcknowledged) {
		return err
	}
	db.state.Catalog.Store(next)
	return errors.Join(db.state.Tune(old, next), err)
}

// undo drops the families that were created, unless they belong to a table, or may.
func (c *tableCopy) undo(ctx context.Context, cause error) error {
	if errors.Is(cause, cf.ErrUnknownOutcome) { // its kind may come from the context's end
		return nil
	}
	unlock, err := c.db.state.LockSchema(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	next, err := c.next()
	if err != nil { // the families belong to another table
		return nil
	}
	return c.db.state.Store.DropFamily(ctx, catalog.Missing(next, c.db.state.Catalog.Load())...)
}
