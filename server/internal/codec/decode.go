package codec

import (
	"unicode/utf8"

	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/smolwc/smolwc/api/wire"
)

// Requests that write are mostly lists of SetCell, or rules for counters. The library
// makes six allocations for each, a tenth of the cost of a write; here the messages of a
// row are one allocation, and they share the request's bytes. A request with any
// other content is left to the library.

// isWrite reports whether decodeWrite may decode a message, which then keeps its bytes.
func isWrite(m any) bool {
	switch m.(type) {
	case *bigtablepb.MutateRowRequest, *bigtablepb.MutateRowsRequest,
		*bigtablepb.CheckAndMutateRowRequest, *bigtablepb.ReadModifyWriteRowRequest:
		return true
	}
	return false
}

// decodeWrite decodes a request in which rows get cells, and reports whether the
// request is of this kind. The message keeps b, which must not change. If it returns
// false, the message cannot be used.
func decodeWrite(b []byte, to any) bool {
	switch m := to.(type) {
	case *bigtablepb.MutateRowRequest:
		return decodeMutateRow(b, m)
	case *bigtablepb.MutateRowsRequest:
		return decodeMutateRows(b, m)
	case *bigtablepb.CheckAndMutateRowRequest:
		return decodeCheckAndMutateRow(b, m)
	case *bigtablepb.ReadModifyWriteRowRequest:
		return decodeReadModifyWriteRow(b, m)
	}
	return false
}

func decodeMutateRow(b []byte, to *bigtablepb.MutateRowRequest) bool {
	var cells cellSlab
	return wire.EachField(b, func(f wire.Field) bool {
		switch f.Number {
		case 1:
			return textOf(f, &to.TableName)
		case 2:
			return bytesOf(f, &to.RowKey)
		case 3:
			return cells.add(&to.Mutations, f, b, 3)
		case 4:
			return textOf(f, &to.AppProfileId)
		}
		return false
	})
}

func decodeMutateRows(b []byte, to *bigtablepb.MutateRowsRequest) bool {
	var entries []bigtablepb.MutateRowsRequest_Entry
	return wire.EachField(b, func(f wire.Field) bool {
		switch f.Number {
		case 1:
			return textOf(f, &to.TableName)
		case 2:
			if entries == nil {
				n := count(b, 2)
				entries, to.Entries = make([]bigtablepb.MutateRowsRequest_Entry, n), make([]*bigtablepb.MutateRowsRequest_Entry, 0, n)
			}
			e := &entries[len(to.Entries)]
			to.Entries = append(to.Entries, e)
			return f.Kind == protowire.BytesType && decodeEntry(f.Content, e)
		case 3:
			return textOf(f, &to.AppProfileId)
		}
		return false
	})
}

func decodeEntry(b []byte, to *bigtablepb.MutateRowsRequest_Entry) bool {
	var cells cellSlab
	return wire.EachField(b, func(f wire.Field) bool {
		switch f.Number {
		case 1:
			return bytesOf(f, &to.RowKey)
		case 2:
			return cells.add(&to.Mutations, f, b, 2)
		}
		return false
	})
}

func decodeCheckAndMutateRow(b []byte, to *bigtablepb.CheckAndMutateRowRequest) bool {
	var ifTrue, ifFalse cellSlab
	return wire.EachField(b, func(f wire.Field) bool {
		switch f.Number {
		case 1:
			return textOf(f, &to.TableName)
		case 2:
			return bytesOf(f, &to.RowKey)
		case 4:
			return ifTrue.add(&to.TrueMutations, f, b, 4)
		case 5:
			return ifFalse.add(&to.FalseMutations, f, b, 5)
		case 6:
			if f.Kind != protowire.BytesType || to.PredicateFilter != nil {
				return false
			}
			to.PredicateFilter = &bigtablepb.RowFilter{}
			return proto.Unmarshal(f.Content, to.PredicateFilter) == nil
		case 7:
			return textOf(f, &to.AppProfileId)
		}
		return false
	})
}

func decodeReadModifyWriteRow(b []byte, to *bigtablepb.ReadModifyWriteRowRequest) bool {
	var rules []rule
	return wire.EachField(b, func(f wire.Field) bool {
		switch f.Number {
		case 1:
			return textOf(f, &to.TableName)
		case 2:
			return bytesOf(f, &to.RowKey)
		case 3:
			if rules == nil {
				n := count(b, 3)
				rules, to.Rules = make([]rule, n), make([]*bigtablepb.ReadModifyWriteRule, 0, n)
			}
			r := &rules[len(to.Rules)]
			to.Rules = append(to.Rules, &r.rule)
			return f.Kind == protowire.BytesType && r.decode(f.Content)
		case 4:
			return textOf(f, &to.AppProfileId)
		}
		return false
	})
}

// A rule is a rule of a ReadModifyWriteRow, with its action.
type rule struct {
	rule    bigtablepb.ReadModifyWriteRule
	appends bigtablepb.ReadModifyWriteRule_AppendValue
	adds    bigtablepb.ReadModifyWriteRule_IncrementAmount
}

func (r *rule) decode(b []byte) bool {
	return wire.EachField(b, func(f wire.Field) bool {
		switch {
		case f.Number == 1:
			return textOf(f, &r.rule.FamilyName)
		case f.Number == 2:
			return bytesOf(f, &r.rule.ColumnQualifier)
		case f.Number == 3 && r.rule.Rule == nil:
			r.rule.Rule = &r.appends
			return bytesOf(f, &r.appends.AppendValue)
		case f.Number == 4 && r.rule.Rule == nil:
			r.rule.Rule = &r.adds
			r.adds.IncrementAmount = int64(f.Varint)
			return f.Kind == protowire.VarintType
		}
		return false
	})
}

// A setCell is a mutation that sets a cell, with all of its parts.
type setCell struct {
	mutation bigtablepb.Mutation
	is       bigtablepb.Mutation_SetCell_
	cell     bigtablepb.Mutation_SetCell
}

// A cellSlab is room for the mutations of one row.
type cellSlab struct{ room []setCell }

// add decodes one mutation, which is in a repeated field of b.
func (s *cellSlab) add(to *[]*bigtablepb.Mutation, f wire.Field, b []byte, number protowire.Number) bool {
	if s.room == nil {
		n := count(b, number)
		s.room, *to = make([]setCell, n), make([]*bigtablepb.Mutation, 0, n)
	}
	c := &s.room[len(*to)]
	*to = append(*to, &c.mutation)
	return f.Kind == protowire.BytesType && wire.EachField(f.Content, func(f wire.Field) bool {
		switch {
		case f.Number == 1 && f.Kind == protowire.BytesType && c.mutation.Mutation == nil:
			c.is.SetCell = &c.cell
			c.mutation.Mutation = &c.is
			return decodeSetCell(f.Content, &c.cell)
		case f.Number == 7 && f.Kind == protowire.VarintType:
			c.mutation.TimestampOrigin = bigtablepb.Mutation_TimestampOrigin(f.Varint)
			return true
		}
		return false
	})
}

func decodeSetCell(b []byte, to *bigtablepb.Mutation_SetCell) bool {
	return wire.EachField(b, func(f wire.Field) bool {
		switch f.Number {
		case 1:
			return textOf(f, &to.FamilyName)
		case 2:
			return bytesOf(f, &to.ColumnQualifier)
		case 3:
			to.TimestampMicros = int64(f.Varint)
			return f.Kind == protowire.VarintType
		case 4:
			return bytesOf(f, &to.Value)
		}
		return false
	})
}

// count is how many fields at the front have a number.
func count(b []byte, number protowire.Number) (n int) {
	wire.EachField(b, func(f wire.Field) bool {
		if f.Number == number {
			n++
		}
		return true
	})
	return n
}

// bytesOf takes the content of a field, if any.
func bytesOf(f wire.Field, to *[]byte) bool {
	*to = f.Content[:len(f.Content):len(f.Content)]
	return f.Kind == protowire.BytesType
}

// textOf takes the content of a field, if it is UTF-8.
func textOf(f wire.Field, to *string) bool {
	*to = wire.Text(f.Content)
	return f.Kind == protowire.BytesType && utf8.Valid(f.Content)
}
