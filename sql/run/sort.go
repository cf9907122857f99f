package run

import (
	"cmp"
	"math"
	"slices"
	"strconv"

	"github.com/smolwc/smolwc/sql/parse"
	"github.com/smolwc/smolwc/sql/value"
)

// Sort is a step that sorts tuples by expressions, and makes columns of them. Both limit and
// offset may be nil.
func Sort(by []Eval, order []parse.Order, columns []Eval, limit, offset Eval, inMemory bool) Step {
	where := ", on disk beyond 64 MiB"
	if inMemory {
		where = " in memory"
	}
	return Step{name: "sort by " + strconv.Itoa(len(by)) + " expressions" + where, run: func(x *execution, next sink) sink {
		most, room := uint64(math.MaxInt64), x.root().limits.Sorted
		if inMemory {
			room = math.MaxInt
		}
		if _, end, err := bounds(limit, offset, x.tuple(nil)); err == nil && limit != nil {
			most = end
		}
		s := &sorter{x: x, order: order, most: most, room: room}
		return sink{push: func(t *Tuple) error { return s.add(by, columns, t) }, end: func() error {
			return s.all(next)
		}}
	}}
}

// A sorter sorts rows in memory, and beyond a bound in a file. When only the first rows
// are needed, it removes the others as it goes.
type sorter struct {
	x     *execution
	of    *execution // whose stage writes the file; nil: it is x
	order []parse.Order
	most  uint64
	rows  []sortRow
	held  int
	room  int    // bytes of memory, beyond which rows go to a file; math.MaxInt: never
	spill *spill // nil: all rows are in memory
}

type sortRow struct{ by, values []any }

func (s *sorter) add(by []Eval, all []Eval, t *Tuple) error {
	keys, err := All(by, t)
	if err != nil {
		return err
	}
	row := sortRow{by: keys}
	if s.most < 1<<20 && uint64(len(s.rows)) >= 2*s.most+100 {
		s.sort()
		s.rows = slices.Delete(s.rows, int(s.most), len(s.rows))
		s.x.hold(-s.held)
		s.held = 0
		for _, r := range s.rows {
			s.held += r.size()
		}
		if err := s.x.hold(s.held); err != nil {
			return err
		}
	}
	values, err := All(all, t)
	if err != nil {
		return err
	}
	row.by, row.values = value.CloneAll(row.by), value.CloneAll(values)
	return s.put(row)
}

// put takes a row that nothing else changes.
func (s *sorter) put(row sortRow) error {
	size := row.size()
	if s.held > s.room-size && len(s.rows) > 0 {
		if err := s.toDisk(); err != nil {
			return err
		}
	}
	err := s.x.hold(size)
	if err != nil && s.room < math.MaxInt && s.held >= leastRun { // no room in the connection
		s.x.release(size)
		if err := s.toDisk(); err != nil {
			return err
		}
		err = s.x.hold(size)
	}
	s.rows = append(s.rows, row)
	s.held += size
	return err
}

// toDisk makes a run in the file of the rows in memory.
func (s *sorter) toDisk() (err error) {
	if s.spill == nil {
		if s.spill, err = newSpill(s.x); err != nil {
			return err
		}
	}
	before := s.spill.end
	defer func() { s.written(s.spill.end - before) }()
	s.sort()
	rows := s.rows
	if s.most < uint64(len(rows)) {
		rows = rows[:s.most]
	}
	if len(rows) > 0 { // LIMIT 0 leaves no row
		if err := s.spill.write(rows); err != nil {
			return err
		}
	}
	clear(s.rows)
	s.rows = s.rows[:0]
	s.x.release(s.held)
	s.held = 0
	return nil
}

// written counts bytes of the file for EXPLAIN ANALYZE.
func (s *sorter) written(n int64) {
	x := s.of
	if x == nil {
		x = s.x
	}
	for ; x != nil; x = x.parent {
		if x.figures != nil {
			x.figures.disk.Add(n)
			return
		}
	}
}

// all passes the sorted rows on.
func (s *sorter) all(next sink) error {
	err := s.each(func(row sortRow) error { return next.push(&Tuple{slots: row.values, call: s.x.call}) })
	if err := ended(err); err != nil {
		return err
	}
	return next.end()
}

// each calls f for the sorted rows, until it returns an error.
func (s *sorter) each(f func(sortRow) error) error {
	if s.spill != nil {
		if len(s.rows) > 0 {
			if err := s.toDisk(); err != nil {
				return err
			}
		}
		return s.spill.each(s.x, s.compare, f)
	}
	s.sort()
	for _, row := range s.rows {
		if err := s.x.ctx.Err(); err != nil {
			return err
		}
		if err := f(row); err != nil {
			return err
		}
	}
	return nil
}

// close gives the rows and the file back.
func (s *sorter) close() {
	s.x.release(s.held)
	s.rows, s.held = nil, 0
	if s.spill != nil {
		s.spill.close()
	}
}

func (r sortRow) size() int {
	return value.Size(value.Struct(r.by)) + value.Size(value.Struct(r.values))
}

// sort keeps the order of equal rows, so that a result is the same each time. When the context
// ends, it stops, and whatever takes the rows looks at the context too.
func (s *sorter) sort() { sortRows(s.x.ctx, s.rows, s.compare) }

func (s *sorter) compare(a, b sortRow) int {
	for i, o := range s.order {
		if c := compareNulls(a.by[i], b.by[i], o); c != 0 {
			return c
		}
	}
	return 0
}

// compareNulls orders NULL, then NaN, then other values.
func compareNulls(a, b any, o parse.Order) int {
	switch {
	case a == nil && b == nil:
		return 0
	case (a == nil) == o.NullsLast && (a == nil || b == nil):
		return 1
	case a == nil || b == nil:
		return -1
	}
	x, ok := a.(int64)
	y, both := b.(int64)
	c := cmp.Compare(x, y) // value.Order looks at other types first
	if !ok || !both {
		c = value.Order(a, b)
	}
	if o.Desc {
		return -c
	}
	return c
}
