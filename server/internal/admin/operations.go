package admin

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"cloud.google.com/go/longrunning/autogen/longrunningpb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/smolwc/smolwc/api/wire"
)

// An operation is the result of calls that may take long in Bigtable. Here it is
// done when the call returns.
type operation = longrunningpb.Operation

// operations are the latest operations, for clients that ask for them later.
type operations struct {
	mu    sync.Mutex
	count int
	last  []*operation // oldest first
	bytes int          // of last
}

// The bounds of the operations that are remembered. Schema bundles are large.
const (
	maxOperations     = 1000
	maxOperationBytes = 16 << 20
)

func now() *timestamppb.Timestamp { return timestamppb.Now() }

// done is the operation of a call with a result.
func (s *Admin) done(in wire.Instance, result, metadata proto.Message) (*operation, error) {
	response, err := anypb.New(result)
	if err != nil {
		return nil, err
	}
	about, err := anypb.New(metadata)
	if err != nil {
		return nil, err
	}
	o := &s.operations
	o.mu.Lock()
	defer o.mu.Unlock()
	o.count++
	op := &operation{
		Name:     fmt.Sprintf("operations/%s/operations/%d", in, o.count),
		Done:     true,
		Metadata: about,
		Result:   &longrunningpb.Operation_Response{Response: response},
	}
	o.last = append(o.last, op)
	o.bytes += proto.Size(op)
	for len(o.last) > 1 && (len(o.last) > maxOperations || o.bytes > maxOperationBytes) {
		o.forget(0)
	}
	return op, nil
}

func (o *operations) forget(i int) {
	o.bytes -= proto.Size(o.last[i])
	o.last = slices.Delete(o.last, i, i+1)
}

func (s *Admin) findOperation(name string) (*operation, error) {
	s.operations.mu.Lock()
	defer s.operations.mu.Unlock()
	i := slices.IndexFunc(s.operations.last, func(op *operation) bool { return op.Name == name })
	if i < 0 {
		return nil, status.Errorf(codes.NotFound, "operation %q not found", name)
	}
	return s.operations.last[i], nil
}

// GetOperation returns an operation that is remembered.
func (s *Admin) GetOperation(_ context.Context, req *longrunningpb.GetOperationRequest) (*operation, error) {
	return s.findOperation(req.GetName())
}

// WaitOperation does not wait: the operation is done.
func (s *Admin) WaitOperation(_ context.Context, req *longrunningpb.WaitOperationRequest) (*operation, error) {
	return s.findOperation(req.GetName())
}

// CancelOperation does nothing: the operation is done.
func (s *Admin) CancelOperation(_ context.Context, req *longrunningpb.CancelOperationRequest) (*emptypb.Empty, error) {
	_, err := s.findOperation(req.GetName())
	return &emptypb.Empty{}, err
}

// DeleteOperation forgets an operation.
func (s *Admin) DeleteOperation(_ context.Context, req *longrunningpb.DeleteOperationRequest) (*emptypb.Empty, error) {
	op, err := s.findOperation(req.GetName())
	if err != nil {
		return nil, err
	}
	s.operations.mu.Lock()
	defer s.operations.mu.Unlock()
	if i := slices.Index(s.operations.last, op); i >= 0 {
		s.operations.forget(i)
	}
	return &emptypb.Empty{}, nil
}

// ListOperations lists the remembered operations below a name, all in one page.
func (s *Admin) ListOperations(_ context.Context, req *longrunningpb.ListOperationsRequest) (*longrunningpb.ListOperationsResponse, error) {
	if req.GetPageToken() != "" {
		return nil, wire.Invalid("page_token %q was not given out by this server", req.GetPageToken())
	}
	below := strings.TrimSuffix(req.GetName(), "/")
	if below != "" {
		below += "/"
	}
	s.operations.mu.Lock()
	defer s.operations.mu.Unlock()
	resp := &longrunningpb.ListOperationsResponse{}
	for _, op := range s.operations.last {
		if strings.HasPrefix(op.Name, below) {
			resp.Operations = append(resp.Operations, op)
		}
	}
	return resp, nil
}
