package admin

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"

	"cloud.google.com/go/iam/apiv1/iampb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/smolwc/smolwc/api/wire"
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
	return s.policy(req.GetResource()), nil
}

// policy is the policy of a resource; s.mu is held.
func (s *Admin) policy(resource string) *iampb.Policy {
	if p := s.policies.items[resource]; p != nil {
		return p
	}
	return &iampb.Policy{Etag: noPolicy}
}

// SetIamPolicy remembers a policy. The request's etag, if set, must match the policy that
// it replaces.
func (s *Admin) SetIamPolicy(ctx context.Context, req *iampb.SetIamPolicyRequest) (*iampb.Policy, error) {
	if err := checkResource(req.GetResource()); err != nil {
		return nil, err
	}
	if req.GetPolicy() == nil {
		return nil, wire.Invalid("the request has no policy")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	old, next := s.policy(req.GetResource()), clone(req.GetPolicy())
	if given := next.GetEtag(); len(given) > 0 && !bytes.Equal(given, old.GetEtag()) {
		return nil, status.Errorf(codes.Aborted, "the policy of %s has changed: its etag is %q, and the request has %q", req.GetResource(), old.GetEtag(), given)
	}
	next.Etag = etagAfter(old.GetEtag(), next)
	return next, s.policies.put(ctx, req.GetResource(), next)
}

// etagAfter is the etag of a policy that replaces the one with an etag.
func etagAfter(old []byte, p *iampb.Policy) []byte {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %v", old, p))
	return sum[:8]
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
