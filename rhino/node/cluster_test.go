package node_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"sync"
	"testing"
	"time"

	"github.com/smolwc/smolwc/rhino/node"
)

// The regions of Rhino's tests, and one more.
const (
	eu      = "eu-west-2"
	us      = "us-east-2"
	asia    = "ap-south-1"
	control = "control"
	secret  = "a secret between servers"
)

// A cluster is a configuration whose addresses are free, and processes of it.
type cluster struct {
	*node.Config
	t         testing.TB
	mu        sync.Mutex
	listeners map[string]net.Listener // those that no process has taken yet
}

func newCluster(t testing.TB) *cluster {
	t.Helper()
	c := &cluster{t: t, listeners: map[string]net.Listener{}}
	dir := t.TempDir()
	place := func(name string) node.Place {
		address := c.reserve()
		return node.Place{Address: address, Listen: address, DataDir: filepath.Join(dir, name)}
	}
	c.Config = &node.Config{Secret: secret, Deadline: 30 * time.Second, Memory: 16 << 20, Control: place(control)}
	for _, name := range []string{eu, us, asia} {
		c.Regions = append(c.Regions, node.Region{Name: name, Place: place(name), Front: place("")})
	}
	return c
}

// reserve listens on a free address, for a process that comes later.
func (c *cluster) reserve() string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		c.t.Fatal(err)
	}
	c.listeners[l.Addr().String()] = l
	c.t.Cleanup(func() { _ = l.Close() })
	return l.Addr().String()
}

func (c *cluster) listen(network, address string) (net.Listener, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if l := c.listeners[address]; l != nil {
		delete(c.listeners, address)
		return l, nil
	}
	return net.Listen(network, address)
}

// start runs a part of the cluster, until stop is called or the test ends.
func (c *cluster) start(config *node.Config, o node.Options) (stop func()) {
	c.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ready, done := make(chan struct{}), make(chan error, 1)
	o.Listen, o.Ready = c.listen, func() { close(ready) }
	if testing.Verbose() {
		o.Logger = slog.New(slog.NewTextHandler(os.Stderr, nil))
	}
	go func() { done <- node.Run(ctx, config, o) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			c.t.Errorf("the process ended with %v", err)
		}
	})
	c.t.Cleanup(stop)
	select {
	case <-ready:
	case err := <-done:
		c.t.Fatalf("the process ended with %v", err)
	}
	return stop
}

func (c *cluster) all() (stop func()) { return c.start(c.Config, node.Options{}) }

// A conn is a client of a server.
type conn struct {
	t testing.TB
	*node.Client
}

// front connects to the front of a region.
func (c *cluster) front(name string) *conn { return c.dial(name, false) }

// direct connects to a region itself, or to the control.
func (c *cluster) direct(name string) *conn { return c.dial(name, true) }

func (c *cluster) dial(name string, direct bool) *conn {
	c.t.Helper()
	client, err := node.Dial(context.Background(), c.Config, name, direct)
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { _ = client.Close() })
	return &conn{c.t, client}
}

// asks waits for a reply of a region itself, or of the control.
func (c *cluster) asks(who, request, want string) {
	c.t.Helper()
	at := c.direct(who)
	defer func() { _ = at.Close() }()
	at.soon(request, want)
}

// login connects to a front as a tenant.
func (c *cluster) login(name, token string) *conn {
	c.t.Helper()
	client := c.front(name)
	client.want(`{"Login":{"token":"`+token+`"}}`, `{"LoggedIn":{"region":"`+name+`"}}`)
	return client
}

func (c *conn) call(request string) string {
	c.t.Helper()
	reply, err := c.Call(context.Background(), request)
	if err != nil {
		c.t.Fatalf("%s: %v", request, err)
	}
	return reply
}

// want fails the test unless the reply is the one that is expected, as JSON.
func (c *conn) want(request, want string) {
	c.t.Helper()
	if got := c.call(request); !sameJSON(got, want) {
		c.t.Fatalf("%s\ngot  %s\nwant %s", request, got, want)
	}
}

// soon waits for a reply.
func (c *conn) soon(request, want string) {
	c.t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(2 * time.Millisecond) {
		got := c.call(request)
		if sameJSON(got, want) {
			return
		}
		if time.Now().After(end) {
			c.t.Fatalf("%s\ngot  %s for a minute\nwant %s", request, got, want)
		}
	}
}

func sameJSON(a, b string) bool {
	var x, y any
	return json.Unmarshal([]byte(a), &x) == nil && json.Unmarshal([]byte(b), &y) == nil && reflect.DeepEqual(x, y)
}

// tenant adds a token, and waits until regions have it.
func (c *cluster) tenant(id, token string, regions ...string) {
	c.t.Helper()
	c.direct(control).want(fmt.Sprintf(`{"AddGlobalTenant":{"tenant_id":%q,"token":%q}}`, id, token), `"GlobalTenantAdded"`)
	for _, region := range regions {
		c.asks(region, fmt.Sprintf(`{"GetTenantIdByToken":{"token":%q}}`, token), fmt.Sprintf(`{"TenantIdByToken":{"tenant_id":%q}}`, id))
	}
}

// located waits until regions know where a shard is.
func (c *cluster) located(tenant, shard, region string, by ...string) {
	c.t.Helper()
	for _, who := range by {
		c.asks(who, fmt.Sprintf(`{"GetShardRegion":{"tenant_id":%q,"shard_name":%q}}`, tenant, shard), fmt.Sprintf(`{"ShardLocated":{"region":%q}}`, region))
	}
}

// described waits until regions know the key of a table.
func (c *cluster) described(tenant, table, pk string, by ...string) {
	c.t.Helper()
	for _, who := range by {
		c.asks(who, fmt.Sprintf(`{"GetTableSchema":{"tenant_id":%q,"table_name":%q}}`, tenant, table), `{"TableSchema":{"pk":`+pk+`}}`)
	}
}
