package server_test

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"
	"cloud.google.com/go/bigtable/admin/apiv2/adminpb"
	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"cloud.google.com/go/iam/apiv1/iampb"
	"google.golang.org/api/option"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/server"
)

const bundleB = tableT + "/schemaBundles/b"

// music is the set of descriptors of sql/message/testdata/music.txtpb, with changes of its
// text: old, new, ….
func music(t testing.TB, changes ...string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "sql", "message", "testdata", "music.txtpb"))
	if err != nil {
		t.Fatal(err)
	}
	changed := strings.NewReplacer(changes...).Replace(string(text))
	if len(changes) > 0 && changed == string(text) {
		t.Fatalf("%q changes nothing", changes)
	}
	set := &descriptorpb.FileDescriptorSet{}
	if err := prototext.Unmarshal([]byte(changed), set); err != nil {
		t.Fatal(err)
	}
	b, err := proto.Marshal(set)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func (r *rig) createBundle(table, id string, set []byte) error {
	return r.admin().CreateSchemaBundle(r.ctx(), &bigtable.SchemaBundleConf{TableID: table, SchemaBundleID: id, ProtoSchema: &bigtable.ProtoSchemaInfo{ProtoDescriptors: set}})
}

func (r *rig) updateBundle(set []byte, etag string, force bool) error {
	return r.admin().UpdateSchemaBundle(r.ctx(), bigtable.UpdateSchemaBundleConf{
		SchemaBundleConf: bigtable.SchemaBundleConf{TableID: "t", SchemaBundleID: "b", Etag: etag, ProtoSchema: &bigtable.ProtoSchemaInfo{ProtoDescriptors: set}},
		IgnoreWarnings:   force,
	})
}

// album is an encoded music.Album with a title and a year below 128.
func album(title string, year byte) string {
	return string(append([]byte{0x0a, byte(len(title))}, title...)) + "\x18" + string([]byte{year})
}

// A session of the official client: a bundle is made, listed, changed and deleted.
func TestSchemaBundlesOfATable(t *testing.T) {
	r := newRig(t)
	r.table("t", "f")
	admin, ctx := r.admin(), r.ctx()
	first, second := music(t), music(t, `name: "born" number: 2`, `name: "died" number: 4 label: LABEL_OPTIONAL type: TYPE_INT32 } field { name: "born" number: 2`)
	r.must(r.createBundle("t", "b", first))
	r.wantCode(r.createBundle("t", "b", first), codes.AlreadyExists, bundleB)

	names, err := admin.SchemaBundles(ctx, "t")
	if err != nil || len(names) != 1 || names[0] != "b" {
		t.Errorf("the table has the bundles %v, %v", names, err)
	}
	got, err := admin.GetSchemaBundle(ctx, "t", "b")
	if err != nil || !bytes.Equal(got.SchemaBundle, first) || got.Etag == "" {
		t.Errorf("the bundle is %.50v, %v", got, err)
	}
	r.must(r.updateBundle(second, got.Etag, false))
	r.wantCode(r.updateBundle(second, got.Etag, false), codes.Aborted, "has changed")
	if got, err = admin.GetSchemaBundle(ctx, "t", "b"); err != nil || !bytes.Equal(got.SchemaBundle, second) {
		t.Errorf("after an update: %.50v, %v", got, err)
	}

	r.must(r.createBundle("t", "a-2", music(t)))
	tables := r.tableAdmin()
	page, err := tables.ListSchemaBundles(ctx, &adminpb.ListSchemaBundlesRequest{Parent: tableT, PageSize: 1})
	if err != nil || len(page.GetSchemaBundles()) != 1 || page.GetSchemaBundles()[0].GetName() != tableT+"/schemaBundles/a-2" {
		t.Errorf("the first page is %v, %v", page, err)
	}
	page, err = tables.ListSchemaBundles(ctx, &adminpb.ListSchemaBundlesRequest{Parent: tableT, PageSize: 1, PageToken: page.GetNextPageToken()})
	if err != nil || len(page.GetSchemaBundles()) != 1 || page.GetSchemaBundles()[0].GetName() != bundleB || page.GetNextPageToken() != "" {
		t.Errorf("the second page is %v, %v", page, err)
	}

	_, err = tables.SetIamPolicy(ctx, &iampb.SetIamPolicyRequest{Resource: bundleB, Policy: &iampb.Policy{Version: 1}})
	r.must(err)
	if p, err := tables.GetIamPolicy(ctx, &iampb.GetIamPolicyRequest{Resource: bundleB}); err != nil || p.GetVersion() != 1 {
		t.Errorf("the policy is %v, %v", p, err)
	}
	_, err = tables.DeleteSchemaBundle(ctx, &adminpb.DeleteSchemaBundleRequest{Name: bundleB, Etag: "other"})
	r.wantCode(err, codes.Aborted)
	r.must(admin.DeleteSchemaBundle(ctx, "t", "b"))
	r.wantCode(admin.DeleteSchemaBundle(ctx, "t", "b"), codes.NotFound)
	_, err = admin.GetSchemaBundle(ctx, "t", "b")
	r.wantCode(err, codes.NotFound, bundleB)
}

func TestSchemaBundlesThatAreRefused(t *testing.T) {
	r := newRig(t)
	r.table("t", "f")
	set := music(t)
	for id, reason := range map[string]string{"a.b": "is not ^", "-a": "is not ^", strings.Repeat("a", 51): "is not ^", "a/b": "is not ^"} {
		r.wantCode(r.createBundle("t", id, set), codes.InvalidArgument, reason)
	}
	r.wantCode(r.createBundle("none", "b", set), codes.NotFound)
	r.wantCode(r.createBundle("t", "b", nil), codes.InvalidArgument, "no proto_schema")
	r.wantCode(r.createBundle("t", "b", []byte("x")), codes.InvalidArgument, "not an encoded FileDescriptorSet")
	r.wantCode(r.createBundle("t", "b", music(t, `dependency: "label.proto"`, `dependency: "other.proto"`)), codes.InvalidArgument, `imports "other.proto"`)
	r.wantCode(r.createBundle("t", "b", make([]byte, 4<<20+1)), codes.InvalidArgument, "it may have up to 4194304")

	large := &descriptorpb.FileDescriptorSet{File: []*descriptorpb.FileDescriptorProto{{Name: proto.String("a"), EnumType: []*descriptorpb.EnumDescriptorProto{{
		Name: proto.String("E"), Value: []*descriptorpb.EnumValueDescriptorProto{{Name: proto.String(strings.Repeat("x", 3<<20)), Number: proto.Int32(0)}},
	}}}}}
	b, err := proto.Marshal(large)
	r.must(err)
	r.must(r.createBundle("t", "large", b))
	r.wantCode(r.createBundle("t", "larger", b), codes.FailedPrecondition, "together; they may have up to 4194304")
	for _, id := range strings.Fields("1 2 3 4 5 6 7 8 9") {
		r.must(r.createBundle("t", id, set))
	}
	r.wantCode(r.createBundle("t", "10", set), codes.FailedPrecondition, "has 10 schema bundles")

	r.must(r.admin().DeleteSchemaBundle(r.ctx(), "t", "large"))
	r.must(r.createBundle("t", "b", set))
	r.wantCode(r.updateBundle(music(t, `name: "tags" number: 5`, `name: "tags" number: 20`), "", false), codes.FailedPrecondition, "field music.Album.tags, number 5, is removed; ignore_warnings")
	r.must(r.updateBundle(music(t, `name: "tags" number: 5`, `name: "tags" number: 20`), "", true))
	r.wantCode(r.updateBundle([]byte("x"), "", true), codes.InvalidArgument)
	_, err = r.tableAdmin().UpdateSchemaBundle(r.ctx(), &adminpb.UpdateSchemaBundleRequest{
		SchemaBundle: &adminpb.SchemaBundle{Name: bundleB, Type: &adminpb.SchemaBundle_ProtoSchema{ProtoSchema: &adminpb.ProtoSchema{ProtoDescriptors: set}}},
		UpdateMask:   &fieldmaskpb.FieldMask{Paths: []string{"name"}},
	})
	r.wantCode(err, codes.InvalidArgument, `"name" cannot be updated`)
}

// The columns of a result have the types of messages and enums, as in Bigtable's own test
// of the Java client. Bigtable's Go client does not know these types, so it is asked for
// fields of them.
func TestQueriesOfMessages(t *testing.T) {
	r := newRig(t)
	tab := r.table("t", "f")
	r.must(r.createBundle("t", "9a-b", music(t)))
	r.set(tab, "r1", "f:a="+album("Lover", 19))
	r.set(tab, "r2", "f:a="+album("Debut", 6))

	const text = "SELECT CAST(f['a'] AS `9a-b.music.Album`) AS protoCol, CAST('JAZZ' AS `9a-b.music.Genre`) AS enumCol FROM t WHERE _key = 'r1'"
	data := bigtablepb.NewBigtableClient(r.conn)
	prepared, err := data.PrepareQuery(r.ctx(), &bigtablepb.PrepareQueryRequest{InstanceName: parent, Query: text, DataFormat: &bigtablepb.PrepareQueryRequest_ProtoFormat{ProtoFormat: &bigtablepb.ProtoFormat{}}})
	r.must(err)
	wantTypes := []*bigtablepb.Type{
		{Kind: &bigtablepb.Type_ProtoType{ProtoType: &bigtablepb.Type_Proto{SchemaBundleId: "9a-b", MessageName: "music.Album"}}},
		{Kind: &bigtablepb.Type_EnumType{EnumType: &bigtablepb.Type_Enum{SchemaBundleId: "9a-b", EnumName: "music.Genre"}}},
	}
	for i, c := range prepared.GetMetadata().GetProtoSchema().GetColumns() {
		if !proto.Equal(c.GetType(), wantTypes[i]) {
			t.Errorf("column %s is %v, want %v", c.GetName(), c.GetType(), wantTypes[i])
		}
	}
	stream, err := data.ExecuteQuery(r.ctx(), &bigtablepb.ExecuteQueryRequest{InstanceName: parent, PreparedQuery: prepared.GetPreparedQuery()})
	r.must(err)
	rows := &bigtablepb.ProtoRows{}
	for {
		m, err := stream.Recv()
		if err == io.EOF {
			break
		}
		r.must(err)
		r.must(proto.UnmarshalOptions{Merge: true}.Unmarshal(m.GetResults().GetProtoRowsBatch().GetBatchData(), rows))
	}
	if v := rows.GetValues(); len(v) != 2 || string(v[0].GetBytesValue()) != album("Lover", 19) || v[1].GetIntValue() != 1 {
		t.Errorf("the row is %v", v)
	}

	c := r.client()
	r.wantQuery(c, "SELECT CAST(f['a'] AS `9a-b`.music.Album).title, CAST(f['a'] AS `9a-b`.music.Album).release_year FROM t WHERE CAST(f['a'] AS `9a-b.music.Album`).release_year > 10", "Lover 19")
	r.wantQuery(c, "SELECT AVG(CAST(f['a'] AS `9a-b`.music.Album).release_year) FROM t", "12.5")
	got, err := r.query(c, "SELECT _key FROM t WHERE CAST(f['a'] AS `9a-b`.music.Album).genre = @g", map[string]bigtable.SQLType{"g": bigtable.StringSQLType{}}, map[string]any{"g": "POP"})
	if got != "r1\nr2" || err != nil {
		t.Errorf("with a parameter: %q, %v", got, err)
	}
	_, err = r.query(c, "SELECT _key FROM t WHERE CAST(f['a'] AS `9a-b`.music.Album).genre = @g", map[string]bigtable.SQLType{"g": bigtable.StringSQLType{}}, map[string]any{"g": "POLKA"})
	r.wantCode(err, codes.InvalidArgument, "POP, JAZZ, FOLK")
}

// What views read of a bundle stays: a view equals its query after every change.
func TestViewsReadMessages(t *testing.T) {
	r := newRig(t)
	tab := r.table("t", "f")
	r.must(r.createBundle("t", "b", music(t)))
	r.set(tab, "r1", "f:a="+album("Lover", 19)+"\x20\x03") // a genre that the bundle does not know
	r.set(tab, "r2", "f:a="+album("Debut", 6))
	r.must(r.logical("albums", "SELECT _key AS k, CAST(f['a'] AS b.music.Album).* FROM t"))
	r.must(r.materialize("genres", "SELECT CAST(CAST(f['a'] AS b.music.Album).genre AS STRING) AS genre, COUNT(*) AS n FROM t GROUP BY genre"))
	c := r.client()
	r.wantQuery(c, "SELECT k, title, CAST(genre AS STRING) AS genre FROM albums", "r1 Lover 3\nr2 Debut POP")
	r.wantQuery(c, "SELECT genre, n FROM genres", "3 1\nPOP 1")

	r.wantCode(r.admin().DeleteSchemaBundle(r.ctx(), "t", "b"), codes.FailedPrecondition, "is read by the view", "/logicalViews/albums")
	r.wantCode(r.updateBundle(music(t, `name: "title" number: 1 label: LABEL_OPTIONAL type: TYPE_STRING }
    field { name: "artist"`, `name: "artist"`), "", true), codes.FailedPrecondition, "cannot be forced")
	r.must(r.updateBundle(music(t, `value { name: "FOLK" number: 2 }`, `value { name: "FOLK" number: 2 } value { name: "SOUL" number: 3 }`), "", false))
	r.wantQuery(c, "SELECT k, CAST(genre AS STRING) AS genre FROM albums", "r1 SOUL\nr2 POP")
	r.wantQuery(c, "SELECT genre, n FROM genres", "POP 1\nSOUL 1")
	r.set(tab, "r3", "f:a="+album("Red", 12))
	r.wantQuery(c, "SELECT genre, n FROM genres", "POP 2\nSOUL 1")

	r.must(r.instanceAdmin().DeleteLogicalView(r.ctx(), instance, "albums"))
	r.wantCode(r.admin().DeleteSchemaBundle(r.ctx(), "t", "b"), codes.FailedPrecondition, "/materializedViews/genres")
	r.must(r.instanceAdmin().DeleteMaterializedView(r.ctx(), instance, "genres"))
	r.must(r.admin().DeleteSchemaBundle(r.ctx(), "t", "b"))
	_, err := r.query(c, "SELECT CAST(f['a'] AS b.music.Album).title FROM t", nil, nil)
	r.wantCode(err, codes.InvalidArgument, "table t has no schema bundle b")
}

// Bundles live as long as their tables: a restart and a backup keep them, and a deleted
// table takes them along.
func TestSchemaBundlesGoWithTheirTables(t *testing.T) {
	r := newBackupRig(t, server.Options{Instance: parent})
	tab := r.table("t", "f")
	r.must(r.createBundle("t", "b", music(t)))
	r.set(tab, "r1", "f:a="+album("Lover", 19))
	r.backup("t", "k")
	_, err := r.restore("k", "again")
	r.must(err)
	r.wantQuery(r.client(), "SELECT CAST(f['a'] AS b.music.Album).title FROM again", "Lover")

	r.must(r.rig.admin().DeleteTable(r.ctx(), "t"))
	r.table("t", "f")
	if names, err := r.rig.admin().SchemaBundles(r.ctx(), "t"); err != nil || len(names) > 0 {
		t.Errorf("a new table has the bundles %v, %v", names, err)
	}
	_, err = r.query(r.client(), "SELECT CAST(f['a'] AS b.music.Album).title FROM t", nil, nil)
	r.wantCode(err, codes.InvalidArgument, "no schema bundle b")
}

func TestSchemaBundlesAfterARestart(t *testing.T) {
	dir := t.TempDir()
	for i := range 2 {
		db, err := query.Open(dir, query.Options{})
		if err != nil {
			t.Fatal(err)
		}
		r := serve(t, db, server.Options{})
		if i == 0 {
			tab := r.table("t", "f")
			r.must(r.createBundle("t", "b", music(t)))
			r.set(tab, "r1", "f:a="+album("Lover", 19))
		}
		r.wantQuery(r.client(), "SELECT CAST(f['a'] AS b.music.Album).title FROM t", "Lover")
		r.stop()
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// A reset of a server for tests removes bundles, also those of tables that it makes again.
func TestAResetRemovesSchemaBundles(t *testing.T) {
	s := server.NewTest(t, fleetTable())
	admin, err := bigtable.NewAdminClient(t.Context(), s.Project, s.Instance, option.WithGRPCConn(s.Conn))
	if err != nil {
		t.Fatal(err)
	}
	const table = "fleet"
	if err := admin.CreateSchemaBundle(t.Context(), &bigtable.SchemaBundleConf{TableID: table, SchemaBundleID: "b", ProtoSchema: &bigtable.ProtoSchemaInfo{ProtoDescriptors: music(t)}}); err != nil {
		t.Fatal(err)
	}
	if err := s.Reset(t.Context()); err != nil {
		t.Fatal(err)
	}
	if names, err := admin.SchemaBundles(t.Context(), table); err != nil || len(names) > 0 {
		t.Errorf("after a reset: %v, %v", names, err)
	}
}

// The shell's client shows a message as its bytes, and an enum as its number.
func TestTheShellsQueriesOfMessages(t *testing.T) {
	r := newRig(t)
	tab := r.table("t", "f")
	r.must(r.createBundle("t", "b", music(t)))
	r.set(tab, "r1", "f:a="+album("Lover", 19)+"\x20\x02")
	res, err := r.dialled().Query(r.ctx(), "select cast(f['a'] as b.music.Album) as m, cast(f['a'] as b.music.Album).genre as g, cast(f['a'] as b.music.Album).title as t from t")
	r.must(err)
	if got, want := fmt.Sprint(res.Columns[0].Type, " ", res.Columns[1].Type), "PROTO<b.music.Album> ENUM<b.music.Genre>"; got != want {
		t.Errorf("the columns are %s, want %s", got, want)
	}
	if got, want := r.valuesOf(res), fmt.Sprintf("%#v\n", []any{[]byte(album("Lover", 19) + "\x20\x02"), int64(2), "Lover"}); got != want {
		t.Errorf("the row is %s, want %s", got, want)
	}
}

func TestRightsToSchemaBundles(t *testing.T) {
	r, tokens := guarded(t)
	reader := newToken(t, tokens, "reader", time.Time{}, grant(server.Read, "mine"))
	owner := newToken(t, tokens, "owner", time.Time{}, grant(server.Admin, "mine"))
	admin := r.tableAdmin()
	create := func(secret, table string) error {
		_, err := admin.CreateSchemaBundle(r.with(secret), &adminpb.CreateSchemaBundleRequest{Parent: parent + "/tables/" + table, SchemaBundleId: "b",
			SchemaBundle: &adminpb.SchemaBundle{Type: &adminpb.SchemaBundle_ProtoSchema{ProtoSchema: &adminpb.ProtoSchema{ProtoDescriptors: music(t)}}}})
		return err
	}
	get := func(secret, table string) error {
		_, err := admin.GetSchemaBundle(r.with(secret), &adminpb.GetSchemaBundleRequest{Name: parent + "/tables/" + table + "/schemaBundles/b"})
		return err
	}
	remove := func(secret, table string) error {
		_, err := admin.DeleteSchemaBundle(r.with(secret), &adminpb.DeleteSchemaBundleRequest{Name: parent + "/tables/" + table + "/schemaBundles/b"})
		return err
	}
	r.wantCode(create(reader, "mine"), codes.PermissionDenied)
	r.wantCode(create(owner, "other"), codes.PermissionDenied)
	r.must(create(owner, "mine"))
	r.must(get(reader, "mine"))
	r.wantCode(get(reader, "other"), codes.PermissionDenied)
	r.wantCode(remove(reader, "mine"), codes.PermissionDenied)
	r.must(remove(owner, "mine"))
}
