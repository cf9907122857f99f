package queue

import (
	"cmp"
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/rowmap"
)

// A Job is an item that was taken, with its lease. It is safe for concurrent use. The
// calls that end it act in the caller's transaction; if that does not commit, the job
// goes on.
type Job struct {
	q     *Queue
	item  *item
	lease lease
	ended atomic.Bool // by a call of the handler's

	mu      sync.Mutex
	expires int64
	result  []byte
}

func newJob(q *Queue, i *item, l lease, expires int64) *Job {
	return &Job{q: q, item: i, lease: l, expires: expires}
}

// given is the job as Dequeue returned it; nil and the zero Job have an empty item.
func (j *Job) given() hold {
	if j == nil || j.item == nil {
		return hold{item: &item{}}
	}
	return hold{item: j.item, lease: j.lease}
}

// ID is the item's ID.
func (j *Job) ID() ID { return j.given().item.id }

// Zone is the item's zone.
func (j *Job) Zone() string { return j.given().item.zone }

// Type is [Item.Type].
func (j *Job) Type() string { return j.given().item.kind }

// Payload is [Item.Payload]. Do not change it.
func (j *Job) Payload() []byte { return j.given().item.payload }

// Attempt is how often the item was taken, this time included.
func (j *Job) Attempt() int { return int(j.given().lease.attempts) }

// Token is a fencing token: it counts how often the item was taken, whether that counts
// as an attempt or not, and in spite of replays. So later leases of the item have larger
// tokens, and a system that remembers the largest one can turn earlier holders away.
func (j *Job) Token() int64 { return j.given().lease.taken }

// Enqueued is when the item was enqueued.
func (j *Job) Enqueued() time.Time { return timeOf(j.given().item.enqueued) }

// Expires is when the lease expires, by the queue's clock.
func (j *Job) Expires() time.Time {
	j.mu.Lock()
	defer j.mu.Unlock()
	return timeOf(j.expires)
}

// SetResult sets the result with which a worker completes the job after its handler,
// at most [MaxPayload] bytes. It is kept for [Item.KeepResult].
func (j *Job) SetResult(result []byte) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.result = result
}

// Complete ends the job as done. If the lease was lost, the error is [ErrLeaseLost] and
// nothing changes: the transaction must not be committed. Effects in
// the same transaction happen exactly once.
func (j *Job) Complete(ctx context.Context, tx *query.Tx, result []byte) error {
	return j.end(ctx, tx, "complete item", func(w *work, h hold) error {
		if err := checkResult(result); err != nil {
			return err
		}
		return w.complete(h, result)
	})
}

func checkResult(result []byte) error {
	if len(result) > MaxPayload {
		return rowmap.Fault(query.KindInvalidArgument, "the result has %d bytes; the limit is %d", len(result), MaxPayload)
	}
	return nil
}

// Return ends the job and makes the item visible again after the delay. The cause is
// kept as the item's last error. After the last attempt the item becomes a dead letter.
func (j *Job) Return(ctx context.Context, tx *query.Tx, delay time.Duration, cause error) error {
	return j.end(ctx, tx, "return item", func(w *work, h hold) error {
		if j.lastAttempt() {
			return w.bury(h, messageOf(cause))
		}
		return w.giveBack(h, delay, messageOf(cause))
	})
}

// Release ends the job as if it had not been taken: the attempt does not count, and the
// item waits at its old place.
func (j *Job) Release(ctx context.Context, tx *query.Tx) error {
	return j.end(ctx, tx, "release item", (*work).putBack)
}

// Bury ends the job and makes the item a dead letter, which stays until it is replayed
// or cancelled.
func (j *Job) Bury(ctx context.Context, tx *query.Tx, cause error) error {
	return j.end(ctx, tx, "bury item", func(w *work, h hold) error { return w.bury(h, messageOf(cause)) })
}

// Extend makes the lease expire after the duration, counted from now. An expired lease
// cannot be extended: the error is [ErrLeaseLost]. It is a transaction of its own.
func (j *Job) Extend(ctx context.Context, d time.Duration) error {
	const op = "extend lease of item"
	if j == nil || j.q == nil {
		return errNoJob
	}
	if d <= 0 {
		return fail(op, j.item.id.String(), rowmap.Fault(query.KindInvalidArgument, "the lease is %v; it must be positive", d))
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	var expires int64
	err := j.q.update(ctx, func(tx *query.Tx) (err error) {
		w, err := j.q.work(ctx, tx)
		if err != nil {
			return err
		}
		h, err := w.held(j)
		if err != nil {
			return err
		}
		expires, err = w.extend(h, micros(d))
		return err
	})
	if err != nil {
		return fail(op, j.item.id.String(), err)
	}
	j.expires = expires
	return nil
}

func (w *work) extend(h hold, d int64) (int64, error) {
	if h.expires <= w.now {
		return 0, ErrLeaseLost
	}
	zone, id := h.item.zone, h.item.id
	z, err := w.zone(zone)
	if err != nil {
		return 0, err
	}
	expires := max(w.now, z.floor) + d
	if expires <= h.expires {
		return h.expires, nil
	}
	return expires, cmp.Or(
		w.Delete(w.q.keys.lease(zone, h.expires, id)),
		w.Set(w.q.keys.lease(zone, expires, id), h.lease.encode()),
	)
}

var errNoJob = rowmap.Fault(query.KindInvalidArgument, "the job is nil or was not dequeued")

// end runs fn if the job still holds its lease.
func (j *Job) end(ctx context.Context, tx *query.Tx, op string, fn func(*work, hold) error) error {
	if j == nil || j.q == nil {
		return errNoJob
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	w, err := j.q.work(ctx, tx)
	if err != nil {
		return fail(op, j.item.id.String(), err)
	}
	h, err := w.held(j)
	if err == nil {
		err = fn(w, h)
	}
	if err != nil {
		return fail(op, j.item.id.String(), err)
	}
	tx.OnCommit(func() { j.ended.Store(true) }) // which must not wait for an Extend under way
	return nil
}

// held is the job's lease, which must be the item's lease. The commit depends on it.
func (w *work) held(j *Job) (hold, error) {
	h := hold{item: j.item, expires: j.expires}
	found, err := w.readLease(&h)
	if err == nil && !found {
		// A transaction that began before the last extension sees the lease at its
		// old place. It goes on, conflicts, and runs again.
		if h, found, err = w.findLease(j.item); found {
			found, err = w.readLease(&h)
		}
	}
	if err == nil && (!found || h.lease.taken != j.lease.taken) {
		err = ErrLeaseLost
	}
	return h, err
}

// readLease reads the lease of a hold at its place.
func (w *work) readLease(h *hold) (found bool, err error) {
	key := w.q.keys.lease(h.item.zone, h.expires, h.item.id)
	value, found, err := w.Get(key)
	if err != nil || !found {
		return false, err
	}
	h.lease, err = decodeLease(key, value)
	return err == nil, err
}

const maxMessage = 4096 // bytes of an error that is kept

func messageOf(err error) string {
	if err == nil {
		return ""
	}
	s := err.Error()
	return strings.ToValidUTF8(s[:min(len(s), maxMessage)], "\uFFFD")
}

func (j *Job) givenResult() []byte {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.result
}

func (j *Job) lastAttempt() bool { return j.lease.attempts >= j.item.maxAttempts }
