package regions_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/pingcap/kvproto/pkg/errorpb"
	"github.com/pingcap/kvproto/pkg/kvrpcpb"
	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/tikv/cftikv/internal/regions"
	tikverr "github.com/tikv/client-go/v2/error"
	"github.com/tikv/client-go/v2/tikvrpc"
	"go.uber.org/goleak"
)

// moves is each way to make an iterator read.
var moves = map[string]func(context.Context, *regions.Iterator){
	"Seek":       func(ctx context.Context, it *regions.Iterator) { it.Seek(ctx, nil) },
	"SeekBefore": func(ctx context.Context, it *regions.Iterator) { it.SeekBefore(ctx, []byte("\xff")) },
	"Next": func(ctx context.Context, it *regions.Iterator) {
		for it.Seek(context.Background(), nil); it.Valid(); it.Next(ctx) {
		}
	},
}

func TestAStoppedStoreIsUnavailableUntilItIsBack(t *testing.T) {
	withoutSleep(t)
	c := newCluster(t, 1)
	c.fill(10, 8)
	for _, name := range []string{"Seek", "SeekBefore"} {
		it := c.iterator()
		c.mock.StopStore(c.ids[0])
		moves[name](t.Context(), it)
		if err := it.Err(); !errors.Is(err, cf.ErrUnavailable) || it.Valid() {
			t.Errorf("%s: %v", name, err)
		}
		_, err := regions.Get(t.Context(), c.store, regions.Options{At: c.now()}, []byte("p/x"))
		if !errors.Is(err, cf.ErrUnavailable) {
			t.Errorf("Get: %v", err)
		}
		c.mock.StartStore(c.ids[0])
		moves[name](t.Context(), it)
		ok(t, it.Err())
		if !it.Valid() {
			t.Errorf("%s: no key when the store is back", name)
		}
	}
}

// A store that does not answer does not hold a caller beyond its deadline.
func TestADeadlineEndsRetries(t *testing.T) {
	c := newCluster(t, 1)
	c.fill(10, 8)
	it := c.iterator()
	c.mock.StopStore(c.ids[0])
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	it.Seek(ctx, nil)
	if err := it.Err(); !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, cf.ErrUnavailable) {
		t.Errorf("%v", err)
	}
	if _, err := regions.Get(ctx, c.store, regions.Options{At: 1}, []byte("p/x")); err != context.DeadlineExceeded {
		t.Errorf("Get: %v", err)
	}
}

// A reader ends with its context while it waits for the lock of a transaction that runs.
func TestADeadlineEndsTheWaitForALock(t *testing.T) {
	c := newCluster(t, 1)
	d := dead{c, c.now(), "p/a"}
	d.lock(1_000_000, 0, "p/a", "new")
	it := c.iterator()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	it.Seek(ctx, nil)
	if err := it.Err(); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
}

func TestACancelledContext(t *testing.T) {
	for name, move := range moves {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, 1)
			c.fill(10_000, 8)
			it := c.iterator()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if name != "Next" {
				cancel()
			}
			f := func(*tikvrpc.Request) error { return nil }
			if name == "Next" { // cancelled while a later batch is read
				f = func(*tikvrpc.Request) error {
					if c.wire.keys.Load() > 1000 {
						cancel()
					}
					return nil
				}
			}
			c.wire.before.Store(&f)
			move(ctx, it)
			if err := it.Err(); err != context.Canceled || it.Valid() {
				t.Errorf("%v", err)
			}
			c.wire.before.Store(nil)
			it.Seek(t.Context(), []byte(number(5)))
			at(t, it, number(5))
		})
	}
}

func TestAnOldSnapshot(t *testing.T) {
	c := newCluster(t, 1)
	c.fill(10, 8)
	it := c.iterator()
	c.store.UpdateSPCache(c.now(), time.Now())
	for _, name := range []string{"Seek", "SeekBefore"} {
		if moves[name](t.Context(), it); !errors.Is(it.Err(), regions.ErrTooOld) || !errors.Is(it.Err(), cf.ErrUnavailable) {
			t.Errorf("%s: %v", name, it.Err())
		}
	}
	if _, err := regions.Get(t.Context(), c.store, regions.Options{At: 1}, []byte("p/x")); !errors.Is(err, regions.ErrTooOld) {
		t.Errorf("Get: %v", err)
	}
}

// A client that has not heard of the safepoint for long cannot know whether its
// snapshots are whole.
func TestAnUnknownSafepoint(t *testing.T) {
	c := newCluster(t, 1)
	it := c.iterator()
	c.store.UpdateSPCache(0, time.Now().Add(-time.Hour))
	if it.Seek(t.Context(), nil); !errors.Is(it.Err(), cf.ErrUnavailable) {
		t.Errorf("%v", it.Err())
	}
}

func TestWrongAnswersAreCorrupt(t *testing.T) {
	pair := func(key string) *kvrpcpb.KvPair { return &kvrpcpb.KvPair{Key: []byte(key), Value: []byte("v")} }
	for name, pairs := range map[string][]*kvrpcpb.KvPair{
		"before the range": {pair("o")},
		"after the range":  {pair("q")},
		"no key":           {pair("")},
		"twice":            {pair("p/a"), pair("p/a")},
		"not in order":     {pair("p/b"), pair("p/c"), pair("p/a")},
		"damaged, by TiKV": {{Error: &kvrpcpb.KeyError{Abort: "Engine(Corruption: block checksum mismatch)"}}},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, 1)
			f := func(_ *tikvrpc.Request, r *tikvrpc.Response) { r.Resp.(*kvrpcpb.ScanResponse).Pairs = pairs }
			c.wire.after.Store(&f)
			it := c.iterator()
			for _, move := range []string{"Seek", "SeekBefore"} {
				if moves[move](t.Context(), it); !errors.Is(it.Err(), cf.ErrCorrupt) || it.Valid() {
					t.Errorf("%s: %v", move, it.Err())
				}
			}
		})
	}
}

// What client-go cannot read in the end is unavailable, whatever the reason.
func TestOtherErrors(t *testing.T) {
	withoutSleep(t)
	c := newCluster(t, 1)
	answer := func(resp any) func(*tikvrpc.Request, *tikvrpc.Response) {
		return func(_ *tikvrpc.Request, r *tikvrpc.Response) { r.Resp = resp }
	}
	for name, f := range map[string]func(*tikvrpc.Request, *tikvrpc.Response){
		"a refusal":     answer(&kvrpcpb.ScanResponse{Error: &kvrpcpb.KeyError{Abort: "no idea"}}),
		"no region":     answer(&kvrpcpb.ScanResponse{RegionError: &errorpb.Error{RegionNotFound: &errorpb.RegionNotFound{}}}),
		"a busy server": answer(&kvrpcpb.ScanResponse{RegionError: &errorpb.Error{ServerIsBusy: &errorpb.ServerIsBusy{}}}),
		"no answer":     answer(nil),
	} {
		t.Run(name, func(t *testing.T) {
			c.wire.after.Store(&f)
			it := c.iterator()
			if it.Seek(t.Context(), nil); !errors.Is(it.Err(), cf.ErrUnavailable) {
				t.Errorf("%v", it.Err())
			}
		})
	}
}

// An error of client-go without a text, and the end of a context that is not the
// caller's.
func TestErrorsNameTheirCause(t *testing.T) {
	c := newCluster(t, 1)
	it := c.iterator(func(o *regions.Options) { o.Patience = time.Millisecond })
	for err, text := range map[error]string{
		tikverr.NewErrPDServerTimeout(""): "unavailable: PD does not answer",
		context.Canceled:                  "unavailable: a connection to TiKV ended: context canceled",
	} {
		f := func(*tikvrpc.Request) error { return err }
		c.wire.before.Store(&f)
		if it.Seek(t.Context(), nil); !errors.Is(it.Err(), cf.ErrUnavailable) || it.Err().Error() != text {
			t.Errorf("%v", it.Err())
		}
		if errors.Is(it.Err(), context.Canceled) {
			t.Error("the error is that of the caller's context, which lives")
		}
	}
}

func TestAClosedIterator(t *testing.T) {
	c := newCluster(t, 1)
	c.fill(100, 8)
	it := c.iterator()
	it.Seek(t.Context(), nil)
	it.Close()
	it.Close()
	it.Next(t.Context())
	for _, name := range []string{"Seek", "SeekBefore"} {
		if moves[name](t.Context(), it); !errors.Is(it.Err(), cf.ErrClosed) || it.Valid() {
			t.Errorf("%s: %v", name, it.Err())
		}
	}
}

// The goroutines that read ahead end with Close, also when nobody takes their pages and
// while they wait for a store.
func TestNothingRunsAfterClose(t *testing.T) {
	for name, stop := range map[string]bool{"idle": false, "stopped store": true} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, 1)
			c.fill(40_000, 8)
			for i := 5000; i < 40_000; i += 5000 {
				c.split("p/" + number(i))
			}
			before := goleak.IgnoreCurrent()
			it := c.iterator()
			it.SetSizes(16, 500, 1000)
			it.Seek(t.Context(), nil)
			for range 6000 {
				it.Next(t.Context())
			}
			eventually(t, "requests ahead", func() bool { return c.wire.scans.Load() >= 15+8 })
			if stop {
				c.mock.StopStore(c.ids[0])
				it.Next(t.Context())
			}
			it.Close()
			goleak.VerifyNone(t, before)
		})
	}
}
