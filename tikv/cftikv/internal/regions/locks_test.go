package regions_test

import (
	"slices"
	"testing"

	"github.com/pingcap/kvproto/pkg/kvrpcpb"
	"github.com/smolwc/smolwc/tikv/cftikv/internal/regions"
	"github.com/tikv/client-go/v2/tikv"
	"github.com/tikv/client-go/v2/tikvrpc"
)

// dead is a transaction whose client ended in the middle of a commit.
type dead struct {
	*cluster
	start   uint64
	primary string
}

// send sends the requests that are made for the keys of each region.
func (c *cluster) send(keys []string, message func(keys []string) (tikvrpc.CmdType, any), check func(*tikvrpc.Response)) {
	c.Helper()
	for len(keys) > 0 {
		bo := tikv.NewBackoffer(c.Context(), 1000)
		loc, err := c.store.GetRegionCache().LocateKey(bo, []byte(keys[0]))
		ok(c, err)
		n := 1
		for n < len(keys) && loc.Contains([]byte(keys[n])) {
			n++
		}
		cmd, m := message(keys[:n])
		resp, err := c.store.SendReq(bo, tikvrpc.NewRequest(cmd, m), loc.Region, tikv.ReadTimeoutShort)
		ok(c, err)
		moved, err := resp.GetRegionError()
		ok(c, err)
		if moved == nil {
			check(resp)
			keys = keys[n:]
		}
	}
}

// prewrite locks the keys of pairs of keys and values. The locks live for a time in
// milliseconds, and readers can pass them.
func (d dead) prewrite(ttl uint64, pairs ...string) {
	d.Helper()
	d.lock(ttl, d.start+1, pairs...)
}

// lock is prewrite with the least timestamp of the commit. Readers can pass the locks,
// by raising it, unless it is 0.
func (d dead) lock(ttl, least uint64, pairs ...string) {
	d.Helper()
	values := map[string]string{}
	var keys []string
	for i := 0; i < len(pairs); i += 2 {
		keys, values[pairs[i]] = append(keys, pairs[i]), pairs[i+1]
	}
	d.send(keys, func(keys []string) (tikvrpc.CmdType, any) {
		r := &kvrpcpb.PrewriteRequest{PrimaryLock: []byte(d.primary), StartVersion: d.start,
			LockTtl: ttl, TxnSize: uint64(len(values)), MinCommitTs: least}
		for _, key := range keys {
			r.Mutations = append(r.Mutations, &kvrpcpb.Mutation{Op: kvrpcpb.Op_Put, Key: []byte(key), Value: []byte(values[key])})
		}
		return tikvrpc.CmdPrewrite, r
	}, func(r *tikvrpc.Response) {
		if e := r.Resp.(*kvrpcpb.PrewriteResponse).Errors; len(e) > 0 {
			d.Fatalf("%v", e)
		}
	})
}

func (d dead) commit(at uint64, keys ...string) {
	d.Helper()
	d.send(keys, func(keys []string) (tikvrpc.CmdType, any) {
		r := &kvrpcpb.CommitRequest{StartVersion: d.start, CommitVersion: at}
		for _, key := range keys {
			r.Keys = append(r.Keys, []byte(key))
		}
		return tikvrpc.CmdCommit, r
	}, func(r *tikvrpc.Response) {
		if e := r.Resp.(*kvrpcpb.CommitResponse).Error; e != nil {
			d.Fatalf("%v", e)
		}
	})
}

func values(t tester, it *regions.Iterator) (values []string) {
	t.Helper()
	for it.Seek(t.Context(), nil); it.Valid(); it.Next(t.Context()) {
		values = append(values, string(it.Value()))
	}
	ok(t, it.Err())
	return values
}

func backwards(t tester, it *regions.Iterator) (values []string) {
	t.Helper()
	for it.SeekBefore(t.Context(), []byte("\xff")); it.Valid(); it.SeekBefore(t.Context(), slices.Clone(it.Key())) {
		values = append(values, string(it.Value()))
	}
	ok(t, it.Err())
	slices.Reverse(values)
	return values
}

func TestLocksOfDeadClients(t *testing.T) {
	const expired, live = 0, 1_000_000
	before, behind := []string{"old", "old", "old"}, []string{"new", "old", "new", "new"}
	for _, test := range []struct {
		name string
		ttl  uint64
		end  func(c *cluster, d dead) // what the client did before it ended
		want []string
	}{
		{"prewritten and never committed", expired, func(*cluster, dead) {}, before},
		{"committed at its primary key alone", expired, func(c *cluster, d dead) { d.commit(c.now(), d.primary) }, behind},
		{"committed at its primary key alone, with live locks", live, func(c *cluster, d dead) { d.commit(c.now(), d.primary) }, behind},
		{"still running", live, func(*cluster, dead) {}, before},
	} {
		for name, read := range map[string]func(tester, *regions.Iterator) []string{"forward": values, "backward": backwards} {
			t.Run(test.name+", "+name, func(t *testing.T) {
				c := newCluster(t, 1)
				c.put("p/a", "old", "p/b", "old", "p/c", "old")
				c.split("p/c")
				d := dead{c, c.now(), "p/a"}
				d.prewrite(test.ttl, "p/a", "new", "p/c", "new", "p/d", "new")
				test.end(c, d)
				if got := read(t, c.iterator()); !slices.Equal(got, test.want) {
					t.Errorf("%q, and not %q", got, test.want)
				}
			})
		}
	}
}

// A transaction that commits after the snapshot does not change it.
func TestACommitAfterTheSnapshotIsNotSeen(t *testing.T) {
	c := newCluster(t, 1)
	c.put("p/a", "old", "p/b", "old")
	d := dead{c, c.now(), "p/a"}
	d.prewrite(0, "p/a", "new", "p/b", "new")
	it := c.iterator()
	d.commit(c.now(), "p/a")
	if got := values(t, it); !slices.Equal(got, []string{"old", "old"}) {
		t.Errorf("%q", got)
	}
}

// The pairs before a lock are kept, and the locks of one answer are resolved together.
func TestManyLocksTakeFewRequests(t *testing.T) {
	c := newCluster(t, 1)
	c.fill(1000, 8)
	d := dead{c, c.now(), "p/" + number(300)}
	var pairs []string
	for i := 300; i < 700; i += 4 {
		pairs = append(pairs, "p/"+number(i), "new")
	}
	d.prewrite(1_000_000, pairs...)
	it := c.iterator()
	n := c.wire.requests(func() {
		it.Seek(t.Context(), nil)
		if n := len(walk(t, it)); n != 1000 {
			t.Errorf("%d keys", n)
		}
	})
	if n > 7 {
		t.Errorf("%d requests", n)
	}
}

// Reads of keys alone tell the pair of a resolved lock from a key that does not exist.
func TestOnlyKeysOfLocks(t *testing.T) {
	c := newCluster(t, 1)
	c.put("p/a", "old")
	d := dead{c, c.now(), "p/b"}
	d.prewrite(0, "p/b", "new", "p/c", "new")
	d.commit(c.now(), "p/b")
	lost := dead{c, c.now(), "p/d"}
	lost.prewrite(0, "p/d", "new")
	it := c.iterator(func(o *regions.Options) { o.KeysOnly = true })
	it.Seek(t.Context(), nil)
	if keys := walk(t, it); !slices.Equal(keys, []string{"a", "b", "c"}) {
		t.Errorf("keys %q", keys)
	}
}
