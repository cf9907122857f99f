package wire

import (
	"context"

	"cloud.google.com/go/bigtable/admin/apiv2/adminpb"
	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/schema"
)

// Bigtable's API cannot express the type of a value: in a family without a type a value
// is bytes, and all integers have eight of them. So that a statement does the same over
// the network, smolwc's client and server put the type into a field that Bigtable's
// messages do not have. The client asks for the field with a header. The server neither
// sends the field to a client without the header nor reads it from one.

// KeepsSettings is the value of ExactHeader of a server that takes the settings of a table
// in its message, see [SetSettings]. Older ones send 1.
const KeepsSettings = "2"

// ExactHeader is sent with every call of the client, and sent back with the list
// of tables by a server that knows it.
const ExactHeader = "smolwc-types"

const (
	exactField     protowire.Number = 64001 // the type, beside a value or in an Int64
	conditionField protowire.Number = 64002 // of a RowFilter: a SetCell, whose value is compared with
	operatorField  protowire.Number = 64003 // of a RowFilter: the comparison
)

// ExactLen is how many bytes the field of a type takes.
var ExactLen = protowire.SizeTag(exactField) + protowire.SizeVarint(0)

// WantsExact reports whether the client of a call sends types and asks for them.
func WantsExact(ctx context.Context) bool {
	return len(Header(ctx, ExactHeader)) > 0
}

// AppendExact appends the field of a type.
func AppendExact(b []byte, t cells.Type) []byte {
	return protowire.AppendVarint(protowire.AppendTag(b, exactField, protowire.VarintType), uint64(t))
}

// SetExact puts the type of the value into a message.
func SetExact(m proto.Message, t cells.Type) {
	r := m.ProtoReflect()
	r.SetUnknown(AppendExact(r.GetUnknown(), t))
}

// ExactOf is the type in a message, TypeAny without one.
func ExactOf(m proto.Message) (t cells.Type) {
	EachField(m.ProtoReflect().GetUnknown(), func(f Field) bool {
		if f.Number == exactField && f.Kind == protowire.VarintType && f.Varint <= 0xff {
			t = cells.Type(f.Varint)
		}
		return true
	})
	return t
}

// ExactType is a value type that also says which integer it is.
func ExactType(f *schema.Family, m *adminpb.Type) *adminpb.Type {
	if f.Type != cells.TypeI32 && f.Type != cells.TypeByte {
		return m
	}
	m = proto.Clone(m).(*adminpb.Type)
	SetExact(m.GetInt64Type(), f.Type)
	return m
}

// InexactType is the type as Bigtable knows it.
func InexactType(m *adminpb.Type) *adminpb.Type {
	if m.GetInt64Type() == nil || ExactOf(m.GetInt64Type()) == cells.TypeAny {
		return m
	}
	m = proto.Clone(m).(*adminpb.Type)
	m.GetInt64Type().ProtoReflect().SetUnknown(nil)
	return m
}

// ComparisonMessage is a comparison as a filter that only smolwc's server knows. op is
// the number of the operator.
func ComparisonMessage(family, qualifier string, op int, v cells.Value) (*bigtablepb.RowFilter, error) {
	with := &bigtablepb.Mutation_SetCell{FamilyName: family, ColumnQualifier: []byte(qualifier), Value: AppendValue(nil, v)}
	SetExact(with, v.Type())
	b, err := proto.Marshal(with)
	if err != nil {
		return nil, err
	}
	f := &bigtablepb.RowFilter{}
	unknown := protowire.AppendBytes(protowire.AppendTag(nil, conditionField, protowire.BytesType), b)
	f.ProtoReflect().SetUnknown(protowire.AppendVarint(protowire.AppendTag(unknown, operatorField, protowire.VarintType), uint64(op)))
	return f, nil
}

// ComparisonOf is the comparison that a filter is: the number of an operator, 0 without
// one, and a column with the value that it is compared with. ok is false when the filter
// is an ordinary one.
func ComparisonOf(f *bigtablepb.RowFilter) (with *bigtablepb.Mutation_SetCell, op uint64, ok bool, err error) {
	with = &bigtablepb.Mutation_SetCell{}
	EachField(f.ProtoReflect().GetUnknown(), func(f Field) bool {
		switch {
		case f.Number == conditionField && f.Kind == protowire.BytesType:
			ok, err = true, proto.Unmarshal(f.Content, with)
		case f.Number == operatorField && f.Kind == protowire.VarintType:
			op = f.Varint
		}
		return err == nil
	})
	return with, op, ok, err
}
