package sql

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"maps"
	"math"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/sql/parse"
	"github.com/smolwc/smolwc/sql/value"
)

// A grouping makes groups of tuples. The tuple of a group has the values of the keys,
// and then those of the aggregate functions.
type grouping struct {
	before   scope // of the tuples that are grouped
	keys     []*expr
	aggs     []*aggregate
	inMemory bool          // its groups never go to a file
	slots    map[int]*expr // by the number of a key or an aggregate call
	nodes    map[*parse.Node]int
	seen     map[string]int
}

// number is the same for expressions that are written alike.
func (g *grouping) number(p *Plan, n *parse.Node) int {
	if id, ok := g.nodes[n]; ok {
		return id
	}
	of := p.unqualified(n)
	var b strings.Builder
	text := of.Text
	if of.Op == parse.OpName {
		text = strings.ToLower(text)
	}
	fmt.Fprintf(&b, "%d %d %t %t %q %q", of.Op, of.Kind, of.Distinct, of.IgnoreNulls, text, of.Names)
	for _, o := range of.Order {
		fmt.Fprintf(&b, " order %t %t", o.Desc, o.NullsLast)
	}
	if of.Limit != nil {
		fmt.Fprintf(&b, " limit %q", of.Limit.Text)
	}
	for _, arg := range of.Args {
		fmt.Fprintf(&b, " %d", g.number(p, arg))
	}
	id, ok := g.seen[b.String()]
	if !ok {
		id = len(g.seen)
		g.seen[b.String()] = id
	}
	g.nodes[n] = id
	return id
}

// group begins a grouping: from now on expressions are of groups.
func (p *Plan) group(keys []*parse.Node) error {
	g := &grouping{before: p.scope, inMemory: p.noFiles, slots: map[int]*expr{}, nodes: map[*parse.Node]int{}, seen: map[string]int{}}
	for _, n := range keys {
		e, err := p.compile(n)
		if err != nil {
			return err
		}
		if !e.typ.Groupable() {
			return p.Errorf(n.Pos, "%s cannot be grouped", e.typ)
		}
		g.slots[g.number(p, n)] = slotExpr(e.typ, len(g.keys))
		g.keys = append(g.keys, e)
	}
	p.scope.groups = g
	return nil
}

// ofGroup compiles an expression that is a key or an aggregate function; it is nil for
// any other.
func (p *Plan) ofGroup(n *parse.Node) (*expr, error) {
	g := p.scope.groups
	if p.takesLambdaArgument(n) { // a key that is written alike has a column of this name
		if isAggregate(n) {
			return nil, p.Errorf(n.Pos, "%s cannot take an argument of a lambda", n.Text)
		}
		return nil, nil
	}
	id := g.number(p, n)
	if e, ok := g.slots[id]; ok {
		return e, nil
	}
	switch {
	case isAggregate(n):
		groups, lambdas := p.scope, p.lambdas
		p.scope, p.lambdas = g.before, nil
		a, err := p.aggregate(n)
		p.scope, p.lambdas = groups, lambdas
		if err != nil {
			return nil, err
		}
		e := slotExpr(a.typ, len(g.keys)+len(g.aggs))
		g.aggs = append(g.aggs, a)
		g.slots[id] = e
		return e, nil
	case p.unqualified(n).Op == parse.OpName:
		return nil, p.Errorf(n.Pos, "the column %s is neither grouped nor aggregated", p.unqualified(n).Text)
	}
	return nil, nil
}

func isAggregate(n *parse.Node) bool {
	return n.Op == parse.OpCall && functions().named(n.Text).complete != nil
}

// hasAggregate reports whether an expression has an aggregate function. It visits each
// node once: BETWEEN and IN have their operand twice.
func hasAggregate(n *parse.Node) bool {
	return n != nil && anyNode(n, map[*parse.Node]bool{}, isAggregate)
}

func anyNode(n *parse.Node, seen map[*parse.Node]bool, is func(*parse.Node) bool) bool {
	if seen[n] {
		return false
	}
	if len(n.Args) > 0 {
		seen[n] = true
	}
	return is(n) || slices.ContainsFunc(n.Args, func(arg *parse.Node) bool { return anyNode(arg, seen, is) })
}

// step is the step that makes the groups.
func (g *grouping) step() step {
	name := "group by " + strconv.Itoa(len(g.keys)) + " keys, " + strconv.Itoa(len(g.aggs)) + " aggregate functions"
	if !g.inMemory && len(g.keys) > 0 {
		name += ", on disk beyond 96 MiB"
	}
	return step{name: name, run: g.run, groups: g}
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
	*grouping
	x     *execution // of this table alone
	byKey map[string]*group
	order []*group
	key   []byte // of the last tuple
	vals  []any
	room  int     // bytes of memory, beyond which tuples go to a file; math.MaxInt: never
	disk  *sorter // of the tuples that are not in memory; nil: all are
	fixed bool    // no group takes more memory when it gets a tuple
}

func (g *grouping) table(x *execution, room int) *groupTable {
	x = &execution{ctx: x.ctx, parent: x}
	t := &groupTable{grouping: g, x: x, byKey: map[string]*group{}, vals: make([]any, len(g.keys)), room: room}
	if len(g.keys) == 0 {
		only := g.newGroup(x, nil)
		only.key = ""
		t.byKey[""] = only
		t.order = append(t.order, only)
	}
	return t
}

// find is the group of a tuple; nil if the group is not in memory.
func (t *groupTable) find(of *tuple) (*group, error) {
	t.key = t.key[:0]
	for i, e := range t.keys {
		var err error
		if t.key, t.vals[i], err = e.appendKey(t.key, of); err != nil {
			return nil, err
		}
	}
	if found, ok := t.byKey[string(t.key)]; ok || t.disk != nil {
		return found, nil
	}
	size := 2*len(t.key) + 200 + 64*len(t.aggs)
	if err := t.x.hold(size); err != nil {
		if t.room == math.MaxInt || t.x.held < leastRun {
			return nil, err
		}
		t.x.release(size) // the connection has no room
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

// values are copies of the keys of the tuple that find has had last.
func (t *groupTable) values(of *tuple) ([]any, error) {
	for i, e := range t.keys {
		if e.column == nil {
			continue
		}
		v, err := e.eval(of)
		if err != nil {
			return nil, err
		}
		t.vals[i] = v
	}
	return value.CloneAll(t.vals), nil
}

func (t *groupTable) push(of *tuple) error {
	found, err := t.find(of)
	if err != nil {
		return err
	}
	if t.disk != nil && (found == nil || !t.fixed) {
		return t.toDisk(of, found)
	}
	for i, a := range t.aggs {
		v, err := a.argument(of)
		if err == nil {
			err = a.add(found.accs[i], v)
		}
		if err != nil {
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
	err := next.all(func(yield func(*tuple) bool) {
		for _, of := range t.order {
			if of.onDisk {
				continue
			}
			row, err := of.row(t.x.ctx)
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
func (g *group) row(ctx context.Context) (*tuple, error) {
	slots := g.keys
	for _, acc := range g.accs {
		v, err := acc.result()
		if err != nil {
			return nil, err
		}
		slots = append(slots, v)
	}
	return &tuple{slots: slots, ctx: ctx}, nil
}

// run returns the sink that groups tuples.
func (g *grouping) run(x *execution, next sink) sink {
	room := groupMemory
	if g.inMemory || len(g.keys) == 0 { // one group does not get smaller on disk
		room = math.MaxInt
	}
	t := g.table(x, room)
	return sink{push: t.push, end: func() error { return t.all(next) }}
}

func (g *grouping) newGroup(x *execution, keys []any) *group {
	made := &group{keys: keys, accs: make([]accumulator, len(g.aggs))}
	for i, a := range g.aggs {
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
	for i, s := range p.steps {
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

func (g *grouping) merges() bool {
	return !slices.ContainsFunc(g.aggs, func(a *aggregate) bool {
		_, ok := a.start(&execution{}).(merger)
		return !ok
	})
}

// inParts computes the groups of parts of the table on all processors, and passes the
// merged groups on, in the order that a single read gives them.
func (p *Plan) inParts(ctx context.Context, t Table, at int, x *execution, next sink) error {
	opts, some := p.Reads("", math.MaxInt64)
	g := p.steps[at].groups
	if !some {
		return g.table(x, math.MaxInt).all(next)
	}
	lent := at == 0 // groups keep no rows
	if lent {
		opts = append(opts, read.Lend())
	}
	var mu sync.Mutex
	parts := map[int]*groupTable{}
	err := t.ReadPartsParallel(ctx, runtime.GOMAXPROCS(0), func(ctx context.Context, part int, rows iter.Seq2[*query.Row, error]) error {
		own := &execution{ctx: ctx, parent: x}
		groups := g.table(own, math.MaxInt)
		into := sink{push: groups.push, end: func() error { return nil }}
		for i := at - 1; i >= 0; i-- {
			into = p.steps[i].run(own, into)
		}
		if err := p.feed(own, rows, into, lent); err != nil {
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
