// Package client reaches the database of a server over the network: [Dial] gives a
// [Client], whose methods do what those of [query.DB] do. The server is smolwc's, or
// another that has Bigtable's API.
//
// The shell uses it. Other programs use it or any of Bigtable's own clients.
package client

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"maps"
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
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/internal/wire"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/schema"
	"github.com/smolwc/smolwc/server/smolwcpb"
)

// DefaultInstance is the instance whose tables have plain names, where
// [Options.Instance] is empty.
const DefaultInstance = wire.DefaultInstance

// CheckInstance finds what is wrong with the name of an instance.
func CheckInstance(name string) error { return wire.CheckInstance(name) }

// Options say how a server is reached.
type Options struct {
	// Instance is the instance whose tables have plain names; empty is
	// [DefaultInstance].
	Instance string
	Token    string      // shown with every call; "": none
	TLS      *tls.Config // nil: no TLS
}

// A Client is the database of a server, as far as Bigtable's API and smolwc's own go. Its
// methods do what those of [query.DB] do, and their errors are *[query.Error].
// Values have their types. A server that is not smolwc's, or an older one, keeps
// none in families without a type: what is to be written there is refused unless
// it is bytes, and read as bytes. It is safe for concurrent use.
type Client struct {
	conn  *grpc.ClientConn
	data  bigtablepb.BigtableClient
	admin adminpb.BigtableTableAdminClient
	// database is what Bigtable's API has no words for.
	database smolwcpb.DatabaseAdminClient
	own      wire.Instance // its tables have plain names

	mu      sync.Mutex
	tables  map[string]*schema.Table // by their names in the database
	fetched time.Time
	exact   bool // the server knows types of values
}

// Dial makes a client of the server at an address. It connects with the first
// call.
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
	conn, err := grpc.NewClient(addr,
		grpc.WithTransportCredentials(creds),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(wire.MaxRequest), grpc.MaxCallSendMsgSize(wire.MaxRequest)),
		grpc.WithUnaryInterceptor(sendUnary(headers)), grpc.WithStreamInterceptor(sendStream(headers)))
	if err != nil {
		return nil, err
	}
	return &Client{
		conn: conn, data: bigtablepb.NewBigtableClient(conn), admin: adminpb.NewBigtableTableAdminClient(conn), database: smolwcpb.NewDatabaseAdminClient(conn),
		own: own, tables: map[string]*schema.Table{},
	}, nil
}

// Not credentials.PerRPCCredentials: gRPC sends these over TLS alone, and a
// server on the loopback may want a token without it.

func sendUnary(headers []string) grpc.UnaryClientInterceptor {
	return func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
		return invoke(metadata.AppendToOutgoingContext(ctx, headers...), method, req, reply, cc, opts...)
	}
}

func sendStream(headers []string) grpc.StreamClientInterceptor {
	return func(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, stream grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
		return stream(metadata.AppendToOutgoingContext(ctx, headers...), desc, cc, method, opts...)
	}
}

// Close closes the connection.
func (c *Client) Close() error {
	if c == nil || c.conn == nil {
		return nil
	}
	return c.conn.Close()
}

// ready is an error if a call cannot begin.
func (c *Client) ready(ctx context.Context) error {
	switch {
	case c == nil || c.conn == nil:
		return wire.Invalid("there is no client; Dial gives one")
	case ctx == nil:
		return wire.Invalid("the context is nil; context.Background gives one")
	}
	return nil
}

// Now is the clock of this machine.
func (c *Client) Now() cells.Timestamp { return cells.Timestamp(time.Now().UnixMicro()) }

// name is a table as the server names it: p/i/t is one of another instance.
func (c *Client) name(table string) string { return c.own.StoredTable(table).String() }

// schemaFor is for how long what is known of the tables is taken for true.
const schemaFor = time.Second

// Refresh learns what tables there are, if that was long ago.
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
	c.tables, c.fetched, c.exact = tables, time.Now(), len(header.Get(wire.ExactHeader)) > 0
	return nil
}

// isExact reports whether the server knows types of values, as of the last Refresh.
func (c *Client) isExact() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.exact
}

// declared is a table as the server describes it.
func (c *Client) declared(m *adminpb.Table) (*schema.Table, error) {
	name, err := c.own.ParseTable(m.GetName())
	if err != nil {
		return &schema.Table{Name: m.GetName()}, err
	}
	t, err := wire.Declaration(name.Stored, m.GetColumnFamilies())
	t.ChangeStream = m.GetChangeStreamConfig().GetRetentionPeriod().AsDuration()
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
	if c == nil {
		return s
	}
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

// LookupTable is a table of the client's instance as of the last Refresh, or one
// of another, p/i/t.
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

// CreateTable creates a table of timestamps in microseconds, as those of the
// database are.
func (c *Client) CreateTable(ctx context.Context, t schema.Table) error {
	const op = "create table"
	if err := c.ready(ctx); err != nil {
		return clientError(op, t.Name, "", err)
	}
	defer c.forget()
	families := map[string]*adminpb.ColumnFamily{}
	for i := range t.Families {
		m, err := c.familyMessage(&t.Families[i])
		if err != nil {
			return clientError(op, t.Name, "", err)
		}
		families[t.Families[i].Name] = m
	}
	name := c.own.StoredTable(t.Name)
	_, err := c.admin.CreateTable(ctx, &adminpb.CreateTableRequest{
		Parent: name.In.String(), TableId: name.ID,
		Table: &adminpb.Table{ColumnFamilies: families, Granularity: adminpb.Table_MICROS, ChangeStreamConfig: wire.ChangeStreamMessage(t.ChangeStream)},
	})
	return clientError(op, t.Name, "", err)
}

func (c *Client) familyMessage(f *schema.Family) (*adminpb.ColumnFamily, error) {
	if err := f.Validate(); err != nil { // a rule may contain itself
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	t := wire.TypeMessage(f, nil)
	if exact := wire.ExactType(f, t); exact != t {
		if !c.isExact() {
			return nil, wire.Invalid("family %s: this server has no type %s; i64 holds such numbers", f.Name, f.Type)
		}
		t = exact
	}
	return &adminpb.ColumnFamily{GcRule: wire.RuleMessage(f.GC), ValueType: t}, nil
}

// DropTable drops a table and its data.
func (c *Client) DropTable(ctx context.Context, table string) error {
	if err := c.ready(ctx); err != nil {
		return clientError("drop table", table, "", err)
	}
	defer c.forget()
	_, err := c.admin.DeleteTable(ctx, &adminpb.DeleteTableRequest{Name: c.name(table)})
	return clientError("drop table", table, "", err)
}

// SetChangeStream has the changes of a table kept for a time.
func (c *Client) SetChangeStream(ctx context.Context, table string, keep time.Duration) error {
	if err := c.ready(ctx); err != nil {
		return clientError("set change stream", table, "", err)
	}
	defer c.forget()
	_, err := c.admin.UpdateTable(ctx, &adminpb.UpdateTableRequest{
		Table:      &adminpb.Table{Name: c.name(table), ChangeStreamConfig: wire.ChangeStreamMessage(keep)},
		UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"change_stream_config"}},
	})
	return clientError("set change stream", table, "", err)
}

// TruncateTable deletes all rows.
func (c *Client) TruncateTable(ctx context.Context, table string) error {
	if err := c.ready(ctx); err != nil {
		return clientError("truncate table", table, "", err)
	}
	_, err := c.admin.DropRowRange(ctx, &adminpb.DropRowRangeRequest{Name: c.name(table), Target: &adminpb.DropRowRangeRequest_DeleteAllDataFromTable{DeleteAllDataFromTable: true}})
	return clientError("truncate table", table, "", err)
}

func (c *Client) modifyFamilies(ctx context.Context, op, table string, mods ...*adminpb.ModifyColumnFamiliesRequest_Modification) error {
	if err := c.ready(ctx); err != nil {
		return clientError(op, table, "", err)
	}
	defer c.forget()
	_, err := c.admin.ModifyColumnFamilies(ctx, &adminpb.ModifyColumnFamiliesRequest{Name: c.name(table), Modifications: mods})
	return clientError(op, table, "", err)
}

// AddFamily adds a family to a table.
func (c *Client) AddFamily(ctx context.Context, table string, f schema.Family) error {
	const op = "add family"
	if err := c.ready(ctx); err != nil {
		return clientError(op, table, "", err)
	}
	m, err := c.familyMessage(&f)
	if err != nil {
		return clientError(op, table, "", err)
	}
	return c.modifyFamilies(ctx, op, table, &adminpb.ModifyColumnFamiliesRequest_Modification{
		Id: f.Name, Mod: &adminpb.ModifyColumnFamiliesRequest_Modification_Create{Create: m},
	})
}

// SetFamily sets the type and the retention of a family, those that change.
func (c *Client) SetFamily(ctx context.Context, table string, f schema.Family) error {
	const op = "set family"
	if err := c.ready(ctx); err != nil {
		return clientError(op, table, "", err)
	}
	t, ok := c.LookupTable(table)
	old, there := t.Family(f.Name)
	if !ok || !there {
		return clientError(op, table, "", status.Errorf(codes.NotFound, "column family %q not found", f.Name))
	}
	var paths []string
	if old.Type != f.Type || old.Aggregate != f.Aggregate {
		paths = append(paths, "value_type")
	}
	if old.GC.String() != f.GC.String() {
		paths = append(paths, "gc_rule")
	}
	if len(paths) == 0 {
		return nil
	}
	m, err := c.familyMessage(&f)
	if err != nil {
		return clientError(op, table, "", err)
	}
	return c.modifyFamilies(ctx, op, table, &adminpb.ModifyColumnFamiliesRequest_Modification{
		Id: f.Name, Mod: &adminpb.ModifyColumnFamiliesRequest_Modification_Update{Update: m},
		UpdateMask: &fieldmaskpb.FieldMask{Paths: paths},
	})
}

// DropFamily drops a family and its data.
func (c *Client) DropFamily(ctx context.Context, table, family string) error {
	return c.modifyFamilies(ctx, "drop family", table, &adminpb.ModifyColumnFamiliesRequest_Modification{
		Id: family, Mod: &adminpb.ModifyColumnFamiliesRequest_Modification_Drop{Drop: true},
	})
}

// kindOf maps codes onto the kinds of errors.
var kindOf = map[codes.Code]query.Kind{
	codes.NotFound:           query.NotFound,
	codes.AlreadyExists:      query.AlreadyExists,
	codes.InvalidArgument:    query.InvalidArgument,
	codes.OutOfRange:         query.InvalidArgument,
	codes.Unimplemented:      query.FailedPrecondition,
	codes.FailedPrecondition: query.FailedPrecondition,
	codes.Unauthenticated:    query.FailedPrecondition,
	codes.PermissionDenied:   query.FailedPrecondition,
	codes.Aborted:            query.Conflict,
	codes.DataLoss:           query.Corruption,
	codes.ResourceExhausted:  query.ResourceExhausted,
	codes.Unavailable:        query.Unavailable,
	codes.Unknown:            query.UnknownOutcome,
	codes.Canceled:           query.Canceled,
	codes.DeadlineExceeded:   query.Canceled,
}

// clientError is what a call returned as an error of package query; nil stays
// nil.
func clientError(op, table, row string, err error) error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*query.Error](err); ok {
		return e
	}
	e := &query.Error{Op: op, Table: table, Row: row, Kind: kindOf[status.Code(err)], Err: errors.New("")}
	switch status.Code(err) {
	case codes.Canceled:
		e.Err = context.Canceled
	case codes.DeadlineExceeded:
		e.Err = context.DeadlineExceeded
	default: // the server's database may have said already what the call was about
		e.Err = errors.New(strings.TrimPrefix(wire.StatusText(err), e.Error()))
	}
	return e
}
