// Package bulk sorts the cells of a bulk load by an external merge sort. A [Sorter]
// takes cells row by row, in any order, and [Sorted] returns them in the order of their
// keys, as a [cf.Ingestion] needs them.
package bulk

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"slices"
	"unsafe"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/tuple"
)

// A Sorter sorts the cells of a load by their keys in bounded memory: it writes sorted
// files and merges them in the end. Of several cells with one key the last one counts;
// operands for one cell are merged.
//
// It belongs to one goroutine. Rows are added one by one: [Sorter.Row], then for
// each family [Sorter.Group], for each cell [Sorter.Cell] and [Sorter.Value], and
// [Sorter.EndGroup].
type Sorter struct {
	families int
	limit    int // bytes of an arena, from which on the next row begins another
	dir      string
	settler  settler
	packer   *packer         // nil until something is spilled
	ctx      context.Context // ends with Close
	cancel   context.CancelFunc
	anchor   int
	given    int64 // cells

	arena  *arena // being filled
	row    []byte // prefix of the current row
	family int    // of the current group
	group  int    // where it begins
	cell   int    // where its last cell begins
	last   int    // where the cell before the last begins, 0 when there is no such cell
	cells  uint32
	loose  bool // its cells are not in order

	tidier combiner // sorts the cells of a group
	tidied []byte

	spilling chan spilled // from the goroutine that sorts and spills; nil when no goroutine does
	spare    *arena
	spills   []*spill
	err      error
}

// An arena holds groups of cells of all families in the order in which they come.
type arena struct {
	data    []byte
	entries [][]entry // by family
	bytes   []int     // of each family's groups
	groups  int
}

func (a *arena) size() int { return len(a.data) + a.groups*int(unsafe.Sizeof(entry{})) }

const (
	groupHeader = 8 // length of the row prefix, number of cells
	cellHeader  = 8 // lengths of the rest of the key and of the value
	arenaStart  = 1 << 20
)

// NewSorter makes a sorter of cells of this many families, which are numbered from 0.
// It takes about memory bytes, and writes the rest to files in dir. If dir is "", it
// keeps everything in memory. merge merges several operands into one.
func NewSorter(families int, memory int64, dir string, merge func([][]byte) ([]byte, bool)) *Sorter {
	s := &Sorter{families: families, dir: dir, settler: settler{merge: merge}}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.limit = int(min(max(memory/2, 1), maxArena)) // two arenas: one is filled, one is sorted
	s.arena = newArena(families)
	s.tidier = combiner{settler: &s.settler, most: maxArena}
	return s
}

// Anchor sets the family that contains all rows of the load: a row without cells in
// this family gets a mark there. The default is family 0. Anchor must be called before
// the first row.
func (s *Sorter) Anchor(family int) { s.anchor = family }

// OnRepeat sets a function that is called with the notes of two marks of a row with the
// same identity. Several goroutines may call fn at once, until all sorted cells have
// been read.
func (s *Sorter) OnRepeat(fn func(row string, first, again []byte)) { s.settler.repeated = fn }

// maxArena keeps offsets in an arena within 32 bits, also after it grows by another
// row.
const maxArena = 1 << 30

func newArena(families int) *arena {
	return &arena{entries: make([][]entry, families), bytes: make([]int, families)}
}

// Row begins a row.
func (s *Sorter) Row(key string) {
	if s.arena.size() >= s.limit && s.dir != "" {
		s.rotate()
	}
	s.arena.grow(s.limit)
	s.row = tuple.AppendBytes(s.row[:0], bytesOf(key))
}

func bytesOf(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }

// grow makes room in few steps: append by itself would copy the arena more often.
func (a *arena) grow(limit int) {
	if n := cap(a.data); n-len(a.data) < arenaStart/4 {
		a.data = slices.Grow(a.data, max(arenaStart, min(4*n, limit+arenaStart)-len(a.data)))
	}
}

// Group begins the row's cells of a family.
func (s *Sorter) Group(family int) {
	d := s.arena.data
	s.family, s.group, s.cells, s.loose, s.last, s.cell = family, len(d), 0, false, 0, 0
	d = binary.NativeEndian.AppendUint32(d, uint32(len(s.row)))
	d = binary.NativeEndian.AppendUint32(d, 0)
	s.arena.data = append(d, s.row...)
}

// Cell begins a cell. The caller appends its value, or the operand to merge into
// it, to the bytes that are returned, and passes the result to Value.
func (s *Sorter) Cell(qualifier string, ts int64) []byte {
	d := s.arena.data
	s.last, s.cell = s.cell, len(d)
	d = append(d, "\x00\x00\x00\x00\x00\x00\x00\x00"...)
	d = cf.AppendVersion(tuple.AppendBytes(d, bytesOf(qualifier)), ts)
	binary.NativeEndian.PutUint32(d[s.cell:], uint32(len(d)-s.cell-cellHeader))
	s.arena.data = d
	return d
}

// Value ends a cell.
func (s *Sorter) Value(d []byte, operand bool) {
	n := uint32(len(d) - len(s.arena.data))
	if operand {
		n |= cf.OperandBit
	}
	binary.NativeEndian.PutUint32(d[s.cell+4:], n)
	s.arena.data = d
	s.cells++
	s.given++
	if s.last != 0 && !s.loose {
		before, _ := cellAt(d, s.last)
		this, _ := cellAt(d, s.cell)
		s.loose = bytes.Compare(before.rest, this.rest) >= 0
	}
}

// Mark adds a mark to a group of the anchor: the row exists even if the group is
// without cells. The identity is at most eight bytes; marks without an identity are
// never repeated.
func (s *Sorter) Mark(identity, note []byte) {
	d := s.arena.data
	s.last, s.cell = s.cell, len(d)
	d = binary.NativeEndian.AppendUint32(d, uint32(1+len(identity)))
	d = binary.NativeEndian.AppendUint32(d, uint32(len(note)))
	d = append(append(append(d, markByte), identity...), note...)
	s.arena.data = d
	s.cells++
}

// EndGroup ends the cells of a family; there must be a cell or a mark.
func (s *Sorter) EndGroup() {
	a := s.arena
	binary.NativeEndian.PutUint32(a.data[s.group+4:], s.cells)
	if s.loose {
		s.tidy()
	}
	a.entries[s.family] = append(a.entries[s.family], newEntry(uint32(s.group), uint32(len(a.data)-s.group)))
	a.bytes[s.family] += len(a.data) - s.group
	a.groups++
}

// tidy sorts the last group's cells.
func (s *Sorter) tidy() {
	d, c := s.arena.data, &s.tidier
	c.cells = c.cells[:0]
	c.collect(d, uint32(s.group))
	s.tidied, _ = c.groups(s.tidied[:0])
	s.arena.data = append(d[:s.group], s.tidied...)
}

// Spilled is the number of times that cells were written to files.
func (s *Sorter) Spilled() int { return len(s.spills) }

// rotate waits for the current spill, passes the arena to a new goroutine that sorts
// and spills it, and continues with another arena.
func (s *Sorter) rotate() {
	s.wait()
	full := s.arena
	if s.arena, s.spare = s.spare, nil; s.arena == nil {
		s.arena = newArena(s.families)
	}
	if s.err != nil { // Finish returns the error
		full.reset()
		s.arena = full
		return
	}
	done := make(chan spilled, 1)
	s.spilling = done
	spills := slices.Clone(s.spills)
	go func() {
		full.sort(s.ctx, &s.settler)
		spills, err := s.spill(full, spills)
		full.reset()
		done <- spilled{spills, full, err}
	}()
}

// spilled is the outcome of a spill: all spills, and the arena for reuse.
type spilled struct {
	spills []*spill
	arena  *arena
	err    error
}

func (s *Sorter) wait() {
	if s.spilling == nil {
		return
	}
	done := <-s.spilling
	s.spilling, s.spare, s.spills = nil, done.arena, done.spills
	s.err = cmp.Or(s.err, done.err)
}

// Err is the error of a failed spill. Cells that are added after it are lost.
func (s *Sorter) Err() error { return s.err }

// Finish returns the cells in order. No more cells may be added. The caller must still
// close the sorter.
func (s *Sorter) Finish(ctx context.Context) (*Sorted, error) {
	s.wait()
	if err := cmp.Or(s.err, ctx.Err()); err != nil {
		return nil, err
	}
	s.spare = nil
	if s.arena.sort(ctx, &s.settler); ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return &Sorted{arena: s.arena, spills: s.spills, packer: s.packer, settler: &s.settler, given: s.given, anchor: s.anchor}, nil
}

// Close removes the files.
func (s *Sorter) Close() {
	s.cancel()
	s.wait()
	for _, f := range s.spills {
		f.remove()
	}
	s.spills, s.arena, s.spare = nil, newArena(s.families), nil
}

func (a *arena) reset() {
	a.data, a.groups = a.data[:0], 0
	clear(a.bytes)
	for i := range a.entries {
		a.entries[i] = a.entries[i][:0]
	}
}

// sort sorts each family's groups, and combines the groups of one row.
func (a *arena) sort(ctx context.Context, st *settler) {
	for i := range a.entries {
		sortEntries(ctx, a.data, a.entries[i])
		if slices.ContainsFunc(a.entries[i], again) {
			a.entries[i] = a.combine(a.entries[i], st)
		}
	}
}

// combine combines neighbouring groups of one row. The new groups are appended to the
// arena.
func (a *arena) combine(es []entry, st *settler) []entry {
	out := make([]entry, 0, len(es))
	for from := 0; from < len(es); {
		to := from + 1
		for to < len(es) && again(es[to]) {
			to++
		}
		if to == from+1 {
			out = append(out, es[from])
			from = to
			continue
		}
		c := combiner{settler: st, most: maxGroup}
		for _, e := range es[from:to] {
			c.collect(a.data, placeOf(e.At))
		}
		groups, at := c.groups(nil)
		shift := uint32(len(a.data))
		a.data = append(a.data, groups...)
		for i, n := range at {
			end := uint32(len(groups))
			if i+1 < len(at) {
				end = at[i+1]
			}
			out = append(out, newEntry(shift+n, end-n))
		}
		from = to
	}
	return out
}
