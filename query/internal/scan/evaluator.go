package scan

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"unsafe"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/internal/bytere"
	"github.com/smolwc/smolwc/internal/excerpt"
	"github.com/smolwc/smolwc/query/filter"
	"github.com/smolwc/smolwc/query/internal/fault"
	"github.com/smolwc/smolwc/query/internal/plan"
)

// An evaluator runs one filter over the rows of one read, a row at a time. Its buffers
// grow with the largest row and are reused for each row.
type evaluator struct {
	run    step
	key    string   // of the current row
	parts  []part   // its parts
	places []place  // its cells, in order
	views  []view   // of all its cells, unchanged
	sunk   []view   // cells that sinks passed on
	labels []string // by number, counted from 1
	random func() float64
	work   *bytere.Work  // of the read
	space  *rowRoom      // of the current row; copies of its cells count
	err    error         // why the evaluation of this row ended early
	starts []uint32      // of inOrder
	placed []view        // of inOrder
	wide   bool          // integers are seen as 8 bytes
	i64    [8]byte       // room for one
	spans  []cf.CellSpan // room for the cells of the rows that go out
}

// A place is the position of a cell of the current row.
type place struct {
	part int32
	cell int32
}

// A view is a cell on its way through the filter: the index of the cell in the row, and
// the effects of transformers. Cells of a row have distinct columns and timestamps, so
// cells in the order of the row are sorted by at.
type view struct {
	at       uint32
	label    uint16 // the number of its label, 0 for none
	stripped bool
}

// A step is one compiled filter. It does not change its input; its result is valid
// until it runs again.
type step func(in []view) []view

func newEvaluator(f filter.Filter, wide bool) *evaluator {
	e := &evaluator{random: rand.Float64, wide: wide}
	e.run = e.compile(f)
	return e
}

// apply keeps in a row the cells that the filter lets through, and reports whether
// there are any. Copies of cells count towards the room of the row.
func (e *evaluator) apply(work *bytere.Work, row *Row, space *rowRoom) (bool, error) {
	e.work, e.space, e.err = work, space, nil
	e.load(row)
	out := e.run(e.views)
	if len(e.sunk) > 0 {
		out = e.inOrder(append(e.sunk, out...))
	}
	if len(out) > len(e.views) {
		e.takeCopies(out)
	}
	if e.err != nil {
		return false, e.err
	}
	if !slices.Equal(out, e.views) {
		e.store(row, out)
	}
	return len(out) > 0, nil
}

// viewBytes is the memory of a view: itself, and as much for the growth of its
// list.
const viewBytes = 16

// take counts n more bytes of copies of cells, and reports whether to continue.
func (e *evaluator) take(n int) bool {
	if e.err != nil {
		return false
	}
	if e.err = e.space.take(n, e.key); e.err != nil && e.space.taken > e.space.limit {
		e.err = fault.Errorf(fault.ResourceExhausted, "row %q takes more than %d MiB with the copies of its cells that the filter makes; interleave fewer filters that leave the same cells", excerpt.Of(e.key), plan.MaxRowBytes>>20)
	}
	return e.err == nil
}

// takeCopies counts the cells of the row that are copies of others.
func (e *evaluator) takeCopies(out []view) {
	for i := 1; i < len(out); i++ {
		if out[i].at == out[i-1].at && !e.take(cellBytes+len(e.qualifier(out[i]))+len(e.encoded(out[i]))) {
			return
		}
	}
}

// spend takes steps of the read's work for a filter, and reports whether to continue. It
// looks at the context now and then.
func (e *evaluator) spend(steps int, f filter.Filter) bool {
	if e.err == nil {
		if err := e.work.Spend(steps); err != nil {
			e.err = tooMuch(err, "filter %s takes too long on row %q; combine fewer filters", excerpt.Of(f.String()), excerpt.Of(e.key))
		}
	}
	return e.err == nil
}

// match matches a string with the expression of a filter.
func (e *evaluator) match(re *bytere.Regexp, s string, f filter.Filter) bool {
	if e.err != nil {
		return false
	}
	ok, err := re.Match(e.work, s)
	if err != nil {
		e.err = tooMuch(err, "filter %s takes too long on %d bytes of row %q; repeat less in its expression", excerpt.Of(f.String()), len(s), excerpt.Of(e.key))
	}
	return ok
}

// tooMuch is the error of work: the context's, or one with what was too slow.
func tooMuch(err error, format string, args ...any) error {
	if !errors.Is(err, bytere.ErrTooMuch) {
		return err
	}
	return fault.Errorf(fault.ResourceExhausted, "%s: %s", fmt.Sprintf(format, args...), bytere.Bounds)
}

func (e *evaluator) load(row *Row) {
	e.key = row.key
	e.parts = append(e.parts[:0], row.parts...)
	e.places, e.views, e.sunk = e.places[:0], e.views[:0], e.sunk[:0]
	for i := range e.parts {
		for j := range e.parts[i].cells {
			e.views = append(e.views, view{at: uint32(len(e.places))})
			e.places = append(e.places, place{int32(i), int32(j)})
		}
	}
}

func (e *evaluator) store(row *Row, out []view) {
	spans := e.room(len(out))
	row.parts, row.labels = row.parts[:0], nil
	from := int32(-1)
	for i, v := range out {
		at := e.places[v.at]
		p := &e.parts[at.part]
		spans[i] = p.cells[at.cell]
		if v.stripped {
			spans[i].ValueLen = 0
		}
		if at.part != from {
			row.parts = append(row.parts, part{p.family, p.block, spans[i:i]})
			from = at.part
		}
		last := &row.parts[len(row.parts)-1]
		last.cells = last.cells[:len(last.cells)+1]
		if v.label != 0 {
			if row.labels == nil {
				row.labels = make([]string, len(out))
			}
			row.labels[i] = e.labels[v.label-1]
		}
	}
}

// room is memory for n cells, for one caller.
func (e *evaluator) room(n int) []cf.CellSpan {
	const slab = 256
	if len(e.spans) < n {
		e.spans = make([]cf.CellSpan, max(n, slab))
	}
	spans := e.spans[:n:n]
	e.spans = e.spans[n:]
	return spans
}

// inOrder puts views into the order of a row, in place; copies of one cell keep
// their order. It takes linear time, however many copies there are.
func (e *evaluator) inOrder(vs []view) []view {
	if slices.IsSortedFunc(vs, func(a, b view) int { return int(a.at) - int(b.at) }) {
		return vs
	}
	e.starts = append(e.starts[:0], make([]uint32, len(e.places)+1)...)
	for _, v := range vs {
		e.starts[v.at+1]++
	}
	for i := range e.places {
		e.starts[i+1] += e.starts[i]
	}
	e.placed = append(e.placed[:0], vs...)
	for _, v := range e.placed {
		vs[e.starts[v.at]] = v
		e.starts[v.at]++
	}
	return vs
}

func (e *evaluator) family(v view) string { return e.parts[e.places[v.at].part].family }

func (e *evaluator) qualifier(v view) string {
	at := e.places[v.at]
	p := &e.parts[at.part]
	return p.block.Qualifier(&p.cells[at.cell])
}

func (e *evaluator) timestamp(v view) cells.Timestamp {
	at := e.places[v.at]
	return cells.Timestamp(e.parts[at.part].cells[at.cell].Timestamp)
}

// encoded is the encoded value, nil for a stripped cell.
func (e *evaluator) encoded(v view) []byte {
	if v.stripped {
		return nil
	}
	at := e.places[v.at]
	p := &e.parts[at.part]
	return p.block.Value(&p.cells[at.cell])
}

// raw is the raw bytes of the value, until it is called again.
func (e *evaluator) raw(v view) []byte {
	b := e.encoded(v)
	if len(b) == 0 {
		return nil
	}
	if e.wide {
		switch t := cells.Type(b[0]); {
		case t == cells.TypeI32 && len(b) == 5:
			return binary.BigEndian.AppendUint64(e.i64[:0], uint64(int32(binary.BigEndian.Uint32(b[1:]))))
		case t == cells.TypeByte && len(b) == 2:
			return binary.BigEndian.AppendUint64(e.i64[:0], uint64(b[1]))
		}
	}
	return b[1:]
}

func (e *evaluator) sameColumn(a, b view) bool {
	return a.at == b.at || e.family(a) == e.family(b) && e.qualifier(a) == e.qualifier(b)
}

// lookEvery is the number of cells that a filter takes between two looks at the context.
const lookEvery = 4096

func (e *evaluator) keepCells(f filter.Filter, pass func(view) bool) step {
	var kept []view
	return func(in []view) []view {
		kept = kept[:0]
		for i, v := range in {
			if i%lookEvery == 0 && !e.spend(min(lookEvery, len(in)-i), f) || e.err != nil {
				return nil
			}
			if pass(v) {
				kept = append(kept, v)
			}
		}
		return kept
	}
}

func eachCell(f func(*view)) step {
	var changed []view
	return func(in []view) []view {
		changed = append(changed[:0], in...)
		for i := range changed {
			f(&changed[i])
		}
		return changed
	}
}

// wholeRow is the step that keeps all cells or none.
func wholeRow(pass func() bool) step {
	return func(in []view) []view {
		if !pass() {
			return nil
		}
		return in
	}
}

// remember calls f again only when the argument changes: the cells of a column
// come one after another.
func remember(f func(string) bool) func(string) bool {
	var last []byte // a copy: rows that are lent have their memory used again
	var asked, answer bool
	return func(s string) bool {
		if !asked || s != string(last) {
			last, asked, answer = append(last[:0], s...), true, f(s)
		}
		return answer
	}
}

func nothing([]view) []view { return nil }

// compile is the step of a checked filter. It takes a step of work for each cell.
func (e *evaluator) compile(f filter.Filter) step {
	if f == nil {
		return nothing
	}
	run := e.stepOf(f)
	return func(in []view) []view {
		if !e.spend(1+len(in), f) {
			return nil
		}
		return run(in)
	}
}

func (e *evaluator) stepOf(f filter.Filter) step {
	switch f := f.(type) {
	case filter.BlockAll:
		return nothing
	case filter.PassAll:
		return func(in []view) []view { return in }
	case filter.Chain:
		return e.chain(f)
	case filter.Interleave:
		return e.interleave(f)
	case filter.Condition:
		return e.condition(f)
	case filter.Sink:
		return e.sink
	case filter.StripValue:
		return eachCell(func(v *view) { v.stripped = true })
	case filter.Label:
		e.labels = append(e.labels, string(f))
		number := uint16(len(e.labels))
		return eachCell(func(v *view) { v.label = number })
	case filter.RowKey:
		re := bytere.MustCompile(string(f))
		return wholeRow(func() bool { return e.match(re, e.key, f) })
	case filter.RowSample:
		return wholeRow(func() bool { return e.random() < float64(f) })
	case filter.CellsPerRowOffset:
		return func(in []view) []view { return in[min(int(f), len(in)):] }
	case filter.CellsPerRowLimit:
		return func(in []view) []view { return in[:min(int(f), len(in))] }
	case filter.Latest:
		return e.latest(int(f))
	}
	return e.keepCells(f, e.passes(f))
}

// passes is the test of a filter that keeps or drops each cell by itself.
func (e *evaluator) passes(f filter.Filter) func(view) bool {
	switch f := f.(type) {
	case filter.Family:
		re := bytere.MustCompile(string(f))
		match := remember(func(s string) bool { return e.match(re, s, f) })
		return func(v view) bool { return match(e.family(v)) }
	case filter.Column:
		re := bytere.MustCompile(string(f))
		match := remember(func(s string) bool { return e.match(re, s, f) })
		return func(v view) bool { return match(e.qualifier(v)) }
	case filter.ColumnRange:
		within := remember(f.Contains)
		return func(v view) bool { return e.family(v) == f.Family && within(e.qualifier(v)) }
	case filter.Value:
		re := bytere.MustCompile(string(f))
		return func(v view) bool { return e.match(re, text(e.raw(v)), f) }
	case filter.ValueRange:
		return func(v view) bool { return f.Contains(text(e.raw(v))) }
	case filter.ValueBitmask:
		return func(v view) bool { return hasBits(e.raw(v), string(f)) }
	case filter.ValueCompare:
		return func(v view) bool { return f.Op.Holds(decodeValue(e.encoded(v)), f.Value) }
	case filter.TimestampRange:
		return func(v view) bool {
			ts := e.timestamp(v)
			return ts >= f.Since && (f.Until == 0 || ts < f.Until)
		}
	}
	panic(fmt.Sprintf("no evaluation of filter %T", f))
}

func text(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

func hasBits(b []byte, mask string) bool {
	if len(b) != len(mask) {
		return false
	}
	for i := range b {
		if b[i]&mask[i] != mask[i] {
			return false
		}
	}
	return true
}

func (e *evaluator) compileAll(fs []filter.Filter) []step {
	steps := make([]step, len(fs))
	for i, f := range fs {
		steps[i] = e.compile(f)
	}
	return steps
}

func (e *evaluator) chain(f filter.Chain) step {
	steps := e.compileAll(f)
	return func(in []view) []view {
		for _, s := range steps {
			if len(in) == 0 || e.err != nil {
				return nil
			}
			in = s(in)
		}
		return in
	}
}

func (e *evaluator) interleave(f filter.Interleave) step {
	steps := e.compileAll(f)
	var all []view
	return func(in []view) []view {
		all = all[:0]
		for _, s := range steps {
			out := s(in)
			if !e.take(len(out) * viewBytes) {
				return nil
			}
			all = append(all, out...)
		}
		return e.inOrder(all)
	}
}

func (e *evaluator) condition(f filter.Condition) step {
	predicate, then, otherwise := e.compile(f.If), e.compile(f.Then), e.compile(f.Else)
	return func(in []view) []view {
		if len(predicate(in)) > 0 {
			return then(in)
		}
		return otherwise(in)
	}
}

func (e *evaluator) sink(in []view) []view {
	if e.take(len(in) * viewBytes) {
		e.sunk = append(e.sunk, in...)
	}
	return nil
}

// latest is the step that keeps the first n cells of each column.
func (e *evaluator) latest(most int) step {
	var kept []view
	return func(in []view) []view {
		kept = kept[:0]
		n := 0
		for i, v := range in {
			if i == 0 || !e.sameColumn(in[i-1], v) {
				n = 0
			}
			if n++; n <= most {
				kept = append(kept, v)
			}
		}
		return kept
	}
}
