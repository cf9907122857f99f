package views

import (
	"context"
	"crypto/sha256"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"cloud.google.com/go/bigtable/admin/apiv2/adminpb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/smolwc/smolwc/api/wire"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/schema"
	"github.com/smolwc/smolwc/server/internal/catalog"
	"github.com/smolwc/smolwc/sql"
)

// name is the full name of a materialized view.
func (v *Views) name(m *Materialized) string {
	return m.source.In.String() + "/" + materializedKind + "/" + m.id
}

// NotFound is the error for a materialized view that does not exist.
func NotFound(name string) error {
	return status.Errorf(codes.NotFound, "materialized view %q not found", name)
}

// failed is the status of an error while a view is brought up to date.
func (v *Views) failed(ctx context.Context, m *Materialized, err error) error {
	if _, ok := status.FromError(err); ok {
		return err
	}
	if errors.Is(err, query.ErrReadOnly) {
		return status.Errorf(codes.FailedPrecondition, "materialized view %s has not taken over the last writes of table %s, and cannot where the database is only read: query it once where the database is open for writing, or with --addr through the server that has it open", m.id, m.source.ID)
	}
	s := status.Convert(catalog.Status(ctx, err))
	return status.Errorf(s.Code(), "materialized view %s: %s", m.id, s.Message())
}

// prepare makes the live views those that are defined, and reads the table for new ones.
func (k *keeper) prepare(ctx context.Context, spent func() bool) error {
	k.takeDefinitions()
	if len(k.live) == 0 {
		return nil
	}
	if err := k.follow(ctx); err != nil {
		return err
	}
	if !k.current() {
		return errChanged
	}
	// The tables of all views are made first: each change of the schema has all views looked
	// up again.
	for _, l := range k.live {
		if l.fault == nil && !l.ready {
			if err := k.views.makeTables(ctx, l); err != nil {
				return err
			}
		}
	}
	if !k.current() {
		return errChanged
	}
	for _, l := range k.live {
		if l.fault == nil && !l.ready {
			if err := k.build(ctx, l, spent); err != nil {
				return err
			}
		}
	}
	return nil
}

// takeDefinitions takes over new views, and forgets those that were deleted.
func (k *keeper) takeDefinitions() {
	defined := k.views.Materialized()
	for name, l := range k.live {
		if now := defined[name]; now == nil || now.Message.GetQuery() != l.def.Message.GetQuery() || now.stored != l.def.stored {
			delete(k.live, name)
		}
	}
	for name, m := range defined {
		if m.source.Stored == k.table && k.live[name] == nil {
			k.live[name] = &live{def: m}
		}
	}
}

// follow takes over changes of the table's schema. They have ended its marks, so all views
// of the table are made anew.
func (k *keeper) follow(ctx context.Context) error {
	db := k.views.DB
	declared, ok := db.NewestTable(ctx, k.table)
	if !ok {
		for _, l := range k.live {
			l.fault = l.def.tableIsGone()
		}
		return nil
	}
	if _, marked := db.LookupTable(schema.MarksOf(k.table)); !marked {
		for _, l := range k.live {
			if err := k.views.dropTables(ctx, l.def); err != nil {
				return err
			}
			l.query, l.ready, l.fault = nil, false, nil
		}
		k.forget()
		if _, err := db.MarkChanges(ctx, k.table); err != nil {
			return err
		}
		if declared, ok = db.NewestTable(ctx, k.table); !ok {
			return nil // the next turn says so
		}
	}
	for _, l := range k.live {
		if l.query == nil {
			k.open(l, declared)
		}
	}
	return nil
}

// open looks up the names of a view's query.
func (k *keeper) open(l *live, declared schema.Table) {
	m, err := k.views.materialize(l.def, declared)
	if err != nil {
		l.fault = l.def.doesNotFit(err)
		return
	}
	l.query, l.fault, l.ready, l.dueFrom = m, nil, false, 0
	l.families = map[string][]time.Duration{}
	for _, f := range declared.Families {
		for _, limit := range declared.Retention.Limits(f.GC) {
			if limit.Age > 0 {
				l.families[f.Name] = append(l.families[f.Name], limit.Age)
			}
		}
	}
}

// metaRow has a checksum of the view's query, and how far the first reading of the table
// is: readyMark, or fromMark and the key of the last row.
const (
	metaRow   = "view"
	readyMark = "ready"
	fromMark  = "from "
)

// errOther says that the tables of a view were made for another definition: another
// process has created the view anew.
var errOther = errors.New("the materialized view has just been created anew")

func (l *live) checksum() string {
	sum := sha256.Sum256([]byte(l.def.Message.GetQuery()))
	return string(sum[:8])
}

// progress is how far the first reading is; "" at its beginning.
func (c *change) progress(ctx context.Context) (at string, err error) {
	row, err := c.tx.ReadRow(ctx, c.state(), metaRow, read.Family(metaFamily))
	switch {
	case err != nil:
		return "", err
	case row == nil && c.of.ready:
		return "", errOther
	case row == nil:
		return "", nil
	}
	b, _ := row.Bytes(metaFamily, "")
	sum := c.of.checksum()
	if !strings.HasPrefix(string(b), sum) {
		return "", errOther
	}
	return string(b[len(sum):]), nil
}

// build reads the source table into the tables of a view.
func (k *keeper) build(ctx context.Context, l *live, spent func() bool) error {
	for {
		if err := k.buildPart(ctx, l, rowsAtOnce); l.ready || err != nil || spent() {
			return err
		}
	}
}

// buildPart reads up to n rows of the source, fewer if they take long, in one transaction that
// also notes the place after them.
func (k *keeper) buildPart(ctx context.Context, l *live, n int) error {
	lost, next := 0, ""
	err := k.update(ctx, func(tx *query.Tx) error {
		c := &change{tx: tx, of: l, table: k.table, now: map[string]source{}}
		at, err := c.progress(ctx)
		if next = at; at == readyMark || err != nil {
			return err
		}
		opts := []read.Option{read.Limit(n)}
		if at != "" {
			opts = append(opts, read.StartAfter(at[len(fromMark):]))
		}
		last, all, err := c.read(ctx, k.atOnce, opts...)
		if err != nil {
			return err
		}
		if next = fromMark + last; all && len(c.now) < n {
			next = readyMark
		}
		if err := c.replace(ctx, slices.Sorted(maps.Keys(c.now))); err != nil {
			return err
		}
		lost = c.lost
		return c.put(ctx, metaRow, metaFamily, "", []byte(l.checksum()+next))
	})
	if kind := query.KindOf(err); n > 1 && (kind == query.KindConflict || kind == query.KindResourceExhausted) {
		return k.buildPart(ctx, l, n/2)
	}
	k.lose(lost)
	l.ready = err == nil && next == readyMark
	return err
}

// makeTables makes the tables of a view that do not exist.
func (v *Views) makeTables(ctx context.Context, l *live) error {
	families := []schema.Family{{Name: sql.RecordFamily}}
	for _, name := range l.query.Families() {
		families = append(families, schema.Family{Name: name})
	}
	var state []schema.Family
	for _, name := range []string{metaFamily, rowsFamily, groupsFamily, groupFamily, dueFamily} {
		state = append(state, schema.Family{Name: name})
	}
	for _, t := range []schema.Table{{Name: rowsOf(l.def.stored), Families: families}, {Name: stateOf(l.def.stored), Families: state}} {
		if _, ok := v.DB.LookupTable(t.Name); ok {
			continue
		}
		if err := v.DB.CreateTable(ctx, t); err != nil && query.KindOf(err) != query.KindAlreadyExists {
			return err
		}
	}
	return nil
}

// dropTables drops the tables of a view that exist: first the state, without which the
// view is made anew.
func (v *Views) dropTables(ctx context.Context, m *Materialized) error {
	for _, table := range []string{stateOf(m.stored), rowsOf(m.stored)} {
		if err := v.DB.DropTable(ctx, table); err != nil && query.KindOf(err) != query.KindNotFound {
			return err
		}
	}
	return nil
}

// Create defines a materialized view, and reads the table into it. If the context ends
// before, the view exists all the same, and is read on.
func (v *Views) Create(ctx context.Context, name string, m *adminpb.MaterializedView) error {
	def, err := v.define(name, m)
	if err != nil {
		return err
	}
	declared, ok := v.DB.NewestTable(ctx, def.source.Stored)
	if !ok || schema.IsDerived(def.source.Stored) {
		if v.Taken(def.source.In, def.source.ID) {
			return wire.Invalid("a materialized view reads a table, and %s is a view", def.source.ID)
		}
		return queryStatus(def.query.TableNotFound(v.Names(ctx, def.source.In)))
	}
	if _, err := v.materialize(def, declared); err != nil {
		return queryStatus(err)
	}
	if err := v.dropTables(ctx, def); err != nil { // left by a delete that was interrupted
		return catalog.Status(ctx, err)
	}
	return v.setNote(ctx, materializedKind, name, m)
}

// Update keeps a changed definition with the same query.
func (v *Views) Update(ctx context.Context, name string, m *adminpb.MaterializedView) error {
	return v.setNote(ctx, materializedKind, name, m)
}

// Delete removes a materialized view and its rows. The last view of a table ends its
// marks.
func (v *Views) Delete(ctx context.Context, name string) error {
	m := v.Materialized()[name]
	if m == nil {
		return NotFound(name)
	}
	k := v.keeper(m.source.Stored)
	if err := k.take(ctx, v); err != nil {
		return catalog.Status(ctx, err)
	}
	defer k.turn.Unlock()
	if err := v.setNote(ctx, materializedKind, name, nil); err != nil {
		return err
	}
	delete(k.live, name)
	if err := v.dropTables(ctx, m); err != nil {
		return catalog.Status(ctx, err)
	}
	k.forget()
	if len(v.Readers(m.source)) > 0 {
		return nil
	}
	k.behind.Store(0)
	return catalog.Status(ctx, v.unmark(ctx, m.source.Stored))
}

// Clear deletes all views.
func (v *Views) Clear(ctx context.Context) error {
	for name := range v.Materialized() {
		if err := v.Delete(ctx, name); err != nil && status.Code(err) != codes.NotFound {
			return err
		}
	}
	for name := range v.Logical() {
		if err := v.SetLogical(ctx, name, nil); err != nil {
			return err
		}
	}
	return nil
}

// unmark ends the marks of a table that no materialized view reads.
func (v *Views) unmark(ctx context.Context, table string) error {
	err := v.DB.DropTable(ctx, schema.MarksOf(table))
	if query.KindOf(err) == query.KindNotFound {
		return nil
	}
	return err
}

// tidy ends marks that a kill left while a view was deleted.
func (v *Views) tidy(ctx context.Context) error {
	if err := v.Reload(ctx); err != nil {
		return err
	}
	for _, t := range v.DB.Schema().Tables {
		if _, marked := v.DB.LookupTable(schema.MarksOf(t.Name)); marked && len(v.Readers(v.Own.StoredTable(t.Name))) == 0 {
			if err := v.unmark(ctx, t.Name); err != nil {
				return err
			}
		}
	}
	return nil
}
