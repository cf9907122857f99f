// Package queues measures smolwc's queues beside a table of jobs in SQLite, and how
// long a dequeue takes with more and more items that wait, or that have been done.
package queues

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	"github.com/smolwc/smolwc/bench/stats"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/queue"
	"github.com/smolwc/smolwc/schema"
)

// Options choose the measurements. Each contender runs Workers workers.
type Options struct {
	Dir      string // of the databases, which are new
	Items    int    // in a round
	Waiting  int    // the most items that wait while dequeues are measured
	Rounds   int
	Workers  int
	Dequeues int // to measure, at each number of waiting items
	Memory   int64
	Out      io.Writer
}

var payload = bytes.Repeat([]byte("x"), 200)

// Run measures, and prints a table for throughput and one for latency.
func Run(ctx context.Context, o Options) error {
	if err := o.throughput(ctx); err != nil {
		return err
	}
	return o.latency(ctx)
}

// throughput makes both contenders take turns at enqueueing, taking and completing items.
func (o *Options) throughput(ctx context.Context) error {
	ours, err := o.open("throughput")
	if err != nil {
		return err
	}
	defer ours.close()
	theirs, err := openSQLite(o.Dir)
	if err != nil {
		return err
	}
	defer theirs.close()
	fmt.Fprintf(o.Out, "%d items enqueued, taken and completed by %d workers, each commit synced\n", o.Items, o.Workers)
	var ratios []float64
	for round := range o.Rounds + 1 {
		a, err := timed(func() error { return ours.run(ctx, o.Items, o.Workers) })
		if err != nil {
			return err
		}
		b, err := timed(func() error { return theirs.run(ctx, o.Items, o.Workers) })
		if err != nil {
			return err
		}
		if round == 0 {
			continue // to warm up
		}
		ratios = append(ratios, b.Seconds()/a.Seconds())
		fmt.Fprintf(o.Out, "  smolwc %8.0f items/s   sqlite %8.0f items/s   ratio %.2f\n",
			float64(o.Items)/a.Seconds(), float64(o.Items)/b.Seconds(), b.Seconds()/a.Seconds())
	}
	_, err = fmt.Fprintf(o.Out, "  ratio %v\n", stats.SpreadOf(ratios))
	return err
}

func timed(fn func() error) (time.Duration, error) {
	begin := time.Now()
	err := fn()
	return time.Since(begin), err
}

// A smolwc is a database with a queue.
type smolwc struct {
	db *query.DB
	q  *queue.Queue
}

func (o *Options) open(name string) (*smolwc, error) {
	db, err := query.Open(filepath.Join(o.Dir, name), query.Options{
		Memory: o.Memory,
		Schema: &schema.Schema{Tables: []schema.Table{{Name: queue.DefaultTable, Families: []schema.Family{{Name: queue.DefaultFamily}}}}},
	})
	if err != nil {
		return nil, err
	}
	return &smolwc{db, queue.New(db, queue.Options{})}, nil
}

func (s *smolwc) close() error { return s.db.Close() }

// run enqueues n items from as many goroutines as there are workers, which complete
// them meanwhile.
func (s *smolwc) run(ctx context.Context, n, workers int) error {
	working, stop := context.WithCancel(ctx)
	defer stop()
	var done atomic.Int64
	handler := func(context.Context, *queue.Job) error {
		if done.Add(1) == int64(n) {
			stop()
		}
		return nil
	}
	worked := make(chan error, 1)
	go func() {
		worked <- s.q.Work(working, queue.Handlers{"mail": handler}, queue.WorkerOptions{Workers: workers})
	}()
	err := share(n, workers, func(int) error { return s.enqueue(ctx, 1, 0) })
	if err != nil {
		stop()
	}
	return errors.Join(err, <-worked)
}

func (s *smolwc) enqueue(ctx context.Context, n int, delay time.Duration) error {
	return s.db.Update(ctx, func(tx *query.Tx) error {
		for range n {
			if _, err := s.q.Enqueue(ctx, tx, "acme", queue.Item{Type: "mail", Payload: payload, Delay: delay}); err != nil {
				return err
			}
		}
		return nil
	})
}

// latency measures single dequeues while 1 item waits, then 10, and so on, and at last
// after all of them have been done.
func (o *Options) latency(ctx context.Context) error {
	s, err := o.open("latency")
	if err != nil {
		return err
	}
	defer s.close()
	fmt.Fprintln(o.Out, "one dequeue, while items wait")
	waiting := 0
	for n := 1; n <= o.Waiting; n *= 10 {
		if err := s.fill(ctx, n-waiting); err != nil {
			return err
		}
		waiting = n
		if err := o.report(ctx, s, fmt.Sprintf("%9d waiting", n)); err != nil {
			return err
		}
	}
	if err := s.drain(ctx, waiting); err != nil {
		return err
	}
	return o.report(ctx, s, fmt.Sprintf("%9d done", waiting))
}

func (s *smolwc) fill(ctx context.Context, n int) error {
	const batch = 200
	return share((n+batch-1)/batch, 4, func(i int) error {
		return s.enqueue(ctx, min(batch, n-i*batch), 0)
	})
}

// report measures dequeues, each of one item that was enqueued before it, so that the
// number of waiting items stays the same.
func (o *Options) report(ctx context.Context, s *smolwc, what string) error {
	took := make([]time.Duration, 0, o.Dequeues)
	for range o.Dequeues {
		if err := s.enqueue(ctx, 1, 0); err != nil {
			return err
		}
		var jobs []*queue.Job
		d, err := timed(func() error {
			return s.db.Update(ctx, func(tx *query.Tx) (err error) {
				jobs, err = s.q.Dequeue(ctx, tx, "acme", 1, time.Hour)
				return err
			})
		})
		if err != nil {
			return err
		}
		if len(jobs) != 1 {
			return fmt.Errorf("dequeued %d items; there is one", len(jobs))
		}
		took = append(took, d)
		if err := s.db.Update(ctx, func(tx *query.Tx) error { return jobs[0].Complete(ctx, tx, nil) }); err != nil {
			return err
		}
	}
	slices.Sort(took)
	_, err := fmt.Fprintf(o.Out, "  %s   p50 %v   p99 %v   max %v\n", what, took[len(took)/2], took[len(took)*99/100], took[len(took)-1])
	return err
}

// drain takes and completes n items.
func (s *smolwc) drain(ctx context.Context, n int) error {
	for n > 0 {
		err := s.db.Update(ctx, func(tx *query.Tx) error {
			jobs, err := s.q.Dequeue(ctx, tx, "acme", 200, time.Hour)
			if err != nil || len(jobs) == 0 {
				return errors.Join(err, noJobs(len(jobs)))
			}
			n -= len(jobs)
			for _, j := range jobs {
				if err := j.Complete(ctx, tx, nil); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func noJobs(n int) error {
	if n == 0 {
		return errors.New("no item is left to dequeue")
	}
	return nil
}
