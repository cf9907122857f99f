package cftikv_test

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/tikv/client-go/v2/testutils"
	"github.com/tikv/client-go/v2/tikv"

	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/querytest"
	"github.com/smolwc/smolwc/tikv/cftikv"
	"github.com/smolwc/smolwc/tikv/cftikv/internal/mock"
)

var chaosTime = flag.Duration("chaos", time.Second, "how long each of the tests in chaos runs")

// newChaos makes a cluster of three stores whose regions split, merge and change their
// leaders all the time. Now and then a store is stopped for a moment, PD does not answer,
// or the clients that wrap makes have no answer. This goes on until end is called.
func newChaos(t testing.TB) (c *cluster, wrap func(tikv.Client) tikv.Client, end func()) {
	t.Helper()
	client, regions, pdClient, err := testutils.NewMockTiKV("", nil)
	if err != nil {
		t.Fatal(err)
	}
	muted := new(mute)
	c = &cluster{t, client, &clock{Client: pdClient}}
	r := mock.New(regions, 3)
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		for ctx.Err() == nil {
			disturb(r, c, muted)
			time.Sleep(time.Duration(rand.N(5)) * time.Millisecond)
		}
	})
	wrap = func(inner tikv.Client) tikv.Client { return &faulty{Client: inner, mute: muted} }
	return c, wrap, func() {
		cancel()
		running.Wait()
	}
}

func disturb(r *mock.Regions, c *cluster, muted *mute) {
	key := fmt.Sprintf("smolwc/test/%s", []string{"c", "d", "l", "m"}[rand.N(4)])
	if rand.N(2) == 0 {
		key = fmt.Sprintf("smolwc/test/d\x00\x00\x00%c\x01%c", rand.N(4), 'a'+rand.N(26))
	}
	moment := func() { time.Sleep(time.Duration(rand.N(3)) * time.Millisecond) }
	switch store := rand.N(len(r.Stores)); rand.N(20) {
	case 0:
		r.StopStore(r.Stores[store])
		moment()
		r.StartStore(r.Stores[store])
	case 1:
		end := c.pd.mute.begin()
		moment()
		end()
	case 2, 3:
		end := muted.begin()
		moment()
		end()
	case 4, 5, 6, 7, 8, 9:
		r.SplitAt(key)
	case 10, 11, 12, 13:
		r.MergeAt(key)
	default:
		r.LeadAt(key, store)
	}
}

// until runs fn again and again for the time of the tests in chaos, but at least once.
func until(fn func()) {
	for began := time.Now(); ; {
		if fn(); time.Since(began) > *chaosTime {
			return
		}
	}
}

// Databases agree with their model while the cluster is in chaos.
func TestHistoriesInChaos(t *testing.T) {
	until(func() {
		querytest.Histories(t, func() querytest.Place {
			c, wrap, end := newChaos(t)
			open := func(o query.Options) (*query.DB, error) {
				s, err := cftikv.Open(context.Background(), c.connect(wrap), "test", cftikv.Options{})
				if err != nil {
					return nil, err
				}
				return query.OpenStore(context.Background(), s, o)
			}
			return querytest.Place{Open: open, Remove: end}
		})
	})
}

// Processes that use the same rows have a linear history while the cluster is in chaos.
func TestLinearizableInChaos(t *testing.T) {
	until(func() {
		c, wrap, end := newChaos(t)
		defer end()
		stores := []*cftikv.Store{c.open(nil), c.open(wrap), c.open(nil)}
		must(t, stores[0].CreateFamily(t.Context(), "f"))
		linearize(t, stores)
	})
}
