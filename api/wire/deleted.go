package wire

import (
	"cloud.google.com/go/bigtable/admin/apiv2/adminpb"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/smolwc/smolwc/cells"
)

// Bigtable's API can neither list deleted tables nor remove one before its time.
// smolwc's client and server have fields for that.

const (
	deletedField protowire.Number = 64004 // of a ListTablesRequest: list deleted tables; of a Table: see Deleted
	fateField    protowire.Number = 64005 // of a DeleteTableRequest: a Fate
)

// A Fate says which table a DeleteTableRequest is about, and the fate of its rows.
type Fate uint64

// The fates of a table.
const (
	Keep  Fate = iota // the table can be brought back
	Drop              // it is removed at once
	Purge             // the deleted tables of the name are removed; a table of the name stays
)

// SetFate says what becomes of a table.
func SetFate(m *adminpb.DeleteTableRequest, f Fate) {
	m.ProtoReflect().SetUnknown(protowire.AppendVarint(protowire.AppendTag(nil, fateField, protowire.VarintType), uint64(f)))
}

// FateOf is the fate that a request asks for.
func FateOf(m *adminpb.DeleteTableRequest) (f Fate) {
	EachField(m.ProtoReflect().GetUnknown(), func(field Field) bool {
		if field.Number == fateField && field.Kind == protowire.VarintType {
			f = Fate(field.Varint)
		}
		return true
	})
	return f
}

// AskDeleted makes a request for tables one for deleted tables.
func AskDeleted(m *adminpb.ListTablesRequest) {
	m.ProtoReflect().SetUnknown(protowire.AppendVarint(protowire.AppendTag(nil, deletedField, protowire.VarintType), 1))
}

// AsksDeleted reports whether a request is for deleted tables.
func AsksDeleted(m *adminpb.ListTablesRequest) (asks bool) {
	EachField(m.ProtoReflect().GetUnknown(), func(f Field) bool {
		asks = asks || f.Number == deletedField && f.Kind == protowire.VarintType
		return true
	})
	return asks
}

// A Deletion describes a deleted table beside its name and families.
type Deletion struct {
	Deleted, Until cells.Timestamp
	Bytes          int64
}

// SetDeletion puts it into the message.
func SetDeletion(m *adminpb.Table, d Deletion) {
	var b []byte
	for _, n := range []int64{int64(d.Deleted), int64(d.Until), d.Bytes} {
		b = protowire.AppendVarint(b, uint64(n))
	}
	m.ProtoReflect().SetUnknown(protowire.AppendBytes(protowire.AppendTag(nil, deletedField, protowire.BytesType), b))
}

// DeletionOf is the deletion in a message; ok is false if it is not of a deleted table.
func DeletionOf(m *adminpb.Table) (d Deletion, ok bool) {
	EachField(m.ProtoReflect().GetUnknown(), func(f Field) bool {
		if f.Number != deletedField || f.Kind != protowire.BytesType {
			return true
		}
		var of [3]uint64
		rest := f.Content
		for i := range of {
			v, n := protowire.ConsumeVarint(rest)
			if n < 0 {
				return false
			}
			of[i], rest = v, rest[n:]
		}
		d, ok = Deletion{cells.Timestamp(of[0]), cells.Timestamp(of[1]), int64(of[2])}, true
		return false
	})
	return d, ok
}
