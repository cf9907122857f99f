package route_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"
	"cloud.google.com/go/bigtable/admin/apiv2/adminpb"
	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/smolwc/smolwc/api/smolwcpb"
	"github.com/smolwc/smolwc/api/wire"
	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/client"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
	"github.com/smolwc/smolwc/server/route"
	"github.com/smolwc/smolwc/standby"
)

// Bigtable's own client reads, writes and administers two instances on two servers through
// one router: each call reaches the server that leads its instance, and no other one.
func TestBigtablesClientThroughARouter(t *testing.T) {
	t.Parallel()
	a, b := primary(t, standby.SemiSyncOff), primary(t, standby.SemiSyncOff)
	r := newRig(t, mapOf(a.addr, b.addr, ""), route.Options{})
	for instance, at := range map[string]*node{"a": a, "b": b} {
		tab := r.tableIn(instance, "t-"+instance)
		if names := at.db.Schema().Tables; len(names) != 1 || names[0].Name != "p/"+instance+"/t-"+instance {
			t.Fatalf("the server of %s has the tables %v", instance, names)
		}
		useClient(t, tab, instance)
		useSQL(t, r.conn, instance)
		admin := adminOf(t, r.conn, instance)
		must(t, admin.CreateColumnFamily(t.Context(), "t-"+instance, "g"))
		if tables, err := admin.Tables(t.Context()); err != nil || !slices.Equal(tables, []string{"t-" + instance}) {
			t.Errorf("tables of %s: %v, %v", instance, tables, err)
		}
	}
	_, err := adminOf(t, r.conn, "c").Tables(t.Context())
	if status.Code(err) != codes.NotFound || !strings.Contains(err.Error(), "b, projects/p/instances/a") {
		t.Errorf("an instance that the map does not have: %v", err)
	}
}

// useClient writes in each way, and reads.
func useClient(t *testing.T, tab *bigtable.Table, instance string) {
	t.Helper()
	ctx := t.Context()
	must(t, tab.Apply(ctx, "one", cell(instance)))
	errs, err := tab.ApplyBulk(ctx, []string{"two", "three"}, []*bigtable.Mutation{cell(instance), cell(instance)})
	if err != nil || errs != nil {
		t.Fatal(err, errs)
	}
	add := bigtable.NewReadModifyWrite()
	add.AppendValue("f", "q", []byte("+"))
	if row, err := tab.ApplyReadModifyWrite(ctx, "one", add); err != nil || string(row["f"][0].Value) != instance+"+" {
		t.Errorf("read-modify-write: %v, %v", row, err)
	}
	must(t, tab.Apply(ctx, "one", bigtable.NewCondMutation(bigtable.ValueFilter(".*[+]"), cell("yes"), nil)))
	var rows []string
	must(t, tab.ReadRows(ctx, bigtable.InfiniteRange(""), func(row bigtable.Row) bool {
		rows = append(rows, row.Key()+"="+string(row["f"][0].Value))
		return true
	}, bigtable.RowFilter(bigtable.LatestNFilter(1))))
	if want := []string{"one=" + instance + "+", "three=" + instance, "two=" + instance}; !slices.Equal(rows, want) {
		t.Errorf("rows are %v, want %v", rows, want)
	}
	if keys, err := tab.SampleRowKeys(ctx); err != nil || len(keys) == 0 {
		t.Errorf("sampled keys: %v, %v", keys, err)
	}
}

func useSQL(t *testing.T, conn *grpc.ClientConn, instance string) {
	t.Helper()
	c := clientOf(t, conn, instance)
	query, err := c.PrepareStatement(t.Context(), "SELECT _key FROM `t-"+instance+"` WHERE _key = 'two'", nil)
	must(t, err)
	bound, err := query.Bind(nil)
	must(t, err)
	n := 0
	must(t, bound.Execute(t.Context(), func(bigtable.ResultRow) bool { n++; return true }))
	if n != 1 {
		t.Errorf("the query of %s gives %d rows", instance, n)
	}
}

// Messages far larger than the windows of a connection pass, in both directions.
func TestLargeRowsThroughARouter(t *testing.T) {
	t.Parallel()
	a := primary(t, standby.SemiSyncOff)
	r := newRig(t, mapOf(a.addr, a.addr, ""), route.Options{})
	tab := r.tableIn("a", "large")
	value := strings.Repeat("0123456789abcdef", 1<<19) // 8 MiB
	for i := range 3 {
		must(t, tab.Apply(t.Context(), fmt.Sprint(i), cell(value)))
	}
	n := 0
	must(t, tab.ReadRows(t.Context(), bigtable.InfiniteRange(""), func(row bigtable.Row) bool {
		n++
		return string(row["f"][0].Value) == value
	}))
	if n != 3 {
		t.Errorf("%d rows came whole", n)
	}
	await(t, "nothing is in hand", func() bool { return r.metric("smolwc_route_bytes_in_hand") == 0 })
}

// smolwc's own client uses a router as it uses a server, with headers, trailers and errors.
func TestSmolwcsClientThroughARouter(t *testing.T) {
	t.Parallel()
	a, b := primary(t, standby.SemiSyncOff), primary(t, standby.SemiSyncOff)
	a.follow() // positions begin with it
	r := newRig(t, mapOf(a.addr, b.addr, ""), route.Options{})
	r.tableIn("a", "t")
	session := new(client.Session)
	c, err := client.Dial(r.addr, client.Options{Instance: "projects/p/instances/a", Session: session})
	must(t, err)
	defer c.Close()
	m := write.NewMutation()
	m.Set("f", "q", cells.String("v"))
	must(t, c.Table("t").Apply(t.Context(), "row", m))
	if n, err := rowsAt(t, c, "row"); err != nil || n != 1 {
		t.Errorf("%d rows, %v", n, err)
	}
	if session.Position() == "" {
		t.Error("the trailer with the position did not pass")
	}
	if err := c.Table("none").Apply(t.Context(), "row", m); err == nil || !strings.Contains(err.Error(), "none") {
		t.Errorf("a table that does not exist: %v", err)
	}
	must(t, c.Ping(t.Context()))
	calls, err := c.Calls(t.Context())
	if err != nil || len(calls.Slow) == 0 {
		t.Errorf("the calls of the server: %v, %v", calls, err)
	}
	if _, err := c.Replicas(t.Context()); err == nil || !strings.Contains(err.Error(), "call the server itself") {
		t.Errorf("a call about a server: %v", err)
	}
}

// Batches and statements go through a router, and a refusal of a batch is no unknown outcome.
func TestBatchesAndStatementsThroughARouter(t *testing.T) {
	t.Parallel()
	a, b := primary(t, standby.SemiSyncOff), primary(t, standby.SemiSyncOff)
	r := newRig(t, mapOf(a.addr, b.addr, ""), route.Options{})
	r.tableIn("a", "t")
	c, err := client.Dial(r.addr, client.Options{Instance: "projects/p/instances/a"})
	must(t, err)
	t.Cleanup(func() { must(t, c.Close()) })
	set := func(family string) *write.Mutation {
		m := write.NewMutation()
		m.Set(family, "q", cells.String("v"))
		return m
	}
	must(t, c.Apply(t.Context(), write.NewBatch().Add("t", "one", set("f")).Add("t", "two", set("f"))))
	if n, err := rowsAt(t, c, "two"); n != 1 || err != nil {
		t.Errorf("after a batch: %d rows, %v", n, err)
	}
	if err := c.Apply(t.Context(), write.NewBatch().Add("t", "one", set("none"))); query.KindOf(err) != query.KindNotFound {
		t.Errorf("a batch with an unknown family: %v, kind %v", err, query.KindOf(err))
	}
	resp, err := c.RunStatement(t.Context(), &smolwcpb.RunStatementRequest{Text: "explain scan t"})
	if err != nil || resp.GetPlan() == nil {
		t.Errorf("explain: %v, %v", resp, err)
	}
}

// A standby refuses a batch, and the client knows that nothing was written.
func TestAStandbyRefusesBatches(t *testing.T) {
	t.Parallel()
	a := primary(t, standby.SemiSyncOff)
	must(t, a.db.CreateTable(t.Context(), schema.Table{Name: "t", Families: []schema.Family{{Name: "f"}}}))
	b := a.follow()
	c, err := client.Dial(b.addr, client.Options{})
	must(t, err)
	t.Cleanup(func() { must(t, c.Close()) })
	m := write.NewMutation()
	m.Set("f", "q", cells.Bytes([]byte("v")))
	if err := c.Apply(t.Context(), write.NewBatch().Add("t", "one", m)); query.KindOf(err) != query.KindFailedPrecondition || !strings.Contains(err.Error(), a.addr) {
		t.Errorf("a batch at a standby: %v, kind %v", err, query.KindOf(err))
	}
}

// rowsAt counts the rows with a key.
func rowsAt(t *testing.T, c *client.Client, key string) (n int, err error) {
	t.Helper()
	for _, err := range c.Table("t").ReadRows(t.Context(), read.Key(key)) {
		if err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

// Calls that a router cannot send anywhere say so.
func TestCallsThatNoServerGets(t *testing.T) {
	t.Parallel()
	a := primary(t, standby.SemiSyncOff)
	r := newRig(t, mapOf(a.addr, a.addr, ""), route.Options{})
	instances := adminpb.NewBigtableInstanceAdminClient(r.conn)
	_, err := instances.ListInstances(t.Context(), &adminpb.ListInstancesRequest{Parent: "projects/p"})
	if status.Code(err) != codes.InvalidArgument || !strings.Contains(err.Error(), "names no instance") {
		t.Errorf("a call about a project: %v", err)
	}
	_, err = instances.CreateInstance(t.Context(), &adminpb.CreateInstanceRequest{Parent: "projects/p", InstanceId: "b", Instance: &adminpb.Instance{DisplayName: "b"}, Clusters: map[string]*adminpb.Cluster{"c": {Location: "projects/p/locations/l"}}})
	must(t, err)
	got, err := instances.GetInstance(t.Context(), &adminpb.GetInstanceRequest{Name: "projects/p/instances/b"})
	if err != nil || got.GetDisplayName() != "b" {
		t.Errorf("the instance is %v, %v", got, err)
	}
	_, err = smolwcpb.NewStandbysClient(r.conn).Promote(t.Context(), &smolwcpb.PromoteRequest{Leader: "db:1"})
	if status.Code(err) != codes.FailedPrecondition || !strings.Contains(err.Error(), "call the server itself") {
		t.Errorf("a promotion: %v", err)
	}
	err = r.conn.Invoke(t.Context(), "/google.bigtable.v2.Bigtable/Unheard", new(smolwcpb.ListReplicasRequest), new(smolwcpb.ListReplicasResponse))
	if status.Code(err) != codes.Unimplemented {
		t.Errorf("a method that does not exist: %v", err)
	}
	ctx := metadata.AppendToOutgoingContext(t.Context(), wire.ReadsHeader, "some")
	_, err = bigtablepb.NewBigtableClient(r.conn).PrepareQuery(ctx, &bigtablepb.PrepareQueryRequest{InstanceName: "projects/p/instances/a"})
	if status.Code(err) != codes.InvalidArgument || !strings.Contains(err.Error(), "leader, any, or how far") {
		t.Errorf("other reads: %v", err)
	}
	health, err := grpc_health_v1.NewHealthClient(r.conn).Check(t.Context(), &grpc_health_v1.HealthCheckRequest{})
	if err != nil || health.GetStatus() != grpc_health_v1.HealthCheckResponse_SERVING {
		t.Errorf("health: %v, %v", health, err)
	}
}

// changes reads the changes of a table of instance a from now on.
func (r *rig) changes(ctx context.Context, table string) bigtablepb.Bigtable_ReadChangeStreamClient {
	r.t.Helper()
	s, err := bigtablepb.NewBigtableClient(r.conn).ReadChangeStream(ctx, &bigtablepb.ReadChangeStreamRequest{
		TableName: "projects/p/instances/a/tables/" + table, Partition: &bigtablepb.StreamPartition{RowRange: &bigtablepb.RowRange{}},
		StartFrom: &bigtablepb.ReadChangeStreamRequest_StartTime{StartTime: timestamppb.Now()},
	})
	must(r.t, err)
	return s
}

// change is the row of the next change.
func change(s bigtablepb.Bigtable_ReadChangeStreamClient) (string, error) {
	for {
		m, err := s.Recv()
		if err != nil || m.GetDataChange() != nil {
			return string(m.GetDataChange().GetRowKey()), err
		}
	}
}

// A stream of changes passes each change on as it comes; it ends at the server when the
// client leaves, and with an error when the server dies. Other instances go on, and so does
// this one when its server is back.
func TestStreamsEndOnBothSides(t *testing.T) {
	t.Parallel()
	a, b := primary(t, standby.SemiSyncOff), primary(t, standby.SemiSyncOff)
	r := newRig(t, mapOf(a.addr, b.addr, ""), route.Options{Wait: 10 * time.Millisecond})
	tab, other := r.tableIn("a", "t"), r.tableIn("b", "t")
	ctx, cancel := context.WithCancel(t.Context())
	s := r.changes(ctx, "t")
	for _, row := range []string{"one", "two"} {
		must(t, tab.Apply(t.Context(), row, cell("v")))
		if got, err := change(s); err != nil || got != row {
			t.Fatalf("the change is %q, %v; want that of %s", got, err, row)
		}
	}
	cancel()
	direct := smolwcpb.NewServerActivityClient(dial(t, a.addr))
	await(t, "the stream has ended at the server", func() bool {
		calls, err := direct.ListCalls(t.Context(), new(smolwcpb.ListCallsRequest))
		must(t, err)
		return !slices.ContainsFunc(calls.GetRunning(), func(c *smolwcpb.Call) bool { return strings.HasSuffix(c.GetMethod(), "ReadChangeStream") })
	})
	value := strings.Repeat("0123456789abcdef", 1<<19)
	for i := range 3 { // far more than is sent ahead
		must(t, tab.Apply(t.Context(), fmt.Sprint(i), cell(value)))
	}
	raw := bigtablepb.NewBigtableClient(r.conn)
	rows, err := raw.ReadRows(t.Context(), &bigtablepb.ReadRowsRequest{TableName: "projects/p/instances/a/tables/t"})
	must(t, err)
	_, err = rows.Recv()
	must(t, err)
	a.stop()
	for err == nil {
		_, err = rows.Recv()
	}
	if err == io.EOF {
		t.Error("the stream of a server that has ended is whole")
	}
	one := &bigtablepb.MutateRowRequest{TableName: "projects/p/instances/a/tables/t", RowKey: []byte("four"), Mutations: []*bigtablepb.Mutation{{Mutation: &bigtablepb.Mutation_DeleteFromRow_{DeleteFromRow: &bigtablepb.Mutation_DeleteFromRow{}}}}}
	if _, err := raw.MutateRow(t.Context(), one); status.Code(err) != codes.Unavailable || !strings.Contains(err.Error(), "projects/p/instances/a: no server takes writes now: "+a.addr) {
		t.Errorf("a write to a server that has ended: %v", err)
	}
	must(t, other.Apply(t.Context(), "row", cell("v")))
	a.serve(a.db, standby.NewPrimary(standby.PrimaryOptions{}).Service())
	await(t, "the server is back", func() bool { _, err := raw.MutateRow(t.Context(), one); return err == nil })
}

// The leader of an instance changes while clients write: the map is replaced after the
// promotion. Each acknowledged write is at the new leader, and streams of changes end, so
// that their clients go on there.
func TestAChangeOfTheMapUnderLoad(t *testing.T) {
	t.Parallel()
	a, b := primary(t, standby.SemiSyncStrict), primary(t, standby.SemiSyncOff)
	s := a.follow()
	r := newRig(t, mapOf(a.addr, b.addr, s.addr), route.Options{})
	tab := r.tableIn("a", "t")
	stream := r.changes(t.Context(), "t")
	must(t, tab.Apply(t.Context(), "first", cell("v")))
	if _, err := change(stream); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	raw := bigtablepb.NewBigtableClient(r.conn)
	var writers sync.WaitGroup
	var mu sync.Mutex
	var acknowledged []string
	var n atomic.Int64
	for w := range 8 {
		writers.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				key := fmt.Sprintf("%d-%d", w, i)
				if writeRow(ctx, raw, key, w%2 == 0) != nil {
					continue
				}
				mu.Lock()
				acknowledged = append(acknowledged, key)
				mu.Unlock()
				n.Add(1)
			}
		})
	}
	await(t, "writes before", func() bool { return n.Load() > 100 })
	s.promote()
	r.change(mapOf(s.addr, b.addr, a.addr))
	atChange := n.Load()
	await(t, "writes after", func() bool { return n.Load() > atChange+100 })
	stop()
	writers.Wait()
	for _, key := range acknowledged {
		if row, err := s.db.Table("p/a/t").ReadRow(t.Context(), key); err != nil || row.Len() == 0 {
			t.Errorf("the acknowledged write of %s is not at the new leader: %v", key, err)
		}
	}
	for {
		if _, err := change(stream); err != nil {
			byRouter, byServer := strings.Contains(err.Error(), "another server leads"), strings.Contains(err.Error(), "was promoted in the place of this server")
			if status.Code(err) != codes.Unavailable || !byRouter && !byServer {
				t.Errorf("the stream of changes ends with %v", err)
			}
			break
		}
	}
}

// writeRow writes a row by a call of its own, or as a part of a bulk.
func writeRow(ctx context.Context, raw bigtablepb.BigtableClient, key string, bulk bool) error {
	const table = "projects/p/instances/a/tables/t"
	set := []*bigtablepb.Mutation{{Mutation: &bigtablepb.Mutation_SetCell_{SetCell: &bigtablepb.Mutation_SetCell{FamilyName: "f", TimestampMicros: 1000, Value: []byte("v")}}}}
	if !bulk {
		_, err := raw.MutateRow(ctx, &bigtablepb.MutateRowRequest{TableName: table, RowKey: []byte(key), Mutations: set})
		return err
	}
	stream, err := raw.MutateRows(ctx, &bigtablepb.MutateRowsRequest{TableName: table, Entries: []*bigtablepb.MutateRowsRequest_Entry{{RowKey: []byte(key), Mutations: set}}})
	if err != nil {
		return err
	}
	for {
		m, err := stream.Recv()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		for _, e := range m.GetEntries() {
			if err := status.ErrorProto(e.GetStatus()); err != nil {
				return err
			}
		}
	}
}

// A map that was not changed after a promotion is old: the server that led names the new
// one, and calls go there, writes in bulk too. A server that the map does not have gets
// none.
func TestAnOldMap(t *testing.T) {
	t.Parallel()
	a, b := primary(t, standby.SemiSyncOff), primary(t, standby.SemiSyncOff)
	s := a.follow()
	r := newRig(t, mapOf(a.addr, b.addr, s.addr), route.Options{})
	tab := r.tableIn("a", "t")
	await(t, "the standby has the table", func() bool { _, ok := s.db.LookupTable("p/a/t"); return ok })
	s.promote()
	raw := bigtablepb.NewBigtableClient(r.conn)
	await(t, "the router knows that the standby leads", func() bool {
		return r.metric("smolwc_route_leader_changes_total") > 0
	})
	must(t, writeRow(t.Context(), raw, "bulk", true))
	must(t, tab.Apply(t.Context(), "after", cell("v")))
	for _, key := range []string{"bulk", "after"} {
		if row, err := s.db.Table("p/a/t").ReadRow(t.Context(), key); err != nil || row.Len() == 0 {
			t.Errorf("the write of %s is not at the new leader: %v", key, err)
		}
	}
	if !strings.Contains(r.log.String(), "another server leads the instance") || r.metric("smolwc_route_map_stale_instances") != 1 {
		t.Error("neither log nor metrics say that the map is old")
	}
	r.change(mapOf(a.addr, b.addr, ""))
	if err := writeRow(t.Context(), raw, "lost", false); status.Code(err) != codes.Unavailable || !strings.Contains(err.Error(), s.addr) {
		t.Errorf("a write to a leader that the map does not have: %v", err)
	}
	r.change(mapOf(s.addr, b.addr, a.addr))
	must(t, writeRow(t.Context(), raw, "found", false))
	if n := r.metric("smolwc_route_map_stale_instances"); n != 0 {
		t.Errorf("%v instances are stale with a new map", n)
	}
	r.write("{")
	await(t, "the metrics say that the file is not valid", func() bool { return r.metric("smolwc_route_map_invalid") == 1 })
	must(t, writeRow(t.Context(), raw, "still", false))
}

// With reads from any server, the standby answers a part of them, and sees the client's own
// writes if it asks for that. When the standby has ended, the leader answers all of them.
func TestReadsFromAnyServer(t *testing.T) {
	t.Parallel()
	a, b := primary(t, standby.SemiSyncOff), primary(t, standby.SemiSyncOff)
	s := a.follow()
	r := newRig(t, mapOf(a.addr, b.addr, s.addr), route.Options{Reads: route.Reads{Standbys: true}})
	r.tableIn("a", "t")
	c, err := client.Dial(r.addr, client.Options{Instance: "projects/p/instances/a", Session: new(client.Session)})
	must(t, err)
	defer c.Close()
	m := write.NewMutation()
	m.Set("f", "q", cells.String("v"))
	readOn := func(from, to int) {
		t.Helper()
		for i := from; i < to; i++ {
			must(t, c.Table("t").Apply(t.Context(), fmt.Sprint(i), m))
			if n, err := rowsAt(t, c, fmt.Sprint(i)); err != nil || n != 1 {
				t.Fatalf("row %d is there %d times, %v", i, n, err)
			}
		}
	}
	answered := func(method string, n *node) float64 {
		return r.metric(`smolwc_route_calls_total\{code="OK",method="google.bigtable.v2.Bigtable/` + method + `",server="` + n.addr + `"\}`)
	}
	readOn(0, 20)
	if a, s := answered("ReadRows", a), answered("ReadRows", s); a < 5 || s < 5 {
		t.Errorf("the leader has answered %v reads, the standby %v", a, s)
	}
	if n := answered("MutateRow", s); n != 0 {
		t.Errorf("the standby has taken %v writes", n)
	}
	s.stop()
	readOn(20, 40)
}

// When the server that leads is gone, calls wait for the next one, and nothing is lost or
// written twice. The map is as it was.
func TestCallsWaitForTheNextLeader(t *testing.T) {
	t.Parallel()
	a, b := primary(t, standby.SemiSyncOff), primary(t, standby.SemiSyncOff)
	s := a.follow()
	r := newRig(t, mapOf(a.addr, b.addr, s.addr), route.Options{})
	tab := r.tableIn("a", "t")
	must(t, tab.Apply(t.Context(), "before", cell("v")))
	await(t, "the standby has the row", func() bool {
		row, err := s.db.Table("p/a/t").ReadRow(t.Context(), "before")
		return err == nil && row.Len() > 0
	})
	a.stop()
	await(t, "the router knows no leader", func() bool { return r.metric("smolwc_route_leaderless_instances") == 1 })
	written, read := make(chan error), make(chan error)
	go func() { written <- tab.Apply(t.Context(), "after", cell("v")) }()
	go func() { _, err := tab.ReadRow(t.Context(), "before"); read <- err }()
	await(t, "both calls wait", func() bool { return r.metric("smolwc_route_calls_waiting") == 2 })
	if code, text := r.ready(); code != http.StatusOK || !strings.Contains(text, "projects/p/instances/a") { // b has a leader
		t.Errorf("/readyz says %d %s", code, text)
	}
	s.promote()
	must(t, <-written)
	must(t, <-read)
	if row, err := s.db.Table("p/a/t").ReadRow(t.Context(), "after"); err != nil || row.Len() != 1 {
		t.Errorf("the write that waited: %d cells, %v", row.Len(), err)
	}
	if n := r.metric("smolwc_route_leader_changes_total"); n != 1 {
		t.Errorf("%v changes of leaders are counted", n)
	}
	b.stop()
	s.stop()
	await(t, "the router is not ready", func() bool { code, _ := r.ready(); return code == http.StatusServiceUnavailable })
}

// A call says how old what it reads may be, by its header or by its app profile.
func TestReadsByLag(t *testing.T) {
	t.Parallel()
	a, b := primary(t, standby.SemiSyncOff), primary(t, standby.SemiSyncOff)
	s := a.follow()
	r := newRig(t, mapOf(a.addr, b.addr, s.addr), route.Options{Profiles: map[string]route.Reads{"old": {Standbys: true, MaxLag: time.Hour}}})
	r.tableIn("a", "t")
	await(t, "the standby has the table", func() bool { _, ok := s.db.LookupTable("p/a/t"); return ok })
	raw := bigtablepb.NewBigtableClient(r.conn)
	read := func(header, profile string) {
		t.Helper()
		ctx := t.Context()
		if header != "" {
			ctx = metadata.AppendToOutgoingContext(ctx, "smolwc-reads", header)
		}
		ctx = metadata.AppendToOutgoingContext(ctx, "x-goog-request-params", "app_profile_id="+profile)
		stream, err := raw.ReadRows(ctx, &bigtablepb.ReadRowsRequest{TableName: "projects/p/instances/a/tables/t", AppProfileId: profile})
		must(t, err)
		if _, err := stream.Recv(); !errors.Is(err, io.EOF) {
			t.Fatalf("a read of an empty table: %v", err)
		}
	}
	byStandby := func() float64 {
		return r.metric(`smolwc_route_calls_total\{code="OK",method="google.bigtable.v2.Bigtable/ReadRows",server="` + s.addr + `"\}`)
	}
	for range 10 {
		read("1ns", "")
		read("leader", "old")
		read("", "")
		read("", "other")
	}
	if n := byStandby(); n != 0 {
		t.Errorf("the standby has answered %v reads that were for the leader", n)
	}
	await(t, "the standby answers by the header", func() bool { read("1h", ""); return byStandby() > 0 })
	n := byStandby()
	await(t, "the standby answers by the app profile", func() bool { read("", "old"); return byStandby() > n })
	ctx := metadata.AppendToOutgoingContext(t.Context(), "smolwc-reads", "-5s")
	stream, err := raw.ReadRows(ctx, &bigtablepb.ReadRowsRequest{TableName: "projects/p/instances/a/tables/t"})
	must(t, err)
	if _, err := stream.Recv(); status.Code(err) != codes.InvalidArgument || !strings.Contains(err.Error(), "such as 5s") {
		t.Errorf("reads of -5s: %v", err)
	}
}

// A router that stops ends streams of changes at once, so that it need not wait for them.
func TestAStoppingRouterEndsStreamsOfChanges(t *testing.T) {
	t.Parallel()
	a := primary(t, standby.SemiSyncOff)
	r := newRig(t, mapOf(a.addr, a.addr, ""), route.Options{Grace: time.Hour})
	tab := r.tableIn("a", "t")
	s := r.changes(t.Context(), "t")
	must(t, tab.Apply(t.Context(), "row", cell("v")))
	if _, err := change(s); err != nil {
		t.Fatal(err)
	}
	r.stop()
	if _, err := change(s); status.Code(err) != codes.Unavailable || !strings.Contains(err.Error(), "the router is stopping") {
		t.Errorf("the stream ends with %v", err)
	}
}
