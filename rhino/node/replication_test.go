package node_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/smolwc/smolwc/rhino/node"
)

// The replicator is killed again and again while tokens are added, moved to other tenants
// and removed, and shards are made. In the end every region has the last state.
func TestTheReplicatorIsKilled(t *testing.T) {
	c := newCluster(t)
	c.start(c.Config, node.Options{Roles: []node.Role{node.ControlRole}})
	c.start(c.Config, node.Options{Roles: []node.Role{node.RegionRole}})
	file, ctl := c.file(), c.direct(control)
	tokens, shards := map[string]string{}, map[string]string{} // what must be in the end
	const some = 20
	change := func() {
		token := fmt.Sprintf("token %d", rand.N(some))
		if tokens[token] != "" {
			ctl.want(fmt.Sprintf(`{"RemoveGlobalToken":{"token":%q}}`, token), `"GlobalTokenRemoved"`)
			tokens[token] = ""
		} else {
			tokens[token] = fmt.Sprintf("tenant %d", rand.N(some))
			ctl.want(fmt.Sprintf(`{"AddGlobalTenant":{"tenant_id":%q,"token":%q}}`, tokens[token], token), `"GlobalTenantAdded"`)
		}
	}
	for n := range *kills {
		kill := c.process(file, node.ReplicatorRole, "")
		for range some {
			change()
		}
		shard := fmt.Sprintf("shard %d", n)
		shards[shard] = []string{eu, us, asia}[n%3]
		ctl.want(fmt.Sprintf(`{"AddShardToGlobalRouting":{"tenant_id":"acme","shard_name":%q,"region":%q}}`, shard, shards[shard]), `"ShardAddedToGlobalRouting"`)
		if n%2 == 0 { // it has begun its work
			c.located("acme", shard, shards[shard], []string{eu, us, asia}[rand.N(3)])
		}
		kill()
	}
	for range some {
		change()
	}
	c.process(file, node.ReplicatorRole, "")
	for _, region := range []string{eu, us, asia} {
		c.hasFacts(region, shards, tokens)
	}
}

// BenchmarkReplicationLag measures the time from the acknowledgement of a shard at the
// control until another region knows it.
func BenchmarkReplicationLag(b *testing.B) {
	c := newCluster(b)
	c.start(c.Config, node.Options{Roles: []node.Role{node.ControlRole}})
	c.start(c.Config, node.Options{Roles: []node.Role{node.RegionRole}})
	c.start(c.Config, node.Options{Roles: []node.Role{node.ReplicatorRole}})
	ctl, at := c.direct(control), c.direct(us)
	var lags []time.Duration
	for n := 0; b.Loop(); n++ {
		ctl.want(fmt.Sprintf(`{"AddShardToGlobalRouting":{"tenant_id":"acme","shard_name":"%d","region":"eu-west-2"}}`, n), `"ShardAddedToGlobalRouting"`)
		began := time.Now()
		for at.call(fmt.Sprintf(`{"GetShardRegion":{"tenant_id":"acme","shard_name":"%d"}}`, n)) == `"ShardNotFound"` {
			time.Sleep(time.Millisecond) // more would take processors from the replication
		}
		lags = append(lags, time.Since(began))
	}
	slices.Sort(lags)
	for _, p := range []int{50, 99} {
		b.ReportMetric(float64(lags[len(lags)*p/100].Microseconds())/1000, fmt.Sprintf("p%d-ms", p))
	}
}

// BenchmarkReplication measures how fast many facts get to all regions.
func BenchmarkReplication(b *testing.B) {
	c := newCluster(b)
	c.start(c.Config, node.Options{Roles: []node.Role{node.ControlRole}})
	ctl := c.direct(control)
	n := 0
	for ; b.Loop(); n++ {
		ctl.want(fmt.Sprintf(`{"AddShardToGlobalRouting":{"tenant_id":"acme","shard_name":"%d","region":"eu-west-2"}}`, n), `"ShardAddedToGlobalRouting"`)
	}
	c.start(c.Config, node.Options{Roles: []node.Role{node.RegionRole}})
	began := time.Now()
	c.start(c.Config, node.Options{Roles: []node.Role{node.ReplicatorRole}})
	at := c.direct(us)
	for i := range n {
		at.soon(fmt.Sprintf(`{"GetShardRegion":{"tenant_id":"acme","shard_name":"%d"}}`, i), `{"ShardLocated":{"region":"eu-west-2"}}`)
	}
	b.ReportMetric(float64(n)/time.Since(began).Seconds(), "facts/s")
}

// BenchmarkRows measures reads and writes of one client in the region of its front, and
// in another one.
func BenchmarkRows(b *testing.B) {
	c := newCluster(b)
	c.start(c.Config, node.Options{Roles: []node.Role{node.ControlRole, node.ReplicatorRole}})
	for _, name := range []string{eu, us, asia} {
		c.start(c.Config, node.Options{Roles: []node.Role{node.FrontRole, node.RegionRole}, Regions: []string{name}})
	}
	client := prepared(b, c, `["id"]`)
	for name, region := range map[string]string{"here": eu, "elsewhere": us} {
		b.Run("set "+name, func(b *testing.B) {
			for b.Loop() {
				client.want(about("SetRow", region, "row", `{"id":{"U64":1},"v":{"String":"x"}}`), `"SetRowCompleted"`)
			}
		})
		b.Run("get "+name, func(b *testing.B) {
			for b.Loop() {
				client.call(about("GetRow", region, "pk", `{"id":{"U64":1}}`))
			}
		})
	}
}
