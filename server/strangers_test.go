package server_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/bigtable/admin/apiv2/adminpb"
	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"cloud.google.com/go/longrunning/autogen/longrunningpb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/smolwc/smolwc/server"
)

// A token for some tables reveals nothing about other tables.

// Page tokens do not reveal tables that are not listed.
func TestListsTellOfNoOtherTable(t *testing.T) {
	tokens := server.OpenTokens(t.TempDir())
	r := newBackupRig(t, server.Options{Instance: parent, Tokens: tokens})
	for _, name := range []string{"a", "mine", "other", "zebra"} {
		r.table(name, "f")
		r.backup(name, "of-"+name)
	}
	secret := newToken(t, tokens, "reader", time.Time{}, grant(server.Read, "mine"))
	for _, size := range []int32{0, 1, 2} {
		tables, err := r.admin.ListTables(r.with(secret), &adminpb.ListTablesRequest{Parent: parent, PageSize: size})
		r.must(err)
		if len(tables.GetTables()) != 1 || tables.GetTables()[0].GetName() != tablePath("mine") || tables.GetNextPageToken() != "" {
			t.Errorf("tables in pages of %d: %v", size, tables)
		}
		backups, err := r.admin.ListBackups(r.with(secret), &adminpb.ListBackupsRequest{Parent: cluster, PageSize: size})
		r.must(err)
		if len(backups.GetBackups()) != 1 || backups.GetBackups()[0].GetSourceTable() != tablePath("mine") || backups.GetNextPageToken() != "" {
			t.Errorf("backups in pages of %d: %v", size, backups)
		}
	}
}

// Only a client with the right learns whether a backup exists, and its table.
func TestARefusalDoesNotSayWhatABackupIsOf(t *testing.T) {
	tokens := server.OpenTokens(t.TempDir())
	r := newBackupRig(t, server.Options{Instance: parent, Tokens: tokens})
	r.table("mine", "f")
	r.table("other", "f")
	r.backup("other", "there")
	secret := newToken(t, tokens, "reader", time.Time{}, grant(server.Admin, "mine"))
	said := map[string]string{}
	for _, id := range []string{"there", "not-there"} {
		_, err := r.admin.GetBackup(r.with(secret), &adminpb.GetBackupRequest{Name: cluster + "/backups/" + id})
		refused(t, id, err, codes.PermissionDenied, "backup "+cluster)
		said[id] = strings.ReplaceAll(status.Convert(err).Message(), id, "ID")
	}
	if said["there"] != said["not-there"] {
		t.Errorf("refusals differ: %q", said)
	}
}

func TestOperationsOfAnotherInstanceAreNotListed(t *testing.T) {
	r, tokens := guarded(t)
	operator := newToken(t, tokens, "operator", time.Time{}, grant(server.Admin, "*"))
	tenant := newToken(t, tokens, "tenant", time.Time{}, grant(server.Admin, "p/i/*"))
	instances, ops := adminpb.NewBigtableInstanceAdminClient(r.conn), longrunningpb.NewOperationsClient(r.conn)
	for _, id := range []string{"i", "i2"} {
		_, err := instances.CreateInstance(r.with(operator), &adminpb.CreateInstanceRequest{Parent: "projects/p", InstanceId: id, Instance: &adminpb.Instance{}})
		r.must(err)
	}
	for name, want := range map[string]int{"operations/projects/p/instances/i": 1, "operations/projects/p/instances/i/": 1} {
		list, err := ops.ListOperations(r.with(tenant), &longrunningpb.ListOperationsRequest{Name: name})
		r.must(err)
		if len(list.GetOperations()) != want {
			t.Errorf("operations below %s: %v", name, list)
		}
	}
	list, err := ops.ListOperations(r.with(operator), &longrunningpb.ListOperationsRequest{})
	r.must(err)
	if len(list.GetOperations()) != 2 {
		t.Errorf("all operations: %v", list)
	}
}

// "-" means all instances of a project, so it needs more rights than one instance.
func TestAllInstancesAreNotThoseOfAToken(t *testing.T) {
	r, tokens := guarded(t)
	secret := newToken(t, tokens, "tenant", time.Time{}, grant(server.Read, project+"/-/*"), grant(server.Read, "p/i/*"))
	instances := adminpb.NewBigtableInstanceAdminClient(r.conn)
	for _, of := range []string{"projects/" + project + "/instances/-", "projects/p/instances/-"} {
		_, err := instances.ListClusters(r.with(secret), &adminpb.ListClustersRequest{Parent: of})
		refused(t, of, err, codes.PermissionDenied, "has no right to read")
	}
}

// A query needs the right to its table, prepared or not. A query that cannot be parsed
// says why.
func TestSQLAsksForTheRightToItsTable(t *testing.T) {
	r, tokens := guarded(t)
	reader := newToken(t, tokens, "reader", time.Time{}, grant(server.Read, "mine"))
	operator := newToken(t, tokens, "operator", time.Time{}, grant(server.Read, "*"))
	format := &bigtablepb.PrepareQueryRequest_ProtoFormat{ProtoFormat: &bigtablepb.ProtoFormat{}}
	prepare := func(ctx context.Context, sql string) (*bigtablepb.PrepareQueryResponse, error) {
		return r.data().PrepareQuery(ctx, &bigtablepb.PrepareQueryRequest{InstanceName: parent, Query: sql, DataFormat: format})
	}
	execute := func(req *bigtablepb.ExecuteQueryRequest) error {
		req.InstanceName = parent
		stream, err := r.data().ExecuteQuery(r.with(reader), req)
		for err == nil {
			_, err = stream.Recv()
		}
		return err
	}
	for sql, want := range map[string]codes.Code{
		"SELECT * FROM mine": codes.OK, "SELECT * FROM other": codes.PermissionDenied, "SELECT * FROM none": codes.PermissionDenied, "SELECT 1": codes.OK,
		"SELEC * FROM other": codes.InvalidArgument, "": codes.InvalidArgument,
	} {
		_, err := prepare(r.with(reader), sql)
		if status.Code(err) != want {
			t.Errorf("prepare %q: %v, want %v", sql, err, want)
		}
		//lint:ignore SA1019 clients send it
		if err := execute(&bigtablepb.ExecuteQueryRequest{Query: sql}); err.Error() != "EOF" && status.Code(err) != want || err.Error() == "EOF" && want != codes.OK {
			t.Errorf("execute %q: %v, want %v", sql, err, want)
		}
	}
	theirs, err := prepare(r.with(operator), "SELECT * FROM other")
	r.must(err)
	refused(t, "a query that somebody else prepared", execute(&bigtablepb.ExecuteQueryRequest{PreparedQuery: theirs.GetPreparedQuery()}), codes.PermissionDenied, "table other")
}

// A stream ends at most a second and one message after its token.
func TestARevokedTokenEndsItsStreams(t *testing.T) {
	r, tokens := guarded(t)
	_, err := adminpb.NewBigtableTableAdminClient(r.conn).CreateTable(r.ctx(), &adminpb.CreateTableRequest{Parent: parent, TableId: "s", Table: &adminpb.Table{
		ChangeStreamConfig: &adminpb.ChangeStreamConfig{RetentionPeriod: durationpb.New(24 * time.Hour)},
	}})
	r.must(err)
	secret := newToken(t, tokens, "reader", time.Time{}, grant(server.Read, "s"))
	newToken(t, tokens, "other", time.Time{}, grant(server.Read, "s"))
	stream, err := r.data().ReadChangeStream(r.with(secret), &bigtablepb.ReadChangeStreamRequest{
		TableName: tablePath("s"), HeartbeatDuration: durationpb.New(20 * time.Millisecond),
	})
	r.must(err)
	_, err = stream.Recv()
	r.must(err)
	r.must(tokens.Revoke("reader"))
	for err == nil {
		_, err = stream.Recv()
	}
	refused(t, "the stream", err, codes.Unauthenticated, "revoked")
}
