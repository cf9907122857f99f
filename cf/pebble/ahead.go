package pebble

import (
	"bytes"
	"context"
	"sync/atomic"

	engine "github.com/cockroachdb/pebble/v2"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/internal/ahead"
	"github.com/smolwc/smolwc/cf/ordered"
)

const (
	// No cursor of a snapshot with more cursors reads ahead.
	fewCursors = 8
	// stepsOfFill is how many steps of the cursor without a block end a fill.
	stepsOfFill = 16
	// chunkHint makes the first block of a chunk a large one.
	chunkHint = 1 << 10
)

// A divided is a long scan that is read in chunks. It implements [ahead.Source]. Its owner
// keeps the database open.
type divided struct {
	db     *engine.DB
	family *family
	spec   cf.Scan
	uses   *atomic.Int64    // cursors of the snapshot
	origin *engine.Iterator // the iterators of chunks are clones of this one, at its state
	room   *ahead.Room
	reader *ahead.Reader // nil: the scan stays whole

	ready []*cf.Block // filled, and not returned yet
	given int         // bytes of the block that the last next returned
	ended bool
	err   error
	cost  cf.Cost
}

// divide makes several goroutines read the rest of a scan. If that is too small, it stays
// whole. Otherwise the first chunk keeps the cursor, whose iterator is given.
func (d *divided) divide(ctx context.Context, crew *ahead.Crew, below *iter, c *ordered.Cursor) (err error) {
	if d.room = ahead.NewRoom(ctx); !d.room.Spare() {
		return nil
	}
	// The bounds and filters of the clones are their own.
	if d.origin, err = below.it.Clone(engine.CloneOptions{IterOptions: new(engine.IterOptions)}); err != nil {
		return wrap(err)
	}
	var cuts *ahead.Chunks
	c.Split(func(rest []cf.Range) (own []cf.Range) {
		cuts = ahead.Cut(d, rest, d.spec.Reverse, "", 0)
		if own = cuts.Next(); cuts.More() {
			d.reader = ahead.New(ctx, d, crew, d.room, &filler{c, d.room}, cuts)
			return own
		}
		return nil
	})
	if d.reader == nil {
		return wrap(d.origin.Close())
	}
	return nil
}

// next is [cf.Cursor.Next].
func (d *divided) next(ctx context.Context) (*cf.Block, error) {
	d.room.Drop(d.given)
	d.given = 0
	for len(d.ready) == 0 && !d.ended && d.err == nil {
		f, err := d.reader.Next(ctx)
		if err != nil {
			return nil, err
		}
		d.ready, d.ended, d.err, d.cost = f.Blocks, f.End, f.Err, f.Cost
	}
	if len(d.ready) == 0 {
		return nil, d.err
	}
	b := d.ready[0]
	d.ready, d.given = d.ready[1:], b.Size()
	return b, nil
}

// stop ends the helpers and closes the chunks.
func (d *divided) stop() {
	d.reader.Stop()
	_ = d.origin.Close()
	d.room.Close()
}

// NewIter implements source.
func (d *divided) NewIter(o *engine.IterOptions) (*engine.Iterator, error) {
	return d.origin.Clone(engine.CloneOptions{IterOptions: o})
}

// Open implements [ahead.Source].
func (d *divided) Open(rows []cf.Range) (ahead.Filler, error) {
	spec := d.spec
	spec.Rows, spec.Hint = rows, chunkHint
	return d.open(spec)
}

func (d *divided) open(spec cf.Scan) (*filler, error) {
	it, err := newIter(d, d.family, &spec, true)
	if err != nil {
		return nil, err
	}
	c := ordered.New(it, spec)
	c.Among(d.uses)
	return &filler{c, d.room}, nil
}

// Size implements [ahead.Sizes], by the files' indexes. It knows nothing of memtables.
func (d *divided) Size(rows cf.Range) uint64 {
	start, end := rows.Bounds()
	prefix := d.family.prefix
	n, err := d.db.EstimateDiskUsage(append(bytes.Clone(prefix), start...), append(bytes.Clone(prefix), end...))
	if err != nil {
		return 0
	}
	return n
}

// LastRow implements [ahead.Sizes].
func (d *divided) LastRow(rows cf.Range) (row string) {
	f, err := d.open(cf.Scan{Family: d.family.name, Rows: []cf.Range{rows}, Reverse: true, Limit: 1, Hint: 1, Filter: cf.Filter{KeysOnly: true}})
	if err != nil {
		return ""
	}
	defer f.Free()
	if b, err := f.Next(context.Background()); err == nil && b != nil && len(b.Rows) > 0 {
		row = string(b.Data[b.Rows[0].Key:][:b.Rows[0].KeyLen])
		b.Release()
	}
	return row
}

// A filler reads a chunk. It implements [ahead.Filler].
type filler struct {
	*ordered.Cursor
	room *ahead.Room
}

// Fill implements [ahead.Filler]. A block is counted until the caller of the scan asks for
// the next one.
func (f *filler) Fill(ctx context.Context, n int) (out ahead.Filled) {
	for steps := 0; len(out.Blocks) < n && steps < stepsOfFill && ctx.Err() == nil && (len(out.Blocks) == 0 || f.room.Spare()); steps++ {
		b, more, err := f.Step(ctx)
		if b != nil {
			if err = f.room.Take(b.Size(), true); err != nil {
				b.Release()
			} else {
				out.Blocks = append(out.Blocks, b)
			}
		}
		if out.Err, out.End = err, err == nil && !more; err != nil || !more {
			break
		}
	}
	out.Cost = f.Cost()
	return out
}

// Free implements [ahead.Filler].
func (f *filler) Free() { f.Close() }
