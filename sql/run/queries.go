package run

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/sql/value"
)

var (
	errTwoRows  = errors.New("the query in brackets has more than one row; LIMIT 1 leaves one, and ARRAY(…) makes an array of all")
	errNotRuns  = errors.New("a query cannot stand where the value must be known before the query runs")
	errNoAround = errors.New("a column of a query around this one cannot stand where the value must be known before the query runs")
	errManyRows = errors.New("ARRAY of a query has more than 1,048,576 elements")
)

const (
	maxElements = 1 << 20
	maxAnswers  = 16 << 20 // bytes of the answers of runs that are kept
	answerBytes = 160      // of an answer without its values
)

// in is the call in another context.
func (c *call) in(ctx context.Context) *call {
	of := *c
	of.ctx = ctx
	return &of
}

// Around is the i-th value that a query in an expression takes of the row around it. placed
// gives an error its place.
func Around(i int, placed func(error) error) Eval {
	return func(t *Tuple) (any, error) {
		switch {
		case t == nil || t.call == nil:
			return nil, placed(errNoAround)
		case i >= len(t.call.around):
			t.call.asked = true
			return nil, placed(errNoAround)
		}
		return t.call.around[i], nil
	}
}

// answer is the answer for a row around.
func (q *Query) answer(t *Tuple) (*answer, error) {
	if t == nil || t.call == nil || t.call.queries == nil {
		return nil, q.Placed(errNotRuns)
	}
	in := t.call.queries
	of := &in.of[q.At]
	if q.Held != nil && (q.Plan == nil || !of.spoiled.Load() && (!q.ByKey || of.runs.Load() >= in.x.limits.ByKey)) {
		a, err := q.fromTable(t, in, of)
		if err == nil || q.Plan == nil || t.Context().Err() != nil || !of.spoiled.Load() {
			return a, err
		}
	}
	around, err := All(q.Outer, t)
	if err != nil {
		return nil, err
	}
	if len(around) == 0 {
		of.making.Lock()
		defer of.making.Unlock()
	}
	var key []byte
	if q.Known {
		// Not as GROUP BY compares values: of -0 and 0, and of 30 days and a month, answers differ.
		if key, err = appendValues(nil, around); err != nil {
			return nil, err
		}
		if a := of.find(key); a != nil {
			return a, a.err
		}
	}
	of.runs.Add(1)
	kept := &execution{call: t.call.in(t.Context()), counted: in.x}
	a, err := q.run(kept, in, value.CloneAll(around))
	if err != nil || !q.Known {
		kept.release(kept.held)
		return a, err
	}
	if err := of.keep(in, kept, key, a); err != nil && len(around) == 0 {
		return nil, err
	}
	return a, a.err
}

// find is a kept answer.
func (o *queried) find(key []byte) *answer {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.kept[string(key)]
}

// keep keeps an answer, for which memory is held. It gives those of before up where they are
// too many.
func (o *queried) keep(in *running, held *execution, key []byte, a *answer) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if err := held.hold(len(key) + answerBytes); err != nil {
		held.release(held.held)
		return err
	}
	if o.size += held.held; o.size > maxAnswers && len(o.kept) > 0 {
		in.x.release(o.size - held.held)
		o.size, o.kept = held.held, nil
	}
	if o.kept == nil {
		o.kept = map[string]*answer{}
	}
	if o.kept[string(key)] != nil { // another processor was first
		o.size -= held.held
		held.release(held.held)
		return nil
	}
	o.kept[string(key)] = a
	return nil
}

// run runs the plan for values of a row around.
func (q *Query) run(kept *execution, in *running, around []any) (*answer, error) {
	if err := kept.ctx.Err(); err != nil {
		return nil, err
	}
	kept.known, kept.around = newConstants(q.Plan.Size), around
	x := &execution{call: kept.call, counted: in.x, limits: in.x.limits, files: in.x.files}
	defer func() {
		x.close()
		x.release(x.held)
	}()
	a := &answer{}
	err := in.rows(q.At, false, x, func(values []any) error { return q.take(kept, a, values) })
	return a, ended(err)
}

// take takes a row of an answer.
func (q *Query) take(x *execution, a *answer, values []any) error {
	first := !a.some
	a.some = true
	if q.Kind == QueryExists {
		return errEnough
	}
	v := values[0]
	switch q.Kind {
	case QueryValue:
		if !first {
			a.err = q.Placed(errTwoRows)
			return errEnough
		}
		a.value = value.Clone(v)
	case QueryArray:
		list, _ := a.value.(value.Array)
		if len(list) == maxElements {
			a.err = q.Placed(errManyRows)
			return errEnough
		}
		a.value = append(list, value.Clone(v))
	case QueryIn:
		if v == nil {
			a.null = true
			return nil
		}
		if value.IsNaN(v) { // equals nothing
			return nil
		}
		key := q.key(nil, v)
		if a.set[string(key)] {
			return nil
		}
		if a.set == nil {
			a.set = map[string]bool{}
		}
		a.set[string(key)] = true
		return x.hold(len(key) + 48)
	}
	return x.hold(value.Size(v))
}

// fromTable is the answer from the table, which it makes if there is none.
func (q *Query) fromTable(t *Tuple, in *running, of *queried) (*answer, error) {
	h := of.held.Load()
	if h == nil {
		var err error
		if h, err = q.table(t, in, of); err != nil {
			return nil, err
		}
	}
	key, ok, err := joinKey(q.Keys, false, nil, t)
	if err != nil {
		return nil, err
	}
	a := h.byKey[string(key)]
	if a == nil || !ok {
		a = h.other
	}
	return a, a.err
}

// table makes the table.
func (q *Query) table(t *Tuple, in *running, of *queried) (*heldAnswers, error) {
	of.making.Lock()
	defer of.making.Unlock()
	if h := of.held.Load(); h != nil {
		return h, nil
	}
	c := t.call.in(t.Context())
	c.known, c.around = newConstants(q.Held.Size), nil
	kept := &execution{call: c, counted: in.x}
	h, err := q.hold(c, kept, in)
	if err != nil {
		kept.release(kept.held)
		of.spoiled.Store(true)
		return nil, err
	}
	of.held.Store(h)
	return h, nil
}

func (q *Query) hold(c *call, kept *execution, in *running) (*heldAnswers, error) {
	x := &execution{call: c, counted: in.x, limits: in.x.limits, files: in.x.files}
	defer func() {
		x.close()
		x.release(x.held)
	}()
	first, end, err := bounds(q.Limit, q.Offset, x.tuple(nil))
	if err != nil {
		return nil, err
	}
	h := &heldAnswers{byKey: map[string]*answer{}, other: &answer{}}
	put := func(a *answer, values []any) error {
		if q.Having && values[len(values)-1] != true {
			return nil
		}
		if a.rows++; a.rows <= first || a.rows > end || a.err != nil {
			return nil
		}
		return ended(q.take(kept, a, values[:q.Columns]))
	}
	var key []byte
	err = in.rows(q.At, true, x, func(values []any) (err error) {
		var ok bool
		if key, ok, err = joinKey(q.Keys, true, key[:0], x.tuple(values)); !ok || err != nil {
			return err
		}
		a := h.byKey[string(key)]
		if a == nil {
			if err := kept.hold(len(key) + answerBytes); err != nil {
				return err
			}
			a = &answer{}
			h.byKey[string(key)] = a
		}
		return put(a, values)
	})
	if err == nil && q.Alone {
		err = in.nothing(q.At, x, func(values []any) error { return put(h.other, values) })
	}
	return h, err
}

// Value is the value of the query as a value, ARRAY or EXISTS.
func (q *Query) Value(t *Tuple) (any, error) {
	a, err := q.answer(t)
	switch {
	case err != nil:
		return nil, err
	case q.Kind == QueryExists:
		return a.some, nil
	case q.Kind == QueryArray && a.value == nil:
		return value.Array{}, nil
	}
	return a.value, nil
}

func (q *Query) key(dst []byte, v any) []byte {
	if q.Float {
		v = value.ToFloat(v)
	}
	return value.AppendKey(dst, v)
}

// Verdict is the result of IN for a value: TRUE, FALSE or nil for NULL.
func (q *Query) Verdict(t *Tuple, v any) (any, error) {
	a, err := q.answer(t)
	switch {
	case err != nil:
		return nil, err
	case !a.some:
		return false, nil
	case v == nil:
		return nil, nil
	case !value.IsNaN(v) && a.set[string(q.key(nil, v))]:
		return true, nil
	case a.null:
		return nil, nil
	}
	return false, nil
}

// maxRowKeys bounds the rows that IN with a query reads one by one.
const maxRowKeys = 100_000

// RowKeys are the ranges of rows whose keys are among the query's values; ok is false if
// there are too many, or an error, which each row gives then.
func (q *Query) RowKeys(t *Tuple) (ranges []cf.Range, ok bool) {
	a, err := q.answer(t)
	if err != nil || len(a.set) > maxRowKeys {
		return nil, false
	}
	for key := range a.set {
		if values, err := value.ReadRecord([]byte(key)); err == nil {
			ranges = append(ranges, cf.Single(string(values[0].([]byte))))
		}
	}
	slices.SortFunc(ranges, func(a, b cf.Range) int { return strings.Compare(a.Start, b.Start) })
	return ranges, true
}
