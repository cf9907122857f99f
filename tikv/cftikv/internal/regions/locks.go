package regions

import (
	"errors"
	"maps"
	"slices"
	"sync"

	"github.com/pingcap/kvproto/pkg/kvrpcpb"
	"github.com/tikv/client-go/v2/tikv"
	"github.com/tikv/client-go/v2/txnkv/txnlock"
)

// take makes a page of an answer. It resolves the locks that the answer met: it keeps
// the pairs before the first lock, and reports false if there are no such pairs.
func (s *source) take(bo *tikv.Backoffer, r request, answer *kvrpcpb.ScanResponse) (page, bool, error) {
	locks, first, err := locksOf(answer)
	if err != nil {
		return page{}, false, err
	}
	pairs, partial := answer.Pairs, len(answer.Pairs) >= r.keys
	if len(locks) > 0 && s.Once {
		return page{}, false, ErrMore
	}
	if len(locks) > 0 {
		if err := s.resolve(bo, locks, first == 0); err != nil || first == 0 {
			return page{}, false, err
		}
		pairs, partial = pairs[:first], true
	}
	if s.KeysOnly {
		dropValues(pairs)
	}
	p, err := newPage(r, pairs, partial)
	return p, true, err
}

// locksOf returns the locks in an answer, and the number of pairs before the first one.
func locksOf(answer *kvrpcpb.ScanResponse) (locks []*txnlock.Lock, first int, err error) {
	if e := answer.GetError(); e != nil { // the answer lacks some pairs
		lock, err := txnlock.ExtractLockFromKeyErr(e)
		return []*txnlock.Lock{lock}, 0, err
	}
	for i, pair := range answer.Pairs {
		if pair.Error == nil {
			continue
		}
		lock, err := txnlock.ExtractLockFromKeyErr(pair.Error)
		if err != nil {
			return nil, 0, err
		}
		if len(locks) == 0 {
			first = i
		}
		locks = append(locks, lock)
	}
	return locks, first, nil
}

// resolve ends the transactions of dead clients, and learns which locks of others the
// snapshot can pass. If wait is set, it waits for a lock that it cannot pass, and, for a
// moment, for locks that TiKV does not let it pass although they are known.
func (s *source) resolve(bo *tikv.Backoffer, locks []*txnlock.Lock, wait bool) error {
	ms, ignore, access, err := s.store.GetLockResolver().ResolveLocksForRead(bo, s.At, locks, false)
	if err != nil {
		return err
	}
	if news := s.passed.add(ignore, access); !wait || news && ms <= 0 {
		return nil
	}
	ms = max(ms, 10)
	return bo.BackoffWithMaxSleepTxnLockFast(int(ms), errors.New("a scan met the lock of a transaction"))
}

func dropValues(pairs []*kvrpcpb.KvPair) {
	for _, p := range pairs {
		p.Value = nil
	}
}

// maxPassed bounds the transactions that a source remembers, and so its requests.
const maxPassed = 1024

// passed is the transactions whose locks a snapshot can pass: it ignores those that
// commit later or never, and reads those that were committed before.
type passed struct {
	mu             sync.Mutex
	ignore, access map[uint64]bool
}

// add reports whether it brought anything new.
func (p *passed) add(ignore, access []uint64) (news bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, id := range slices.Concat(ignore, access) {
		news = news || !p.ignore[id] && !p.access[id]
	}
	p.ignore, p.access = remember(p.ignore, ignore), remember(p.access, access)
	return news
}

// remember forgets everything when there is too much: needed facts are learned again.
func remember(set map[uint64]bool, ids []uint64) map[uint64]bool {
	if set == nil || len(set) > maxPassed {
		set = map[uint64]bool{}
	}
	for _, id := range ids {
		set[id] = true
	}
	return set
}

func (p *passed) lists() (ignore, access []uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Collect(maps.Keys(p.ignore)), slices.Collect(maps.Keys(p.access))
}
