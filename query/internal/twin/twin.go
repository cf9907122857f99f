// Package twin makes tables of one database equal to another one's, and finds the cells
// in which they differ. It works on encoded cells, so that types, timestamps and the
// state of aggregates stay as they are.
package twin

import (
	"context"
	"errors"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/tally"
	"github.com/smolwc/smolwc/internal/lock"
	"github.com/smolwc/smolwc/query/internal/catalog"
	"github.com/smolwc/smolwc/query/internal/fault"
	"github.com/smolwc/smolwc/query/internal/state"
)

// A Sum is the number, the size and the checksum of cells.
type Sum = tally.Sum

// A Pair is a database and the one that becomes equal to it.
type Pair struct {
	From, To *state.DB
	// Loading is held while a load is committed to To.
	Loading lock.RW
	// Workers is the number of parts that are copied at the same time.
	Workers int
	// Advance is told of each part that is done; it may be nil. It is called by several
	// goroutines.
	Advance func(Sum)
}

// PartBytes is about the size of a part. Only tests change it.
var PartBytes int64 = 64 << 20

const maxParts = 4096

// tries is how often a part is compared. Between two tries the cells that differ are
// written again; only cells that expire meanwhile need more than two.
const tries = 4

// Now is a moment that neither clock reached yet, for retention: what was dropped in one
// of the databases is expired in both.
func (p *Pair) Now() cells.Timestamp { return max(p.From.Clock.Now(), p.To.Clock.Now()) }

// Sync makes a table of To equal to that in a snapshot of From, and compares the two cell
// by cell. The sum is of the cells of both.
func (p *Pair) Sync(ctx context.Context, snap cf.Snapshot, from, to *catalog.Table) (Sum, error) {
	return p.each(ctx, from, func(ctx context.Context, rows cf.Range) (Sum, error) { return p.syncPart(ctx, snap, from, to, rows) })
}

// Compare reports the cells in which two tables differ, and their sums. different may be
// called by several goroutines.
func (p *Pair) Compare(ctx context.Context, at [2]cf.Snapshot, from, to *catalog.Table, different func(Difference)) (sums [2]Sum, err error) {
	var mu sync.Mutex
	now := p.Now()
	sums[0], err = p.each(ctx, from, func(ctx context.Context, rows cf.Range) (Sum, error) {
		part, err := compare(ctx, moment{at[0], at[1]}, from, to, []cf.Range{rows}, now, func(d Difference) error {
			different(d)
			return nil
		})
		mu.Lock()
		defer mu.Unlock()
		sums[1].Add(part[1])
		return part[0], err
	})
	return sums, err
}

// each divides a table into parts, and runs fn for some of them at a time.
func (p *Pair) each(ctx context.Context, from *catalog.Table, fn func(context.Context, cf.Range) (Sum, error)) (total Sum, err error) {
	if len(from.Families) == 0 {
		return total, nil
	}
	parts, err := p.parts(ctx, from)
	if err != nil {
		return total, err
	}
	var mu sync.Mutex
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(max(p.Workers, 1))
	for _, rows := range parts {
		g.Go(func() error {
			sum, err := fn(ctx, rows)
			if err != nil {
				return err
			}
			if p.Advance != nil {
				p.Advance(sum)
			}
			mu.Lock()
			defer mu.Unlock()
			total.Add(sum)
			return nil
		})
	}
	return total, g.Wait()
}

// parts divides a table into parts of about PartBytes, at least one for each worker.
func (p *Pair) parts(ctx context.Context, t *catalog.Table) (rows []cf.Range, err error) {
	whole, err := p.From.Store.Splits(ctx, storesOf(t), cf.Range{}, 1)
	if err != nil {
		return nil, err
	}
	n := max(int64(p.Workers), min(whole[0].Bytes/PartBytes+1, maxParts))
	parts, err := p.From.Store.Splits(ctx, storesOf(t), cf.Range{}, int(n))
	if err != nil {
		return nil, err
	}
	start := ""
	for _, part := range parts {
		rows = append(rows, cf.Range{Start: start, End: part.End})
		start = part.End
	}
	return rows, nil
}

func storesOf(t *catalog.Table) (names []string) {
	for _, f := range t.Families {
		names = append(names, f.Store)
	}
	return names
}

// syncPart makes the rows of a range equal. An empty range is loaded as a whole; in
// others only the rows that differ are written.
func (p *Pair) syncPart(ctx context.Context, snap cf.Snapshot, from, to *catalog.Table, rows cf.Range) (sum Sum, err error) {
	empty, err := isEmpty(ctx, p.To, to, rows)
	if err != nil {
		return sum, err
	}
	if empty {
		if err := p.load(ctx, snap, from, to, rows); err != nil && !errors.Is(err, errors.ErrUnsupported) {
			return sum, err
		}
	}
	for range tries {
		var differs bool
		if sum, differs, err = p.mendRange(ctx, snap, from, to, rows); err != nil || !differs {
			return sum, err
		}
	}
	return sum, fault.Errorf(fault.Conflict, "table %s still differs after it was copied: something else writes the target, or a clock was set back", from.Name)
}

// mendRange compares the rows of a range, and writes those that differ.
func (p *Pair) mendRange(ctx context.Context, snap cf.Snapshot, from, to *catalog.Table, rows cf.Range) (sum Sum, differs bool, err error) {
	written, err := p.To.Store.Snapshot(ctx)
	if err != nil {
		return sum, false, err
	}
	defer written.Close()
	m := mender{pair: p, snap: snap, from: from, to: to}
	// compare goes through one family after the other; a row is mended as a whole.
	sums, err := compare(ctx, moment{snap, written}, from, to, []cf.Range{rows}, p.Now(), func(d Difference) error {
		differs = true
		return m.add(ctx, d.Row)
	})
	if err == nil {
		err = m.flush(ctx)
	}
	return sums[0], differs, err
}

// compare calls different for each cell that is not the same in both tables.
func compare(ctx context.Context, at moment, from, to *catalog.Table, rows []cf.Range, now cells.Timestamp, different func(Difference) error) (sums [2]Sum, err error) {
	for i, f := range from.Families {
		v := visit{
			from: cf.Scan{Family: f.Store, Rows: rows, Filter: rule(f, now)},
			to:   cf.Scan{Family: to.Families[i].Store, Rows: rows, Filter: rule(f, now)},
			sums: [2]tally.Summer{{Family: f.Name}, {Family: f.Name}},
			different: func(in Place, w *tally.Walk) error {
				return different(Difference{from.Name, w.Key, f.Name, w.Qualifier, cells.Timestamp(w.Timestamp), in})
			},
		}
		if err := v.run(ctx, at); err != nil {
			return sums, err
		}
		sums[0].Add(v.sums[0].Sum)
		sums[1].Add(v.sums[1].Sum)
	}
	return sums, nil
}

// isEmpty reports whether a range of a table contains no cell, hidden ones included.
func isEmpty(ctx context.Context, db *state.DB, t *catalog.Table, rows cf.Range) (bool, error) {
	for _, f := range t.Families {
		var found cf.Answer
		err := db.Store.Read(ctx, &cf.Scan{Family: f.Store, Rows: []cf.Range{rows}, Limit: 1, Hint: 1, Filter: cf.Filter{KeysOnly: true}}, &found)
		if err != nil || len(found.First.Rows) > 0 {
			return false, err
		}
	}
	return true, nil
}
