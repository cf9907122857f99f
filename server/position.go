package server

import (
	"context"
	"time"

	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"github.com/smolwc/smolwc/api/smolwcpb"
	"github.com/smolwc/smolwc/api/standbys"
	"github.com/smolwc/smolwc/api/wire"
	"github.com/smolwc/smolwc/server/internal/access"
)

// mostAwait bounds how long a read waits for a position.
const mostAwait = 10 * time.Second

// A positions makes calls wait for another call's writes, perhaps at another server,
// and returns the position of a call's writes. See docs/standby.md.
type positions struct{ standbys standbys.Service }

// writes are the calls that write rows, or may do so.
var writes = map[string]bool{
	bigtablepb.Bigtable_MutateRow_FullMethodName:          true,
	bigtablepb.Bigtable_MutateRows_FullMethodName:         true,
	bigtablepb.Bigtable_CheckAndMutateRow_FullMethodName:  true,
	bigtablepb.Bigtable_ReadModifyWriteRow_FullMethodName: true,
	smolwcpb.Batches_ApplyBatch_FullMethodName:            true,
	smolwcpb.Statements_RunStatement_FullMethodName:       true,
}

// reads are the calls that read rows, or may do so without a write. Where writes wait
// strictly, they do too. A CheckAndMutateRow waits like a write, also when it writes nothing.
var reads = map[string]bool{
	bigtablepb.Bigtable_ReadRows_FullMethodName:     true,
	bigtablepb.Bigtable_ExecuteQuery_FullMethodName: true,
	smolwcpb.Statements_RunStatement_FullMethodName: true,
}

// begin waits for the position that a call names, and reads how it wants to write. It
// tells the client if another server takes the writes.
func (p positions) begin(ctx context.Context, method string) (context.Context, error) {
	if !p.standbys.Leads() {
		if err := grpc.SetHeader(ctx, metadata.Pairs(wire.LeaderHeader, p.standbys.Leader())); err != nil {
			return ctx, err
		}
	}
	if access.Free(method) {
		return ctx, p.introduce(ctx)
	}
	for _, at := range wire.Header(ctx, wire.PositionHeader) {
		await, cancel := context.WithTimeout(ctx, mostAwait)
		defer cancel()
		if err := p.standbys.Await(await, at); err != nil {
			return ctx, err
		}
	}
	for _, mode := range wire.Header(ctx, wire.SemiSyncHeader) {
		var err error
		if ctx, err = p.standbys.SemiSync(ctx, mode); err != nil {
			return ctx, err
		}
	}
	if writes[method] {
		ctx = p.standbys.Record(ctx)
	}
	if reads[method] {
		ctx = p.standbys.Confirm(ctx)
	}
	return ctx, nil
}

// introduce says with a health check what routers and clients with several addresses need
// to know: the epoch, and a standby's lag.
func (p positions) introduce(ctx context.Context) error {
	md := metadata.MD{}
	if at := p.standbys.Position(ctx); at != "" {
		md.Set(wire.PositionHeader, at)
	}
	is, err := p.standbys.ListReplicas(ctx, new(smolwcpb.ListReplicasRequest))
	if err == nil && is.GetStandby() {
		md.Set(wire.LagHeader, lagOf(is.GetLagMicros()).String())
	}
	return grpc.SetHeader(ctx, md)
}

// trailer goes to the client with the answer to a call.
func (p positions) trailer(ctx context.Context, method string) metadata.MD {
	if !writes[method] {
		return nil
	}
	at := p.standbys.Position(ctx)
	if at == "" {
		return nil
	}
	return metadata.Pairs(wire.PositionHeader, at)
}

func (p positions) unary(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	ctx, err := p.begin(ctx, info.FullMethod)
	if err != nil {
		return nil, err
	}
	resp, err := handler(ctx, req)
	if t := p.trailer(ctx, info.FullMethod); t != nil && err == nil {
		err = grpc.SetTrailer(ctx, t)
	}
	return resp, err
}

func (p positions) stream(srv any, inner grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	ctx, err := p.begin(inner.Context(), info.FullMethod)
	if err != nil {
		return err
	}
	stream := inner
	if ctx != inner.Context() {
		stream = &positionedStream{inner, ctx}
	}
	err = handler(srv, stream)
	if t := p.trailer(ctx, info.FullMethod); t != nil && err == nil {
		inner.SetTrailer(t)
	}
	return err
}

// A positionedStream is a stream with another context.
type positionedStream struct {
	grpc.ServerStream
	ctx context.Context
}

// Context implements [grpc.ServerStream].
func (s *positionedStream) Context() context.Context { return s.ctx }
