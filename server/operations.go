package server

import (
	"slices"

	"cloud.google.com/go/bigtable/admin/apiv2/adminpb"
	"cloud.google.com/go/bigtable/apiv2/bigtablepb"

	"github.com/smolwc/smolwc/api/smolwcpb"
)

// An operation is a kind of work on rows, for the metrics of times: a method such as
// ReadRows reads one row or a whole table.
type operation uint8

const (
	otherOperation operation = iota // not about rows
	readOperation
	scanOperation
	queryOperation
	writeOperation
	deleteOperation
	operations
)

func (o operation) String() string {
	return [...]string{"other", "read", "scan", "query", "write", "delete"}[o]
}

// jsonOperations are the operations of the calls of the JSON API.
var jsonOperations = map[string]operation{
	"json.v1/ReadRows": readOperation, "json.v1/Scan": scanOperation, "json.v1/Count": scanOperation,
	"json.v1/Write": writeOperation, "json.v1/DeleteRow": deleteOperation,
}

// operationOf is the operation of a request.
func operationOf(req any) operation {
	switch req := req.(type) {
	case *bigtablepb.ReadRowsRequest:
		if len(req.GetRows().GetRowKeys()) > 0 && len(req.GetRows().GetRowRanges()) == 0 {
			return readOperation
		}
		return scanOperation
	case *bigtablepb.ExecuteQueryRequest:
		return queryOperation
	case *bigtablepb.MutateRowRequest:
		return operationOfChanges(req.GetMutations())
	case *bigtablepb.MutateRowsRequest:
		if slices.ContainsFunc(req.GetEntries(), func(e *bigtablepb.MutateRowsRequest_Entry) bool {
			return operationOfChanges(e.GetMutations()) == writeOperation
		}) {
			return writeOperation
		}
		return deleteOperation
	case *smolwcpb.ApplyBatchRequest:
		if slices.ContainsFunc(req.GetEntries(), func(e *smolwcpb.ApplyBatchRequest_Entry) bool {
			return operationOfChanges(e.GetMutations()) == writeOperation
		}) {
			return writeOperation
		}
		return deleteOperation
	case *bigtablepb.CheckAndMutateRowRequest, *bigtablepb.ReadModifyWriteRowRequest:
		return writeOperation
	case *adminpb.DropRowRangeRequest:
		return deleteOperation
	}
	return otherOperation
}

// operationOfChanges is a deletion if each change is one.
func operationOfChanges(changes []*bigtablepb.Mutation) operation {
	if slices.ContainsFunc(changes, func(m *bigtablepb.Mutation) bool {
		switch m.GetMutation().(type) {
		case *bigtablepb.Mutation_DeleteFromColumn_, *bigtablepb.Mutation_DeleteFromFamily_, *bigtablepb.Mutation_DeleteFromRow_:
			return false
		}
		return true
	}) {
		return writeOperation
	}
	return deleteOperation
}
