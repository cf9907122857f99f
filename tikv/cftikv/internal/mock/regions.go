// Package mock changes the regions of client-go's mock of TiKV while it is in use.
package mock

import (
	"bytes"

	"github.com/pingcap/kvproto/pkg/metapb"
	"github.com/tikv/client-go/v2/testutils"
	"github.com/tikv/client-go/v2/util/codec"
)

// Regions are the regions of a mock, each with a peer on every store. One goroutine at a
// time may change them.
type Regions struct {
	*testutils.MockCluster
	Stores []uint64
}

// New makes one region on some stores.
func New(c *testutils.MockCluster, stores int) *Regions {
	ids, _, _, _ := testutils.BootstrapWithMultiStores(c, stores)
	return &Regions{c, ids}
}

func encode(key string) []byte { return codec.EncodeBytes(nil, []byte(key)) }

func (r *Regions) of(encoded []byte) *metapb.Region {
	found, _, _, _ := r.GetRegionByKey(encoded)
	return found
}

// SplitAt makes a raw key the first one of a region.
func (r *Regions) SplitAt(key string) {
	old := r.of(encode(key))
	if bytes.Equal(old.StartKey, encode(key)) {
		return
	}
	peers := r.AllocIDs(len(r.Stores))
	r.Split(old.Id, r.AllocID(), []byte(key), peers, peers[0])
	r.raise(encode(key), old.RegionEpoch.Version+1)
}

// MergeAt joins the region of a raw key with the one that follows it.
func (r *Regions) MergeAt(key string) {
	left := r.of(encode(key))
	if len(left.EndKey) == 0 {
		return
	}
	right := r.of(left.EndKey)
	r.raise(encode(key), right.RegionEpoch.Version)
	r.Merge(left.Id, right.Id)
}

// raise gives a region at least a version, as TiKV does in splits and merges. The mock
// forgot it, and the cache of regions refuses lower versions.
func (r *Regions) raise(encoded []byte, version uint64) {
	for at := r.of(encoded); at.RegionEpoch.Version < version; at = r.of(encoded) {
		_, start, err := codec.DecodeBytes(at.StartKey, nil)
		if err != nil && len(at.StartKey) > 0 {
			panic(err)
		}
		id, peers := r.AllocID(), r.AllocIDs(len(r.Stores))
		r.Split(at.Id, id, append(start, 0), peers, peers[0])
		r.Merge(at.Id, id)
	}
}

// LeadAt makes one of the stores the leader of a raw key's region.
func (r *Regions) LeadAt(key string, store int) {
	at := r.of(encode(key))
	r.ChangeLeader(at.Id, at.Peers[store].Id)
}
