package run

import (
	"bytes"
	"context"
	"slices"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/sql/message"
	"github.com/smolwc/smolwc/sql/parse"
	"github.com/smolwc/smolwc/sql/value"
)

// An Eval computes an expression of a tuple. The tuple is nil where the query does not run
// yet, which only expressions that are the same for every row take.
type Eval func(*Tuple) (any, error)

// A Tuple is a row between two steps, as expressions see it: a row of the table, the
// values that steps have computed, or both.
type Tuple struct {
	Row     *query.Row
	slots   []any
	decoded []decodedMessage // so that several fields of a message cost one decoding
	made    int              // the bytes that functions have made of the row so far
	call    *call            // nil where none is known
	args    []any            // the arguments of the lambdas under way
	called  int              // how often lambdas were called of the row so far
}

// A call is what all tuples of a run share.
type call struct {
	ctx     context.Context
	known   *Constants // nil: nothing is remembered
	queries *running   // the queries in expressions; nil: there is no run
	around  []any      // the values that a query in an expression takes of the row around it
	asked   bool       // for them, where there are none
}

// Context is the context of the run.
func (t *Tuple) Context() context.Context {
	if t == nil || t.call == nil || t.call.ctx == nil {
		return context.Background()
	}
	return t.call.ctx
}

// constants are what the run remembers; nil outside of a run.
func (t *Tuple) constants() *Constants {
	if t.call == nil {
		return nil
	}
	return t.call.known
}

// Alone is a tuple of the same run, without a row and without values. Expressions that are the
// same for every row take it.
func (t *Tuple) Alone() *Tuple {
	if t == nil {
		return &Tuple{}
	}
	return &Tuple{call: t.call}
}

// after is a tuple that a step makes of this one, with other values.
func (t *Tuple) after(slots []any) *Tuple { return &Tuple{slots: slots, made: t.made, call: t.call} }

// Slot is the i-th value that a step computed for a tuple, from 0.
func Slot(i int) Eval { return func(t *Tuple) (any, error) { return t.slots[i], nil } }

// Argument is the i-th argument of the lambdas under way, from 0.
func Argument(i int) Eval { return func(t *Tuple) (any, error) { return t.args[i], nil } }

// All computes expressions in their order.
func All(parts []Eval, t *Tuple) ([]any, error) {
	return appendTo(make([]any, 0, len(parts)), parts, t)
}

// appendTo appends the values of expressions.
func appendTo(values []any, parts []Eval, t *Tuple) ([]any, error) {
	for _, eval := range parts {
		v, err := eval(t)
		if err != nil {
			return nil, err
		}
		values = append(values, v)
	}
	return values, nil
}

// maxMade bounds the bytes that functions make of one row. They may all be in memory at
// once: as columns, as elements, or as arguments of a function whose next argument is under
// way.
const maxMade = 512 << 20

// Counted makes the values of an expression count towards the bytes made of their row.
// placed gives an error its place; nil stays nil.
func Counted(of Eval, placed func(error) error) Eval {
	return func(t *Tuple) (any, error) {
		if t == nil { // it is the same for every row
			t = &Tuple{}
		}
		v, err := of(t)
		if err != nil {
			return nil, err
		}
		return v, placed(t.making(v))
	}
}

// making counts a value that functions make of a row.
func (t *Tuple) making(v any) error {
	const word = 32 // bytes of an element that is not counted by itself
	switch v := v.(type) {
	case string:
		return t.count(len(v))
	case []byte:
		return t.count(len(v))
	case value.Array:
		return t.count(word * len(v))
	case value.Struct:
		return t.count(word * len(v))
	}
	return nil
}

// count counts bytes that functions make of a row.
func (t *Tuple) count(bytes int) error {
	if t.made += bytes; t.made > maxMade {
		return &parse.Error{Message: "the functions of the query make more than 512 MiB of one row"}
	}
	return nil
}

// maxCalled bounds the calls of lambdas of one row: a second or two.
const maxCalled = 1 << 22

// A Lambda is a lambda whose first argument is number Depth of all arguments under way: an
// element. A second argument is its number, from 0.
type Lambda struct {
	Body   Eval
	Depth  int
	Names  int               // 1 or 2
	Placed func(error) error // gives an error its place
}

// Each computes the lambda for each element in turn, until fn returns false.
func (l *Lambda) Each(t *Tuple, all value.Array, fn func(i int, v any) bool) error {
	inner := *t
	defer func() { t.made, t.called, t.decoded = inner.made, inner.called, inner.decoded }()
	inner.args = append(slices.Clip(inner.args), []any{nil, nil}[:l.Names]...)
	ctx := t.Context()
	for i, e := range all {
		if inner.called++; inner.called > maxCalled {
			return l.Placed(parse.Invalid("the lambdas of the query are called more than %d times for one row", maxCalled))
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		inner.args[l.Depth] = e
		if l.Names == 2 {
			inner.args[l.Depth+1] = int64(i)
		}
		v, err := l.Body(&inner)
		if err != nil {
			return err
		}
		if !fn(i, v) {
			return nil
		}
	}
	return nil
}

// A decodedMessage is a message of a tuple, and what it was decoded from.
type decodedMessage struct {
	of      protoreflect.Descriptor
	encoded []byte
	m       protoreflect.Message
}

// Message decodes a message of the tuple once.
func (t *Tuple) Message(of value.Type, encoded []byte) (protoreflect.Message, error) {
	if t == nil { // the expression is the same for every row
		return message.Decode(of, encoded)
	}
	for _, d := range t.decoded {
		if d.of == of.Proto.Of && bytes.Equal(d.encoded, encoded) {
			return d.m, nil
		}
	}
	m, err := message.Decode(of, encoded)
	if err == nil {
		t.decoded = append(t.decoded, decodedMessage{of.Proto.Of, encoded, m})
	}
	return m, err
}

// A JoinKey is an expression of the rows of the left side and one of those of the right side,
// which must be equal. Float says that they are compared as FLOAT64.
type JoinKey struct {
	Left, Right Eval
	Float       bool
}

// joinKey appends the values of one side of keys; ok is false if they equal no others: one is
// NULL or NaN.
func joinKey(keys []JoinKey, right bool, dst []byte, t *Tuple) (_ []byte, ok bool, err error) {
	for _, k := range keys {
		eval := k.Left
		if right {
			eval = k.Right
		}
		v, err := eval(t)
		if v == nil || err != nil || value.IsNaN(v) {
			return dst, false, err
		}
		if k.Float {
			v = value.ToFloat(v)
		}
		dst = value.AppendKey(dst, v)
	}
	return dst, true, nil
}
