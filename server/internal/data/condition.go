package data

import (
	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/protobuf/proto"

	"github.com/smolwc/smolwc/api/wire"
	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/schema"
)

// givenValue is [wire.ValueOf] for bytes that a client sent.
func givenValue(f *schema.Family, qualifier, b []byte) (cells.Value, error) {
	if len(b) > cells.MaxValue {
		return cells.Value{}, wire.Invalid("%s:%q: the value has %d bytes; it may have up to %d", f.Name, qualifier, len(b), cells.MaxValue)
	}
	return wire.ValueOf(f, qualifier, b)
}

// exactValue is [givenValue] for a value whose type is in the message m.
func exactValue(f *schema.Family, m proto.Message, qualifier, b []byte) (cells.Value, error) {
	t := wire.ExactOf(m)
	switch {
	case t == cells.TypeAny || t == f.Type:
		return givenValue(f, qualifier, b)
	case f.Type != cells.TypeAny:
		return cells.Value{}, wire.Invalid("%s:%q: the value is %s, and the family's type is %s", f.Name, qualifier, t, f.Type)
	}
	return givenValue(&schema.Family{Name: f.Name, Type: t}, qualifier, b)
}

// exactConditionOf is the comparison of a filter; ok is false for an ordinary
// filter.
func (m *mutator) exactConditionOf(f *bigtablepb.RowFilter) (option read.Option, ok bool, err error) {
	with, op, ok, err := wire.ComparisonOf(f)
	if !ok || !m.exact {
		return nil, false, nil
	}
	if err != nil {
		return nil, true, wire.Invalid("the condition is no message: %v", err)
	}
	if _, err := m.column(with.GetFamilyName(), with.GetColumnQualifier()); err != nil {
		return nil, true, err
	}
	v, err := exactValue(&schema.Family{Name: with.GetFamilyName()}, with, with.GetColumnQualifier(), with.GetValue())
	return read.Where(with.GetFamilyName(), string(with.GetColumnQualifier()), cells.Op(min(op, uint64(cells.OpGreaterOrEqual))), v), true, err
}
