package run

import (
	"cmp"
	"errors"
	"iter"
	"sync"
	"sync/atomic"
	"time"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/sql/parse"
)

// A sink takes the tuples of a stage, and their end.
type sink struct {
	push func(*Tuple) error
	end  func() error
	// copies says that it copies what it keeps of a tuple. A tuple, its values and their bytes
	// are only lent then: they are valid until push returns.
	copies bool
}

// by is a sink that does something to each tuple before the next sink takes it.
func (s sink) by(push func(*Tuple) error) sink {
	return sink{push: push, end: s.end, copies: s.copies}
}

// A lender has room for the tuples of a sink, one after the other if it copies them.
type lender struct {
	copies bool
	last   Tuple
	slots  []any
}

func (s sink) lender() *lender { return &lender{copies: s.copies} }

// values are no values, with room for some.
func (l *lender) values(some int) []any {
	switch {
	case !l.copies:
		return make([]any, 0, some)
	case cap(l.slots) < some:
		l.slots = make([]any, 0, some)
	}
	return l.slots[:0]
}

func (l *lender) tuple(t Tuple) *Tuple {
	to := &l.last
	if !l.copies { // &t instead would put t on the heap in both cases
		to = new(Tuple)
	}
	*to = t
	return to
}

// all pushes tuples until no more are needed, and then the end.
func (s sink) all(tuples iter.Seq[*Tuple]) error {
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

// rowsBetween are rows between two looks at the context.
const rowsBetween = 1024

// An execution counts the memory and the rows of a query under way.
type execution struct {
	*call
	parent   *execution // of one that computes a part of the result; nil: it counts by itself
	counted  *execution // that counts the memory of this one too; nil: none does
	mu       sync.Mutex
	held     int
	told     int      // the part of held that the context's Holding knows
	most     int      // of held
	figures  *figures // of the stage that it is of; nil: of none, or nobody wants them
	unnested int
	over     bool // there was no room for what it needs
	emitted  bool // a row was passed on
	closers  []func()
	limits   Limits
	files    bool  // it may write files
	onDisk   int64 // the bytes of its files
}

// tuple is a tuple of values that a step makes of several.
func (x *execution) tuple(slots []any) *Tuple { return &Tuple{slots: slots, call: x.call} }

// child is an execution of a part of the result.
func (x *execution) child() *execution { return &execution{call: x.call, parent: x} }

// root is the execution that counts for this one.
func (x *execution) root() *execution {
	for x.parent != nil {
		x = x.parent
	}
	return x
}

// close ends what the query opened.
func (x *execution) close() {
	for _, c := range x.closers {
		c()
	}
}

// release gives back what was held.
func (x *execution) release(n int) { _ = x.hold(-n) } // giving back never fails

// errHeld is the error of a query that needs too much memory.
var errHeld error = &parse.Error{Message: "the groups, sorted, joined or distinct rows of the query take more than 256 MiB of memory; add conditions, or a LIMIT to ORDER BY"}

// holdStep is the number of bytes that are told at once.
const holdStep = 64 << 10

func (x *execution) hold(n int) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if of := cmp.Or(x.parent, x.counted); of != nil {
		x.held += n
		x.most = max(x.most, x.held)
		err := of.hold(n)
		x.over = x.over || err != nil
		return err
	}
	if x.held += n; x.held > maxHeld {
		x.over = true
		return errHeld
	}
	more := x.held - x.told
	if more < holdStep && more > -holdStep {
		return nil
	}
	if h := cf.HoldingOf(x.ctx); h != nil {
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
		return &parse.Error{Message: "UNNEST makes more than 1,000,000 rows of one row, or fewer with more than 64 columns"}
	}
	return x.ctx.Err()
}

// ended is the error of a query that may have needed no more tuples.
func ended(err error) error {
	if errors.Is(err, errEnough) {
		return nil
	}
	return err
}

// figures are those of a stage, on all processors together. Its time is that of no other one,
// but that of the queries in its expressions.
type figures struct {
	read, rows, nanos, held, disk atomic.Int64
}

func (f *figures) since(began time.Time) { f.nanos.Add(int64(time.Since(began))) }

func (f *figures) except(began time.Time) { f.nanos.Add(-int64(time.Since(began))) }

// most notes the bytes that an execution held at once.
func (f *figures) most(x *execution) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for {
		old := f.held.Load()
		if int64(x.most) <= old || f.held.CompareAndSwap(old, int64(x.most)) {
			return
		}
	}
}

// into measures a sink of the stage itself.
func (f *figures) into(x *execution, s sink) sink {
	return sink{push: func(t *Tuple) error {
		defer f.since(time.Now())
		return s.push(t)
	}, end: func() error {
		defer f.most(x)
		defer f.since(time.Now())
		return s.end()
	}, copies: s.copies}
}

// out counts the rows of the stage, whose time ends where the next sink begins.
func (f *figures) out(next sink) sink {
	return sink{push: func(t *Tuple) error {
		f.rows.Add(1)
		defer f.except(time.Now())
		return next.push(t)
	}, end: func() error {
		defer f.except(time.Now())
		return next.end()
	}, copies: next.copies}
}

func (f *figures) counted(rows iter.Seq2[*query.Row, error]) iter.Seq2[*query.Row, error] {
	return func(yield func(*query.Row, error) bool) {
		for row, err := range rows {
			f.read.Add(1)
			if !yield(row, err) {
				return
			}
		}
	}
}
