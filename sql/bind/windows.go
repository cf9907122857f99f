package bind

import (
	"fmt"

	"github.com/smolwc/smolwc/sql/parse"
	"github.com/smolwc/smolwc/sql/run"
	"github.com/smolwc/smolwc/sql/value"
)

// windowFunctions are the functions that need OVER.
func windowFunctions() []builtin {
	numbers := func(kind value.Kind, of run.WindowMake) func(*planner, *parse.Node, []*expr) (value.Type, run.WindowMake, error) {
		return func(*planner, *parse.Node, []*expr) (value.Type, run.WindowMake, error) {
			return value.Type{Kind: kind}, of, nil
		}
	}
	return []builtin{
		{name: "ROW_NUMBER", text: "ROW_NUMBER() INT64", window: &windowForm{complete: numbers(value.TypeInt64, run.RowNumber)}},
		{name: "RANK", text: "RANK() INT64", window: &windowForm{ordered: true, complete: numbers(value.TypeInt64, run.Rank)}},
		{name: "DENSE_RANK", text: "DENSE_RANK() INT64", window: &windowForm{ordered: true, complete: numbers(value.TypeInt64, run.DenseRank)}},
		{name: "PERCENT_RANK", text: "PERCENT_RANK() FLOAT64", window: &windowForm{ordered: true, complete: numbers(value.TypeFloat64, run.PercentRank)}},
		{name: "CUME_DIST", text: "CUME_DIST() FLOAT64", window: &windowForm{ordered: true, complete: numbers(value.TypeFloat64, run.CumeDist)}},
		{name: "NTILE", text: "NTILE(INT64) INT64", window: &windowForm{least: 1, most: 1, ordered: true, complete: completeTile}},
		{name: "LAG", text: "LAG(T [, INT64 [, T]]) T", window: &windowForm{least: 1, most: 3, ordered: true, complete: completeShifted}},
		{name: "LEAD", text: "LEAD(T [, INT64 [, T]]) T", window: &windowForm{least: 1, most: 3, ordered: true, complete: completeShifted}},
		{name: "FIRST_VALUE", text: "FIRST_VALUE(T) T", window: &windowForm{least: 1, most: 1, framed: true, nulls: true, complete: completeNth}},
		{name: "LAST_VALUE", text: "LAST_VALUE(T) T", window: &windowForm{least: 1, most: 1, framed: true, nulls: true, complete: completeNth}},
		{name: "NTH_VALUE", text: "NTH_VALUE(T, INT64) T", window: &windowForm{least: 2, most: 2, framed: true, nulls: true, complete: completeNth}},
		{name: "PERCENTILE_CONT", text: "PERCENTILE_CONT(FLOAT64, FLOAT64) FLOAT64; PERCENTILE_CONT(NUMERIC, NUMERIC) NUMERIC", window: &windowForm{least: 2, most: 2, unordered: true, nulls: true, complete: completePercentile}},
		{name: "PERCENTILE_DISC", text: "PERCENTILE_DISC(T, FLOAT64) T; PERCENTILE_DISC(T, NUMERIC) T", window: &windowForm{least: 2, most: 2, unordered: true, nulls: true, complete: completePercentile}},
	}
}

// constant64 is the argument number i, which is an INT64 that is the same for every row.
func constant64(p *planner, n *parse.Node, args []*expr, i int, least int64) (run.Count64, error) {
	of := n.Args[i]
	what := "the argument of " + n.Text
	if len(args) > 1 {
		what = fmt.Sprintf("argument %d of %s", i+1, n.Text)
	}
	e, err := p.coerced(of, args[i], value.Type{Kind: value.TypeInt64})
	switch {
	case err != nil:
		return run.Count64{}, err
	case e.typ.Kind != value.TypeInt64:
		return run.Count64{}, p.Errorf(of.Pos, "%s is %s; it must be INT64", what, e.typ)
	case !e.fixed:
		return run.Count64{}, p.Errorf(of.Pos, "%s must be the same for every row", what)
	}
	return run.Count64{Eval: e.eval, Least: least, Refused: func(any) error {
		return p.Errorf(of.Pos, "%s must be %d or more, and not NULL", what, least)
	}}, nil
}

func completeTile(p *planner, n *parse.Node, args []*expr) (value.Type, run.WindowMake, error) {
	tiles, err := constant64(p, n, args, 0, 1)
	return value.Type{Kind: value.TypeInt64}, run.Tile(tiles), err
}

// completeShifted compiles LAG and LEAD.
func completeShifted(p *planner, n *parse.Node, args []*expr) (t value.Type, of run.WindowMake, err error) {
	by := run.Count64{Eval: fixedExpr(value.Type{}, int64(1)).eval}
	if len(args) > 1 {
		if by, err = constant64(p, n, args, 1, 0); err != nil {
			return t, nil, err
		}
	}
	t = args[0].typ
	if len(args) < 3 {
		return t, run.Shifted(n.Text == "LEAD", by, nil), nil
	}
	otherwise := args[2]
	if t.Kind == value.TypeNull {
		t = otherwise.typ
	}
	from := otherwise.typ
	if otherwise, err = p.converted(n.Args[2], otherwise, t); err != nil {
		return t, nil, err
	}
	switch {
	case !otherwise.typ.Same(t):
		return t, nil, p.Errorf(n.Args[2].Pos, "argument 3 of %s is %s; it must be %s, as the first", n.Text, from, t)
	case !otherwise.fixed:
		return t, nil, p.Errorf(n.Args[2].Pos, "argument 3 of %s must be the same for every row", n.Text)
	}
	return t, run.Shifted(n.Text == "LEAD", by, otherwise.eval), nil
}

// completeNth compiles FIRST_VALUE, LAST_VALUE and NTH_VALUE.
func completeNth(p *planner, n *parse.Node, args []*expr) (value.Type, run.WindowMake, error) {
	if n.Text == "LAST_VALUE" {
		return args[0].typ, run.Last(n.IgnoreNulls), nil
	}
	number := run.Count64{Eval: fixedExpr(value.Type{}, int64(1)).eval, Least: 1}
	if n.Text == "NTH_VALUE" {
		var err error
		if number, err = constant64(p, n, args, 1, 1); err != nil {
			return value.Type{}, nil, err
		}
	}
	return args[0].typ, run.Nth(number, n.IgnoreNulls), nil
}

// completePercentile compiles PERCENTILE_CONT and PERCENTILE_DISC.
func completePercentile(p *planner, n *parse.Node, args []*expr) (t value.Type, of run.WindowMake, err error) {
	between := n.Text == "PERCENTILE_CONT"
	if between {
		err = p.decimals(n.Args, args)
		for i, e := range args {
			if err == nil && (isFloat(args[1].typ) || !isNumeric(args[0].typ, args[1].typ)) {
				args[i], err = p.converted(n.Args[i], e, value.Type{Kind: value.TypeFloat64})
			}
		}
	} else if args[1].typ.Kind != value.TypeNumeric {
		args[1], err = p.converted(n.Args[1], args[1], value.Type{Kind: value.TypeFloat64})
	}
	t = args[0].typ
	switch at := args[1]; {
	case err != nil:
		return t, nil, err
	case between && t.Kind != value.TypeNumeric && t.Kind != value.TypeFloat64:
		return t, nil, p.Errorf(n.Args[0].Pos, "PERCENTILE_CONT takes numbers, not %s; PERCENTILE_DISC takes others", t)
	case !t.Comparable():
		return t, nil, p.Errorf(n.Args[0].Pos, "%s cannot compare values of type %s", n.Text, t)
	case at.typ.Kind != value.TypeNumeric && at.typ.Kind != value.TypeFloat64:
		return t, nil, p.Errorf(n.Args[1].Pos, "argument 2 of %s is %s; it must be a number from 0 to 1", n.Text, at.typ)
	case !at.fixed:
		return t, nil, p.Errorf(n.Args[1].Pos, "argument 2 of %s must be the same for every row", n.Text)
	}
	return t, run.Percentile{At: args[1].eval, Between: between, Nulls: n.RespectNulls, Refused: func(any) error {
		return p.Errorf(n.Args[1].Pos, "argument 2 of %s must be from 0 to 1, and not NULL", n.Text)
	}}.Make, nil
}

// beginWindows lets the expressions of a stage have window functions.
func (p *planner) beginWindows(s *parse.Stage) {
	if s.HasWindow() {
		p.scope.windows = &windowing{numbering: newNumbering(), done: map[int]*expr{}, bySet: map[string]*windowSort{}}
	}
}

// endWindows adds the steps that compute the window functions of the stage.
func (p *planner) endWindows() {
	w := p.scope.windows
	if w == nil {
		return
	}
	p.scope.windows = nil
	width := p.scope.slots
	if g := p.scope.groups; g != nil {
		width = len(g.keys) + len(g.aggs)
	}
	for _, s := range w.sorts {
		s.of.Width = width
		for _, at := range s.at {
			*at = width
			width++
		}
		p.plan.Steps = append(p.plan.Steps, s.of.Step())
	}
	p.scope.slots = width
}

// compileOver compiles a window function.
func compileOver(p *planner, n *parse.Node) (*expr, error) {
	w := p.scope.windows
	if w == nil {
		return nil, p.Errorf(n.Pos, "the window function %s cannot stand here; columns of SELECT, EXTEND and SET, QUALIFY and ORDER BY can have it", n.Text)
	}
	if p.takesLambdaArgument(n) {
		return nil, p.Errorf(n.Pos, "%s cannot take an argument of a lambda", n.Text)
	}
	id := w.number(p, n)
	if e := w.done[id]; e != nil {
		return e, nil
	}
	lambdas := p.lambdas
	p.scope.windows, p.lambdas = nil, nil // the parts have no window functions
	defer func() { p.scope.windows, p.lambdas = w, lambdas }()
	s, frame, err := p.windowSort(w, n)
	if err != nil {
		return nil, err
	}
	call := &run.WindowCall{Frame: frame}
	t, err := p.windowCall(n, call)
	if err != nil {
		return nil, err
	}
	at := new(int)
	s.of.Calls, s.at = append(s.of.Calls, call), append(s.at, at)
	e := &expr{typ: t, eval: func(t *run.Tuple) (any, error) { return run.Slot(*at)(t) }}
	w.done[id] = e
	return e, nil
}

// windowCall compiles the call of a window function.
func (p *planner) windowCall(over *parse.Node, call *run.WindowCall) (t value.Type, err error) {
	n, b := over.Args[0], p.functions.named(over.Text)
	switch {
	case b.complete != nil:
		return p.aggregateOver(over, call)
	case b.window == nil && !b.exists():
		return t, notFound(p, n)
	case b.window == nil:
		return t, p.Errorf(n.Pos, "%s is not a window function; OVER can follow aggregate functions and %s", n.Text, p.functions.list(func(b *builtin) bool { return b.window != nil }))
	}
	form := b.window
	switch {
	case n.Distinct || len(n.Order) > 0 || n.Limit != nil:
		return t, p.Errorf(n.Pos, "%s takes no DISTINCT, ORDER BY and LIMIT in its brackets", n.Text)
	case (n.IgnoreNulls || n.RespectNulls) && !form.nulls:
		return t, p.Errorf(n.Pos, "%s does not take IGNORE NULLS and RESPECT NULLS", n.Text)
	case len(n.Args) < form.least || len(n.Args) > form.most:
		return t, p.Errorf(n.Pos, "%s does not take %d arguments; it is %s", n.Text, len(n.Args), b.text)
	case form.ordered && len(over.Order) == 0:
		return t, p.Errorf(n.Pos, "the window of %s needs ORDER BY", n.Text)
	case form.unordered && len(over.Order) > 0:
		return t, p.Errorf(n.Pos, "the window of %s cannot have ORDER BY; the function sorts its first argument", n.Text)
	case !form.framed && over.Over.Frame != nil:
		return t, p.Errorf(over.Over.Frame.Pos, "the window of %s cannot have ROWS or RANGE", n.Text)
	}
	var args []*expr
	for _, arg := range n.Args {
		e, err := p.compile(arg)
		if err != nil {
			return t, err
		}
		args = append(args, e)
	}
	if t, call.Make, err = form.complete(p, n, args); err != nil {
		return t, err
	}
	if len(args) > 0 && n.Text != "NTILE" {
		call.Args = []run.Eval{args[0].eval}
	}
	return t, nil
}

// aggregateOver compiles an aggregate function over a window.
func (p *planner) aggregateOver(over *parse.Node, call *run.WindowCall) (t value.Type, err error) {
	n := over.Args[0]
	switch {
	case p.functions.named(n.Text).neverOver:
		return t, p.Errorf(n.Pos, "%s cannot have OVER", n.Text)
	case len(n.Order) > 0 || n.Limit != nil:
		return t, p.Errorf(n.Pos, "%s with OVER takes no ORDER BY and no LIMIT in its brackets", n.Text)
	case n.Distinct && (len(over.Order) > 0 || over.Over.Frame != nil):
		return t, p.Errorf(n.Pos, "the window of %s(DISTINCT …) cannot have ORDER BY, ROWS or RANGE", n.Text)
	}
	a, err := p.aggregate(n)
	if err != nil {
		return t, err
	}
	of := a.run()
	call.Make = run.Over(of)
	if of.Arg != nil {
		call.Args = []run.Eval{of.Arg}
	}
	return a.typ, nil
}

// windowSort compiles the window of a function.
func (p *planner) windowSort(w *windowing, n *parse.Node) (s *windowSort, frame run.Frame, err error) {
	partition, order := n.Args[1:1+n.Over.Partition], n.Args[1+n.Over.Partition:]
	written := []any{n.Over.Partition}
	for _, by := range n.Args[1:] {
		written = append(written, w.number(p, by))
	}
	for _, o := range n.Order {
		written = append(written, o.Desc, o.NullsLast)
	}
	set := fmt.Sprint(written...)
	if w.calls++; w.calls > maxWindowFunctions {
		return nil, frame, p.Errorf(n.Pos, "a stage of a query can have up to %d window functions", maxWindowFunctions)
	}
	var key *expr
	made := &run.Windowing{Order: n.Order, InMemory: p.plan.InMemory}
	for _, by := range partition {
		e, err := p.compile(by)
		if err != nil {
			return nil, frame, err
		}
		if !e.typ.Groupable() {
			return nil, frame, p.Errorf(by.Pos, "PARTITION BY cannot compare values of type %s", e.typ)
		}
		made.Partition = append(made.Partition, e.eval)
	}
	for _, by := range order {
		if key, err = p.orderable(by); err != nil {
			return nil, frame, err
		}
		made.By = append(made.By, key.eval)
	}
	if frame, err = p.windowFrame(n, key); err != nil {
		return nil, frame, err
	}
	s = w.bySet[set]
	if s == nil {
		s = &windowSort{of: made}
		w.bySet[set] = s
		w.sorts = append(w.sorts, s)
	}
	return s, frame, nil
}

// maxWindowFunctions bounds the window functions of a stage.
const maxWindowFunctions = 1000

// frame compiles the frame of a window, whose last expression of ORDER BY is key.
func (p *planner) windowFrame(n *parse.Node, key *expr) (f run.Frame, err error) {
	of := n.Over.Frame
	if of == nil {
		f.End.Kind = parse.CurrentRow
		if key == nil {
			f.End.Kind = parse.UnboundedFollowing
		}
		return f, nil
	}
	f.Rows = of.Rows
	if f.Start, err = p.frameBound(n, of.Start, key); err != nil {
		return f, err
	}
	f.End, err = p.frameBound(n, of.End, key)
	return f, err
}

func (p *planner) frameBound(n *parse.Node, b parse.Bound, key *expr) (made run.FrameBound, err error) {
	made.Kind = b.Kind
	if b.By == nil {
		return made, nil
	}
	want := value.TypeInt64
	if !n.Over.Frame.Rows {
		if len(n.Order) != 1 || !key.typ.Numeric() {
			return made, p.Errorf(b.Pos, "RANGE with a number needs ORDER BY of one number; ROWS does not")
		}
		if key.typ.Kind != value.TypeInt64 {
			want = value.TypeFloat64
		}
	}
	e, err := p.compile(b.By)
	if err == nil && want == value.TypeFloat64 && key.typ.Kind == value.TypeNumeric && (e.literal || !isFloat(e.typ)) {
		want = value.TypeNumeric // the sum is exact
	}
	if err == nil {
		e, err = p.converted(b.By, e, value.Type{Kind: want})
	}
	if err != nil {
		return made, err
	}
	if e.typ.Kind != want {
		return made, p.Errorf(b.Pos, "the bound of a frame is %s; it must be %s", e.typ, value.Type{Kind: want})
	}
	made.By = e.eval
	made.Refused = func(any) error {
		return p.Errorf(b.Pos, "the bound of a frame must not be negative, NULL or NaN")
	}
	return made, nil
}

// readsWindowed reports whether a window function of a block sees rows of its table, so that
// they must be columns first: a sort keeps no rows.
func (p *planner) readsWindowed(b *parse.Block) bool {
	if b.From.Table == "" || b.From.Unpack != nil || len(b.From.Joins) > 0 || p.whole.query.Sources[b.From.Table].View != nil {
		return false
	}
	for _, s := range b.Stages {
		switch s.Kind {
		case parse.SelectStage:
			return s.HasWindow() && !p.grouped(s)
		case parse.AggregateStage, parse.OrderStage, parse.DropStage, parse.RenameStage:
			return false
		case parse.ExtendStage, parse.SetStage:
			if s.HasWindow() {
				return true
			}
			if s.Kind == parse.SetStage {
				return false
			}
		}
	}
	return false
}
