package admin

import (
	"context"
	"strings"

	"cloud.google.com/go/bigtable/admin/apiv2/adminpb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/smolwc/smolwc/api/wire"
)

// The calls of this file are about parts of Bigtable that a database does not have. They
// say what to use in place of them.

var errSnapshots = status.Error(codes.Unimplemented, "this server has no snapshots of tables, which Bigtable replaced by backups; use CreateBackup, ListBackups and RestoreTable")

// SnapshotTable refuses to make a snapshot.
func (*Admin) SnapshotTable(context.Context, *adminpb.SnapshotTableRequest) (*operation, error) {
	return nil, errSnapshots
}

// GetSnapshot always fails: there are no snapshots.
func (*Admin) GetSnapshot(context.Context, *adminpb.GetSnapshotRequest) (*adminpb.Snapshot, error) {
	return nil, errSnapshots
}

// ListSnapshots always fails: there are no snapshots.
func (*Admin) ListSnapshots(context.Context, *adminpb.ListSnapshotsRequest) (*adminpb.ListSnapshotsResponse, error) {
	return nil, errSnapshots
}

// DeleteSnapshot always fails: there are no snapshots.
func (*Admin) DeleteSnapshot(context.Context, *adminpb.DeleteSnapshotRequest) (*emptypb.Empty, error) {
	return nil, errSnapshots
}

// CreateTableFromSnapshot always fails: there are no snapshots.
func (*Admin) CreateTableFromSnapshot(context.Context, *adminpb.CreateTableFromSnapshotRequest) (*operation, error) {
	return nil, errSnapshots
}

// memoryLayer is the end of the name of a cluster's memory layer.
const memoryLayer = "/memoryLayer"

// noMemoryLayer is the memory layer of a cluster, which is never enabled; s.mu is held.
func (s *Admin) noMemoryLayer(name string) (*adminpb.MemoryLayer, error) {
	cluster, ok := strings.CutSuffix(name, memoryLayer)
	if !ok {
		return nil, wire.Invalid("%q is not the name of a memory layer: projects/P/instances/I/clusters/C%s", name, memoryLayer)
	}
	if _, _, err := wire.ParseChild(cluster, "clusters", "a cluster"); err != nil {
		return nil, err
	}
	if _, err := s.clusters.get(cluster); err != nil {
		return nil, err
	}
	return &adminpb.MemoryLayer{Name: name, State: adminpb.MemoryLayer_DISABLED}, nil
}

// GetMemoryLayer says that the memory layer of a cluster is disabled.
func (s *Admin) GetMemoryLayer(_ context.Context, req *adminpb.GetMemoryLayerRequest) (*adminpb.MemoryLayer, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.noMemoryLayer(req.GetName())
}

// ListMemoryLayers lists the memory layers of a cluster, or of all clusters of an instance:
// they are disabled.
func (s *Admin) ListMemoryLayers(_ context.Context, req *adminpb.ListMemoryLayersRequest) (*adminpb.ListMemoryLayersResponse, error) {
	in, cluster, err := wire.ParseChild(req.GetParent(), "clusters", "a cluster")
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	names := []string{req.GetParent()}
	if cluster == "-" {
		names = s.clusters.under(in.String() + "/clusters")
	}
	resp := &adminpb.ListMemoryLayersResponse{}
	for _, name := range names {
		m, err := s.noMemoryLayer(name + memoryLayer)
		if err != nil {
			return nil, err
		}
		resp.MemoryLayers = append(resp.MemoryLayers, m)
	}
	return resp, nil
}

// UpdateMemoryLayer refuses to enable a memory layer.
func (s *Admin) UpdateMemoryLayer(_ context.Context, req *adminpb.UpdateMemoryLayerRequest) (*operation, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := s.noMemoryLayer(req.GetMemoryLayer().GetName()); err != nil {
		return nil, err
	}
	return nil, status.Error(codes.Unimplemented, "this server has no memory layer that could be enabled or disabled; it keeps blocks that are read often in the memory of smolwc serve --memory")
}
