package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"cloud.google.com/go/bigtable/admin/apiv2/adminpb"
	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/smolwc/smolwc/api/smolwcpb"
	"github.com/smolwc/smolwc/api/wire"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/server/internal/access"
	"github.com/smolwc/smolwc/server/internal/admin"
	"github.com/smolwc/smolwc/server/internal/catalog"
	"github.com/smolwc/smolwc/server/internal/data"
	"github.com/smolwc/smolwc/sql"
	"github.com/smolwc/smolwc/views"
)

// A names is a database as its clients name it.
type names struct {
	catalog *catalog.Catalog
	views   *views.Views
	admin   *admin.Admin
}

// open opens a database. The tables of the instance own have plain names in it.
func (n *names) open(ctx context.Context, db *query.DB, own wire.Instance, v *views.Views, l *slog.Logger) (err error) {
	if t := tableIn(db, own); t != "" {
		return fmt.Errorf("the database has the table %s, but tables of %s would have plain names; choose another instance for plain names", t, own)
	}
	if n.catalog, err = catalog.Open(ctx, db, own); err != nil {
		return err
	}
	n.views = v
	if err := n.views.Reload(ctx); err != nil {
		return err
	}
	n.admin, err = admin.New(ctx, n.catalog, n.views, l)
	return err
}

// tableIn is a table of a database with the name of one of an instance; "" without one.
func tableIn(db *query.DB, in wire.Instance) string {
	for _, t := range db.Schema().Tables {
		if strings.HasPrefix(t.Name, in.Prefix()) {
			return t.Name
		}
	}
	return ""
}

// everything is the resource of a call without a known resource.
var everything = []access.Resource{{}}

// resources returns the resources that a request names. In requests of the data API,
// which are the most frequent, it looks at the table alone; in others it looks at
// every name, so that it misses none.
func (n *names) resources(req any) []access.Resource {
	switch m := req.(type) {
	case *smolwcpb.BackUpRequest, *smolwcpb.ListBackupsRequest, *smolwcpb.VerifyBackupsRequest, *smolwcpb.CheckpointRequest,
		*smolwcpb.GetMomentsRequest, *smolwcpb.VerifyMomentsRequest, *smolwcpb.RestoreTableRequest, *smolwcpb.MergeBranchRequest,
		*smolwcpb.CopyRequest, *smolwcpb.LoadRequest, *smolwcpb.FollowRequest, *smolwcpb.ListReplicasRequest, *smolwcpb.SumsRequest, *smolwcpb.VerifyRequest:
		return everything // whatever their targets look like
	case *smolwcpb.RunStatementRequest:
		return nil // it checks the rights itself
	case *smolwcpb.ApplyBatchRequest:
		if found := n.batched(m); len(found) > 0 {
			return found
		}
		return everything
	case data.Request:
		view, _ := req.(interface{ GetMaterializedViewName() string })
		if name := m.GetTableName(); name != "" && m.GetAuthorizedViewName() == "" && (view == nil || view.GetMaterializedViewName() == "") {
			return []access.Resource{n.resourceNamed(name)}
		}
	case *bigtablepb.PrepareQueryRequest:
		return n.queried(m)
	case *bigtablepb.ExecuteQueryRequest:
		prepared, _, err := data.PreparedQuery(m)
		if err != nil {
			return nil // nothing is read either
		}
		return n.queried(prepared)
	case *adminpb.CreateBackupRequest: // it belongs to its table, in whatever cluster
		if name := m.GetBackup().GetSourceTable(); name != "" {
			return n.namesIn(m.ProtoReflect(), nil, 1, "parent")
		}
	case interface {
		GetParent() string
		GetTableId() string
	}: // the table does not exist yet
		if in, err := wire.ParseInstance(m.GetParent()); err == nil && m.GetTableId() != "" {
			found := n.namesIn(req.(proto.Message).ProtoReflect(), nil, 1, "parent")
			return append(found, access.Resource{Name: n.catalog.Own.Table(in, m.GetTableId()).Stored, Exact: true})
		}
	}
	m, ok := req.(proto.Message)
	if !ok {
		return everything
	}
	if found := n.namesIn(m.ProtoReflect(), nil, 1, ""); len(found) > 0 {
		return found
	}
	return everything
}

// tableOf is the table of a request that names one.
func (n *names) tableOf(req any) string {
	if all := n.resources(req); len(all) == 1 && all[0].Exact {
		return all[0].Name
	}
	return ""
}

// batched are the tables and views of a batch, each once.
func (n *names) batched(req *smolwcpb.ApplyBatchRequest) (found []access.Resource) {
	seen := map[string]bool{"": true}
	for _, e := range req.GetEntries() {
		for _, name := range []string{e.GetTableName(), e.GetAuthorizedViewName()} {
			if !seen[name] {
				seen[name] = true
				found = append(found, n.resourceNamed(name))
			}
		}
	}
	return found
}

// queried are the tables of a query, through views: a right to a table is one to its views. A query
// without a table needs no right, nor does one that does not parse: its author should see the
// syntax error.
func (n *names) queried(req *bigtablepb.PrepareQueryRequest) []access.Resource {
	in, err := wire.ParseInstance(req.GetInstanceName())
	if err != nil {
		return nil
	}
	q, err := sql.Parse(req.GetQuery())
	if err != nil {
		return nil
	}
	from, err := n.views.Resolve(context.Background(), in.String(), q)
	if _, fault := errors.AsType[*sql.Error](err); err != nil && !fault {
		return everything // which table it reads is not known
	}
	if err != nil {
		return nil
	}
	var found []access.Resource
	for _, stored := range from.Stored() {
		found = append(found, access.Resource{Name: stored, Exact: true})
	}
	return found
}

// namesIn adds the names of resources in a message, and in its inner messages down to
// a number of levels, to found. It passes over the field except.
func (n *names) namesIn(m protoreflect.Message, found []access.Resource, levels int, except protoreflect.Name) []access.Resource {
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case f.Name() == except || f.IsList() || f.IsMap():
		case f.Kind() == protoreflect.StringKind:
			name := strings.TrimPrefix(v.String(), "operations/")
			if strings.HasPrefix(name, "projects/") {
				found = append(found, n.resourceNamed(name))
			}
		case f.Kind() == protoreflect.MessageKind && levels > 0:
			found = n.namesIn(v.Message(), found, levels-1, "")
		}
		return true
	})
	return found
}

// resourceNamed is the resource of a full name. A backup belongs to its table. A
// name outside any instance concerns the whole database.
func (n *names) resourceNamed(name string) access.Resource {
	in, rest, ok := wire.CutInstance(name)
	if !ok {
		return access.Resource{}
	}
	if id, rest, ok := wire.CutSegment(rest, "tables"); ok {
		view, _, _ := wire.CutSegment(rest, "authorizedViews")
		return access.Resource{Name: n.catalog.Own.Table(in, id).Stored, View: view, Exact: true}
	}
	asked := ""
	if _, _, err := wire.ParseChild(name, "materializedViews", "a materialized view"); err == nil {
		asked = "materialized view " + name // its existence and its sources are not for everybody
		if t, ok := n.views.Source(name); ok {
			return access.Resource{Name: t.Stored, Exact: true, Asked: asked}
		}
	}
	if _, _, err := wire.ParseBackup(name); err == nil {
		asked = "backup " + name
		if t, ok := n.admin.BackupSource(name); ok {
			return access.Resource{Name: t.Stored, Exact: true, Asked: asked}
		}
	}
	switch {
	case in == n.catalog.Own, in.ID == "-" && in.Project == n.catalog.Own.Project:
		return access.Resource{Asked: asked}
	case in.ID == "-": // all of the project
		return access.Resource{Name: in.Project + "/", Asked: asked}
	}
	return access.Resource{Name: in.Prefix(), Asked: asked}
}
