package cftikv

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/pingcap/kvproto/pkg/kvrpcpb"
	tikverr "github.com/tikv/client-go/v2/error"
	"github.com/tikv/client-go/v2/kv"
	"github.com/tikv/client-go/v2/oracle"
	"github.com/tikv/client-go/v2/tikv"
	"github.com/tikv/client-go/v2/tikvrpc"
	"github.com/tikv/client-go/v2/tikvrpc/interceptor"
	"github.com/tikv/client-go/v2/txnkv/transaction"

	"github.com/smolwc/smolwc/cf"
)

// An attempt is one transaction of TiKV. When it fails with errAgain, its work is done
// again in a further one.
type attempt struct {
	store *Store
	kv    *transaction.KVTxn
	ctx   context.Context
	calls sync.WaitGroup // that nobody waits for; see within
	start uint64         // its timestamp; nobody wrote the keys that it locked since then
	ended bool

	stamps stamps // of the rows that it locked

	// checks judge the transaction at the timestamp of its commit.
	checks []check
	seen   *state // by stateAt
	seenAt uint64

	mu        sync.Mutex
	checked   uint64 // the commit timestamp that all checks have passed
	refusal   error  // of a check
	unknown   bool   // a request to commit is without an answer
	committed uint64 // the timestamp, once TiKV acknowledged the commit
}

// A check judges a transaction at the timestamp of its commit.
type check func(ctx context.Context, commit uint64) error

// begin starts a transaction that locks keys, or an optimistic one without keys. Only one
// attempt at a time locks a key. The keys are sentinels, or the key of the version.
func (s *Store) begin(ctx context.Context, keys ...[]byte) (*attempt, error) {
	start, err := s.now(ctx)
	if err != nil {
		return nil, err
	}
	tx, err := s.client.Begin(tikv.WithStartTS(start))
	if err != nil {
		return nil, wrap(ctx, err)
	}
	a := &attempt{store: s, ctx: ctx, kv: tx, start: start, stamps: newStamps(s.keys, start)}
	if len(keys) == 0 {
		return a, nil
	}
	tx.SetPessimistic(true)
	if err := a.lock(ctx, keys...); err != nil {
		a.end()
		return nil, err
	}
	return a, nil
}

// stateAt returns the families at a timestamp, without the changes that the attempt is about to
// commit. The checks of one commit share it.
func (a *attempt) stateAt(ctx context.Context, ts uint64) (*state, error) {
	if a.seen == nil || a.seenAt != ts {
		seen, err := a.store.stateBut(ctx, ts, a.start)
		if err != nil {
			return nil, err
		}
		a.seen, a.seenAt = seen, ts
	}
	return a.seen, nil
}

// lock locks keys of a pessimistic attempt. If another one wrote a key since the attempt
// began, it must be done again, with a later start.
func (a *attempt) lock(ctx context.Context, keys ...[]byte) error {
	lock := kv.NewLockCtx(a.start, kv.LockAlwaysWait, time.Now())
	lock.InitReturnValues(len(keys))
	if err := a.kv.LockKeys(ctx, lock, keys...); err != nil {
		return wrapWrite(ctx, err)
	}
	for key, locked := range lock.Values {
		a.stamps.found(key, locked.Value)
	}
	return nil
}

// get reads a key as the attempt wrote it, or as it was at its start.
func (a *attempt) get(ctx context.Context, key []byte) ([]byte, error) {
	entry, err := a.kv.Get(ctx, key)
	if tikverr.IsErrNotFound(err) {
		return nil, nil
	}
	return entry.Value, wrap(ctx, err)
}

// putSentinels marks rows as written by this attempt.
func (a *attempt) putSentinels(ctx context.Context, rows []cf.RowID) error {
	for _, r := range rows {
		key := a.store.keys.sentinel(r)
		if err := a.set(ctx, key, a.stamps.sentinel(key)); err != nil {
			return err
		}
	}
	return nil
}

func (a *attempt) set(ctx context.Context, key, value []byte) error {
	if len(key) > maxKey {
		return fmt.Errorf("a key has %d bytes in TiKV, at most %d are possible: %w", len(key), maxKey, cf.ErrTooLarge)
	}
	return wrap(ctx, a.kv.Set(key, value))
}

// putFamilies writes the descriptors that an edit changed.
func (a *attempt) putFamilies(ctx context.Context, e *edit) error {
	for name := range e.changed {
		key := a.store.keys.family(name)
		f, ok := e.families[name]
		if !ok {
			if err := a.kv.Delete(key); err != nil {
				return wrap(ctx, err)
			}
			continue
		}
		if err := a.set(ctx, key, f.append(nil)); err != nil {
			return err
		}
	}
	for _, id := range e.gone {
		if err := a.set(ctx, a.store.keys.garbage(id), appendGarbage(a.start)); err != nil {
			return err
		}
	}
	for _, id := range e.begun {
		if err := a.set(ctx, a.store.keys.garbage(id), appendLoad(a.start)); err != nil {
			return err
		}
	}
	return a.set(ctx, a.store.keys.version(), e.appendVersion(nil))
}

// commit ends the attempt. It commits all of its writes, or none unless the outcome is
// unknown.
func (a *attempt) commit(ctx context.Context) (cf.Position, error) {
	if err := a.passStamps(ctx); err != nil {
		return 0, err
	}
	a.ended = true
	a.kv.SetRPCInterceptor(interceptor.NewRPCInterceptor("smolwc", func(next interceptor.RPCInterceptorFunc) interceptor.RPCInterceptorFunc {
		return func(target string, req *tikvrpc.Request) (*tikvrpc.Response, error) {
			if req.Type != tikvrpc.CmdCommit || req.Commit().StartVersion != a.start {
				return next(target, req)
			}
			return a.commitRequest(ctx, req, func() (*tikvrpc.Response, error) { return next(target, req) })
		}
	}))
	err := a.kv.Commit(ctx)
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.committed != 0:
		return cf.Position(a.committed), nil
	case a.unknown || tikverr.IsErrorUndetermined(err):
		return 0, fmt.Errorf("tikv: %w of a commit: %w", cf.ErrUnknownOutcome, err)
	case a.refusal != nil:
		return 0, a.refusal
	case err == nil: // there was nothing to commit
		return cf.Position(a.start), nil
	}
	return 0, wrapWrite(ctx, err)
}

// passStamps lets the commit's timestamp be no earlier than the timestamps that the attempt
// gave. If those are ahead by a few microseconds, it asks PD for as many timestamps, in one
// request; otherwise client-go waits.
func (a *attempt) passStamps(ctx context.Context) error {
	a.kv.SetCommitWaitUntilTSO(a.stamps.before())
	a.kv.SetCommitWaitUntilTSOTimeout(longestWrite)
	ahead := a.stamps.greatest - micros(a.start)
	if ahead <= 0 || oracle.ExtractLogical(a.start)+ahead > preciseLogical {
		return nil
	}
	asked := make([]oracle.Future, ahead)
	for i := range asked {
		asked[i] = a.store.client.GetOracle().GetTimestampAsync(ctx, &oracle.Option{TxnScope: oracle.GlobalTxnScope})
	}
	for _, ts := range asked {
		if _, err := ts.Wait(); err != nil {
			return wrap(ctx, err)
		}
	}
	return nil
}

// commitRequest sees each request to commit a part of the transaction. The first part
// decides about all: before it is sent, the transaction is judged at its commit
// timestamp. All that was committed at a smaller timestamp can be seen then, because it
// had its locks before this timestamp was given out.
//
// The check is here and not in client-go's hook for it, because a reader that meets a
// lock of the transaction may push its commit to a later timestamp. client-go then sends
// the request again and does not call the hook again.
func (a *attempt) commitRequest(ctx context.Context, req *tikvrpc.Request, send func() (*tikvrpc.Response, error)) (*tikvrpc.Response, error) {
	at := req.Commit().CommitVersion
	if err := a.judge(ctx, at); err != nil {
		refused := &kvrpcpb.KeyError{Abort: "smolwc: " + err.Error()}
		return &tikvrpc.Response{Resp: &kvrpcpb.CommitResponse{Error: refused}}, nil
	}
	resp, err := send()
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.committed != 0 {
		return resp, err
	}
	if err != nil {
		a.unknown = true
		return resp, err
	}
	if answer, ok := resp.Resp.(*kvrpcpb.CommitResponse); ok && answer.RegionError == nil {
		a.unknown = false
		if answer.Error == nil {
			a.committed = at
		}
	}
	return resp, err
}

func (a *attempt) judge(ctx context.Context, at uint64) error {
	a.mu.Lock()
	pass := a.checked == at || a.committed != 0
	a.mu.Unlock()
	if pass {
		return nil
	}
	err := a.inTime(at)
	for i := 0; err == nil && i < len(a.checks); i++ {
		err = a.checks[i](ctx, at)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.refusal = err; err == nil {
		a.checked = at
	}
	return err
}

// longestWrite bounds the time from the start of an attempt to its commit.
const longestWrite = 10 * time.Minute

func (a *attempt) inTime(commit uint64) error {
	if took := oracle.GetTimeFromTS(commit).Sub(oracle.GetTimeFromTS(a.start)); took > longestWrite {
		return fmt.Errorf("%w: the write took %v, at most %v are possible; nothing was written", cf.ErrUnavailable, took, longestWrite)
	}
	return nil
}
