package scan

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/internal/bytere"
	"github.com/smolwc/smolwc/internal/excerpt"
	"github.com/smolwc/smolwc/internal/spans"
	"github.com/smolwc/smolwc/query/internal/fault"
	"github.com/smolwc/smolwc/query/internal/plan"
	"github.com/smolwc/smolwc/query/read"
)

// A Reader is a read under way: a merge of one stream of rows for each family,
// then conditions, offset and limit.
type Reader struct {
	spec     *plan.Spec
	own      cf.Snapshot // nil when it is the caller's
	streams  []*stream   // of what is selected by family name, then the guards
	guards   []plan.Guard
	strip    bool         // rows have cells for the guards that are not returned
	exact    bool         // see plan.Plan
	filter   *evaluator   // nil without a filter
	work     *bytere.Work // of the filter and the guards; nil without
	rows     rowSlab
	witness  Row // the guards' cells of the row being judged
	skip     int // rows to pass over first
	returned int64
	done     bool
	lends    bool
	spent    []*cf.Block // of a read that lends, blocks of the current row

	wanted   bool       // the current row is in every stream that is required
	counting bool       // the streams count cells
	counted  int        // cells of the current row
	room     rowRoom    // of the current row
	began    time.Time  // zero unless the cost is reported
	span     trace.Span // nil without

	oneStream [1]stream // of a read of one family, and
	one       [1]*stream
}

// OpenPlan opens the cursors of a planned read.
func (src *Source) OpenPlan(ctx context.Context, snap cf.Snapshot, spec *plan.Spec, p *plan.Plan) (*Reader, error) {
	r := new(Reader)
	if err := src.openIn(ctx, r, snap, spec, p); err != nil {
		return nil, err
	}
	return r, nil
}

// openIn is OpenPlan with the memory of the reader, which is a zero one.
func (src *Source) openIn(ctx context.Context, r *Reader, snap cf.Snapshot, spec *plan.Spec, p *plan.Plan) (err error) {
	r.spec, r.guards, r.exact, r.strip, r.skip, r.counting = spec, p.Guards, p.Exact, p.StripCells, spec.Offset, spec.Counts()
	r.room, r.lends = newRowRoom(ctx, spec.RowBytes()), src.Lends && spec.Lend
	ctx, r.span = src.span(ctx)
	if spec.Cost != nil || r.span != nil {
		r.began = time.Now()
	}
	if spec.Filter != nil {
		r.filter = newEvaluator(spec.Filter, spec.WideIntegers)
	}
	if r.filter != nil || len(r.guards) > 0 {
		r.work = bytere.WorkOf(ctx)
	}
	if len(spec.Ranges) == 0 || len(p.Scans) == 0 {
		r.done = true
		return nil
	}
	if snap == nil {
		if r.own, err = src.Store.Snapshot(ctx); err != nil {
			spans.End(r.span, err)
			return err
		}
		snap = r.own
	}
	if err := r.open(ctx, snap, p); err != nil {
		r.Close()
		return err
	}
	return nil
}

func (r *Reader) open(ctx context.Context, snap cf.Snapshot, p *plan.Plan) error {
	all := r.oneStream[:]
	if len(p.Scans) > 1 {
		all = make([]stream, len(p.Scans))
	}
	r.streams = r.one[:0]
	for i := range p.Scans {
		s := &p.Scans[i]
		s.Scan.Lend = r.lends
		c, err := snap.Scan(ctx, s.Scan)
		if err != nil {
			return err
		}
		all[i] = stream{family: s.Family, store: s.Scan.Family, guard: s.Guard, required: s.Required, oneOf: s.OneOf, cursor: s.Of.Readable(c)}
		r.streams = append(r.streams, &all[i])
	}
	for _, s := range r.streams {
		if !s.guard {
			r.rows.width++
		}
		s.counting, s.room = r.counting && !s.guard, &r.room
		if r.lends {
			s.spent = &r.spent
		}
		if err := s.load(ctx); err != nil {
			return err
		}
	}
	return nil
}

// Returned is how many rows the read returned.
func (r *Reader) Returned() int64 { return r.returned }

// Close ends the read, and reports its cost.
func (r *Reader) Close() {
	r.room.next()
	if !r.began.IsZero() {
		cost := r.cost()
		if r.spec.Cost != nil {
			*r.spec.Cost = cost
		}
		endSpan(r.span, &cost)
	}
	for _, s := range r.streams {
		s.leave()
		s.cursor.Close()
	}
	r.release()
	if r.own != nil {
		r.own.Close()
	}
}

func (r *Reader) cost() read.Cost {
	c := read.Cost{Rows: r.returned, Elapsed: time.Since(r.began)}
	for _, s := range r.streams {
		addCost(&c, s.cursor.Cost())
	}
	return c
}

// Next is the next row that the read returns, nil at the end.
func (r *Reader) Next(ctx context.Context) (*Row, error) {
	for !r.done && (r.spec.Limit == 0 || r.returned < int64(r.spec.Limit)) {
		row := r.rows.next(r.ready())
		if err := r.merge(ctx, row); err != nil {
			r.done = true
			return nil, err
		}
		pass, err := r.judge(ctx, row)
		if err != nil {
			r.done = true
			return nil, err
		}
		switch {
		case r.done:
		case !pass || r.spec.Nothing:
			r.done = r.spec.Nothing
			if err := r.reject(row.key); err != nil {
				r.done = true
				return nil, err
			}
		case r.skip > 0:
			r.skip--
		default:
			if !r.lends {
				r.rows.keep()
			}
			r.returned++
			return row, nil
		}
	}
	r.done = true
	return nil, nil
}

// ready is about how many rows can be made without reading on. These rows keep each
// other's blocks in memory, so large ones are limited to one block in each family.
func (r *Reader) ready() int {
	n := 1
	if r.lends {
		return n
	}
	for i, s := range r.streams {
		if s.block == nil {
			continue
		}
		left := len(s.block.Rows) - s.row
		if i == 0 {
			n = left
		} else if len(s.block.Data) > largeRow*len(s.block.Rows) {
			n = min(n, left)
		}
	}
	return n
}

// largeRow is the size from which a row is large, in one family.
const largeRow = 4 << 10

func (r *Reader) reject(key string) error {
	if r.spec.Rejected == nil {
		return nil
	}
	return r.spec.Rejected(key)
}

// release gives back the blocks that only the row before had cells in.
func (r *Reader) release() {
	for _, b := range r.spent {
		b.Release()
	}
	clear(r.spent)
	r.spent = r.spent[:0]
}

// merge puts the next row of all streams together. At the end it sets done.
func (r *Reader) merge(ctx context.Context, row *Row) error {
	if len(r.spent) > 0 {
		r.release()
	}
	lead := r.lead()
	if lead == nil {
		r.done = true
		return nil
	}
	row.key = lead.key
	row.parts, row.labels = r.rows.parts(row), nil
	r.witness.parts = r.witness.parts[:0]
	r.counted = 0
	r.room.next()
	if r.choose(row.key); r.done {
		return nil
	}
	for _, s := range r.streams {
		if s.block == nil || s.key != row.key {
			continue
		}
		if !r.wanted {
			if err := s.pass(ctx); err != nil {
				return err
			}
			continue
		}
		to := row
		if s.guard {
			to = &r.witness
		}
		if err := s.take(ctx, to); err != nil {
			return err
		}
		r.counted += s.counted
	}
	if err := r.room.settle(); err != nil {
		return err
	}
	if n := r.spec.CellsPerRow; n > 0 && len(row.parts) > 1 {
		row.truncate(n)
		r.counted = min(r.counted, n)
	}
	return nil
}

// choose sets wanted for the row, and done if no further row can be wanted.
func (r *Reader) choose(key string) {
	r.wanted = true
	alternatives, more, found := false, false, false
	for _, s := range r.streams {
		if s.required && s.block == nil {
			r.done = true
			return
		}
		r.wanted = r.wanted && (!s.required || s.key == key)
		if s.oneOf {
			alternatives, more, found = true, more || s.block != nil, found || s.block != nil && s.key == key
		}
	}
	if alternatives {
		r.done, r.wanted = !more, r.wanted && found
	}
}

// lead is a stream whose current row is the next one of the read, nil at the end.
func (r *Reader) lead() *stream {
	var lead *stream
	for _, s := range r.streams {
		if s.block == nil {
			continue
		}
		if lead == nil || r.spec.Reverse && s.key > lead.key || !r.spec.Reverse && s.key < lead.key {
			lead = s
		}
	}
	return lead
}

// passes judges a row: it must have a selected cell, and satisfy every condition.
func (r *Reader) passes(row *Row) (bool, error) {
	if !r.wanted || len(row.parts) == 0 {
		return false, nil
	}
	for i := range r.guards {
		g := &r.guards[i]
		on := &r.witness
		if g.OnRow {
			on = row
		}
		if holds, err := g.HoldsIn(r.work, row.key, on); !holds || err != nil {
			return false, conditionError(err, row.key)
		}
	}
	return true, nil
}

// conditionError is the error of a condition on a row.
func conditionError(err error, key string) error {
	if !errors.Is(err, bytere.ErrTooMuch) {
		return err
	}
	return fault.Of(fault.ResourceExhausted, fmt.Errorf("row %q: %w", excerpt.Of(key), err))
}

// judge reports whether a row satisfies the conditions and the filter leaves any
// of its cells.
func (r *Reader) judge(ctx context.Context, row *Row) (bool, error) {
	if r.done {
		return false, nil
	}
	if r.work != nil {
		r.work.Under(ctx)
		r.work.Row(r.room.taken)
	}
	if pass, err := r.passes(row); !pass || err != nil {
		return false, err
	}
	if r.filter == nil {
		if r.strip {
			row.parts = row.parts[:0]
		}
		return true, nil
	}
	left, err := r.filter.apply(r.work, row, &r.room)
	if left && r.spec.KeysOnly {
		row.parts, row.labels = row.parts[:0], nil
	}
	return left, err
}

func (r *Row) truncate(n int) {
	for i := range r.parts {
		p := &r.parts[i]
		if len(p.cells) >= n {
			p.cells = p.cells[:n]
			r.parts = r.parts[:i+1]
			return
		}
		n -= len(p.cells)
	}
}

// A rowSlab allocates rows in groups, so that a scan does not allocate each row.
type rowSlab struct {
	free  []Row
	width int    // families of a row, each a part if it lies in one block
	spare []part // for the rows to come
}

const maxSlab = 256

// next is a row to fill; it stays the same until keep is called. ready is about how
// many rows follow soon.
func (s *rowSlab) next(ready int) *Row {
	if len(s.free) == 0 {
		s.free = make([]Row, min(max(1, ready), maxSlab))
	}
	return &s.free[0]
}

func (s *rowSlab) parts(row *Row) []part {
	if s.width <= len(row.one) {
		return row.one[:0]
	}
	if cap(row.parts) < s.width {
		if len(s.spare) < s.width {
			s.spare = make([]part, len(s.free)*s.width)
		}
		row.parts, s.spare = s.spare[:s.width:s.width], s.spare[s.width:]
	}
	return row.parts[:0]
}

// keep hands the row to the caller: the slab does not use it again.
func (s *rowSlab) keep() { s.free = s.free[1:] }
