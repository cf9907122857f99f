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

// withReadable is a context for calls whose errors name only tables that the caller may read.
func withReadable(ctx context.Context) context.Context {
	return views.WithReadable(ctx, func(stored string) bool { return access.MayRead(ctx, stored) })
}

// A viewKind is the logical views, or the materialized ones; M is their message.
type viewKind[M sqlView] struct {
	collection string // in their names
	called     string
	message    func(v views.View) M
}

var (
	logical = viewKind[*adminpb.LogicalView]{"logicalViews", "logical view", func(v views.View) *adminpb.LogicalView {
		return &adminpb.LogicalView{Query: v.SQL, DeletionProtection: v.Protected}
	}}
	materialized = viewKind[*adminpb.MaterializedView]{"materializedViews", "materialized view", func(v views.View) *adminpb.MaterializedView {
		return &adminpb.MaterializedView{Query: v.SQL, DeletionProtection: v.Protected}
	}}
)

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

// find returns the message of a view.
func (k *viewKind[M]) find(s *Admin, name string) (m M, err error) {
	v, ok := s.views.Get(viewOf(name, m))
	if !ok || v.Full() != name {
		return m, status.Errorf(codes.NotFound, "%s %q not found", k.called, name)
	}
	return k.message(v), nil
}

// create defines a view; s.mu is held.
func (k *viewKind[M]) create(ctx context.Context, s *Admin, parent, id string, m M) (in wire.Instance, shown M, err error) {
	if in, err = wire.ParseInstance(parent); err != nil {
		return in, shown, err
	}
	if !m.ProtoReflect().IsValid() {
		return in, shown, wire.Invalid("the request has no view")
	}
	name := in.String() + "/" + k.collection + "/" + id
	v := viewOf(name, m)
	if err := s.views.Create(withReadable(ctx), v); err != nil {
		return in, shown, catalog.OfViews(ctx, err)
	}
	return in, shownView(name, k.message(v)), nil
}

// get returns a view as clients see it.
func (k *viewKind[M]) get(s *Admin, name string) (shown M, err error) {
	m, err := k.find(s, name)
	if err != nil {
		return shown, err
	}
	return shownView(name, m), nil
}

// list returns a page of the views of an instance, sorted by their names.
func (k *viewKind[M]) list(s *Admin, parent string, size int32, token string) (page []M, next string, err error) {
	in, err := wire.ParseInstance(parent)
	if err != nil && !strings.HasSuffix(parent, "/instances/-") {
		return nil, "", err
	}
	var none M
	all := map[string]M{}
	for _, v := range s.views.All() {
		name := v.Full()
		of, _, _ := wire.CutInstance(name)
		if v.Materialized == viewOf(name, none).Materialized && (of == in || in.ID == "-" && of.Project == in.Project) {
			all[name] = k.message(v)
		}
	}
	names, next, err := pageOf(slices.Sorted(maps.Keys(all)), size, token)
	for _, name := range names {
		page = append(page, shownView(name, all[name]))
	}
	return page, next, err
}

// update changes the fields of a view that a mask names; s.mu is held.
func (k *viewKind[M]) update(ctx context.Context, s *Admin, from M, paths []string) (in wire.Instance, shown M, err error) {
	name := from.GetName()
	old, err := k.find(s, name)
	if err != nil {
		return in, shown, err
	}
	m, err := updatedView(old, from, paths)
	if err != nil {
		return in, shown, err
	}
	if err := s.views.Alter(withReadable(ctx), viewOf(name, m)); err != nil {
		return in, shown, catalog.OfViews(ctx, err)
	}
	in, _, _ = wire.CutInstance(name)
	return in, shownView(name, m), nil
}

// delete deletes a view if it is not protected and its etag matches.
func (k *viewKind[M]) delete(ctx context.Context, s *Admin, name, etag string) (*emptypb.Empty, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m, err := k.find(s, name)
	if err != nil {
		return nil, err
	}
	if m.GetDeletionProtection() {
		return nil, status.Errorf(codes.FailedPrecondition, "view %q is protected from deletion", name)
	}
	if err := checkSQLEtag(name, m, etag); err != nil {
		return nil, err
	}
	return &emptypb.Empty{}, catalog.OfViews(ctx, s.views.Drop(ctx, viewOf(name, m)))
}

// CreateLogicalView saves a query under a name.
func (s *Admin) CreateLogicalView(ctx context.Context, req *adminpb.CreateLogicalViewRequest) (*operation, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	in, v, err := logical.create(ctx, s, req.GetParent(), req.GetLogicalViewId(), req.GetLogicalView())
	if err != nil {
		return nil, err
	}
	return s.done(in, v, &adminpb.CreateLogicalViewMetadata{OriginalRequest: req, StartTime: now(), EndTime: now()})
}

// GetLogicalView returns a logical view.
func (s *Admin) GetLogicalView(_ context.Context, req *adminpb.GetLogicalViewRequest) (*adminpb.LogicalView, error) {
	return logical.get(s, req.GetName())
}

// ListLogicalViews lists the logical views of an instance, sorted by their names.
func (s *Admin) ListLogicalViews(_ context.Context, req *adminpb.ListLogicalViewsRequest) (*adminpb.ListLogicalViewsResponse, error) {
	page, next, err := logical.list(s, req.GetParent(), req.GetPageSize(), req.GetPageToken())
	if err != nil {
		return nil, err
	}
	return &adminpb.ListLogicalViewsResponse{LogicalViews: page, NextPageToken: next}, nil
}

// UpdateLogicalView changes the query or the protection of a logical view.
func (s *Admin) UpdateLogicalView(ctx context.Context, req *adminpb.UpdateLogicalViewRequest) (*operation, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	in, v, err := logical.update(ctx, s, req.GetLogicalView(), req.GetUpdateMask().GetPaths())
	if err != nil {
		return nil, err
	}
	return s.done(in, v, &adminpb.UpdateLogicalViewMetadata{OriginalRequest: req, StartTime: now(), EndTime: now()})
}

// DeleteLogicalView deletes a logical view.
func (s *Admin) DeleteLogicalView(ctx context.Context, req *adminpb.DeleteLogicalViewRequest) (*emptypb.Empty, error) {
	return logical.delete(ctx, s, req.GetName(), req.GetEtag())
}

// CreateMaterializedView defines a materialized view. Reads of it wait until the table
// has been read.
func (s *Admin) CreateMaterializedView(ctx context.Context, req *adminpb.CreateMaterializedViewRequest) (*operation, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	in, v, err := materialized.create(ctx, s, req.GetParent(), req.GetMaterializedViewId(), req.GetMaterializedView())
	if err != nil {
		return nil, err
	}
	return s.done(in, v, &adminpb.CreateMaterializedViewMetadata{OriginalRequest: req, StartTime: now(), EndTime: now()})
}

// GetMaterializedView returns a materialized view.
func (s *Admin) GetMaterializedView(_ context.Context, req *adminpb.GetMaterializedViewRequest) (*adminpb.MaterializedView, error) {
	return materialized.get(s, req.GetName())
}

// ListMaterializedViews lists the materialized views of an instance, sorted by their names.
func (s *Admin) ListMaterializedViews(_ context.Context, req *adminpb.ListMaterializedViewsRequest) (*adminpb.ListMaterializedViewsResponse, error) {
	page, next, err := materialized.list(s, req.GetParent(), req.GetPageSize(), req.GetPageToken())
	if err != nil {
		return nil, err
	}
	return &adminpb.ListMaterializedViewsResponse{MaterializedViews: page, NextPageToken: next}, nil
}

// UpdateMaterializedView changes the protection of a materialized view. Its query stays.
func (s *Admin) UpdateMaterializedView(ctx context.Context, req *adminpb.UpdateMaterializedViewRequest) (*operation, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	in, v, err := materialized.update(ctx, s, req.GetMaterializedView(), req.GetUpdateMask().GetPaths())
	if err != nil {
		return nil, err
	}
	return s.done(in, v, &adminpb.UpdateMaterializedViewMetadata{OriginalRequest: req, StartTime: now(), EndTime: now()})
}

// DeleteMaterializedView deletes a materialized view and its rows.
func (s *Admin) DeleteMaterializedView(ctx context.Context, req *adminpb.DeleteMaterializedViewRequest) (*emptypb.Empty, error) {
	return materialized.delete(ctx, s, req.GetName(), req.GetEtag())
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
