package regions

import (
	"bytes"
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/pingcap/kvproto/pkg/errorpb"
	"github.com/pingcap/kvproto/pkg/kvrpcpb"
	"github.com/tikv/client-go/v2/tikv"
	"github.com/tikv/client-go/v2/tikvrpc"
)

// pageBytes bounds a batch. The protocol counts keys only, so the bound is kept by the
// sizes of the keys and values before.
const pageBytes = 2 << 20

// A source reads pages. Goroutines may share it.
type source struct {
	Options
	store  *tikv.KVStore
	sizes  sizes
	passed passed
	perKey atomic.Int64 // bytes of a pair in the last page
}

// A request is for pairs with raw keys in [from, to): the first ones, or the last ones
// if reverse is set.
type request struct {
	from, to []byte
	keys     int
	reverse  bool
}

func newSource(store *tikv.KVStore, o Options) *source {
	if o.Patience == 0 {
		o.Patience = 20 * time.Second
	}
	return &source{Options: o, store: store, sizes: defaultSizes}
}

// inBounds returns a raw key, or the bound that it is beyond.
func (s *source) inBounds(raw []byte) []byte {
	switch {
	case bytes.Compare(raw, s.Start) < 0:
		return s.Start
	case bytes.Compare(raw, s.End) > 0:
		return s.End
	}
	return raw
}

// nonEmpty reads forward from a raw key until a page contains keys or the bound is
// reached.
func (s *source) nonEmpty(from []byte, read func(from []byte) (page, error)) (page, error) {
	p := page{lo: from, hi: from}
	for len(p.pairs) == 0 && bytes.Compare(p.hi, s.End) < 0 {
		next, err := read(p.hi)
		if err != nil {
			return page{}, err
		}
		p.pairs, p.hi = next.pairs, next.hi
	}
	return p, nil
}

// nonEmptyBefore reads backward from a raw key until a page contains keys or the bound
// is reached.
func (s *source) nonEmptyBefore(to []byte, read func(to []byte) (page, error)) (page, error) {
	p := page{lo: to, hi: to}
	for len(p.pairs) == 0 && bytes.Compare(s.Start, p.lo) < 0 {
		next, err := read(p.lo)
		if err != nil {
			return page{}, err
		}
		p.pairs, p.lo = next.pairs, next.lo
	}
	return p, nil
}

// fetch reads a page of one region, from the beginning of the request's range, or from
// its end if it is reverse.
func (s *source) fetch(ctx context.Context, r request) (page, error) {
	bo := s.backoffer(ctx)
	for {
		if ctx.Err() != nil {
			return page{}, ctx.Err()
		}
		p, done, err := s.attempt(bo, r)
		if err != nil {
			return page{}, wrap(ctx, err)
		}
		if done {
			s.learn(&p)
			return p, nil
		}
	}
}

func (s *source) backoffer(ctx context.Context) *tikv.Backoffer {
	return tikv.NewBackoffer(ctx, max(1, int(s.Patience.Milliseconds()))) // 0 is without end
}

// attempt sends one request. It reports false if it must be sent again.
func (s *source) attempt(bo *tikv.Backoffer, r request) (page, bool, error) {
	loc, err := s.locate(bo, r)
	if err != nil {
		return page{}, false, err
	}
	r.clamp(loc)
	r.keys = s.limit(r.keys)
	resp, err := s.store.SendReq(bo, s.message(r), loc.Region, tikv.ReadTimeoutMedium)
	if err != nil {
		return page{}, false, err
	}
	answer, err := unpack(bo, resp)
	if answer == nil || err != nil {
		return page{}, false, err
	}
	if err := s.store.CheckVisibility(s.At); err != nil {
		return page{}, false, err
	}
	return s.take(bo, r, answer)
}

func (s *source) locate(bo *tikv.Backoffer, r request) (*tikv.KeyLocation, error) {
	if r.reverse {
		return s.store.GetRegionCache().LocateEndKey(bo, r.to)
	}
	return s.store.GetRegionCache().LocateKey(bo, r.from)
}

// clamp shortens a request to a region.
func (r *request) clamp(loc *tikv.KeyLocation) {
	if bytes.Compare(r.from, loc.StartKey) < 0 {
		r.from = loc.StartKey
	}
	if len(loc.EndKey) > 0 && bytes.Compare(loc.EndKey, r.to) < 0 {
		r.to = loc.EndKey
	}
}

func (s *source) message(r request) *tikvrpc.Request {
	m := &kvrpcpb.ScanRequest{StartKey: r.from, EndKey: r.to, Limit: uint32(r.keys), Version: s.At, KeyOnly: s.KeysOnly}
	if r.reverse {
		m.StartKey, m.EndKey, m.Reverse = r.to, r.from, true
	}
	ignore, access := s.passed.lists()
	if s.Past != 0 {
		ignore = append(ignore, s.Past)
	}
	return tikvrpc.NewRequest(tikvrpc.CmdScan, m, kvrpcpb.Context{
		NotFillCache: s.NoFillCache, ResolvedLocks: ignore, CommittedLocks: access,
	})
}

// unpack returns the answer in a response, or nil if the request must be sent again
// because its region changed.
func unpack(bo *tikv.Backoffer, resp *tikvrpc.Response) (*kvrpcpb.ScanResponse, error) {
	regionErr, err := resp.GetRegionError()
	if err != nil {
		return nil, err
	}
	if regionErr != nil {
		return nil, waitForRegion(bo, regionErr)
	}
	answer, ok := resp.Resp.(*kvrpcpb.ScanResponse)
	if !ok {
		return nil, errors.New("TiKV sent no answer to a scan")
	}
	return answer, nil
}

// waitForRegion waits, unless the error brought the news that the next attempt needs.
func waitForRegion(bo *tikv.Backoffer, e *errorpb.Error) error {
	if news := e.GetEpochNotMatch(); news != nil && len(news.CurrentRegions) > 0 {
		return nil
	}
	reason := errors.New(e.String())
	if err := bo.Backoff(tikv.BoRegionMiss(), reason); err != nil || bo.GetCtx().Err() == nil {
		return err
	}
	return reason // the context ended during the wait
}

// isLong reports whether a scan that passed a number of keys probably goes on.
func (s *source) isLong(keys int) bool {
	return keys >= s.sizes.ahead || int64(keys)*s.perKey.Load() >= pageBytes
}

// limit returns the number of keys to ask for, so that a page is within its bytes.
func (s *source) limit(keys int) int {
	if n := s.perKey.Load(); n > 0 {
		keys = min(keys, max(1, int(pageBytes/n)))
	}
	return keys
}

func (s *source) learn(p *page) {
	if n := len(p.pairs); n > 0 {
		s.perKey.Store(int64(p.size()/n) + 1)
	}
}
