package server_test

import (
	"context"
	"io"
	"strings"
	"testing"

	"cloud.google.com/go/bigtable/admin/apiv2/adminpb"
	_ "cloud.google.com/go/bigtable/apiv2/bigtablepb"
	_ "cloud.google.com/go/longrunning/autogen/longrunningpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/dynamicpb"
)

// services are the services of a Bigtable.
var services = []protoreflect.FullName{
	"google.bigtable.v2.Bigtable",
	"google.bigtable.admin.v2.BigtableTableAdmin",
	"google.bigtable.admin.v2.BigtableInstanceAdmin",
	"google.longrunning.Operations",
	"smolwc.admin.v1.DatabaseAdmin",
	"smolwc.admin.v1.ServerActivity",
	"smolwc.admin.v1.Standbys",
	"smolwc.v1.Batches",
	"smolwc.v1.Statements",
}

// call makes a call with any message and returns the status of its end.
func (r *rig) call(m protoreflect.MethodDescriptor, req proto.Message) error {
	return r.callIn(r.ctx(), m, req)
}

func (r *rig) callIn(ctx context.Context, m protoreflect.MethodDescriptor, req proto.Message) error {
	name := "/" + string(m.Parent().FullName()) + "/" + string(m.Name())
	if !m.IsStreamingServer() && !m.IsStreamingClient() {
		return r.conn.Invoke(ctx, name, req, dynamicpb.NewMessage(m.Output()))
	}
	stream, err := r.conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, name)
	if err != nil {
		return err
	}
	if err := stream.SendMsg(req); err != nil && err != io.EOF { // io.EOF: the status has arrived already
		return err
	}
	_ = stream.CloseSend() // the status tells
	for {
		if err := stream.RecvMsg(dynamicpb.NewMessage(m.Output())); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
	}
}

func eachMethod(t *testing.T, f func(protoreflect.MethodDescriptor)) {
	n := 0
	for _, name := range services {
		d, err := protoregistry.GlobalFiles.FindDescriptorByName(name)
		if err != nil {
			t.Fatal(err)
		}
		methods := d.(protoreflect.ServiceDescriptor).Methods()
		for i := range methods.Len() {
			f(methods.Get(i))
			n++
		}
	}
	if n < 89 {
		t.Errorf("only %d calls", n)
	}
}

// No call ends the process, and an empty request is the client's fault.
func TestEveryCallWithAnEmptyRequest(t *testing.T) {
	r := newRig(t)
	allowed := map[codes.Code]bool{codes.InvalidArgument: true, codes.NotFound: true, codes.Unimplemented: true}
	// The default place is that of the last backup, and there was no backup.
	empty := map[protoreflect.Name]bool{"BackUp": true, "ListBackups": true, "VerifyBackups": true, "GetMoments": true, "VerifyMoments": true}
	for _, call := range []protoreflect.Name{"Copy", "Load", "Follow", "ListReplicas", "Promote", "Switchover", "Fence", "Sums", "Verify"} { // without standbys
		empty[call] = true
	}
	eachMethod(t, func(m protoreflect.MethodDescriptor) {
		err := r.call(m, dynamicpb.NewMessage(m.Input()))
		if code := status.Code(err); !allowed[code] && !(code == codes.FailedPrecondition && empty[m.Name()]) && m.Name() != "ListOperations" && m.Name() != "ListCalls" {
			t.Errorf("%s: %v", m.FullName(), err)
		}
	})
}

// The same for requests in which every message is present and empty.
func TestEveryCallWithEmptyMessages(t *testing.T) {
	r := newRig(t)
	r.table("t", "f")
	eachMethod(t, func(m protoreflect.MethodDescriptor) {
		req := dynamicpb.NewMessage(m.Input())
		fill(req, 6)
		switch code := status.Code(r.call(m, req)); code {
		case codes.Internal, codes.Unknown, codes.Unavailable, codes.Aborted, codes.DeadlineExceeded:
			t.Errorf("%s: %v", m.FullName(), code)
		}
	})
}

// The parts of Bigtable that a server does not have are refused in a sentence that says
// what to use, and not in gRPC's words for an unknown method.
func TestAbsentCallsAreExplained(t *testing.T) {
	r := newRig(t)
	r.table("t", "f")
	want := map[protoreflect.Name]string{
		"SnapshotTable": "use CreateBackup", "GetSnapshot": "use CreateBackup", "ListSnapshots": "use CreateBackup", "DeleteSnapshot": "use CreateBackup",
		"CreateTableFromSnapshot": "use CreateBackup", "GetClientConfiguration": "their defaults",
		"OpenTable": "no sessions", "OpenAuthorizedView": "no sessions", "OpenMaterializedView": "no sessions",
	}
	eachMethod(t, func(m protoreflect.MethodDescriptor) {
		err := r.call(m, dynamicpb.NewMessage(m.Input()))
		if status.Code(err) != codes.Unimplemented && want[m.Name()] == "" {
			return
		}
		if text := want[m.Name()]; status.Code(err) != codes.Unimplemented || text == "" || !strings.Contains(err.Error(), text) {
			t.Errorf("%s: %v, want %q", m.FullName(), err, text)
		}
	})
	instances := adminpb.NewBigtableInstanceAdminClient(r.conn)
	const layer = parent + "/clusters/local/memoryLayer"
	got, err := instances.GetMemoryLayer(r.ctx(), &adminpb.GetMemoryLayerRequest{Name: layer})
	if err != nil || got.GetState() != adminpb.MemoryLayer_DISABLED || got.GetName() != layer {
		t.Errorf("the memory layer is %v, %v", got, err)
	}
	list, err := instances.ListMemoryLayers(r.ctx(), &adminpb.ListMemoryLayersRequest{Parent: parent + "/clusters/-"})
	if err != nil || len(list.GetMemoryLayers()) != 1 || !proto.Equal(list.GetMemoryLayers()[0], got) {
		t.Errorf("the memory layers are %v, %v", list, err)
	}
	_, err = instances.UpdateMemoryLayer(r.ctx(), &adminpb.UpdateMemoryLayerRequest{MemoryLayer: &adminpb.MemoryLayer{Name: layer, MemoryConfig: &adminpb.MemoryLayer_MemoryConfig{}}})
	if status.Code(err) != codes.Unimplemented || !strings.Contains(err.Error(), "--memory") {
		t.Errorf("enabling the memory layer: %v", err)
	}
	for _, name := range []string{parent, parent + "/clusters/local", parent + "/clusters/none/memoryLayer", layer + "/"} {
		_, err := instances.GetMemoryLayer(r.ctx(), &adminpb.GetMemoryLayerRequest{Name: name})
		if code := status.Code(err); code != codes.InvalidArgument && code != codes.NotFound {
			t.Errorf("memory layer %q: %v", name, err)
		}
	}
}

// fill makes every message inside a message, some levels deep, one element in
// every list, and names the table t wherever there is a name.
func fill(m protoreflect.Message, levels int) {
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		f := fields.Get(i)
		switch {
		case f.Kind() == protoreflect.StringKind && !f.IsList() && !f.IsMap():
			switch f.Name() {
			case "name", "table_name":
				m.Set(f, protoreflect.ValueOfString(parent+"/tables/t"))
			case "parent":
				m.Set(f, protoreflect.ValueOfString(parent))
			}
		case levels == 0 || f.IsMap():
		case f.IsList() && f.Kind() == protoreflect.MessageKind:
			list := m.Mutable(f).List()
			e := list.AppendMutable()
			fill(e.Message(), levels-1)
		case f.Kind() == protoreflect.MessageKind && f.ContainingOneof() == nil:
			fill(m.Mutable(f).Message(), levels-1)
		}
	}
}

func TestHealthAndReflection(t *testing.T) {
	r := newRig(t)
	resp, err := grpc_health_v1.NewHealthClient(r.conn).Check(r.ctx(), &grpc_health_v1.HealthCheckRequest{})
	r.must(err)
	if resp.GetStatus() != grpc_health_v1.HealthCheckResponse_SERVING {
		t.Errorf("health is %v", resp.GetStatus())
	}
}
