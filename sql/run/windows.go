package run

import (
	"bytes"
	"fmt"
	"math"
	"slices"

	"github.com/smolwc/smolwc/sql/parse"
)

// A Windowing is the window functions that see the rows in the same partitions and in the same
// order. Its step adds their values to those of each tuple.
type Windowing struct {
	Width     int // the values of a tuple before
	Partition []Eval
	By        []Eval // of ORDER BY
	Order     []parse.Order
	Calls     []*WindowCall
	InMemory  bool
}

// A WindowCall is a call of a window function.
type WindowCall struct {
	Args  []Eval // of each row; they are kept with it
	Frame Frame
	Make  WindowMake
	first int // of its arguments among the values of a sorted row
}

// A WindowMake begins the function in a partition.
type WindowMake func(p *partition, c *WindowCall) (windowFunction, error)

// A windowFunction returns its value for each row of a partition, from the first to the last.
type windowFunction func(i int) (any, error)

// Step returns the step.
func (w *Windowing) Step() Step {
	where := ", on disk beyond 64 MiB"
	if w.InMemory {
		where = " in memory"
	}
	name := fmt.Sprintf("window: %d functions, partitions by %d expressions, sorted by %d%s", len(w.Calls), len(w.Partition), len(w.By), where)
	return Step{name: name, run: w.run}
}

func (w *Windowing) run(x *execution, next sink) sink {
	var kept []Eval
	for i := range w.Width {
		kept = append(kept, Slot(i))
	}
	by := -1
	for _, c := range w.Calls {
		kept = append(kept, c.Args...)
	}
	if slices.ContainsFunc(w.Calls, func(c *WindowCall) bool { return c.Frame.reaches() }) {
		by = len(kept)
		kept = append(kept, w.By[0])
	}
	room := x.root().limits.Sorted
	if w.InMemory {
		room = math.MaxInt
	}
	own := x.child()
	s := &sorter{x: own, most: math.MaxInt64, room: room}
	partitions := make([]parse.Order, len(w.Partition))
	var key, values []byte
	push := func(t *Tuple) (err error) {
		if key, err = sortKey(key[:0], w.Partition, partitions, t); err != nil {
			return err
		}
		partition := len(key)
		if key, err = sortKey(key, w.By, w.Order, t); err != nil {
			return err
		}
		if values, err = appendAll(values[:0], kept, t); err != nil {
			return err
		}
		return s.put(key, partition, values)
	}
	return sink{push: push, end: func() error {
		err := w.all(own, s, by, next)
		s.close()
		own.release(own.held)
		if err := ended(err); err != nil {
			return err
		}
		return next.end()
	}, copies: true}
}

// all passes on all rows of a sorter with the values of the functions. by is the number of the
// value of ORDER BY; -1: no frame needs it.
func (w *Windowing) all(x *execution, s *sorter, by int, next sink) error {
	begin := func() *partition {
		return &partition{x: x, ordered: len(w.By) > 0, by: by, desc: by >= 0 && w.Order[0].Desc}
	}
	if s.spill == nil {
		s.sort()
		for rows := s.rows.rows; len(rows) > 0; {
			first := s.rows.of(rows[0]).partition
			n := 1
			if len(first) == 0 { // there is one partition
				n = len(rows)
			}
			for ; n < len(rows) && bytes.Equal(s.rows.of(rows[n]).partition, first); n++ {
				if n%fetched == 1 {
					s.rows.fetch(rows[n:])
				}
				if n%rowsBetween == 0 && x.ctx.Err() != nil {
					return x.ctx.Err()
				}
			}
			p := begin()
			p.of, p.rows, p.n = &s.rows, rows[:n], n
			if err := w.one(p, next); err != nil {
				return err
			}
			rows = rows[n:]
		}
		return x.ctx.Err()
	}
	p := begin()
	defer func() { p.close() }()
	var first []byte
	err := s.each(func(r row) error {
		if p.n > 0 && !bytes.Equal(first, r.partition) {
			if err := w.one(p, next); err != nil {
				return err
			}
			p.close()
			p = begin()
		}
		if p.n == 0 {
			first = append(first[:0], r.partition...)
		}
		return p.put(r, s.room)
	})
	if err != nil || p.n == 0 {
		return err
	}
	return w.one(p, next)
}

// one passes on the rows of a partition.
func (w *Windowing) one(p *partition, next sink) error {
	if err := p.complete(); err != nil { // before p.x changes, which held its rows
		return err
	}
	own := p.x.child()
	defer func() { own.release(own.held) }()
	p.x = own
	at := w.Width
	var functions []windowFunction
	for _, c := range w.Calls {
		call := *c
		call.first = at
		at += len(c.Args)
		f, err := c.Make(p, &call)
		if err != nil {
			return err
		}
		functions = append(functions, f)
	}
	rows, lent := p.cursor(), next.lender()
	for i := range p.n {
		if i%64 == 0 && own.ctx.Err() != nil {
			return own.ctx.Err()
		}
		r, err := rows.row(i)
		if err != nil {
			return err
		}
		slots, err := r.decode(lent.values(w.Width+len(functions)), w.Width)
		if err != nil {
			return err
		}
		for _, f := range functions {
			v, err := f(i)
			if err != nil {
				return err
			}
			slots = append(slots, v)
		}
		if err := next.push(lent.tuple(Tuple{slots: slots, call: own.call})); err != nil {
			return err
		}
	}
	return nil
}

// RowNumber is ROW_NUMBER.
func RowNumber(*partition, *WindowCall) (windowFunction, error) {
	return func(i int) (any, error) { return int64(i + 1), nil }, nil
}

// Rank is RANK.
func Rank(p *partition, _ *WindowCall) (windowFunction, error) {
	return func(i int) (any, error) {
		start, _, err := p.peersOf(i)
		return int64(start + 1), err
	}, nil
}

// DenseRank is DENSE_RANK.
func DenseRank(p *partition, _ *WindowCall) (windowFunction, error) {
	return func(i int) (any, error) {
		_, _, err := p.peersOf(i)
		return int64(p.peers.number), err
	}, nil
}

// PercentRank is PERCENT_RANK.
func PercentRank(p *partition, _ *WindowCall) (windowFunction, error) {
	return func(i int) (any, error) {
		start, _, err := p.peersOf(i)
		return float64(start) / float64(max(p.n-1, 1)), err
	}, nil
}

// CumeDist is CUME_DIST.
func CumeDist(p *partition, _ *WindowCall) (windowFunction, error) {
	return func(i int) (any, error) {
		_, end, err := p.peersOf(i)
		return float64(end) / float64(p.n), err
	}, nil
}

// A Count64 is an argument that is the same for every row: an INT64 from Least on. Refused is the
// error of any other.
type Count64 struct {
	Eval    Eval
	Least   int64
	Refused func(v any) error
}

func (c *Count64) of(x *execution) (int64, error) {
	v, err := c.Eval(x.tuple(nil))
	if err != nil {
		return 0, err
	}
	if n, ok := v.(int64); ok && n >= c.Least {
		return n, nil
	}
	return 0, c.Refused(v)
}

// Tile is NTILE.
func Tile(tiles Count64) WindowMake {
	return func(p *partition, _ *WindowCall) (windowFunction, error) {
		k, err := tiles.of(p.x)
		if err != nil {
			return nil, err
		}
		n := int64(p.n)
		size, larger := n/k, n%k
		return func(i int) (any, error) {
			at := int64(i)
			if in := larger * (size + 1); at >= in {
				return larger + (at-in)/size + 1, nil
			}
			return at/(size+1) + 1, nil
		}, nil
	}
}

// Shifted is LAG, or LEAD if forward is set: the first argument in the row that is so far away,
// or otherwise, which may be nil.
func Shifted(forward bool, by Count64, otherwise Eval) WindowMake {
	return func(p *partition, c *WindowCall) (windowFunction, error) {
		far, err := by.of(p.x)
		if err != nil {
			return nil, err
		}
		var none any
		if otherwise != nil {
			if none, err = otherwise(p.x.tuple(nil)); err != nil {
				return nil, err
			}
		}
		rows := p.cursor()
		return func(i int) (any, error) {
			at := i - int(min(far, int64(p.n)))
			if forward {
				at = i + int(min(far, int64(p.n)))
			}
			if at < 0 || at >= p.n {
				return none, nil
			}
			return rows.arg(at, c)
		}, nil
	}
}

// arg is the first argument in a row.
func (c *cursor) arg(i int, of *WindowCall) (any, error) { return c.value(i, of.first) }

// Nth is NTH_VALUE, and with 1 FIRST_VALUE: the first argument in that row of the frame. With
// skip, only rows in which it is not NULL count.
func Nth(number Count64, skip bool) WindowMake {
	return func(p *partition, c *WindowCall) (windowFunction, error) {
		n, err := number.of(p.x)
		if err != nil {
			return nil, err
		}
		frame, err := c.Frame.begin(p)
		if err != nil {
			return nil, err
		}
		rows := p.cursor()
		if n > int64(p.n) {
			return func(int) (any, error) { return nil, nil }, nil
		}
		if !skip {
			return func(i int) (any, error) {
				start, end, err := frame.of(i)
				if at := start + int(n) - 1; err == nil && at < end {
					return rows.arg(at, c)
				}
				return nil, err
			}, nil
		}
		before := counted{rows: p.cursor(), call: c}
		found := counted{rows: rows, call: c}
		return func(i int) (any, error) {
			start, end, err := frame.of(i)
			if err != nil {
				return nil, err
			}
			if err := before.to(start, math.MaxInt); err != nil {
				return nil, err
			}
			want := before.some + int(n)
			if err := found.to(end, want); err != nil || found.some < want {
				return nil, err
			}
			return found.last, nil
		}, nil
	}
}

// A counted counts the rows, from the first, in which an argument is not NULL.
type counted struct {
	rows *cursor
	call *WindowCall
	next int
	some int
	at   int // the last such row
	last any // its argument
}

// to counts the rows before end, until there are enough.
func (c *counted) to(end, enough int) error {
	for ; c.next < end && c.some < enough; c.next++ {
		if c.next%rowsBetween == 0 && c.rows.p.x.ctx.Err() != nil {
			return c.rows.p.x.ctx.Err()
		}
		v, err := c.rows.arg(c.next, c.call)
		if err != nil {
			return err
		}
		if v != nil {
			c.last, c.at = v, c.next
			c.some++
		}
	}
	return nil
}

// Last is LAST_VALUE: the first argument in the last row of the frame. With skip, it is the last
// row in which it is not NULL.
func Last(skip bool) WindowMake {
	return func(p *partition, c *WindowCall) (windowFunction, error) {
		frame, err := c.Frame.begin(p)
		if err != nil {
			return nil, err
		}
		rows := p.cursor()
		found := counted{rows: rows, call: c, at: -1}
		return func(i int) (any, error) {
			start, end, err := frame.of(i)
			if err != nil || start == end {
				return nil, err
			}
			if !skip {
				return rows.arg(end-1, c)
			}
			if err := found.to(end, math.MaxInt); err != nil || found.at < start {
				return nil, err
			}
			return found.last, nil
		}, nil
	}
}
