package server_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"
	"cloud.google.com/go/bigtable/admin/apiv2/adminpb"
	"google.golang.org/grpc/codes"

	"github.com/smolwc/smolwc/cf/cftest"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/server"
)

// ofOthers is a store that stays open when one of its processes closes it.
type ofOthers struct{ *cftest.Memory }

func (ofOthers) EndWaits()    {}
func (ofOthers) Close() error { return nil }

// Clients see no difference between the servers of one database.
func TestTwoServersOfOneDatabase(t *testing.T) {
	store := cftest.NewMemory()
	var rigs []*rig
	late := func() time.Time { return time.Now().Add(-time.Hour) }
	for _, clock := range []func() time.Time{nil, late} {
		db, err := query.OpenStore(context.Background(), ofOthers{store}, query.Options{Clock: clock})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { db.Close() })
		rigs = append(rigs, serve(t, db, server.Options{}))
	}
	a, b := rigs[0], rigs[1]
	for i := range 3 { // the servers take turns
		a, b = b, a
		name := string(rune('a' + i))
		a.must(a.admin().CreateTableFromConf(a.ctx(), &bigtable.TableConf{
			TableID: name, ColumnFamilies: map[string]bigtable.Family{"f": {}}, DeletionProtection: bigtable.Protected,
		}))
		var m *bigtable.Mutation
		for _, writer := range []*rig{a, b, a, b} {
			m = bigtable.NewMutation()
			m.Set("f", "q", bigtable.ServerTime, []byte(writer.addr))
			b.must(writer.client().Open(name).Apply(b.ctx(), "r", m))
			row, err := a.client().Open(name).ReadRow(a.ctx(), "r", bigtable.RowFilter(bigtable.LatestNFilter(1)))
			a.must(err)
			if len(row["f"]) != 1 || string(row["f"][0].Value) != writer.addr {
				t.Errorf("row %v after a write to %s", row, writer.addr)
			}
		}
		refused(t, "delete of a protected table", b.admin().DeleteTable(b.ctx(), name), codes.FailedPrecondition, "protected")
		b.must(b.admin().UpdateTableWithDeletionProtection(b.ctx(), name, bigtable.Unprotected))

		a.must(a.admin().CreateColumnFamily(a.ctx(), name, "g"))
		m = bigtable.NewMutation()
		m.Set("g", "q", bigtable.Now(), []byte("v"))
		b.must(b.client().Open(name).Apply(b.ctx(), "r", m))
		info, err := b.admin().TableInfo(b.ctx(), name)
		b.must(err)
		if len(info.Families) != 2 {
			t.Errorf("families %v", info.Families)
		}
		a.must(a.admin().DeleteTable(a.ctx(), name))
		refused(t, "write to a deleted table", b.client().Open(name).Apply(b.ctx(), "r", m), codes.NotFound, "not found")
		tables, err := b.admin().Tables(b.ctx())
		b.must(err)
		if len(tables) != 0 {
			t.Errorf("tables %v", tables)
		}
	}
	profile := bigtable.ProfileConf{InstanceID: instance, ProfileID: "reports", RoutingConfig: &bigtable.SingleClusterRoutingConfig{ClusterID: "local"}}
	_, err := a.instanceAdmin().CreateAppProfile(a.ctx(), profile)
	a.must(err)
	_, err = b.instanceAdmin().GetAppProfile(b.ctx(), instance, "reports")
	b.must(err)
}

// A shared store has no files that a backup could keep: a policy of automated backups is
// refused, and not taken without effect. A table that opts out of them needs no files.
func TestPoliciesOnASharedStore(t *testing.T) {
	db, err := query.OpenStore(context.Background(), cftest.NewMemory(), query.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	r := serve(t, db, server.Options{})
	policy := bigtable.TableAutomatedBackupPolicy{RetentionPeriod: 3 * day, Frequency: day}
	refused(t, "create", r.admin().CreateTableFromConf(r.ctx(), &bigtable.TableConf{TableID: "t", AutomatedBackupConfig: &policy}), codes.FailedPrecondition, "br for TiKV")
	r.must(r.admin().CreateTable(r.ctx(), "t"))
	refused(t, "update", r.admin().UpdateTableWithAutomatedBackupPolicy(r.ctx(), "t", policy), codes.FailedPrecondition, "br for TiKV")
	r.must(r.admin().UpdateTableWithAutomatedBackupPolicy(r.ctx(), "t", bigtable.TableAutomatedBackupPolicy{Disabled: true}))
}

// The tokens of a database without a directory are in its notes. Each server sees what
// another process makes and revokes, and once there was a token, each client needs one.
func TestTokensInTheCatalog(t *testing.T) {
	store := cftest.NewMemory()
	open := func() *query.DB {
		db, err := query.OpenStore(context.Background(), ofOthers{store}, query.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { db.Close() })
		return db
	}
	db := open()
	a, b := server.TokensIn(open()), server.TokensIn(open())
	if list, exists, err := a.List(); list != nil || exists || err != nil {
		t.Fatalf("before the first token: %v, %t, %v", list, exists, err)
	}
	r := serve(t, db, server.Options{Tokens: server.TokensIn(db)})
	list := func(secret string) error {
		_, err := adminpb.NewBigtableTableAdminClient(r.conn).ListTables(r.with(secret), &adminpb.ListTablesRequest{Parent: parent})
		return err
	}
	r.must(r.ping(r.ctx()))
	one := newToken(t, a, "one", time.Time{}, grant(server.Admin, "*"))
	two := newToken(t, b, "two", time.Now().Add(time.Hour), grant(server.Read, "fleet"))
	for list(one) != nil || list(two) != nil || list("") == nil {
		time.Sleep(10 * time.Millisecond)
	}
	refused(t, "a call without a token", r.ping(r.ctx()), codes.Unauthenticated, "requires a token")
	if _, err := b.Create("one", []server.Grant{grant(server.Read, "*")}, time.Time{}); err == nil || !strings.Contains(err.Error(), `there is a token "one" already`) {
		t.Errorf("a second token of one name: %v", err)
	}
	r.must(b.Revoke("one"))
	r.must(a.Revoke("two"))
	for list(one) == nil || list(two) == nil {
		time.Sleep(10 * time.Millisecond)
	}
	refused(t, "a revoked token", list(one), codes.Unauthenticated, "revoked")
	if list, exists, err := a.List(); len(list) > 0 || !exists || err != nil {
		t.Errorf("after the last token: %v, %t, %v", list, exists, err)
	}
	refused(t, "a call without a token", r.ping(r.ctx()), codes.Unauthenticated, "requires a token")
	r.must(db.Plumbing().SetNote(t.Context(), "tokens", []byte(`{"version":2}`)))
	if _, _, err := a.List(); err == nil || !strings.Contains(err.Error(), "has version 2") {
		t.Errorf("tokens of a later version: %v", err)
	}
}
