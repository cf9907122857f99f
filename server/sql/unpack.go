package sql

import (
	"maps"
	"slices"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/server/sql/parse"
	"github.com/smolwc/smolwc/server/sql/value"
)

// timestampColumn is the column that UNPACK adds.
const timestampColumn = "_timestamp"

// unpacked compiles UNPACK of a query: each row becomes a row for each timestamp in its
// histories, newest first. A history becomes its value at that timestamp, NULL if it has
// no such value; a family becomes a map of its columns with such values; other columns are
// repeated.
func (p *Plan) unpacked(u *parse.Unpack) error {
	for i := range u.Unnests {
		if err := p.unnest(&u.Unnests[i]); err != nil {
			return err
		}
	}
	for _, s := range u.Stages {
		if err := p.stage(s); err != nil {
			return err
		}
	}
	all, err := p.star(parse.Column{Pos: u.Pos})
	if err != nil {
		return err
	}
	histories := 0
	to := scope{alias: u.Alias, slots: len(all) + 1}
	for i, o := range all {
		t := o.expr.typ
		if of, ok := valueAt(t); ok {
			t = of
			histories++
		}
		to.named(slotName{o.name, t, i})
	}
	if histories == 0 {
		return p.Errorf(u.Pos, "UNPACK takes a query with the histories of columns or families: FROM table(with_history => TRUE)")
	}
	to.named(slotName{timestampColumn, value.Type{Kind: value.TypeTimestamp}, len(all)})
	p.scope = to
	p.steps = append(p.steps, step{name: "unpack", alone: true, run: func(x *execution, next sink) sink {
		return sink{push: func(t *tuple) error {
			values, err := outputValues(all, t)
			if err != nil {
				return err
			}
			rows, err := byTimestamp(x, all, values)
			if err != nil {
				return err
			}
			for _, ts := range slices.Backward(slices.Sorted(maps.Keys(rows))) {
				if err := next.push(&tuple{slots: rows[ts]}); err != nil {
					return err
				}
			}
			return nil
		}, end: next.end}
	}})
	return nil
}

// valueAt is the type of the values of a history, or of a family of histories.
func valueAt(t value.Type) (of value.Type, ok bool) {
	switch t.Kind {
	case value.TypeMap:
		of, ok = valueAt(*t.Of)
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
func byTimestamp(x *execution, all []output, values []any) (rows map[cells.Timestamp][]any, err error) {
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
			switch t := all[i].expr.typ; {
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
		if !isHistory(all[i].expr.typ) {
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
	_, ok := valueAt(t)
	return ok
}
