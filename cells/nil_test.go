package cells_test

import (
	"testing"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/internal/nilcheck"
)

// TestNil calls everything with nil and with zero values: nothing panics.
func TestNil(t *testing.T) {
	p := nilcheck.Package{
		Funcs: []any{
			cells.AppendValue, cells.Bool, cells.Byte, cells.Bytes, cells.CheckEncoding, cells.CheckRowKey, cells.Compare, cells.Order,
			cells.DecodeChecked, cells.DecodeValue, cells.F32, cells.F64, cells.I32, cells.I64, cells.Integer,
			cells.ParseType, cells.String, cells.TimestampOf,
		},
		Types:  []any{cells.Cell{}, cells.Op(0)},
		Usable: []any{},
		Skip:   map[string]string{"DecodeChecked": "it is for bytes that have been checked, and may panic on others"},
	}
	p.Run(t, ".")
}
