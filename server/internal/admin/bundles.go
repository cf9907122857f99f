package admin

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"regexp"
	"slices"

	"cloud.google.com/go/bigtable/admin/apiv2/adminpb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/smolwc/smolwc/api/wire"
	"github.com/smolwc/smolwc/server/internal/catalog"
	"github.com/smolwc/smolwc/sql/message"
)

// The bounds of schema bundles. The note of a table holds its bundles and is written as a
// whole; decision record 50 says why.
const (
	maxBundles     = 10              // of a table, as in Bigtable
	maxBundleBytes = message.MaxSize // of all descriptors of a table
)

// bundleID is Bigtable's rule. The first point in the name of a type is behind the id.
var bundleID = regexp.MustCompile(`^[_a-zA-Z0-9][-_a-zA-Z0-9]{0,49}$`)

// CreateSchemaBundle gives a table a schema bundle, to whose messages and enums queries
// can cast its columns.
func (s *Admin) CreateSchemaBundle(ctx context.Context, req *adminpb.CreateSchemaBundleRequest) (*operation, error) {
	began := now()
	id := req.GetSchemaBundleId()
	if !bundleID.MatchString(id) {
		return nil, wire.Invalid("schema bundle id %.100q is not %s", id, bundleID)
	}
	made, err := newBundle(id, req.GetSchemaBundle())
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	found, err := s.LookUp(req.GetParent())
	if err != nil {
		return nil, err
	}
	t := found.Name
	switch bundles := s.Note(t.Stored).Bundles; {
	case bundles[id] != nil:
		return nil, status.Errorf(codes.AlreadyExists, "schema bundle %q already exists", bundleName(t, id))
	case len(bundles) >= maxBundles:
		return nil, status.Errorf(codes.FailedPrecondition, "table %q has %d schema bundles; it may have up to %d", t, len(bundles), maxBundles)
	}
	if err := s.putBundle(ctx, t, made); err != nil {
		return nil, err
	}
	return s.done(t.In, shownBundle(t, made), &adminpb.CreateSchemaBundleMetadata{Name: bundleName(t, id), StartTime: began, EndTime: now()})
}

func bundleName(t wire.Table, id string) string { return t.String() + "/schemaBundles/" + id }

// newBundle checks the definition of a bundle.
func newBundle(id string, from *adminpb.SchemaBundle) (*catalog.Bundle, error) {
	if from.GetProtoSchema() == nil {
		return nil, wire.Invalid("the schema bundle has no proto_schema")
	}
	b := catalog.NewBundle(&adminpb.SchemaBundle{Name: id, Type: &adminpb.SchemaBundle_ProtoSchema{
		ProtoSchema: &adminpb.ProtoSchema{ProtoDescriptors: from.GetProtoSchema().GetProtoDescriptors()},
	}})
	if _, err := b.Types(); err != nil {
		return nil, wire.Invalid("proto_schema.proto_descriptors: %v", err)
	}
	return b, nil
}

// putBundle adds or replaces a bundle; s.mu is held.
func (s *Admin) putBundle(ctx context.Context, t wire.Table, b *catalog.Bundle) error {
	note := s.Note(t.Stored).WithBundle(b.Message.GetName(), b)
	size := 0
	for _, each := range note.Bundles {
		size += len(each.Message.GetProtoSchema().GetProtoDescriptors())
	}
	if size > maxBundleBytes {
		return status.Errorf(codes.FailedPrecondition, "the schema bundles of table %q would have %d bytes together; they may have up to %d", t, size, maxBundleBytes)
	}
	return catalog.Status(ctx, s.SetNote(ctx, t.Stored, note))
}

// shownBundle is a bundle as clients see it.
func shownBundle(t wire.Table, b *catalog.Bundle) *adminpb.SchemaBundle {
	return &adminpb.SchemaBundle{Name: bundleName(t, b.Message.GetName()), Etag: bundleEtag(b), Type: b.Message.GetType()}
}

// bundleEtag differs between two definitions of a bundle.
func bundleEtag(b *catalog.Bundle) string {
	sum := sha256.Sum256(b.Message.GetProtoSchema().GetProtoDescriptors())
	return hex.EncodeToString(sum[:8])
}

func checkBundleEtag(name string, b *catalog.Bundle, etag string) error {
	if etag != "" && etag != bundleEtag(b) {
		return status.Errorf(codes.Aborted, "schema bundle %q has changed: its etag is %q, and the request has %q", name, bundleEtag(b), etag)
	}
	return nil
}

// GetSchemaBundle returns a schema bundle with its descriptors.
func (s *Admin) GetSchemaBundle(_ context.Context, req *adminpb.GetSchemaBundleRequest) (*adminpb.SchemaBundle, error) {
	t, b, err := s.LookUpBundle(req.GetName())
	if err != nil {
		return nil, err
	}
	return shownBundle(t, b), nil
}

// ListSchemaBundles lists the schema bundles of a table, sorted by their ids, and in pages
// if a page size is given.
func (s *Admin) ListSchemaBundles(_ context.Context, req *adminpb.ListSchemaBundlesRequest) (*adminpb.ListSchemaBundlesResponse, error) {
	t, err := s.LookUp(req.GetParent())
	if err != nil {
		return nil, err
	}
	bundles := s.Note(t.Name.Stored).Bundles
	page, next, err := pageOf(slices.Sorted(maps.Keys(bundles)), req.GetPageSize(), req.GetPageToken())
	if err != nil {
		return nil, err
	}
	resp := &adminpb.ListSchemaBundlesResponse{NextPageToken: next}
	for _, id := range page {
		resp.SchemaBundles = append(resp.SchemaBundles, shownBundle(t.Name, bundles[id]))
	}
	return resp, nil
}

// UpdateSchemaBundle replaces the descriptors of a schema bundle. Unless the request
// ignores warnings, whatever the old ones could read, the new ones must read too; fields
// that views read must stay in any case.
func (s *Admin) UpdateSchemaBundle(ctx context.Context, req *adminpb.UpdateSchemaBundleRequest) (*operation, error) {
	began := now()
	from := req.GetSchemaBundle()
	for _, path := range req.GetUpdateMask().GetPaths() {
		if !slices.Contains([]string{"*", "proto_schema", "proto_schema.proto_descriptors"}, path) {
			return nil, wire.Invalid("incorrect path in update_mask; %q cannot be updated", path)
		}
	}
	_, id, err := s.Own.ParseBundle(from.GetName())
	if err != nil {
		return nil, err
	}
	made, err := newBundle(id, from)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	t, old, err := s.LookUpBundle(from.GetName())
	if err != nil {
		return nil, err
	}
	if err := checkBundleEtag(from.GetName(), old, from.GetEtag()); err != nil {
		return nil, err
	}
	if err := s.checkBreaks(ctx, t, old, made, req.GetIgnoreWarnings()); err != nil {
		return nil, err
	}
	if err := s.views.Remake(ctx, t.Stored, id, func() error { return s.putBundle(ctx, t, made) }); err != nil {
		return nil, catalog.Status(ctx, err)
	}
	return s.done(t.In, shownBundle(t, made), &adminpb.UpdateSchemaBundleMetadata{Name: from.GetName(), StartTime: began, EndTime: now()})
}

// checkBreaks refuses a change of a bundle that breaks queries.
func (s *Admin) checkBreaks(ctx context.Context, t wire.Table, old, made *catalog.Bundle, forced bool) error {
	before, err := old.Types()
	if err != nil { // an older version accepted it
		return nil
	}
	after, err := made.Types()
	if err != nil {
		return err
	}
	breaks := message.Breaks(before, after)
	switch {
	case breaks == nil:
		return nil
	case !forced:
		return status.Errorf(codes.FailedPrecondition, "the schema bundle would not be compatible with the existing one: %v; ignore_warnings updates it all the same", breaks)
	}
	if used := s.views.UsersOf(ctx, t.Stored, old.Message.GetName()); len(used) > 0 {
		return status.Errorf(codes.FailedPrecondition, "the schema bundle would not be compatible with the existing one: %v; the view %q reads it, so that it cannot be forced", breaks, used[0])
	}
	return nil
}

// DeleteSchemaBundle deletes a schema bundle that no view reads. The table's rows stay.
func (s *Admin) DeleteSchemaBundle(ctx context.Context, req *adminpb.DeleteSchemaBundleRequest) (*emptypb.Empty, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, b, err := s.LookUpBundle(req.GetName())
	if err != nil {
		return nil, err
	}
	if err := checkBundleEtag(req.GetName(), b, req.GetEtag()); err != nil {
		return nil, err
	}
	id := b.Message.GetName()
	if used := s.views.UsersOf(ctx, t.Stored, id); len(used) > 0 {
		return nil, status.Errorf(codes.FailedPrecondition, "schema bundle %q is read by the view %q; change or delete the view first", req.GetName(), used[0])
	}
	return &emptypb.Empty{}, catalog.Status(ctx, s.SetNote(ctx, t.Stored, s.Note(t.Stored).WithBundle(id, nil)))
}
