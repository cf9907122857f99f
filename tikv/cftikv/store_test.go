package cftikv_test

import (
	"context"
	"flag"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pingcap/failpoint"
	"github.com/pingcap/log"
	"github.com/tikv/client-go/v2/testutils"
	"github.com/tikv/client-go/v2/tikv"
	"github.com/tikv/client-go/v2/util"
	pd "github.com/tikv/pd/client"
	"github.com/tikv/pd/client/clients/tso"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/cftest"
	"github.com/smolwc/smolwc/tikv/cftikv"
	"github.com/smolwc/smolwc/tikv/cftikv/internal/dial"
)

// TestMain silences the log of client-go, which is a global one. On the mock, each history
// takes long; -rapid.checks makes more of them.
func TestMain(m *testing.M) {
	if err := flag.Set("rapid.checks", "20"); err != nil {
		panic(err)
	}
	logger, properties, err := log.InitLogger(&log.Config{Level: "fatal"})
	if err != nil {
		panic(err)
	}
	log.ReplaceGlobals(logger, properties)
	util.EnableFailpoints()
	if err := failpoint.Enable("tikvclient/injectLiveness", `return("reachable")`); err != nil {
		panic(err) // the stores of the mock have no address that client-go could ask
	}
	os.Exit(m.Run())
}

// A cluster is a TiKV in this process.
type cluster struct {
	testing.TB
	client *testutils.MockClient
	pd     *clock
}

// newCluster makes a cluster of several regions. The first families, the sentinels and
// the descriptors of the store test are in different ones, and so are a family's rows.
func newCluster(t testing.TB) *cluster {
	t.Helper()
	const prefix = "smolwc/test/"
	return newRegions(t, prefix+"d\x00\x00\x00\x00\x01b", prefix+"d\x00\x00\x00\x01", prefix+"l", prefix+"m")
}

// newRegions makes a cluster whose regions are split at some keys.
func newRegions(t testing.TB, splits ...string) *cluster {
	t.Helper()
	client, regions, pdClient, err := testutils.NewMockTiKV("", nil)
	if err != nil {
		t.Fatal(err)
	}
	var keys [][]byte
	for _, s := range splits {
		keys = append(keys, []byte(s))
	}
	testutils.BootstrapWithMultiRegions(regions, keys...)
	return &cluster{t, client, &clock{Client: pdClient}}
}

// A clock is a PD whose time can be moved forward.
type clock struct {
	pd.Client
	ahead atomic.Int64 // in milliseconds
	mute  mute
}

func (c *clock) GetTS(ctx context.Context) (physical, logical int64, err error) {
	if err := c.mute.wait(ctx); err != nil {
		return 0, 0, err
	}
	physical, logical, err = c.Client.GetTS(ctx)
	return physical + c.ahead.Load(), logical, err
}

func (c *clock) GetTSAsync(ctx context.Context) tso.TSFuture { return future{c, ctx} }

type future struct {
	clock *clock
	ctx   context.Context
}

func (f future) Wait() (physical, logical int64, err error) { return f.clock.GetTS(f.ctx) }

// pass moves the time of the cluster forward.
func (c *cluster) pass(d time.Duration) { c.pd.ahead.Add(d.Milliseconds()) }

// connect makes a client of its own, as another process would have. wrap may change the
// connection.
func (c *cluster) connect(wrap func(tikv.Client) tikv.Client) *tikv.KVStore {
	c.Helper()
	client, err := tikv.NewTestTiKVStore(c.client, c.pd, wrap, nil, 0)
	if err != nil {
		c.Fatal(err)
	}
	dial.OwnAnswers(client)
	c.Cleanup(func() { client.Close() })
	return client
}

// open opens a store as another process would.
func (c *cluster) open(wrap func(tikv.Client) tikv.Client) *cftikv.Store {
	c.Helper()
	s, err := cftikv.Open(context.Background(), c.connect(wrap), "test", cftikv.Options{})
	if err != nil {
		c.Fatal(err)
	}
	c.Cleanup(func() { s.Close() })
	return s
}

func TestStore(t *testing.T) {
	cftest.Run(t, func(t *testing.T) cftest.Harness {
		c := newCluster(t)
		return cftest.Harness{
			Store:  c.open(nil),
			Reopen: func(cf.Store) cf.Store { return c.open(nil) },
		}
	})
}
