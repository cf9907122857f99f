package cftikv_test

import (
	"context"
	"errors"
	"math"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pingcap/kvproto/pkg/kvrpcpb"
	"github.com/tikv/client-go/v2/tikv"
	"github.com/tikv/client-go/v2/tikvrpc"

	"github.com/smolwc/smolwc/cf"
)

// A faulty client lets a test come between a request and its answer.
type faulty struct {
	tikv.Client
	on   atomic.Pointer[fault]
	mute *mute // nil does nothing
}

// A mute lets nobody have an answer while it is on.
type mute struct{ until atomic.Pointer[chan struct{}] }

func (m *mute) begin() (end func()) {
	until := make(chan struct{})
	m.until.Store(&until)
	return func() {
		m.until.Store(nil)
		close(until)
	}
}

// wait returns the error of the context, if it ends before the mute.
func (m *mute) wait(ctx context.Context) error {
	if m == nil {
		return nil
	}
	if until := m.until.Load(); until != nil {
		select {
		case <-*until:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// A fault replaces the sending of a request.
type fault func(req *tikvrpc.Request, send func() (*tikvrpc.Response, error)) (*tikvrpc.Response, error)

func (f *faulty) SendRequest(ctx context.Context, addr string, req *tikvrpc.Request, timeout time.Duration) (*tikvrpc.Response, error) {
	send := func() (*tikvrpc.Response, error) { return f.Client.SendRequest(ctx, addr, req, timeout) }
	if err := f.mute.wait(ctx); err != nil {
		return nil, err
	}
	if on := f.on.Load(); on != nil {
		return (*on)(req, send)
	}
	return send()
}

func (f *faulty) set(on fault) { f.on.Store(&on) }

// wrap puts the client before another one. Tests prepare the store through other clients:
// parts of a commit may still be sent when it has returned.
func (f *faulty) wrap(c tikv.Client) tikv.Client {
	f.Client = c
	return f
}

// A commit that a reader has pushed to a later timestamp is checked at that timestamp
// too: a drop may lie in between.
func TestAPushedCommitIsCheckedAgain(t *testing.T) {
	c, client := newCluster(t), new(faulty)
	writer, other := c.open(client.wrap), c.open(nil)
	if err := other.CreateFamily(t.Context(), "f"); err != nil {
		t.Fatal(err)
	}
	var once sync.Once
	client.set(func(req *tikvrpc.Request, send func() (*tikvrpc.Response, error)) (*tikvrpc.Response, error) {
		if req.Type == tikvrpc.CmdCommit {
			once.Do(func() {
				if err := other.DropRange(t.Context(), []string{"f"}, cf.Range{}); err != nil {
					t.Error(err)
				}
				values(t, other, nil, "f") // pushes the commit behind the drop
			})
		}
		return send()
	})
	if _, err := writer.Write(t.Context(), nil, func(b *cf.Batch) error { put(b, "f", "r", "x"); return nil }); err != nil {
		t.Fatal(err)
	}
	if got := values(t, other, nil, "f"); got["r"] != "x" {
		t.Errorf("the row that was committed after the drop is lost: %q", got)
	}
}

// When the answer to a commit is lost, the outcome is unknown, and the commit has taken
// effect once or not at all.
func TestLostAnswersOfCommits(t *testing.T) {
	for _, test := range []struct {
		name    string
		reaches bool // the request reaches TiKV
		want    string
	}{
		{"the answer is lost", true, "2"},
		{"the request is lost", false, "1"},
	} {
		t.Run(test.name, func(t *testing.T) {
			c, client := newCluster(t), new(faulty)
			s, other := c.open(client.wrap), c.open(nil)
			if err := other.CreateFamily(t.Context(), "f"); err != nil {
				t.Fatal(err)
			}
			if err := increase(t.Context(), t, other, "r"); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			client.set(func(req *tikvrpc.Request, send func() (*tikvrpc.Response, error)) (*tikvrpc.Response, error) {
				if req.Type != tikvrpc.CmdCommit {
					return send()
				}
				defer cancel()
				if test.reaches {
					send()
				}
				return nil, errors.New("the connection broke")
			})
			if err := increase(ctx, t, s, "r"); !errors.Is(err, cf.ErrUnknownOutcome) {
				t.Errorf("the error is %v", err)
			}
			if got := values(t, other, nil, "f")["r"]; got != test.want {
				t.Errorf("the row counts %s, want %s", got, test.want)
			}
		})
	}
}

// A write that TiKV cannot take in time ends with the error of its context, and writes
// nothing.
func TestLostRequestsBeforeTheCommit(t *testing.T) {
	c, client := newCluster(t), new(faulty)
	s, other := c.open(client.wrap), c.open(nil)
	if err := other.CreateFamily(t.Context(), "f"); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	client.set(func(req *tikvrpc.Request, send func() (*tikvrpc.Response, error)) (*tikvrpc.Response, error) {
		if req.Type == tikvrpc.CmdPrewrite {
			cancel()
			return nil, errors.New("the connection broke")
		}
		return send()
	})
	if err := increase(ctx, t, s, "r"); !errors.Is(err, context.Canceled) || errors.Is(err, cf.ErrUnknownOutcome) {
		t.Errorf("the error is %v", err)
	}
	client.on.Store(nil)
	if got := values(t, other, nil, "f"); len(got) != 0 {
		t.Errorf("there are rows: %q", got)
	}
}

// A process that was stopped for so long that others have taken its locks and written
// its row does not overwrite them: it reads the row again.
func TestAWriterWithoutItsLocksBeginsAgain(t *testing.T) {
	c, client := newRegions(t), new(faulty) // of one region, so that all keys are in one request
	s, other, direct := c.open(client.wrap), c.open(nil), c.connect(nil)
	if err := other.CreateFamily(t.Context(), "f"); err != nil {
		t.Fatal(err)
	}
	unlock := func(p *kvrpcpb.PrewriteRequest) {
		for i, m := range p.Mutations {
			if p.PessimisticActions[i] != kvrpcpb.PrewriteRequest_DO_PESSIMISTIC_CHECK {
				continue
			}
			bo := tikv.NewBackofferWithVars(t.Context(), 1000, nil)
			region, err := direct.GetRegionCache().LocateKey(bo, m.Key)
			if err != nil {
				t.Fatal(err)
			}
			_, err = direct.SendReq(bo, tikvrpc.NewRequest(tikvrpc.CmdPessimisticRollback, &kvrpcpb.PessimisticRollbackRequest{
				StartVersion: p.StartVersion, ForUpdateTs: math.MaxUint64, Keys: [][]byte{m.Key},
			}), region.Region, time.Minute)
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	var once sync.Once
	client.set(func(req *tikvrpc.Request, send func() (*tikvrpc.Response, error)) (*tikvrpc.Response, error) {
		if req.Type == tikvrpc.CmdPrewrite && len(req.Prewrite().PessimisticActions) > 0 {
			once.Do(func() {
				unlock(req.Prewrite())
				if err := increase(t.Context(), t, other, "r"); err != nil {
					t.Error(err)
				}
			})
		}
		return send()
	})
	if err := increase(t.Context(), t, s, "r"); err != nil {
		t.Fatal(err)
	}
	if got := values(t, other, nil, "f")["r"]; got != "2" {
		t.Errorf("the row counts %s, want 2", got)
	}
}
