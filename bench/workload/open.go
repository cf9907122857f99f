package workload

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/smolwc/smolwc/bench/contest"
	"github.com/smolwc/smolwc/bench/yardstick"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
)

func (e *Env) opens() []contest.Workload {
	return []contest.Workload{
		{Name: "open/small", Unit: "open", Open: e.openOpen(1, 1),
			About: "a small database is opened, its first row read, and closed; a call is the time until the row is there; in C with the engine's default options"},
		{Name: "open/families", Unit: "open", Open: e.openOpen(200, 50),
			About: "the same with 200 families of 50 files; fewer if there are fewer than a million cells"},
	}
}

// opensInRound is the number of opens in a round.
const opensInRound = 5

// openOpen opens a contest of opens of a database with a number of families, each with a
// number of files.
func (e *Env) openOpen(families, filesOfEach int) func(context.Context, int) (*contest.Contest, error) {
	return func(ctx context.Context, _ int) (*contest.Contest, error) {
		c := copies{dataset: &dataset{env: e}}
		own, inC, err := e.openCopies(ctx, &c, min(families, max(1, e.Cells/5000)), filesOfEach)
		if err != nil {
			return nil, joinClose(err, c.close)
		}
		c.add(nameC, opening(func(context.Context) (first time.Duration, err error) {
			start := time.Now()
			opened, err := yardstick.Open(inC, storeName(familyName(0)))
			if err != nil {
				return 0, err
			}
			first = time.Since(start)
			opened.Close()
			return first, nil
		}))
		for i, engine := range e.Engines {
			c.add(on(engine, nameSmolwc), opening(func(ctx context.Context) (first time.Duration, err error) {
				start := time.Now()
				db, err := e.openDB(engine, own[i], nil)
				if err != nil {
					return 0, err
				}
				row, err := db.Table(tableName).ReadRow(ctx, rowKey(0))
				first = time.Since(start)
				if err == nil && row == nil {
					err = errors.New("the first row is not there")
				}
				return first, errors.Join(err, db.Close())
			}))
		}
		return c.contest(), nil
	}
}

func opening(open func(context.Context) (time.Duration, error)) func(int) func(context.Context) (contest.Done, error) {
	return func(int) func(context.Context) (contest.Done, error) {
		return func(ctx context.Context) (contest.Done, error) {
			done := contest.Done{Ops: opensInRound}
			for range opensInRound {
				first, err := open(ctx)
				if err != nil {
					return done, err
				}
				done.Latencies = append(done.Latencies, first)
			}
			return done, nil
		}
	}
}

// openCopies makes the database, if it does not exist, and copies of it: one on each
// engine, and one for C.
func (e *Env) openCopies(ctx context.Context, c *copies, families, filesOfEach int) (own []string, inC string, err error) {
	c.dir = filepath.Join(e.Dir, fmt.Sprintf("open-%d-%d", families, filesOfEach))
	var declared []schema.Family
	for i := range families {
		declared = append(declared, schema.Family{Name: familyName(i)})
	}
	if err := e.draft(c.dir, declared, func(t *query.Table) error { return loadFiles(ctx, t, families, filesOfEach) }); err != nil {
		return nil, "", err
	}
	for _, engine := range e.Engines {
		dir, err := c.copyDir(dirOn(engine, c.dir), false)
		if err != nil {
			return nil, "", err
		}
		own = append(own, dir)
	}
	inC, err = c.copyDir(c.dir, false)
	return own, inC, err
}

func familyName(i int) string { return fmt.Sprintf("f%03d", i) }

// loadFiles loads bulk after bulk of rows, and each makes a file in each family.
func loadFiles(ctx context.Context, t *query.Table, families, filesOfEach int) error {
	const rowsOfFile = 20
	for file := range filesOfEach {
		l, err := t.BulkLoad(ctx, query.BulkOptions{})
		if err != nil {
			return err
		}
		for row := file * rowsOfFile; row < (file+1)*rowsOfFile; row++ {
			m := write.NewMutation()
			for i := range families {
				setRow(m, familyName(i), row)
			}
			if err := l.Apply(rowKey(row), m); err != nil {
				return errors.Join(err, l.Close())
			}
		}
		_, err = l.Commit(ctx)
		if err := errors.Join(err, l.Close()); err != nil {
			return err
		}
	}
	return nil
}
