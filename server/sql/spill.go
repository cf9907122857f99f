package sql

import (
	"bufio"
	"container/heap"
	"encoding/binary"
	"errors"
	"io"
	"os"

	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/server/sql/value"
)

// The bounds of sorting; tests change them.
var (
	sortMemory       = 64 << 20   // rows beyond it go to a file
	maxSpilled int64 = 16 << 30   // in the file of one query
	spillDir         = os.TempDir // of the files
	leastRun         = 256 << 10  // a run is not smaller when the connection has no room
	runBuffer        = 32 << 10   // of a run that is read
	errSpilled error = &Error{Message: "the rows that ORDER BY sorts take more than 16 GiB on disk; add conditions, or a LIMIT"}
)

// A spill is a file of sorted runs of rows. It has no name, so that nothing is left of it
// when the process ends, where the system allows that; elsewhere closing removes it.
type spill struct {
	file *os.File
	runs []int64 // the end of each
	end  int64
}

func newSpill() (*spill, error) {
	f, err := os.CreateTemp(spillDir(), "smolwc-sql-*") // mode 0600
	if err != nil {
		return nil, diskError(err)
	}
	_ = os.Remove(f.Name()) // an open file cannot be removed everywhere: Close tries again
	return &spill{file: f}, nil
}

func (s *spill) close() {
	_ = s.file.Close()
	_ = os.Remove(s.file.Name())
}

// diskError is the error of a file of a query.
func diskError(err error) error {
	return &query.Error{Op: "query", Kind: query.KindResourceExhausted, Err: errors.Join(errors.New("rows that do not fit in memory could not be sorted in a temporary file"), err)}
}

// write adds a run.
func (s *spill) write(rows []sortRow) error {
	w := bufio.NewWriterSize(s.file, 1<<20)
	var b []byte
	for _, row := range rows {
		var err error
		if b, err = value.Append(b[:0], value.Struct(row.by)); err == nil {
			b, err = value.Append(b, value.Struct(row.values))
		}
		if err != nil {
			return diskError(err)
		}
		head := binary.AppendUvarint(nil, uint64(len(b)))
		if s.end += int64(len(head) + len(b)); s.end > maxSpilled {
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
	index int
	row   sortRow
}

func (r *run) next() error {
	n, err := binary.ReadUvarint(r.from)
	if err == io.EOF {
		return err
	}
	b := make([]byte, min(n, uint64(maxSpilled)))
	if err == nil {
		_, err = io.ReadFull(r.from, b)
	}
	var by, values any
	if err == nil {
		by, b, err = value.Cut(b)
	}
	if err == nil {
		values, _, err = value.Cut(b)
	}
	if err != nil {
		return diskError(err)
	}
	r.row = sortRow{by.(value.Struct), values.(value.Struct)}
	return nil
}

// A merge is a heap of runs by their next rows; earlier runs come first among equal rows.
type merge struct {
	runs    []*run
	compare func(a, b sortRow) int
}

func (m *merge) Len() int      { return len(m.runs) }
func (m *merge) Swap(i, j int) { m.runs[i], m.runs[j] = m.runs[j], m.runs[i] }
func (m *merge) Push(r any)    { m.runs = append(m.runs, r.(*run)) }
func (m *merge) Pop() any {
	last := m.runs[len(m.runs)-1]
	m.runs = m.runs[:len(m.runs)-1]
	return last
}
func (m *merge) Less(i, j int) bool {
	c := m.compare(m.runs[i].row, m.runs[j].row)
	return c < 0 || c == 0 && m.runs[i].index < m.runs[j].index
}

// each calls f for every row of all runs in order.
func (s *spill) each(x *execution, compare func(a, b sortRow) int, f func(sortRow) error) error {
	m := &merge{compare: compare}
	if err := x.hold(len(s.runs) * runBuffer); err != nil {
		return err
	}
	start := int64(0)
	for i, end := range s.runs {
		r := &run{from: bufio.NewReaderSize(io.NewSectionReader(s.file, start, end-start), runBuffer), index: i}
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
