package admin

import (
	"context"

	"cloud.google.com/go/iam/apiv1/iampb"

	"github.com/smolwc/smolwc/internal/wire"
)

// Policies of access are accepted and remembered; they forbid nothing.

// noPolicy is the etag of a policy that was never set, as in Bigtable.
var noPolicy = []byte("\x00\x20\x01")

// GetIamPolicy returns the policy of a table or an instance, or of a resource of one.
func (s *Admin) GetIamPolicy(_ context.Context, req *iampb.GetIamPolicyRequest) (*iampb.Policy, error) {
	if err := checkResource(req.GetResource()); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.policies.items[req.GetResource()]; p != nil {
		return p, nil
	}
	return &iampb.Policy{Etag: noPolicy}, nil
}

// SetIamPolicy remembers a policy.
func (s *Admin) SetIamPolicy(ctx context.Context, req *iampb.SetIamPolicyRequest) (*iampb.Policy, error) {
	if err := checkResource(req.GetResource()); err != nil {
		return nil, err
	}
	if req.GetPolicy() == nil {
		return nil, wire.Invalid("the request has no policy")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return req.GetPolicy(), s.policies.put(ctx, req.GetResource(), req.GetPolicy())
}

// TestIamPermissions grants all the permissions asked for.
func (s *Admin) TestIamPermissions(_ context.Context, req *iampb.TestIamPermissionsRequest) (*iampb.TestIamPermissionsResponse, error) {
	if err := checkResource(req.GetResource()); err != nil {
		return nil, err
	}
	return &iampb.TestIamPermissionsResponse{Permissions: req.GetPermissions()}, nil
}

func checkResource(name string) error {
	if _, _, ok := wire.CutInstance(name); !ok {
		return wire.Invalid("%q is not the name of a resource of an instance: projects/P/instances/I…", name)
	}
	return nil
}
