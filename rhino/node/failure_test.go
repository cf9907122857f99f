package node_test

import (
	"net"
	"strings"
	"testing"
	"time"

	"github.com/smolwc/smolwc/rhino/node"
)

// blackHole accepts connections and never answers.
func blackHole(t testing.TB) (address string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { _ = c.Close() })
		}
	}()
	return l.Addr().String()
}

// only is the configuration for a process that finds some servers at other addresses.
func (c *cluster) only(change map[string]string) *node.Config {
	config := *c.Config
	config.Regions = append([]node.Region{}, c.Regions...)
	if a, ok := change[control]; ok {
		config.Control.Address = a
	}
	for i, g := range config.Regions {
		if a, ok := change[g.Name]; ok {
			config.Regions[i].Address = a
		}
	}
	return &config
}

// retries fails the test unless the reply is PleaseRetry, within the deadline and some
// time for a slow machine.
func (c *cluster) retries(client *conn, request string) {
	c.t.Helper()
	began := time.Now()
	if got := client.call(request); !strings.Contains(got, "PleaseRetry") {
		c.t.Fatalf("%s: %s", request, got)
	}
	c.t.Logf("PleaseRetry after %v, the deadline is %v", time.Since(began), c.Deadline)
}

// Reads and writes of a shard at its region's front need nothing but the region: the
// control and the other regions are black holes.
func TestSameRegionNeedsNobodyElse(t *testing.T) {
	c := newCluster(t)
	stop := c.all()
	prepared(t, c, `["id"]`)
	stop()
	hole := blackHole(t)
	c.Deadline = 3 * time.Second
	c.start(c.only(map[string]string{control: hole, us: hole, asia: hole}),
		node.Options{Roles: []node.Role{node.FrontRole, node.RegionRole}, Regions: []string{eu}})

	client := c.login(eu, "token")
	began := time.Now()
	for range 20 {
		client.want(about("SetRow", eu, "row", `{"id":{"U64":1},"v":{"String":"x"}}`), `"SetRowCompleted"`)
		client.want(about("GetRow", eu, "pk", `{"id":{"U64":1}}`), `{"RowFound":{"row":{"id":{"U64":1},"v":{"String":"x"}}}}`)
		client.want(about("GetRows", eu, "prefix", `{}`), `{"RowsFound":{"rows":[{"id":{"U64":1},"v":{"String":"x"}}],"next":""}}`)
		client.want(about("DeleteRow", eu, "pk", `{"id":{"U64":1}}`), `"DeleteRowCompleted"`)
	}
	t.Logf("80 requests took %v", time.Since(began))

	c.retries(client, about("GetRow", us, "pk", `{"id":{"U64":1}}`))
	c.retries(client, `{"CreateShard":{"name":"new","region":"eu-west-2"}}`)
	c.retries(client, `{"CreateTable":{"name":"new","pk":["id"]}}`)
	c.retries(client, `{"GetRow":{"shard_name":"new","table_name":"notes","pk":{"id":{"U64":1}}}}`)
}

// While a region is down, requests for its shards are answered with PleaseRetry, and
// others do not notice. It comes back with its rows, and with what it has missed.
func TestARegionIsDown(t *testing.T) {
	c := newCluster(t)
	servers := []node.Role{node.FrontRole, node.RegionRole}
	c.start(c.Config, node.Options{Roles: []node.Role{node.ControlRole, node.ReplicatorRole}})
	c.start(c.Config, node.Options{Roles: servers, Regions: []string{eu, asia}})
	stop := c.start(c.Config, node.Options{Roles: servers, Regions: []string{us}})
	client := prepared(t, c, `["id"]`)
	row, found := `{"id":{"U64":1},"v":{"String":"x"}}`, `{"RowFound":{"row":{"id":{"U64":1},"v":{"String":"x"}}}}`
	for _, region := range []string{eu, us, asia} {
		client.want(about("SetRow", region, "row", row), `"SetRowCompleted"`)
	}
	stop()
	for _, region := range []string{eu, asia} {
		client.want(about("GetRow", region, "pk", row), found)
		client.want(about("SetRow", region, "row", row), `"SetRowCompleted"`)
	}
	c.retries(client, about("GetRow", us, "pk", row))
	c.retries(client, about("SetRow", us, "row", row))
	client.want(`{"CreateShard":{"name":"meanwhile","region":"us-east-2"}}`, `"ShardCreated"`)
	c.tenant("new", "new token", eu, asia)

	c.start(c.Config, node.Options{Roles: servers, Regions: []string{us}})
	client.soon(about("GetRow", us, "pk", row), found)
	c.located("acme", "meanwhile", us, us)
	c.front(us).soon(`{"Login":{"token":"new token"}}`, `{"LoggedIn":{"region":"us-east-2"}}`)
}

// While the control is down, shards and tables that a region knows go on, and nothing
// new can be made.
func TestTheControlIsDown(t *testing.T) {
	c := newCluster(t)
	c.start(c.Config, node.Options{Roles: []node.Role{node.FrontRole, node.RegionRole}})
	c.start(c.Config, node.Options{Roles: []node.Role{node.ReplicatorRole}})
	lone := node.Options{Roles: []node.Role{node.ControlRole}}
	stop := c.start(c.Config, lone)
	client := prepared(t, c, `["id"]`)
	stop()
	row := `{"id":{"U64":1}}`
	for _, region := range []string{eu, us, asia} {
		client.want(about("SetRow", region, "row", row), `"SetRowCompleted"`)
		client.want(about("GetRow", region, "pk", row), `{"RowFound":{"row":`+row+`}}`)
		c.login(region, "token")
	}
	c.retries(client, `{"CreateShard":{"name":"new","region":"eu-west-2"}}`)
	c.retries(client, `{"CreateTable":{"name":"new","pk":["id"]}}`)
	c.start(c.Config, lone)
	client.soon(`{"CreateShard":{"name":"new","region":"eu-west-2"}}`, `"ShardCreated"`)
	c.located("acme", "new", eu, eu, us, asia)
}

// A region that was added to the configuration gets all facts, and so does one whose
// database is lost; once more when it is asked for.
func TestANewRegionGetsEverything(t *testing.T) {
	c := newCluster(t)
	small := *c.Config
	small.Regions = c.Regions[:2]
	stop := c.start(&small, node.Options{})
	c.tenant("acme", "token", eu, us)
	for i := range 450 { // more than a batch
		c.direct(control).want(`{"AddShardToGlobalRouting":{"tenant_id":"acme","shard_name":"`+strings.Repeat("x", i+1)+`","region":"eu-west-2"}}`, `"ShardAddedToGlobalRouting"`)
	}
	stop()
	stop = c.all()
	c.front(asia).soon(`{"Login":{"token":"token"}}`, `{"LoggedIn":{"region":"ap-south-1"}}`)
	last := strings.Repeat("x", 450)
	c.located("acme", last, eu, asia)
	stop()

	c.Regions[2].DataDir = t.TempDir()
	c.all()
	c.front(asia).soon(`{"Login":{"token":"token"}}`, `{"LoggedIn":{"region":"ap-south-1"}}`)
	c.direct(control).want(`{"SeedRegion":{"region":"ap-south-1"}}`, `"RegionSeeded"`)
	c.front(asia).soon(`{"Login":{"token":"token"}}`, `{"LoggedIn":{"region":"ap-south-1"}}`)
	c.located("acme", last, eu, asia)
}
