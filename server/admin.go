package server

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"

	"cloud.google.com/go/bigtable/admin/apiv2/adminpb"
	"cloud.google.com/go/longrunning/autogen/longrunningpb"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/smolwc/smolwc/internal/wire"
	"github.com/smolwc/smolwc/server/internal/catalog"
)

// An admin is the services that change tables, instances and backups: they share
// what they remember.
type admin struct {
	*catalog.Catalog
	logger *slog.Logger

	mu sync.Mutex // held by changes of tables, and by all of resources
	registries
	backups    backups
	operations operations
}

// newAdmin reads what the database remembers.
func newAdmin(ctx context.Context, c *catalog.Catalog, logger *slog.Logger) (*admin, error) {
	s := &admin{Catalog: c, logger: logger}
	if err := s.loadInstances(ctx); err != nil {
		return nil, err
	}
	return s, s.loadBackups(ctx)
}

// register adds the services to a gRPC server.
func (s *admin) register(to *grpc.Server) {
	adminpb.RegisterBigtableTableAdminServer(to, &tableService{admin: s})
	adminpb.RegisterBigtableInstanceAdminServer(to, &instanceService{admin: s})
	longrunningpb.RegisterOperationsServer(to, &operationsService{admin: s})
}

// clusterOf is the cluster that changes of an instance's tables are said to come of:
// clients want one.
func (s *admin) clusterOf(in wire.Instance) string {
	if ids := slices.Sorted(maps.Keys(s.clusterStates(in))); len(ids) > 0 {
		return ids[0]
	}
	return localCluster
}

// clone copies a message.
func clone[M proto.Message](m M) M { return proto.Clone(m).(M) }
