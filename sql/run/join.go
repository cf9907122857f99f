package run

import (
	"bytes"
	"errors"
	"fmt"
	"iter"
	"math"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/sql/parse"
	"github.com/smolwc/smolwc/sql/value"
)

// A Join is the pairs of the rows of two plans for which all keys are equal and a condition
// holds; a pair has the values of the left row, then those of the right one. One side is
// held: the left one if it is small, else the right one. If that does not fit into memory,
// both sides are sorted by their keys on disk.
type Join struct {
	Kind        parse.JoinKind
	Left, Right *Plan
	Keys        []JoinKey
	On          Eval // of a pair; nil: it holds
	// RowKey is the number of the key that is the row key of the table that Right reads, as
	// BYTES or STRING; -1: none is.
	RowKey   int
	InMemory bool
}

const (
	smallBytes = 4 << 20 // of a left side that is held
	joinedOnce = 1024    // pairs between two looks at the context
)

func (j *Join) keeps(right bool) bool {
	if right {
		return j.Kind&parse.RightJoin != 0
	}
	return j.Kind&parse.LeftJoin != 0
}

// A joining is a join under way.
type joining struct {
	*Join
	r      *Runner
	x      *execution // counts the held rows
	tables Tables
	next   sink
	enough bool
	pairs  int
	key    []byte
	of     Tuple       // whose key is made
	lent   *lender     // of pairs
	row    []byte      // the last one for a file
	disk   *[2]*sorter // the rows of both sides; nil: one side fits into memory
}

func (j *Join) feed(r *Runner, x *execution, tables Tables, next sink) error {
	own := x.child()
	if r.analysis != nil {
		own.figures = r.analysis.of(r.plan, 0)
		defer own.figures.most(own)
	}
	defer func() { own.release(own.held) }()
	s := &joining{Join: j, r: r, x: own, tables: tables, next: next, lent: next.lender()}
	defer s.close()
	left := &heldRows{x: own}
	var right *heldRows
	err := s.read(false, nil, func(values []any) error {
		switch {
		case s.disk != nil:
			return s.toDisk(false, values)
		case right != nil:
			return s.probe(right, true, values)
		}
		if len(left.rows) < x.root().limits.Small && left.held < smallBytes {
			if fits, err := s.hold(left, false, values); fits || err != nil {
				return err
			}
		}
		var err error
		if right, err = s.holdRight(left); err != nil {
			return err
		}
		if s.disk != nil {
			return s.toDisk(false, values)
		}
		return s.probe(right, true, values)
	}, next.copies)
	switch {
	case err != nil:
	case s.disk != nil:
		err = s.merge()
	case right != nil:
		err = s.rest(right, true)
	default:
		err = s.withSmall(left)
	}
	if err == nil && s.enough {
		return errEnough
	}
	return err
}

// read passes the rows of a side on, until no more pairs are needed. copies says that emit copies
// what it keeps of them.
func (s *joining) read(right bool, within []cf.Range, emit func([]any) error, copies bool) error {
	p := s.Left
	if right {
		p = s.Right
	}
	enough, err := s.r.part(p, s.x, s.tables, within, emit, copies)
	s.enough = s.enough || enough
	if err == nil && s.enough {
		return errEnough
	}
	return err
}

// withSmall joins a left side that is in memory, all of it, with the right side.
func (s *joining) withSmall(left *heldRows) error {
	if len(left.rows) == 0 && !s.keeps(true) {
		return nil
	}
	within, err := s.wanted(left)
	if err != nil {
		return err
	}
	if err := s.read(true, within, func(values []any) error { return s.probe(left, false, values) }, s.next.copies); err != nil {
		return err
	}
	return s.rest(left, false)
}

// wanted are the only rows that the right side needs; nil: it may need all.
func (s *joining) wanted(left *heldRows) ([]cf.Range, error) {
	if s.RowKey < 0 || s.keeps(true) {
		return nil, nil
	}
	ranges := []cf.Range{}
	for _, row := range left.rows {
		v, err := s.Keys[s.RowKey].Left(s.x.tuple(row.values))
		if err != nil {
			return nil, err
		}
		if v != nil {
			ranges = append(ranges, cf.Single(value.TextOf(v)))
		}
	}
	return cf.MergeRanges(ranges), nil
}

// holdRight holds the right side, or writes it to disk, and joins it with the rows of the left
// side that came before.
func (s *joining) holdRight(left *heldRows) (*heldRows, error) {
	right := &heldRows{x: s.x}
	err := s.read(true, nil, func(values []any) error {
		if s.disk != nil {
			return s.toDisk(true, values)
		}
		if fits, err := s.hold(right, true, values); fits || err != nil {
			return err
		}
		s.disk = &[2]*sorter{s.x.byKeys(), s.x.byKeys()}
		for _, row := range right.rows {
			if err := s.toDisk(true, row.values); err != nil {
				return err
			}
		}
		right.clear()
		return s.toDisk(true, values)
	}, !s.keeps(true) || s.next.copies)
	if err != nil {
		return nil, err
	}
	for _, row := range left.rows {
		if s.disk != nil {
			err = s.toDisk(false, row.values)
		} else {
			err = s.probe(right, true, row.values)
		}
		if err != nil {
			return nil, err
		}
	}
	left.clear()
	return right, nil
}

// keyOf makes the key of a row; ok is false if it equals no other: a part of it is NULL or NaN.
func (s *joining) keyOf(right bool, values []any) (ok bool, err error) {
	s.of = Tuple{slots: values, call: s.x.call}
	s.key, ok, err = joinKey(s.Keys, right, s.key[:0], &s.of)
	return ok, err
}

// hold holds a row, unless there is no room for it. A row that has no partner and does not
// stay is left out.
func (s *joining) hold(side *heldRows, right bool, values []any) (fits bool, err error) {
	ok, err := s.keyOf(right, values)
	if err != nil || !ok && !s.keeps(right) {
		return true, err
	}
	values = value.CloneAll(values)
	size := value.Size(value.Struct(values)) + 2*len(s.key) + 100
	room := math.MaxInt
	if !s.InMemory && len(s.Keys) > 0 {
		room = s.x.root().limits.Grouped
	}
	if err := s.x.hold(size); err != nil {
		s.x.release(size)
		if room == math.MaxInt || s.x.held < leastRun {
			return false, err
		}
		return false, nil
	}
	if side.held+size > room && len(side.rows) > 0 {
		s.x.release(size)
		return false, nil
	}
	side.held += size
	side.add(s.key, ok, values)
	return true, nil
}

// heldRows are the rows of one side, by their keys.
type heldRows struct {
	x     *execution
	held  int
	rows  []heldRow
	byKey map[string]span
}

// A heldRow is a row of a side that is held.
type heldRow struct {
	values []any
	after  int32 // the next row with the same key; -1: none
	joined bool
}

// A span is the numbers of the first and the last row with a key.
type span struct{ first, last int32 }

// add adds a row; one without a key is not found.
func (h *heldRows) add(key []byte, ok bool, values []any) {
	at := int32(len(h.rows))
	h.rows = append(h.rows, heldRow{values: values, after: -1})
	if !ok {
		return
	}
	if h.byKey == nil {
		h.byKey = map[string]span{}
	}
	if found, ok := h.byKey[string(key)]; ok {
		h.rows[found.last].after = at
		h.byKey[string(key)] = span{found.first, at}
		return
	}
	h.byKey[string(key)] = span{at, at}
}

func (h *heldRows) clear() {
	h.x.release(h.held)
	*h = heldRows{x: h.x}
}

// probe joins a row of one side with the held rows of the other one, which is the right one if
// heldRight is set.
func (s *joining) probe(held *heldRows, heldRight bool, values []any) error {
	ok, err := s.keyOf(!heldRight, values)
	if err != nil {
		return err
	}
	joined := false
	if found, some := held.byKey[string(s.key)]; ok && some {
		for at := found.first; at >= 0; at = held.rows[at].after {
			left, right := values, held.rows[at].values
			if !heldRight {
				left, right = right, left
			}
			holds, err := s.pair(left, right)
			if err != nil {
				return err
			}
			if holds {
				joined, held.rows[at].joined = true, true
			}
		}
	}
	if !joined && s.keeps(!heldRight) {
		return s.alone(!heldRight, values)
	}
	return nil
}

// pair passes a pair on if the condition holds for it.
func (s *joining) pair(left, right []any) (holds bool, err error) {
	if s.pairs++; s.pairs%joinedOnce == 0 {
		if err := s.x.ctx.Err(); err != nil {
			return false, err
		}
	}
	if most := s.r.limits.Pairs; len(s.Keys) == 0 && s.pairs > most {
		return false, parse.Invalid("a join without an equality between its sides compares more than %d pairs of rows; write a = b in ON, with a column of each side", most)
	}
	both := append(append(s.lent.values(len(left)+len(right)), left...), right...)
	t := s.lent.tuple(Tuple{slots: both, call: s.x.call})
	if s.On != nil {
		if v, err := s.On(t); v != true || err != nil {
			return false, err
		}
	}
	return true, s.next.push(t)
}

// alone passes on a row without a partner.
func (s *joining) alone(right bool, values []any) error {
	of := make([]any, len(s.Left.Columns)+len(s.Right.Columns))
	if right {
		copy(of[len(s.Left.Columns):], values)
	} else {
		copy(of, values)
	}
	return s.next.push(s.x.tuple(of))
}

// rest passes on the held rows that stay without a partner.
func (s *joining) rest(held *heldRows, right bool) error {
	if !s.keeps(right) {
		return nil
	}
	for i, row := range held.rows {
		if i%joinedOnce == 0 {
			if err := s.x.ctx.Err(); err != nil {
				return err
			}
		}
		if row.joined {
			continue
		}
		if err := s.alone(right, row.values); err != nil {
			return err
		}
	}
	return nil
}

// toDisk gives a row to the sorter of its side, or passes it on if it has no partner.
func (s *joining) toDisk(right bool, values []any) error {
	ok, err := s.keyOf(right, values)
	switch {
	case err != nil:
		return err
	case ok:
		if s.row, err = appendValues(s.row[:0], values); err != nil {
			return err
		}
		return s.sorter(right).put(s.key, 0, s.row)
	case s.keeps(right):
		return s.alone(right, values)
	}
	return nil
}

func (s *joining) sorter(right bool) *sorter {
	if right {
		return s.disk[1]
	}
	return s.disk[0]
}

func (s *joining) close() {
	if s.disk != nil {
		s.disk[0].close()
		s.disk[1].close()
	}
}

// merge joins the sides in the order of their keys. The right rows of one key are held.
func (s *joining) merge() error {
	next, stop := iter.Pull2(s.disk[1].sorted())
	defer stop()
	right, err, more := next()
	if err != nil {
		return err
	}
	group := &heldRows{x: s.x}
	var key []byte
	for left, err := range s.disk[0].sorted() {
		if err != nil {
			return err
		}
		for key == nil || bytes.Compare(left.key, key) > 0 {
			if err := s.rest(group, true); err != nil {
				return err
			}
			group.clear()
			if !more {
				key = append(key[:0], left.key...)
				break
			}
			for key = append(key[:0], right.key...); more && bytes.Equal(right.key, key); {
				values, err := right.decodeAll()
				if err != nil {
					return err
				}
				size := value.Size(value.Struct(values)) + 100
				if err := s.x.hold(size); err != nil {
					return err
				}
				group.held += size
				group.add(key, true, values)
				if right, err, more = next(); err != nil {
					return err
				}
			}
		}
		values, err := left.decodeAll()
		if err != nil {
			return err
		}
		if err := s.probe(group, true, values); err != nil {
			return err
		}
	}
	if err := s.rest(group, true); err != nil || !s.keeps(true) {
		return err
	}
	for ; more; right, err, more = next() {
		if err != nil {
			return err
		}
		values, err := right.decodeAll()
		if err != nil {
			return err
		}
		if err := s.alone(true, values); err != nil {
			return err
		}
	}
	return nil
}

// sorted are the sorted rows, each valid until the next. An error is the last element.
func (s *sorter) sorted() iter.Seq2[row, error] {
	return func(yield func(row, error) bool) {
		err := s.each(func(r row) error {
			if !yield(r, nil) {
				return errStopped
			}
			return nil
		})
		if err != nil && !errors.Is(err, errStopped) {
			yield(row{}, err)
		}
	}
}

func (j *Join) explained(r *Runner, t *Tuple) (lines []string) {
	kind := "inner join"
	switch {
	case j.Kind == parse.FullJoin:
		kind = "full join"
	case j.Kind == parse.LeftJoin:
		kind = "left join"
	case j.Kind == parse.RightJoin:
		kind = "right join"
	case len(j.Keys) == 0 && j.On == nil:
		kind = "cross join"
	}
	if n := len(j.Keys); n == 1 {
		kind += " by 1 equality"
	} else if n > 1 {
		kind += fmt.Sprintf(" by %d equalities", n)
	}
	if j.On != nil {
		kind += " and a condition"
	}
	lines = append(lines, kind)
	held := "the left side is held up to 10,000 rows and 4 MiB, else the right side"
	if !j.InMemory && len(j.Keys) > 0 {
		held += ", on disk beyond 96 MiB"
	}
	lines = append(lines, "  "+held)
	if j.RowKey >= 0 && !j.keeps(true) {
		lines = append(lines, "  with the left side held, only the rows that it needs are read of the right one")
	}
	lines = append(lines, "  left:")
	lines = append(lines, indented(indented(r.of(j.Left).explanation(t)))...)
	lines = append(lines, "  right:")
	return append(lines, indented(indented(r.of(j.Right).explanation(t)))...)
}
