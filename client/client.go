// Package client reaches the database of a server over the network: [Dial] gives a
// [Client], with the methods of [query.DB]. The server is smolwc's, or another
// one with Bigtable's API.
//
// The shell uses it. Other programs use it or any of Bigtable's own clients.
package client

import (
	"cmp"
	"context"
	"crypto/tls"
	"maps"
	"net"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"cloud.google.com/go/bigtable/admin/apiv2/adminpb"
	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/smolwc/smolwc/api/leader"
	"github.com/smolwc/smolwc/api/smolwcpb"
	"github.com/smolwc/smolwc/api/wire"
	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/schema"
)

// DefaultInstance is the instance whose tables have plain names, where
// [Options.Instance] is empty.
const DefaultInstance = wire.DefaultInstance

// CheckInstance validates the name of an instance.
func CheckInstance(name string) error { return wire.CheckInstance(name) }

// Options say how a server is reached.
type Options struct {
	// Instance is the instance whose tables have plain names; empty is
	// [DefaultInstance].
	Instance string
	Token    string      // sent with every call; "": no token
	TLS      *tls.Config // nil: no TLS
	Session  *Session    // whose writes the reads see, also those at a standby; nil: none
	// Connect makes the connections, instead of the network; the address is then a name
	// for errors.
	Connect func(ctx context.Context) (net.Conn, error)
}

// A Client is the database of a server, as far as Bigtable's API and smolwc's own API
// allow. Its methods work like those of [query.DB], and their errors are *[query.Error].
// Values have their types. A server that is not smolwc's, or is an older one, knows no
// types in families without a declared type: the client refuses to write values other
// than bytes there, and reads all values as bytes. It is safe for concurrent use.
type Client struct {
	conn  *grpc.ClientConn
	data  bigtablepb.BigtableClient
	admin adminpb.BigtableTableAdminClient
	// instances serves the calls about views.
	instances adminpb.BigtableInstanceAdminClient
	// database serves the calls that Bigtable's API lacks.
	database smolwcpb.DatabaseAdminClient
	activity smolwcpb.ServerActivityClient
	batches  smolwcpb.BatchesClient
	runs     smolwcpb.StatementsClient
	own      wire.Instance // its tables have plain names

	mu      sync.Mutex
	tables  map[string]*schema.Table // by their names in the database
	fetched time.Time
	exact   bool // the server knows types of values
	// settings: it takes the key format, the retention and the order of families too
	settings bool
	judges   bool // it judges conditions
}

// Dial makes a client of the server at an address, HOST:PORT. It connects with the first
// call. With several addresses, as in db1:8086,db2:8086, calls go to the one that takes
// writes, and to another one when that one takes them.
func Dial(addr string, o Options) (*Client, error) {
	creds := insecure.NewCredentials()
	if o.TLS != nil {
		creds = credentials.NewTLS(o.TLS)
	}
	o.Instance = cmp.Or(o.Instance, DefaultInstance)
	if err := CheckInstance(o.Instance); err != nil {
		return nil, err
	}
	own, _ := wire.ParseInstance(o.Instance)
	headers := []string{wire.ExactHeader, "1"}
	if o.Token != "" {
		headers = append(headers, "authorization", "Bearer "+o.Token)
	}
	opts := []grpc.DialOption{
		grpc.WithTransportCredentials(creds),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(wire.MaxRequest), grpc.MaxCallSendMsgSize(wire.MaxRequest)),
		grpc.WithUnaryInterceptor(sendUnary(headers, own)), grpc.WithStreamInterceptor(sendStream(headers, own)),
	}
	if o.Session != nil {
		opts = append(opts, grpc.WithChainUnaryInterceptor(o.Session.unary), grpc.WithChainStreamInterceptor(o.Session.stream))
	}
	if strings.Contains(addr, ",") && o.Connect == nil {
		opts = append(opts, grpc.WithResolvers(&leader.Resolver{Options: []grpc.DialOption{grpc.WithTransportCredentials(creds)}}))
		addr = leader.Scheme + ":///" + addr
	}
	if o.Connect != nil {
		addr = "passthrough:///" + addr
		opts = append(opts, grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return o.Connect(ctx) }))
	}
	conn, err := grpc.NewClient(addr, opts...)
	if err != nil {
		return nil, err
	}
	return &Client{
		conn: conn, data: bigtablepb.NewBigtableClient(conn), admin: adminpb.NewBigtableTableAdminClient(conn), instances: adminpb.NewBigtableInstanceAdminClient(conn), database: smolwcpb.NewDatabaseAdminClient(conn), activity: smolwcpb.NewServerActivityClient(conn), batches: smolwcpb.NewBatchesClient(conn), runs: smolwcpb.NewStatementsClient(conn),
		own: own, tables: map[string]*schema.Table{},
	}, nil
}

// Not credentials.PerRPCCredentials: gRPC sends these only over TLS, and a server on the
// loopback may require a token without it.

func sendUnary(headers []string, own wire.Instance) grpc.UnaryClientInterceptor {
	return func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
		return invoke(withHeaders(ctx, headers, method, own), method, req, reply, cc, opts...)
	}
}

func sendStream(headers []string, own wire.Instance) grpc.StreamClientInterceptor {
	return func(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, stream grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
		return stream(withHeaders(ctx, headers, method, own), desc, cc, method, opts...)
	}
}

// withHeaders adds the headers of a call. Requests of smolwc's own API do not name an
// instance, so a header tells it to a router.
func withHeaders(ctx context.Context, headers []string, method string, own wire.Instance) context.Context {
	if strings.HasPrefix(method, "/smolwc.admin.") {
		ctx = metadata.AppendToOutgoingContext(ctx, wire.ParamsHeader, "name="+url.QueryEscape(own.String()))
	}
	return metadata.AppendToOutgoingContext(ctx, headers...)
}

// Close closes the connection.
func (c *Client) Close() error {
	if c == nil || c.conn == nil {
		return nil
	}
	return c.conn.Close()
}

// Ping asks the server whether it takes calls. It needs no token.
func (c *Client) Ping(ctx context.Context) error {
	if err := c.ready(ctx); err != nil {
		return clientError("ping", "", "", err)
	}
	is, err := grpc_health_v1.NewHealthClient(c.conn).Check(ctx, &grpc_health_v1.HealthCheckRequest{})
	if err == nil && is.Status != grpc_health_v1.HealthCheckResponse_SERVING {
		err = status.Error(codes.Unavailable, "it is stopping")
	}
	return clientError("ping", "", "", err)
}

// ready returns an error if a call cannot begin.
func (c *Client) ready(ctx context.Context) error {
	switch {
	case c == nil || c.conn == nil:
		return wire.Invalid("there is no client; Dial gives one")
	case ctx == nil:
		return wire.Invalid("the context is nil; context.Background gives one")
	}
	return nil
}

// known asks the server for its tables unless it already knows them and has not changed
// them since.
func (c *Client) known(ctx context.Context) error {
	if err := c.ready(ctx); err != nil {
		return err
	}
	c.mu.Lock()
	known := !c.fetched.IsZero()
	c.mu.Unlock()
	if known {
		return nil
	}
	return c.Refresh(ctx)
}

// Now is the clock of this machine.
func (c *Client) Now() cells.Timestamp { return cells.Timestamp(time.Now().UnixMicro()) }

// name is a table's name at the server: p/i/t is a table of another instance.
func (c *Client) name(table string) string { return c.own.StoredTable(table).String() }

// schemaFor is how long the client's copy of the tables counts as current.
const schemaFor = time.Second

// Refresh asks the server for its tables, unless it did so a short time ago. The first
// call that needs the tables refreshes by itself, and so does the first call after this
// client changed tables. To see changes by other clients, call Refresh.
func (c *Client) Refresh(ctx context.Context) error {
	if err := c.ready(ctx); err != nil {
		return clientError("list tables", "", "", err)
	}
	c.mu.Lock()
	fresh := time.Since(c.fetched) < schemaFor
	c.mu.Unlock()
	if fresh {
		return nil
	}
	tables := map[string]*schema.Table{}
	req := &adminpb.ListTablesRequest{Parent: c.own.String(), View: adminpb.Table_SCHEMA_VIEW}
	var header metadata.MD
	for {
		resp, err := c.admin.ListTables(ctx, req, grpc.Header(&header))
		if err != nil {
			return clientError("list tables", "", "", err)
		}
		for _, m := range resp.GetTables() {
			t, err := c.declared(m)
			if err != nil {
				return clientError("list tables", t.Name, "", err)
			}
			tables[t.Name] = t
		}
		if req.PageToken = resp.GetNextPageToken(); req.PageToken == "" {
			break
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tables, c.fetched = tables, time.Now()
	knows := header.Get(wire.ExactHeader)
	c.exact, c.settings, c.judges = len(knows) > 0, slices.Contains(knows, wire.KeepsSettings), slices.Contains(knows, wire.JudgesConditions)
	return nil
}

// isExact reports whether the server knows types of values, as of the last Refresh.
func (c *Client) isExact() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.exact
}

// keepsSettings reports whether the server takes all settings of a table, as of the last
// Refresh.
func (c *Client) keepsSettings() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.settings
}

// judgesConditions reports whether the server judges conditions, as of the last Refresh.
func (c *Client) judgesConditions() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.judges
}

func (c *Client) declared(m *adminpb.Table) (*schema.Table, error) {
	name, err := c.own.ParseTable(m.GetName())
	if err != nil {
		return &schema.Table{Name: m.GetName()}, err
	}
	t, err := wire.Declaration(name.Stored, m.GetColumnFamilies())
	t.ChangeStream = m.GetChangeStreamConfig().GetRetentionPeriod().AsDuration()
	if err == nil {
		err = wire.TakeSettings(m, &t)
	}
	return &t, err
}

// forget makes the next Refresh ask the server.
func (c *Client) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fetched = time.Time{}
}

// Schema is the tables of the client's instance, sorted by name.
func (c *Client) Schema() *schema.Schema {
	s := new(schema.Schema)
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(c.tables)) {
		if c.own.StoredTable(name).In == c.own {
			s.Tables = append(s.Tables, *c.tables[name])
		}
	}
	return s.Clone()
}

// lookUpTime is how long the server may take to describe a table.
const lookUpTime = 10 * time.Second

// LookupTable is a table as of the last Refresh. Its name is plain in the client's
// instance, and p/i/t in another one.
func (c *Client) LookupTable(table string) (schema.Table, bool) {
	if c == nil || c.conn == nil {
		return schema.Table{}, false
	}
	c.mu.Lock()
	known, ok := c.tables[table]
	c.mu.Unlock()
	if ok {
		return *known, true
	}
	if c.own.StoredTable(table).In == c.own {
		return schema.Table{}, false
	}
	ctx, cancel := context.WithTimeout(context.Background(), lookUpTime)
	defer cancel()
	m, err := c.admin.GetTable(ctx, &adminpb.GetTableRequest{Name: c.name(table), View: adminpb.Table_SCHEMA_VIEW})
	if err != nil {
		return schema.Table{}, false
	}
	t, err := c.declared(m)
	if err != nil {
		return schema.Table{}, false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tables[table] = t
	return *t, true
}
