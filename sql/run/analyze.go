package run

import (
	"iter"
	"sync"
	"time"

	"github.com/smolwc/smolwc/query"
)

// An analysis counts the work of the stages of a query, for EXPLAIN ANALYZE.
type analysis struct {
	mu      sync.Mutex
	plans   map[any][]*figures // by the plans and their stages
	queries *running
	rows    int64
	took    time.Duration
}

// of are the figures of a stage: the source is number 0.
func (a *analysis) of(plan any, stage int) *figures {
	a.mu.Lock()
	defer a.mu.Unlock()
	for len(a.plans[plan]) <= stage {
		a.plans[plan] = append(a.plans[plan], new(figures))
	}
	return a.plans[plan][stage]
}

// stage is the sink of a stage, which run makes.
func (a *analysis) stage(plan any, i int, run func(*execution, sink) sink, x *execution, next sink) sink {
	f := a.of(plan, i)
	own := x.child()
	own.figures = f
	return f.into(own, run(own, f.out(next)))
}

// source measures the source, whose tuples next takes, until done is called.
func (a *analysis) source(plan any, rows iter.Seq2[*query.Row, error], next sink) (_ iter.Seq2[*query.Row, error], _ sink, done func()) {
	f, began := a.of(plan, 0), time.Now()
	counted := rows
	if rows != nil {
		counted = f.counted(rows)
	}
	return counted, f.out(next), func() { f.since(began) }
}

// apart takes the time of a part of the plan from that of its source; what emit takes is the
// source's.
func (a *analysis) apart(plan any, emit func([]any) error) (_ func([]any) error, done func()) {
	f, began := a.of(plan, 0), time.Now()
	return func(values []any) error {
		defer f.since(time.Now())
		return emit(values)
	}, func() { f.except(began) }
}
