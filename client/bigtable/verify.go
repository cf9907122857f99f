package bigtable

import (
	"context"
	"encoding/binary"
	"fmt"
	"iter"
	"time"

	"github.com/cespare/xxhash/v2"
	"golang.org/x/sync/errgroup"

	"github.com/smolwc/smolwc/api/wire"
	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/schema"
)

const mostDifferences = 10

// verify reads all rows of both sides again and compares them.
func (c *copying) verify(ctx context.Context) error {
	c.report.Verified = true
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(c.o.Parallel)
	for _, t := range c.tables {
		ranges, err := c.split(ctx, t)
		if err != nil {
			return firstOf(group, err)
		}
		for _, rows := range ranges {
			group.Go(func() error {
				v := &comparison{c: c, t: t, rows: rows}
				return v.run(ctx)
			})
		}
		group.Go(func() error { return c.outside(ctx, t) })
	}
	return group.Wait()
}

const notOfCopy = "is in the target, and no row of this copy"

// outside reports the target's rows without the prefix.
func (c *copying) outside(ctx context.Context, t *table) error {
	within := cf.Prefix(c.o.Prefix)
	for _, rows := range []cf.Range{{End: within.Start}, {Start: within.End}} {
		if rows == (cf.Range{}) { // the copy has no end there
			continue
		}
		for own, err := range c.sums(ctx, t, rows, 0) {
			if err != nil {
				return err
			}
			c.reported(t, func(r *TableReport) {
				r.Target.add(own.sum.Count)
				r.Target.Checksum += own.sum.hash
			})
			c.differs(Difference{t.id, own.key, notOfCopy})
		}
	}
	return nil
}

// A comparison compares a range of the rows of a table. It is the sink of a reading.
type comparison struct {
	c    *copying
	t    *table
	rows cf.Range

	key  string
	row  sum
	next func() (rowSum, error, bool) // the target's rows
	own  rowSum                       // the target's row that was not compared; empty at the end
	from sum                          // of all rows
	to   sum
}

func (v *comparison) run(ctx context.Context) error {
	next, stop := iter.Pull2(v.c.sums(ctx, v.t, v.rows, 0))
	defer stop()
	v.next = next
	if err := v.step(); err != nil {
		return err
	}
	r := &reading{c: v.c, t: v.t, rows: v.rows, to: v}
	if err := r.run(ctx); err != nil {
		return err
	}
	if err := v.until(ctx, ""); err != nil {
		return err
	}
	v.c.reported(v.t, func(r *TableReport) {
		r.Source.add(v.from.Count)
		r.Target.add(v.to.Count)
		r.Source.Checksum += v.from.hash
		r.Target.Checksum += v.to.hash
	})
	return nil
}

func (v *comparison) begin(_ context.Context, key string) error {
	v.key, v.row = key, newSum(key, 0)
	return nil
}

func (v *comparison) cell(_ context.Context, f *family, qualifier string, ts cells.Timestamp, value cells.Value) error {
	v.row.add(f, qualifier, ts, value)
	return nil
}

func (v *comparison) end(ctx context.Context) error {
	if v.row.Cells == 0 { // retention drops all of them
		return nil
	}
	if err := v.until(ctx, v.key); err != nil {
		return err
	}
	v.from.include(v.row)
	own := sum{}
	if v.own.key == v.key {
		own = v.own.sum
		if err := v.step(); err != nil {
			return err
		}
	}
	v.to.include(own)
	v.c.tell(v.row.Count)
	return v.compare(ctx, v.key, v.row, own)
}

func (v *comparison) passed(context.Context, string) error { return nil }

// until compares the target's rows before a key, which the source does not have. An empty
// key is the end.
func (v *comparison) until(ctx context.Context, key string) error {
	for v.own.key != "" && (key == "" || v.own.key < key) {
		v.to.include(v.own.sum)
		if err := v.compare(ctx, v.own.key, sum{}, v.own.sum); err != nil {
			return err
		}
		if err := v.step(); err != nil {
			return err
		}
	}
	return nil
}

func (v *comparison) step() error {
	own, err, ok := v.next()
	if !ok {
		own = rowSum{}
	}
	v.own = own
	return err
}

// compare reports a row that differs, also when it is read once more: a cell may have
// expired between the reads of the two sides.
func (v *comparison) compare(ctx context.Context, key string, from, to sum) error {
	if from.same(to) {
		return nil
	}
	const soon = time.Minute
	one := &oneRow{soon: soon}
	if v.c.wanted(key) {
		if err := (&reading{c: v.c, t: v.t, rows: cf.Single(key), to: one}).whole(ctx, nil); err != nil {
			return err
		}
	}
	to = sum{}
	for own, err := range v.c.sums(ctx, v.t, cf.Single(key), soon) {
		if err != nil {
			return err
		}
		to = own.sum
	}
	switch {
	case one.sum.same(to):
	case v.c.wanted(key):
		v.c.differs(Difference{v.t.id, key, difference(one.sum, to)})
	default:
		v.c.differs(Difference{v.t.id, key, notOfCopy})
	}
	return nil
}

func difference(from, to sum) string {
	switch {
	case to.Cells == 0:
		return "is only in the source"
	case from.Cells == 0:
		return "is only in the target"
	case from.Cells != to.Cells:
		return fmt.Sprintf("has %d cells in the source and %d in the target", from.Cells, to.Cells)
	}
	return "has other cells in the target"
}

func (c *copying) differs(d Difference) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.report.Different++
	if len(c.report.Differences) < mostDifferences {
		c.report.Differences = append(c.report.Differences, d)
	}
}

// oneRow is the sum of the only row of a reading, if that ended.
type oneRow struct {
	row  sum
	sum  sum
	soon time.Duration
}

func (o *oneRow) begin(_ context.Context, key string) error {
	o.row = newSum(key, o.soon)
	return nil
}

func (o *oneRow) cell(_ context.Context, f *family, qualifier string, ts cells.Timestamp, v cells.Value) error {
	o.row.add(f, qualifier, ts, v)
	return nil
}

func (o *oneRow) end(context.Context) error {
	o.sum = o.row
	return nil
}

func (o *oneRow) passed(context.Context, string) error { return nil }

// A sum is the size of rows and the sum of the hashes of their cells, which does not depend
// on the order of families.
type sum struct {
	Count
	hash uint64

	key       string
	now       time.Time // retention drops cells as of it
	family    *family
	qualifier string
	rank      int // of the next version of the column
	room      []byte
}

func newSum(key string, soon time.Duration) sum {
	return sum{Count: Count{Rows: 1, Bytes: int64(len(key))}, key: key, now: time.Now().Add(soon)}
}

// add adds a cell that retention does not drop. The versions of a column come one after
// another, the newest first.
func (s *sum) add(f *family, qualifier string, ts cells.Timestamp, v cells.Value) {
	if f != s.family || qualifier != s.qualifier {
		s.family, s.qualifier, s.rank = f, qualifier, 0
	}
	s.rank++
	if dropped(f.limits, s.rank, ts, s.now) {
		return
	}
	s.Cells++
	s.Bytes += int64(len(qualifier) + size(v))
	s.room = appendPart(s.room[:0], s.key)
	s.room = appendPart(appendPart(s.room, f.Name), qualifier)
	s.room = binary.BigEndian.AppendUint64(s.room, uint64(ts))
	s.room = append(s.room, byte(v.Type()))
	s.room = wire.AppendValue(s.room, v)
	s.hash += xxhash.Sum64(s.room)
}

func appendPart(b []byte, part string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(part))), part...)
}

// dropped reports whether retention drops the cell of this rank, from 1.
func dropped(limits []schema.Limit, rank int, ts cells.Timestamp, now time.Time) bool {
	for _, l := range limits {
		if rank > l.Versions && (l.Age == 0 || int64(ts) < now.UnixMicro()-l.Age.Microseconds()) {
			return true
		}
	}
	return false
}

// include adds the sum of a row.
func (s *sum) include(row sum) {
	s.Count.add(row.Count)
	s.hash += row.hash
}

func (s *sum) same(o sum) bool {
	return s.Cells == o.Cells && (s.Cells == 0 || s.Count == o.Count && s.hash == o.hash)
}

type rowSum struct {
	key string
	sum sum
}

// sums are the sums of the target's rows, without families that the source lacks.
func (c *copying) sums(ctx context.Context, t *table, rows cf.Range, soon time.Duration) iter.Seq2[rowSum, error] {
	return func(yield func(rowSum, error) bool) {
		var row rowSum
		give := func() bool { return row.sum.Cells == 0 || yield(row, nil) }
		for cell, err := range c.to.Table(t.id).ScanCells(ctx, read.RowSet{Ranges: []cf.Range{rows}}) {
			if err != nil {
				yield(rowSum{}, err)
				return
			}
			if row.key != cell.Key {
				if !give() {
					return
				}
				row = rowSum{cell.Key, newSum(cell.Key, soon)}
			}
			if f := t.families[cell.Family]; f != nil {
				row.sum.add(f, cell.Qualifier, cell.Timestamp, cell.Value)
			}
		}
		give()
	}
}
