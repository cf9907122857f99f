package bulk

import (
	"bytes"
	"context"
	"slices"
	"sort"
	"sync/atomic"

	"github.com/smolwc/smolwc/cf"
)

// Sorted are the cells of a load in order.
type Sorted struct {
	arena   *arena
	spills  []*spill
	packer  *packer
	settler *settler
	given   int64 // cells
	anchor  int
	unread  []atomic.Int32 // by family, the parts that have not been read
	rows    atomic.Int64
}

// A Count is the outcome of a load.
type Count struct {
	Rows     int64 // in the anchor family, which contains every row
	Cells    int64
	Replaced int64 // cells that a later cell with the same key replaced
}

// Count is the outcome of the load, once all parts have been read.
func (s *Sorted) Count() Count {
	replaced := s.settler.replaced.Load()
	return Count{s.rows.Load(), s.given - replaced - s.settler.merged.Load(), replaced}
}

// A Part is consecutive rows of a family. Several goroutines may read parts, one
// goroutine each part. A part can be read once: reading frees it.
type Part struct {
	Family int
	s      *Sorted
	lo, hi []byte // row prefixes, lo inclusive, hi exclusive; nil is no bound
}

// Parts divides all cells into parts for this many goroutines. The parts of one family
// follow one another. A family without cells yields no parts.
func (s *Sorted) Parts(workers int) []Part {
	var parts []Part
	s.unread = make([]atomic.Int32, len(s.arena.entries))
	for family := range s.arena.entries {
		size := s.size(family)
		if size == 0 {
			continue
		}
		n := int(min(int64(workers), 1+size/minPart))
		bounds := s.bounds(family, n)
		for i := 0; i+1 < len(bounds); i++ {
			parts = append(parts, Part{family, s, bounds[i], bounds[i+1]})
		}
		s.unread[family].Store(int32(len(bounds) - 1))
	}
	return parts
}

// minPart is the size in bytes below which a family is not divided: each part makes
// files.
const minPart = 4 << 20

func (s *Sorted) size(family int) int64 {
	n := int64(s.arena.bytes[family])
	for _, f := range s.spills {
		n += f.runs[family].raw
	}
	return n
}

// bounds are the rows that divide a family into up to n parts of about the same size,
// with nil as the first and the last bound.
func (s *Sorted) bounds(family, n int) [][]byte {
	var rows []string
	for _, f := range s.spills {
		frames := f.runs[family].frames
		for i := 1; i < len(frames); i++ { // nothing lies before the first frame
			rows = append(rows, frames[i].row)
		}
	}
	if es := s.arena.entries[family]; len(es) > 0 {
		step := max(1, len(es)*spillStep/max(1, s.arena.bytes[family]))
		for i := step; i < len(es); i += step {
			rows = append(rows, string(rowAt(s.arena.data, placeOf(es[i].At))))
		}
	}
	slices.Sort(rows)
	bounds := [][]byte{nil}
	for i := 1; i < n && len(rows) > 0; i++ {
		row := rows[len(rows)*i/n]
		if last := bounds[len(bounds)-1]; last == nil || row > string(last) {
			bounds = append(bounds, []byte(row))
		}
	}
	return append(bounds, nil)
}

// Each calls fn with the part's cells in order, some thousand at a time. They are valid
// until fn returns.
func (p *Part) Each(ctx context.Context, fn func(cf.CellGroups) error) error {
	s := p.s
	if p.Family == s.anchor {
		var count rowCounter
		hand := fn
		fn = func(c cf.CellGroups) error {
			if count.take(&c); len(c.At) == 0 {
				return nil
			}
			return hand(c)
		}
		defer func() { s.rows.Add(count.rows) }()
	}
	entries := p.entries()
	if len(s.spills) == 0 {
		return eachInMemory(ctx, s.arena.data, entries, fn)
	}
	m := merger{ctx: ctx, fn: fn, settler: s.settler}
	defer m.close()
	for _, f := range s.spills {
		if err := m.add(newSpillSource(f, p.Family, p.lo, p.hi, s.packer)); err != nil {
			return err
		}
	}
	if err := m.add(&memorySource{data: s.arena.data, entries: entries}); err != nil {
		return err
	}
	if err := m.run(); err != nil {
		return err
	}
	if s.unread[p.Family].Add(-1) == 0 {
		for _, f := range s.spills {
			f.release(p.Family)
		}
	}
	return nil
}

func (p *Part) entries() []entry {
	es := p.s.arena.entries[p.Family]
	find := func(row []byte) int {
		return sort.Search(len(es), func(i int) bool { return bytes.Compare(rowAt(p.s.arena.data, placeOf(es[i].At)), row) >= 0 })
	}
	from, to := 0, len(es)
	if p.lo != nil {
		from = find(p.lo)
	}
	if p.hi != nil {
		to = find(p.hi)
	}
	return es[from:to]
}

// blockGroups is the number of groups in one call of fn.
const blockGroups = 4096

func eachInMemory(ctx context.Context, data []byte, es []entry, fn func(cf.CellGroups) error) error {
	at := make([]uint32, 0, min(len(es), blockGroups))
	for block := range slices.Chunk(es, blockGroups) {
		if err := ctx.Err(); err != nil {
			return err
		}
		at = at[:0]
		for _, e := range block {
			at = append(at, placeOf(e.At))
		}
		if err := fn(cf.CellGroups{Data: data, At: at}); err != nil {
			return err
		}
	}
	return nil
}
