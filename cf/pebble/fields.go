package pebble

import (
	engine "github.com/cockroachdb/pebble/v2"

	"github.com/smolwc/smolwc/internal/fields"
)

// A fieldReader reads the fields of a record.
type fieldReader struct{ fields.Reader }

// op reads an operation of a batch, which Pebble's own reader follows beyond the end of one
// that is cut off.
func (r *fieldReader) op() (kind engine.InternalKeyKind, key, value []byte) {
	kind, key = engine.InternalKeyKind(r.Byte()), r.Text()
	switch kind {
	case engine.InternalKeyKindDelete, engine.InternalKeyKindSingleDelete, engine.InternalKeyKindLogData, engine.InternalKeyKindIngestSST:
	case engine.InternalKeyKindSet, engine.InternalKeyKindMerge, engine.InternalKeyKindRangeDelete, engine.InternalKeyKindDeleteSized,
		engine.InternalKeyKindRangeKeySet, engine.InternalKeyKindRangeKeyUnset, engine.InternalKeyKindRangeKeyDelete, engine.InternalKeyKindExcise:
		value = r.Text()
	default:
		r.Bad = true
	}
	return kind, key, value
}
