package run

import (
	"context"
	"fmt"
	"iter"
	"sync"
	"sync/atomic"
	"time"

	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/read"
)

// An analysis is what the stages of a query did, for EXPLAIN ANALYZE.
type analysis struct {
	mu      sync.Mutex
	plans   map[*Plan][]*figures
	queries *running
	rows    int64
	took    time.Duration
}

// figures are those of a stage, on all processors together. Its time is that of no other one,
// but that of the queries in its expressions.
type figures struct {
	read, rows, nanos, held, disk atomic.Int64
}

// of are the figures of a stage: the source is number 0.
func (a *analysis) of(p *Plan, stage int) *figures {
	a.mu.Lock()
	defer a.mu.Unlock()
	all := a.plans[p]
	if all == nil {
		all = make([]*figures, len(p.Steps)+1)
		for i := range all {
			all[i] = new(figures)
		}
		a.plans[p] = all
	}
	return all[stage]
}

func (f *figures) since(began time.Time) { f.nanos.Add(int64(time.Since(began))) }

func (f *figures) except(began time.Time) { f.nanos.Add(-int64(time.Since(began))) }

// most notes the bytes that an execution held at once.
func (f *figures) most(x *execution) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for {
		old := f.held.Load()
		if int64(x.most) <= old || f.held.CompareAndSwap(old, int64(x.most)) {
			return
		}
	}
}

// into measures a sink of the stage itself.
func (f *figures) into(x *execution, s sink) sink {
	return sink{push: func(t *Tuple) error {
		defer f.since(time.Now())
		return s.push(t)
	}, end: func() error {
		defer f.most(x)
		defer f.since(time.Now())
		return s.end()
	}}
}

// out counts the rows of the stage, whose time ends where the next sink begins.
func (f *figures) out(next sink) sink {
	return sink{push: func(t *Tuple) error {
		f.rows.Add(1)
		defer f.except(time.Now())
		return next.push(t)
	}, end: func() error {
		defer f.except(time.Now())
		return next.end()
	}}
}

// stage is the sink of a step.
func (r *Runner) stage(x *execution, i int, next sink) sink {
	if r.analysis == nil {
		return r.plan.Steps[i].run(x, next)
	}
	f := r.analysis.of(r.plan, i+1)
	own := x.child()
	own.figures = f
	return f.into(own, r.plan.Steps[i].run(own, f.out(next)))
}

// source measures the source, whose tuples next takes, until done is called.
func (r *Runner) source(rows iter.Seq2[*query.Row, error], next sink) (_ iter.Seq2[*query.Row, error], _ sink, done func()) {
	f, began := r.analysis.of(r.plan, 0), time.Now()
	counted := rows
	if rows != nil {
		counted = f.counted(rows)
	}
	return counted, f.out(next), func() { f.since(began) }
}

func (f *figures) counted(rows iter.Seq2[*query.Row, error]) iter.Seq2[*query.Row, error] {
	return func(yield func(*query.Row, error) bool) {
		for row, err := range rows {
			f.read.Add(1)
			if !yield(row, err) {
				return
			}
		}
	}
}

// apart takes the time of a part of the plan from that of its source; what emit takes is the
// source's.
func (r *Runner) apart(emit func([]any) error) (_ func([]any) error, done func()) {
	f, began := r.analysis.of(r.plan, 0), time.Now()
	return func(values []any) error {
		defer f.since(time.Now())
		return emit(values)
	}, func() { f.except(began) }
}

// analyzed runs the query and emits the lines of EXPLAIN with figures.
func (r *Runner) analyzed(ctx context.Context, tables Tables, emit func([]any) error) error {
	own, plan := *r, *r.plan
	plan.Explain, own.plan = false, &plan
	a := &analysis{plans: map[*Plan][]*figures{}}
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
	text := "  " + plural(int(rows), "row") + " in " + time.Duration(max(0, f.nanos.Load())).Round(time.Microsecond).String()
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
