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

	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/server/internal/catalog"
)

// A registry remembers resources that mean nothing to the database, by their full
// names, and keeps them as notes of the database. Admin.mu guards it. Its values
// are replaced and never changed.
type registry[M proto.Message] struct {
	db    *query.DB
	what  string // "cluster"
	empty func() M
	items map[string]M
}

func (r *registry[M]) prefix() string { return r.what + "/" }

func (r *registry[M]) load(ctx context.Context) error {
	notes, err := r.db.Notes(ctx, r.prefix())
	if err != nil {
		return err
	}
	r.items = make(map[string]M, len(notes))
	for key, b := range notes {
		m := r.empty()
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
	if err := r.db.SetNote(ctx, r.prefix()+name, b); err != nil {
		return catalog.Status(ctx, err)
	}
	r.items[name] = m
	return nil
}

func (r *registry[M]) delete(ctx context.Context, name string) error {
	if _, ok := r.items[name]; !ok {
		return r.notFound(name)
	}
	if err := r.db.SetNote(ctx, r.prefix()+name, nil); err != nil {
		return catalog.Status(ctx, err)
	}
	delete(r.items, name)
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
