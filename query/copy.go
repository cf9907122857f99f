package query

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/query/internal/alter"
	"github.com/smolwc/smolwc/query/internal/catalog"
	"github.com/smolwc/smolwc/query/internal/fault"
	"github.com/smolwc/smolwc/query/internal/twin"
	"github.com/smolwc/smolwc/schema"
)

// CopyOptions say what [DB.CopyFrom] copies, and when it ends. The zero value copies all
// tables as of one moment.
type CopyOptions struct {
	// Tables are the names of the tables to copy; no names mean all tables.
	Tables []string
	// Follow also applies the changes that are made to the source from then on, until
	// the context ends. Each table must have a change stream, and the source must be
	// open for writing.
	Follow bool
	// UntilEqual, with Follow, ends the copy without an error as soon as the two
	// databases are equal and nothing writes the source.
	UntilEqual bool
	// Unfinished leaves the target as the unfinished target of this copy: a later
	// CopyFrom brings it up to date.
	Unfinished bool
	// Progress is told how far the copy is; it may be nil. It is called by one goroutine
	// at a time.
	Progress func(CopyProgress)
}

// CopyProgress is how far a copy is.
type CopyProgress struct {
	Cells, Bytes int64 // copied and compared so far
	// Following says that the target is as the source was at one moment, and follows it.
	Following bool
	Rows      int64 // that changed since then and were copied again
	// Through is a time by the source's clock: the target contains all changes made
	// before. Lag is how long ago that is. Both are 0 while the target does not follow.
	Through cells.Timestamp
	Lag     time.Duration
}

// A CellSum is the number, the size and the checksum of cells.
type CellSum struct {
	Cells int64
	Bytes int64 // of row keys, qualifiers and values
	// Checksum is the sum of the XXH64 hashes of the cells. It does not depend on their
	// order, the database or the engine.
	Checksum uint64
}

// A CopiedTable is what a copy compared of one table: source and target had the same
// cells, byte by byte, with this sum.
type CopiedTable struct {
	Table string
	CellSum
}

// A CopyReport is the result of a copy.
type CopyReport struct {
	Tables []CopiedTable
	// Resumed says that the target was the unfinished target of this copy.
	Resumed bool
	// Rows is the number of rows that were copied again because they had changed.
	Rows int64
}

// CopyFrom makes a new database equal to another one: tables, families with types,
// aggregates, retention and tunings, key formats and change streams, cells with their
// timestamps, the notes, the names of bulk loads, and the last declaration. The copy is as
// of one moment in all tables. It contains the cells that reads see, not those that
// retention hides; reads of the two databases give the same answers, also after a rule is
// relaxed. The target keeps its own identity, and begins change streams of its own when
// the copy ends. The kept changes, and where backups are, are not copied.
//
// Afterwards all cells of both databases have been compared. An error of kind
// [KindConflict] says that they differ all the same: something else writes the target.
//
// The target must be empty, or the unfinished target of a copy of the same tables from
// the same database. Until CopyFrom returns nil, and with Unfinished also then, it is
// unfinished: nothing else may write it. The next CopyFrom compares it with the source,
// and writes only the rows that differ. The source is not written.
//
// With Follow, each row that changes is copied again, as a whole and after the change.
// While it follows, the target shows each row as it was at some moment, and rows that were
// written together may appear one after the other. A change of the source's schema
// ends the copy with an error of kind [KindFailedPrecondition]; the next CopyFrom makes
// the same change of the target.
func (db *DB) CopyFrom(ctx context.Context, from *DB, o CopyOptions) (CopyReport, error) {
	c := &copying{to: db, from: from, o: o}
	err := c.run(ctx)
	if errors.Is(err, cf.ErrUnknownOutcome) && ctx.Err() != nil {
		err = ctx.Err() // the next copy compares, whatever became of that write
	}
	return c.report, fail("copy", "", "", err)
}

// A copying is a CopyFrom under way.
type copying struct {
	to, from *DB
	o        CopyOptions
	pair     twin.Pair
	want     *schema.Schema // the part of the source's schema that is copied
	report   CopyReport

	telling  sync.Mutex
	progress CopyProgress
}

// A copyRecord is the catalog's entry of an unfinished copy.
type copyRecord struct {
	Source uuid.UUID `json:"source"`
	Tables []string  `json:"tables,omitempty"` // sorted; none is all
}

func (c *copying) run(ctx context.Context) error {
	if err := c.check(ctx); err != nil {
		return err
	}
	if err := c.claim(ctx); err != nil {
		return err
	}
	f, err := c.follow(ctx) // before the first snapshot, so that no change is missed
	if err != nil {
		return err
	}
	defer f.stop()
	if err := c.declare(ctx, c.want); err != nil {
		return err
	}
	if err := c.tables(ctx); err != nil {
		return err
	}
	if c.o.Follow {
		if err := f.run(ctx); err != nil {
			return err
		}
	}
	return c.finish(ctx)
}

// check refuses what cannot be copied, and fills in the rest of the copying.
func (c *copying) check(ctx context.Context) error {
	if c.from == nil {
		return fault.Given("the source", false)
	}
	if err := cmp.Or(c.to.ready(ctx), c.from.ready(ctx)); err != nil {
		return err
	}
	switch {
	case c.to.state.ReadOnly:
		return cf.RefusalOf(c.to.state.Reader)
	case c.to.UUID() == c.from.UUID():
		return fault.Errorf(fault.InvalidArgument, "source and target are the same database, or one is a copy of the other's files; copy into a new one")
	case c.o.UntilEqual && !c.o.Follow:
		return fault.Errorf(fault.InvalidArgument, "UntilEqual is an option of Follow")
	}
	c.o.Tables = slices.Compact(slices.Sorted(slices.Values(c.o.Tables)))
	var err error
	if c.want, err = c.part(c.from.Schema()); err != nil {
		return err
	}
	c.pair = twin.Pair{From: c.from.state, To: c.to.state, Loading: c.to.loading, Workers: runtime.GOMAXPROCS(0), Advance: c.advance}
	if c.o.Follow {
		return c.checkStreams()
	}
	return nil
}

// Unfinished reports whether the database is the unfinished target of a copy, and returns
// the id of the source. Read such a database, but do not write it: the [DB.CopyFrom] that
// continues the copy undoes other writes.
func (db *DB) Unfinished(ctx context.Context) (of uuid.UUID, unfinished bool, err error) {
	if err := db.ready(ctx); err != nil {
		return of, false, fail("read notes", "", "", err)
	}
	all, err := catalog.Entries(ctx, db.state.Store, catalog.KeyCopy)
	if err != nil {
		return of, false, fail("read notes", "", "", err)
	}
	text, ok := all[catalog.KeyCopy]
	if !ok {
		return of, false, nil
	}
	var r copyRecord
	if err := json.Unmarshal(text, &r); err != nil {
		return of, true, fail("read notes", "", "", fault.Errorf(fault.Corruption, "catalog entry %s is %q: %w", catalog.KeyCopy, text, err))
	}
	return r.Source, true, nil
}

func (db plumbed) SetCopying(ctx context.Context, of uuid.UUID) error {
	var entry []byte
	var err error
	if of != uuid.Nil {
		entry, err = json.Marshal(copyRecord{Source: of})
	}
	if err == nil {
		err = db.setNote(ctx, catalog.KeyCopy, entry)
	}
	return fail("mark copy", "", "", err)
}

// part is the tables of a schema that are copied, without change streams: copied cells
// are not changes.
func (c *copying) part(s *schema.Schema) (*schema.Schema, error) {
	return partOf(s, c.o.Tables)
}

func partOf(s *schema.Schema, tables []string) (*schema.Schema, error) {
	for _, name := range tables {
		if _, err := catalog.New(s, nil).Table(name); err != nil {
			return nil, err
		}
	}
	part := s.Clone()
	part.Tables = slices.DeleteFunc(part.Tables, func(t schema.Table) bool {
		return len(tables) > 0 && !slices.Contains(tables, t.Name)
	})
	for i := range part.Tables {
		part.Tables[i].ChangeStream = 0
	}
	return part, nil
}

// claim notes in a new target which copy it is of. It refuses any other target.
func (c *copying) claim(ctx context.Context) error {
	all, err := catalog.Entries(ctx, c.to.state.Store, "")
	if err != nil {
		return err
	}
	mine := copyRecord{c.from.UUID(), c.o.Tables}
	if text, ok := all[catalog.KeyCopy]; ok {
		c.report.Resumed = true
		return checkCopy(text, mine)
	}
	for key := range all {
		if key != catalog.KeyFormat && key != catalog.KeyUUID && key != catalog.KeyClock && key != catalog.KeyAltering {
			return fault.Errorf(fault.FailedPrecondition, "the target is not empty%s; copy into a new database", havingTables(c.to))
		}
	}
	entry, err := json.Marshal(mine)
	if err != nil {
		return err
	}
	return c.to.setNote(ctx, catalog.KeyCopy, entry)
}

func havingTables(db *DB) string {
	if names := db.inForce().TableNames(); len(names) > 0 {
		return ": it has " + plural(len(names), "table", "tables") + " (" + strings.Join(names[:min(len(names), 5)], ", ") + ")"
	}
	return ""
}

func plural(n int, one, more string) string {
	if n == 1 {
		return "a " + one
	}
	return more
}

// checkCopy refuses the target of another copy.
func checkCopy(text []byte, mine copyRecord) error {
	var r copyRecord
	if err := json.Unmarshal(text, &r); err != nil {
		return fault.Errorf(fault.Corruption, "catalog entry %s is %q: %w", catalog.KeyCopy, text, err)
	}
	switch {
	case r.Source != mine.Source:
		return fault.Errorf(fault.FailedPrecondition, "the target is the unfinished copy of another database, %s; copy into a new one", r.Source)
	case !slices.Equal(r.Tables, mine.Tables):
		return fault.Errorf(fault.FailedPrecondition, "the target is an unfinished copy of %s, not of %s; name the same tables, or copy into a new database", tablesText(r.Tables), tablesText(mine.Tables))
	}
	return nil
}

func tablesText(names []string) string {
	if len(names) == 0 {
		return "all tables"
	}
	return strings.Join(names, ", ")
}

// declare gives the target a schema. Whatever else the target contains came from an
// earlier run of the same copy.
func (c *copying) declare(ctx context.Context, s *schema.Schema) error {
	if err := c.to.state.Raise(ctx, c.from.Format()); err != nil {
		return err
	}
	// A family with another type is another family: it was dropped and created again.
	if err := c.alterTarget(ctx, withoutRetyped(c.to.Schema(), s)); err != nil {
		return err
	}
	return c.alterTarget(ctx, s)
}

func (c *copying) alterTarget(ctx context.Context, s *schema.Schema) error {
	return alter.Apply(ctx, c.to.state, schema.Diff(c.to.Schema(), s))
}

// withoutRetyped is a schema without the families that have another type or aggregate in
// next.
func withoutRetyped(s, next *schema.Schema) *schema.Schema {
	for i := range s.Tables {
		t := &s.Tables[i]
		other, ok := next.Table(t.Name)
		if !ok {
			continue
		}
		t.Families = slices.DeleteFunc(t.Families, func(f schema.Family) bool {
			g, ok := other.Family(f.Name)
			return ok && (g.Type != f.Type || g.Aggregate != f.Aggregate)
		})
	}
	return s
}

// tables makes all tables equal to one snapshot of the source.
func (c *copying) tables(ctx context.Context) error {
	snap, source, err := c.from.state.Moment(ctx)
	if err != nil {
		return err
	}
	defer snap.Close()
	target := c.to.state.Catalog.Load()
	for _, t := range c.want.Tables {
		from, to, err := tableOfBoth(source, target, t.Name)
		if err != nil {
			return err
		}
		sum, err := c.pair.Sync(ctx, snap, from, to)
		if err != nil {
			return err
		}
		c.report.Tables = append(c.report.Tables, CopiedTable{t.Name, CellSum(sum)})
	}
	return nil
}

// tableOfBoth is a table with the same families in two catalogs.
func tableOfBoth(source, target *catalog.Catalog, name string) (from, to *catalog.Table, err error) {
	if from, err = source.Table(name); err != nil {
		return nil, nil, err
	}
	if to, err = target.Table(name); err != nil {
		return nil, nil, err
	}
	same := func(f, g *catalog.Family) bool {
		return f.Name == g.Name && f.Type == g.Type && f.Aggregate == g.Aggregate
	}
	if !slices.EqualFunc(from.Families, to.Families, same) {
		return nil, nil, fault.Errorf(fault.FailedPrecondition, "table %s does not have the same families in source and target", name)
	}
	return from, to, nil
}

// finish copies the rest of the catalog and ends the copy.
func (c *copying) finish(ctx context.Context) error {
	if err := c.sameSchema(); err != nil {
		return err
	}
	if err := c.advanceClock(ctx); err != nil {
		return err
	}
	entries, err := c.entries(ctx)
	if err != nil {
		return err
	}
	old, err := catalog.Entries(ctx, c.to.state.Store, "")
	if err != nil {
		return err
	}
	if !c.o.Unfinished {
		if err := c.startStreams(ctx); err != nil {
			return err
		}
	}
	return c.to.writing(ctx, func(*catalog.Catalog) error {
		return c.to.state.WriteCatalog(ctx, func(b *cf.Batch) error {
			for key := range old {
				if _, kept := entries[key]; !kept && c.copied(key) {
					b.DeleteMeta(key)
				}
			}
			for key, value := range entries {
				b.PutMeta(key, value)
			}
			if !c.o.Unfinished {
				b.DeleteMeta(catalog.KeyCopy)
			}
			return nil
		})
	})
}

// entries are the entries of the source's catalog that are copied as they are.
func (c *copying) entries(ctx context.Context) (map[string][]byte, error) {
	entries, err := catalog.Entries(ctx, c.from.state.Store, "")
	if err != nil {
		return nil, err
	}
	for key := range entries {
		if !c.copied(key) {
			delete(entries, key)
		}
	}
	return entries, nil
}

// copied says whether an entry of the catalog is copied as it is.
func (c *copying) copied(key string) bool {
	table, kept := catalog.Portable(key)
	return kept && (table == "" || slices.ContainsFunc(c.want.Tables, func(t schema.Table) bool { return t.Name == table }))
}

// advanceClock makes sure that new cells of the target are newer than the source's, also
// after a crash.
func (c *copying) advanceClock(ctx context.Context) error {
	clock := &c.to.state.Clock
	clock.Follow(int64(c.from.state.Clock.Latest()))
	return clock.WhenWritable(ctx, func() error {
		_, err := clock.Next(ctx)
		return err
	})
}

// startStreams gives the target's tables the change streams of the source.
func (c *copying) startStreams(ctx context.Context) error {
	full := c.want.Clone()
	source := c.from.Schema()
	for i := range full.Tables {
		if t, ok := source.Table(full.Tables[i].Name); ok {
			full.Tables[i].ChangeStream = t.ChangeStream
		}
	}
	return c.alterTarget(ctx, full)
}

// sameSchema refuses to go on when the source's schema changed.
func (c *copying) sameSchema() error {
	now, err := c.part(c.from.Schema())
	if err != nil {
		return err
	}
	if plan := schema.Diff(c.want, now); !plan.Empty() {
		return fault.Errorf(fault.FailedPrecondition, "the source's schema was changed meanwhile (%s); copy again, which makes the same change of the target", plan.Changes[0])
	}
	return nil
}

func (c *copying) advance(s twin.Sum) {
	c.tell(func(p *CopyProgress) {
		p.Cells += s.Cells
		p.Bytes += s.Bytes
	})
}

func (c *copying) tell(change func(*CopyProgress)) {
	c.telling.Lock()
	defer c.telling.Unlock()
	change(&c.progress)
	if c.o.Progress != nil {
		c.o.Progress(c.progress)
	}
}
