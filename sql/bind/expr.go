package bind

import (
	"context"
	"slices"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/sql/message"
	"github.com/smolwc/smolwc/sql/run"
	"github.com/smolwc/smolwc/sql/value"
)

func allFixed(parts []*expr) bool {
	return !slices.ContainsFunc(parts, func(part *expr) bool { return !part.fixed })
}

func structField(of *expr, i int) *expr {
	return mapped(of, of.typ.Fields[i].Type, func(v any) (any, error) { return v.(value.Struct)[i], nil })
}

// An expr is an expression that can be evaluated.
type expr struct {
	typ     value.Type
	key     bool // it is _key
	keyText bool // it is CAST(_key AS STRING)
	fixed   bool // it is the same for every row
	strict  bool // it is NULL in a row without any of the columns that the query reads
	rejects bool // it is not TRUE there
	lacks   bool // it is TRUE there
	literal bool
	parts   []*expr // of an array or a struct that is written part by part
	eval    run.Eval
	// keys are the rows for which a condition may hold; nil: all.
	keys    func(*run.Tuple) keyRanges
	decode  decoder   // of a message; nil: it must be decoded from its bytes
	entries *mapField // nil: it is not a map in a message
	// keyField is the number of the field of the row key that it is, from 1.
	keyField int
	fields   []fieldCondition // they hold in every row for which a condition does
	// column is the column whose newest cell it is; nil: it is not a single cell.
	column *cellExpr
	// stored are conditions that the store can judge. They hold in every row for which
	// the condition does; nil: the store judges nothing.
	stored func(*run.Tuple) []read.Condition
}

// A cellExpr is the newest cell of a column as a value.
type cellExpr struct {
	run.Cell
	declared cells.Type
}

// slotExpr is a value computed by a stage.
func slotExpr(t value.Type, slot int) *expr { return &expr{typ: t, eval: run.Slot(slot)} }

// evals are what runs need of expressions.
func evals(all []*expr) (list []run.Eval) {
	for _, e := range all {
		list = append(list, e.eval)
	}
	return list
}

// evalOf is what runs need of an expression; nil stays nil.
func evalOf(e *expr) run.Eval {
	if e == nil {
		return nil
	}
	return e.eval
}

func fixedExpr(t value.Type, v any) *expr {
	return &expr{typ: t, fixed: true, literal: true, eval: func(*run.Tuple) (any, error) { return v, nil }}
}

// mapped is a function of an expression; it is NULL when the expression is.
func mapped(e *expr, t value.Type, f func(any) (any, error)) *expr {
	return &expr{typ: t, fixed: e.fixed, strict: e.strict, eval: func(r *run.Tuple) (any, error) {
		v, err := e.eval(r)
		if v == nil || err != nil {
			return nil, err
		}
		return f(v)
	}}
}

// combined is a function of several expressions; it is NULL when any of them is.
func combined(parts []*expr, t value.Type, f func([]any) (any, error)) *expr {
	return combinedIn(parts, t, func(_ context.Context, values []any) (any, error) { return f(values) })
}

// combinedIn is combined for a function that may take long, which the context of the query
// ends.
func combinedIn(parts []*expr, t value.Type, f func(context.Context, []any) (any, error)) *expr {
	e := &expr{typ: t, fixed: true}
	for _, part := range parts {
		e.fixed = e.fixed && part.fixed
		e.strict = e.strict || part.strict
	}
	e.eval = func(r *run.Tuple) (any, error) {
		values, err := evalAll(parts, r)
		if err != nil || slices.Contains(values, nil) {
			return nil, err
		}
		return f(r.Context(), values)
	}
	return e
}

// combinedWithNulls is combinedIn for a function that takes NULL.
func combinedWithNulls(parts []*expr, t value.Type, f func(context.Context, []any) (any, error)) *expr {
	return &expr{typ: t, fixed: allFixed(parts), eval: func(r *run.Tuple) (any, error) {
		values, err := evalAll(parts, r)
		if err != nil {
			return nil, err
		}
		return f(r.Context(), values)
	}}
}

func evalAll(parts []*expr, t *run.Tuple) ([]any, error) {
	values := make([]any, len(parts))
	for i, part := range parts {
		var err error
		if values[i], err = part.eval(t); err != nil {
			return nil, err
		}
	}
	return values, nil
}

// both evaluates two expressions.
func both(a, b *expr, r *run.Tuple) (x, y any, err error) {
	if x, err = a.eval(r); err != nil {
		return nil, nil, err
	}
	y, err = b.eval(r)
	return x, y, err
}

// A decoder is an expression that is a message, decoded; nil for NULL.
type decoder func(*run.Tuple) (protoreflect.Message, error)

// A mapField is an expression that is a map in a message.
type mapField struct {
	field  *message.Field
	decode decoder
}
