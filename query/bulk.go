package query

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/bulk"
	"github.com/smolwc/smolwc/query/internal/catalog"
	"github.com/smolwc/smolwc/query/internal/fault"
	"github.com/smolwc/smolwc/query/internal/overlap"
	"github.com/smolwc/smolwc/query/plumbing"
	"github.com/smolwc/smolwc/query/write"
)

// BulkOptions say what a bulk load does about existing cells. The zero value
// refuses to load over them.
type BulkOptions struct {
	// Name makes the load happen once: when it becomes visible, the name is recorded
	// with it, for its table, and another load of that name fails with [ErrLoaded]
	// until the table is dropped or truncated. It is up to 1,024 bytes long; "" means
	// no name.
	Name string
	// Again loads although the name is recorded.
	Again bool
	// Overlap lets the load replace existing cells, and write newer versions over them.
	// Otherwise the load fails with [ErrOverlap] when a visible cell matches the column
	// and the timestamp of one of its cells; for cells with the load's own timestamp
	// only the column counts. Adds to aggregates never overlap.
	Overlap bool
}

// maxLoadName bounds the name of a bulk load, in bytes.
const maxLoadName = 1024

// ErrLoaded matches, with errors.Is, the error for a bulk load whose name was loaded
// before. Its kind is [KindAlreadyExists].
var ErrLoaded = errors.New("loaded already")

// ErrOverlap matches, with errors.Is, the error for a bulk load of cells over
// existing ones. Its kind is [KindFailedPrecondition].
var ErrOverlap = overlap.Err

// A BulkLoad writes many rows, in any order, faster than [Table.ApplyBulk] does: it
// sorts them, writes them to table files, bypassing the engine's log and memtables, and
// hands over the files. Its cells become visible together when Commit returns, to all
// reads that begin then; reads under way do not see them. Without a Commit, or after a
// crash before it, none of its cells appear. After a crash during Commit, the next open
// keeps all of its cells or none.
//
// It uses up to a quarter of [Options.Memory] in addition; the rest is in files in
// the database's directory until Commit, whatever the size of the load. A database
// that lives in memory holds all of it.
//
// A BulkLoad belongs to one goroutine. It must be closed.
type BulkLoad struct {
	db     *DB
	table  *catalog.Table
	opts   BulkOptions
	ts     cells.Timestamp // of cells without one
	into   cf.Ingestion
	sorter *bulk.Sorter

	repeats  atomic.Int64          // records that repeat others
	telling  sync.Mutex            // held while repeated runs
	repeated func(plumbing.Repeat) // of [plumbing.Load]; may be nil
	anchor   int                   // the family in whose order all rows are marked; -1 before the first mutation
	id       identity              // scratch
	families []int                 // scratch: of each change of a mutation
	spans    []cf.Range            // by family, the rows that have cells; End inclusive
	all      cf.Range              // the rows of all families, End inclusive
	newest   cells.Timestamp       // the newest that a mutation names
	result   BulkResult
	ended    bool
}

// A BulkResult reports a bulk load. For a load by an earlier version Rows and
// Replaced are zero, which means unknown, and Cells counts repetitions.
type BulkResult struct {
	Mutations int64 `json:"mutations"` // given to the load
	Rows      int64 `json:"rows"`      // distinct
	Cells     int64 `json:"cells"`     // distinct; adds to one cell count once
	Replaced  int64 `json:"replaced"`  // cells that were given again: the last one counts
}

// BulkLoad begins a bulk load. All its cells without a timestamp get the same one, from
// the database's clock now; later writes get greater ones.
func (t *Table) BulkLoad(ctx context.Context, o BulkOptions) (*BulkLoad, error) {
	var l *BulkLoad
	err := t.database().writing(ctx, func(c *catalog.Catalog) (err error) {
		l, err = t.db.bulkLoad(ctx, c, t.name, o)
		return err
	})
	return l, fail("bulk load", t.Name(), "", err)
}

func (db *DB) bulkLoad(ctx context.Context, c *catalog.Catalog, table string, o BulkOptions) (*BulkLoad, error) {
	info, err := c.Table(table)
	if err != nil {
		return nil, err
	}
	if err := info.RefuseLogged(); err != nil {
		return nil, err
	}
	if len(o.Name) > maxLoadName {
		return nil, fault.Errorf(fault.InvalidArgument, "the load's name has %d bytes; it may have up to %d", len(o.Name), maxLoadName)
	}
	l := &BulkLoad{db: db, table: info, opts: o, anchor: -1, spans: make([]cf.Range, len(info.Families))}
	if err := l.checkName(ctx); err != nil {
		return nil, err
	}
	if l.into, err = db.state.Store.Ingest(ctx); err != nil {
		return nil, err
	}
	err = db.state.Clock.WhenWritable(ctx, func() (err error) { l.ts, err = db.state.Clock.Next(ctx); return err })
	if err != nil {
		return nil, errors.Join(err, l.into.Close())
	}
	l.sorter = bulk.NewSorter(len(info.Families), db.memory/4, l.into.TempDir(), l.into.Merge)
	onRepeat(l.sorter, l.tell)
	return l, nil
}

// Apply adds a mutation of a row to the load. It may only have sets and adds: a bulk
// load deletes nothing. The last set of a cell wins; all adds to a cell count. A wrong
// mutation is an error, after which the load can continue without it. The mutation, and
// the bytes that it refers to, may change afterwards.
func (l *BulkLoad) Apply(key string, m *write.Mutation) error {
	return l.fail(key, l.apply(key, m, nil))
}

// over reports whether the load ended, or, as a zero BulkLoad, never began.
func (l *BulkLoad) over() bool { return l == nil || l.table == nil || l.ended }

var errLoadOver = fault.Errorf(fault.FailedPrecondition, "the load has ended; Table.BulkLoad begins a new one")

func (l *BulkLoad) fail(key string, err error) error {
	table := ""
	if l != nil && l.table != nil {
		table = l.table.Name
	}
	return fail("bulk load", table, key, err)
}

func (l *BulkLoad) apply(key string, m *write.Mutation, id *identity) error {
	if l.over() {
		return errLoadOver
	}
	if err := l.check(key, m); err != nil {
		return err
	}
	if l.anchor < 0 {
		l.anchor = l.families[0]
		l.sorter.Anchor(l.anchor)
	}
	l.sorter.Row(key)
	if err := l.sorter.Err(); err != nil {
		return err
	}
	if l.all.End == "" || key < l.all.Start {
		l.all.Start = key
	}
	l.all.End = max(l.all.End, key)
	for i, f := range l.table.Families {
		l.group(key, i, f, m, id)
	}
	l.newest = max(l.newest, m.Newest())
	l.result.Mutations++
	return nil
}

// check finds everything that can be wrong with a mutation, and the family of
// each of its changes.
func (l *BulkLoad) check(key string, m *write.Mutation) error {
	if err := catalog.CheckRowKey(key); err != nil {
		return err
	}
	changes := m.Changes()
	if len(changes) == 0 {
		return fault.Errorf(fault.InvalidArgument, "mutation has no changes")
	}
	l.families = l.families[:0]
	size := 0
	for i := range changes {
		c := &changes[i]
		if c.Kind != write.SetChange && c.Kind != write.AddChange {
			return fault.Errorf(fault.InvalidArgument, "a bulk load sets cells and adds to them; it deletes nothing")
		}
		n := l.familyIndex(c.Family)
		if err := l.table.CheckChange(c); err != nil {
			return err
		}
		l.families = append(l.families, n)
		size += len(key) + len(c.Qualifier) + c.Value.EncodedLen()
	}
	if limit := l.db.limits.Batch; size > limit {
		return fault.Errorf(fault.ResourceExhausted, "mutation has more than %d bytes, the limit", limit)
	}
	return nil
}

// familyIndex is the index of a family in the table, -1 if there is no such family.
func (l *BulkLoad) familyIndex(name string) int {
	for i, f := range l.table.Families {
		if f.Name == name {
			return i
		}
	}
	return -1
}

// group adds the cells of one family and, if it is the anchor, the mark of the row.
func (l *BulkLoad) group(key string, family int, f *catalog.Family, m *write.Mutation, id *identity) {
	open := l.addCells(family, f, m)
	if open {
		s := &l.spans[family]
		if s.End == "" || key < s.Start {
			s.Start = key
		}
		s.End = max(s.End, key)
	}
	if family == l.anchor && (id != nil || !open) {
		if !open {
			l.sorter.Group(family)
		}
		if id != nil {
			l.sorter.Mark(id.at[:], id.note)
		} else {
			l.sorter.Mark(nil, nil)
		}
		open = true
	}
	if open {
		l.sorter.EndGroup()
	}
}

// addCells begins a group with the cells of one family, if there are any.
func (l *BulkLoad) addCells(family int, f *catalog.Family, m *write.Mutation) (open bool) {
	for i, of := range l.families {
		if of != family {
			continue
		}
		if !open {
			l.sorter.Group(family)
			open = true
		}
		c := &m.Changes()[i]
		ts := c.Since
		if c.ServerTime {
			ts = l.ts.RoundDown(c.Unit)
		}
		dst := l.sorter.Cell(c.Qualifier, int64(ts))
		if c.Kind == write.AddChange {
			l.sorter.Value(f.AppendOperand(dst, c.Value), true)
		} else {
			l.sorter.Value(cells.AppendValue(dst, c.Value), false)
		}
	}
	return open
}

// Commit writes the load and makes it visible. It always ends the load: after an error
// none of its cells are visible, except with [KindUnknownOutcome]: then the next open
// of the database decides.
//
// Loads are committed one at a time. Other writes wait while the files are handed over,
// some milliseconds for each family, and not while they are written. Writes during the
// hand-over are not checked for an overlap.
func (l *BulkLoad) Commit(ctx context.Context) (BulkResult, error) {
	err := l.commit(ctx)
	if closeErr := l.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return BulkResult{}, l.fail("", err)
	}
	return l.result, nil
}

func (l *BulkLoad) commit(ctx context.Context) error {
	if l.over() {
		return errLoadOver
	}
	if err := l.db.ready(ctx); err != nil {
		return err
	}
	sorted, err := l.sorter.Finish(ctx)
	if err != nil {
		return err
	}
	if err := l.db.loading.Lock(ctx); err != nil {
		return err
	}
	defer l.db.loading.Unlock()
	if err := l.write(ctx, sorted); err != nil {
		return err
	}
	if n := l.repeats.Load(); n > 0 {
		return fault.Errorf(fault.InvalidArgument, "%d %w", n, plumbing.ErrRepeated)
	}
	n := sorted.Count()
	l.result.Rows, l.result.Cells, l.result.Replaced = n.Rows, n.Cells, n.Replaced
	return l.db.writing(ctx, func(c *catalog.Catalog) error {
		if err := l.checkSchema(c); err != nil {
			return err
		}
		if err := l.db.state.RaiseFor(ctx, l.newest); err != nil {
			return err
		}
		rows := cf.Range{Start: l.all.Start, End: l.all.End + "\x00"}
		_, err := l.into.Commit(ctx, rows, l.record)
		return err
	})
}

// write writes all cells to table files, on all processors.
func (l *BulkLoad) write(ctx context.Context, sorted *bulk.Sorted) error {
	var check *overlap.Check
	if !l.opts.Overlap {
		var err error
		if check, err = overlap.New(ctx, l.db.state, l.table, l.spans, l.ts); err != nil {
			return err
		}
		defer check.Close()
	}
	workers := runtime.GOMAXPROCS(0)
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(workers)
	for _, part := range sorted.Parts(workers) {
		g.Go(func() error {
			run, err := l.into.Run(ctx, l.table.Families[part.Family].Store)
			if err != nil {
				return err
			}
			err = part.Each(ctx, func(c cf.CellGroups) error {
				if l.repeats.Load() > 0 {
					return nil // the load fails; reading on finds the other repeats
				}
				if err := check.Look(ctx, part.Family, c); err != nil {
					return err
				}
				return run.Write(ctx, c)
			})
			return errors.Join(err, run.Close())
		})
	}
	return g.Wait()
}

// checkSchema refuses to commit a load that no longer fits the schema.
func (l *BulkLoad) checkSchema(c *catalog.Catalog) error {
	now, err := c.Table(l.table.Name)
	if err != nil {
		return err
	}
	if err := now.RefuseLogged(); err != nil {
		return err
	}
	for i, f := range l.table.Families {
		if l.spans[i].End == "" {
			continue
		}
		g, err := now.Family(f.Name)
		if err != nil {
			return err
		}
		if g.Type != f.Type || g.Aggregate != f.Aggregate {
			return fault.Errorf(fault.FailedPrecondition, "family %s of table %s has changed its type or its aggregate since the load began", f.Name, l.table.Name)
		}
	}
	return nil
}

// Close ends the load. Without a Commit it leaves nothing behind.
func (l *BulkLoad) Close() error {
	if l.over() {
		return nil
	}
	l.ended = true
	l.sorter.Close()
	return l.fail("", l.into.Close())
}
