package run

import (
	"bufio"
	"bytes"
	"container/heap"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"os"
	"slices"

	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/sql/parse"
	"github.com/smolwc/smolwc/sql/value"
)

// Limits are bounds of the memory and the files of a query, in bytes.
type Limits struct {
	Sorted   int           // rows that are sorted: more of them go to a file
	Grouped  int           // and groups, and distinct rows
	Distinct int           // and the distinct values of one group
	Small    int           // the rows of the left side of a join that are held, not bytes
	Pairs    int           // the pairs of rows that a join without an equality compares
	ByKey    int64         // the runs of a query in an expression that reads by key, before all its rows are held
	Files    int64         // all files together
	Dir      func() string // of the files
}

// DefaultLimits are the limits of a server.
func DefaultLimits() Limits {
	return Limits{Sorted: 64 << 20, Grouped: 96 << 20, Distinct: 64 << 20, Small: 10_000, Pairs: 100_000_000, ByKey: 10_000, Files: 16 << 30, Dir: os.TempDir}
}

const (
	leastRun  = 256 << 10 // a run is not smaller when the connection is out of room
	runBuffer = 32 << 10  // of a run that is read
)

var errSpilled error = &parse.Error{Message: "the rows that the query sorts, groups or joins take more than 16 GiB on disk; add conditions, or a LIMIT to ORDER BY"}

// A spill is a file of sorted runs of rows. Where the system allows it, its name is
// removed at once, so that the process leaves nothing behind; elsewhere closing removes
// it.
type spill struct {
	x    *execution
	file *os.File
	runs []int64 // the end of each
	end  int64
}

func newSpill(x *execution) (*spill, error) {
	x = x.root()
	f, err := os.CreateTemp(x.limits.Dir(), "smolwc-sql-*") // mode 0600
	if err != nil {
		return nil, diskError(err)
	}
	_ = os.Remove(f.Name()) // an open file cannot be removed everywhere: Close tries again
	s := &spill{x: x, file: f}
	x.closers = append(x.closers, s.close)
	return s, nil
}

// close gives the space on the disk back. It can be called twice.
func (s *spill) close() {
	s.x.onDisk -= s.end
	s.end = 0
	_ = s.file.Close()
	_ = os.Remove(s.file.Name())
}

// diskError is the error of a file of a query.
func diskError(err error) error {
	return &query.Error{Op: "query", Kind: query.KindResourceExhausted, Err: errors.Join(errors.New("rows that do not fit in memory could not be kept in a temporary file"), err)}
}

// write adds a run of rows.
func (s *spill) write(of *packedRows, rows []packedRow) error {
	w := bufio.NewWriterSize(s.file, 1<<20)
	var head []byte
	for i, at := range rows {
		if i%rowsBetween == 0 && s.x.ctx.Err() != nil {
			return s.x.ctx.Err()
		}
		b := of.bytes(at)
		head = binary.AppendUvarint(head[:0], uint64(len(b)))
		n := int64(len(head) + len(b))
		s.end += n
		if s.x.onDisk += n; s.x.onDisk > s.x.limits.Files {
			return errSpilled
		}
		_, _ = w.Write(head) // Flush returns the error
		_, _ = w.Write(b)
	}
	if err := w.Flush(); err != nil {
		return diskError(err)
	}
	s.runs = append(s.runs, s.end)
	return nil
}

// A run reads one of the runs.
type run struct {
	from  *bufio.Reader
	most  uint64 // the bytes of the run
	index int
	bytes []byte
	row   row // of bytes
}

func (r *run) next() error {
	n, err := binary.ReadUvarint(r.from)
	if err == io.EOF {
		return err
	}
	if err == nil {
		n = min(n, r.most)
		r.bytes = slices.Grow(r.bytes[:0], int(n))[:n]
		_, err = io.ReadFull(r.from, r.bytes)
	}
	if err == nil {
		r.row, err = unpack(r.bytes)
	}
	if err != nil {
		return diskError(err)
	}
	return nil
}

// whole reads all runs, one after the other.
func (s *spill) whole() *run {
	return &run{most: uint64(s.end), from: bufio.NewReaderSize(io.NewSectionReader(s.file, 0, s.end), runBuffer)}
}

// A merge is a heap of runs by their next rows; earlier runs come first among equal rows.
type merge struct{ runs []*run }

func (m *merge) Len() int { return len(m.runs) }

func (m *merge) Swap(i, j int) { m.runs[i], m.runs[j] = m.runs[j], m.runs[i] }

func (m *merge) Push(r any) { m.runs = append(m.runs, r.(*run)) }

func (m *merge) Pop() any {
	last := m.runs[len(m.runs)-1]
	m.runs = m.runs[:len(m.runs)-1]
	return last
}

func (m *merge) Less(i, j int) bool {
	c := bytes.Compare(m.runs[i].row.key, m.runs[j].row.key)
	return c < 0 || c == 0 && m.runs[i].index < m.runs[j].index
}

// each calls f for every row of all runs in order.
func (s *spill) each(x *execution, f func(row) error) error {
	m := &merge{}
	if err := x.hold(len(s.runs) * runBuffer); err != nil {
		return err
	}
	defer x.release(len(s.runs) * runBuffer)
	start := int64(0)
	for i, end := range s.runs {
		r := &run{most: uint64(end - start), from: bufio.NewReaderSize(io.NewSectionReader(s.file, start, end-start), runBuffer), index: i}
		if err := r.next(); err != nil {
			return err
		}
		m.runs = append(m.runs, r)
		start = end
	}
	heap.Init(m)
	for len(m.runs) > 0 {
		if err := x.ctx.Err(); err != nil {
			return err
		}
		first := m.runs[0]
		if err := f(first.row); err != nil {
			return err
		}
		switch err := first.next(); err {
		case nil:
			heap.Fix(m, 0)
		case io.EOF:
			heap.Pop(m)
		default:
			return err
		}
	}
	return nil
}

// byKeys makes a sorter of rows by the bytes of a key. Equal rows keep their order.
func (x *execution) byKeys() *sorter {
	return &sorter{x: x.root(), of: x, most: math.MaxInt64, room: x.root().limits.Sorted}
}

// A keySet finds the first row with each key. Beyond its room, the rows with further keys
// go to a file, from which rest returns them.
type keySet struct {
	x    *execution
	room int // math.MaxInt: no file
	seen map[string]bool
	key  []byte
	held int
	disk *sorter
	row  []byte // the last one for the file
}

// add reports whether no row had the key so far. The row of a key that goes to the file is
// copied, and false.
func (s *keySet) add(row, key []any) (bool, error) {
	s.key = s.key[:0]
	for _, v := range key {
		s.key = value.AppendKey(s.key, v)
	}
	if s.seen[string(s.key)] {
		return false, nil
	}
	if s.disk == nil {
		size := len(s.key) + 48
		err := s.x.hold(size)
		if err == nil && s.held+size <= s.room {
			if s.seen == nil {
				s.seen = map[string]bool{}
			}
			s.seen[string(s.key)] = true
			s.held += size
			return true, nil
		}
		if err != nil && (s.room == math.MaxInt || s.held < leastRun) {
			return false, err
		}
		s.x.release(size)
		s.disk = s.x.byKeys()
	}
	var err error
	if s.row, err = appendValues(s.row[:0], row); err != nil {
		return false, err
	}
	return false, s.disk.put(s.key, 0, s.row)
}

// rest calls f for the first row with each key that is in the file.
func (s *keySet) rest(f func(row []any) error) error {
	if s.disk == nil {
		return nil
	}
	defer s.disk.close()
	var last []byte
	return s.disk.each(func(r row) error {
		if last != nil && bytes.Equal(r.key, last) {
			return nil
		}
		last = append(last[:0], r.key...)
		values, err := r.decodeAll()
		if err != nil {
			return err
		}
		return f(values)
	})
}

// freeze sends tuples to a file from now on: only new groups, or all tuples if groups
// grow with them.
func (t *groupTable) freeze() {
	t.disk = t.x.byKeys()
	t.fixed = true
	for _, acc := range t.newGroup(t.x, nil).accs {
		t.fixed = t.fixed && fixed(acc)
	}
}

// toDisk writes the key of a tuple, whose group may be in memory, and what the aggregate
// functions take of it.
func (t *groupTable) toDisk(of *Tuple, found *group) error {
	values, err := t.values(of)
	if err != nil {
		return err
	}
	for _, a := range t.Aggs {
		v, err := a.argument(of)
		if err != nil {
			return err
		}
		values = append(values, v)
	}
	if found != nil {
		found.onDisk = true
	}
	if t.row, err = appendValues(t.row[:0], values); err != nil {
		return err
	}
	return t.disk.put(t.key, 0, t.row)
}

// fromDisk passes on the groups of the file, one at a time, in the order of their keys.
// The first tuples of a group may be in memory.
func (t *groupTable) fromDisk(yield func(*Tuple) bool) error {
	var g *group
	own := &execution{call: t.x.call, parent: t.x}
	finish := func() error {
		row, err := g.row(t.x)
		if err != nil {
			return err
		}
		own.release(own.held)
		if !yield(row) {
			return errEnough
		}
		return nil
	}
	err := t.disk.each(func(r row) error {
		if g != nil && g.key != string(r.key) {
			if err := finish(); err != nil {
				return err
			}
			g = nil
		}
		keys := len(t.Keys)
		values, err := r.decode(make([]any, 0, keys+len(t.Aggs)), keys+len(t.Aggs))
		if err != nil {
			return err
		}
		if g == nil {
			if g = t.byKey[string(r.key)]; g == nil {
				g = t.newGroup(own, values[:keys:keys])
				g.key = string(r.key)
			}
		}
		for i, a := range t.Aggs {
			if err := a.add(g.accs[i], values[keys+i]); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil || g == nil {
		return err
	}
	return finish()
}
