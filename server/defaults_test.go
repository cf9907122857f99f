package server_test

import (
	"slices"
	"testing"

	"cloud.google.com/go/bigtable/admin/apiv2/adminpb"
	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"cloud.google.com/go/iam/apiv1/iampb"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/fieldmaskpb"
)

func pb[T any](v T) *T { return &v }

// App profiles and clusters have the same defaults as in Bigtable.
func TestDefaultsOfInstances(t *testing.T) {
	r := newRig(t)
	r.table("t", "f")
	instances := adminpb.NewBigtableInstanceAdminClient(r.conn)
	high := &adminpb.AppProfile_StandardIsolation_{StandardIsolation: &adminpb.AppProfile_StandardIsolation{Priority: adminpb.AppProfile_PRIORITY_HIGH}}
	anyCluster := &adminpb.AppProfile_MultiClusterRoutingUseAny_{MultiClusterRoutingUseAny: &adminpb.AppProfile_MultiClusterRoutingUseAny{}}
	boost := &adminpb.AppProfile_DataBoostIsolationReadOnly_{DataBoostIsolationReadOnly: &adminpb.AppProfile_DataBoostIsolationReadOnly{
		ComputeBillingOwner: pb(adminpb.AppProfile_DataBoostIsolationReadOnly_HOST_PAYS)}}
	low := &adminpb.AppProfile_StandardIsolation_{StandardIsolation: &adminpb.AppProfile_StandardIsolation{Priority: adminpb.AppProfile_PRIORITY_LOW}}
	for id, c := range map[string]struct{ given, want *adminpb.AppProfile }{
		"plain": {&adminpb.AppProfile{RoutingPolicy: anyCluster}, &adminpb.AppProfile{RoutingPolicy: anyCluster, Isolation: high}},
		//lint:ignore SA1019 clients send it
		"old":   {&adminpb.AppProfile{Isolation: &adminpb.AppProfile_Priority_{Priority: adminpb.AppProfile_PRIORITY_LOW}}, &adminpb.AppProfile{Isolation: low}},
		"boost": {&adminpb.AppProfile{Isolation: boost}, &adminpb.AppProfile{Isolation: boost}},
	} {
		_, err := instances.CreateAppProfile(r.ctx(), &adminpb.CreateAppProfileRequest{Parent: parent, AppProfileId: id, AppProfile: c.given})
		r.must(err)
		got, err := instances.GetAppProfile(r.ctx(), &adminpb.GetAppProfileRequest{Name: parent + "/appProfiles/" + id})
		r.must(err)
		c.want.Name = got.GetName()
		if !proto.Equal(got, c.want) {
			t.Errorf("profile %s is %v, want %v", id, got, c.want)
		}
	}

	scaled := func(least, most int32) *adminpb.Cluster_ClusterConfig_ {
		return &adminpb.Cluster_ClusterConfig_{ClusterConfig: &adminpb.Cluster_ClusterConfig{ClusterAutoscalingConfig: &adminpb.Cluster_ClusterAutoscalingConfig{
			AutoscalingLimits: &adminpb.AutoscalingLimits{MinServeNodes: least, MaxServeNodes: most}}}}
	}
	_, err := instances.CreateCluster(r.ctx(), &adminpb.CreateClusterRequest{Parent: parent, ClusterId: "c", Cluster: &adminpb.Cluster{Config: scaled(3, 5)}})
	r.must(err)
	nodes := func() int32 {
		m, err := instances.GetCluster(r.ctx(), &adminpb.GetClusterRequest{Name: parent + "/clusters/c"})
		r.must(err)
		return m.GetServeNodes()
	}
	if n := nodes(); n != 3 {
		t.Errorf("a cluster of 3 to 5 nodes has %d", n)
	}
	_, err = instances.PartialUpdateCluster(r.ctx(), &adminpb.PartialUpdateClusterRequest{
		Cluster:    &adminpb.Cluster{Name: parent + "/clusters/c", Config: scaled(1, 2)},
		UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"cluster_config"}},
	})
	r.must(err)
	if n := nodes(); n != 2 {
		t.Errorf("a cluster of 1 to 2 nodes has %d", n)
	}

	m, err := adminpb.NewBigtableTableAdminClient(r.conn).GetTable(r.ctx(), &adminpb.GetTableRequest{Name: parent + "/tables/t", View: adminpb.Table_ENCRYPTION_VIEW})
	r.must(err)
	if len(m.GetClusterStates()) != 2 {
		t.Errorf("the table is in the clusters %v", m.GetClusterStates())
	}
	for id, state := range m.GetClusterStates() {
		if info := state.GetEncryptionInfo(); len(info) != 1 || info[0].GetEncryptionType() != adminpb.EncryptionInfo_GOOGLE_DEFAULT_ENCRYPTION {
			t.Errorf("cluster %s is encrypted as %v", id, info)
		}
	}
}

func TestRowKeySchemas(t *testing.T) {
	r := newRig(t)
	admin := adminpb.NewBigtableTableAdminClient(r.conn)
	text := &adminpb.Type{Kind: &adminpb.Type_StringType{StringType: &adminpb.Type_String{}}}
	fields := func(names ...string) (all []*adminpb.Type_Struct_Field) {
		for _, name := range names {
			all = append(all, &adminpb.Type_Struct_Field{FieldName: name, Type: text})
		}
		return all
	}
	single := &adminpb.Type_Struct_Encoding{Encoding: &adminpb.Type_Struct_Encoding_Singleton_{Singleton: &adminpb.Type_Struct_Encoding_Singleton{}}}
	ordered := &adminpb.Type_Struct_Encoding{Encoding: &adminpb.Type_Struct_Encoding_OrderedCodeBytes_{OrderedCodeBytes: &adminpb.Type_Struct_Encoding_OrderedCodeBytes{}}}
	delimited := func(d string) *adminpb.Type_Struct_Encoding {
		return &adminpb.Type_Struct_Encoding{Encoding: &adminpb.Type_Struct_Encoding_DelimitedBytes_{DelimitedBytes: &adminpb.Type_Struct_Encoding_DelimitedBytes{Delimiter: []byte(d)}}}
	}
	for id, c := range map[string]struct {
		given *adminpb.Type_Struct
		want  codes.Code
	}{
		"none":      {nil, codes.OK},
		"single":    {&adminpb.Type_Struct{Fields: fields("a"), Encoding: single}, codes.OK},
		"ordered":   {&adminpb.Type_Struct{Fields: fields("a", "b"), Encoding: ordered}, codes.OK},
		"delimited": {&adminpb.Type_Struct{Fields: fields("a", "b"), Encoding: delimited("#")}, codes.OK},
		"family":    {&adminpb.Type_Struct{Fields: fields("f"), Encoding: single}, codes.InvalidArgument},
		"reserved":  {&adminpb.Type_Struct{Fields: fields("_key"), Encoding: single}, codes.InvalidArgument},
		"twice":     {&adminpb.Type_Struct{Fields: fields("a", "a"), Encoding: ordered}, codes.InvalidArgument},
		"two":       {&adminpb.Type_Struct{Fields: fields("a", "b"), Encoding: single}, codes.InvalidArgument},
		"together":  {&adminpb.Type_Struct{Fields: fields("a", "b"), Encoding: delimited("")}, codes.InvalidArgument},
		"encoding":  {&adminpb.Type_Struct{Fields: fields("a")}, codes.InvalidArgument},
		"fields":    {&adminpb.Type_Struct{Encoding: ordered}, codes.InvalidArgument},
		"type":      {&adminpb.Type_Struct{Fields: []*adminpb.Type_Struct_Field{{FieldName: "a"}}, Encoding: ordered}, codes.InvalidArgument},
	} {
		_, err := admin.CreateTable(r.ctx(), &adminpb.CreateTableRequest{Parent: parent, TableId: id, Table: &adminpb.Table{
			ColumnFamilies: map[string]*adminpb.ColumnFamily{"f": {}}, RowKeySchema: c.given}})
		wantCode(t, id, err, c.want)
	}
	update := func(table string, to *adminpb.Type_Struct) error {
		_, err := admin.UpdateTable(r.ctx(), &adminpb.UpdateTableRequest{Table: &adminpb.Table{Name: parent + "/tables/" + table, RowKeySchema: to}, UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"row_key_schema"}}})
		return err
	}
	valid := &adminpb.Type_Struct{Fields: fields("x"), Encoding: single}
	wantCode(t, "a family's name", update("none", &adminpb.Type_Struct{Fields: fields("f"), Encoding: single}), codes.InvalidArgument)
	wantCode(t, "set", update("none", valid), codes.OK)
	wantCode(t, "changed", update("none", valid), codes.InvalidArgument)
	_, err := admin.ModifyColumnFamilies(r.ctx(), &adminpb.ModifyColumnFamiliesRequest{Name: parent + "/tables/none", Modifications: []*adminpb.ModifyColumnFamiliesRequest_Modification{
		{Id: "x", Mod: &adminpb.ModifyColumnFamiliesRequest_Modification_Create{Create: &adminpb.ColumnFamily{}}}}})
	wantCode(t, "a family with a field's name", err, codes.InvalidArgument)
	plan := func() error {
		_, err := bigtablepb.NewBigtableClient(r.conn).PrepareQuery(r.ctx(), &bigtablepb.PrepareQueryRequest{InstanceName: parent, Query: "SELECT x FROM none WHERE x = 'a'"})
		return err
	}
	wantCode(t, "a query of a field", plan(), codes.OK)
	wantCode(t, "removed", update("none", nil), codes.OK)
	wantCode(t, "a query of no field", plan(), codes.InvalidArgument)
	wantCode(t, "set again", update("none", valid), codes.OK)
}

// An instance exists as soon as something is created in it.
func TestInstancesOfNewClusters(t *testing.T) {
	r := newRig(t)
	instances := adminpb.NewBigtableInstanceAdminClient(r.conn)
	get := func(id string) error {
		_, err := instances.GetInstance(r.ctx(), &adminpb.GetInstanceRequest{Name: "projects/proj/instances/" + id})
		return err
	}
	_, err := instances.CreateCluster(r.ctx(), &adminpb.CreateClusterRequest{Parent: "projects/proj/instances/none", ClusterId: "c"})
	wantCode(t, "a cluster that is not given", err, codes.InvalidArgument)
	wantCode(t, "its instance", get("none"), codes.NotFound)
	_, err = instances.CreateCluster(r.ctx(), &adminpb.CreateClusterRequest{Parent: "projects/proj/instances/one", ClusterId: "c", Cluster: &adminpb.Cluster{}})
	r.must(err)
	wantCode(t, "the instance of a cluster", get("one"), codes.OK)
	_, err = instances.CreateAppProfile(r.ctx(), &adminpb.CreateAppProfileRequest{Parent: "projects/proj/instances/two", AppProfileId: "p", AppProfile: &adminpb.AppProfile{}})
	r.must(err)
	wantCode(t, "the instance of a profile", get("two"), codes.OK)
}

// A mask may name fields inside a cluster's configuration, as Python's client does;
// the others stay.
func TestClustersAreUpdatedInPart(t *testing.T) {
	r := newRig(t)
	admin := adminpb.NewBigtableInstanceAdminClient(r.conn)
	scaling := func(low, high, cpu int32) *adminpb.Cluster {
		return &adminpb.Cluster{Name: cluster, Config: &adminpb.Cluster_ClusterConfig_{ClusterConfig: &adminpb.Cluster_ClusterConfig{
			ClusterAutoscalingConfig: &adminpb.Cluster_ClusterAutoscalingConfig{
				AutoscalingLimits:  &adminpb.AutoscalingLimits{MinServeNodes: low, MaxServeNodes: high},
				AutoscalingTargets: &adminpb.AutoscalingTargets{CpuUtilizationPercent: cpu},
			},
		}}}
	}
	_, err := admin.CreateCluster(r.ctx(), &adminpb.CreateClusterRequest{Parent: parent, ClusterId: "c", Cluster: scaling(2, 5, 20)})
	r.must(err)
	const limits = "cluster_config.cluster_autoscaling_config.autoscaling_limits"
	update := func(m *adminpb.Cluster, paths ...string) error {
		_, err := admin.PartialUpdateCluster(r.ctx(), &adminpb.PartialUpdateClusterRequest{Cluster: m, UpdateMask: &fieldmaskpb.FieldMask{Paths: paths}})
		return err
	}
	expect := func(nodes, low, high, cpu int32) {
		t.Helper()
		m, err := admin.GetCluster(r.ctx(), &adminpb.GetClusterRequest{Name: cluster})
		r.must(err)
		c := m.GetClusterConfig().GetClusterAutoscalingConfig()
		if got := []int32{m.GetServeNodes(), c.GetAutoscalingLimits().GetMinServeNodes(), c.GetAutoscalingLimits().GetMaxServeNodes(), c.GetAutoscalingTargets().GetCpuUtilizationPercent()}; !slices.Equal(got, []int32{nodes, low, high, cpu}) {
			t.Errorf("cluster %v, want %d nodes, %d to %d at %d %%", m, nodes, low, high, cpu)
		}
	}
	r.must(update(scaling(3, 9, 50), limits+".min_serve_nodes"))
	expect(3, 3, 5, 20)
	r.must(update(scaling(1, 9, 50), limits+".max_serve_nodes", "cluster_config.cluster_autoscaling_config.autoscaling_targets"))
	expect(3, 3, 9, 50)
	for _, path := range []string{"name", "location", "cluster_config.nothing", "serve_nodes.more", limits + ".min_serve_nodes.x", ""} {
		refused(t, path, update(scaling(1, 1, 1), path), codes.InvalidArgument, "incorrect path in update_mask")
	}
	r.must(update(&adminpb.Cluster{Name: cluster, ServeNodes: 7}, "serve_nodes", "cluster_config.cluster_autoscaling_config"))
	expect(7, 0, 0, 0)

	policy, err := admin.GetIamPolicy(r.ctx(), &iampb.GetIamPolicyRequest{Resource: parent})
	r.must(err)
	if string(policy.GetEtag()) != "\x00 \x01" { // ACAB in base64
		t.Errorf("the etag of no policy is %q", policy.GetEtag())
	}
}

// Of two clients that change a policy at the same time, one is refused.
func TestAPolicyThatHasChangedIsNotOverwritten(t *testing.T) {
	r := newRig(t)
	admin := adminpb.NewBigtableInstanceAdminClient(r.conn)
	set := func(p *iampb.Policy) (*iampb.Policy, error) {
		return admin.SetIamPolicy(r.ctx(), &iampb.SetIamPolicyRequest{Resource: parent, Policy: p})
	}
	read, err := admin.GetIamPolicy(r.ctx(), &iampb.GetIamPolicyRequest{Resource: parent})
	r.must(err)
	first, err := set(&iampb.Policy{Etag: read.GetEtag(), Version: 1})
	r.must(err)
	_, err = set(&iampb.Policy{Etag: read.GetEtag(), Version: 3})
	refused(t, "the etag of no policy", err, codes.Aborted, "has changed")
	second, err := set(&iampb.Policy{Etag: first.GetEtag(), Version: 1})
	r.must(err)
	if string(second.GetEtag()) == string(first.GetEtag()) {
		t.Errorf("two states have the etag %q", first.GetEtag())
	}
	_, err = set(&iampb.Policy{Version: 3}) // without an etag it replaces any
	r.must(err)
}

// A token of a page that the server did not give out is refused.
func TestPageTokensAreTheServers(t *testing.T) {
	r := newRig(t)
	for _, token := range []string{"garbage", "AAAA", "?"} {
		_, err := r.tableAdmin().ListTables(r.ctx(), &adminpb.ListTablesRequest{Parent: parent, PageToken: token})
		refused(t, token, err, codes.InvalidArgument, "not given out by this server")
	}
}
