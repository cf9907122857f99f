package admin

import (
	"context"

	"cloud.google.com/go/bigtable/admin/apiv2/adminpb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/smolwc/smolwc/api/wire"
	"github.com/smolwc/smolwc/schema"
	"github.com/smolwc/smolwc/server/internal/catalog"
)

// ModifyColumnFamilies creates, updates and drops families of a table: the whole
// request, or nothing.
func (s *Admin) ModifyColumnFamilies(ctx context.Context, req *adminpb.ModifyColumnFamiliesRequest) (*adminpb.Table, error) {
	t, err := s.Own.ParseTable(req.GetName())
	if err != nil {
		return nil, err
	}
	if len(req.GetModifications()) == 0 {
		return nil, wire.Invalid("No modifications provided")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	declared, ok := s.DB.LookupTable(t.Stored)
	if !ok {
		return nil, t.NotFound()
	}
	m := modification{s: s, name: t, table: declared, note: s.Note(t.Stored).Clone(), seen: map[string]bool{}}
	for _, mod := range req.GetModifications() {
		if err := m.add(mod); err != nil {
			return nil, err
		}
	}
	if err := s.DB.ApplyPlan(ctx, m.plan); err != nil {
		return nil, catalog.Status(ctx, err)
	}
	if err := s.SetNote(ctx, t.Stored, m.note); err != nil {
		return nil, catalog.Status(ctx, err)
	}
	return s.tableMessage(t, adminpb.Table_SCHEMA_VIEW)
}

// A modification is the changes of a request to a table's families.
type modification struct {
	s     *Admin
	name  wire.Table
	table schema.Table
	note  *catalog.Note
	plan  schema.Plan
	seen  map[string]bool
}

func (m *modification) add(mod *adminpb.ModifyColumnFamiliesRequest_Modification) error {
	id := mod.GetId()
	if m.seen[id] {
		return wire.Invalid("column family %q is modified twice in one request", id)
	}
	m.seen[id] = true
	old, exists := m.table.Family(id)
	if _, create := mod.GetMod().(*adminpb.ModifyColumnFamiliesRequest_Modification_Create); create {
		if exists {
			return status.Errorf(codes.AlreadyExists, "column family %q already exists", id)
		}
		return m.create(id, mod.GetCreate())
	}
	if id == "" {
		return wire.Invalid("a modification names no column family")
	}
	if !exists {
		return status.Errorf(codes.NotFound, "column family %q not found", id)
	}
	switch change := mod.GetMod().(type) {
	case *adminpb.ModifyColumnFamiliesRequest_Modification_Update:
		return m.update(old, change.Update, mod.GetUpdateMask().GetPaths())
	case *adminpb.ModifyColumnFamiliesRequest_Modification_Drop:
		if !change.Drop {
			return wire.Invalid("column family %q: drop must be true if set", id)
		}
		return m.drop(old)
	}
	return wire.Invalid("column family %q: the modification says nothing to do", id)
}

func (m *modification) change(c schema.Change) {
	c.Table = m.name.Stored
	m.plan.Changes = append(m.plan.Changes, c)
}

func (m *modification) create(id string, f *adminpb.ColumnFamily) error {
	family, err := wire.FamilyOf(id, f)
	if err != nil {
		return err
	}
	for _, field := range m.note.Table.GetRowKeySchema().GetFields() {
		if field.GetFieldName() == id {
			return wire.Invalid("column family %q: the row_key_schema has a field of this name", id)
		}
	}
	m.note.SetType(id, f.GetValueType())
	m.change(schema.Change{Kind: schema.AddFamily, Family: id, New: family})
	return nil
}

func (m *modification) drop(old *schema.Family) error {
	if err := m.s.checkUnprotected(m.name); err != nil {
		return err
	}
	m.note.SetType(old.Name, nil)
	m.change(schema.Change{Kind: schema.DropFamily, Family: old.Name, Old: *old})
	return nil
}

// update changes the fields that the mask names; an empty mask means the GC rule.
func (m *modification) update(old *schema.Family, to *adminpb.ColumnFamily, paths []string) error {
	family, err := wire.FamilyOf(old.Name, to)
	if err != nil {
		return err
	}
	if len(paths) == 0 {
		paths = []string{"gc_rule"}
	}
	for _, path := range paths {
		switch path {
		case "gc_rule":
			m.change(schema.Change{Kind: schema.SetRetention, Family: old.Name, Old: *old, New: family})
		case "value_type":
			if old.Aggregate != family.Aggregate {
				return wire.Invalid("column family %q: Immutable fields 'value_type.aggregate_type' cannot be updated", old.Name)
			}
			m.note.SetType(old.Name, to.GetValueType())
			m.change(schema.Change{Kind: schema.SetType, Family: old.Name, Old: *old, New: family})
		default:
			return wire.Invalid("column family %q: incorrect path in UpdateMask; %q cannot be updated", old.Name, path)
		}
	}
	return nil
}
