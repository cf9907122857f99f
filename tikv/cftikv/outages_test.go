package cftikv_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/pingcap/kvproto/pkg/errorpb"
	"github.com/tikv/client-go/v2/tikvrpc"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/cftest"
	"github.com/smolwc/smolwc/tikv/cftikv"
)

// An outage begins a fault of the cluster that lasts until it is ended.
type outage func(*cluster, *faulty) (end func())

// refusing answers each request with an error of its region.
func refusing(e *errorpb.Error) outage {
	return sending(func(req *tikvrpc.Request) (*tikvrpc.Response, error) { return tikvrpc.GenRegionErrorResp(req, e) })
}

func sending(answer func(*tikvrpc.Request) (*tikvrpc.Response, error)) outage {
	return func(_ *cluster, client *faulty) func() {
		client.set(func(req *tikvrpc.Request, _ func() (*tikvrpc.Response, error)) (*tikvrpc.Response, error) {
			return answer(req)
		})
		return func() { client.on.Store(nil) }
	}
}

var outages = map[string]outage{
	"a stopped store":         sending(func(*tikvrpc.Request) (*tikvrpc.Response, error) { return nil, errors.New("connection refused") }),
	"a region without leader": refusing(&errorpb.Error{NotLeader: &errorpb.NotLeader{}}),
	"a region that is gone":   refusing(&errorpb.Error{RegionNotFound: &errorpb.RegionNotFound{}}),
	"a busy server":           refusing(&errorpb.Error{ServerIsBusy: &errorpb.ServerIsBusy{}}),
	"a full disk":             refusing(&errorpb.Error{DiskFull: &errorpb.DiskFull{StoreId: []uint64{1}, Reason: "full"}}),
	"no answer":               func(_ *cluster, client *faulty) func() { return client.mute.begin() },
	"PD does not answer":      func(c *cluster, _ *faulty) func() { return c.pd.mute.begin() },
}

// A call is each way to use a store that asks TiKV. begin begins the outage; the calls
// that hold something do it when they have it.
type call func(ctx context.Context, s *cftikv.Store, begin func()) error

func putBoth(ctx context.Context, s *cftikv.Store, rows []cf.RowID, begin func()) error {
	_, err := s.Write(ctx, rows, func(b *cf.Batch) error {
		begin()
		put(b, "f", "r", "new")
		put(b, "g", "s", "new")
		return nil
	})
	return err
}

func collect(ctx context.Context, snap cf.Snapshot) error {
	_, _, err := cftest.Collect(ctx, snap, cf.Scan{Family: "f", Rows: []cf.Range{{}}})
	return err
}

var rows = []cf.RowID{id("r"), id("s")}

var calls = map[string]call{
	"Read": func(ctx context.Context, s *cftikv.Store, begin func()) error {
		begin()
		err := s.Read(ctx, &cf.Scan{Family: "f", Rows: []cf.Range{{}}}, new(cf.Answer))
		return err
	},
	"Snapshot.MetaPrefix": func(ctx context.Context, s *cftikv.Store, begin func()) error {
		begin()
		snap, err := s.Snapshot(ctx)
		if err != nil {
			return err
		}
		defer snap.Close()
		_, err = snap.MetaPrefix(ctx, "")
		return err
	},
	"Update": func(ctx context.Context, s *cftikv.Store, begin func()) error {
		begin()
		_, err := s.Update(ctx, rows, func(cf.Snapshot, *cf.Batch) error { return nil })
		return err
	},
	"Update that has its locks": func(ctx context.Context, s *cftikv.Store, begin func()) error {
		_, err := s.Update(ctx, rows, func(snap cf.Snapshot, b *cf.Batch) error {
			begin()
			return collect(ctx, snap)
		})
		return err
	},
	"Write": func(ctx context.Context, s *cftikv.Store, begin func()) error {
		begin()
		return putBoth(ctx, s, rows, func() {})
	},
	"Write that has its locks": func(ctx context.Context, s *cftikv.Store, begin func()) error { return putBoth(ctx, s, rows, begin) },
	"Write without names":      func(ctx context.Context, s *cftikv.Store, begin func()) error { return putBoth(ctx, s, nil, begin) },
	"Write that deletes a row": func(ctx context.Context, s *cftikv.Store, begin func()) error {
		_, err := s.Write(ctx, rows, func(b *cf.Batch) error {
			begin()
			b.Row(id("r"))
			b.DeleteRow("f")
			put(b, "g", "s", "new")
			return nil
		})
		return err
	},
	"Txn.Commit": func(ctx context.Context, s *cftikv.Store, begin func()) error {
		tx, err := s.Begin(ctx)
		if err != nil {
			return err
		}
		defer tx.Close()
		tx.Read("t", cf.Range{})
		var b cf.Batch
		put(&b, "f", "r", "new")
		put(&b, "g", "s", "new")
		if err := tx.Add(&b); err != nil {
			return err
		}
		begin()
		_, err = tx.Commit(ctx, nil)
		return err
	},
	"Txn.Add": func(ctx context.Context, s *cftikv.Store, begin func()) error {
		tx, err := s.Begin(ctx)
		if err != nil {
			return err
		}
		defer tx.Close()
		var b cf.Batch
		put(&b, "f", "r", "new")
		begin()
		return tx.Add(&b)
	},
	"Txn.Scan": func(ctx context.Context, s *cftikv.Store, begin func()) error {
		tx, err := s.Begin(ctx)
		if err != nil {
			return err
		}
		defer tx.Close()
		var b cf.Batch
		put(&b, "f", "r", "new")
		if err := errors.Join(collect(ctx, tx), tx.Add(&b)); err != nil {
			return err
		}
		begin()
		return collect(ctx, tx)
	},
	"CreateFamily": func(ctx context.Context, s *cftikv.Store, begin func()) error {
		begin()
		return s.CreateFamily(ctx, "new")
	},
	"DropRange": func(ctx context.Context, s *cftikv.Store, begin func()) error {
		begin()
		return s.DropRange(ctx, []string{"f", "g"}, cf.Range{})
	},
	"PutMeta": func(ctx context.Context, s *cftikv.Store, begin func()) error {
		begin()
		return s.PutMeta(ctx, "new", nil)
	},
	"Compact": func(ctx context.Context, s *cftikv.Store, begin func()) error {
		begin()
		return s.Compact(ctx, "f", cf.Range{})
	},
	"Splits": func(ctx context.Context, s *cftikv.Store, begin func()) error {
		begin()
		_, err := s.Splits(ctx, []string{"f"}, cf.Range{}, 2)
		return err
	},
	"Stats": func(ctx context.Context, s *cftikv.Store, begin func()) error {
		begin()
		_, err := s.Stats(ctx)
		return err
	},
	"Now": func(ctx context.Context, s *cftikv.Store, begin func()) error {
		begin()
		_, err := s.Now(ctx)
		return err
	},
	"Lead": func(ctx context.Context, s *cftikv.Store, begin func()) error {
		begin()
		_, resign, err := s.Lead(ctx, "job")
		if err == nil {
			resign()
		}
		return err
	},
}

// In each outage, each call ends with its deadline, with an error that says so, and it
// has written all or nothing. When the outage has ended, calls succeed at once.
func TestOutages(t *testing.T) {
	for name, outage := range outages {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for name, call := range calls {
				t.Run(name, func(t *testing.T) { testOutage(t, outage, call) })
			}
		})
	}
}

// tooLate is the time after which a call has not heeded its deadline: client-go tries for
// 10 s at least.
const tooLate = 8 * time.Second

func testOutage(t *testing.T, outage outage, call call) {
	c, client := newCluster(t), new(faulty)
	other := c.open(nil)
	must(t, other.CreateFamily(t.Context(), "f", "g"))
	_, err := other.Write(t.Context(), nil, func(b *cf.Batch) error {
		put(b, "f", "r", "old")
		put(b, "g", "s", "old")
		return nil
	})
	must(t, err)
	client.mute = new(mute)
	s := c.open(client.wrap)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	end, began := func() {}, time.Now()
	err = call(ctx, s, func() { end = outage(c, client) })
	took := time.Since(began)
	end()
	if err != nil && !errors.Is(err, cf.ErrUnavailable) && !errors.Is(err, cf.ErrUnknownOutcome) {
		t.Errorf("the error is %v", err)
	}
	if took > tooLate {
		t.Errorf("the call took %v, with the error %v", took, err)
	}
	got := fmt.Sprint(values(t, other, nil, "f")["r"], " ", values(t, other, nil, "g")["s"])
	if got != "old old" && (err == nil || !errors.Is(err, cf.ErrUnknownOutcome)) {
		t.Errorf("after %v there is %s", err, got)
	}
	if err := putBoth(t.Context(), s, rows, func() {}); err != nil {
		t.Errorf("after the outage: %v", err)
	}
}

// Writes and compactions without a deadline wait while TiKV is busy, and end with EndWaits
// or Close.
func TestEndingWaitsEndsWritesToABusyServer(t *testing.T) {
	for name, end := range map[string]func(*cftikv.Store){
		"EndWaits": (*cftikv.Store).EndWaits,
		"Close":    func(s *cftikv.Store) { s.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, client := newCluster(t), new(faulty)
			s := c.open(client.wrap)
			must(t, s.CreateFamily(t.Context(), "f", "g"))
			defer outages["a busy server"](c, client)()
			errs := make(chan error)
			waiting := []string{"Update", "Write", "Write without names", "DropRange", "PutMeta", "Compact"}
			for _, name := range waiting {
				begun := make(chan struct{})
				go func() { errs <- calls[name](context.Background(), s, func() { close(begun) }) }()
				<-begun
			}
			select {
			case err := <-errs:
				t.Errorf("before the end: %v", err)
			case <-time.After(10 * time.Millisecond):
			}
			end(s)
			for range waiting {
				if err := <-errs; !errors.Is(err, cf.ErrClosed) {
					t.Errorf("a call has ended with %v", err)
				}
			}
		})
	}
}
