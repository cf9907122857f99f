// Package access decides which calls a client may make: it keeps the tokens of a
// database and their rights, knows the right that each method needs, and compares
// the two.
package access

import "strings"

// A Right is what the holder of a token may do with a table. Each includes those
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

// A need is the right that a call requires of its token.
type need uint8

const (
	needUnknown need = iota // of a method that is not in the list: no client may call it
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

// needs are those of every method of every service. Methods that are not served are
// listed too, so that they have a need once they are served.
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
	// A session carries calls of its own, which are not inspected here.
	add(data, needAdmin, "OpenTable OpenAuthorizedView OpenMaterializedView")

	// These list the tables that the token may read.
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

// A Resource is the object of a call, as a prefix of the names of tables in the
// database: one table, or all of an instance, or of the database.
type Resource struct {
	Name  string
	Exact bool   // a table of this name
	Asked string // the name in the request, when more detail would show which tables exist
}

// String says what a resource is.
func (r Resource) String() string {
	switch {
	case r.Asked != "":
		return r.Asked
	case r.Exact:
		return "table " + r.Name
	case r.Name != "":
		return "all tables " + r.Name + "*"
	}
	return "all tables"
}
