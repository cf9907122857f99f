package server_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"
	"cloud.google.com/go/bigtable/admin/apiv2/adminpb"
	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/schema"
	"github.com/smolwc/smolwc/server"
)

func (r *rig) logical(id, query string) error {
	return r.instanceAdmin().CreateLogicalView(r.ctx(), instance, &bigtable.LogicalViewInfo{LogicalViewID: id, Query: query})
}

func TestLogicalViewsAreQueried(t *testing.T) {
	r := newRig(t)
	tab := r.table("t", "f", "n")
	for i, model := range []string{"757", "767", "757", "A340"} {
		r.set(tab, fmt.Sprint("r", i), "f:model="+model, "f:seats="+fmt.Sprint(100*i))
	}
	r.must(r.logical("planes", "SELECT _key AS plane, CAST(f['model'] AS STRING) AS model, CAST(CAST(f['seats'] AS STRING) AS INT64) AS seats FROM t"))
	r.must(r.logical("large", "SELECT plane, seats FROM planes WHERE seats >= 200"))
	r.must(r.logical("models", "SELECT model, COUNT(*) AS n, SUM(seats) AS seats FROM planes GROUP BY model"))
	c := r.client()
	for sql, want := range map[string]string{
		"SELECT * FROM planes WHERE model = 'A340'":                                  "r3 A340 300",
		"SELECT p.plane FROM planes AS p WHERE p.seats = 100":                        "r1",
		"SELECT plane FROM large ORDER BY seats DESC":                                "r3\nr2",
		"SELECT large.plane FROM large LIMIT 1":                                      "r2",
		"SELECT model, n FROM models WHERE seats < 250 ORDER BY model":               "757 2\n767 1",
		"SELECT MAX(seats) FROM models":                                              "300",
		"FROM models |> WHERE n = 2 |> SELECT model":                                 "757",
		"SELECT model, x FROM planes CROSS JOIN UNNEST([1, 2]) AS x WHERE seats = 0": "757 1\n757 2",
	} {
		r.wantQuery(c, sql, want)
	}
	got, err := r.query(c, "SELECT plane FROM planes WHERE seats = @n", map[string]bigtable.SQLType{"n": bigtable.Int64SQLType{}}, map[string]any{"n": int64(100)})
	if got != "r1" || err != nil {
		t.Errorf("with a parameter: %q, %v", got, err)
	}
	_, err = r.query(c, "SELECT nothing FROM large", nil, nil)
	r.wantCode(err, codes.InvalidArgument, "nothing")
	_, err = r.query(c, "SELECT plane FROM planes(with_history => TRUE)", nil, nil)
	r.wantCode(err, codes.InvalidArgument, "planes is a view")

	r.must(r.materialize("sums", "SELECT CAST(f['model'] AS STRING) AS model, COUNT(*) AS n FROM t GROUP BY model"))
	r.must(r.logical("pairs", "SELECT model FROM sums WHERE n = 2"))
	r.wantQuery(c, "SELECT * FROM pairs", "757")
}

// A view shows each client the rows for which its view parameters ask, whatever the query.
func TestParametersOfViews(t *testing.T) {
	r := newRig(t)
	tab := r.table("t", "f")
	for _, key := range []string{"ann#1", "ann#2", "bob#1", "O'Hara#1"} {
		r.set(tab, key, "f:of="+strings.Split(key, "#")[0])
	}
	r.must(r.logical("mine", "SELECT _key, f['of'] AS of FROM t WHERE STARTS_WITH(_key, CAST(CONCAT(VIEW_PARAMETERS('user'), '#') AS BYTES))"))
	r.must(r.logical("both", "SELECT m._key, o.of FROM mine AS m JOIN (SELECT f['of'] AS of FROM t WHERE f['of'] = CAST(view_parameters('user') AS BYTES)) AS o ON m.of = o.of"))
	str := func(s string) *bigtablepb.Value {
		return &bigtablepb.Value{Kind: &bigtablepb.Value_StringValue{StringValue: s}}
	}
	prepared := func(query string) *bigtablepb.ExecuteQueryRequest {
		resp, err := r.data().PrepareQuery(r.ctx(), &bigtablepb.PrepareQueryRequest{InstanceName: parent, Query: query, DataFormat: &bigtablepb.PrepareQueryRequest_ProtoFormat{}})
		r.must(err)
		return &bigtablepb.ExecuteQueryRequest{InstanceName: parent, PreparedQuery: resp.GetPreparedQuery()}
	}
	for user, want := range map[string][]string{
		"ann": {"ann#1", "ann#2"}, "O'Hara": {"O'Hara#1"}, "%": nil, "' OR TRUE OR '": nil,
	} {
		for _, query := range []string{"SELECT _key, of FROM mine", "SELECT * FROM mine WHERE TRUE OR of = b'bob'", "SELECT DISTINCT _key, 1 FROM both ORDER BY _key"} {
			req := prepared(query)
			req.ViewParameters = map[string]*bigtablepb.Value{"user": str(user), "unused": str("x")}
			if got, _ := r.execute(req, 1000); !slices.Equal(got, want) {
				t.Errorf("%s for %s: %q, want %q", query, user, got, want)
			}
		}
	}
	for _, c := range []struct {
		query  string
		params map[string]*bigtablepb.Value
		reason string
	}{
		{"SELECT * FROM mine", nil, `view mine: the view parameter "user" has no value`},
		{"SELECT * FROM mine", map[string]*bigtablepb.Value{"User": str("ann")}, "has no value"},
		{"SELECT * FROM mine", map[string]*bigtablepb.Value{"user": {Kind: &bigtablepb.Value_IntValue{IntValue: 1}}}, "not a valid STRING"},
		{"SELECT * FROM mine", map[string]*bigtablepb.Value{"user": {}}, "not a valid STRING"},
	} {
		req := prepared(c.query)
		req.ViewParameters = c.params
		stream, err := r.data().ExecuteQuery(r.ctx(), req)
		r.must(err)
		_, err = stream.Recv()
		r.wantCode(err, codes.InvalidArgument, c.reason)
	}
	for _, query := range []string{"SELECT VIEW_PARAMETERS('user')", "SELECT _key, SAFE.VIEW_PARAMETERS('user') FROM mine", "SELECT _key FROM mine WHERE of = (SELECT VIEW_PARAMETERS('user'))"} {
		_, err := r.data().PrepareQuery(r.ctx(), &bigtablepb.PrepareQueryRequest{InstanceName: parent, Query: query, DataFormat: &bigtablepb.PrepareQueryRequest_ProtoFormat{}})
		r.wantCode(err, codes.InvalidArgument, "VIEW_PARAMETERS")
	}
	for _, call := range []string{"VIEW_PARAMETERS()", "VIEW_PARAMETERS('a', 'b')", "VIEW_PARAMETERS(_key)", "VIEW_PARAMETERS(b'a')", "SAFE.VIEW_PARAMETERS('a')", "VIEW_PARAMETERS(DISTINCT 'a')", "VIEW_PARAMETERS('a') OVER ()"} {
		r.wantCode(r.logical("wrong", "SELECT _key, "+call+" AS c FROM t"), codes.InvalidArgument)
	}
	r.wantCode(r.materialize("kept", "SELECT _key, VIEW_PARAMETERS('user') AS user FROM t ORDER BY _key"), codes.InvalidArgument, "a materialized view cannot have VIEW_PARAMETERS")
}

// A view that is wrong, or whose table is gone, says so.
func TestLogicalViewsSayWhatIsWrong(t *testing.T) {
	r := newRig(t)
	tab := r.table("t", "f")
	r.set(tab, "r", "f:a=1")
	for query, reason := range map[string]string{
		"SELECT _key FROM nowhere":           "Table not found: nowhere",
		"SELECT g FROM t":                    "Unrecognized name: g",
		"SELECT 1":                           "no table",
		"SELECT":                             "Syntax error",
		"SELECT * FROM v":                    "v reads itself",
		"":                                   "no query",
		"SELECT _key FROM t WHERE _key = @p": "parameter",
	} {
		r.wantCode(r.logical("v", query), codes.InvalidArgument, reason)
	}
	r.must(r.logical("v", "SELECT _key, f['a'] AS a FROM t"))
	r.must(r.logical("w", "SELECT a FROM v"))
	r.wantCode(r.logical("v", "SELECT _key FROM t"), codes.AlreadyExists, "already exists")
	r.wantCode(r.materialize("v", "SELECT _key FROM t ORDER BY _key"), codes.AlreadyExists)
	r.wantCode(r.materialize("m", "SELECT a FROM v ORDER BY a"), codes.InvalidArgument, "v is a view")
	r.wantCode(r.admin().CreateTable(r.ctx(), "v"), codes.AlreadyExists, "is a view")
	admin := r.instanceAdmin()
	r.wantCode(admin.UpdateLogicalView(r.ctx(), instance, bigtable.LogicalViewInfo{LogicalViewID: "v", Query: "SELECT * FROM w"}), codes.InvalidArgument, "reads itself")
	for i := range 15 {
		r.must(r.logical(fmt.Sprint("d", i), "SELECT * FROM "+map[bool]string{true: "w", false: fmt.Sprint("d", i-1)}[i == 0]))
	}
	r.wantCode(r.logical("d15", "SELECT * FROM d14"), codes.InvalidArgument, "more than 16 levels")
	c := r.client()
	r.wantQuery(c, "SELECT * FROM d12", "1")

	r.must(r.admin().DeleteColumnFamily(r.ctx(), "t", "f"))
	_, err := r.query(c, "SELECT * FROM w", nil, nil)
	r.wantCode(err, codes.InvalidArgument, "view v: Unrecognized name: f")
	r.must(r.admin().DeleteTable(r.ctx(), "t"))
	_, err = r.query(c, "SELECT * FROM w", nil, nil)
	r.wantCode(err, codes.FailedPrecondition, "logical view v", "the table t that it reads does not exist")
	r.must(admin.UpdateLogicalView(r.ctx(), instance, bigtable.LogicalViewInfo{LogicalViewID: "v", DeletionProtection: bigtable.Protected}))
	r.wantCode(admin.DeleteLogicalView(r.ctx(), instance, "v"), codes.FailedPrecondition, "protected")
}

// The definitions survive a restart, and their pages are complete.
func TestViewsAreListedAndKept(t *testing.T) {
	r := newRig(t)
	tab := r.table("t", "f")
	r.set(tab, "r", "f:a=1")
	for _, id := range []string{"a", "b", "c"} {
		r.must(r.logical(id, "SELECT _key FROM t"))
		r.must(r.materialize("m"+id, "SELECT _key FROM t ORDER BY _key"))
	}
	r.stop()
	again := serve(t, r.db, server.Options{})
	admin := again.instanceAdminPB()
	var names []string
	for token := ""; ; {
		page, err := admin.ListLogicalViews(r.ctx(), &adminpb.ListLogicalViewsRequest{Parent: parent, PageSize: 2, PageToken: token})
		again.must(err)
		for _, v := range page.GetLogicalViews() {
			names = append(names, strings.TrimPrefix(v.GetName(), parent+"/"))
		}
		if token = page.GetNextPageToken(); token == "" {
			break
		}
	}
	if got := strings.Join(names, " "); got != "logicalViews/a logicalViews/b logicalViews/c" {
		t.Errorf("logical views: %s", got)
	}
	views, err := again.instanceAdmin().MaterializedViews(r.ctx(), instance)
	if err != nil || len(views) != 3 || views[0].MaterializedViewID != "ma" {
		t.Errorf("materialized views: %v, %v", views, err)
	}
	again.wantQuery(again.client(), "SELECT * FROM mb", "r")

	// An etag that is out of date changes nothing.
	v, err := admin.GetMaterializedView(r.ctx(), &adminpb.GetMaterializedViewRequest{Name: parent + "/materializedViews/ma"})
	again.must(err)
	v.Etag, v.DeletionProtection = "old", true
	_, err = admin.UpdateMaterializedView(r.ctx(), &adminpb.UpdateMaterializedViewRequest{MaterializedView: v})
	again.wantCode(err, codes.Aborted, "has changed")
	_, err = admin.DeleteMaterializedView(r.ctx(), &adminpb.DeleteMaterializedViewRequest{Name: v.GetName(), Etag: "old"})
	again.wantCode(err, codes.Aborted)
	for _, id := range []string{"ma", "mb", "mc"} {
		again.must(again.instanceAdmin().DeleteMaterializedView(r.ctx(), instance, id))
	}
	if _, ok := r.db.LookupTable(schema.MarksOf("proj/inst/t")); ok {
		t.Error("the table still has marks")
	}
	again.must(again.admin().DeleteTable(r.ctx(), "t"))
}

// A right to a table is one to its views, and to no others.
func TestTokensOfViews(t *testing.T) {
	r, tokens := guarded(t)
	r.must(r.logical("l", "SELECT _key FROM mine"))
	r.must(r.materialize("m", "SELECT _key FROM mine ORDER BY _key"))
	var never time.Time
	reader := newToken(t, tokens, "reader", never, grant(server.Read, "mine"))
	other := newToken(t, tokens, "other", never, grant(server.Admin, "other"))
	data := bigtablepb.NewBigtableClient(r.conn)
	calls := map[string]func(context.Context) error{
		"l": func(ctx context.Context) error {
			_, err := data.PrepareQuery(ctx, &bigtablepb.PrepareQueryRequest{InstanceName: parent, Query: "SELECT * FROM l"})
			return err
		},
		"m by SQL": func(ctx context.Context) error {
			_, err := data.PrepareQuery(ctx, &bigtablepb.PrepareQueryRequest{InstanceName: parent, Query: "SELECT * FROM m"})
			return err
		},
		"m": func(ctx context.Context) error {
			stream, err := data.SampleRowKeys(ctx, &bigtablepb.SampleRowKeysRequest{MaterializedViewName: parent + "/materializedViews/m"})
			if err == nil {
				_, err = stream.Recv()
			}
			return err
		},
		"get": func(ctx context.Context) error {
			_, err := r.instanceAdminPB().GetMaterializedView(ctx, &adminpb.GetMaterializedViewRequest{Name: parent + "/materializedViews/m"})
			return err
		},
	}
	for what, call := range calls {
		if err := call(r.with(reader)); err != nil {
			t.Errorf("%s with a right to the table: %v", what, err)
		}
		if err := call(r.with(other)); status.Code(err) != codes.PermissionDenied {
			t.Errorf("%s without one: %v", what, err)
		}
	}
	_, err := r.instanceAdminPB().DeleteMaterializedView(r.with(reader), &adminpb.DeleteMaterializedViewRequest{Name: parent + "/materializedViews/m"})
	r.wantCode(err, codes.PermissionDenied)
}

func TestAResetDeletesViews(t *testing.T) {
	mode := server.NewTestMode(server.TestModeOptions{})
	db, err := query.OpenInMemory(query.Options{Clock: mode.Clock})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	r := serve(t, db, server.Options{Test: mode})
	for range 2 {
		tab := r.table("t", "f")
		r.must(r.logical("l", "SELECT _key FROM t"))
		r.must(r.materialize("m", "SELECT _key FROM t ORDER BY _key"))
		r.set(tab, "r", "f:a=1")
		r.wantQuery(r.client(), "SELECT * FROM m", "r")
		r.must(mode.Reset(r.ctx()))
		_, err := r.query(r.client(), "SELECT * FROM m", nil, nil)
		r.wantCode(err, codes.InvalidArgument, "Table not found")
	}
}
