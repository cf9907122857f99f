package cftikv

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	tikverr "github.com/tikv/client-go/v2/error"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/tikv/cftikv/internal/regions"
)

// errAgain: another commit came in between, nothing was written, and the same would
// succeed if it were done again.
var errAgain = errors.New("another commit came in between")

// wrap gives an error of client-go its kind. When the context is done, the error is the
// context's, and after a deadline [cf.ErrUnavailable] too. Nothing was written.
func wrap(ctx context.Context, err error) error {
	if err == nil || isOurs(err) {
		return err
	}
	if ctx.Err() != nil {
		return regions.Ended(ctx, err)
	}
	return fmt.Errorf("tikv: %w: %w", kind(err), err)
}

// wrapWrite is wrap for an error of a lock or of a commit, which may be a conflict.
func wrapWrite(ctx context.Context, err error) error {
	if err != nil && ctx.Err() == nil && conflicts(err) {
		return fmt.Errorf("tikv: %w: %w", errAgain, err)
	}
	return wrap(ctx, err)
}

// ended is wrap for the bare error of a context. Other errors stay as they are.
func ended(ctx context.Context, err error) error {
	if err != nil && err == ctx.Err() {
		return regions.Ended(ctx, err)
	}
	return err
}

// isOurs reports whether an error is of a kind of ours already.
func isOurs(err error) bool {
	for _, k := range []error{errAgain, cf.ErrConflict, cf.ErrUnavailable, cf.ErrUnknownOutcome, cf.ErrTooLarge, cf.ErrCorrupt, cf.ErrNotExist, cf.ErrClosed, errors.ErrUnsupported, regions.ErrTooOld} {
		if errors.Is(err, k) {
			return true
		}
	}
	return false
}

func kind(err error) error {
	var early *tikverr.ErrGCTooEarly
	switch {
	case errors.As(err, &early):
		return regions.ErrTooOld
	case tooLarge(err):
		return cf.ErrTooLarge
	case tikverr.IsErrorUndetermined(err):
		return cf.ErrUnknownOutcome
	}
	return cf.ErrUnavailable
}

func tooLarge(err error) bool {
	var txn *tikverr.ErrTxnTooLarge
	var key *tikverr.ErrKeyTooLarge
	var entry *tikverr.ErrEntryTooLarge
	return errors.As(err, &txn) || errors.As(err, &key) || errors.As(err, &entry)
}

// conflicts reports whether TiKV refused a transaction because of another one. This is
// also so when another transaction removed its locks, because it took too long.
func conflicts(err error) bool {
	var deadlock *tikverr.ErrDeadlock
	var retryable *tikverr.ErrRetryable
	return tikverr.IsErrWriteConflict(err) || errors.As(err, &deadlock) || errors.As(err, &retryable) ||
		errors.Is(err, tikverr.ErrLockWaitTimeout) ||
		strings.Contains(err.Error(), "tikv aborts txn") || // client-go defines no type for these two
		strings.Contains(err.Error(), "TxnLockNotFound")
}

// mostAttempts bounds how often a write is done again: with the pauses between, for
// about a minute.
const mostAttempts = 300

// again runs fn until it returns another error than errAgain. Between the calls it waits
// for longer and longer times.
func again[T any](ctx context.Context, fn func() (T, error)) (result T, err error) {
	pause := time.Millisecond
	for range mostAttempts {
		if err := ctx.Err(); err != nil {
			return result, err
		}
		if result, err = fn(); !errors.Is(err, errAgain) {
			return result, err
		}
		select {
		case <-ctx.Done():
			return result, ctx.Err()
		case <-time.After(pause/2 + rand.N(pause)):
		}
		pause = min(2*pause, 200*time.Millisecond)
	}
	return result, fmt.Errorf("%w: none of %d attempts succeeded; nothing was written: %v", cf.ErrUnavailable, mostAttempts, err)
}

// client-go waits in calls that know no context, and waits long for a cluster that does
// not answer. This file ends such waits.

// endGrace is the time that writes have, after EndWaits, to end by themselves.
const endGrace = time.Second

// bounded runs a write, or other long work, that EndWaits and Close can end with
// [cf.ErrClosed].
func bounded[T any](ctx context.Context, s *Store, fn func(context.Context) (T, error)) (T, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(s.life, func() { cancel(cf.ErrClosed) })()
	result, err := fn(ctx)
	if errors.Is(err, context.Canceled) && context.Cause(ctx) == cf.ErrClosed {
		err = cf.ErrClosed
	}
	return result, err
}

// within runs fn, a call of the attempt's transaction that knows no context. When the
// context ends, it does not wait for fn.
func within[T any](ctx context.Context, a *attempt, fn func() (T, error)) (result T, err error) {
	if ctx.Err() != nil {
		return result, ctx.Err()
	}
	if ctx.Done() == nil {
		return fn()
	}
	ended := make(chan func() (T, error), 1)
	a.calls.Go(func() {
		result, err := fn()
		ended <- func() (T, error) { return result, err }
	})
	select {
	case answer := <-ended:
		return answer()
	case <-ctx.Done():
		return result, ctx.Err()
	}
}

// end rolls back uncommitted writes. It waits for that as long as the context of the
// attempt lasts: other writers wait less then.
func (a *attempt) end() {
	if a.ended {
		return
	}
	a.ended = true
	done := make(chan struct{})
	go func() {
		defer close(done)
		a.calls.Wait()
		a.kv.Rollback() // an error leaves locks behind, which time out
	}()
	select {
	case <-done:
	case <-a.ctx.Done():
	}
}
