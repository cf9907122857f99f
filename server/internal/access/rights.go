// Package access decides which calls a client may make: it keeps the tokens of a
// database and their rights, knows the right that each method needs, and compares
// the two.
package access

import "strings"

// A Right permits the holder of a token to use a table. Each includes those
// before it.
type Right uint8

// The rights.
const (
	NoRight Right = iota
	Read          // read rows and the table's declaration
	Write         // write rows
	Admin         // create, change and drop the table
)

// String is "read", "write" or "admin".
func (r Right) String() string {
	return [...]string{"no right", "read", "write", "admin"}[min(r, Admin)]
}

// needs are the rights that the methods of all services require; for NoRight, any valid
// token is enough. Methods that are not served are listed too, so that they have a need
// once they are served. No client may call a method that is not in the list.
var needs = methodNeeds()

// health is the service whose methods need no token.
const health = "grpc.health.v1.Health"

func methodNeeds() map[string]Right {
	all := map[string]Right{}
	add := func(service string, n Right, methods string) {
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
		activity = "smolwc.admin.v1.ServerActivity"
	)
	add(data, Read, "ReadRows SampleRowKeys GenerateInitialChangeStreamPartitions ReadChangeStream PrepareQuery ExecuteQuery")
	add(data, Write, "MutateRow MutateRows CheckAndMutateRow ReadModifyWriteRow")
	add(data, NoRight, "PingAndWarm GetClientConfiguration")
	// A session carries calls of its own, which are not inspected here.
	add(data, Admin, "OpenTable OpenAuthorizedView OpenMaterializedView")

	// These list the tables that the token may read.
	add(tables, NoRight, "ListTables ListBackups")
	add(tables, Read, `GetTable GenerateConsistencyToken CheckConsistency GetIamPolicy TestIamPermissions
		GetAuthorizedView ListAuthorizedViews GetSnapshot ListSnapshots GetBackup GetSchemaBundle ListSchemaBundles`)
	add(tables, Admin, `CreateTable CreateTableFromSnapshot UpdateTable DeleteTable UndeleteTable ModifyColumnFamilies DropRowRange
		SetIamPolicy CreateAuthorizedView UpdateAuthorizedView DeleteAuthorizedView SnapshotTable DeleteSnapshot
		CreateBackup UpdateBackup DeleteBackup RestoreTable CopyBackup CreateSchemaBundle UpdateSchemaBundle DeleteSchemaBundle`)

	add(instance, Read, `GetInstance ListInstances GetCluster ListClusters GetAppProfile ListAppProfiles GetIamPolicy TestIamPermissions
		ListHotTablets GetMemoryLayer ListMemoryLayers GetLogicalView ListLogicalViews GetMaterializedView ListMaterializedViews`)
	add(instance, Admin, `CreateInstance UpdateInstance PartialUpdateInstance DeleteInstance CreateCluster UpdateCluster
		PartialUpdateCluster DeleteCluster UpdateMemoryLayer CreateAppProfile UpdateAppProfile DeleteAppProfile SetIamPolicy
		CreateLogicalView UpdateLogicalView DeleteLogicalView CreateMaterializedView UpdateMaterializedView DeleteMaterializedView`)

	add(ops, Read, "ListOperations GetOperation WaitOperation")
	add(ops, Admin, "DeleteOperation CancelOperation")

	add(database, Admin, "BackUp ListBackups VerifyBackups Checkpoint GetMoments VerifyMoments RestoreTable MergeBranch")
	add("smolwc.v1.Batches", Write, "ApplyBatch")
	add("smolwc.admin.v1.Standbys", Admin, "Copy Load Follow ListReplicas Promote Switchover Fence Sums Verify")

	// These look at the token's rights by themselves.
	add(activity, NoRight, "ListCalls CancelCall GetHeat")
	add("smolwc.v1.Statements", NoRight, "RunStatement")

	add(health, NoRight, "Check Watch List")
	add("grpc.reflection.v1.ServerReflection", NoRight, "ServerReflectionInfo")
	add("grpc.reflection.v1alpha.ServerReflection", NoRight, "ServerReflectionInfo")
	return all
}

// A Resource is the object of a call, as a prefix of the names of tables in the
// database: one table, or all of an instance, or of the database.
type Resource struct {
	Name  string
	View  string // the authorized view of the table that is asked for
	Exact bool   // a table of this name
	Asked string // the name in the request, when more detail would show which tables exist
}

// String says what a resource is.
func (r Resource) String() string {
	switch {
	case r.Asked != "":
		return r.Asked
	case r.View != "":
		return "authorized view " + r.Name + viewMark + r.View
	case r.Exact:
		return "table " + r.Name
	case r.Name != "":
		return "all tables " + r.Name + "*"
	}
	return "all tables"
}
