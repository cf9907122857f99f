package codec

import (
	"unicode/utf8"

	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/smolwc/smolwc/internal/wire"
)

// Requests that write are mostly lists of SetCell. The library makes six
// allocations for each, a tenth of the cost of a write; here the messages of a
// row are one allocation, and they share the request's bytes. A request with any
// other content is left to the library.

// decodeWrite decodes a request in which rows get cells, and reports whether the
// request is of this kind. The message keeps b, which must not change. If it returns
// false, the message cannot be used.
func decodeWrite(b []byte, to any) bool {
	switch m := to.(type) {
	case *bigtablepb.MutateRowRequest:
		return decodeMutateRow(b, m)
	case *bigtablepb.MutateRowsRequest:
		return decodeMutateRows(b, m)
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

// bytesOf takes the content of a field, if it has one.
func bytesOf(f wire.Field, to *[]byte) bool {
	*to = f.Content[:len(f.Content):len(f.Content)]
	return f.Kind == protowire.BytesType
}

// textOf takes the content of a field, if it is UTF-8.
func textOf(f wire.Field, to *string) bool {
	*to = wire.Text(f.Content)
	return f.Kind == protowire.BytesType && utf8.Valid(f.Content)
}
