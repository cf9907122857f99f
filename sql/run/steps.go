package run

import (
	"maps"
	"math"
	"slices"
	"strconv"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/sql/parse"
	"github.com/smolwc/smolwc/sql/value"
)

// A Step makes tuples of tuples. It makes the sink of its own before the sink of the next.
type Step struct {
	name   string // in EXPLAIN
	run    func(x *execution, next sink) sink
	alone  bool      // each tuple is by itself
	groups *Grouping // of a step that groups
}

// Project is a step that makes columns the tuples' values.
func Project(columns []Eval) Step {
	return Step{name: "select " + strconv.Itoa(len(columns)) + " columns", alone: true, run: func(_ *execution, next sink) sink {
		lent := next.lender()
		return next.by(func(t *Tuple) error {
			values, err := appendTo(lent.values(len(columns)), columns, t)
			if err != nil {
				return err
			}
			return next.push(lent.tuple(*t.after(values)))
		})
	}}
}

// Filter is a step that leaves tuples for which a condition is TRUE.
func Filter(condition Eval) Step {
	return Step{name: "filter", alone: true, run: func(_ *execution, next sink) sink {
		return next.by(func(t *Tuple) error {
			v, err := condition(t)
			if v != true || err != nil {
				return err
			}
			return next.push(t)
		})
	}}
}

// Extend is a step that adds columns to the values of tuples.
func Extend(added []Eval) Step {
	return Step{name: "extend " + strconv.Itoa(len(added)) + " columns", alone: true, run: func(_ *execution, next sink) sink {
		lent := next.lender()
		return next.by(func(t *Tuple) error {
			values, err := appendTo(append(lent.values(len(t.slots)+len(added)), t.slots...), added, t)
			if err != nil {
				return err
			}
			return next.push(lent.tuple(Tuple{Row: t.Row, slots: values, made: t.made, call: t.call}))
		})
	}}
}

// Distinct is a step that removes tuples whose columns equal an earlier tuple's. files says
// that rows beyond a bound go to a file, which tuples with rows of the table cannot.
func Distinct(columns []Eval, files bool) Step {
	name := "distinct"
	if files {
		name += ", on disk beyond 96 MiB"
	}
	return Step{name: name, run: func(x *execution, next sink) sink {
		seen := keySet{x: x, room: math.MaxInt}
		if files {
			seen.room = x.root().limits.Grouped
		}
		return sink{push: func(t *Tuple) error {
			values, err := All(columns, t)
			if err != nil {
				return err
			}
			if added, err := seen.add(t.slots, values); !added || err != nil {
				return err
			}
			return next.push(t)
		}, end: func() error {
			err := seen.rest(func(slots []any) error { return next.push(x.tuple(slots)) })
			if err := ended(err); err != nil {
				return err
			}
			return next.end()
		}, copies: next.copies}
	}}
}

// Limit is a step of LIMIT and OFFSET. Each may be nil.
func Limit(limit, offset Eval) Step {
	return Step{name: "limit", run: func(x *execution, next sink) sink {
		first, end, err := bounds(limit, offset, x.tuple(nil))
		rows := uint64(0)
		return sink{push: func(t *Tuple) error {
			if err != nil {
				return err
			}
			if rows >= end {
				return errEnough
			}
			if rows++; rows <= first {
				return nil
			}
			return next.push(t)
		}, end: func() error {
			if err != nil {
				return err
			}
			return next.end()
		}, copies: next.copies}
	}}
}

// maxUnnested bounds the rows that all UNNESTs of a query make of one row of the table. A row
// counts once more for each wideRow columns in it.
const (
	maxUnnested = 1_000_000
	wideRow     = 64
)

// Unnest is a step that makes a tuple of each element of an array: it adds the element to the
// values, or its fields if fields is not 0, and then its number if offset is set.
func Unnest(array Eval, fields int, offset bool) Step {
	return Step{name: "unnest", alone: true, run: func(x *execution, next sink) sink {
		return next.by(func(t *Tuple) error {
			v, err := array(t)
			if v == nil || err != nil {
				return err
			}
			for i, element := range v.(value.Array) {
				if err := x.made(1 + len(t.slots)/wideRow); err != nil {
					return err
				}
				slots := elementSlots(slices.Clip(t.slots), element, fields)
				if offset {
					slots = append(slots, int64(i))
				}
				if err := next.push(&Tuple{Row: t.Row, slots: slots, made: t.made, call: t.call}); err != nil {
					return err
				}
			}
			return nil
		})
	}}
}

// elementSlots adds an element, or the fields of one.
func elementSlots(slots []any, element any, fields int) []any {
	if fields == 0 {
		return append(slots, element)
	}
	if s, ok := element.(value.Struct); ok {
		return append(slots, s...)
	}
	return append(slots, make([]any, fields)...)
}

// Records is a step that makes the record of a row of a materialized view its values.
func Records(columns int) Step {
	return Step{name: "take the columns of the view", alone: true, run: func(_ *execution, next sink) sink {
		return next.by(func(t *Tuple) error {
			c, ok := t.Row.Cell(RecordFamily, "")
			if !ok {
				return nil
			}
			b, _ := c.Value.AsBytes()
			values, err := value.ReadRecord(b)
			if err == nil && len(values) != columns {
				err = parse.Invalid("the record of a row of the view has %d values, not %d", len(values), columns)
			}
			if err != nil {
				return err
			}
			return next.push(&Tuple{slots: values, call: t.call})
		})
	}}
}

// Unpack is a step that makes a tuple of each timestamp in the histories among columns,
// newest first. A history becomes its value at that timestamp, or NULL; a family becomes a
// map of its columns that have a value then; other columns are repeated. The timestamp is
// the last value.
func Unpack(columns []Output) Step {
	var evals []Eval
	for _, c := range columns {
		evals = append(evals, c.Eval)
	}
	return Step{name: "unpack", alone: true, run: func(x *execution, next sink) sink {
		return next.by(func(t *Tuple) error {
			values, err := All(evals, t)
			if err != nil {
				return err
			}
			rows, err := byTimestamp(x, columns, values)
			if err != nil {
				return err
			}
			for _, ts := range slices.Backward(slices.Sorted(maps.Keys(rows))) {
				if err := next.push(t.after(rows[ts])); err != nil {
					return err
				}
			}
			return nil
		})
	}}
}

// ValueAt is the type of the values of a history, or of a family of histories.
func ValueAt(t value.Type) (of value.Type, ok bool) {
	switch t.Kind {
	case value.TypeMap:
		of, ok = ValueAt(*t.Of)
		return value.MapOf(of), ok && t.Of.Kind == value.TypeArray
	case value.TypeArray:
		cell := *t.Of
		if cell.Kind == value.TypeStruct && len(cell.Fields) == 2 && cell.Fields[0].Type.Kind == value.TypeTimestamp && cell.Same(value.CellType(cell.Fields[1].Type)) {
			return cell.Fields[1].Type, true
		}
	}
	return t, false
}

// byTimestamp are the rows that a row becomes.
func byTimestamp(x *execution, columns []Output, values []any) (rows map[cells.Timestamp][]any, err error) {
	rows = map[cells.Timestamp][]any{}
	at := func(ts cells.Timestamp) []any {
		if found := rows[ts]; found != nil || err != nil {
			return found
		}
		if err = x.made(1); err != nil {
			return nil
		}
		row := make([]any, len(values)+1)
		for i, v := range values {
			switch t := columns[i].Type; {
			case !isHistory(t):
				row[i] = v
			case t.Kind == value.TypeMap:
				row[i] = value.Map{}
			}
		}
		row[len(values)] = ts
		rows[ts] = row
		return row
	}
	each := func(history any, put func(row []any, v any)) {
		cellsOf, _ := history.(value.Array)
		for _, c := range cellsOf {
			if cell, ok := c.(value.Struct); ok && cell[0] != nil {
				if row := at(cell[0].(cells.Timestamp)); row != nil {
					put(row, cell[1])
				}
			}
		}
	}
	for i, v := range values {
		if !isHistory(columns[i].Type) {
			continue
		}
		family, ok := v.(value.Map)
		if !ok {
			each(v, func(row []any, v any) { row[i] = v })
		}
		for _, column := range family {
			each(column.Value, func(row []any, v any) {
				row[i] = append(row[i].(value.Map), value.Entry{Qualifier: column.Qualifier, Value: v})
			})
		}
	}
	return rows, err
}

func isHistory(t value.Type) bool {
	_, ok := ValueAt(t)
	return ok
}
