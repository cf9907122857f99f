package admin

import (
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
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/smolwc/smolwc/api/wire"
	"github.com/smolwc/smolwc/server/internal/access"
	"github.com/smolwc/smolwc/server/internal/catalog"
	"github.com/smolwc/smolwc/views"
)

// A sqlView is the message of a logical or a materialized view of an instance.
type sqlView interface {
	proto.Message
	GetName() string
	GetQuery() string
	GetEtag() string
	GetDeletionProtection() bool
}

// viewOf is the view of a message, by its full name.
func viewOf(name string, m sqlView) views.View {
	_, materialized := m.(*adminpb.MaterializedView)
	in, rest, _ := wire.CutInstance(name)
	_, id, _ := strings.Cut(rest, "/")
	return views.View{Instance: in.String(), Name: id, SQL: m.GetQuery(), Materialized: materialized, Protected: m.GetDeletionProtection()}
}

// checkNewView checks what is common to requests for new views, and returns the view's full
// name.
func checkNewView(parent, kind, id string, m sqlView) (in wire.Instance, name string, err error) {
	if in, err = wire.ParseInstance(parent); err != nil {
		return in, "", err
	}
	if !m.ProtoReflect().IsValid() {
		return in, "", wire.Invalid("the request has no view")
	}
	return in, in.String() + "/" + kind + "/" + id, nil
}

// createView defines a view, and changeView changes it.
func (s *Admin) createView(ctx context.Context, v views.View) error {
	return catalog.OfViews(ctx, s.views.Create(withReadable(ctx), v))
}

func (s *Admin) changeView(ctx context.Context, v views.View) error {
	return catalog.OfViews(ctx, s.views.Alter(withReadable(ctx), v))
}

// withReadable is a context for calls whose errors name only tables that the caller may read.
func withReadable(ctx context.Context) context.Context {
	return views.WithReadable(ctx, func(stored string) bool { return access.MayRead(ctx, stored) })
}

// messages are the views of a kind, by their full names.
func messages[M sqlView](s *Admin, message func(v views.View) M, materialized bool) map[string]M {
	all := map[string]M{}
	for _, v := range s.views.All() {
		if v.Materialized == materialized {
			all[v.Full()] = message(v)
		}
	}
	return all
}

func logicalMessage(v views.View) *adminpb.LogicalView {
	return &adminpb.LogicalView{Query: v.SQL, DeletionProtection: v.Protected}
}

func materializedMessage(v views.View) *adminpb.MaterializedView {
	return &adminpb.MaterializedView{Query: v.SQL, DeletionProtection: v.Protected}
}

// sqlEtag differs between two states of a view.
func sqlEtag(m sqlView) string {
	sum := sha256.Sum256([]byte(m.GetQuery() + map[bool]string{true: "\x00protected"}[m.GetDeletionProtection()]))
	return hex.EncodeToString(sum[:8])
}

// shownView is a view as clients see it.
func shownView[M sqlView](name string, m M) M {
	shown := clone(m)
	fields := shown.ProtoReflect().Descriptor().Fields()
	for field, text := range map[string]string{"name": name, "etag": sqlEtag(m)} {
		shown.ProtoReflect().Set(fields.ByName(protoreflect.Name(field)), protoreflect.ValueOfString(text))
	}
	return shown
}

func checkSQLEtag(name string, m sqlView, etag string) error {
	if etag != "" && etag != sqlEtag(m) {
		return status.Errorf(codes.Aborted, "view %q has changed: its etag is %q, and the request has %q", name, sqlEtag(m), etag)
	}
	return nil
}

func checkSQLDeletable(name string, m sqlView, etag string) error {
	if m.GetDeletionProtection() {
		return status.Errorf(codes.FailedPrecondition, "view %q is protected from deletion", name)
	}
	return checkSQLEtag(name, m, etag)
}

// updatedView returns a view with the fields of from that a mask names; without a mask,
// all that are set in from.
func updatedView[M sqlView](old, from M, paths []string) (M, error) {
	m := clone(old)
	if len(paths) == 0 {
		paths = []string{"deletion_protection"}
		if from.GetQuery() != "" {
			paths = append(paths, "query")
		}
	}
	if slices.Equal(paths, []string{"*"}) {
		paths = []string{"query", "deletion_protection"}
	}
	for _, path := range paths {
		if path != "query" && path != "deletion_protection" || !copyPath(m.ProtoReflect(), from.ProtoReflect(), path) {
			return m, wire.Invalid("incorrect path in update_mask; %q cannot be updated", path)
		}
	}
	return m, checkSQLEtag(from.GetName(), old, from.GetEtag())
}

// viewsOf is a page of the views of an instance, by their names.
func viewsOf[M any](all map[string]M, parent string, size int32, token string) (page []string, next string, err error) {
	in, err := wire.ParseInstance(parent)
	if err != nil && !strings.HasSuffix(parent, "/instances/-") {
		return nil, "", err
	}
	var names []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		of, _, _ := wire.CutInstance(name)
		if of == in || in.ID == "-" && of.Project == in.Project {
			names = append(names, name)
		}
	}
	return pageOf(names, size, token)
}

// CreateLogicalView saves a query under a name.
func (s *Admin) CreateLogicalView(ctx context.Context, req *adminpb.CreateLogicalViewRequest) (*operation, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	in, name, err := checkNewView(req.GetParent(), "logicalViews", req.GetLogicalViewId(), req.GetLogicalView())
	if err != nil {
		return nil, err
	}
	v := viewOf(name, req.GetLogicalView())
	if err := s.createView(ctx, v); err != nil {
		return nil, err
	}
	return s.done(in, shownView(name, logicalMessage(v)), &adminpb.CreateLogicalViewMetadata{OriginalRequest: req, StartTime: now(), EndTime: now()})
}

func (s *Admin) logicalView(name string) (*adminpb.LogicalView, error) {
	v, ok := s.views.Get(viewOf(name, (*adminpb.LogicalView)(nil)))
	if !ok || v.Full() != name {
		return nil, status.Errorf(codes.NotFound, "logical view %q not found", name)
	}
	return logicalMessage(v), nil
}

// GetLogicalView returns a logical view.
func (s *Admin) GetLogicalView(_ context.Context, req *adminpb.GetLogicalViewRequest) (*adminpb.LogicalView, error) {
	m, err := s.logicalView(req.GetName())
	if err != nil {
		return nil, err
	}
	return shownView(req.GetName(), m), nil
}

// ListLogicalViews lists the logical views of an instance, sorted by their names.
func (s *Admin) ListLogicalViews(_ context.Context, req *adminpb.ListLogicalViewsRequest) (*adminpb.ListLogicalViewsResponse, error) {
	all := messages(s, logicalMessage, false)
	page, next, err := viewsOf(all, req.GetParent(), req.GetPageSize(), req.GetPageToken())
	if err != nil {
		return nil, err
	}
	resp := &adminpb.ListLogicalViewsResponse{NextPageToken: next}
	for _, name := range page {
		resp.LogicalViews = append(resp.LogicalViews, shownView(name, all[name]))
	}
	return resp, nil
}

// UpdateLogicalView changes the query or the protection of a logical view.
func (s *Admin) UpdateLogicalView(ctx context.Context, req *adminpb.UpdateLogicalViewRequest) (*operation, error) {
	name := req.GetLogicalView().GetName()
	s.mu.Lock()
	defer s.mu.Unlock()
	old, err := s.logicalView(name)
	if err != nil {
		return nil, err
	}
	m, err := updatedView(old, req.GetLogicalView(), req.GetUpdateMask().GetPaths())
	if err != nil {
		return nil, err
	}
	if err := s.changeView(ctx, viewOf(name, m)); err != nil {
		return nil, err
	}
	in, _, _ := wire.CutInstance(name)
	return s.done(in, shownView(name, m), &adminpb.UpdateLogicalViewMetadata{OriginalRequest: req, StartTime: now(), EndTime: now()})
}

// DeleteLogicalView deletes a logical view.
func (s *Admin) DeleteLogicalView(ctx context.Context, req *adminpb.DeleteLogicalViewRequest) (*emptypb.Empty, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m, err := s.logicalView(req.GetName())
	if err != nil {
		return nil, err
	}
	return s.dropView(ctx, req.GetName(), m, req.GetEtag())
}

// dropView deletes a view if it is not protected and its etag matches; s.mu is held.
func (s *Admin) dropView(ctx context.Context, name string, m sqlView, etag string) (*emptypb.Empty, error) {
	if err := checkSQLDeletable(name, m, etag); err != nil {
		return nil, err
	}
	return &emptypb.Empty{}, catalog.OfViews(ctx, s.views.Drop(ctx, viewOf(name, m)))
}

// CreateMaterializedView defines a materialized view. Reads of it wait until the table
// has been read.
func (s *Admin) CreateMaterializedView(ctx context.Context, req *adminpb.CreateMaterializedViewRequest) (*operation, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	in, name, err := checkNewView(req.GetParent(), "materializedViews", req.GetMaterializedViewId(), req.GetMaterializedView())
	if err != nil {
		return nil, err
	}
	v := viewOf(name, req.GetMaterializedView())
	if err := s.createView(ctx, v); err != nil {
		return nil, err
	}
	return s.done(in, shownView(name, materializedMessage(v)), &adminpb.CreateMaterializedViewMetadata{OriginalRequest: req, StartTime: now(), EndTime: now()})
}

func (s *Admin) materializedView(name string) (*adminpb.MaterializedView, error) {
	v, ok := s.views.Get(viewOf(name, (*adminpb.MaterializedView)(nil)))
	if !ok || v.Full() != name {
		return nil, status.Errorf(codes.NotFound, "materialized view %q not found", name)
	}
	return materializedMessage(v), nil
}

// GetMaterializedView returns a materialized view.
func (s *Admin) GetMaterializedView(_ context.Context, req *adminpb.GetMaterializedViewRequest) (*adminpb.MaterializedView, error) {
	m, err := s.materializedView(req.GetName())
	if err != nil {
		return nil, err
	}
	return shownView(req.GetName(), m), nil
}

// ListMaterializedViews lists the materialized views of an instance, sorted by their names.
func (s *Admin) ListMaterializedViews(_ context.Context, req *adminpb.ListMaterializedViewsRequest) (*adminpb.ListMaterializedViewsResponse, error) {
	all := messages(s, materializedMessage, true)
	page, next, err := viewsOf(all, req.GetParent(), req.GetPageSize(), req.GetPageToken())
	if err != nil {
		return nil, err
	}
	resp := &adminpb.ListMaterializedViewsResponse{NextPageToken: next}
	for _, name := range page {
		resp.MaterializedViews = append(resp.MaterializedViews, shownView(name, all[name]))
	}
	return resp, nil
}

// UpdateMaterializedView changes the protection of a materialized view. Its query stays.
func (s *Admin) UpdateMaterializedView(ctx context.Context, req *adminpb.UpdateMaterializedViewRequest) (*operation, error) {
	name := req.GetMaterializedView().GetName()
	s.mu.Lock()
	defer s.mu.Unlock()
	old, err := s.materializedView(name)
	if err != nil {
		return nil, err
	}
	m, err := updatedView(old, req.GetMaterializedView(), req.GetUpdateMask().GetPaths())
	if err != nil {
		return nil, err
	}
	if err := s.changeView(ctx, viewOf(name, m)); err != nil {
		return nil, err
	}
	in, _, _ := wire.CutInstance(name)
	return s.done(in, shownView(name, m), &adminpb.UpdateMaterializedViewMetadata{OriginalRequest: req, StartTime: now(), EndTime: now()})
}

// DeleteMaterializedView deletes a materialized view and its rows.
func (s *Admin) DeleteMaterializedView(ctx context.Context, req *adminpb.DeleteMaterializedViewRequest) (*emptypb.Empty, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m, err := s.materializedView(req.GetName())
	if err != nil {
		return nil, err
	}
	return s.dropView(ctx, req.GetName(), m, req.GetEtag())
}

// checkUnread refuses to delete a table that materialized views read.
func (s *Admin) checkUnread(t wire.Table) error {
	if readers := s.views.Readers(t.Stored); len(readers) > 0 {
		return status.Errorf(codes.FailedPrecondition, "table %q is read by the materialized view %q; delete the view first", t, readers[0])
	}
	return nil
}

// deleteViewsOf deletes the views of an instance, or refuses to; s.mu is held.
func (s *Admin) deleteViewsOf(ctx context.Context, in wire.Instance) error {
	var all []views.View
	for _, v := range s.views.All() {
		if v.Instance != in.String() {
			continue
		}
		if v.Protected {
			return status.Errorf(codes.FailedPrecondition, "view %q is protected from deletion", v.Full())
		}
		all = append(all, v)
	}
	for _, v := range all {
		if err := s.views.Drop(ctx, v); err != nil {
			return catalog.OfViews(ctx, err)
		}
	}
	return nil
}

// KeepViews keeps the rows of materialized views, until stop is called; stop waits for its
// end.
func (s *Admin) KeepViews(ctx context.Context) (stop func()) {
	return beside(ctx, func(ctx context.Context) { s.views.Keep(ctx, s.logger) })
}
