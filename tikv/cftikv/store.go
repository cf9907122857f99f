package cftikv

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	tikverr "github.com/tikv/client-go/v2/error"
	"github.com/tikv/client-go/v2/oracle"
	"github.com/tikv/client-go/v2/tikv"
	"github.com/tikv/client-go/v2/txnkv/transaction"
	"github.com/tikv/client-go/v2/txnkv/txnsnapshot"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/internal/lock"
	"github.com/smolwc/smolwc/tikv/cftikv/internal/dial"
	"github.com/smolwc/smolwc/tikv/cftikv/internal/regions"
	"github.com/smolwc/smolwc/tikv/cftikv/internal/rowlock"
)

// A Store is a [cf.Store] on TiKV. Its methods are safe for concurrent use, and other
// processes may have the same store open.
type Store struct {
	client   *tikv.KVStore
	owned    *dial.Client // nil if the client is the caller's
	keys     keyspace
	states   states
	rows     rowlock.Locks
	altering lock.Lock // held while this process changes the families
	closed   atomic.Bool
	ended    atomic.Bool // by EndWaits
	life     context.Context
	cut      func()   // ends life, and the writes under way
	expiries sync.Map // of cf.Expiry by family
	commits  commits  // in the log of changes

	snapshots protection
	cursors   atomic.Int64 // that callers have open
	service   string       // the name of this store's safepoint in PD
	foreignGC bool         // another program moves the safepoint of the cluster
	janitor   janitor
	logger    *slog.Logger
}

var _ cf.Store = (*Store)(nil)

// now is a new timestamp of the cluster, later than all that were given out before.
func (s *Store) now(ctx context.Context) (uint64, error) {
	ts, err := s.client.GetTimestampWithRetry(tikv.NewBackofferWithVars(ctx, transaction.TsoMaxBackoff, nil), oracle.GlobalTxnScope)
	return ts, wrap(ctx, err)
}

// get reads a key, nil if it is not there.
func get(ctx context.Context, from *txnsnapshot.KVSnapshot, key []byte) ([]byte, error) {
	entry, err := from.Get(ctx, key)
	if tikverr.IsErrNotFound(err) {
		return nil, nil
	}
	return entry.Value, wrap(ctx, err)
}

// each calls fn with the keys between two keys of the store at a timestamp. It reads past
// the locks of an attempt, as but does.
func (s *Store) each(ctx context.Context, ts, own uint64, start, end []byte, fn func(key, value []byte) error) error {
	prefix := []byte(s.keys.prefix)
	it := regions.New(s.client, regions.Options{At: ts, Past: own, Prefix: prefix, Start: start, End: end, Ahead: -1})
	defer it.Close()
	for it.Seek(ctx, nil); it.Valid(); it.Next(ctx) {
		if err := fn(append(prefix[:len(prefix):len(prefix)], it.Key()...), it.Value()); err != nil {
			return err
		}
	}
	return it.Err()
}

// but is the snapshot at a timestamp. It reads past the locks of an attempt, which would
// otherwise wait for itself; 0 is no attempt.
func (s *Store) but(ts, own uint64) *txnsnapshot.KVSnapshot {
	snap := s.client.GetSnapshot(ts)
	if own != 0 {
		snap.SetPipelined(own)
	}
	return snap
}

// ready is the reason that the store takes no calls, nil if it does.
func (s *Store) ready(ctx context.Context) error {
	if s.closed.Load() {
		return cf.ErrClosed
	}
	return ended(ctx, ctx.Err())
}

// maxKey bounds the keys in TiKV. TiKV refuses keys of more than 8 KiB, and stores a key
// in nine bytes for every eight.
const maxKey = 7 << 10

// Limits implements [cf.Store]. TiKV refuses entries of its log of more than 8 MiB, and a
// value is in one of them. The bounds of keys hold for keys without zero bytes: TiKV
// counts a zero byte as two, and limits keys to 7 KiB.
func (s *Store) Limits() cf.Limits {
	return cf.Limits{RowKey: 4 << 10, Qualifier: 2560, Value: 6<<20 - maxKey - 16, Batch: 64 << 20}
}

// EndWaits implements [cf.Store]. It ends the janitor too.
func (s *Store) EndWaits() {
	if !s.ended.Swap(true) {
		s.janitor.end()
		time.AfterFunc(endGrace, s.cut)
	}
}

// Close implements [cf.Store]. It leaves a client open that the caller made.
func (s *Store) Close() error {
	s.EndWaits()
	if s.closed.Swap(true) {
		return cf.ErrClosed
	}
	s.cut()
	if s.owned == nil {
		s.janitor.running.Wait()
		return nil
	}
	s.owned.End()
	s.janitor.running.Wait()
	return s.owned.Close()
}
