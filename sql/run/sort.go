package run

import (
	"math"
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
		s := &sorter{x: x, most: most, room: room}
		var key, values []byte
		push := func(t *Tuple) (err error) {
			if err := s.trim(); err != nil {
				return err
			}
			if key, err = sortKey(key[:0], by, order, t); err != nil {
				return err
			}
			if values, err = appendAll(values[:0], columns, t); err != nil {
				return err
			}
			return s.put(key, 0, values)
		}
		return sink{push: push, end: func() error { return s.all(next, len(columns)) }, copies: true}
	}}
}

// sortKey appends the key of a tuple in an order.
func sortKey(dst []byte, by []Eval, order []parse.Order, t *Tuple) ([]byte, error) {
	for i, eval := range by {
		v, err := eval(t)
		if err != nil {
			return nil, err
		}
		dst = value.AppendSortKey(dst, v, order[i].Desc, order[i].NullsLast)
	}
	return dst, nil
}

// appendAll appends the values of expressions.
func appendAll(dst []byte, all []Eval, t *Tuple) ([]byte, error) {
	for _, eval := range all {
		v, err := eval(t)
		if err != nil {
			return nil, err
		}
		if dst, err = value.Append(dst, v); err != nil {
			return nil, err
		}
	}
	return dst, nil
}

// appendValues appends values.
func appendValues(dst []byte, values []any) (_ []byte, err error) {
	for _, v := range values {
		if dst, err = value.Append(dst, v); err != nil {
			return nil, err
		}
	}
	return dst, nil
}

// A sorter sorts rows by the bytes of their keys in memory, and beyond a bound in a file. Rows
// with the same key keep their order. When only the first rows are needed, it removes the others
// as it goes.
type sorter struct {
	x     *execution
	of    *execution // whose stage writes the file; nil: it is x
	most  uint64
	rows  packedRows
	row   []byte // the last one
	held  int    // bytes of the rows
	known int    // and those that x counts, in steps
	room  int    // bytes of memory, beyond which rows go to a file; math.MaxInt: never
	spill *spill // nil: all rows are in memory
}

// trim removes rows that are not among the first.
func (s *sorter) trim() error {
	if s.most >= 1<<20 || uint64(len(s.rows.rows)) < 2*s.most+100 {
		return nil
	}
	s.sort()
	var first packedRows
	held := 0
	for _, of := range s.rows.rows[:s.most] {
		row := s.rows.bytes(of)
		held += len(row) + packedMemory
		first.add(row)
	}
	s.release()
	s.rows = first
	return s.hold(held)
}

// sortedStep is the number of bytes that a sorter counts at once: a row takes few, and a lock.
const sortedStep = 4 << 10

// hold counts bytes of rows, unless there is no room for them.
func (s *sorter) hold(n int) error {
	if more := s.held + n - s.known; more > 0 {
		more = (more + sortedStep - 1) / sortedStep * sortedStep
		if err := s.x.hold(more); err != nil {
			s.x.release(more)
			return err
		}
		s.known += more
	}
	s.held += n
	return nil
}

// release gives the rows in memory back.
func (s *sorter) release() {
	s.x.release(s.known)
	s.rows.clear()
	s.held, s.known = 0, 0
}

// put adds a row. The first bytes of the key may be those of a partition.
func (s *sorter) put(key []byte, partition int, values []byte) error {
	s.row = appendRow(s.row[:0], key, partition, values)
	return s.add(s.row)
}

// add adds a row as unpack reads it.
func (s *sorter) add(row []byte) error {
	size := len(row) + packedMemory
	if s.held > s.room-size && len(s.rows.rows) > 0 {
		if err := s.toDisk(); err != nil {
			return err
		}
	}
	err := s.hold(size)
	if err != nil && s.room < math.MaxInt && s.held >= leastRun { // no room in the connection
		if err := s.toDisk(); err != nil {
			return err
		}
		err = s.hold(size)
	}
	if err == nil {
		s.rows.add(row)
	}
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
	rows := s.rows.rows
	if s.most < uint64(len(rows)) {
		rows = rows[:s.most]
	}
	if len(rows) > 0 { // LIMIT 0 leaves no row
		if err := s.spill.write(&s.rows, rows); err != nil {
			return err
		}
	}
	s.release()
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

// all passes the sorted rows on, which have as many values as columns says.
func (s *sorter) all(next sink, columns int) error {
	lent := next.lender()
	err := s.each(func(r row) error {
		values, err := r.decode(lent.values(columns), columns)
		if err != nil {
			return err
		}
		return next.push(lent.tuple(Tuple{slots: values, call: s.x.call}))
	})
	if err := ended(err); err != nil {
		return err
	}
	return next.end()
}

// each calls f for the sorted rows, until it returns an error. Each row is valid until the next.
func (s *sorter) each(f func(row) error) error {
	if s.spill != nil {
		if len(s.rows.rows) > 0 {
			if err := s.toDisk(); err != nil {
				return err
			}
		}
		return s.spill.each(s.x, f)
	}
	s.sort()
	for i, of := range s.rows.rows {
		if err := s.x.ctx.Err(); err != nil {
			return err
		}
		if i%fetched == 0 {
			s.rows.fetch(s.rows.rows[i:])
		}
		if err := f(s.rows.of(of)); err != nil {
			return err
		}
	}
	return nil
}

// close gives the rows and the file back.
func (s *sorter) close() {
	s.release()
	if s.spill != nil {
		s.spill.close()
	}
}

// sort sorts the rows in memory. When the context ends, it stops, and whatever takes the rows
// looks at the context too.
func (s *sorter) sort() { s.rows.sort(s.x.ctx) }
