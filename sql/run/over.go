package run

import (
	"math"

	"github.com/smolwc/smolwc/sql/value"
)

// Over is an aggregate function over a frame. The values of its argument are the first argument
// of the call.
//
// A frame that starts with the partition only grows: each row is added once. Of any other frame,
// a function whose parts merge keeps the later part as one accumulator, and for the earlier part
// one for each row, of that row and all that follow in the part: when the start of the frame
// passes the earlier part, the later one becomes it. So each row is added twice, whatever the size
// of the frame. A function that lists its values lists them anew for each frame.
func Over(a *Aggregate) WindowMake {
	return func(p *partition, c *WindowCall) (windowFunction, error) {
		f, err := c.Frame.begin(p)
		if err != nil {
			return nil, err
		}
		s := &sliding{Aggregate: a, p: p, call: c, frame: f, x: p.x.child(), added: p.cursor(), removed: p.cursor()}
		s.later = a.start(s.x)
		switch s.later.(type) {
		case merger, combiner:
			s.merges = true
		}
		return s.value, nil
	}
}

// A combiner is an accumulator that takes in a part computed by another one of its kind, of later
// rows. Unlike those of a [merger], its result depends on the parts by rounding.
type combiner interface{ combine(part accumulator) }

func combined(into, part accumulator) error {
	if of, ok := into.(combiner); ok {
		of.combine(part)
		return nil
	}
	return into.(merger).merge(part)
}

// A sliding is an aggregate function over the frames of a partition.
type sliding struct {
	*Aggregate
	p              *partition
	call           *WindowCall
	frame          *frame
	x              *execution // counts its memory
	added, removed *cursor
	merges         bool

	start, end int // of the last frame
	begun      bool
	known      any // its result

	earlier []accumulator // of the rows from mid-len(earlier) on, each with those after it, up to mid
	mid     int
	later   accumulator // of the rows from mid to end
	listed  []any       // the values of the rows from mid to end, of a function that lists
}

func (s *sliding) value(i int) (any, error) {
	start, end, err := s.frame.of(i)
	if err != nil {
		return nil, err
	}
	if s.begun && start == s.start && end == s.end {
		return s.known, nil
	}
	if s.merges || !s.frame.moves() {
		s.known, err = s.merged(start, end)
	} else {
		s.known, err = s.relisted(start, end)
	}
	s.start, s.end, s.begun = start, end, true
	return s.known, err
}

// arg is the value of a row.
func (s *sliding) arg(rows *cursor, i int) (any, error) {
	if i%rowsBetween == 0 && s.x.ctx.Err() != nil {
		return nil, s.x.ctx.Err()
	}
	if s.Arg == nil { // COUNT(*)
		return true, nil
	}
	return rows.arg(i, s.call)
}

// merged is the result of a frame whose parts merge, or that only grows.
func (s *sliding) merged(start, end int) (any, error) {
	if start > s.end { // the rows between were never in a frame
		s.forget(start)
		s.end = start
	}
	for i := s.end; i < end; i++ {
		v, err := s.arg(s.added, i)
		if err == nil {
			err = s.add(s.later, v)
		}
		if err != nil {
			return nil, err
		}
	}
	if start > s.mid {
		if err := s.turn(start, end); err != nil {
			return nil, err
		}
	}
	if n := s.mid - start; n < len(s.earlier) {
		clear(s.earlier[n:])
		s.earlier = s.earlier[:n]
	}
	switch n := len(s.earlier); {
	case n == 0:
		return s.later.result()
	case s.mid == end:
		return s.earlier[n-1].result()
	default:
		own := s.x.child()
		defer func() { own.release(own.held) }()
		both := s.Make(own)
		if err := combined(both, s.earlier[n-1]); err != nil {
			return nil, err
		}
		if err := combined(both, s.later); err != nil {
			return nil, err
		}
		return both.result()
	}
}

// forget begins anew, with the frames from a row on.
func (s *sliding) forget(start int) {
	s.x.release(s.x.held)
	s.later = s.Make(s.x)
	s.earlier, s.mid = nil, start
}

// perPart is about the memory of an accumulator of fixed size, in bytes.
const perPart = 128

// turn makes the rows of a frame its earlier part.
func (s *sliding) turn(start, end int) error {
	s.forget(end)
	values := make([]any, 0, min(end-start, 1<<16))
	for i := start; i < end; i++ {
		v, err := s.arg(s.removed, i)
		if err != nil {
			return err
		}
		if err := s.x.hold(perPart + 2*value.Size(v)); err != nil {
			return err
		}
		values = append(values, v)
	}
	s.earlier = make([]accumulator, 0, len(values)) // the last row's first
	for i := len(values) - 1; i >= 0; i-- {
		if i%rowsBetween == 0 && s.x.ctx.Err() != nil {
			return s.x.ctx.Err()
		}
		acc := s.Make(s.x)
		if err := s.add(acc, values[i]); err != nil {
			return err
		}
		if n := len(s.earlier); n > 0 {
			if err := combined(acc, s.earlier[n-1]); err != nil {
				return err
			}
		}
		s.earlier = append(s.earlier, acc)
	}
	return nil
}

// relisted is the result of a frame of a function that lists its values.
func (s *sliding) relisted(start, end int) (any, error) {
	s.listed = s.listed[min(max(start-s.mid, 0), len(s.listed)):]
	s.mid = start
	for i := max(s.end, start); i < end; i++ {
		v, err := s.arg(s.added, i)
		if err != nil {
			return nil, err
		}
		s.listed = append(s.listed, v)
	}
	s.x.release(s.x.held)
	if err := s.x.hold(16 * len(s.listed)); err != nil {
		return nil, err
	}
	acc := s.Make(s.x)
	for i, v := range s.listed {
		if i%rowsBetween == 0 && s.x.ctx.Err() != nil {
			return nil, s.x.ctx.Err()
		}
		if err := s.add(acc, v); err != nil {
			return nil, err
		}
	}
	return acc.result()
}

func (s *floatSum) combine(part accumulator) {
	of := part.(*floatSum)
	s.sum, s.small, s.n, s.finite = s.sum+of.sum, s.small+of.small, s.n+of.n, s.finite && of.finite
}

func (s *average) combine(part accumulator) {
	of := part.(*average)
	_ = s.ints.merge(&of.ints) // which never fails
	s.floats.combine(&of.floats)
	s.n += of.n
}

// combine adds the spread of other pairs.
// https://en.wikipedia.org/wiki/Algorithms_for_calculating_variance#Parallel_algorithm
func (s *spread) combine(part accumulator) {
	of := *part.(*spread)
	switch {
	case of.n == 0:
		return
	case s.n == 0:
		*s = of
		return
	}
	s.scale(max(s.x.exp, of.x.exp), max(s.y.exp, of.y.exp))
	of.scale(s.x.exp, s.y.exp)
	dx, dy, n := of.x.mean-s.x.mean, of.y.mean-s.y.mean, s.n+of.n
	weight := s.n * of.n / n
	s.squareX += of.squareX + dx*dx*weight
	s.squareY += of.squareY + dy*dy*weight
	s.xy += of.xy + dx*dy*weight
	s.x.mean += dx * of.n / n
	s.y.mean += dy * of.n / n
	s.n = n
}

// scale changes the units to larger ones.
func (s *spread) scale(x, y int) {
	byX, byY := s.x.scale(x), s.y.scale(y)
	s.squareX *= byX * byX
	s.squareY *= byY * byY
	s.xy *= byX * byY
}

func (s *scaled) scale(exp int) (by float64) {
	by = 1
	if s.exp != exp && s.exp != math.MinInt {
		by = math.Ldexp(1, s.exp-exp)
	}
	s.mean *= by
	s.exp = exp
	return by
}
