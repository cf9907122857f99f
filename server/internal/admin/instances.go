package admin

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"cloud.google.com/go/bigtable/admin/apiv2/adminpb"
	"cloud.google.com/go/iam/apiv1/iampb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/smolwc/smolwc/api/wire"
	"github.com/smolwc/smolwc/schema"
	"github.com/smolwc/smolwc/server/internal/catalog"
)

// Instances, clusters and app profiles mean nothing to a database on one machine.
// They are accepted and remembered, so that tools that manage them, such as
// Terraform, find the ones that they made.
type registries struct {
	instances registry[*adminpb.Instance]
	clusters  registry[*adminpb.Cluster]
	profiles  registry[*adminpb.AppProfile]
	policies  registry[*iampb.Policy]
}

// loadInstances reads the remembered instances, and adds those that exist through
// their tables.
func (s *Admin) loadInstances(ctx context.Context) error {
	s.instances = registry[*adminpb.Instance]{db: s.DB, what: "instance"}
	s.clusters = registry[*adminpb.Cluster]{db: s.DB, what: "cluster"}
	s.profiles = registry[*adminpb.AppProfile]{db: s.DB, what: "app profile"}
	s.policies = registry[*iampb.Policy]{db: s.DB, what: "policy"}
	for _, load := range []func(context.Context) error{s.instances.load, s.clusters.load, s.profiles.load, s.policies.load} {
		if err := load(ctx); err != nil {
			return err
		}
	}
	s.assumeInstance(s.Own)
	for _, t := range s.DB.Schema().Tables {
		s.assumeInstance(s.Own.StoredTable(t.Name).In)
	}
	for _, view := range s.views.All() {
		in, _, _ := wire.CutInstance(view.Instance)
		s.assumeInstance(in)
	}
	return nil
}

// localCluster is the id of the cluster of an instance that was never created.
const localCluster = "local"

// assumeInstance adds an instance that was never created, for the life of the
// process only.
func (s *Admin) assumeInstance(in wire.Instance) {
	name := in.String()
	if s.instances.items[name] != nil {
		return
	}
	s.instances.items[name] = readyInstance(in, &adminpb.Instance{})
	cluster := name + "/clusters/" + localCluster
	s.clusters.items[cluster] = readyCluster(cluster, &adminpb.Cluster{Location: "projects/" + in.Project + "/locations/local"})
	profile := defaultProfile(in)
	s.profiles.items[profile.GetName()] = profile
}

// defaultProfile is the app profile of an instance for clients that name no
// profile.
func defaultProfile(in wire.Instance) *adminpb.AppProfile {
	return readyProfile(&adminpb.AppProfile{Name: in.String() + "/appProfiles/default", RoutingPolicy: &adminpb.AppProfile_MultiClusterRoutingUseAny_{
		MultiClusterRoutingUseAny: &adminpb.AppProfile_MultiClusterRoutingUseAny{},
	}})
}

// readyProfile gives a profile Bigtable's default isolation if it names no
// isolation, or names it in the old way.
func readyProfile(m *adminpb.AppProfile) *adminpb.AppProfile {
	priority := adminpb.AppProfile_PRIORITY_HIGH
	switch given := m.GetIsolation().(type) {
	case nil:
	case *adminpb.AppProfile_Priority_:
		//lint:ignore SA1019 clients send it
		priority = cmp.Or(given.Priority, priority)
	default:
		return m
	}
	m.Isolation = &adminpb.AppProfile_StandardIsolation_{StandardIsolation: &adminpb.AppProfile_StandardIsolation{Priority: priority}}
	return m
}

// ensureInstance creates the instance of a new table if it does not exist; s.mu
// is held.
func (s *Admin) ensureInstance(ctx context.Context, in wire.Instance) error {
	if s.instances.items[in.String()] != nil {
		return nil
	}
	s.assumeInstance(in)
	cluster := in.String() + "/clusters/" + localCluster
	if err := s.clusters.put(ctx, cluster, s.clusters.items[cluster]); err != nil {
		return err
	}
	profile := defaultProfile(in)
	if err := s.profiles.put(ctx, profile.GetName(), profile); err != nil {
		return err
	}
	return s.instances.put(ctx, in.String(), s.instances.items[in.String()])
}

func readyInstance(in wire.Instance, m *adminpb.Instance) *adminpb.Instance {
	m.Name, m.State = in.String(), adminpb.Instance_READY
	if m.DisplayName == "" {
		m.DisplayName = in.ID
	}
	if m.Type == adminpb.Instance_TYPE_UNSPECIFIED {
		m.Type = adminpb.Instance_PRODUCTION
	}
	if m.CreateTime == nil {
		m.CreateTime = now()
	}
	return m
}

func readyCluster(name string, m *adminpb.Cluster) *adminpb.Cluster {
	m.Name, m.State = name, adminpb.Cluster_READY
	if limits := m.GetClusterConfig().GetClusterAutoscalingConfig().GetAutoscalingLimits(); limits != nil {
		m.ServeNodes = min(max(m.ServeNodes, limits.GetMinServeNodes()), max(limits.GetMaxServeNodes(), 1))
	}
	if m.ServeNodes == 0 {
		m.ServeNodes = 1
	}
	if m.DefaultStorageType == adminpb.StorageType_STORAGE_TYPE_UNSPECIFIED {
		m.DefaultStorageType = adminpb.StorageType_SSD
	}
	return m
}

// clusterStates returns a table's states: ready in every cluster of the instance.
func (s *Admin) clusterStates(in wire.Instance) map[string]*adminpb.Table_ClusterState {
	s.mu.Lock()
	defer s.mu.Unlock()
	states := map[string]*adminpb.Table_ClusterState{}
	for _, name := range s.clusters.under(in.String() + "/clusters") {
		id := name[strings.LastIndexByte(name, '/')+1:]
		states[id] = &adminpb.Table_ClusterState{
			ReplicationState: adminpb.Table_ClusterState_READY,
			EncryptionInfo:   []*adminpb.EncryptionInfo{{EncryptionType: adminpb.EncryptionInfo_GOOGLE_DEFAULT_ENCRYPTION}},
		}
	}
	return states
}

// CreateInstance remembers an instance and its clusters.
func (s *Admin) CreateInstance(ctx context.Context, req *adminpb.CreateInstanceRequest) (*operation, error) {
	project, err := wire.ParseProject(req.GetParent())
	if err != nil {
		return nil, err
	}
	in := wire.Instance{Project: project, ID: req.GetInstanceId()}
	if err := in.Check(); err != nil {
		return nil, err
	}
	if req.GetInstance() == nil {
		return nil, wire.Invalid("the request has no instance")
	}
	for _, id := range slices.Sorted(maps.Keys(req.GetClusters())) {
		if err := wire.CheckID("cluster", id); err != nil {
			return nil, err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	m := readyInstance(in, clone(req.GetInstance()))
	if err := s.instances.create(ctx, in.String(), m); err != nil {
		return nil, err
	}
	for _, id := range slices.Sorted(maps.Keys(req.GetClusters())) {
		name := in.String() + "/clusters/" + id
		if err := s.clusters.put(ctx, name, readyCluster(name, clone(req.GetClusters()[id]))); err != nil {
			return nil, err
		}
	}
	profile := defaultProfile(in)
	if err := s.profiles.put(ctx, profile.GetName(), profile); err != nil {
		return nil, err
	}
	return s.done(in, m, &adminpb.CreateInstanceMetadata{OriginalRequest: req, RequestTime: now(), FinishTime: now()})
}

// GetInstance returns an instance.
func (s *Admin) GetInstance(_ context.Context, req *adminpb.GetInstanceRequest) (*adminpb.Instance, error) {
	in, err := wire.ParseInstance(req.GetName())
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.instances.get(in.String())
}

// ListInstances lists the instances of a project.
func (s *Admin) ListInstances(_ context.Context, req *adminpb.ListInstancesRequest) (*adminpb.ListInstancesResponse, error) {
	project, err := wire.ParseProject(req.GetParent())
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	resp := &adminpb.ListInstancesResponse{}
	for _, name := range s.instances.under("projects/" + project + "/instances") {
		resp.Instances = append(resp.Instances, s.instances.items[name])
	}
	return resp, nil
}

// UpdateInstance replaces the fields of an instance that can be changed.
func (s *Admin) UpdateInstance(ctx context.Context, req *adminpb.Instance) (*adminpb.Instance, error) {
	return s.updateInstance(ctx, req, []string{"display_name", "type", "labels"})
}

// PartialUpdateInstance replaces the fields that the mask names.
func (s *Admin) PartialUpdateInstance(ctx context.Context, req *adminpb.PartialUpdateInstanceRequest) (*operation, error) {
	m, err := s.updateInstance(ctx, req.GetInstance(), req.GetUpdateMask().GetPaths())
	if err != nil {
		return nil, err
	}
	in, _ := wire.ParseInstance(m.GetName())
	return s.done(in, m, &adminpb.UpdateInstanceMetadata{OriginalRequest: req, RequestTime: now(), FinishTime: now()})
}

func (s *Admin) updateInstance(ctx context.Context, from *adminpb.Instance, paths []string) (*adminpb.Instance, error) {
	in, err := wire.ParseInstance(from.GetName())
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	m, err := s.instances.updated(in.String(), from, paths, "display_name", "type", "labels", "tags", "edition")
	if err != nil {
		return nil, err
	}
	return m, s.instances.put(ctx, in.String(), readyInstance(in, m))
}

// instancePattern is Bigtable's; the server itself accepts more names.
const instancePattern = `^projects/[a-z][a-z0-9\\-]+[a-z0-9]/instances/[a-z][a-z0-9\\-]+[a-z0-9]$`

// DeleteInstance deletes an instance with its tables, also those that were deleted
// before, for good.
func (s *Admin) DeleteInstance(ctx context.Context, req *adminpb.DeleteInstanceRequest) (*emptypb.Empty, error) {
	in, err := wire.ParseInstance(req.GetName())
	if err != nil { // in Bigtable's words, which clients' tests look for
		return nil, wire.Invalid(`Error in field 'instance_name' : Invalid name for collection instances : Should match %s but found '%s'`, instancePattern, req.GetName())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := s.instances.get(in.String()); err != nil {
		return nil, err
	}
	if in == s.Own {
		return nil, status.Errorf(codes.FailedPrecondition, "instance %q is the database's own and cannot be deleted; its tables can", in)
	}
	ids := s.tableIDs(in)
	for _, id := range ids {
		if err := s.checkDeletable(s.Own.Table(in, id)); err != nil {
			return nil, err
		}
	}
	if err := s.checkNoBackups(ctx, in.String()); err != nil {
		return nil, err
	}
	if err := s.deleteViewsOf(ctx, in); err != nil {
		return nil, err
	}
	for _, id := range ids {
		stored := s.Own.Table(in, id).Stored
		if err := s.DB.DropTable(ctx, stored); err != nil {
			return nil, catalog.Status(ctx, err)
		}
		s.Noted(stored, nil)
	}
	if err := s.purge(ctx, in); err != nil {
		return nil, catalog.Status(ctx, err)
	}
	if err := cmp.Or(s.clusters.deleteUnder(ctx, in.String()), s.profiles.deleteUnder(ctx, in.String())); err != nil {
		return nil, err
	}
	return &emptypb.Empty{}, s.instances.delete(ctx, in.String())
}

// purge removes the deleted tables of an instance.
func (s *Admin) purge(ctx context.Context, in wire.Instance) error {
	stats, err := s.DB.Stats(ctx)
	if err != nil {
		return err
	}
	for _, d := range stats.Deleted {
		if s.Own.StoredTable(d.Table).In != in {
			continue
		}
		if err := s.alter(ctx, schema.PurgeTable, d.Table); err != nil {
			return err
		}
	}
	return nil
}
