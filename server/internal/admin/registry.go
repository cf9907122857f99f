package admin

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/smolwc/smolwc/api/wire"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/server/internal/catalog"
)

// A registry remembers resources that mean nothing to the database, by their full
// names, and keeps them as notes of the database. Admin.mu guards it. Its values
// are replaced and never changed.
type registry[M proto.Message] struct {
	db    *query.DB
	what  string // "cluster"
	items map[string]M
}

func (r *registry[M]) prefix() string { return r.what + "/" }

func (r *registry[M]) load(ctx context.Context) error {
	notes, err := r.db.Plumbing().Notes(ctx, r.prefix())
	if err != nil {
		return err
	}
	r.items = make(map[string]M, len(notes))
	for key, b := range notes {
		var none M
		m := none.ProtoReflect().New().Interface().(M)
		if err := proto.Unmarshal(b, m); err != nil {
			return fmt.Errorf("the note %s is damaged: %w", key, err)
		}
		r.items[strings.TrimPrefix(key, r.prefix())] = m
	}
	return nil
}

func (r *registry[M]) notFound(name string) error {
	return status.Errorf(codes.NotFound, "%s %q not found", r.what, name)
}

func (r *registry[M]) get(name string) (m M, err error) {
	m, ok := r.items[name]
	if !ok {
		return m, r.notFound(name)
	}
	return m, nil
}

// updated is a copy of a resource with the fields of from that a mask names.
func (r *registry[M]) updated(name string, from M, paths []string, changeable ...string) (m M, err error) {
	if len(paths) == 0 {
		return m, wire.Invalid("update_mask is required")
	}
	if m, err = r.get(name); err != nil {
		return m, err
	}
	m = clone(m)
	for _, path := range paths {
		field, _, _ := strings.Cut(path, ".")
		if !slices.Contains(changeable, field) || !copyPath(m.ProtoReflect(), from.ProtoReflect(), path) {
			return m, wire.Invalid("incorrect path in update_mask; %q cannot be updated", path)
		}
	}
	return m, nil
}

// copyPath copies one field of a message, perhaps one inside an inner message, to
// another message. It reports whether there is such a field.
func copyPath(to, from protoreflect.Message, path string) bool {
	name, rest, deeper := strings.Cut(path, ".")
	f := to.Descriptor().Fields().ByName(protoreflect.Name(name))
	switch {
	case f == nil:
		return false
	case deeper && (f.Message() == nil || f.IsList() || f.IsMap()):
		return false
	case deeper:
		return copyPath(to.Mutable(f).Message(), from.Get(f).Message(), rest)
	case from.Has(f):
		to.Set(f, from.Get(f))
	default:
		to.Clear(f)
	}
	return true
}

// create remembers a new resource.
func (r *registry[M]) create(ctx context.Context, name string, m M) error {
	if _, ok := r.items[name]; ok {
		return status.Errorf(codes.AlreadyExists, "%s %q already exists", r.what, name)
	}
	return r.put(ctx, name, m)
}

func (r *registry[M]) put(ctx context.Context, name string, m M) error {
	b, err := proto.Marshal(m)
	if err != nil {
		return err
	}
	if b == nil {
		b = []byte{}
	}
	if err := r.db.Plumbing().SetNote(ctx, r.prefix()+name, b); err != nil {
		return catalog.Status(ctx, err)
	}
	r.items[name] = m
	return nil
}

func (r *registry[M]) delete(ctx context.Context, name string) error {
	if _, ok := r.items[name]; !ok {
		return r.notFound(name)
	}
	if err := r.db.Plumbing().SetNote(ctx, r.prefix()+name, nil); err != nil {
		return catalog.Status(ctx, err)
	}
	delete(r.items, name)
	return nil
}

func (r *registry[M]) deleteUnder(ctx context.Context, parent string) error {
	for _, name := range r.under(parent) {
		if err := r.delete(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

// under are the names of the resources below a parent, sorted. An instance "-"
// in the parent is every one of the project.
func (r *registry[M]) under(parent string) []string {
	prefix := parent + "/"
	if project, ok := strings.CutSuffix(parent, "/instances/-"); ok {
		prefix = project + "/instances/"
	}
	var names []string
	for _, name := range slices.Sorted(maps.Keys(r.items)) {
		if strings.HasPrefix(name, prefix) {
			names = append(names, name)
		}
	}
	return names
}
