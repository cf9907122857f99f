package admin

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"regexp"
	"slices"
	"strings"

	"cloud.google.com/go/bigtable/admin/apiv2/adminpb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/smolwc/smolwc/api/wire"
	"github.com/smolwc/smolwc/server/internal/views"
)

// A sqlView is the message of a logical or a materialized view of an instance.
type sqlView interface {
	proto.Message
	GetName() string
	GetQuery() string
	GetEtag() string
	GetDeletionProtection() bool
}

// The bounds of views.
const (
	maxViewID    = 128      // characters, as in Bigtable
	maxViewQuery = 64 << 10 // bytes
	maxSQLViews  = 1000     // of each kind, in the database
)

// checkNewView checks what is common to new views, and returns the view's full name; s.mu
// is held.
func (s *Admin) checkNewView(parent, kind, id string, m sqlView) (in wire.Instance, name string, err error) {
	if in, err = wire.ParseInstance(parent); err != nil {
		return in, "", err
	}
	if !m.ProtoReflect().IsValid() {
		return in, "", wire.Invalid("the request has no view")
	}
	if err := checkViewID(id); err != nil {
		return in, "", err
	}
	name = in.String() + "/" + kind + "/" + id
	if s.views.Taken(in, id) {
		return in, "", status.Errorf(codes.AlreadyExists, "a view %q already exists", in.String()+"/…/"+id)
	}
	if _, ok := s.DB.LookupTable(s.Own.Table(in, id).Stored); ok {
		return in, "", status.Errorf(codes.AlreadyExists, "%q is a table; queries could not tell a view of this name from it", id)
	}
	if len(s.views.Logical()) >= maxSQLViews || len(s.views.Materialized()) >= maxSQLViews {
		return in, "", status.Errorf(codes.FailedPrecondition, "the database has %d views; it may have up to %d", maxSQLViews, maxSQLViews)
	}
	return in, name, checkViewQuery(m.GetQuery())
}

func checkViewQuery(text string) error {
	if strings.TrimSpace(text) == "" {
		return wire.Invalid("the view has no query")
	}
	if len(text) > maxViewQuery {
		return wire.Invalid("the query of the view has %d bytes; it may have up to %d", len(text), maxViewQuery)
	}
	return nil
}

func checkViewID(id string) error {
	if len(id) > maxViewID {
		return wire.Invalid("view id %q… has %d characters; it may have up to %d", id[:20], len(id), maxViewID)
	}
	if !viewID.MatchString(id) {
		return wire.Invalid("view id %q is not %s", id, viewID)
	}
	return nil
}

var viewID = regexp.MustCompile(`^[_a-zA-Z0-9][-_.a-zA-Z0-9]*$`)

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

// storedView is a view without the fields that are computed.
func storedView[M sqlView](m M) M {
	stored := clone(m)
	fields := stored.ProtoReflect().Descriptor().Fields()
	for _, field := range []protoreflect.Name{"name", "etag"} {
		stored.ProtoReflect().Clear(fields.ByName(field))
	}
	return stored
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

// updatedView is a view with the fields of from that a mask names; without a mask, those
// that from has.
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
	in, name, err := s.checkNewView(req.GetParent(), "logicalViews", req.GetLogicalViewId(), req.GetLogicalView())
	if err != nil {
		return nil, err
	}
	m := storedView(req.GetLogicalView())
	if err := s.views.Check(ctx, name, m.GetQuery()); err != nil {
		return nil, err
	}
	if err := s.views.SetLogical(ctx, name, m); err != nil {
		return nil, err
	}
	return s.done(in, shownView(name, m), &adminpb.CreateLogicalViewMetadata{OriginalRequest: req, StartTime: now(), EndTime: now()})
}

func (s *Admin) logicalView(name string) (*adminpb.LogicalView, error) {
	if m := s.views.Logical()[name]; m != nil {
		return m, nil
	}
	return nil, status.Errorf(codes.NotFound, "logical view %q not found", name)
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
	all := s.views.Logical()
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
	if m.GetQuery() != old.GetQuery() { // a view whose table is gone can still lose its protection
		if err := checkViewQuery(m.GetQuery()); err != nil {
			return nil, err
		}
		if err := s.views.Check(ctx, name, m.GetQuery()); err != nil {
			return nil, err
		}
	}
	if err := s.views.SetLogical(ctx, name, m); err != nil {
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
	if err := checkSQLDeletable(req.GetName(), m, req.GetEtag()); err != nil {
		return nil, err
	}
	return &emptypb.Empty{}, s.views.SetLogical(ctx, req.GetName(), nil)
}

// CreateMaterializedView defines a materialized view. A read of it waits until the table
// has been read.
func (s *Admin) CreateMaterializedView(ctx context.Context, req *adminpb.CreateMaterializedViewRequest) (*operation, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	in, name, err := s.checkNewView(req.GetParent(), "materializedViews", req.GetMaterializedViewId(), req.GetMaterializedView())
	if err != nil {
		return nil, err
	}
	m := storedView(req.GetMaterializedView())
	if err := s.views.Create(ctx, name, m); err != nil {
		return nil, err
	}
	return s.done(in, shownView(name, m), &adminpb.CreateMaterializedViewMetadata{OriginalRequest: req, StartTime: now(), EndTime: now()})
}

func (s *Admin) materializedView(name string) (*adminpb.MaterializedView, error) {
	if m := s.views.Materialized()[name]; m != nil {
		return m.Message, nil
	}
	return nil, views.NotFound(name)
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
	all := s.views.Materialized()
	page, next, err := viewsOf(all, req.GetParent(), req.GetPageSize(), req.GetPageToken())
	if err != nil {
		return nil, err
	}
	resp := &adminpb.ListMaterializedViewsResponse{NextPageToken: next}
	for _, name := range page {
		resp.MaterializedViews = append(resp.MaterializedViews, shownView(name, all[name].Message))
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
	if m.GetQuery() != old.GetQuery() {
		return nil, wire.Invalid("the query of a materialized view cannot be changed; delete the view and create it again")
	}
	if err := s.views.Update(ctx, name, m); err != nil {
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
	if err := checkSQLDeletable(req.GetName(), m, req.GetEtag()); err != nil {
		return nil, err
	}
	return &emptypb.Empty{}, s.views.Delete(ctx, req.GetName())
}

// checkUnread refuses to delete a table that materialized views read.
func (s *Admin) checkUnread(t wire.Table) error {
	if readers := s.views.Readers(t); len(readers) > 0 {
		return status.Errorf(codes.FailedPrecondition, "table %q is read by the materialized view %q; delete the view first", t, readers[0])
	}
	return nil
}

// deleteViewsOf deletes the views of an instance, or refuses to; s.mu is held.
func (s *Admin) deleteViewsOf(ctx context.Context, in wire.Instance) error {
	var logical, materialized []string
	for name, m := range s.views.Logical() {
		if of, _, _ := wire.CutInstance(name); of == in {
			if err := checkSQLDeletable(name, m, ""); err != nil {
				return err
			}
			logical = append(logical, name)
		}
	}
	for name, m := range s.views.Materialized() {
		if of, _, _ := wire.CutInstance(name); of == in {
			if err := checkSQLDeletable(name, m.Message, ""); err != nil {
				return err
			}
			materialized = append(materialized, name)
		}
	}
	for _, name := range logical {
		if err := s.views.SetLogical(ctx, name, nil); err != nil {
			return err
		}
	}
	for _, name := range materialized {
		if err := s.views.Delete(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

// KeepViews keeps the rows of materialized views, until stop is called; stop waits for its
// end.
func (s *Admin) KeepViews(ctx context.Context) (stop func()) { return beside(ctx, s.views.Keep) }
