package regions_test

import (
	"context"
	"fmt"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pingcap/failpoint"
	"github.com/pingcap/kvproto/pkg/kvrpcpb"
	"github.com/pingcap/log"
	"github.com/smolwc/smolwc/tikv/cftikv/internal/dial"
	"github.com/smolwc/smolwc/tikv/cftikv/internal/mock"
	"github.com/smolwc/smolwc/tikv/cftikv/internal/regions"
	"github.com/tikv/client-go/v2/oracle"
	"github.com/tikv/client-go/v2/testutils"
	"github.com/tikv/client-go/v2/tikv"
	"github.com/tikv/client-go/v2/tikvrpc"
	"github.com/tikv/client-go/v2/util"
	"go.uber.org/zap/zapcore"
)

func TestMain(m *testing.M) {
	log.SetLevel(zapcore.FatalLevel)
	util.EnableFailpoints()
	if err := failpoint.Enable("tikvclient/injectLiveness", `return("reachable")`); err != nil {
		panic(err) // the stores of the mock have no address that client-go could ask
	}
	os.Exit(m.Run())
}

// withoutSleep lets client-go count the time that it waits between attempts, and not
// wait.
func withoutSleep(t *testing.T) {
	const point = "tikvclient/fastBackoffBySkipSleep"
	ok(t, failpoint.Enable(point, "return"))
	t.Cleanup(func() { ok(t, failpoint.Disable(point)) })
}

// A wire is what lies between the client and the mock of TiKV.
type wire struct {
	tikv.Client
	scans, running, most atomic.Int64
	keys                 atomic.Int64                                 // asked for by the largest scan
	delay, perKey        atomic.Int64                                 // of each scan, and of each key in it, in nanoseconds
	before               atomic.Pointer[func(*tikvrpc.Request) error] // called before each scan
	after                atomic.Pointer[func(*tikvrpc.Request, *tikvrpc.Response)]
}

func (w *wire) SendRequest(ctx context.Context, addr string, r *tikvrpc.Request, timeout time.Duration) (*tikvrpc.Response, error) {
	if r.Type != tikvrpc.CmdScan {
		return w.Client.SendRequest(ctx, addr, r, timeout)
	}
	w.scans.Add(1)
	raise(&w.keys, int64(r.Scan().Limit))
	raise(&w.most, w.running.Add(1))
	defer w.running.Add(-1)
	if f := w.before.Load(); f != nil {
		if err := (*f)(r); err != nil {
			return nil, err
		}
	}
	resp, err := w.Client.SendRequest(ctx, addr, r, timeout)
	if d := w.delay.Load(); d > 0 && err == nil {
		time.Sleep(time.Duration(d + w.perKey.Load()*int64(len(resp.Resp.(*kvrpcpb.ScanResponse).Pairs))))
	}
	if f := w.after.Load(); f != nil && err == nil {
		(*f)(r, resp)
	}
	return resp, err
}

// failOnce makes the next scan fail.
func (w *wire) failOnce(err error) {
	var done atomic.Bool
	f := func(*tikvrpc.Request) error {
		if done.Swap(true) {
			return nil
		}
		return err
	}
	w.before.Store(&f)
}

func raise(most *atomic.Int64, n int64) {
	for old := most.Load(); n > old && !most.CompareAndSwap(old, n); old = most.Load() {
	}
}

// requests counts the scans that f makes.
func (w *wire) requests(f func()) int64 {
	before := w.scans.Load()
	f()
	return w.scans.Load() - before
}

// tester is the part of testing.TB that a rapid.T has too.
type tester interface {
	Helper()
	Fatal(...any)
	Fatalf(string, ...any)
	Cleanup(func())
	Context() context.Context
}

type cluster struct {
	tester
	store *tikv.KVStore
	mock  *mock.Regions
	ids   []uint64 // of the stores
	wire  *wire
}

func newCluster(t tester, stores int) *cluster {
	t.Helper()
	client, regions, pd, err := testutils.NewMockTiKV("", nil)
	ok(t, err)
	c := &cluster{tester: t, mock: mock.New(regions, stores), wire: &wire{}}
	c.ids = c.mock.Stores
	c.store, err = tikv.NewTestTiKVStore(client, pd, func(inner tikv.Client) tikv.Client {
		c.wire.Client = inner
		return c.wire
	}, nil, 0)
	ok(t, err)
	dial.OwnAnswers(c.store)
	t.Cleanup(func() { c.store.Close() })
	return c
}

func ok(t tester, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (c *cluster) now() uint64 {
	c.Helper()
	ts, err := c.store.CurrentTimestamp(oracle.GlobalTxnScope)
	ok(c, err)
	return ts
}

// put writes pairs of keys and values in one transaction. Unlike a transaction of
// client-go it leaves no lock behind.
func (c *cluster) put(pairs ...string) {
	c.Helper()
	d := dead{c, c.now(), pairs[0]}
	d.prewrite(0, pairs...)
	var keys []string
	for i := 0; i < len(pairs); i += 2 {
		keys = append(keys, pairs[i])
	}
	d.commit(c.now(), keys...)
}

// fill writes n keys, p/000000 and so on, with values of a size.
func (c *cluster) fill(n, size int) {
	c.Helper()
	batch := min(5000, 4<<20/size)
	for i := 0; i < n; i += batch {
		var pairs []string
		for j := i; j < min(i+batch, n); j++ {
			pairs = append(pairs, "p/"+number(j), fmt.Sprintf("%0*d", size, j))
		}
		c.put(pairs...)
	}
}

func number(i int) string { return fmt.Sprintf("%06d", i) }

// split makes a raw key the first one of a region.
func (c *cluster) split(key string) { c.mock.SplitAt(key) }

// merge joins the region of a raw key with the one that follows it.
func (c *cluster) merge(key string) { c.mock.MergeAt(key) }

// lead makes a store the leader of a raw key's region.
func (c *cluster) lead(key string, store int) { c.mock.LeadAt(key, store) }

// iterator walks over the keys that begin with p/ now.
func (c *cluster) iterator(more ...func(*regions.Options)) *regions.Iterator {
	o := regions.Options{At: c.now(), Prefix: []byte("p/")}
	for _, f := range more {
		f(&o)
	}
	it := regions.New(c.store, o)
	c.Cleanup(it.Close)
	return it
}

// walk returns the keys from where the iterator is to its end.
func walk(t tester, it *regions.Iterator) (keys []string) {
	t.Helper()
	for ; it.Valid(); it.Next(t.Context()) {
		keys = append(keys, string(it.Key()))
	}
	ok(t, it.Err())
	return keys
}
