package sql

import (
	"context"
	"errors"
	"iter"
	"math"
	"sync"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/read"
)

// Streams reports whether the result is the wanted rows in the order of the read, so
// that it can continue after any of them. Otherwise [Plan.Run] computes it as a whole.
func (p *Plan) Streams() bool { return p.stream && !p.explain }

// Bounds are the values of LIMIT and OFFSET of a result that streams: it has the wanted
// rows from first (inclusive) to end (exclusive), counted from 0.
func (p *Plan) Bounds() (first, end uint64, err error) { return bounds(p.limit, p.offset) }

func bounds(limit, offset *expr) (first, end uint64, err error) {
	most, err := rowCount(limit, math.MaxInt64, "LIMIT")
	if err != nil {
		return 0, 0, err
	}
	if first, err = rowCount(offset, 0, "OFFSET"); err != nil {
		return 0, 0, err
	}
	return first, most + min(first, math.MaxInt64-most), nil
}

// rowCount is the value of LIMIT or OFFSET.
func rowCount(e *expr, otherwise uint64, what string) (uint64, error) {
	if e == nil {
		return otherwise, nil
	}
	n, err := e.eval(nil)
	if err != nil {
		return 0, err
	}
	if rows, ok := n.(int64); ok && rows >= 0 {
		return uint64(rows), nil
	}
	return 0, &Error{Message: what + " must not be negative or NULL"}
}

// Reads are the options of a read of the rows that may be wanted, in the order of
// the result: those after the row with the key after, or all when after is
// empty. When every row read is wanted, the read ends after the number needed.
// When some is false, there is nothing to read.
func (p *Plan) Reads(after string, wanted uint64) (opts []read.Option, some bool) {
	keys := allKeys
	if p.where != nil && p.where.keys != nil {
		keys = p.where.keys()
	}
	if p.within != nil {
		keys = p.within
	}
	switch {
	case after == "":
	case p.reverse:
		keys = keys.and(keyRanges{{End: after}})
	default:
		keys = keys.and(keyRanges{{Start: after + "\x00"}})
	}
	if len(keys) == 0 {
		return nil, false
	}
	opts = append(keys.options(), p.opts...)
	if p.reverse {
		opts = append(opts, read.Reverse())
	}
	if !p.cells {
		opts = append(opts, read.KeysOnly())
	}
	for _, c := range p.conditions() {
		opts = append(opts, c)
	}
	if p.limitsRead() {
		opts = append(opts, read.Limit(int(wanted)))
	}
	return opts, true
}

// limitsRead reports whether every row that is read is wanted.
func (p *Plan) limitsRead() bool { return p.where == nil && p.stream }

// conditions are those of the rows to read that the store judges. It judges the newest
// cells, whatever the time that the query looks at.
func (p *Plan) conditions() []read.Condition {
	if p.where == nil || p.where.stored == nil || p.windowed {
		return nil
	}
	return p.where.stored()
}

// Wants reports whether the condition holds for a row that was read.
func (p *Plan) Wants(ctx context.Context, row *query.Row) (bool, error) {
	if p.where == nil {
		return true, nil
	}
	v, err := p.where.eval(&tuple{row: row, ctx: ctx})
	return v == true, err
}

// Values are the values of the columns in a wanted row of a result that streams, which are
// as in a [Result]; the row is nil for a query without a table. The sequence ends at an error.
func (p *Plan) Values(ctx context.Context, row *query.Row) iter.Seq2[any, error] {
	t := &tuple{row: row, ctx: ctx}
	return func(yield func(any, error) bool) {
		for _, c := range p.columns {
			v, err := c.expr.eval(t)
			if !yield(v, err) || err != nil {
				return
			}
		}
	}
}

// A sink takes the tuples of a stage, and their end.
type sink struct {
	push func(*tuple) error
	end  func() error
}

// all pushes tuples until no more are needed, and then the end.
func (s sink) all(tuples iter.Seq[*tuple]) error {
	for t := range tuples {
		if err := s.push(t); errors.Is(err, errEnough) {
			break
		} else if err != nil {
			return err
		}
	}
	return s.end()
}

// errEnough is the error of a sink that needs no more tuples.
var errEnough = errors.New("no more rows are needed")

// maxHeld bounds the memory of groups, of sorted rows and of distinct values of a query.
const maxHeld = 256 << 20

// An execution counts the memory and the rows of a query under way.
type execution struct {
	ctx      context.Context
	parent   *execution // of one that computes a part of the table; nil: it counts by itself
	mu       sync.Mutex
	held     int
	told     int // the part of held that the context's Holding knows
	unnested int
	over     bool // there was no room for what it needs
	emitted  bool // a row was passed on
	closers  []func()
	files    bool  // it may write files
	onDisk   int64 // the bytes of its files
}

// root is the execution that counts for this one.
func (x *execution) root() *execution {
	for x.parent != nil {
		x = x.parent
	}
	return x
}

// close ends what the query has open.
func (x *execution) close() {
	for _, c := range x.closers {
		c()
	}
}

// release gives back what was held.
func (x *execution) release(n int) { _ = x.hold(-n) } // giving back never fails

// errHeld is the error of a query that needs too much memory.
var errHeld error = &Error{Message: "the groups, sorted rows or distinct values of the query take more than 256 MiB of memory; add conditions, or a LIMIT to ORDER BY"}

// holdStep is the number of bytes that are told at once.
const holdStep = 64 << 10

func (x *execution) hold(n int) error {
	if x.parent != nil {
		x.held += n // by the goroutine of this part alone
		return x.parent.hold(n)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.held += n; x.held > maxHeld {
		x.over = true
		return errHeld
	}
	more := x.held - x.told
	if h := cf.HoldingOf(x.ctx); h != nil && (more >= holdStep || more <= -holdStep) {
		if err := h.Hold(more, true); err != nil {
			x.over = true
			return err
		}
		x.told = x.held
	}
	return nil
}

// made counts rows that UNNEST makes.
func (x *execution) made(n int) error {
	if x.unnested += n; x.unnested > maxUnnested {
		return &Error{Message: "UNNEST makes more than 1,000,000 rows of one row, or fewer with more than 64 columns"}
	}
	return x.ctx.Err()
}

// Run computes a result that does not stream from the rows of the table, nil for a query
// without a table, and passes on its rows, whose values are as in a [Result]. It ends at the
// first error, also of a row or of emit.
func (p *Plan) Run(ctx context.Context, t Table, emit func([]any) error) error {
	if p.explain {
		return p.explained(emit)
	}
	if at := p.partial(); at >= 0 && p.table.Name != "" {
		x := &execution{ctx: ctx, files: !p.noFiles}
		defer x.close()
		if err := p.inParts(ctx, t, at, x, p.sinks(x, p.steps[at+1:], emit)); !x.over || x.emitted {
			return ended(err)
		}
		x.release(x.held) // a single read has each group once
	}
	x := &execution{ctx: ctx, files: !p.noFiles}
	defer x.close()
	next := p.sinks(x, p.steps, emit)
	err := p.feed(x, p.rowsOf(ctx, t), next, false)
	if err == nil || errors.Is(err, errEnough) {
		err = next.end()
	}
	return ended(err)
}

// ended is the error of a query that may have needed no more tuples.
func ended(err error) error {
	if errors.Is(err, errEnough) {
		return nil
	}
	return err
}

// sinks are the sinks of steps. The last sink emits rows.
func (p *Plan) sinks(x *execution, steps []step, emit func([]any) error) sink {
	next := sink{push: func(t *tuple) error {
		values, err := outputValues(p.columns, t)
		if err != nil {
			return err
		}
		x.emitted = true
		return emit(values)
	}, end: func() error { return nil }}
	for i := len(steps) - 1; i >= 0; i-- {
		next = steps[i].run(x, next)
	}
	return next
}

// rowsOf reads the rows that may be wanted; it is nil for a query without a table.
func (p *Plan) rowsOf(ctx context.Context, t Table) iter.Seq2[*query.Row, error] {
	if p.table.Name == "" {
		return nil
	}
	opts, some := p.Reads("", math.MaxInt64)
	if !some {
		return func(func(*query.Row, error) bool) {}
	}
	return t.ReadRows(ctx, opts...)
}

// feed pushes the wanted rows. A row that is lent is in the same tuple as all others.
func (p *Plan) feed(x *execution, rows iter.Seq2[*query.Row, error], next sink, lent bool) error {
	if rows == nil {
		return next.push(&tuple{ctx: x.ctx})
	}
	var t *tuple
	for row, err := range rows {
		if err != nil {
			return err
		}
		if err := x.ctx.Err(); err != nil {
			return err
		}
		x.unnested = 0
		if t == nil || !lent {
			t = new(tuple)
		}
		*t = tuple{row: row, ctx: x.ctx}
		if p.where != nil {
			v, err := p.where.eval(t)
			if err != nil {
				return err
			}
			if v != true {
				continue
			}
		}
		if err := next.push(t); err != nil {
			return err
		}
	}
	return nil
}
