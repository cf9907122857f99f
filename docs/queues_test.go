package docs_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/queue"
	"github.com/smolwc/smolwc/schema"
)

const queuesPage = "docs/queues.md"

// openQueue has the queue of the page at noon of 4 July 2024. It returns pairs of ids, as
// the page shows them and as they are.
func openQueue(t *testing.T) (*query.DB, []string) {
	t.Helper()
	var ago atomic.Int64
	ago.Store(int64(3 * time.Hour))
	db := openWithClock(t, func() time.Time { return noon.Add(-time.Duration(ago.Load())) })
	declared, err := schema.Parse([]byte(strings.Join(blocks(t, queuesPage, "yaml")[0].lines, "\n")))
	if err != nil {
		t.Fatal(err)
	}
	if err := db.CreateTable(t.Context(), declared.Tables[0]); err != nil {
		t.Fatal(err)
	}
	q := queue.New(db, queue.Options{})
	var ids []string
	at := func(before time.Duration, zone string, i queue.Item, end func(context.Context, *query.Tx, *queue.Job) error) {
		ago.Store(int64(before))
		err := db.Update(t.Context(), func(tx *query.Tx) error {
			id, err := q.Enqueue(t.Context(), tx, zone, i)
			if err != nil {
				return err
			}
			ids = append(ids, fmt.Sprintf("01907d9a-c000-7000-8000-%012d", len(ids)/2+1), id.String())
			if end == nil {
				return nil
			}
			jobs, err := q.Dequeue(t.Context(), tx, zone, 1, 30*time.Minute)
			if err != nil {
				return err
			}
			return end(t.Context(), tx, jobs[0])
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	receipt := func(of string) queue.Item { return queue.Item{Type: "send-receipt", Payload: []byte(of)} }
	charge := queue.Item{Type: "charge", Payload: []byte(`{"order":77}`)}
	at(2*time.Hour, "acme", receipt("acme#1001"), func(ctx context.Context, tx *query.Tx, j *queue.Job) error {
		return j.Bury(ctx, tx, errors.New("no such mailbox"))
	})
	at(time.Hour, "globex", charge, func(ctx context.Context, tx *query.Tx, j *queue.Job) error {
		return j.Return(ctx, tx, 90*time.Minute, errors.New("card service: timed out"))
	})
	at(12*time.Minute+5*time.Second, "acme", receipt("acme#1004"), nil)
	at(10*time.Minute, "acme", receipt("acme#1005"), nil)
	at(5*time.Minute, "globex", charge, func(context.Context, *query.Tx, *queue.Job) error { return nil })
	ago.Store(0)
	if err := db.Update(t.Context(), func(tx *query.Tx) error {
		return q.SetSchedule(t.Context(), tx, queue.Schedule{Name: "statements", Cron: "30 4 * * 1", Zone: "acme", Item: queue.Item{Type: "bill"}})
	}); err != nil {
		t.Fatal(err)
	}
	return db, ids
}
