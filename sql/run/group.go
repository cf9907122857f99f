package run

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"maps"
	"math"
	"runtime"
	"slices"
	"sync"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/sql/value"
)

// A Grouping makes groups of tuples. The tuple of a group holds the keys, and
// then the results of the aggregate functions.
type Grouping struct {
	Keys     []Key
	Aggs     []*Aggregate
	InMemory bool // its groups never go to a file
	// Totals are the numbers of grouping sets without keys, whose groups are there without
	// tuples too. The number is the last key.
	Totals []int64
}

// A Key is an expression of GROUP BY.
type Key struct {
	Eval Eval
	Cell *Cell // nil: it is not a single cell
}

// append appends the bytes that a value is grouped by. It returns the value, unless the key
// is a single cell.
func (k *Key) append(dst []byte, t *Tuple) (_ []byte, v any, err error) {
	if k.Cell != nil {
		var cell *cells.Cell
		if c, ok := t.Row.Cell(k.Cell.Family, k.Cell.Qualifier); ok {
			cell = &c
		}
		dst, err = value.AppendCellKey(dst, cell, k.Cell.Of)
		return dst, nil, err
	}
	if v, err = k.Eval(t); err != nil {
		return dst, nil, err
	}
	return value.AppendKey(dst, v), v, nil
}

// GroupBy is a step that groups tuples.
func GroupBy(g *Grouping) Step {
	name := fmt.Sprintf("group by %d keys, %d aggregate functions", len(g.Keys), len(g.Aggs))
	if !g.InMemory && len(g.Keys) > 0 {
		name += ", on disk beyond 96 MiB"
	}
	return Step{name: name, run: g.run, groups: g}
}

// A group is a group under way.
type group struct {
	key    string // equal for equal keys
	keys   []any
	accs   []accumulator
	onDisk bool // some of its tuples are in the file
}

// A groupTable is the groups under way, in the order of their first tuples.
type groupTable struct {
	*Grouping
	x     *execution // of this table alone
	byKey map[string]*group
	order []*group
	key   []byte // of the last tuple
	vals  []any
	row   []byte  // the last one for the file
	room  int     // bytes of memory, beyond which tuples go to a file; math.MaxInt: never
	disk  *sorter // of the tuples that are not in memory; nil: all are
	fixed bool    // no group takes more memory when it gets a tuple
}

func (g *Grouping) table(x *execution, room int) *groupTable {
	x = &execution{call: x.call, parent: x}
	t := &groupTable{Grouping: g, x: x, byKey: map[string]*group{}, vals: make([]any, len(g.Keys)), room: room}
	if len(g.Keys) == 0 {
		t.begin(nil)
	}
	for _, set := range g.Totals {
		keys := make([]any, len(g.Keys))
		keys[len(keys)-1] = set
		t.begin(keys)
	}
	return t
}

// begin begins a group before its first tuple.
func (t *groupTable) begin(keys []any) {
	made := t.newGroup(t.x, keys)
	for _, v := range keys {
		made.key = string(value.AppendKey([]byte(made.key), v))
	}
	t.byKey[made.key] = made
	t.order = append(t.order, made)
}

// find is the group of a tuple; nil if the group is not in memory.
func (t *groupTable) find(of *Tuple) (*group, error) {
	t.key = t.key[:0]
	for i, e := range t.Keys {
		var err error
		if t.key, t.vals[i], err = e.append(t.key, of); err != nil {
			return nil, err
		}
	}
	if found, ok := t.byKey[string(t.key)]; ok || t.disk != nil {
		return found, nil
	}
	size := 2*len(t.key) + 200 + 64*len(t.Aggs)
	if err := t.x.hold(size); err != nil {
		if t.room == math.MaxInt || t.x.held < leastRun {
			return nil, err
		}
		t.x.release(size) // no room in the connection
		t.freeze()
		return nil, nil
	}
	keys, err := t.values(of)
	if err != nil {
		return nil, err
	}
	made := t.newGroup(t.x, keys)
	made.key = string(t.key)
	t.byKey[made.key] = made
	t.order = append(t.order, made)
	return made, nil
}

// values returns copies of the keys of the tuple last given to find.
func (t *groupTable) values(of *Tuple) ([]any, error) {
	for i, e := range t.Keys {
		if e.Cell == nil {
			continue
		}
		v, err := e.Eval(of)
		if err != nil {
			return nil, err
		}
		t.vals[i] = v
	}
	return value.CloneAll(t.vals), nil
}

func (t *groupTable) push(of *Tuple) error {
	found, err := t.find(of)
	if err != nil {
		return err
	}
	if t.disk != nil && (found == nil || !t.fixed) {
		return t.toDisk(of, found)
	}
	for i, a := range t.Aggs {
		if err := a.take(found.accs[i], of); err != nil {
			return err
		}
	}
	if t.x.held > t.room && t.disk == nil {
		t.freeze()
	}
	return nil
}

// all passes the results of the groups on.
func (t *groupTable) all(next sink) error {
	var failed error
	err := next.all(func(yield func(*Tuple) bool) {
		for _, of := range t.order {
			if of.onDisk {
				continue
			}
			row, err := of.row(t.x)
			if err = cmp.Or(err, t.x.ctx.Err()); err != nil {
				failed = err
				return
			}
			if !yield(row) {
				return
			}
		}
		if t.disk != nil {
			failed = ended(t.fromDisk(yield))
		}
	})
	return cmp.Or(failed, err)
}

// row is the tuple of a group that is complete.
func (g *group) row(x *execution) (*Tuple, error) {
	slots := g.keys
	for _, acc := range g.accs {
		v, err := acc.result()
		if err != nil {
			return nil, err
		}
		slots = append(slots, v)
	}
	return x.tuple(slots), nil
}

// run returns the sink that groups tuples.
func (g *Grouping) run(x *execution, next sink) sink {
	room := x.root().limits.Grouped
	if g.InMemory || len(g.Keys) == 0 { // one group does not get smaller on disk
		room = math.MaxInt
	}
	t := g.table(x, room)
	return sink{push: t.push, end: func() error { return t.all(next) }, copies: true}
}

func (g *Grouping) newGroup(x *execution, keys []any) *group {
	made := &group{keys: keys, accs: make([]accumulator, len(g.Aggs))}
	for i, a := range g.Aggs {
		made.accs[i] = a.start(x)
	}
	return made
}

// A Table reads the rows of the query's table; [query.Table] is one.
type Table interface {
	ReadRows(ctx context.Context, opts ...read.Option) iter.Seq2[*query.Row, error]
	ReadPartsParallel(ctx context.Context, n int, fn func(ctx context.Context, part int, rows iter.Seq2[*query.Row, error]) error, opts ...read.Option) error
}

// partial is the number of the step up to which parts of the table are computed by
// themselves, and then merged: the first grouping, if only steps that take each tuple by
// itself precede it, and if its aggregate functions can be merged. It is -1 where there is
// no such step.
func (p *Plan) partial() int {
	for i, s := range p.Steps {
		switch {
		case s.alone:
		case s.groups != nil && s.groups.merges():
			return i
		default:
			return -1
		}
	}
	return -1
}

func (g *Grouping) merges() bool {
	return !slices.ContainsFunc(g.Aggs, func(a *Aggregate) bool {
		_, ok := a.start(&execution{}).(merger)
		return !ok
	})
}

// inParts computes the groups of parts of the table on all processors, and passes the
// merged groups on, in the order that a single read gives them.
func (r *Runner) inParts(t Table, at int, x *execution, next sink) error {
	opts, some := r.reads(x.tuple(nil), "", math.MaxInt64)
	g := r.plan.Steps[at].groups
	if !some {
		return g.table(x, math.MaxInt).all(next)
	}
	opts = append(opts, read.Lend()) // groups keep no rows
	into := func(_ *execution, s sink) sink { return s }
	if r.analysis != nil {
		f := r.analysis.of(r.plan, at+1)
		into, next = f.into, f.out(next)
		defer f.most(x)
	}
	var mu sync.Mutex
	parts := map[int]*groupTable{}
	err := t.ReadPartsParallel(x.ctx, runtime.GOMAXPROCS(0), func(ctx context.Context, part int, rows iter.Seq2[*query.Row, error]) error {
		own := &execution{call: x.in(ctx), parent: x}
		groups := g.table(own, math.MaxInt)
		next := into(own, sink{push: groups.push, end: func() error { return nil }, copies: true})
		for i := at - 1; i >= 0; i-- {
			next = r.stage(own, i, next)
		}
		if err := r.feed(own, rows, next); err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		parts[part] = groups
		return nil
	}, opts...)
	if err != nil {
		return err
	}
	merged := g.table(x, math.MaxInt)
	for _, part := range slices.Sorted(maps.Keys(parts)) {
		if err := merged.merge(parts[part]); err != nil {
			return err
		}
	}
	return merged.all(next)
}

// merge takes the groups of a later part of the table.
func (t *groupTable) merge(part *groupTable) error {
	for _, of := range part.order {
		into, ok := t.byKey[of.key]
		if !ok {
			t.byKey[of.key] = of
			t.order = append(t.order, of)
			continue
		}
		for i, acc := range into.accs {
			if err := acc.(merger).merge(of.accs[i]); err != nil {
				return err
			}
		}
	}
	return nil
}
