package dial_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/pingcap/kvproto/pkg/errorpb"
	"github.com/pingcap/kvproto/pkg/kvrpcpb"
	"github.com/pingcap/kvproto/pkg/metapb"
	"github.com/tikv/client-go/v2/testutils"
	"github.com/tikv/client-go/v2/tikv"
	"github.com/tikv/client-go/v2/tikvrpc"

	"github.com/smolwc/smolwc/tikv/cftikv/internal/dial"
)

// refusing answers each request to resolve locks with the same error of a region, when
// there are two.
type refusing struct {
	tikv.Client
	asked sync.WaitGroup
}

func (r *refusing) SendRequest(ctx context.Context, addr string, req *tikvrpc.Request, timeout time.Duration) (*tikvrpc.Response, error) {
	if req.Type != tikvrpc.CmdResolveLock {
		return r.Client.SendRequest(ctx, addr, req, timeout)
	}
	r.asked.Wait()
	return &tikvrpc.Response{Resp: &kvrpcpb.ResolveLockResponse{RegionError: &errorpb.Error{EpochNotMatch: &errorpb.EpochNotMatch{CurrentRegions: []*metapb.Region{{Id: 1}}}}}}, nil
}

// Callers whose equal requests client-go joins may write into their answers.
func TestJoinedRequestsHaveAnswersOfTheirOwn(t *testing.T) {
	client, cluster, pd, err := testutils.NewMockTiKV("", nil)
	if err != nil {
		t.Fatal(err)
	}
	testutils.BootstrapWithSingleStore(cluster)
	sent := &refusing{}
	sent.asked.Add(2)
	store, err := tikv.NewTestTiKVStore(client, pd, func(inner tikv.Client) tikv.Client {
		sent.Client = inner
		return sent
	}, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	dial.OwnAnswers(store)
	var regions [2]*metapb.Region
	var callers sync.WaitGroup
	for i := range regions {
		callers.Go(func() {
			sent.asked.Done()
			resp, err := store.GetTiKVClient().SendRequest(t.Context(), "store1", tikvrpc.NewRequest(tikvrpc.CmdResolveLock, &kvrpcpb.ResolveLockRequest{StartVersion: 7}), time.Minute)
			if err != nil {
				t.Error(err)
				return
			}
			refused, _ := resp.GetRegionError()
			regions[i] = refused.EpochNotMatch.CurrentRegions[0]
			regions[i].Peers = []*metapb.Peer{{Id: uint64(i)}}
		})
	}
	callers.Wait()
	if regions[0] == regions[1] || regions[0] == nil || regions[1] == nil {
		t.Error("both callers have the same region")
	}
}
