package regions

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/pingcap/kvproto/pkg/kvrpcpb"
	"github.com/smolwc/smolwc/cf"
)

// A page is all of the pairs between two raw keys, lo inclusive and hi exclusive, in
// ascending order. It may be empty.
type page struct {
	pairs  []*kvrpcpb.KvPair
	lo, hi []byte
}

// covers reports whether the first key at or after raw may be in the page.
func (p *page) covers(raw []byte) bool {
	return bytes.Compare(p.lo, raw) <= 0 && bytes.Compare(raw, p.hi) < 0
}

// reaches reports whether the last key before raw may be in the page.
func (p *page) reaches(raw []byte) bool {
	return bytes.Compare(p.lo, raw) < 0 && bytes.Compare(raw, p.hi) <= 0
}

// search returns the index of the first key at or after raw.
func (p *page) search(raw []byte) int {
	i, _ := slices.BinarySearchFunc(p.pairs, raw, func(kv *kvrpcpb.KvPair, raw []byte) int { return bytes.Compare(kv.Key, raw) })
	return i
}

func (p *page) size() (n int) {
	for _, kv := range p.pairs {
		n += len(kv.Key) + len(kv.Value)
	}
	return n
}

// newPage makes a page of the pairs that answer a request. A partial answer holds only
// the first keys in the request's order, any other all keys of the request.
func newPage(r request, pairs []*kvrpcpb.KvPair, partial bool) (page, error) {
	p := page{pairs: pairs, lo: r.from, hi: r.to}
	if r.reverse {
		slices.Reverse(pairs)
	}
	if partial && r.reverse {
		p.lo = pairs[0].Key
	}
	if partial && !r.reverse {
		p.hi = after(pairs[len(pairs)-1].Key)
	}
	return p, p.check(r)
}

// check finds answers to other requests.
func (p *page) check(r request) error {
	last := r.from
	for i, kv := range p.pairs {
		if c := bytes.Compare(last, kv.Key); c > 0 || c == 0 && i > 0 {
			return fmt.Errorf("%w: TiKV returned key %x at or after key %x", cf.ErrCorrupt, last, kv.Key)
		}
		last = kv.Key
	}
	if len(p.pairs) > 0 && bytes.Compare(last, r.to) >= 0 {
		return fmt.Errorf("%w: TiKV returned key %x, which is not before %x", cf.ErrCorrupt, last, r.to)
	}
	return nil
}

// after returns the key that directly follows a key.
func after(key []byte) []byte { return append(key[:len(key):len(key)], 0) }
