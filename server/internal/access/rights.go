// Package access decides who may make a call: it keeps the tokens of a database
// and their rights, knows what each method needs, and judges a call by both.
package access

import "strings"

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

// A Resource is what a call is about, as a prefix of the names of tables in the
// database: one table, or all of an instance, or of the database.
type Resource struct {
	Name  string
	Exact bool   // a table of this name
	Asked string // what the client named, when saying more would tell what there is
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
