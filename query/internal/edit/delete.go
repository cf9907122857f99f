package edit

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/query/internal/catalog"
	"github.com/smolwc/smolwc/query/write"
)

// A delete of up to PointDeletes cells removes them one by one. A larger delete writes
// one range tombstone, unless the encoder deletes singly. The tombstone slows down
// every later read near it a little.
const PointDeletes = 64

// A rowEditor deletes from one row within a batch. It knows what earlier
// changes of the batch did to the row, which the snapshot does not show.
type rowEditor struct {
	snap  cf.Snapshot // nil in a blind write
	batch *cf.Batch
	key   string
	now   cells.Timestamp

	pointDeletes int // up to this many cells are deleted one by one

	removed map[removal]bool         // nothing is left of it, and nothing was set since
	written map[*catalog.Family]bool // true for families that this batch sets cells in
	cleared map[*catalog.Family]bool // the batch deletes all that the snapshot shows
	sets    versions                 // timestamps set, that are not in visible yet
	visible versions                 // timestamps that retention leaves, newest first
}

// A removal is the range of a delete: of a column, or of the family when all.
type removal struct {
	column
	all          bool
	since, until int64
}

type column struct {
	family    *catalog.Family
	qualifier string
}

func newRowEditor(snap cf.Snapshot, b *cf.Batch, key string, now cells.Timestamp) *rowEditor {
	return &rowEditor{snap: snap, batch: b, key: key, now: now, pointDeletes: PointDeletes,
		written: map[*catalog.Family]bool{}, cleared: map[*catalog.Family]bool{}, sets: versions{}, visible: versions{}}
}

// versions are timestamps of columns. A family is forgotten at once: a request may delete
// one a hundred thousand times.
type versions map[*catalog.Family]map[string][]int64

func (v versions) put(col column, list []int64) {
	if v[col.family] == nil {
		v[col.family] = map[string][]int64{}
	}
	v[col.family][col.qualifier] = list
}

// set notes a cell that the batch writes.
func (e *rowEditor) set(col column, ts int64) {
	e.written[col.family] = true
	e.removed = nil
	if col.family.Counts {
		e.sets.put(col, append(e.sets[col.family][col.qualifier], ts))
	}
}

func (e *rowEditor) apply(ctx context.Context, t *catalog.Table, c *write.Change) error {
	if c.Kind == write.DeleteRowChange {
		for _, f := range t.Families {
			if err := e.deleteFamily(ctx, f); err != nil {
				return err
			}
		}
		return nil
	}
	f, err := t.Family(c.Family)
	if err != nil {
		return err
	}
	if c.Kind == write.DeleteFamilyChange {
		return e.deleteFamily(ctx, f)
	}
	return e.deleteVersions(ctx, column{f, c.Qualifier}, int64(c.Since), int64(c.Until))
}

func (e *rowEditor) deleteFamily(ctx context.Context, f *catalog.Family) error {
	if err := e.remove(ctx, f, nil, 0, 0); err != nil {
		return err
	}
	e.cleared[f] = true
	delete(e.written, f)
	delete(e.visible, f)
	delete(e.sets, f)
	return nil
}

func (e *rowEditor) deleteVersions(ctx context.Context, col column, since, until int64) error {
	all := since == 0 && until == 0
	if col.family.Counts && !all {
		return e.deleteCounted(ctx, col, since, until)
	}
	if err := e.remove(ctx, col.family, &col.qualifier, since, until); err != nil {
		return err
	}
	if all && col.family.Counts {
		e.visible.put(col, nil)
		delete(e.sets[col.family], col.qualifier)
	}
	return nil
}

// deleteCounted is deleteVersions in a family that keeps a number of versions. It
// also removes the versions that the rule hides after the deleted ones;
// otherwise they would become visible again.
func (e *rowEditor) deleteCounted(ctx context.Context, col column, since, until int64) error {
	list, err := e.load(ctx, col)
	if err != nil {
		return err
	}
	if err := e.remove(ctx, col.family, &col.qualifier, since, until); err != nil {
		return err
	}
	if err := e.removeHidden(ctx, col, list); err != nil {
		return err
	}
	e.visible.put(col, slices.DeleteFunc(list, func(ts int64) bool { return ts >= since && (until == 0 || ts < until) }))
	return nil
}

// removeHidden deletes the cells older than the visible versions.
func (e *rowEditor) removeHidden(ctx context.Context, col column, visible []int64) error {
	n := len(visible)
	switch {
	case n == 0:
		return e.remove(ctx, col.family, &col.qualifier, 0, 0)
	case visible[n-1] == 0: // nothing is older
		return nil
	}
	return e.remove(ctx, col.family, &col.qualifier, 0, visible[n-1])
}

// load lists the visible versions of a column, with the batch's changes so far.
func (e *rowEditor) load(ctx context.Context, col column) ([]int64, error) {
	list, ok := e.visible[col.family][col.qualifier]
	if !ok && !e.cleared[col.family] {
		err := e.scan(ctx, col.family, cf.Filter{
			Retention:  col.family.Retention(e.now),
			Qualifiers: []cf.Range{cf.Single(col.qualifier)},
		}, func(_ string, ts int64) { list = append(list, ts) })
		if err != nil {
			return nil, err
		}
	}
	if sets := e.sets[col.family][col.qualifier]; len(sets) > 0 {
		list = append(list, sets...)
		slices.SortFunc(list, func(a, b int64) int { return cmp.Compare(b, a) })
		list = slices.Compact(list)
		delete(e.sets[col.family], col.qualifier)
	}
	return e.retained(col, list), nil
}

// retained cuts off the end of a list that retention hides.
func (e *rowEditor) retained(col column, list []int64) []int64 {
	rules := col.family.Retention(e.now)
	for i, ts := range list {
		for _, r := range rules {
			if i+1 > r.Versions && ts <= r.UpTo {
				return list[:i]
			}
		}
	}
	return list
}

// remove deletes physical cells of a family of the row: of one column, or all
// when the qualifier is nil; versions [since, until). A few are deleted one by
// one; many, or cells that this batch wrote, by a range tombstone.
func (e *rowEditor) remove(ctx context.Context, f *catalog.Family, qualifier *string, since, until int64) error {
	if qualifier != nil && until == int64(cells.Timestamp(since).Until()) {
		e.batch.DeleteCell(f.Store, *qualifier, since)
		return nil
	}
	what := removal{column: column{family: f}, all: qualifier == nil, since: since, until: until}
	if qualifier != nil {
		what.qualifier = *qualifier
	}
	if e.removed[what] { // a request may repeat it a hundred thousand times
		return nil
	}
	if e.removed == nil {
		e.removed = map[removal]bool{}
	}
	e.removed[what] = true
	wanted := cf.Filter{Since: since, Until: until, StripValues: true, CellsPerRow: e.mostCells()}
	if qualifier != nil {
		wanted.Qualifiers = []cf.Range{cf.Single(*qualifier)}
	}
	type cell struct {
		qualifier string
		ts        int64
	}
	var found []cell
	if !e.written[f] {
		if e.cleared[f] {
			return nil
		}
		if err := e.scan(ctx, f, wanted, func(q string, ts int64) { found = append(found, cell{q, ts}) }); err != nil {
			return err
		}
	}
	switch {
	case !e.written[f] && len(found) <= e.pointDeletes:
		for _, c := range found {
			e.batch.DeleteCell(f.Store, c.qualifier, c.ts)
		}
	case qualifier != nil:
		e.batch.DeleteVersions(f.Store, *qualifier, since, until)
	default:
		e.batch.DeleteRow(f.Store)
	}
	return nil
}

// mostCells is how many cells remove looks at: one more than it deletes singly,
// 0 for no limit.
func (e *rowEditor) mostCells() int {
	if e.pointDeletes == math.MaxInt {
		return 0
	}
	return e.pointDeletes + 1
}

func (e *rowEditor) scan(ctx context.Context, fam *catalog.Family, wanted cf.Filter, f func(qualifier string, ts int64)) error {
	return EachCell(ctx, e.snap, e.key, fam, wanted, f)
}

// EachCell passes the wanted cells of a row in a family, as a snapshot shows them, to f.
func EachCell(ctx context.Context, snap cf.Snapshot, key string, fam *catalog.Family, wanted cf.Filter, f func(qualifier string, ts int64)) error {
	wanted.StripValues = true
	return cf.EachBlock(ctx, snap, cf.Scan{Family: fam.Store, Rows: []cf.Range{cf.Single(key)}, Filter: wanted}, func(b *cf.Block) error {
		for i := range b.Cells {
			f(b.Qualifier(&b.Cells[i]), b.Cells[i].Timestamp)
		}
		return nil
	})
}
