package server_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/bigtable/admin/apiv2/adminpb"
	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/grpc/codes"

	"github.com/smolwc/smolwc/server"
)

// Rights to a part of a table, by an authorized view, do not permit queries of the table, wherever
// they name it: not in a join, nor in a query that takes values of the one around it, nor through
// a logical view.
func TestRightsToRowsAreNoneToQueries(t *testing.T) {
	r, tokens := guarded(t)
	admin := newToken(t, tokens, "admin", time.Time{}, grant(server.Admin, "*"))
	of := newToken(t, tokens, "part", time.Time{}, grant(server.Read, "mine"), grant(server.Read, "other@v"), grant(server.Read, "p/i/*"))
	both := newToken(t, tokens, "both", time.Time{}, grant(server.Read, "mine"), grant(server.Read, "other"))
	_, err := adminpb.NewBigtableTableAdminClient(r.conn).CreateAuthorizedView(r.with(admin), &adminpb.CreateAuthorizedViewRequest{
		Parent: parent + "/tables/other", AuthorizedViewId: "v", AuthorizedView: subsetView([]string{"a"}, map[string]*adminpb.AuthorizedView_FamilySubsets{"f": subset(nil, "")})})
	r.must(err)
	data := bigtablepb.NewBigtableClient(r.conn)
	for _, text := range []string{
		"SELECT m._key, o.f['x'] FROM mine AS m LEFT JOIN other AS o ON o._key = m._key AND STARTS_WITH(o._key, 'a')",
		"SELECT _key FROM mine AS m WHERE EXISTS (SELECT 1 FROM other AS o WHERE o._key = m._key)",
		"SELECT (SELECT o.f['x'] FROM other AS o WHERE o.f['k'] = m.f['k']) FROM mine AS m",
		"SELECT _key FROM mine AS m WHERE m.f['k'] IN (SELECT o.f['k'] FROM mine AS o WHERE o._key < m._key AND EXISTS (SELECT 1 FROM other AS p WHERE p.f['k'] = o.f['k'] AND p._key > m._key))",
		"SELECT m.f['k'] FROM mine AS m GROUP BY 1 HAVING COUNT(*) > (SELECT COUNT(*) FROM other AS o WHERE o.f['k'] = m.f['k'])",
		"SELECT m._key FROM mine AS m JOIN mine AS n ON ARRAY_LENGTH(ARRAY(SELECT 1 FROM other AS o WHERE o._key = m._key)) > 0 AND n._key = m._key",
		"EXPLAIN ANALYZE SELECT EXISTS (SELECT 1 FROM other AS o WHERE o._key = m._key) FROM mine AS m",
	} {
		prepare := func(secret string) error {
			_, err := data.PrepareQuery(r.with(secret), &bigtablepb.PrepareQueryRequest{InstanceName: parent, Query: text})
			return err
		}
		r.wantCode(prepare(of), codes.PermissionDenied, "other")
		if err := prepare(both); err != nil {
			t.Errorf("%s: %v", text, err)
		}
		//lint:ignore SA1019 clients send it
		stream, err := data.ExecuteQuery(r.with(of), &bigtablepb.ExecuteQueryRequest{InstanceName: parent, Query: text, DataFormat: &bigtablepb.ExecuteQueryRequest_ProtoFormat{}})
		if err == nil {
			_, err = stream.Recv()
		}
		r.wantCode(err, codes.PermissionDenied, "other")
	}
	for _, text := range []string{"SELECT 1 FROM mine AS m JOIN `other@v` AS o ON TRUE", "SELECT EXISTS (SELECT 1 FROM `other@v` AS o WHERE o._key = m._key) FROM mine AS m"} {
		_, err := data.PrepareQuery(r.with(both), &bigtablepb.PrepareQueryRequest{InstanceName: parent, Query: text})
		r.wantCode(err, codes.PermissionDenied, "other@v")
	}
}

// A result of a join, or with queries for each row, has one token, at its end. From there nothing
// follows, and another query does not take it. All of it is as of one moment.
func TestResultsOfJoinsResumeAtTheirEnd(t *testing.T) {
	r := newRig(t)
	planes, flights := r.table("planes", "f"), r.table("flights", "f")
	var want []string
	for i := range 60 {
		key := fmt.Sprintf("k%02d", i)
		r.set(planes, key, "f:big="+strings.Repeat("x", 40_000))
		r.set(flights, key, "f:plane="+key)
		want = append(want, key)
	}
	texts := []string{
		"SELECT f._key, p.f['big'] FROM flights AS f JOIN planes AS p ON p._key = f.f['plane'] ORDER BY 1",
		"SELECT g._key, (SELECT p.f['big'] FROM planes AS p WHERE p._key = g.f['plane']) FROM flights AS g ORDER BY 1",
	}
	var ends [][]byte
	for _, text := range texts {
		prepared, err := bigtablepb.NewBigtableClient(r.conn).PrepareQuery(r.ctx(), &bigtablepb.PrepareQueryRequest{
			InstanceName: parent, Query: text, DataFormat: &bigtablepb.PrepareQueryRequest_ProtoFormat{ProtoFormat: &bigtablepb.ProtoFormat{}}})
		r.must(err)
		req := &bigtablepb.ExecuteQueryRequest{InstanceName: parent, PreparedQuery: prepared.GetPreparedQuery()}
		all, end := r.execute(req, -1)
		if first, token := r.execute(req, 1); !slices.Equal(all, want) || !slices.Equal(first, want) || !bytes.Equal(token, end) {
			t.Errorf("%s: %q, and up to the first token %q", text, all, first)
		}
		req.ResumeToken = end
		if again, token := r.execute(req, -1); len(again) != 0 || !bytes.Equal(token, end) {
			t.Errorf("%s: behind the end: %q", text, again)
		}
		for _, other := range ends {
			req.ResumeToken = other
			stream, err := bigtablepb.NewBigtableClient(r.conn).ExecuteQuery(r.ctx(), req)
			for err == nil {
				_, err = stream.Recv()
			}
			r.wantCode(err, codes.InvalidArgument, "resume_token is not one of this query")
		}
		ends = append(ends, end)
	}
	got, err := r.query(r.client(), "EXPLAIN ANALYZE "+texts[1], nil, nil)
	if err != nil || !strings.Contains(got, "read by key for each row around it") || !strings.Contains(got, "ran for 60 rows") {
		t.Errorf("%s, %v", got, err)
	}
}
