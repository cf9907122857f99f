package run

import "github.com/smolwc/smolwc/sql/parse"

// A partition is sorted rows, in memory or in a file.
type partition struct {
	x     *execution
	rows  []sortRow // all, or the last ones, which are not in the file yet
	n     int
	held  int
	disk  *spill        // nil: all rows are in memory
	order []parse.Order // of the expressions of ORDER BY
	from  int           // where these begin in a row
	peers peers
}

// put adds a row. Beyond room bytes, rows go to a file.
func (p *partition) put(row sortRow, room int) error {
	size := row.size()
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
	p.held += size
	p.n++
	p.rows = append(p.rows, row)
	return nil
}

func (p *partition) toDisk() (err error) {
	if p.disk == nil {
		if p.disk, err = newSpill(p.x); err != nil {
			return err
		}
	}
	if err := p.disk.write(p.rows); err != nil {
		return err
	}
	p.x.release(p.held)
	p.rows, p.held = nil, 0
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
	p.rows, p.held = nil, 0
}

// compare orders two rows by ORDER BY; peers are equal.
func (p *partition) compare(a, b sortRow) int {
	for i, o := range p.order {
		if c := compareNulls(a.by[p.from+i], b.by[p.from+i], o); c != 0 {
			return c
		}
	}
	return 0
}

// A cursor reads the rows of a partition in their order.
type cursor struct {
	p    *partition
	next int
	run  *run
}

func (p *partition) cursor() *cursor { return &cursor{p: p} }

// row is row number i, which must not be before the last one.
func (c *cursor) row(i int) (sortRow, error) {
	if c.p.disk == nil {
		return c.p.rows[i], nil
	}
	if c.run == nil {
		if err := c.p.x.hold(runBuffer); err != nil {
			return sortRow{}, err
		}
		c.run = c.p.disk.whole()
	}
	for ; c.next <= i; c.next++ {
		if c.next%rowsBetween == 0 && c.p.x.ctx.Err() != nil {
			return sortRow{}, c.p.x.ctx.Err()
		}
		if err := c.run.next(); err != nil {
			return sortRow{}, diskError(err)
		}
	}
	return c.run.row, nil
}

// peers are the rows that ORDER BY does not tell from the row that was asked for last.
type peers struct {
	start, end int
	number     int // of such groups up to this one
	first      sortRow
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
		if s.start = s.end; len(p.order) == 0 {
			s.end = p.n
			break
		}
		if s.first, err = s.ahead.row(s.start); err != nil {
			return 0, 0, err
		}
		for s.end++; s.end < p.n; s.end++ {
			if s.end%rowsBetween == 0 && p.x.ctx.Err() != nil {
				return 0, 0, p.x.ctx.Err()
			}
			row, err := s.ahead.row(s.end)
			if err != nil {
				return 0, 0, err
			}
			if p.compare(s.first, row) != 0 {
				break
			}
		}
	}
	return s.start, s.end, nil
}
