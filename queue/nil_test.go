package queue_test

import (
	"context"
	"errors"
	"testing"

	"github.com/smolwc/smolwc/internal/nilcheck"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/queue"
)

// TestNil calls everything with nil and with zero values: nothing panics, and errors
// have kinds.
func TestNil(t *testing.T) {
	db := open(t)
	p := nilcheck.Package{
		Funcs: []any{queue.New, queue.ParseID, queue.Backoff, queue.Permanent, queue.RetryAfter},
		Types: []any{queue.State(0), queue.ID{}},
		Usable: []any{
			func(t testing.TB) context.Context { return t.Context() },
			func(t testing.TB) string { return "acme" },
			func(t testing.TB) queue.Item { return queue.Item{Type: "mail"} },
			func(testing.TB) *query.DB { return db },
		},
		Fresh: []any{func(t testing.TB) *query.Tx { return usableTx(t, db) }},
		Skip: map[string]string{
			"Queue.Work":     "it works until its context ends; see TestWorkRefusesWrongOptions",
			"Queue.Describe": "it waits for the reader of its channel; see TestMetrics",
			"Queue.Collect":  "it waits for the reader of its channel; see TestMetrics",
		},
		Judge: func(c nilcheck.Call) string {
			if c.Name == "Permanent" || c.Name == "RetryAfter" {
				return "" // they give the caller's error
			}
			if c.Err != nil && query.KindOf(c.Err) == query.KindInternal {
				return "the error has no kind"
			}
			return ""
		},
	}
	p.Run(t, ".")
}

// usableTx is a transaction that goes on until the test has ended.
func usableTx(t testing.TB, db *query.DB) *query.Tx {
	began, end, ended := make(chan *query.Tx), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		db.Update(t.Context(), func(tx *query.Tx) error {
			began <- tx
			<-end
			return errors.New("rolled back")
		})
	}()
	t.Cleanup(func() {
		close(end)
		<-ended
	})
	return <-began
}
