package dial

import (
	"context"
	"time"

	"github.com/pingcap/kvproto/pkg/errorpb"
	"github.com/pingcap/kvproto/pkg/kvrpcpb"
	"github.com/tikv/client-go/v2/tikv"
	"github.com/tikv/client-go/v2/tikvrpc"
	"github.com/tikv/client-go/v2/util/async"
)

// OwnAnswers lets no two callers have the same answer. client-go sends equal requests to
// resolve locks once and gives all callers that one answer. One of them then writes into
// the regions of its error while another one reads them.
func OwnAnswers(store *tikv.KVStore) { store.SetTiKVClient(answers{store.GetTiKVClient()}) }

type answers struct{ tikv.Client }

func (c answers) SendRequest(ctx context.Context, addr string, req *tikvrpc.Request, timeout time.Duration) (*tikvrpc.Response, error) {
	return own(c.Client.SendRequest(ctx, addr, req, timeout))
}

func (c answers) SendRequestAsync(ctx context.Context, addr string, req *tikvrpc.Request, cb async.Callback[*tikvrpc.Response]) {
	cb.Inject(own)
	c.Client.SendRequestAsync(ctx, addr, req, cb)
}

func own(resp *tikvrpc.Response, err error) (*tikvrpc.Response, error) {
	if err != nil || resp == nil {
		return resp, err
	}
	answer, ok := resp.Resp.(*kvrpcpb.ResolveLockResponse)
	if !ok || answer.GetRegionError() == nil {
		return resp, nil
	}
	text, err := answer.RegionError.Marshal()
	if err != nil {
		return nil, err
	}
	mine := &errorpb.Error{}
	if err := mine.Unmarshal(text); err != nil {
		return nil, err
	}
	return &tikvrpc.Response{Resp: &kvrpcpb.ResolveLockResponse{RegionError: mine, Error: answer.Error, ExecDetailsV2: answer.ExecDetailsV2}}, nil
}
