package admin

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"strings"

	"cloud.google.com/go/bigtable/admin/apiv2/adminpb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/smolwc/smolwc/api/wire"
	"github.com/smolwc/smolwc/server/internal/catalog"
)

// The note of a table holds its views and is written as a whole, so both are bounded.
const (
	maxViewSize = 16 << 10 // bytes of a view's definition
	maxViews    = 1000     // of a table
)

// CreateAuthorizedView creates a view of a table.
func (s *Admin) CreateAuthorizedView(ctx context.Context, req *adminpb.CreateAuthorizedViewRequest) (*operation, error) {
	t, err := s.Own.ParseTable(req.GetParent())
	if err != nil {
		return nil, err
	}
	id := req.GetAuthorizedViewId()
	if err := wire.CheckID("authorized view", id); err != nil {
		return nil, err
	}
	if req.GetAuthorizedView() == nil {
		return nil, wire.Invalid("the request has no authorized view")
	}
	m := clone(req.GetAuthorizedView())
	m.Name, m.Etag = id, ""
	s.mu.Lock()
	defer s.mu.Unlock()
	switch views := s.Note(t.Stored).Views; {
	case views[id] != nil:
		return nil, status.Errorf(codes.AlreadyExists, "authorized view %q already exists", viewName(t, id))
	case len(views) >= maxViews:
		return nil, status.Errorf(codes.FailedPrecondition, "table %q has %d authorized views; it may have up to %d", t, len(views), maxViews)
	}
	if err := s.putView(ctx, t, m); err != nil {
		return nil, err
	}
	return s.done(t.In, viewMessage(t, m, adminpb.AuthorizedView_FULL),
		&adminpb.CreateAuthorizedViewMetadata{OriginalRequest: req, RequestTime: now(), FinishTime: now()})
}

func viewName(t wire.Table, id string) string { return t.String() + "/authorizedViews/" + id }

// putView adds or replaces a view; s.mu is held.
func (s *Admin) putView(ctx context.Context, t wire.Table, m *adminpb.AuthorizedView) error {
	declared, ok := s.DB.LookupTable(t.Stored)
	if !ok {
		return t.NotFound()
	}
	if m.GetSubsetView() == nil {
		return wire.Invalid("the authorized view has no subset_view")
	}
	if n := proto.Size(m); n > maxViewSize {
		return wire.Invalid("the authorized view has %d bytes; it may have up to %d", n, maxViewSize)
	}
	for family := range m.GetSubsetView().GetFamilySubsets() {
		if _, ok := declared.Family(family); !ok {
			return wire.Invalid("the authorized view has the column family %q, and the table has not", family)
		}
	}
	return catalog.Status(ctx, s.SetNote(ctx, t.Stored, s.Note(t.Stored).WithView(m.GetName(), catalog.NewView(m))))
}

// view finds a view; s.mu is held.
func (s *Admin) view(name string) (wire.Table, *adminpb.AuthorizedView, error) {
	found, err := s.LookUpView(name)
	if err != nil {
		return wire.Table{}, nil, err
	}
	return found.Name, found.View.Message, nil
}

// viewMessage is a view as clients see it.
func viewMessage(t wire.Table, m *adminpb.AuthorizedView, detail adminpb.AuthorizedView_ResponseView) *adminpb.AuthorizedView {
	shown := &adminpb.AuthorizedView{Name: viewName(t, m.GetName())}
	if detail != adminpb.AuthorizedView_NAME_ONLY {
		shown.Etag, shown.DeletionProtection = viewEtag(m), m.GetDeletionProtection()
	}
	if detail == adminpb.AuthorizedView_FULL {
		shown.AuthorizedView = m.GetAuthorizedView()
	}
	return shown
}

// viewEtag differs between two definitions of a view.
func viewEtag(m *adminpb.AuthorizedView) string {
	b, _ := proto.MarshalOptions{Deterministic: true}.Marshal(m) // it was marshalled before
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:8])
}

func checkViewEtag(name string, m *adminpb.AuthorizedView, etag string) error {
	if etag != "" && etag != viewEtag(m) {
		return status.Errorf(codes.Aborted, "authorized view %q has changed: its etag is %q, and the request has %q", name, viewEtag(m), etag)
	}
	return nil
}

func checkViewDetail(detail adminpb.AuthorizedView_ResponseView) error {
	if _, ok := adminpb.AuthorizedView_ResponseView_name[int32(detail)]; !ok {
		return wire.Invalid("unknown view %v of an authorized view", detail)
	}
	return nil
}

// GetAuthorizedView returns a view, in full unless the request says otherwise:
// Bigtable's Go client does not say it and expects the definition.
func (s *Admin) GetAuthorizedView(_ context.Context, req *adminpb.GetAuthorizedViewRequest) (*adminpb.AuthorizedView, error) {
	if err := checkViewDetail(req.GetView()); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	t, m, err := s.view(req.GetName())
	if err != nil {
		return nil, err
	}
	return viewMessage(t, m, cmp.Or(req.GetView(), adminpb.AuthorizedView_FULL)), nil
}

// ListAuthorizedViews lists the views of a table, sorted by their ids, and in pages if a
// page size is given.
func (s *Admin) ListAuthorizedViews(_ context.Context, req *adminpb.ListAuthorizedViewsRequest) (*adminpb.ListAuthorizedViewsResponse, error) {
	if err := checkViewDetail(req.GetView()); err != nil {
		return nil, err
	}
	t, err := s.LookUp(req.GetParent())
	if err != nil {
		return nil, err
	}
	views := s.Note(t.Name.Stored).Views
	page, next, err := pageOf(slices.Sorted(maps.Keys(views)), req.GetPageSize(), req.GetPageToken())
	if err != nil {
		return nil, err
	}
	resp := &adminpb.ListAuthorizedViewsResponse{NextPageToken: next}
	for _, id := range page {
		resp.AuthorizedViews = append(resp.AuthorizedViews, viewMessage(t.Name, views[id].Message, cmp.Or(req.GetView(), adminpb.AuthorizedView_NAME_ONLY)))
	}
	return resp, nil
}

// UpdateAuthorizedView changes the fields that update_mask names; without a mask, the
// fields set in the request.
func (s *Admin) UpdateAuthorizedView(ctx context.Context, req *adminpb.UpdateAuthorizedViewRequest) (*operation, error) {
	from := req.GetAuthorizedView()
	s.mu.Lock()
	defer s.mu.Unlock()
	t, old, err := s.view(from.GetName())
	if err != nil {
		return nil, err
	}
	if err := checkViewEtag(from.GetName(), old, from.GetEtag()); err != nil {
		return nil, err
	}
	m := clone(old)
	for _, path := range viewPaths(req) {
		field, _, _ := strings.Cut(path, ".")
		if !slices.Contains(viewFields, field) || !copyPath(m.ProtoReflect(), from.ProtoReflect(), path) {
			return nil, wire.Invalid("incorrect path in update_mask; %q cannot be updated", path)
		}
	}
	if err := s.putView(ctx, t, m); err != nil {
		return nil, err
	}
	return s.done(t.In, viewMessage(t, m, adminpb.AuthorizedView_FULL),
		&adminpb.UpdateAuthorizedViewMetadata{OriginalRequest: req, RequestTime: now(), FinishTime: now()})
}

// viewFields can be updated.
var viewFields = []string{"deletion_protection", "subset_view"}

// viewPaths are the fields to update.
func viewPaths(req *adminpb.UpdateAuthorizedViewRequest) []string {
	paths := req.GetUpdateMask().GetPaths()
	switch from := req.GetAuthorizedView(); {
	case slices.Equal(paths, []string{"*"}):
		return viewFields
	case len(paths) > 0:
		return paths
	default:
		if from.GetDeletionProtection() {
			paths = append(paths, "deletion_protection")
		}
		if from.GetSubsetView() != nil {
			paths = append(paths, "subset_view")
		}
		return paths
	}
}

// DeleteAuthorizedView deletes a view. The table's rows stay.
func (s *Admin) DeleteAuthorizedView(ctx context.Context, req *adminpb.DeleteAuthorizedViewRequest) (*emptypb.Empty, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, m, err := s.view(req.GetName())
	if err != nil {
		return nil, err
	}
	if err := checkViewEtag(req.GetName(), m, req.GetEtag()); err != nil {
		return nil, err
	}
	if m.GetDeletionProtection() {
		return nil, status.Errorf(codes.FailedPrecondition, "authorized view %q is protected from deletion", req.GetName())
	}
	return &emptypb.Empty{}, catalog.Status(ctx, s.SetNote(ctx, t.Stored, s.Note(t.Stored).WithView(m.GetName(), nil)))
}

// checkDeletable refuses to delete a table if it or one of its views is protected.
func (s *Admin) checkDeletable(t wire.Table) error {
	if err := s.checkUnprotected(t); err != nil {
		return err
	}
	views := s.Note(t.Stored).Views
	for _, id := range slices.Sorted(maps.Keys(views)) {
		if views[id].Message.GetDeletionProtection() {
			return status.Errorf(codes.FailedPrecondition, "table %q has the authorized view %q, which is protected from deletion", t, id)
		}
	}
	return nil
}
