package branches

import (
	"cmp"
	"context"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/smolwc/smolwc/api/smolwcpb"
)

// Services are the methods of services by their full names. It is a registrar of gRPC.
type Services map[string]Service

// A Service is a method of a service.
type Service struct {
	impl   any
	unary  grpc.MethodHandler
	stream grpc.StreamHandler
}

// RegisterService implements grpc.ServiceRegistrar.
func (s Services) RegisterService(d *grpc.ServiceDesc, impl any) {
	for _, m := range d.Methods {
		s["/"+d.ServiceName+"/"+m.MethodName] = Service{impl: impl, unary: m.Handler}
	}
	for _, m := range d.Streams {
		s["/"+d.ServiceName+"/"+m.StreamName] = Service{impl: impl, stream: m.Handler}
	}
}

// Unary makes a call with one answer.
func (s Service) Unary(ctx context.Context, req any) (any, error) {
	return s.unary(s.impl, ctx, func(any) error { return nil }, func(ctx context.Context, _ any, _ *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
		return handle(ctx, req)
	})
}

// A Switch decides who answers a call: the service itself, own, or another one.
type Switch interface {
	Unary(ctx context.Context, method string, req any, own func() (any, error)) (any, error)
	// Stream is for a call with many answers. other makes the call with another service.
	Stream(ctx context.Context, method string, req any, own func() error, other func(context.Context, Service) error) error
}

// Switched is a registrar that asks a switch before each call, behind all interceptors.
// Streams of requests are never asked about.
func Switched(to grpc.ServiceRegistrar, by Switch) grpc.ServiceRegistrar { return switched{to, by} }

type switched struct {
	to grpc.ServiceRegistrar
	by Switch
}

// RegisterService implements grpc.ServiceRegistrar.
func (s switched) RegisterService(d *grpc.ServiceDesc, impl any) {
	own := *d
	own.Methods, own.Streams = nil, nil
	for _, m := range d.Methods {
		m.Handler = s.unary("/"+d.ServiceName+"/"+m.MethodName, m.Handler)
		own.Methods = append(own.Methods, m)
	}
	for _, m := range d.Streams {
		if !m.ClientStreams {
			m.Handler = s.stream("/"+d.ServiceName+"/"+m.StreamName, m.Handler)
		}
		own.Streams = append(own.Streams, m)
	}
	s.to.RegisterService(&own, impl)
}

func (s switched) unary(method string, handler grpc.MethodHandler) grpc.MethodHandler {
	return func(srv any, ctx context.Context, dec func(any) error, interceptor grpc.UnaryServerInterceptor) (any, error) {
		return handler(srv, ctx, dec, func(ctx context.Context, req any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
			choose := func(ctx context.Context, req any) (any, error) {
				return s.by.Unary(ctx, method, req, func() (any, error) { return handle(ctx, req) })
			}
			if interceptor == nil {
				return choose(ctx, req)
			}
			return interceptor(ctx, req, info, choose)
		})
	}
}

func (s switched) stream(method string, handler grpc.StreamHandler) grpc.StreamHandler {
	service, name, _ := strings.Cut(method[1:], "/")
	made := requestOf(protoreflect.FullName(service), protoreflect.Name(name))
	return func(srv any, stream grpc.ServerStream) error {
		req := made.New().Interface()
		if err := stream.RecvMsg(req); err != nil {
			return err
		}
		again := &again{ServerStream: stream, ctx: stream.Context(), req: req}
		return s.by.Stream(stream.Context(), method, req, func() error { return handler(srv, again) }, func(ctx context.Context, other Service) error {
			again.ctx = ctx
			return other.stream(other.impl, again)
		})
	}
}

// requestOf is the type of a method's request. Every service that is registered is in the
// registry of messages.
func requestOf(service protoreflect.FullName, method protoreflect.Name) protoreflect.MessageType {
	d, err := protoregistry.GlobalFiles.FindDescriptorByName(service)
	if err != nil {
		panic(err)
	}
	input := d.(protoreflect.ServiceDescriptor).Methods().ByName(method).Input().FullName()
	t, err := protoregistry.GlobalTypes.FindMessageByName(input)
	if err != nil {
		panic(err)
	}
	return t
}

// An again is a stream whose request was received already.
type again struct {
	grpc.ServerStream
	ctx context.Context
	req proto.Message // nil when it was given
}

// Context implements grpc.ServerStream.
func (a *again) Context() context.Context { return a.ctx }

// RecvMsg implements grpc.ServerStream. The message shares the values of the first one.
func (a *again) RecvMsg(m any) error {
	if a.req == nil {
		return a.ServerStream.RecvMsg(m)
	}
	from, to := a.req.ProtoReflect(), m.(proto.Message).ProtoReflect()
	from.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		to.Set(f, v)
		return true
	})
	to.SetUnknown(from.GetUnknown())
	a.req = nil
	return nil
}

// NameIn is the first full name of a resource, projects/…, in a request; "" without one.
func NameIn(req any) string {
	switch m := req.(type) {
	case interface{ GetTableName() string }:
		if name := m.GetTableName(); name != "" {
			return name
		}
	case interface {
		GetParent() string
		GetInstanceId() string
	}: // makes an instance
		return m.GetParent() + "/instances/" + m.GetInstanceId()
	case *smolwcpb.ApplyBatchRequest:
		for _, e := range m.GetEntries() {
			return cmp.Or(e.GetTableName(), e.GetAuthorizedViewName()) // a batch is of one database
		}
	}
	if m, ok := req.(proto.Message); ok {
		return nameIn(m.ProtoReflect(), 1)
	}
	return ""
}

// nameIn looks at the fields of a message in their order, and at those of its inner messages
// down to a number of levels.
func nameIn(m protoreflect.Message, levels int) string {
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		f, name := fields.Get(i), ""
		switch {
		case f.IsList() || f.IsMap() || !m.Has(f):
		case f.Kind() == protoreflect.StringKind:
			name = strings.TrimPrefix(m.Get(f).String(), "operations/")
		case f.Kind() == protoreflect.MessageKind && levels > 0:
			name = nameIn(m.Get(f).Message(), levels-1)
		}
		if strings.HasPrefix(name, "projects/") {
			return name
		}
	}
	return ""
}
