package catalog

import (
	"cloud.google.com/go/bigtable/admin/apiv2/adminpb"

	"github.com/smolwc/smolwc/api/wire"
	"github.com/smolwc/smolwc/schema"
)

// checkRowKeySchema checks a table's row key schema, whose fields are columns in
// queries.
func checkRowKeySchema(s *adminpb.Type_Struct, families []schema.Family) error {
	if s == nil {
		return nil
	}
	names := map[string]bool{}
	for i := range families {
		names[families[i].Name] = true
	}
	for _, f := range s.GetFields() {
		switch name := f.GetFieldName(); {
		case name == "":
			return wire.Invalid("row_key_schema: a field has no name")
		case name == "_key" || name == "_timestamp":
			return wire.Invalid("row_key_schema: the name %q is reserved", name)
		case names[name]:
			return wire.Invalid("row_key_schema: the name %q is that of a column family, or of another field", name)
		case f.GetType().GetKind() == nil:
			return wire.Invalid("row_key_schema: field %q has no type", name)
		default:
			names[name] = true
		}
	}
	switch e := s.GetEncoding().GetEncoding().(type) {
	case *adminpb.Type_Struct_Encoding_Singleton_:
		if n := len(s.GetFields()); n != 1 {
			return wire.Invalid("row_key_schema: the singleton encoding is of one field, and there are %d", n)
		}
	case *adminpb.Type_Struct_Encoding_DelimitedBytes_:
		if len(e.DelimitedBytes.GetDelimiter()) == 0 {
			return wire.Invalid("row_key_schema: the delimited encoding has no delimiter")
		}
	case *adminpb.Type_Struct_Encoding_OrderedCodeBytes_:
	default:
		return wire.Invalid("row_key_schema: the encoding is missing: singleton, delimited_bytes or ordered_code_bytes")
	}
	if len(s.GetFields()) == 0 {
		return wire.Invalid("row_key_schema has no fields")
	}
	return nil
}

// setRowKeySchema changes the row key schema: an existing schema must be removed first,
// as in Bigtable, since queries may rely on it.
func (n *Note) setRowKeySchema(s *adminpb.Type_Struct, families []schema.Family) error {
	if s != nil && n.Table.GetRowKeySchema() != nil {
		return wire.Invalid("the table has a row_key_schema, which cannot be updated; remove it first")
	}
	if err := checkRowKeySchema(s, families); err != nil {
		return err
	}
	n.Table.RowKeySchema = s
	return nil
}
