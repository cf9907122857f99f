package queues

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"sync"
	"time"

	_ "github.com/mattn/go-sqlite3" // the driver "sqlite3"
)

// A sqlite is a queue in River's way: a table of jobs, in SQLite. Jobs are taken with
// UPDATE … RETURNING of the first available ones, and become completed. Each commit is
// synced, as smolwc's are.
type sqlite struct{ db *sql.DB }

const sqliteSchema = `
CREATE TABLE job (
	id INTEGER PRIMARY KEY AUTOINCREMENT,
	state TEXT NOT NULL DEFAULT 'available',
	queue TEXT NOT NULL,
	kind TEXT NOT NULL,
	priority INTEGER NOT NULL DEFAULT 1,
	attempt INTEGER NOT NULL DEFAULT 0,
	max_attempts INTEGER NOT NULL DEFAULT 25,
	args BLOB NOT NULL,
	created_at INTEGER NOT NULL,
	scheduled_at INTEGER NOT NULL,
	attempted_at INTEGER,
	finalized_at INTEGER
);
CREATE INDEX job_fetch ON job (state, queue, priority, scheduled_at, id);
`

const (
	sqliteInsert = `INSERT INTO job (queue, kind, args, created_at, scheduled_at) VALUES (?, ?, ?, ?, ?)`
	sqliteFetch  = `UPDATE job SET state = 'running', attempt = attempt + 1, attempted_at = ?1 WHERE id IN (
	SELECT id FROM job WHERE state = 'available' AND queue = ?2 AND scheduled_at <= ?1
	ORDER BY priority, scheduled_at, id LIMIT ?3) RETURNING id, kind, attempt, args`
	sqliteComplete = `UPDATE job SET state = 'completed', finalized_at = ?1 WHERE id = ?2 AND state = 'running'`
)

func openSQLite(dir string) (*sqlite, error) {
	db, err := sql.Open("sqlite3", "file:"+filepath.Join(dir, "jobs.db")+"?_journal_mode=WAL&_synchronous=FULL&_txlock=immediate")
	if err != nil {
		return nil, err
	}
	// SQLite allows one writer. With one connection writers wait in Go, which is faster
	// than to wait for the file's lock.
	db.SetMaxOpenConns(1)
	if _, err := db.Exec(sqliteSchema); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return &sqlite{db}, nil
}

func (s *sqlite) close() error { return s.db.Close() }

// run makes each worker enqueue, take and complete its share of n jobs, one by one.
func (s *sqlite) run(ctx context.Context, n, workers int) error {
	return share(n, workers, func(int) error {
		now := time.Now().UnixMicro()
		if _, err := s.db.ExecContext(ctx, sqliteInsert, "acme", "mail", payload, now, now); err != nil {
			return err
		}
		id := int64(0)
		for id == 0 { // another worker may have taken it, and the other's is later than now
			var err error
			if id, err = s.take(ctx); err != nil {
				return err
			}
		}
		_, err := s.db.ExecContext(ctx, sqliteComplete, time.Now().UnixMicro(), id)
		return err
	})
}

// take takes one job; the id is 0 if no job is available.
func (s *sqlite) take(ctx context.Context) (id int64, err error) {
	rows, err := s.db.QueryContext(ctx, sqliteFetch, time.Now().UnixMicro(), "acme", 1)
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	for rows.Next() {
		var kind string
		var attempt int
		var args []byte
		if err := rows.Scan(&id, &kind, &attempt, &args); err != nil {
			return 0, err
		}
	}
	return id, rows.Err()
}

// share calls fn n times, in several goroutines.
func share(n, workers int, fn func(i int) error) error {
	errs := make([]error, workers)
	var wg sync.WaitGroup
	for g := range workers {
		wg.Go(func() {
			for i := g; i < n && errs[g] == nil; i += workers {
				errs[g] = fn(i)
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}
