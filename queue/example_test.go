package queue_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/queue"
)

// openExample opens a database with the tables orders and queues.
func openExample() (db *query.DB, end func()) {
	dir, err := os.MkdirTemp("", "queue")
	check(err)
	db, err = query.Open(dir, query.Options{Schema: withQueues})
	check(err)
	return db, func() {
		db.Close()
		os.RemoveAll(dir)
	}
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// An item is enqueued in the transaction that writes the order: there is never one
// without the other.
func ExampleQueue_Enqueue() {
	db, end := openExample()
	defer end()
	q := queue.New(db, queue.Options{})

	err := db.Update(ctx, func(tx *query.Tx) error {
		m := write.NewMutation()
		m.Set("o", "dish", cells.String("soup"))
		if err := tx.Apply(ctx, "orders", "1001", m); err != nil {
			return err
		}
		_, err := q.Enqueue(ctx, tx, "acme", queue.Item{Type: "cook", Payload: []byte("1001")})
		return err
	})
	check(err)

	all, err := q.Stats(ctx, "acme")
	check(err)
	fmt.Println(all[0].Type, all[0].Ready)
	// Output: cook 1
}

// A worker runs the handlers of items until its context ends.
func ExampleQueue_Work() {
	db, end := openExample()
	defer end()
	q := queue.New(db, queue.Options{})
	check(db.Update(ctx, func(tx *query.Tx) error {
		_, err := q.Enqueue(ctx, tx, "acme", queue.Item{Type: "greet", Payload: []byte("Ada")})
		return err
	}))

	running, stop := context.WithCancel(ctx)
	err := q.Work(running, queue.Handlers{
		"greet": func(ctx context.Context, j *queue.Job) error {
			fmt.Printf("hello %s, attempt %d\n", j.Payload(), j.Attempt())
			stop()
			return nil
		},
	}, queue.WorkerOptions{})
	check(err)
	// Output: hello Ada, attempt 1
}

// The handler pays in the transaction that completes the job: whatever dies when, the
// order is paid once.
func ExampleJob_Complete() {
	db, end := openExample()
	defer end()
	q := queue.New(db, queue.Options{})
	check(db.Update(ctx, func(tx *query.Tx) error {
		_, err := q.Enqueue(ctx, tx, "acme", queue.Item{Type: "pay", Payload: []byte("1001")})
		return err
	}))

	running, stop := context.WithCancel(ctx)
	pay := func(ctx context.Context, j *queue.Job) error {
		defer stop()
		return db.Update(ctx, func(tx *query.Tx) error {
			m := write.NewMutation()
			m.Set("o", "paid", cells.String("yes"))
			if err := tx.Apply(ctx, "orders", string(j.Payload()), m); err != nil {
				return err
			}
			return j.Complete(ctx, tx, nil)
		})
	}
	check(q.Work(running, queue.Handlers{"pay": pay}, queue.WorkerOptions{}))

	row, err := db.Table("orders").ReadRow(ctx, "1001")
	check(err)
	fmt.Println("paid:", row.Text("o", "paid"))
	// Output: paid: yes
}

// Each tenant has a zone: one with many items does not hold up the others. A zone can
// have a larger share, and limits.
func ExampleQueue_Configure() {
	db, end := openExample()
	defer end()
	q := queue.New(db, queue.Options{})

	check(db.Update(ctx, func(tx *query.Tx) error {
		if err := q.Configure(ctx, tx, "acme", queue.ZoneConfig{Weight: 3, Limit: 2}); err != nil {
			return err
		}
		for range 10 {
			if _, err := q.Enqueue(ctx, tx, "acme", queue.Item{Type: "mail"}); err != nil {
				return err
			}
		}
		return nil
	}))
	check(db.Update(ctx, func(tx *query.Tx) error {
		jobs, err := q.Dequeue(ctx, tx, "acme", 5, time.Minute)
		fmt.Println("taken:", len(jobs))
		return err
	}))
	// Output: taken: 2
}

// Workers enqueue a report on each Monday.
func ExampleQueue_SetSchedule() {
	db, end := openExample()
	defer end()
	q := queue.New(db, queue.Options{})

	check(db.Update(ctx, func(tx *query.Tx) error {
		return q.SetSchedule(ctx, tx, queue.Schedule{
			Name: "weekly report", Cron: "CRON_TZ=Asia/Tokyo 30 4 * * 1",
			Zone: "acme", Item: queue.Item{Type: "report", Unique: "report"},
		})
	}))
	check(db.Update(ctx, func(tx *query.Tx) error {
		for s, err := range q.Schedules(ctx, tx) {
			if err != nil {
				return err
			}
			fmt.Println(s.Name, s.Next.In(time.UTC).Format("Monday 15:04"))
		}
		return nil
	}))
	// Output: weekly report Sunday 19:30
}

// An item that failed for good is a dead letter, and can be replayed when its cause is
// mended.
func ExampleQueue_Replay() {
	db, end := openExample()
	defer end()
	q := queue.New(db, queue.Options{})
	check(db.Update(ctx, func(tx *query.Tx) error {
		_, err := q.Enqueue(ctx, tx, "acme", queue.Item{Type: "mail"})
		return err
	}))

	running, stop := context.WithCancel(ctx)
	mail := func(context.Context, *queue.Job) error {
		stop()
		return queue.Permanent(errors.New("no such address"))
	}
	check(q.Work(running, queue.Handlers{"mail": mail}, queue.WorkerOptions{}))

	check(db.Update(ctx, func(tx *query.Tx) error {
		for i, err := range q.Dead(ctx, tx, "acme") {
			if err != nil {
				return err
			}
			fmt.Printf("%s: %s\n", i.Type, i.Err)
			if err := q.Replay(ctx, tx, i.Zone, i.ID); err != nil {
				return err
			}
		}
		return nil
	}))
	all, err := q.Stats(ctx, "acme")
	check(err)
	fmt.Println("ready:", all[0].Ready)
	// Output:
	// mail: no such address
	// ready: 1
}
