package server

import (
	"context"

	"cloud.google.com/go/bigtable/admin/apiv2/adminpb"
	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/schema"
)

// Bigtable's API has no words for the types of values: in a family without a type
// they are bytes, and all integers have eight of them. So that a statement does
// the same over the network, smolwc's client and server say the type in a field
// that Bigtable's messages do not have. The client asks for it with a header; a
// client that does not send the header neither gets such a field nor is believed
// one.

// exactHeader is sent with every call of the client, and sent back with the list
// of tables by a server that knows it.
const exactHeader = "smolwc-types"

const (
	exactField     protowire.Number = 64001 // the type, beside a value or in an Int64
	conditionField protowire.Number = 64002 // of a RowFilter: a SetCell, whose value is compared with
	operatorField  protowire.Number = 64003 // of a RowFilter: the comparison
)

// exactLen is how many bytes the field of a type takes.
var exactLen = protowire.SizeTag(exactField) + protowire.SizeVarint(0)

// wantsExact reports whether the client of a call says types, and asks for them.
func wantsExact(ctx context.Context) bool {
	return len(metadata.ValueFromIncomingContext(ctx, exactHeader)) > 0
}

func appendExact(b []byte, t cells.Type) []byte {
	return protowire.AppendVarint(protowire.AppendTag(b, exactField, protowire.VarintType), uint64(t))
}

// setExact says the type of the value in a message.
func setExact(m proto.Message, t cells.Type) {
	r := m.ProtoReflect()
	r.SetUnknown(appendExact(r.GetUnknown(), t))
}

// exactOf is the type that a message says, TypeAny if it says none.
func exactOf(m proto.Message) (t cells.Type) {
	eachField(m.ProtoReflect().GetUnknown(), func(f field) bool {
		if f.number == exactField && f.kind == protowire.VarintType && f.varint <= 0xff {
			t = cells.Type(f.varint)
		}
		return true
	})
	return t
}

// exactValue is [valueOf] for a value whose type the message m says.
func exactValue(f *schema.Family, m proto.Message, qualifier, b []byte) (cells.Value, error) {
	t := exactOf(m)
	switch {
	case t == cells.TypeAny || t == f.Type:
		return valueOf(f, qualifier, b)
	case f.Type != cells.TypeAny:
		return cells.Value{}, invalid("%s:%q: the value is %s, and the family's type is %s", f.Name, qualifier, t, f.Type)
	}
	return valueOf(&schema.Family{Name: f.Name, Type: t}, qualifier, b)
}

// exactType is a value type that also says which integer it is.
func exactType(f *schema.Family, m *adminpb.Type) *adminpb.Type {
	if f.Type != cells.TypeI32 && f.Type != cells.TypeByte {
		return m
	}
	m = proto.Clone(m).(*adminpb.Type)
	setExact(m.GetInt64Type(), f.Type)
	return m
}

// inexactType is the type as Bigtable knows it.
func inexactType(m *adminpb.Type) *adminpb.Type {
	if m.GetInt64Type() == nil || exactOf(m.GetInt64Type()) == cells.TypeAny {
		return m
	}
	m = proto.Clone(m).(*adminpb.Type)
	m.GetInt64Type().ProtoReflect().SetUnknown(nil)
	return m
}

// sayExactTypes has a table's message say which integers its families have, if
// the client asks for that.
func (s *Server) sayExactTypes(ctx context.Context, stored string, m *adminpb.Table) {
	if !wantsExact(ctx) {
		return
	}
	t, _ := s.db.LookupTable(stored)
	for i := range t.Families {
		f := &t.Families[i]
		if to := m.GetColumnFamilies()[f.Name]; to.GetValueType().GetInt64Type() != nil {
			to.ValueType = exactType(f, to.GetValueType())
		}
	}
}

// exactCondition is a comparison as a filter that only smolwc's server knows.
func exactCondition(c read.Condition) (*bigtablepb.RowFilter, error) {
	with := &bigtablepb.Mutation_SetCell{FamilyName: c.Family, ColumnQualifier: []byte(c.Qualifier), Value: appendPayload(nil, c.Value)}
	setExact(with, c.Value.Type())
	b, err := proto.Marshal(with)
	if err != nil {
		return nil, err
	}
	f := &bigtablepb.RowFilter{}
	unknown := protowire.AppendBytes(protowire.AppendTag(nil, conditionField, protowire.BytesType), b)
	f.ProtoReflect().SetUnknown(protowire.AppendVarint(protowire.AppendTag(unknown, operatorField, protowire.VarintType), uint64(c.Op)))
	return f, nil
}

// exactConditionOf is the comparison that a filter is; ok is false when it is an
// ordinary one.
func (m *mutator) exactConditionOf(f *bigtablepb.RowFilter) (option read.Option, ok bool, err error) {
	with, op := &bigtablepb.Mutation_SetCell{}, cells.OpEqual
	eachField(f.ProtoReflect().GetUnknown(), func(f field) bool {
		switch {
		case f.number == conditionField && f.kind == protowire.BytesType:
			ok, err = true, proto.Unmarshal(f.content, with)
		case f.number == operatorField && f.kind == protowire.VarintType:
			op = cells.Op(min(f.varint, uint64(cells.OpGreaterOrEqual)))
		}
		return err == nil
	})
	if !ok || !m.exact {
		return nil, false, nil
	}
	if err != nil {
		return nil, true, invalid("the condition is no message: %v", err)
	}
	if _, err := m.column(with.GetFamilyName(), with.GetColumnQualifier()); err != nil {
		return nil, true, err
	}
	v, err := exactValue(&schema.Family{Name: with.GetFamilyName()}, with, with.GetColumnQualifier(), with.GetValue())
	return read.Where(with.GetFamilyName(), string(with.GetColumnQualifier()), op, v), true, err
}
