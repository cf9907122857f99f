package server_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
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
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/server"
	"github.com/smolwc/smolwc/server/internal/access"
)

// A method without an entry could never be called.
func TestEveryMethodHasItsNeed(t *testing.T) {
	db, err := query.OpenInMemory(query.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	s, err := server.New(db, server.Options{})
	if err != nil {
		t.Fatal(err)
	}
	g := grpc.NewServer(s.ServerOptions()...)
	s.Register(g)
	served := map[string]bool{}
	for service, info := range g.GetServiceInfo() {
		for _, m := range info.Methods {
			served["/"+service+"/"+m.Name] = true
		}
	}
	eachMethod(t, func(m protoreflect.MethodDescriptor) {
		served["/"+string(m.Parent().FullName())+"/"+string(m.Name())] = true
	})
	for method := range served {
		if !access.Known(method) {
			t.Errorf("%s is not in the list of what methods need", method)
		}
	}
	for _, method := range access.Methods() {
		if !served[method] {
			t.Errorf("there is no %s", method)
		}
	}
}

// guarded serves a database that has tables, and tokens.
func guarded(t *testing.T) (*rig, *server.Tokens) {
	t.Helper()
	tokens := server.OpenTokens(t.TempDir())
	return guardedBy(t, tokens), tokens
}

func guardedBy(t *testing.T, tokens *server.Tokens) *rig {
	t.Helper()
	db, err := query.OpenInMemory(query.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	r := serve(t, db, server.Options{Instance: parent, Tokens: tokens})
	r.table("mine", "f")
	r.table("other", "f")
	return r
}

func (r *rig) with(secret string) context.Context {
	return metadata.AppendToOutgoingContext(r.ctx(), "authorization", "Bearer "+secret)
}

func newToken(t *testing.T, tokens *server.Tokens, name string, expires time.Time, grants ...server.Grant) string {
	t.Helper()
	secret, err := tokens.Create(name, grants, expires)
	if err != nil {
		t.Fatal(err)
	}
	return secret
}

func grant(right server.Right, tables string) server.Grant {
	return server.Grant{Right: right, Tables: tables}
}

func TestTokensAndTheirRights(t *testing.T) {
	r, tokens := guarded(t)
	var never time.Time
	reader := newToken(t, tokens, "reader", never, grant(server.Read, "mine"))
	writer := newToken(t, tokens, "writer", never, grant(server.Write, "mine"))
	owner := newToken(t, tokens, "owner", never, grant(server.Admin, "mine"), grant(server.Admin, "made*"))
	tenant := newToken(t, tokens, "tenant", never, grant(server.Admin, "p/i/*"))
	operator := newToken(t, tokens, "operator", never, grant(server.Admin, "*"))
	expired := newToken(t, tokens, "expired", time.Now().Add(-time.Second), grant(server.Admin, "*"))

	data, tables, instances := bigtablepb.NewBigtableClient(r.conn), adminpb.NewBigtableTableAdminClient(r.conn), adminpb.NewBigtableInstanceAdminClient(r.conn)
	read := func(table string) func(context.Context) error {
		return func(ctx context.Context) error {
			stream, err := data.ReadRows(ctx, &bigtablepb.ReadRowsRequest{TableName: table})
			if err != nil {
				return err
			}
			for err == nil {
				_, err = stream.Recv()
			}
			if err.Error() == "EOF" {
				return nil
			}
			return err
		}
	}
	write := func(table string) func(context.Context) error {
		return func(ctx context.Context) error {
			_, err := data.MutateRow(ctx, &bigtablepb.MutateRowRequest{TableName: table, RowKey: []byte("k"), Mutations: []*bigtablepb.Mutation{
				{Mutation: &bigtablepb.Mutation_SetCell_{SetCell: &bigtablepb.Mutation_SetCell{FamilyName: "f", TimestampMicros: -1}}},
			}})
			return err
		}
	}
	create := func(in, id string) func(context.Context) error {
		return func(ctx context.Context) error {
			_, err := tables.CreateTable(ctx, &adminpb.CreateTableRequest{Parent: in, TableId: id, Table: &adminpb.Table{}})
			return err
		}
	}
	drop := func(table string) func(context.Context) error {
		return func(ctx context.Context) error {
			_, err := tables.DropRowRange(ctx, &adminpb.DropRowRangeRequest{Name: table, Target: &adminpb.DropRowRangeRequest_DeleteAllDataFromTable{DeleteAllDataFromTable: true}})
			return err
		}
	}
	restore := func(ctx context.Context) error { // into a table that the token may administer, from a backup that it may not
		_, err := tables.RestoreTable(ctx, &adminpb.RestoreTableRequest{Parent: parent, TableId: "made2", Source: &adminpb.RestoreTableRequest_Backup{Backup: parent + "/clusters/c/backups/b"}})
		return err
	}
	getInstance := func(ctx context.Context) error {
		_, err := instances.GetInstance(ctx, &adminpb.GetInstanceRequest{Name: parent})
		return err
	}
	listInstances := func(ctx context.Context) error {
		_, err := instances.ListInstances(ctx, &adminpb.ListInstancesRequest{Parent: "projects/p"})
		return err
	}
	const mine, other, theirs = parent + "/tables/mine", parent + "/tables/other", "projects/p/instances/i"
	const denied, ok = codes.PermissionDenied, codes.OK
	for _, c := range []struct {
		name   string
		secret string
		call   func(context.Context) error
		want   codes.Code
	}{
		{"reader reads", reader, read(mine), ok},
		{"reader reads another", reader, read(other), denied},
		{"reader reads mine of another instance", reader, read(theirs + "/tables/mine"), denied},
		{"reader writes", reader, write(mine), denied},
		{"reader drops", reader, drop(mine), denied},
		{"reader looks at the instance", reader, getInstance, denied},
		{"writer reads", writer, read(mine), ok},
		{"writer writes", writer, write(mine), ok},
		{"writer writes another", writer, write(other), denied},
		{"writer drops", writer, drop(mine), denied},
		{"owner drops", owner, drop(mine), ok},
		{"owner drops another", owner, drop(other), denied},
		{"owner creates", owner, create(parent, "made1"), ok},
		{"owner creates another", owner, create(parent, "more"), denied},
		{"owner restores", owner, restore, denied},
		{"tenant creates", tenant, create(theirs, "t"), ok},
		{"tenant creates elsewhere", tenant, create(parent, "t"), denied},
		{"tenant lists instances", tenant, listInstances, denied},
		{"operator reads", operator, read(other), ok},
		{"operator reads theirs", operator, read(theirs + "/tables/t"), ok},
		{"operator lists instances", operator, listInstances, ok},
		{"operator looks at the instance", operator, getInstance, ok},
		{"expired", expired, read(mine), codes.Unauthenticated},
		{"no secret", "", read(mine), codes.Unauthenticated},
		{"a wrong one", reader[:len(reader)-1] + "!", read(mine), codes.Unauthenticated},
	} {
		if got := status.Code(c.call(r.with(c.secret))); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
	list, err := tables.ListTables(r.with(owner), &adminpb.ListTablesRequest{Parent: parent})
	r.must(err)
	var names []string
	for _, m := range list.GetTables() {
		names = append(names, strings.TrimPrefix(m.GetName(), parent+"/tables/"))
	}
	if !slices.Equal(names, []string{"made1", "mine"}) {
		t.Errorf("the owner of mine and made* sees %v", names)
	}
}

func (r *rig) ping(ctx context.Context) error {
	_, err := bigtablepb.NewBigtableClient(r.conn).PingAndWarm(ctx, &bigtablepb.PingAndWarmRequest{Name: parent})
	return err
}

// Every call fails with a token without the needed right, and all calls but health
// checks fail without a token.
func TestEveryCallAsksForRights(t *testing.T) {
	r, tokens := guarded(t)
	secret := newToken(t, tokens, "stranger", time.Time{}, grant(server.Admin, "elsewhere"))
	r.must(r.ping(r.with(secret)))
	anyToken := map[protoreflect.Name]bool{"PingAndWarm": true, "GetClientConfiguration": true, "ListTables": true, "ListBackups": true, "ListCalls": true, "CancelCall": true, "GetHeat": true, "RunStatement": true}
	for _, filled := range []bool{false, true} {
		eachMethod(t, func(m protoreflect.MethodDescriptor) {
			req := dynamicpb.NewMessage(m.Input())
			if filled {
				fill(req, 6)
			}
			if code := status.Code(r.callIn(r.ctx(), m, req)); code != codes.Unauthenticated {
				t.Errorf("%s without a token: %v", m.FullName(), code)
			}
			code := status.Code(r.callIn(r.with(secret), m, req))
			if garbled := strings.HasSuffix(string(m.Name()), "Query") && code == codes.InvalidArgument; garbled { // it does not name a table
				return
			}
			if code != codes.PermissionDenied && code != codes.Unimplemented && !anyToken[m.Name()] {
				t.Errorf("%s with a token for elsewhere: %v", m.FullName(), code)
			}
		})
	}
	if _, err := grpc_health_v1.NewHealthClient(r.conn).Check(r.ctx(), &grpc_health_v1.HealthCheckRequest{}); err != nil {
		t.Errorf("health without a token: %v", err)
	}
}

func TestRevokedTokens(t *testing.T) {
	dir := t.TempDir()
	r, tokens := guardedBy(t, server.OpenTokens(dir)), server.OpenTokens(dir) // as another process would
	r.must(r.ping(r.ctx()))                                                   // no token is needed yet
	secret := newToken(t, tokens, "only", time.Time{}, grant(server.Read, "*"))
	for status.Code(r.ping(r.ctx())) != codes.Unauthenticated {
		time.Sleep(10 * time.Millisecond)
	}
	r.must(r.ping(r.with(secret)))
	r.must(tokens.Revoke("only"))
	for r.ping(r.with(secret)) == nil {
		time.Sleep(10 * time.Millisecond)
	}
	if code := status.Code(r.ping(r.ctx())); code != codes.Unauthenticated {
		t.Errorf("with its last token revoked the server is open: %v", code)
	}
	if err := tokens.Revoke("only"); err == nil {
		t.Error("a token was revoked twice")
	}
}

// The log names the token of each call, also one that has expired, and never its
// secret.
func TestTheLogNamesTokens(t *testing.T) {
	db, err := query.OpenInMemory(query.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	tokens, log := server.OpenTokens(t.TempDir()), new(logBuffer)
	r := serve(t, db, server.Options{Instance: parent, Tokens: tokens, Logger: slog.New(slog.NewTextHandler(log, nil))})
	defer r.stop()
	good := newToken(t, tokens, "dashboard", time.Time{}, grant(server.Read, "*"))
	late := newToken(t, tokens, "of-yesterday", time.Now().Add(-time.Hour), grant(server.Read, "*"))
	r.must(r.ping(r.with(good)))
	refused(t, "a token of yesterday", r.ping(r.with(late)), codes.Unauthenticated, "expired")
	r.until("two lines with names", func() bool {
		return strings.Contains(log.String(), "code=OK") && strings.Contains(log.String(), "token=dashboard") && strings.Contains(log.String(), "token=of-yesterday")
	})
	if text := log.String(); strings.Contains(text, good) || strings.Contains(text, late) {
		t.Errorf("the log has a secret: %s", text)
	}
}

// The file on disk does not allow access, and only its owner can read it.
func TestTokensAreHashedAtRest(t *testing.T) {
	dir := t.TempDir()
	tokens := server.OpenTokens(dir)
	secret := newToken(t, tokens, "a", time.Time{}, grant(server.Read, "*"))
	path := filepath.Join(dir, "tokens.json")
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	parts := strings.Split(secret, "_")
	if len(parts) != 3 || len(parts[2]) < 50 || strings.Contains(string(b), parts[2]) {
		t.Errorf("the secret %s is in the file:\n%s", secret, b)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file's mode is %v: %v", info.Mode(), err)
	}
	if _, err := tokens.Create("a", []server.Grant{grant(server.Read, "*")}, time.Time{}); err == nil {
		t.Error("two tokens have one name")
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 2 { // and the lock
		t.Errorf("the directory has %v", entries)
	}
}

// With a damaged file of tokens no client is admitted.
func TestDamagedTokensLetNobodyIn(t *testing.T) {
	for name, text := range map[string]string{
		"cut":         `{"version": 1, "tok`,
		"of later":    `{"version": 2, "tokens": []}`,
		"with more":   `{"version": 1, "tokens": [{"name": "a", "only_from": "10.0.0.1"}]}`,
		"wrong right": `{"version": 1, "tokens": [{"grants": [{"right": "all", "tables": "*"}]}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			if json.Valid([]byte(text)) == (name == "cut") {
				t.Fatal("the text is not as it should be")
			}
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "tokens.json"), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			db, err := query.OpenInMemory(query.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			r := serve(t, db, server.Options{Tokens: server.OpenTokens(dir)})
			defer r.stop()
			if code := status.Code(r.ping(r.ctx())); code != codes.Unauthenticated {
				t.Errorf("%v", code)
			}
		})
	}
}

func TestGrantsAreChecked(t *testing.T) {
	tokens := server.OpenTokens(t.TempDir())
	for _, tables := range []string{"", "a b", "p/*/t", "**", "-x"} {
		if _, err := tokens.Create("a", []server.Grant{grant(server.Read, tables)}, time.Time{}); err == nil {
			t.Errorf("a right to %q was given", tables)
		}
	}
	for i, tables := range []string{"fleet", "p/i/t", "p/i/*", "p/*", "fl*", "*"} {
		if _, err := tokens.Create(string(rune('a'+i)), []server.Grant{grant(server.Read, tables)}, time.Time{}); err != nil {
			t.Error(err)
		}
	}
}

// The official client shows a token as any client of gRPC does.
func TestOfficialClientWithToken(t *testing.T) {
	r, tokens := guarded(t)
	secret := newToken(t, tokens, "writer", time.Time{}, grant(server.Write, "mine"))
	tab := r.client().Open("mine")
	m := bigtable.NewMutation()
	m.Set("f", "q", 1000, []byte("v"))
	r.must(tab.Apply(r.with(secret), "k", m))
	row, err := tab.ReadRow(r.with(secret), "k")
	r.must(err)
	if len(row["f"]) != 1 {
		t.Errorf("row %v", row)
	}
	if _, err := tab.ReadRow(r.ctx(), "k"); status.Code(err) != codes.Unauthenticated {
		t.Errorf("without its token: %v", err)
	}
}
