package views

import (
	"context"
	"crypto/sha256"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/schema"
	"github.com/smolwc/smolwc/sql/run"
)

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
	// The tables of all views are made first: after each change of the schema all views are
	// looked up again.
	for _, l := range k.live {
		if l.fault == nil && !l.ready {
			if err := k.makeTables(ctx, l); err != nil {
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
	defined := k.known.Load().materialized
	for name, l := range k.live {
		if now := defined[name]; now == nil || now.view.SQL != l.def.view.SQL || now.stored != l.def.stored {
			delete(k.live, name)
		}
	}
	for name, m := range defined {
		if m.from.Stored == k.table && k.live[name] == nil {
			k.live[name] = &live{def: m}
		}
	}
}

// follow takes over changes of the table's schema. They have ended its marks, so all views
// of the table are made anew.
func (k *keeper) follow(ctx context.Context) error {
	db := k.db
	declared, ok := db.Plumbing().NewestTable(ctx, k.table)
	if !ok {
		for _, l := range k.live {
			l.fault = l.def.tableIsGone()
		}
		return nil
	}
	if _, marked := db.LookupTable(schema.MarksOf(k.table)); !marked {
		for _, l := range k.live {
			if err := k.dropTables(ctx, l.def); err != nil {
				return err
			}
			l.query, l.ready, l.fault = nil, false, nil
		}
		k.forget()
		if _, err := db.Plumbing().MarkChanges(ctx, k.table); err != nil {
			return err
		}
		if declared, ok = db.Plumbing().NewestTable(ctx, k.table); !ok {
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
	m, err := k.known.Load().materialize(l.def, declared)
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

// metaRow holds a checksum of the view's query, and how far the first reading of the
// table is: readyMark, or fromMark and the key of the last row.
const (
	metaRow   = "view"
	readyMark = "ready"
	fromMark  = "from "
)

// errOther says that the tables of a view were made for another definition: another
// process created the view anew.
var errOther = errors.New("the materialized view has just been created anew")

func (l *live) checksum() string {
	sum := sha256.Sum256([]byte(l.def.view.SQL))
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
func (v *registry) makeTables(ctx context.Context, l *live) error {
	families := []schema.Family{{Name: run.RecordFamily}}
	for _, name := range l.query.Families() {
		families = append(families, schema.Family{Name: name})
	}
	var state []schema.Family
	for _, name := range []string{metaFamily, rowsFamily, groupsFamily, groupFamily, dueFamily} {
		state = append(state, schema.Family{Name: name})
	}
	for _, t := range []schema.Table{{Name: rowsOf(l.def.stored), Families: families}, {Name: stateOf(l.def.stored), Families: state}} {
		if _, ok := v.db.LookupTable(t.Name); ok {
			continue
		}
		if err := v.db.CreateTable(ctx, t); err != nil && query.KindOf(err) != query.KindAlreadyExists {
			return err
		}
	}
	return nil
}

// dropTables drops the tables of a view that exist: first the state, without which the
// view is made anew.
func (v *registry) dropTables(ctx context.Context, m *Materialized) error {
	for _, table := range []string{stateOf(m.stored), rowsOf(m.stored)} {
		if err := v.db.DropTable(ctx, table); err != nil && query.KindOf(err) != query.KindNotFound {
			return err
		}
	}
	return nil
}

// unmark ends the marks of a table that no materialized view reads.
func (v *registry) unmark(ctx context.Context, table string) error {
	err := v.db.DropTable(ctx, schema.MarksOf(table))
	if query.KindOf(err) == query.KindNotFound {
		return nil
	}
	return err
}

// tidy ends marks that a kill left while a view was deleted.
func (v *registry) tidy(ctx context.Context) error {
	if err := v.Reload(ctx); err != nil {
		return err
	}
	for _, t := range v.db.Schema().Tables {
		if _, marked := v.db.LookupTable(schema.MarksOf(t.Name)); marked && len(v.Readers(t.Name)) == 0 {
			if err := v.unmark(ctx, t.Name); err != nil {
				return err
			}
		}
	}
	return nil
}
