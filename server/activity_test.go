package server_test

import (
	"cmp"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/bigtable/admin/apiv2/adminpb"
	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/fieldmaskpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/smolwc/smolwc/api/activity"
	"github.com/smolwc/smolwc/api/smolwcpb"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/schema"
	"github.com/smolwc/smolwc/server"
)

//lint:file-ignore SA1019 clients that do not prepare a query send fields that are deprecated

// A call under way says what it is about and what it has read. A client that sees it can
// cancel it.
func TestCallsAreListedAndCancelled(t *testing.T) {
	r, s, _ := limited(t, server.Limits{})
	r.big()
	stream := r.scan(r.ctx(), r.narrow()) // its client does not read
	var running []activity.Call
	r.until("a read under way", func() bool {
		running = s.Calls().Running
		return len(running) == 1 && running[0].RowsRead > 0
	})
	c := running[0]
	if c.Method != "google.bigtable.v2.Bigtable/ReadRows" || c.Table != "proj/inst/t" || c.Rows != "all rows" || c.CellsRead != c.RowsRead || c.RowsRead > 400 || c.Code != "" || c.Peer == "" || c.Began.IsZero() {
		t.Errorf("%+v", c)
	}
	if err := s.CancelCall(c.ID+1, "nobody"); query.KindOf(err) != query.KindNotFound || !strings.Contains(err.Error(), fmt.Sprintf("no call under way has the id %d; it may have ended", c.ID+1)) {
		t.Error(err)
	}
	r.must(s.CancelCall(c.ID, "the operator"))
	var err error
	for err == nil {
		_, err = stream.Recv()
	}
	if st := status.Convert(err); st.Code() != codes.Canceled || st.Message() != "the call was cancelled by the operator" {
		t.Error(err)
	}
	r.until("the end of the call", func() bool { return len(s.Calls().Running) == 0 })
	if n := r.snapshots(); n != 0 {
		t.Errorf("%d snapshots and cursors are held by a call that was cancelled", n)
	}
	r.until("the call among the slow ones", func() bool {
		return slices.ContainsFunc(s.Calls().Slow, func(slow activity.Call) bool {
			return slow.ID == c.ID && slow.Code == "Canceled" && slow.Rows == "all rows" && slow.Took > 0
		})
	})
	if err := s.CancelCall(c.ID, "the operator"); query.KindOf(err) != query.KindNotFound {
		t.Errorf("cancelled again: %v", err)
	}
}

// Calls of the JSON API are among them. One whose body is still to come ends with it.
func TestACallOfTheJSONAPIIsCancelled(t *testing.T) {
	r, s, _ := limited(t, server.Limits{})
	r.must(r.db.CreateTable(r.ctx(), schema.Table{Name: "fleet", Families: []schema.Family{{Name: "meta"}}}))
	site := httptest.NewServer(s.HTTP())
	defer site.Close()
	body, send := io.Pipe()
	type answer struct {
		code int
		text string
	}
	got := make(chan answer, 1)
	go func() {
		resp, err := http.Post(site.URL+"/v1/table/fleet/count", "application/json", body)
		if err != nil {
			got <- answer{0, err.Error()}
			return
		}
		defer resp.Body.Close()
		text, _ := io.ReadAll(resp.Body)
		got <- answer{resp.StatusCode, string(text)}
	}()
	_, _ = io.WriteString(send, `{"row": `)
	var running []activity.Call
	r.until("a call under way", func() bool { running = s.Calls().Running; return len(running) == 1 })
	if c := running[0]; c.Method != "json.v1/Count" || c.Table != "fleet" {
		t.Errorf("%+v", c)
	}
	r.must(s.CancelCall(running[0].ID, "the operator"))
	defer send.Close() // the rest of the body never comes
	if a := <-got; a.code != 499 || !strings.Contains(a.text, "the call was cancelled by the operator") {
		t.Errorf("%d %s", a.code, a.text)
	}
}

// A token sees and cancels its own calls. One that may administer all tables sees all.
func TestCallsOfTokens(t *testing.T) {
	r, tokens := guarded(t)
	var never time.Time
	reader := newToken(t, tokens, "reader", never, grant(server.Read, "mine"))
	other := newToken(t, tokens, "other", never, grant(server.Write, "*"), grant(server.Admin, "mine"))
	operator := newToken(t, tokens, "operator", never, grant(server.Admin, "*"))
	_, err := adminpb.NewBigtableTableAdminClient(r.conn).UpdateTable(r.with(operator), &adminpb.UpdateTableRequest{
		Table:      &adminpb.Table{Name: parent + "/tables/mine", ChangeStreamConfig: &adminpb.ChangeStreamConfig{RetentionPeriod: durationpb.New(24 * time.Hour)}},
		UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"change_stream_config"}},
	})
	r.must(err)
	activities := smolwcpb.NewServerActivityClient(r.conn)
	calls := func(secret string) (running []*smolwcpb.Call) {
		resp, err := activities.ListCalls(r.with(secret), &smolwcpb.ListCallsRequest{})
		r.must(err)
		for _, c := range slices.Concat(resp.GetRunning(), resp.GetSlow()) {
			if strings.HasSuffix(c.GetMethod(), "ReadChangeStream") {
				running = append(running, c)
			}
		}
		return running
	}
	stream, err := bigtablepb.NewBigtableClient(r.conn).ReadChangeStream(r.with(reader), &bigtablepb.ReadChangeStreamRequest{
		TableName: parent + "/tables/mine", Partition: &bigtablepb.StreamPartition{RowRange: &bigtablepb.RowRange{}},
	})
	r.must(err)
	r.until("a stream under way whose request has come", func() bool { found := calls(reader); return len(found) == 1 && found[0].GetRows() != "" })
	if c := calls(operator)[0]; c.GetToken() != "reader" || c.GetTableName() != parent+"/tables/mine" || c.GetRows() != "all rows" {
		t.Errorf("the operator sees %v", c)
	}
	id := calls(reader)[0].GetId()
	if found := calls(other); len(found) > 0 {
		t.Errorf("another token sees %v", found)
	}
	if _, err := activities.CancelCall(r.with(other), &smolwcpb.CancelCallRequest{Id: id}); status.Code(err) != codes.NotFound {
		t.Errorf("another token cancels: %v", err)
	}
	_, err = activities.CancelCall(r.with(operator), &smolwcpb.CancelCallRequest{Id: id})
	r.must(err)
	for err == nil {
		_, err = stream.Recv()
	}
	if st := status.Convert(err); st.Code() != codes.Canceled || st.Message() != `the call was cancelled by token "operator"` {
		t.Error(err)
	}
	r.until("the end of the stream", func() bool { return len(calls(operator)) == 0 })
	if _, err := activities.ListCalls(r.ctx(), &smolwcpb.ListCallsRequest{}); status.Code(err) != codes.Unauthenticated {
		t.Errorf("without a token: %v", err)
	}
}

// Each way to read and write a row counts, on the call and for the row's heat.
func TestHeatOfRows(t *testing.T) {
	r, s, _ := limited(t, server.Limits{})
	r.table("t", "f")
	const table = parent + "/tables/t"
	data := bigtablepb.NewBigtableClient(r.conn)
	set := []*bigtablepb.Mutation{{Mutation: &bigtablepb.Mutation_SetCell_{SetCell: &bigtablepb.Mutation_SetCell{FamilyName: "f", TimestampMicros: -1}}}}
	_, err := data.MutateRow(r.ctx(), &bigtablepb.MutateRowRequest{TableName: table, RowKey: []byte("a"), Mutations: set})
	r.must(err)
	bulk, err := data.MutateRows(r.ctx(), &bigtablepb.MutateRowsRequest{TableName: table, Entries: []*bigtablepb.MutateRowsRequest_Entry{{RowKey: []byte("a"), Mutations: set}, {RowKey: []byte("b"), Mutations: set}}})
	r.must(err)
	_, err = bulk.Recv()
	r.must(err)
	_, err = data.CheckAndMutateRow(r.ctx(), &bigtablepb.CheckAndMutateRowRequest{TableName: table, RowKey: []byte("a"), TrueMutations: set})
	r.must(err)
	_, err = data.ReadModifyWriteRow(r.ctx(), &bigtablepb.ReadModifyWriteRowRequest{TableName: table, RowKey: []byte("a"), Rules: []*bigtablepb.ReadModifyWriteRule{{FamilyName: "f", Rule: &bigtablepb.ReadModifyWriteRule_AppendValue{AppendValue: []byte("x")}}}})
	r.must(err)
	r.read(&bigtablepb.ReadRowsRequest{TableName: table})                                                                     // a and b
	r.read(&bigtablepb.ReadRowsRequest{TableName: table, Rows: &bigtablepb.RowSet{RowKeys: [][]byte{[]byte("missing\xff")}}}) // a miss is a read too
	query, err := data.ExecuteQuery(r.ctx(), &bigtablepb.ExecuteQueryRequest{InstanceName: parent, Query: "SELECT _key FROM t WHERE _key = b'b'", DataFormat: &bigtablepb.ExecuteQueryRequest_ProtoFormat{ProtoFormat: &bigtablepb.ProtoFormat{}}})
	r.must(err)
	for err == nil {
		_, err = query.Recv()
	}

	heat, err := s.Heat(activity.HeatRequest{Table: "proj/inst/t"})
	r.must(err)
	want := []activity.HotRow{
		{Table: "proj/inst/t", Key: "a", Reads: 3, Writes: 4},
		{Table: "proj/inst/t", Key: "b", Reads: 2, Writes: 1},
		{Table: "proj/inst/t", Key: "missing\xff", Reads: 1},
	}
	if !slices.Equal(heat.Rows, want) {
		t.Errorf("%v, want %v", heat.Rows, want)
	}
	resp, err := smolwcpb.NewServerActivityClient(r.conn).GetHeat(r.ctx(), &smolwcpb.GetHeatRequest{Name: parent, Rows: 1})
	r.must(err)
	if len(resp.GetRows()) != 1 || resp.GetRows()[0].GetTableName() != table || string(resp.GetRows()[0].GetKey()) != "a" || len(resp.GetColumns()) > 0 {
		t.Errorf("of the instance: %v", resp)
	}
	var read, written int64
	r.until("the ends of the calls", func() bool {
		read, written = 0, 0
		for _, c := range s.Calls().Slow {
			read, written = read+c.RowsRead, written+c.RowsWritten
		}
		return read == 6 && written == 5
	})

	r.must(r.admin().DeleteTable(r.ctx(), "t"))
	r.table("t", "f")
	if heat, err = s.Heat(activity.HeatRequest{Table: "proj/inst/t"}); err != nil || len(heat.Rows) > 0 {
		t.Errorf("a table of the same name has the heat of a deleted one: %v, %v", heat.Rows, err)
	}
}

// The heat of a table needs the right to read it, and an instance shows no other tables.
func TestHeatOfTokens(t *testing.T) {
	r, tokens := guarded(t)
	reader := newToken(t, tokens, "reader", time.Time{}, grant(server.Read, "mine"), grant(server.Read, "other@v"))
	operator := newToken(t, tokens, "operator", time.Time{}, grant(server.Admin, "*"))
	data := bigtablepb.NewBigtableClient(r.conn)
	for _, table := range []string{"mine", "other"} {
		stream, err := data.ReadRows(r.with(operator), &bigtablepb.ReadRowsRequest{TableName: parent + "/tables/" + table, Rows: &bigtablepb.RowSet{RowKeys: [][]byte{[]byte("k")}}})
		r.must(err)
		for err == nil {
			_, err = stream.Recv()
		}
	}
	activities := smolwcpb.NewServerActivityClient(r.conn)
	tables := func(secret, name string) (found []string, code codes.Code) {
		resp, err := activities.GetHeat(r.with(secret), &smolwcpb.GetHeatRequest{Name: name})
		for _, row := range resp.GetRows() {
			found = append(found, strings.TrimPrefix(row.GetTableName(), parent+"/tables/"))
		}
		return sorted(found), status.Code(err)
	}
	for _, c := range []struct {
		secret, name string
		want         []string
		code         codes.Code
	}{
		{reader, parent, []string{"mine"}, codes.OK},
		{reader, parent + "/tables/mine", []string{"mine"}, codes.OK},
		{reader, parent + "/tables/other", nil, codes.PermissionDenied},
		{reader, parent + "/tables/absent", nil, codes.PermissionDenied},
		{operator, parent, []string{"mine", "other"}, codes.OK},
		{operator, parent + "/tables/absent", nil, codes.NotFound},
		{operator, parent + "/tables/mine/authorizedViews/v", nil, codes.InvalidArgument},
	} {
		if got, code := tables(c.secret, c.name); !slices.Equal(got, c.want) || code != c.code {
			t.Errorf("%s: %v, %v; want %v, %v", c.name, got, code, c.want, c.code)
		}
	}
}

// Requests for hot tablets are checked as Bigtable checks them.
func TestListHotTablets(t *testing.T) {
	r := newRig(t)
	r.table("t", "f")
	instances := adminpb.NewBigtableInstanceAdminClient(r.conn)
	clusters, err := instances.ListClusters(r.ctx(), &adminpb.ListClustersRequest{Parent: parent})
	r.must(err)
	cluster := clusters.GetClusters()[0].GetName()
	at := func(ago time.Duration) *timestamppb.Timestamp { return timestamppb.New(time.Now().Add(-ago)) }
	for _, c := range []struct {
		req  *adminpb.ListHotTabletsRequest
		code codes.Code
	}{
		{&adminpb.ListHotTabletsRequest{Parent: cluster}, codes.OK},
		{&adminpb.ListHotTabletsRequest{Parent: cluster, StartTime: at(47 * time.Hour), EndTime: at(0)}, codes.OK},
		{&adminpb.ListHotTabletsRequest{Parent: cluster, EndTime: at(300 * time.Hour)}, codes.OK},
		{&adminpb.ListHotTabletsRequest{Parent: parent + "/clusters/absent"}, codes.NotFound},
		{&adminpb.ListHotTabletsRequest{Parent: parent}, codes.InvalidArgument},
		{&adminpb.ListHotTabletsRequest{Parent: cluster, PageSize: -1}, codes.InvalidArgument},
		{&adminpb.ListHotTabletsRequest{Parent: cluster, PageToken: "made-up"}, codes.InvalidArgument},
		{&adminpb.ListHotTabletsRequest{Parent: cluster, StartTime: at(0), EndTime: at(time.Hour)}, codes.InvalidArgument},
		{&adminpb.ListHotTabletsRequest{Parent: cluster, StartTime: at(49 * time.Hour)}, codes.InvalidArgument},
		{&adminpb.ListHotTabletsRequest{Parent: cluster, StartTime: at(15 * 24 * time.Hour), EndTime: at(14 * 24 * time.Hour)}, codes.InvalidArgument},
		{&adminpb.ListHotTabletsRequest{Parent: cluster, EndTime: at(-time.Hour)}, codes.InvalidArgument},
	} {
		if _, err := instances.ListHotTablets(r.ctx(), c.req); status.Code(err) != c.code {
			t.Errorf("%v: %v, want %v", c.req, err, c.code)
		}
	}

	tab := r.client().Open("t")
	for i := range 40 {
		_, err := tab.ReadRow(r.ctx(), fmt.Sprintf("k%d\xff", i%4))
		r.must(err)
	}
	resp, err := instances.ListHotTablets(r.ctx(), &adminpb.ListHotTabletsRequest{Parent: cluster})
	r.must(err)
	whole := resp.GetHotTablets()
	if paged := listHot(r, instances, &adminpb.ListHotTabletsRequest{Parent: cluster}); !slices.EqualFunc(whole, paged, func(a, b *adminpb.HotTablet) bool { return a.GetName() == b.GetName() }) {
		t.Errorf("in pages: %v\nat once: %v", paged, whole)
	}
	first := whole[0]
	if len(whole) < 4 || first.GetTableName() != parent+"/tables/t" || first.GetStartKey() != first.GetEndKey() || !strings.HasSuffix(first.GetStartKey(), `\xff`) || first.GetNodeCpuUsagePercent() <= 0 || first.GetNodeCpuUsagePercent() > 100 || !strings.HasPrefix(first.GetName(), cluster+"/hotTablets/") || !first.GetStartTime().AsTime().Before(first.GetEndTime().AsTime()) {
		t.Errorf("%v", whole)
	}
	if !slices.IsSortedFunc(whole, func(a, b *adminpb.HotTablet) int {
		return cmp.Compare(b.GetNodeCpuUsagePercent(), a.GetNodeCpuUsagePercent())
	}) {
		t.Errorf("not the hottest first: %v", whole)
	}
	resp, err = instances.ListHotTablets(r.ctx(), &adminpb.ListHotTabletsRequest{Parent: cluster, PageSize: 3})
	r.must(err)
	if _, err := instances.ListHotTablets(r.ctx(), &adminpb.ListHotTabletsRequest{Parent: cluster, PageSize: 2, PageToken: resp.GetNextPageToken()}); status.Code(err) != codes.InvalidArgument {
		t.Errorf("another size of page: %v", err)
	}
}

// listHot lists all hot tablets, three at a time.
func listHot(r *rig, instances adminpb.BigtableInstanceAdminClient, req *adminpb.ListHotTabletsRequest) (all []*adminpb.HotTablet) {
	req.PageSize = 3
	for {
		resp, err := instances.ListHotTablets(r.ctx(), req)
		r.must(err)
		if len(resp.GetHotTablets()) > 3 {
			r.t.Errorf("a page has %d", len(resp.GetHotTablets()))
		}
		all = append(all, resp.GetHotTablets()...)
		if req.PageToken = resp.GetNextPageToken(); req.PageToken == "" {
			return all
		}
	}
}
