package run

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/internal/humanize"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/schema"
)

// maxExplained bounds the ranges and columns that EXPLAIN lists.
const maxExplained = 20

// explained emits the lines of EXPLAIN: the reads, and the steps after them.
func (r *Runner) explained(ctx context.Context, emit func([]any) error) error {
	t := r.alone(ctx)
	lines := r.explanation(t)
	for i, q := range r.plan.Queries {
		of := q.explained(r, t)
		of[0] = fmt.Sprintf("query %d in an expression, %s", i+1, of[0])
		lines = append(lines, of...)
	}
	if a := r.analysis; a != nil {
		lines = append(lines, "result of "+humanize.Count(a.rows, "row")+" in "+a.took.Round(time.Microsecond).String())
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
			add("  %s", humanize.Count(r.analysis.of(p, 0).rows.Load(), "row"))
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

// analyzed runs the query and emits the lines of EXPLAIN with figures.
func (r *Runner) analyzed(ctx context.Context, tables Tables, emit func([]any) error) error {
	own, plan := *r, *r.plan
	plan.Explain, own.plan = false, &plan
	a := &analysis{plans: map[any][]*figures{}}
	own.analysis = a
	count := func([]any) error { a.rows++; return nil }
	began := time.Now()
	var err error
	if plan.Stream {
		f := a.of(&plan, 0)
		err = own.emitWanted(ctx, countedTable{tables(plan.Table), f}, func([]any) error { f.rows.Add(1); return count(nil) })
		f.since(began)
	} else {
		err = own.Run(ctx, tables, count)
	}
	if err != nil {
		return err
	}
	a.took = time.Since(began)
	return own.explained(ctx, emit)
}

// A countedTable counts the rows that are read.
type countedTable struct {
	Table
	f *figures
}

func (c countedTable) ReadRows(ctx context.Context, opts ...read.Option) iter.Seq2[*query.Row, error] {
	return c.f.counted(c.Table.ReadRows(ctx, opts...))
}

// figured adds the figures of a stage below its first line.
func (r *Runner) figured(lines []string, stage int) []string {
	if r.analysis == nil || len(lines) == 0 {
		return lines
	}
	f := r.analysis.of(r.plan, stage)
	rows := f.rows.Load()
	if stage == 0 && r.plan.From == nil && r.plan.Table != "" {
		rows = f.read.Load()
	}
	text := "  " + humanize.Count(rows, "row") + " in " + time.Duration(max(0, f.nanos.Load())).Round(time.Microsecond).String()
	if n := f.held.Load(); n > 0 {
		text += ", " + bytesText(n) + " held"
	}
	if n := f.disk.Load(); n > 0 {
		text += ", " + bytesText(n) + " on disk"
	}
	return append([]string{lines[0], text}, lines[1:]...)
}

// bytesText is a number of bytes for people.
func bytesText(n int64) string {
	for _, unit := range []string{"bytes", "KiB", "MiB"} {
		if n < 10_000 {
			return fmt.Sprint(n, " ", unit)
		}
		n /= 1024
	}
	return fmt.Sprint(n, " GiB")
}

// explained says how the query is answered.
func (q *Query) explained(r *Runner, t *Tuple) (lines []string) {
	plan, how := q.Plan, "once its value is needed"
	switch {
	case q.Held != nil && q.ByKey:
		how = "read by key for each row around it, and held by " + humanize.Count(len(q.Keys), "value") + " after 10,000"
	case q.Held != nil:
		plan, how = q.Held, "held by "+humanize.Count(len(q.Keys), "value")+" of the row around it"
	case q.ByKey:
		how = "read by key for each row around it"
	case len(q.Outer) > 0:
		how = "run for each row around it"
	}
	if r.analysis != nil {
		of := &r.analysis.queries.of[q.At]
		if runs := of.runs.Load(); len(q.Outer) > 0 && (q.Held == nil || runs > 0) {
			how += ", and ran for " + humanize.Count(runs, "row")
		}
		if h := of.held.Load(); h != nil {
			plan = q.Held
			how += ", and held " + humanize.Count(len(h.byKey), "answer")
		}
	}
	lines = append(lines, how+":")
	alone := &Tuple{call: &call{ctx: t.call.ctx, known: newConstants(plan.Size)}}
	return append(lines, indented(r.of(plan).explanation(alone))...)
}
