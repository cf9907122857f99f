package run

import "bytes"

// A partition is sorted rows, in memory or in a file.
type partition struct {
	x       *execution
	of      *packedRows
	rows    []packedRow // of these: all, or the last ones, which are not in the file yet
	packed  []byte      // the last one
	n       int
	held    int
	disk    *spill // nil: all rows are in memory
	ordered bool   // by ORDER BY
	by      int    // the number of the value of its only expression; -1: no frame needs it
	desc    bool   // by that expression
	peers   peers
}

// put adds a row. Beyond room bytes, rows go to a file.
func (p *partition) put(r row, room int) error {
	p.packed = appendRow(p.packed[:0], r.key, len(r.partition), r.values)
	size := len(p.packed) + packedMemory
	if p.disk != nil {
		room = 1 << 20
	}
	err := p.x.hold(size)
	if err != nil && p.held < leastRun {
		return err
	}
	if err != nil || p.held > room-size && len(p.rows) > 0 {
		if err != nil {
			p.x.release(size)
		}
		failed := p.toDisk()
		if failed == nil && err != nil {
			failed = p.x.hold(size)
		}
		if failed != nil {
			return failed
		}
	}
	if p.of == nil {
		p.of = &packedRows{}
	}
	p.held += size
	p.n++
	p.of.add(p.packed)
	p.rows = p.of.rows
	return nil
}

func (p *partition) toDisk() (err error) {
	if p.disk == nil {
		if p.disk, err = newSpill(p.x); err != nil {
			return err
		}
	}
	if err := p.disk.write(p.of, p.rows); err != nil {
		return err
	}
	p.x.release(p.held)
	p.of, p.rows, p.held = nil, nil, 0
	return nil
}

// complete writes the last rows, if others are in the file.
func (p *partition) complete() error {
	if p.disk == nil {
		return nil
	}
	return p.toDisk()
}

func (p *partition) close() {
	if p.disk != nil {
		p.disk.close()
	}
	p.x.release(p.held)
	p.of, p.rows, p.held = nil, nil, 0
}

// A cursor reads the rows of a partition in their order.
type cursor struct {
	p      *partition
	next   int // the first row that is not read, or fetched, yet
	run    *run
	at     int // the row of the last value, counted from 1
	number int // of it in the row
	last   any
}

func (p *partition) cursor() *cursor { return &cursor{p: p} }

// row is row number i, which must not be before the last one.
func (c *cursor) row(i int) (row, error) {
	if c.p.disk == nil {
		if i >= c.next {
			c.p.of.fetch(c.p.rows[i:])
			c.next = i + fetched
		}
		return c.p.of.of(c.p.rows[i]), nil
	}
	if c.run == nil {
		if err := c.p.x.hold(runBuffer); err != nil {
			return row{}, err
		}
		c.run = c.p.disk.whole()
	}
	for ; c.next <= i; c.next++ {
		if c.next%rowsBetween == 0 && c.p.x.ctx.Err() != nil {
			return row{}, c.p.x.ctx.Err()
		}
		if err := c.run.next(); err != nil {
			return row{}, diskError(err)
		}
	}
	return c.run.row, nil
}

// value is the value of a number of row i, which must not be before the last one.
func (c *cursor) value(i, number int) (any, error) {
	if c.at == i+1 && c.number == number {
		return c.last, nil
	}
	r, err := c.row(i)
	if err != nil {
		return nil, err
	}
	if c.last, err = r.value(number); err != nil {
		return nil, err
	}
	c.at, c.number = i+1, number
	return c.last, nil
}

// peers are the rows that ORDER BY does not tell from the row that was asked for last.
type peers struct {
	start, end int
	number     int // of such groups up to this one
	key        []byte
	by         any // the value of the only expression, if a frame needs it
	ahead      *cursor
}

// peersOf are the peers of a row.
func (p *partition) peersOf(i int) (start, end int, err error) {
	s := &p.peers
	if s.ahead == nil {
		s.ahead = p.cursor()
	}
	for i >= s.end {
		s.number++
		if s.start = s.end; !p.ordered {
			s.end = p.n
			break
		}
		first, err := s.ahead.row(s.start)
		if err != nil {
			return 0, 0, err
		}
		s.key = append(s.key[:0], first.key...)
		if p.by >= 0 {
			if s.by, err = s.ahead.value(s.start, p.by); err != nil {
				return 0, 0, err
			}
		}
		for s.end++; s.end < p.n; s.end++ {
			if s.end%rowsBetween == 0 && p.x.ctx.Err() != nil {
				return 0, 0, p.x.ctx.Err()
			}
			r, err := s.ahead.row(s.end)
			if err != nil {
				return 0, 0, err
			}
			if !bytes.Equal(s.key, r.key) {
				break
			}
		}
	}
	return s.start, s.end, nil
}
