// Package admin serves the calls that are not about rows: tables and their families,
// backups of tables, instances and clusters, operations, and smolwc's own calls about
// the database as a whole.
package admin

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

	"github.com/smolwc/smolwc/api/wire"
	"github.com/smolwc/smolwc/server/internal/catalog"
	"github.com/smolwc/smolwc/views"
)

// unimplemented refuses the calls that Admin does not override.
type unimplemented struct {
	adminpb.UnimplementedBigtableTableAdminServer
	adminpb.UnimplementedBigtableInstanceAdminServer
	longrunningpb.UnimplementedOperationsServer
}

// An Admin is the services of tables, of instances and of operations.
type Admin struct {
	unimplemented
	*catalog.Catalog
	views  *views.Views
	logger *slog.Logger

	mu sync.Mutex // held by changes of tables, and by all uses of the fields below
	registries
	backups    backups
	operations operations
}

// New makes the services of a catalog. It reads the instances and backups that the
// database remembers.
func New(ctx context.Context, c *catalog.Catalog, v *views.Views, logger *slog.Logger) (*Admin, error) {
	s := &Admin{Catalog: c, views: v, logger: logger}
	if err := s.loadInstances(ctx); err != nil {
		return nil, err
	}
	return s, s.loadBackups(ctx)
}

// Reload takes over other processes' changes.
func (s *Admin) Reload(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.Catalog.Reload(ctx); err != nil {
		return err
	}
	if err := s.views.Reload(ctx); err != nil {
		return err
	}
	return s.loadInstances(ctx)
}

// Register adds the services to a gRPC server.
func (s *Admin) Register(to grpc.ServiceRegistrar) {
	adminpb.RegisterBigtableTableAdminServer(to, s)
	adminpb.RegisterBigtableInstanceAdminServer(to, s)
	longrunningpb.RegisterOperationsServer(to, s)
}

// ClusterOf names the cluster of an instance's changes: clients require a cluster.
func (s *Admin) ClusterOf(in wire.Instance) string {
	if ids := slices.Sorted(maps.Keys(s.clusterStates(in))); len(ids) > 0 {
		return ids[0]
	}
	return localCluster
}

func clone[M proto.Message](m M) M { return proto.Clone(m).(M) }
