package admin

import (
	"context"

	"cloud.google.com/go/bigtable/admin/apiv2/adminpb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/smolwc/smolwc/api/wire"
)

// child makes the name of a new resource of an instance, and creates the instance
// if it is new; s.mu is held.
func (s *Admin) child(ctx context.Context, parent, kind, id, what string) (wire.Instance, string, error) {
	in, err := wire.ParseInstance(parent)
	if err != nil {
		return in, "", err
	}
	if err := wire.CheckID(what, id); err != nil {
		return in, "", err
	}
	return in, in.String() + "/" + kind + "/" + id, s.ensureInstance(ctx, in)
}

// CreateCluster remembers a cluster.
func (s *Admin) CreateCluster(ctx context.Context, req *adminpb.CreateClusterRequest) (*operation, error) {
	if req.GetCluster() == nil {
		return nil, wire.Invalid("the request has no cluster")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	in, name, err := s.child(ctx, req.GetParent(), "clusters", req.GetClusterId(), "cluster")
	if err != nil {
		return nil, err
	}
	m := readyCluster(name, clone(req.GetCluster()))
	if err := s.clusters.create(ctx, name, m); err != nil {
		return nil, err
	}
	return s.done(in, m, &adminpb.CreateClusterMetadata{OriginalRequest: req, RequestTime: now(), FinishTime: now()})
}

// GetCluster returns a cluster.
func (s *Admin) GetCluster(_ context.Context, req *adminpb.GetClusterRequest) (*adminpb.Cluster, error) {
	if _, _, err := wire.ParseChild(req.GetName(), "clusters", "a cluster"); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.clusters.get(req.GetName())
}

// parseParent reads projects/P/instances/I; I may be "-" for all instances.
func (s *Admin) parseParent(parent string) error {
	in, rest, ok := wire.CutInstance(parent)
	if ok && rest == "" && in.ID == "-" && parent == in.String() {
		return nil
	}
	if _, err := wire.ParseInstance(parent); err != nil {
		return err
	}
	_, err := s.instances.get(parent)
	return err
}

// ListClusters lists the clusters of an instance, or of all of a project.
func (s *Admin) ListClusters(_ context.Context, req *adminpb.ListClustersRequest) (*adminpb.ListClustersResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.parseParent(req.GetParent()); err != nil {
		return nil, err
	}
	resp := &adminpb.ListClustersResponse{}
	for _, name := range s.clusters.under(req.GetParent()) {
		resp.Clusters = append(resp.Clusters, s.clusters.items[name])
	}
	return resp, nil
}

// UpdateCluster replaces the fields of a cluster that can be changed.
func (s *Admin) UpdateCluster(ctx context.Context, req *adminpb.Cluster) (*operation, error) {
	in, m, err := s.updateCluster(ctx, req, []string{"serve_nodes", "cluster_config"})
	if err != nil {
		return nil, err
	}
	return s.done(in, m, &adminpb.UpdateClusterMetadata{OriginalRequest: req, RequestTime: now(), FinishTime: now()})
}

// PartialUpdateCluster replaces the fields that the mask names.
func (s *Admin) PartialUpdateCluster(ctx context.Context, req *adminpb.PartialUpdateClusterRequest) (*operation, error) {
	in, m, err := s.updateCluster(ctx, req.GetCluster(), req.GetUpdateMask().GetPaths())
	if err != nil {
		return nil, err
	}
	return s.done(in, m, &adminpb.PartialUpdateClusterMetadata{OriginalRequest: req, RequestTime: now(), FinishTime: now()})
}

func (s *Admin) updateCluster(ctx context.Context, from *adminpb.Cluster, paths []string) (wire.Instance, *adminpb.Cluster, error) {
	in, _, err := wire.ParseChild(from.GetName(), "clusters", "a cluster")
	if err != nil {
		return in, nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	m, err := s.clusters.updated(from.GetName(), from, paths, "serve_nodes", "node_scaling_factor", "cluster_config")
	if err != nil {
		return in, nil, err
	}
	return in, m, s.clusters.put(ctx, from.GetName(), readyCluster(from.GetName(), m))
}

// DeleteCluster forgets a cluster, unless it is the last of its instance.
func (s *Admin) DeleteCluster(ctx context.Context, req *adminpb.DeleteClusterRequest) (*emptypb.Empty, error) {
	in, _, err := wire.ParseChild(req.GetName(), "clusters", "a cluster")
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := s.clusters.get(req.GetName()); err != nil {
		return nil, err
	}
	if len(s.clusters.under(in.String())) == 1 {
		return nil, status.Errorf(codes.FailedPrecondition, "cluster %q is the last of its instance", req.GetName())
	}
	if err := s.checkNoBackups(ctx, req.GetName()); err != nil {
		return nil, err
	}
	return &emptypb.Empty{}, s.clusters.delete(ctx, req.GetName())
}

// CreateAppProfile remembers an app profile.
func (s *Admin) CreateAppProfile(ctx context.Context, req *adminpb.CreateAppProfileRequest) (*adminpb.AppProfile, error) {
	if req.GetAppProfile() == nil {
		return nil, wire.Invalid("the request has no app profile")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	_, name, err := s.child(ctx, req.GetParent(), "appProfiles", req.GetAppProfileId(), "app profile")
	if err != nil {
		return nil, err
	}
	m := readyProfile(clone(req.GetAppProfile()))
	m.Name = name
	return m, s.profiles.create(ctx, name, m)
}

// GetAppProfile returns an app profile.
func (s *Admin) GetAppProfile(_ context.Context, req *adminpb.GetAppProfileRequest) (*adminpb.AppProfile, error) {
	if _, _, err := wire.ParseChild(req.GetName(), "appProfiles", "an app profile"); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.profiles.get(req.GetName())
}

// ListAppProfiles lists the app profiles of an instance, or of all of a project.
func (s *Admin) ListAppProfiles(_ context.Context, req *adminpb.ListAppProfilesRequest) (*adminpb.ListAppProfilesResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.parseParent(req.GetParent()); err != nil {
		return nil, err
	}
	page, next, err := pageOf(s.profiles.under(req.GetParent()), req.GetPageSize(), req.GetPageToken())
	if err != nil {
		return nil, err
	}
	resp := &adminpb.ListAppProfilesResponse{NextPageToken: next}
	for _, name := range page {
		resp.AppProfiles = append(resp.AppProfiles, s.profiles.items[name])
	}
	return resp, nil
}

// UpdateAppProfile replaces the fields that the mask names.
func (s *Admin) UpdateAppProfile(ctx context.Context, req *adminpb.UpdateAppProfileRequest) (*operation, error) {
	from := req.GetAppProfile()
	in, _, err := wire.ParseChild(from.GetName(), "appProfiles", "an app profile")
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	m, err := s.profiles.updated(from.GetName(), from, req.GetUpdateMask().GetPaths(), "description",
		"multi_cluster_routing_use_any", "single_cluster_routing", "standard_isolation", "data_boost_isolation_read_only", "priority")
	if err != nil {
		return nil, err
	}
	if err := s.profiles.put(ctx, from.GetName(), readyProfile(m)); err != nil {
		return nil, err
	}
	return s.done(in, m, &adminpb.UpdateAppProfileMetadata{})
}

// DeleteAppProfile forgets an app profile.
func (s *Admin) DeleteAppProfile(ctx context.Context, req *adminpb.DeleteAppProfileRequest) (*emptypb.Empty, error) {
	if _, _, err := wire.ParseChild(req.GetName(), "appProfiles", "an app profile"); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return &emptypb.Empty{}, s.profiles.delete(ctx, req.GetName())
}
