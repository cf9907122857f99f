package workload

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"time"

	"github.com/smolwc/smolwc/archive"
	"github.com/smolwc/smolwc/bench/contest"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
)

// A job is work on the same database, which is repeated beside single calls.
type job struct {
	name, about string
	do          func(ctx context.Context, db *query.DB) error
}

func (e *Env) jobs() []job {
	another := sync.OnceValue(func() *fill { return e.fill(true, 1000, query.DurabilityAsync) })
	return []job{
		{"bulk-load", "bulk loads of another table, of -writes cells", func(ctx context.Context, db *query.DB) error {
			return loadAnother(ctx, db, another())
		}},
		{"scan", "full scans of the table", func(ctx context.Context, db *query.DB) error {
			_, err := cellsIn(ctx, db.Table(tableName))
			return err
		}},
		{"compaction", "compactions of the table", func(ctx context.Context, db *query.DB) error { return db.Table(tableName).Compact(ctx) }},
		{"backup", "full backups", e.backUp},
	}
}

const anotherName = "another"

// loadAnother loads a new table, in place of the one before.
func loadAnother(ctx context.Context, db *query.DB, f *fill) error {
	if _, ok := db.Schema().Table(anotherName); ok {
		if err := db.DropTable(ctx, anotherName); err != nil {
			return err
		}
	}
	if err := db.CreateTable(ctx, schema.Table{Name: anotherName, Families: plainFamily}); err != nil {
		return err
	}
	_, err := f.loadInto(ctx, db.Table(anotherName))
	return err
}

func (e *Env) backUp(ctx context.Context, db *query.DB) (err error) {
	dir, remove, err := e.fresh()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, remove()) }()
	a, err := archive.Open(ctx, dir)
	if err != nil {
		return err
	}
	_, err = a.Backup(ctx, db, archive.BackupOptions{})
	return err
}

// calls are single calls of one goroutine, one after another, each of a random row. The next
// one begins when the one before has ended.
type calls struct {
	name, about string
	do          func(ctx context.Context, t *query.Table, row int) error
}

var singleCalls = []calls{
	{"get", "single random rows", func(ctx context.Context, t *query.Table, row int) error {
		r, err := t.ReadRow(ctx, rowKey(row))
		if err == nil && r == nil {
			err = errors.New("a row is missing")
		}
		return err
	}},
	{"write", "single writes of random rows, the log not synced", func(ctx context.Context, t *query.Table, row int) error {
		m := write.NewMutation()
		setRow(m, "f", row)
		return t.Apply(ctx, rowKey(row), m)
	}},
}

// latencies are workloads of single calls beside jobs, for each engine: the yardstick is the
// same calls undisturbed. The control is the same calls beside goroutines that take all
// processors and use no database: it shows the part of the system and of Go.
func (e *Env) latencies() (ws []contest.Workload) {
	for _, engine := range e.Engines {
		for _, c := range singleCalls {
			for _, j := range e.jobs() {
				ws = append(ws, contest.Workload{Name: "latency/" + c.name + "/" + j.name + "/" + engine, Unit: "row", Open: e.besides(engine, c, j),
					About: c.about + " beside " + j.about + ", compared with undisturbed ones, and with those beside goroutines that spin"})
			}
		}
	}
	return ws
}

func (e *Env) besides(engine string, c calls, j job) func(context.Context, int) (*contest.Contest, error) {
	return func(ctx context.Context, _ int) (_ *contest.Contest, err error) {
		d, err := e.plain(ctx)
		if err != nil {
			return nil, err
		}
		copied := copies{dataset: d}
		db, err := copied.on(engine)
		if err != nil {
			return nil, errors.Join(err, d.close())
		}
		rows := e.someRows(e.Ops)
		add := func(name string, beside func(context.Context) error) {
			copied.add(name, func(int) func(context.Context) (contest.Done, error) {
				return func(ctx context.Context) (done contest.Done, err error) {
					err = during(ctx, beside, func() (err error) {
						done, err = c.timed(ctx, db.Table(tableName), rows)
						return err
					})
					return done, err
				}
			})
		}
		add(nameSmolwc+", undisturbed", nil)
		add(nameSmolwc+", beside goroutines that spin", spin)
		add(nameSmolwc, func(ctx context.Context) error { return j.do(ctx, db) })
		return copied.contest(), nil
	}
}

// timed calls with each of the rows.
func (c calls) timed(ctx context.Context, t *query.Table, rows []int) (contest.Done, error) {
	times := make([]time.Duration, len(rows))
	for i, row := range rows {
		start := time.Now()
		if err := c.do(ctx, t, row); err != nil {
			return contest.Done{}, err
		}
		times[i] = time.Since(start)
	}
	return contest.Done{Ops: int64(len(rows)), Latencies: times}, nil
}

// during calls do while another goroutine repeats beside, which may be nil.
func during(ctx context.Context, beside func(context.Context) error, do func() error) error {
	if beside == nil {
		return do()
	}
	ctx, end := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() {
		var err error
		for err == nil && ctx.Err() == nil {
			err = beside(ctx)
		}
		if errors.Is(err, context.Canceled) {
			err = nil
		}
		ended <- err
	}()
	err := do()
	end()
	return errors.Join(err, <-ended)
}

// spin takes all processors until the context ends.
func spin(ctx context.Context) error {
	_, err := share(runtime.GOMAXPROCS(0), runtime.GOMAXPROCS(0), func(int, int, int) (int64, error) {
		for ctx.Err() == nil {
		}
		return 0, ctx.Err()
	})
	return err
}
