package admin

import (
	"context"
	"slices"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/smolwc/smolwc/api/wire"
	"github.com/smolwc/smolwc/schema"
	"github.com/smolwc/smolwc/server/internal/catalog"
)

// DeclareTable creates a table without families, as the shell does: its reads enforce
// retention exactly, and its timestamps have microseconds.
func (s *Admin) DeclareTable(ctx context.Context, t wire.Table) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.DB.LookupTable(t.Stored); ok {
		return status.Errorf(codes.AlreadyExists, "table %q already exists", t)
	}
	if s.views.Taken(t.In.String(), t.ID) {
		return status.Errorf(codes.AlreadyExists, "%q is a view; queries could not tell a table of this name from it", t.ID)
	}
	return catalog.Status(ctx, s.DB.CreateTable(ctx, schema.Table{Name: t.Stored}))
}

// AddFamilies adds families to a table, all or none of them. If they are a group, the
// table's note remembers that.
func (s *Admin) AddFamilies(ctx context.Context, t wire.Table, families []schema.Family, group bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	declared, ok := s.DB.LookupTable(t.Stored)
	if !ok {
		return t.NotFound()
	}
	var plan schema.Plan
	var names []string
	for _, f := range families {
		if _, exists := declared.Family(f.Name); exists || slices.Contains(names, f.Name) {
			return status.Errorf(codes.AlreadyExists, "Column family %s already exists", f.Name)
		}
		names = append(names, f.Name)
		plan.Changes = append(plan.Changes, schema.Change{Kind: schema.AddFamily, Table: t.Stored, Family: f.Name, New: f})
	}
	if err := s.DB.ApplyPlan(ctx, plan); err != nil || !group {
		return catalog.Status(ctx, err)
	}
	note := s.Note(t.Stored).Clone()
	note.Groups = append(note.Groups, names)
	return catalog.Status(ctx, s.SetNote(ctx, t.Stored, note))
}
