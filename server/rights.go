package server

import (
	"strings"

	"cloud.google.com/go/bigtable/admin/apiv2/adminpb"
	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/smolwc/smolwc/server/smolwcpb"
	"github.com/smolwc/smolwc/server/sql"
)

// A Right is what the holder of a token may do with a table. Each includes those
// before it.
type Right uint8

// The rights.
const (
	NoRight Right = iota
	Read          // rows, and what the table is declared as
	Write         // rows
	Admin         // the table itself
)

// String is "read", "write" or "admin".
func (r Right) String() string {
	return [...]string{"no right", "read", "write", "admin"}[min(r, Admin)]
}

// A need is what a call asks of a token.
type need uint8

const (
	needUnknown need = iota // of a method that is not in the list: nobody may call it
	needNothing             // not even a token
	needToken               // any that is valid
	needRead
	needWrite
	needAdmin
)

func (n need) right() Right {
	switch n {
	case needRead:
		return Read
	case needWrite:
		return Write
	case needAdmin:
		return Admin
	}
	return NoRight
}

// needs are those of every method of every service. What is not served has its
// need too, so that it has one on the day when it is.
var needs = methodNeeds()

func methodNeeds() map[string]need {
	all := map[string]need{}
	add := func(service string, n need, methods string) {
		for _, m := range strings.Fields(methods) {
			all["/"+service+"/"+m] = n
		}
	}
	const (
		data     = "google.bigtable.v2.Bigtable"
		tables   = "google.bigtable.admin.v2.BigtableTableAdmin"
		instance = "google.bigtable.admin.v2.BigtableInstanceAdmin"
		ops      = "google.longrunning.Operations"
		database = "smolwc.admin.v1.DatabaseAdmin"
	)
	add(data, needRead, "ReadRows SampleRowKeys GenerateInitialChangeStreamPartitions ReadChangeStream PrepareQuery ExecuteQuery")
	add(data, needWrite, "MutateRow MutateRows CheckAndMutateRow ReadModifyWriteRow")
	add(data, needToken, "PingAndWarm GetClientConfiguration")
	// A session carries calls of its own, which nobody looks into here.
	add(data, needAdmin, "OpenTable OpenAuthorizedView OpenMaterializedView")

	// These list what the token may read.
	add(tables, needToken, "ListTables ListBackups")
	add(tables, needRead, `GetTable GenerateConsistencyToken CheckConsistency GetIamPolicy TestIamPermissions
		GetAuthorizedView ListAuthorizedViews GetSnapshot ListSnapshots GetBackup GetSchemaBundle ListSchemaBundles`)
	add(tables, needAdmin, `CreateTable CreateTableFromSnapshot UpdateTable DeleteTable UndeleteTable ModifyColumnFamilies DropRowRange
		SetIamPolicy CreateAuthorizedView UpdateAuthorizedView DeleteAuthorizedView SnapshotTable DeleteSnapshot
		CreateBackup UpdateBackup DeleteBackup RestoreTable CopyBackup CreateSchemaBundle UpdateSchemaBundle DeleteSchemaBundle`)

	add(instance, needRead, `GetInstance ListInstances GetCluster ListClusters GetAppProfile ListAppProfiles GetIamPolicy TestIamPermissions
		ListHotTablets GetMemoryLayer ListMemoryLayers GetLogicalView ListLogicalViews GetMaterializedView ListMaterializedViews`)
	add(instance, needAdmin, `CreateInstance UpdateInstance PartialUpdateInstance DeleteInstance CreateCluster UpdateCluster
		PartialUpdateCluster DeleteCluster UpdateMemoryLayer CreateAppProfile UpdateAppProfile DeleteAppProfile SetIamPolicy
		CreateLogicalView UpdateLogicalView DeleteLogicalView CreateMaterializedView UpdateMaterializedView DeleteMaterializedView`)

	add(ops, needRead, "ListOperations GetOperation WaitOperation")
	add(ops, needAdmin, "DeleteOperation CancelOperation")

	add(database, needAdmin, "BackUp ListBackups VerifyBackups Checkpoint")

	add("grpc.health.v1.Health", needNothing, "Check Watch List")
	add("grpc.reflection.v1.ServerReflection", needToken, "ServerReflectionInfo")
	add("grpc.reflection.v1alpha.ServerReflection", needToken, "ServerReflectionInfo")
	return all
}

// A resource is what a call is about, as a prefix of the names of tables in the
// database: one table, or all of an instance, or of the database.
type resource struct {
	name  string
	exact bool   // a table of this name
	asked string // what the client named, when saying more would tell what there is
}

// String says what a resource is.
func (r resource) String() string {
	switch {
	case r.asked != "":
		return r.asked
	case r.exact:
		return "table " + r.name
	case r.name != "":
		return "all tables " + r.name + "*"
	}
	return "all tables"
}

// everything is the resource of a call that does not say what it is about.
var everything = []resource{{}}

// resources are those that a request names. It looks into the requests of the
// data API for their table alone, which every call does, and into others for
// every name that there is, so that none is overlooked.
func (s *Server) resources(req any) []resource {
	switch m := req.(type) {
	case *smolwcpb.BackUpRequest, *smolwcpb.ListBackupsRequest, *smolwcpb.VerifyBackupsRequest, *smolwcpb.CheckpointRequest:
		return everything // whatever their targets look like
	case dataRequest:
		view, _ := req.(interface{ GetMaterializedViewName() string })
		if name := m.GetTableName(); name != "" && m.GetAuthorizedViewName() == "" && (view == nil || view.GetMaterializedViewName() == "") {
			return []resource{s.resourceNamed(name)}
		}
	case *bigtablepb.PrepareQueryRequest:
		return s.queried(m)
	case *bigtablepb.ExecuteQueryRequest:
		prepared, _, err := preparedQuery(m)
		if err != nil {
			return nil // nor is anything read
		}
		return s.queried(prepared)
	case *adminpb.CreateBackupRequest: // it is of its table, in whatever cluster
		if name := m.GetBackup().GetSourceTable(); name != "" {
			return s.namesIn(m.ProtoReflect(), nil, 1, "parent")
		}
	case interface {
		GetParent() string
		GetTableId() string
	}: // the table is yet to be made
		if in, err := parseInstance(m.GetParent()); err == nil && m.GetTableId() != "" {
			found := s.namesIn(req.(proto.Message).ProtoReflect(), nil, 1, "parent")
			return append(found, resource{name: s.tableIn(in, m.GetTableId()).stored, exact: true})
		}
	}
	m, ok := req.(proto.Message)
	if !ok {
		return everything
	}
	if found := s.namesIn(m.ProtoReflect(), nil, 1, ""); len(found) > 0 {
		return found
	}
	return everything
}

// queried is the table of a query. One that has none is about nothing; so is one
// that is not understood, so that its author learns what is wrong with it.
func (s *Server) queried(req *bigtablepb.PrepareQueryRequest) []resource {
	in, err := parseInstance(req.GetInstanceName())
	if err != nil {
		return nil
	}
	q, err := sql.Parse(req.GetQuery())
	if err != nil || q.Table() == "" {
		return nil
	}
	return []resource{{name: s.tableIn(in, q.Table()).stored, exact: true}}
}

// namesIn are the names of resources in a message and, so many levels deep, in
// those inside it, but for one field.
func (s *Server) namesIn(m protoreflect.Message, found []resource, levels int, except protoreflect.Name) []resource {
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case f.Name() == except || f.IsList() || f.IsMap():
		case f.Kind() == protoreflect.StringKind:
			name := strings.TrimPrefix(v.String(), "operations/")
			if strings.HasPrefix(name, "projects/") {
				found = append(found, s.resourceNamed(name))
			}
		case f.Kind() == protoreflect.MessageKind && levels > 0:
			found = s.namesIn(v.Message(), found, levels-1, "")
		}
		return true
	})
	return found
}

// resourceNamed is what a full name means. A backup is the table that it is of.
// What is not in an instance concerns the whole database.
func (s *Server) resourceNamed(name string) resource {
	in, rest, ok := cutInstance(name)
	if !ok {
		return resource{}
	}
	if id, _, ok := cutSegment(rest, "tables"); ok {
		return resource{name: s.tableIn(in, id).stored, exact: true}
	}
	asked := ""
	if _, _, err := parseBackup(name); err == nil {
		asked = "backup " + name
		if t, ok := s.backupSource(name); ok {
			return resource{name: t.stored, exact: true, asked: asked}
		}
	}
	switch {
	case in == s.own, in.instance == "-" && in.project == s.own.project:
		return resource{asked: asked}
	case in.instance == "-": // all of the project
		return resource{name: in.project + "/", asked: asked}
	}
	return resource{name: in.prefix(), asked: asked}
}
