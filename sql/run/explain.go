package run

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/schema"
)

// maxExplained bounds the ranges and columns that EXPLAIN lists.
const maxExplained = 20

// explained emits the lines of EXPLAIN: what is read, and what is done with it.
func (r *Runner) explained(ctx context.Context, emit func([]any) error) error {
	t := r.alone(ctx)
	lines := r.explanation(t)
	for i, q := range r.plan.Queries {
		of := q.explained(r, t)
		of[0] = fmt.Sprintf("query %d in an expression, %s", i+1, of[0])
		lines = append(lines, of...)
	}
	if a := r.analysis; a != nil {
		lines = append(lines, "result of "+plural(int(a.rows), "row")+" in "+a.took.Round(time.Microsecond).String())
	}
	for _, line := range lines {
		if err := emit([]any{line}); err != nil {
			return err
		}
	}
	return nil
}

func (r *Runner) explanation(t *Tuple) (lines []string) {
	p := r.plan
	add := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	switch {
	case p.From != nil:
		lines = append(lines, r.figured(p.From.explained(r, t), 0)...)
	case p.Table == "":
		lines = r.figured([]string{"one row without a table"}, 0)
	default:
		lines = append(lines, r.figured(r.explainedRead(t), 0)...)
	}
	parted := -1
	if p.From == nil && p.Table != "" {
		parted = p.partial()
	}
	for i, s := range p.Steps {
		text := s.name
		if i == parted {
			text += "; parts of the table on all processors, then merged"
		}
		lines = append(lines, r.figured([]string{text}, i+1)...)
	}
	if p.Stream {
		add("select %d columns, row by row", len(p.Columns))
		if p.Limit != nil {
			add("limit")
		}
	}
	return lines
}

func (r *Runner) explainedRead(t *Tuple) (lines []string) {
	add := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	p := r.plan
	t.call.asked = false
	keys := r.keys(t)
	direction := ""
	if p.Reverse {
		direction = ", from the last"
	}
	switch {
	case t.call.asked:
		add("read the rows of %s that the row around names%s", p.Table, direction)
	case len(keys) == 0:
		add("read no rows of %s", p.Table)
	case len(keys) == 1 && keys[0] == (cf.Range{}):
		add("read all rows of %s%s", p.Table, direction)
	default:
		add("read %d ranges of rows of %s%s", len(keys), p.Table, direction)
		for _, r := range keys[:min(len(keys), maxExplained)] {
			add("  from %q to %q", r.Start, r.End)
		}
	}
	lines = append(lines, p.explainedColumns()...)
	for _, c := range r.conditions(t) {
		add("  where %s", c)
	}
	if r.limitsRead() && p.Limit != nil {
		add("  as many rows as LIMIT and OFFSET need")
	}
	if p.Where != nil {
		add("filter rows")
		if r.analysis != nil {
			add("  %s", plural(int(r.analysis.of(p, 0).rows.Load()), "row"))
		}
	}
	return lines
}

// explainedColumns says which cells are read.
func (p *Plan) explainedColumns() (lines []string) {
	whole := func(f schema.Family) bool { return slices.Contains(p.Reads, read.Family(f.Name)) }
	switch {
	case !p.Cells:
		return []string{"  row keys only"}
	case len(p.Reads) == 0, !slices.ContainsFunc(p.Families, func(f schema.Family) bool { return !whole(f) }):
		return []string{"  whole rows"}
	}
	seen := map[read.ColumnSpec]bool{}
	for _, c := range p.Reads {
		switch {
		case seen[c] || len(seen) == maxExplained:
		case c.Kind == read.OneColumn:
			lines = append(lines, fmt.Sprintf("  column %s:%s", c.Family, c.Qualifier))
		default:
			lines = append(lines, fmt.Sprintf("  family %s", c.Family))
		}
		seen[c] = true
	}
	if !p.Pushed {
		lines = append(lines, "  which rows have other cells")
	}
	return lines
}

func indented(lines []string) []string {
	for i, line := range lines {
		lines[i] = "  " + line
	}
	return lines
}
