package sql

import (
	"fmt"
	"iter"
	"time"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/sql/parse"
	"github.com/smolwc/smolwc/sql/value"
)

// A Result is the columns and the rows of a query that runs while the caller ranges over
// Rows, which may be done once. The values of a row have the types of package value, are in
// the order of the columns, and the caller may keep them. An error is the last element.
type Result struct {
	Columns []Column
	Rows    iter.Seq2[[]any, error]
}

// A Row is a row of a [Result]. The caller may keep it.
type Row struct {
	columns []Column
	values  []any
}

// All are the rows of the result, which the caller may range over once. An error is the last
// element, without a row.
func (r *Result) All() iter.Seq2[*Row, error] {
	return func(yield func(*Row, error) bool) {
		for values, err := range r.Rows {
			row := &Row{r.Columns, values}
			if err != nil {
				row = nil
			}
			if !yield(row, err) || err != nil {
				return
			}
		}
	}
}

// Scan puts the values of the columns, in their order, where dest points to. Each SQL type
// is scanned into a Go type:
//
//   - BYTES, and messages: []byte
//   - STRING: string
//   - INT64, and enums: int64
//   - FLOAT32: float32, or float64
//   - FLOAT64: float64
//   - NUMERIC: [value.Numeric]
//   - BOOL: bool
//   - INTERVAL: [value.Interval]
//   - TIMESTAMP: [time.Time] in UTC, or [cells.Timestamp]
//   - DATETIME: [value.Datetime]
//   - DATE: [value.Date]
//   - JSON: [value.JSON]
//   - ARRAY: [value.Array], STRUCT: [value.Struct], a family: [value.Map]
//
// A column that can be NULL takes a pointer to a pointer, which becomes nil. Any column can
// be put into an any. Every other combination is an error: no value is converted.
func (r *Row) Scan(dest ...any) error {
	if len(dest) != len(r.values) {
		return &parse.Error{Message: fmt.Sprintf("the row has %d columns, and Scan was given %d places", len(r.values), len(dest))}
	}
	for i, d := range dest {
		if err := r.scan(i, d); err != nil {
			return err
		}
	}
	return nil
}

// As is the value of the column of a name, as [Row.Scan] puts it into a T.
func As[T any](r *Row, column string) (T, error) {
	var v T
	found := -1
	for i, c := range r.columns {
		if c.Name != column {
			continue
		}
		if found >= 0 {
			return v, &parse.Error{Message: fmt.Sprintf("the result has two columns %q; give one another name with AS", column)}
		}
		found = i
	}
	if found < 0 {
		return v, &parse.Error{Message: fmt.Sprintf("the result has no column %q", column)}
	}
	err := r.scan(found, &v)
	return v, err
}

func (r *Row) scan(i int, dest any) error {
	v, column := r.values[i], r.columns[i]
	switch {
	case put(dest, v):
		return nil
	case v == nil:
		return &parse.Error{Message: fmt.Sprintf("column %d (%s) is NULL; a pointer to a pointer takes NULL, and %T does not", i+1, column.Name, dest)}
	}
	return &parse.Error{Message: fmt.Sprintf("column %d (%s) is %s, which %T does not take", i+1, column.Name, column.Type, dest)}
}

// put reports whether the value is of the type that dest points to.
func put(dest, v any) bool {
	switch d := dest.(type) {
	case *any:
		*d = v
		return true
	case *float64:
		if f, ok := v.(float32); ok {
			*d = float64(f)
			return true
		}
		return assign(d, v)
	case *time.Time:
		at, ok := v.(cells.Timestamp)
		if ok {
			*d = at.Time()
		}
		return ok
	case *[]byte:
		return assign(d, v)
	case *string:
		return assign(d, v)
	case *int64:
		return assign(d, v)
	case *float32:
		return assign(d, v)
	case *bool:
		return assign(d, v)
	case *cells.Timestamp:
		return assign(d, v)
	case *value.Date:
		return assign(d, v)
	case *value.Datetime:
		return assign(d, v)
	case *value.Numeric:
		return assign(d, v)
	case *value.JSON:
		return assign(d, v)
	case *value.Interval:
		return assign(d, v)
	case *value.Array:
		return assign(d, v)
	case *value.Struct:
		return assign(d, v)
	case *value.Map:
		return assign(d, v)
	case **[]byte:
		return orNull(d, v)
	case **string:
		return orNull(d, v)
	case **int64:
		return orNull(d, v)
	case **float32:
		return orNull(d, v)
	case **float64:
		return orNull(d, v)
	case **bool:
		return orNull(d, v)
	case **cells.Timestamp:
		return orNull(d, v)
	case **time.Time:
		return orNull(d, v)
	case **value.Date:
		return orNull(d, v)
	case **value.Datetime:
		return orNull(d, v)
	case **value.Numeric:
		return orNull(d, v)
	case **value.JSON:
		return orNull(d, v)
	case **value.Interval:
		return orNull(d, v)
	case **value.Array:
		return orNull(d, v)
	case **value.Struct:
		return orNull(d, v)
	case **value.Map:
		return orNull(d, v)
	}
	return false
}

func assign[T any](d *T, v any) bool {
	of, ok := v.(T)
	if ok {
		*d = of
	}
	return ok
}

func orNull[T any](d **T, v any) bool {
	if v == nil {
		*d = nil
		return true
	}
	of := new(T)
	ok := put(of, v)
	if ok {
		*d = of
	}
	return ok
}
