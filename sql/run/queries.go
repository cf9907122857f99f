package run

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/sql/parse"
	"github.com/smolwc/smolwc/sql/value"
)

// A Query is a query in an expression, which is the same for every row. It runs when its
// value is first needed, once in each run.
type Query struct {
	at     int  // its number among the queries of the plan
	float  bool // its values are looked for as FLOAT64
	placed func(error) error
}

// NewQuery is the query number at of a plan. float says that its values, which are looked
// for, are compared as FLOAT64. placed gives an error its place; nil stays nil.
func NewQuery(at int, float bool, placed func(error) error) *Query {
	return &Query{at, float, placed}
}

var (
	errTwoRows  = errors.New("the query in brackets has more than one row; LIMIT 1 leaves one, and ARRAY(…) makes an array of all")
	errNotRuns  = errors.New("a query cannot stand where the value must be known before the query runs")
	errManyRows = &parse.Error{Message: "ARRAY of a query has more than 1,048,576 elements"}
)

const maxElements = 1 << 20

// answer runs the query, unless it has run already. take takes its rows.
func (q *Query) answer(t *Tuple, take func(x *execution, a *answer, v any) error) (*answer, error) {
	if t == nil || t.constants() == nil || t.constants().running == nil {
		return nil, q.placed(errNotRuns)
	}
	known := t.constants()
	of := &known.queries[q.at]
	if a := of.done.Load(); a != nil {
		return a, nil
	}
	of.mu.Lock()
	defer of.mu.Unlock()
	if a := of.done.Load(); a != nil {
		return a, nil
	}
	a, err := q.run(t.Context(), known.running, take)
	if err == nil {
		of.done.Store(a)
	}
	return a, err
}

func (q *Query) run(ctx context.Context, in *running, take func(x *execution, a *answer, v any) error) (*answer, error) {
	kept := &execution{call: &call{ctx, in.x.known}, counted: in.x}
	x := &execution{call: kept.call, counted: in.x, limits: in.x.limits, files: in.x.files}
	defer func() {
		x.close()
		x.release(x.held)
	}()
	a := &answer{}
	err := in.rows(q.at, x, func(values []any) error {
		a.some = true
		var v any
		if len(values) > 0 {
			v = values[0]
		}
		return take(kept, a, v)
	})
	return a, ended(err)
}

// Value is the value of the query's only row, or NULL.
func (q *Query) Value(t *Tuple) (any, error) {
	a, err := q.answer(t, func(x *execution, a *answer, v any) error {
		if a.set != nil {
			return q.placed(errTwoRows)
		}
		a.set, a.value = map[string]bool{}, value.Clone(v)
		return x.hold(value.Size(v))
	})
	if err != nil {
		return nil, err
	}
	return a.value, nil
}

// Array is the values of all rows.
func (q *Query) Array(t *Tuple) (any, error) {
	a, err := q.answer(t, func(x *execution, a *answer, v any) error {
		list, _ := a.value.(value.Array)
		if len(list) == maxElements {
			return q.placed(errManyRows)
		}
		a.value = append(list, value.Clone(v))
		return x.hold(value.Size(v))
	})
	if err != nil {
		return nil, err
	}
	if a.value == nil {
		return value.Array{}, nil
	}
	return a.value, nil
}

// Exists reports whether the query has a row.
func (q *Query) Exists(t *Tuple) (any, error) {
	a, err := q.answer(t, func(*execution, *answer, any) error { return errEnough })
	if err != nil {
		return nil, err
	}
	return a.some, nil
}

// among is the set of the query's values.
func (q *Query) among(t *Tuple) (*answer, error) {
	return q.answer(t, func(x *execution, a *answer, v any) error {
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
	})
}

func (q *Query) key(dst []byte, v any) []byte {
	if q.float {
		v = value.ToFloat(v)
	}
	return value.AppendKey(dst, v)
}

// Verdict is the result of IN for a value: TRUE, FALSE or nil for NULL.
func (q *Query) Verdict(t *Tuple, v any) (any, error) {
	a, err := q.among(t)
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
	a, err := q.among(t)
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
